"""Read having, order by, limit and offset against the columns of the answer.

They name selected columns only, by alias, by position or by writing them again: another aggregate would have its
own cost. The kind of every column of an answer is known before it is released (number, string, truth value, date,
time), so a comparison of different kinds is refused here, before anything is charged. Dates and times are compared
in microseconds since 1970, because released medians of dates are numbers already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from typing import NamedTuple

from sqlglot import exp

from discreet.errors import QuestionRefused
from discreet.query.answer.postprocess import After, Node, Ordering, Output, Step, Value
from discreet.query.bounds import calendar, comparisons
from discreet.query.bounds.comparisons import Constant
from discreet.query.parse import expressions
from discreet.query.parse.aggregates import is_aggregate
from discreet.query.parse.canonical import expression_text
from discreet.query.parse.expressions import bare, only
from discreet.query.parse.scope import Scope, did_you_mean
from discreet.query.parse.unsupported import not_understood

_MOMENTS = {"date", "datetime"}
_NOUNS = {"boolean": "true or false", "datetime": "a time", "null": "null"}
_WRITTEN = {
    "number": "count(*) >= 10",
    "text": "city = 'Oslo'",
    "boolean": "insured, or not insured",
    "date": "day >= date '2024-01-31'",
    "datetime": "seen >= timestamp '2024-01-31 18:00:00'",
}


class Typed(NamedTuple):
    """An expression over the columns of an answer, and its kind: number, text, boolean, date …"""

    node: Node
    kind: str


@dataclass(frozen=True)
class Outputs:
    """The columns of an answer: their names in order, the name for each canonical text, and their kinds.

    `counted` are the date and datetime columns that are released as days or microseconds since 1970, as the
    quantiles of dates are.
    """

    names: Sequence[str]
    texts: Mapping[str, str]
    kinds: Mapping[str, str]
    counted: frozenset[str] = field(default=frozenset())

    def after(self, select: exp.Expression, scope: Scope) -> After:
        """Return the post-processing that a select asks for."""
        having, order = select.args.get("having"), select.args.get("order")
        limit, offset = select.args.get("limit"), select.args.get("offset")
        if order is not None:
            only(order, "expressions")
        return After(
            None if having is None else self._condition(having.this, scope, "having"),
            tuple(self._ordering(item, scope) for item in order.expressions) if order is not None else (),
            None if limit is None else _count(limit, "limit", scope),
            0 if offset is None else _count(offset, "offset", scope),
        )

    def read(self, node: exp.Expression, scope: Scope) -> Typed:
        """Return an expression over the columns of the answer."""
        node = bare(node)
        named = self._named(node, scope)
        if named is not None:
            return Typed(named, self.kinds[named.name])
        for kinds, reader in _READERS:
            if isinstance(node, kinds):
                return reader(self, node, scope)
        if isinstance(node, exp.Like | exp.ILike):
            raise QuestionRefused(
                "HAVING compares with = < > and in.", fix="Write like in where, before group by."
            )
        return _constant(node, scope)

    def operands(self, node: exp.Expression, scope: Scope, *names: str) -> list[Typed]:
        """Return the arguments of a node that has these and no others."""
        only(node, *names)
        parts = [node.args[name] for name in names]
        return [self.read(part, scope) for many in parts for part in (many if isinstance(many, list) else [many])]

    def connected(self, node: exp.Expression, scope: Scope) -> Typed:
        """Return a AND b AND …, or the same with OR."""
        name = "and" if isinstance(node, exp.And) else "or"
        parts = [self._condition(part, scope, name) for part in expressions.chain(node)]
        return Typed(Step(name, tuple(parts)), "boolean")

    def opposite(self, node: exp.Expression, scope: Scope) -> Typed:
        """Return NOT a."""
        only(node, "this")
        return Typed(Step("not", (self._condition(node.this, scope, "not"),)), "boolean")

    def stated(self, node: exp.Expression, scope: Scope) -> Typed:
        """Return a IS NULL, a IS TRUE or a IS FALSE."""
        only(node, "this", "expression")
        if isinstance(node.expression, exp.Null):
            return Typed(Step("is null", (self.read(node.this, scope).node,)), "boolean")
        if not isinstance(node.expression, exp.Boolean):
            raise not_understood(node)
        inner = self._condition(node.this, scope, "is")
        known = Step("not", (Step("is null", (inner,)),))
        return Typed(Step("and", (known, inner if node.expression.this else Step("not", (inner,)))), "boolean")

    def compared(self, name: str, *operands: Typed) -> Node:
        """Return a comparison of operands of one kind, or refuse it."""
        kinds = {operand.kind for operand in operands}
        if "null" in kinds:
            raise QuestionRefused("A comparison with null is never true.", fix="Write is null, or is not null.")
        if kinds & _MOMENTS:
            return Step(name, tuple(self._instant(name, operand, kinds) for operand in operands))
        if kinds == {"boolean", "number"}:  # as in where, 0 and 1 are truth values
            operands = tuple(map(_truth, operands))
            kinds = {operand.kind for operand in operands}
        if len(kinds) > 1 or (kinds == {"boolean"} and name not in ("=", "<>", "in")):
            raise _unlike(name, kinds)
        return Step(name, tuple(operand.node for operand in operands))

    def _instant(self, name: str, operand: Typed, kinds: set[str]) -> Node:
        """Return a date or a time in microseconds since 1970. A string beside a date is a date."""
        node, kind = operand
        if isinstance(node, Value) and kind in ("text", *_MOMENTS):
            return Value(calendar.microseconds(comparisons.moment(node.value)))
        if kind not in _MOMENTS:
            raise _unlike(name, kinds)
        if isinstance(node, Output) and node.name in self.counted:
            return node if kind == "datetime" else Step("days", (node,))
        return Step("instant", (node,))

    def _condition(self, node: exp.Expression, scope: Scope, word: str) -> Node:
        read = self.read(node, scope)
        if read.kind not in ("boolean", "null"):
            raise QuestionRefused(
                f"{word.upper()} takes a condition, and {node.sql('duckdb')[:80]} is {_noun(read.kind)}.",
                fix=f"Compare it with something: {_WRITTEN[read.kind]}.",
            )
        return read.node

    def _named(self, node: exp.Expression, scope: Scope) -> Output | None:
        if isinstance(node, exp.Column) and not node.table:
            exact = [name for name in self.names if name == node.name]
            fitting = exact or [name for name in self.names if name.casefold() == node.name.casefold()]
            if len(fitting) == 1:
                return Output(fitting[0])
        if isinstance(node, exp.Literal | exp.Boolean | exp.Null):
            return None
        try:
            text = expression_text(node, scope)
        except QuestionRefused:
            text = ""
        if text in self.texts:
            return Output(self.texts[text])
        if is_aggregate(node):
            raise QuestionRefused(
                f"{text or node.sql('duckdb')} is not selected, and it has a cost of its own.",
                fix="Add it to the select list.",
            )
        if isinstance(node, exp.Column):
            raise QuestionRefused(
                f"{node.name} is not a column of the answer.",
                fix=[did_you_mean(node.name, self.names), "Conditions on rows belong to where."],
            )
        return None

    def _ordering(self, item: exp.Expression, scope: Scope) -> Ordering:
        only(item, "this", "desc", "nulls_first")
        node, flags = bare(item.this), (bool(item.args.get("desc")), bool(item.args.get("nulls_first")))
        if isinstance(node, exp.Literal) and not node.is_string:
            place = position(node, len(self.names), "order by")
            return Ordering(Output(self.names[place]), *flags)
        return Ordering(self.read(node, scope).node, *flags)


def position(node: exp.Expression, count: int, clause: str) -> int:
    """Return the place in the select list that a number names, from 0."""
    text = str(node.this)
    if not text.isdecimal() or not 1 <= int(text[:9]) <= count:
        raise QuestionRefused(
            f"{clause.upper()} {text} does not name a column: the select list has {count}.",
            fix=f"Write a number from 1 to {count}.",
        )
    return int(text) - 1


def _comparison(name: str) -> Callable[[Outputs, exp.Expression, Scope], Typed]:
    def read(outputs: Outputs, node: exp.Expression, scope: Scope) -> Typed:
        left, right = outputs.operands(node, scope, "this", "expression")
        return Typed(outputs.compared(name, left, right), "boolean")

    return read


def _arithmetic(name: str) -> Callable[[Outputs, exp.Expression, Scope], Typed]:
    def read(outputs: Outputs, node: exp.Expression, scope: Scope) -> Typed:
        operands = outputs.operands(node, scope, "this", "expression")
        return _computed(name, *operands)

    return read


def _negative(outputs: Outputs, node: exp.Expression, scope: Scope) -> Typed:
    (operand,) = outputs.operands(node, scope, "this")
    if isinstance(operand.node, Value) and operand.kind == "number":
        return Typed(Value(-operand.node.value), "number")
    return _computed("-", Typed(Value(0), "number"), operand)


def _computed(name: str, *operands: Typed) -> Typed:
    for operand in operands:
        if operand.kind not in ("number", "null"):
            raise QuestionRefused(
                f"In having and order by, {name} is for numbers, and here it meets {_noun(operand.kind)}.",
                fix="Compute with counts, sums and means: sum(income) / count(*).",
            )
    return Typed(Step(name, tuple(operand.node for operand in operands)), "number")


def _between(outputs: Outputs, node: exp.Expression, scope: Scope) -> Typed:
    inner, low, high = outputs.operands(node, scope, "this", "low", "high")
    ends = outputs.compared(">=", inner, low), outputs.compared("<=", inner, high)
    return Typed(Step("and", ends), "boolean")


def _among(outputs: Outputs, node: exp.Expression, scope: Scope) -> Typed:
    if not node.expressions:
        raise not_understood(node)
    return Typed(outputs.compared("in", *outputs.operands(node, scope, "this", "expressions")), "boolean")


def _constant(node: exp.Expression, scope: Scope) -> Typed:
    if node.find(exp.Column, exp.AggFunc) is not None:
        raise not_understood(node)
    read = expressions.value(node, scope)
    if not isinstance(read, Constant):
        raise not_understood(node)
    exact = read.value
    if isinstance(exact, Fraction):
        return Typed(Value(int(exact) if exact.denominator == 1 else exact), "number")
    kinds = {type(None): "null", bool: "boolean", str: "text", datetime: "datetime"}
    return Typed(Value(exact), kinds.get(type(exact), "date"))


def _truth(operand: Typed) -> Typed:
    if isinstance(operand.node, Value) and operand.node.value in (0, 1):
        return Typed(Value(bool(operand.node.value)), "boolean")
    return operand


def _unlike(name: str, kinds: set[str]) -> QuestionRefused:
    nouns = " beside ".join(_noun(kind) for kind in sorted(kinds))
    ways = "; ".join(_WRITTEN[kind] for kind in sorted(kinds))
    return QuestionRefused(
        f"{name.upper()} compares values of one kind, and here it meets {nouns}.", fix=f"Write {ways}."
    )


def _noun(kind: str) -> str:
    return _NOUNS.get(kind, f"a {kind}")


def _count(node: exp.Expression, word: str, scope: Scope) -> int:
    only(node, "expression")
    read = expressions.value(node.expression, scope)
    exact = read.value if isinstance(read, Constant) else None
    if not isinstance(exact, Fraction) or exact.denominator != 1 or exact < 0:
        raise QuestionRefused(
            f"{word.upper()} takes a whole number.",
            found=node.expression.sql("duckdb"),
            fix=f"Write {word} 10.",
        )
    return int(exact)


_READERS: Sequence[tuple[type | tuple[type, ...], Callable[[Outputs, exp.Expression, Scope], Typed]]] = (
    ((exp.And, exp.Or), Outputs.connected),
    (exp.Not, Outputs.opposite),
    (exp.Is, Outputs.stated),
    (exp.Between, _between),
    (exp.In, _among),
    (exp.EQ, _comparison("=")),
    (exp.NEQ, _comparison("<>")),
    (exp.LT, _comparison("<")),
    (exp.LTE, _comparison("<=")),
    (exp.GT, _comparison(">")),
    (exp.GTE, _comparison(">=")),
    (exp.Add, _arithmetic("+")),
    (exp.Sub, _arithmetic("-")),
    (exp.Mul, _arithmetic("*")),
    (exp.Div, _arithmetic("/")),
    (exp.Neg, _negative),
)
