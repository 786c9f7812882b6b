"""Having, order by, limit and offset, read against the columns of the answer.

They may name what is selected, by alias, by position or by writing it again, and nothing else: an aggregate that
is not selected would have to be bought.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from sqlglot import exp
from sqlglot.expressions import Expression

from discreet.errors import QuestionRefused
from discreet.vault import expressions, predicates
from discreet.vault.after import After, Node, Ordering, Output, Step, Value
from discreet.vault.aggregates import is_aggregate
from discreet.vault.expressions import bare, only
from discreet.vault.predicates import Constant
from discreet.vault.refusals import not_understood
from discreet.vault.scope import Scope, did_you_mean
from discreet.vault.spelling import spelled


@dataclass(frozen=True)
class Outputs:
    """The columns of an answer: their names in order, how each is spelled when written out, and their kinds."""

    names: Sequence[str]
    spellings: Mapping[str, str]
    kinds: Mapping[str, str]

    def after(self, select: Expression, scope: Scope) -> After:
        """Return what a select does with its answer."""
        having, order = select.args.get("having"), select.args.get("order")
        limit, offset = select.args.get("limit"), select.args.get("offset")
        if order is not None:
            only(order, "expressions")
        return After(
            None if having is None else self.node(having.this, scope),
            tuple(self._ordering(item, scope) for item in order.expressions) if order is not None else (),
            None if limit is None else _count(limit, "limit", scope),
            0 if offset is None else _count(offset, "offset", scope),
        )

    def node(self, node: Expression, scope: Scope) -> Node:
        """Return an expression over the columns of the answer."""
        node = bare(node)
        named = self._named(node, scope)
        if named is not None:
            return named
        if isinstance(node, exp.And | exp.Or):
            name = "and" if isinstance(node, exp.And) else "or"
            return Step(name, tuple(self.node(part, scope) for part in expressions.chain(node)))
        if type(node) in _STEPS:
            only(node, "this", "expression")
            return self._dated(
                _STEPS[type(node)], [self.node(part, scope) for part in (node.this, node.expression)]
            )
        if isinstance(node, exp.Between):
            only(node, "this", "low", "high")
            inner, low, high = (self.node(node.args[part], scope) for part in ("this", "low", "high"))
            return Step("and", (self._dated(">=", [inner, low]), self._dated("<=", [inner, high])))
        if isinstance(node, exp.In) and node.expressions:
            only(node, "this", "expressions")
            return self._dated("in", [self.node(part, scope) for part in (node.this, *node.expressions)])
        if isinstance(node, exp.Not):
            only(node, "this")
            return Step("not", (self.node(node.this, scope),))
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            return Step("is null", (self.node(node.this, scope),))
        return self._constant(node, scope)

    def _named(self, node: Expression, scope: Scope) -> Node | None:
        if isinstance(node, exp.Column) and not node.table:
            exact = [name for name in self.names if name == node.name]
            fitting = exact or [name for name in self.names if name.casefold() == node.name.casefold()]
            if len(fitting) == 1:
                return Output(fitting[0])
        if isinstance(node, exp.Literal | exp.Boolean | exp.Null):
            return None
        try:
            text = spelled(node, scope)
        except QuestionRefused:
            text = ""
        if text in self.spellings:
            return Output(self.spellings[text])
        if is_aggregate(node):
            raise QuestionRefused(
                f"{text or node.sql('duckdb')} is not selected, and it has a price of its own. "
                "Add it to the select list."
            )
        if isinstance(node, exp.Column):
            raise QuestionRefused(
                f"{node.name} is not a column of the answer. {did_you_mean(node.name, self.names)} "
                "Conditions on rows belong to where."
            )
        return None

    def _ordering(self, item: Expression, scope: Scope) -> Ordering:
        only(item, "this", "desc", "nulls_first")
        node, flags = bare(item.this), (bool(item.args.get("desc")), bool(item.args.get("nulls_first")))
        if isinstance(node, exp.Literal) and not node.is_string:
            place = position(node, len(self.names), "order by")
            return Ordering(Output(self.names[place]), *flags)
        return Ordering(self.node(node, scope), *flags)

    def _constant(self, node: Expression, scope: Scope) -> Node:
        if node.find(exp.Column, exp.AggFunc) is not None:
            raise not_understood(node)
        read = expressions.value(node, scope)
        if not isinstance(read, Constant):
            raise not_understood(node)
        exact = read.value
        return Value(int(exact) if isinstance(exact, Fraction) and exact.denominator == 1 else exact)

    def _dated(self, name: str, operands: list[Node]) -> Node:
        """A string beside a column of dates is a date."""
        kinds = {self.kinds.get(operand.name) for operand in operands if isinstance(operand, Output)}
        for kind in kinds & {"date", "datetime"}:
            operands = [_moment(operand, str(kind)) for operand in operands]
        return Step(name, tuple(operands))


def position(node: Expression, count: int, clause: str) -> int:
    """Return the place in the select list that a number names, from 0."""
    text = str(node.this)
    if not text.isdecimal() or not 1 <= int(text[:9]) <= count:
        raise QuestionRefused(f"{clause} {text} names no column: the select list has {count}.")
    return int(text) - 1


def _moment(operand: Node, kind: str) -> Node:
    if not isinstance(operand, Value) or not isinstance(operand.value, str | date):
        return operand
    when: Any = predicates.moment(operand.value)
    if kind == "datetime" and not isinstance(when, datetime):
        when = datetime(when.year, when.month, when.day)
    if kind == "date" and isinstance(when, datetime):
        when = when.date()
    return Value(when)


def _count(node: Expression, word: str, scope: Scope) -> int:
    only(node, "expression")
    read = expressions.value(node.expression, scope)
    exact = read.value if isinstance(read, Constant) else None
    if not isinstance(exact, Fraction) or exact.denominator != 1 or exact < 0:
        raise QuestionRefused(f"{word} takes a whole number, not {node.expression.sql('duckdb')}.")
    return int(exact)


_STEPS: dict[type, str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
}
