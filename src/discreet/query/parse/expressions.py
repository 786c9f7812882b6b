"""Read an analyst's expression, node by node, against the allow-list of discreet.query.parse.functions.

Each reader knows the arguments that its node may carry, and refuses any other. So an argument that a later version
of the parser adds is refused too. The result is a term or a condition of our own; the analyst's tree goes no
further.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from sqlglot import exp

from discreet.engines.nodes import Expression
from discreet.errors import ParameterError, QuestionRefused
from discreet.query import ir
from discreet.query.bounds import arithmetic, calendar, comparisons, conditionals, reachable_values
from discreet.query.bounds.comparisons import Constant, Operand
from discreet.query.parse import functions
from discreet.query.parse.scope import Scope
from discreet.query.parse.unsupported import not_understood
from discreet.query.question import Term
from discreet.rational import rational

# The parser remembers the dialect by these arguments; they change no meaning here.
_REMARKS = {"typed", "safe", "big_int", "ignore_nulls"}

# The most bits of a number in a question. Answers become floats: with codes below 2⁶² and numbers of at most this
# length, squares and sums neither overflow nor underflow.
_DIGITS = 340


def only(node: exp.Expression, *known: str) -> None:
    """Refuse a node that carries anything besides the arguments known."""
    for name, argument in node.args.items():
        if argument and name not in known and name not in _REMARKS:
            raise not_understood(node)


def bare(node: exp.Expression) -> exp.Expression:
    """Return a node without the parentheses around it."""
    while isinstance(node, exp.Paren):
        only(node, "this")
        node = node.this
    return node


def value(node: exp.Expression, scope: Scope) -> Operand:
    """Return the value of an expression on each row: a term, or a constant."""
    read = _value(bare(node), scope)
    exact = (read.scale, read.offset) if isinstance(read, Term) else (read.value,)
    for number in exact:
        if isinstance(number, Fraction) and max(map(int.bit_length, number.as_integer_ratio())) > _DIGITS:
            raise QuestionRefused(
                f"{node.sql('duckdb')[:40]} leads to a number of more digits than are computed with, about 100.",
                fix="Write fewer digits, or round first.",
            )
    return read


def _value(node: exp.Expression, scope: Scope) -> Operand:
    if type(node) in functions.VALUES:
        return _applied(node, scope, *functions.VALUES[type(node)])  # type: ignore[no-any-return]
    if type(node) in _VALUES:
        return _VALUES[type(node)](node, scope)
    if type(node) in functions.CONDITIONS or type(node) in _CONDITIONS:
        found = condition(node, scope)
        known = settled(found)
        return comparisons.as_term(found) if known is None else Constant(known)
    raise not_understood(node)


def term(node: exp.Expression, scope: Scope) -> Term:
    """Return an expression as a term, a constant included."""
    return functions.as_term(value(node, scope))


def condition(node: exp.Expression, scope: Scope) -> Expression:
    """Return an expression as a condition: true, false or NULL on each row."""
    node = bare(node)
    if type(node) in functions.CONDITIONS:
        negated = node.args.get("negate")  # as the parser writes NOT LIKE
        found = _applied(node, scope, *functions.CONDITIONS[type(node)], "negate")
        return ir.opposite(found) if negated else found
    if type(node) in _CONDITIONS:
        return _CONDITIONS[type(node)](node, scope)
    if _is_over_bound(node):
        return scope.over_bound()
    return comparisons.truth(value(node, scope))


def _applied(
    node: exp.Expression, scope: Scope, names: tuple[str, ...], apply: Callable[..., Any], *more: str
) -> Any:
    only(node, *(name.rstrip("?*") for name in names), *more)
    operands: list[Any] = []
    for name in names:
        argument = node.args.get(name.rstrip("?*"))
        if name.endswith("*"):
            operands.append([value(part, scope) for part in argument or []])
        elif argument is None and not name.endswith("?"):
            raise not_understood(node)
        else:
            operands.append(None if argument is None else value(argument, scope))
    return apply(*operands)


def _column(node: exp.Expression, scope: Scope) -> Operand:
    if not isinstance(node, exp.Column):
        raise not_understood(node)
    only(node, "this", "table", "db", "catalog")
    return scope.term(node)


def _literal(node: exp.Expression, scope: Scope) -> Operand:
    if node.is_string:
        return Constant(str(node.this))
    try:
        return Constant(rational(str(node.this), "a number"))
    except ParameterError:
        raise QuestionRefused(
            "This number has more digits than a number here may have.",
            found=f"{str(node.this)[:20]}",
            fix="Write fewer digits.",
        ) from None


def _case(node: exp.Expression, scope: Scope) -> Operand:
    only(node, "this", "ifs", "default")
    branches = []
    for branch in node.args["ifs"]:
        only(branch, "this", "true")
        if node.this is None:
            met = condition(branch.this, scope)
        else:
            met = comparisons.compare("=", value(node.this, scope), value(branch.this, scope))
        branches.append((met, branch.args["true"]))
    return _chosen(branches, node.args.get("default"), scope)


def _if(node: exp.Expression, scope: Scope) -> Operand:
    only(node, "this", "true", "false")
    return _chosen([(condition(node.this, scope), node.args["true"])], node.args.get("false"), scope)


def _chosen(
    branches: list[tuple[Expression, exp.Expression]], default: exp.Expression | None, scope: Scope
) -> Operand:
    """Return the outcomes of a case, all of one kind. Rows of a NULL outcome are excluded from later branches."""
    if default is not None:
        branches = [*branches, (ir.always(True), default)]
    read = [(met, None if isinstance(bare(part), exp.Null) else term(part, scope)) for met, part in branches]
    kept: list[conditionals.Branch] = []
    empty: list[Expression] = []
    for met, outcome in read:
        known = settled(met)
        if known is not False and outcome is None:
            empty.append(met)
        elif known is not False and outcome is not None:
            kept.append((_unless(empty, met), outcome))
        if known:
            break
    if not kept:
        raise QuestionRefused(
            "A case needs an outcome that is not null.", fix="Write case when age >= 65 then 1 else 0 end."
        )
    if len({outcome.kind for _, outcome in kept}) > 1 or kept[0][1].kind == "text":
        raise QuestionRefused(
            "The outcomes of a case are all numbers, or all categories, dates or truth values.",
            fix="Use outcomes of one kind: case when age >= 65 then 1 else 0 end.",
        )
    last = kept.pop()[1] if settled(kept[-1][0]) else None
    return conditionals.choose(kept, last) if kept or last is None else functions.folded(last)


def settled(tree: Expression) -> bool | None:
    """Return the truth of a condition that reads no column; None if it reads one, or if it is NULL.

    >>> settled(ir.always(False)), settled(ir.is_null(ir.sealed("c0")))
    (False, None)
    """
    if ir.columns_of(tree):
        return None
    truth, unknown = reachable_values.evaluated(tree, {})
    return None if unknown else bool(truth)


def _unless(empty: list[Expression], met: Expression) -> Expression:
    """Restrict a condition to the rows where none of the empty branches holds."""
    if not empty:
        return met
    free = ir.case([(ir.either(*empty), ir.number(0))], ir.number(1))
    return ir.both(ir.compared("=", free, ir.number(1)), met)


def _truncated(node: exp.Expression, scope: Scope) -> Operand:
    only(node, "this", "unit")
    return calendar.truncated(node.args["unit"].name.lower(), functions.moment(value(node.this, scope)))


def _extracted(node: exp.Expression, scope: Scope) -> Operand:
    only(node, "this", "expression")
    return _part(node.name, node.expression, scope)


def _part(name: str, node: exp.Expression, scope: Scope) -> Operand:
    known = {"dayofweek": "dow", "dayofyear": "doy", "dayofmonth": "day"}
    return calendar.extracted(known.get(name.lower(), name.lower()), functions.moment(value(node, scope)))


def _difference(node: exp.Expression, scope: Scope) -> Operand:
    """Read date_diff('day', start, end); the parser puts the end first."""
    only(node, "this", "expression", "unit", "date_part_boundary")
    if node.args.get("unit") is None or node.args.get("expression") is None:
        raise QuestionRefused(
            "date_diff takes a unit and two dates.",
            fix="Write date_diff('day', started, ended), or ended - started.",
        )
    return functions.difference(unit_of(node), value(node.expression, scope), value(node.this, scope))


def unit_of(node: exp.Expression) -> str:
    """Return the unit of date_diff as we write it: day for DAYS."""
    return str(node.args["unit"].name).lower().removesuffix("s")


def _function(node: exp.Expression, scope: Scope) -> Operand:
    """Read a function for which the parser has no node."""
    arguments = node.expressions
    if _is_over_bound(node):
        return comparisons.as_term(scope.over_bound())
    if str(node.this).lower() in ("date_part", "datepart") and len(arguments) == 2 and arguments[0].is_string:
        return _part(arguments[0].name, arguments[1], scope)
    raise not_understood(node)


def _is_over_bound(node: exp.Expression) -> bool:
    if not isinstance(node, exp.Anonymous) or str(node.this).lower() != "over_bound":
        return False
    if node.expressions:
        raise QuestionRefused("over_bound() takes no argument.", fix="Write over_bound().")
    return True


def _cast(node: exp.Expression, scope: Scope) -> Operand:
    """Read a cast that changes no value: strings to dates, times to their day, truth values to 0 and 1."""
    only(node, "this", "to")
    only(node.args["to"], "this")
    to, inner = str(node.args["to"].this.value), value(node.this, scope)
    if isinstance(inner, Constant) and isinstance(inner.value, str) and to in ("DATE", *_TIMES):
        return Constant(_typed(inner.value, to))
    read = functions.as_term(inner)
    whole = read.scale.denominator == 1 and read.offset.denominator == 1
    if read.kind in ("date", "datetime") and to == "DATE":
        return calendar.days(read)
    if to == "DATE" and read.labels and all(type(label) is date for label in read.labels):
        return read  # date_trunc('month', seen)::date
    if read.kind == "boolean" and to in _INTEGERS:
        return functions.folded(arithmetic.plain(read))
    if read.kind == "number" and (to in ("DOUBLE", "FLOAT") or (to in _INTEGERS and whole)):
        return functions.folded(read)
    raise QuestionRefused(
        f"{node.sql('duckdb')} may change values in ways in which engines disagree.",
        fix="Name the column alone, as numbers and dates are keys too; use floor(…) or round(…) to cut digits.",
    )


_INTEGERS = ("INT", "BIGINT", "SMALLINT", "TINYINT", "INT128")
_TIMES = ("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME")


def _typed(text: str, to: str) -> date | datetime:
    read = comparisons.moment(text)
    if to == "DATE":
        return read.date() if isinstance(read, datetime) else read
    return read if isinstance(read, datetime) else datetime(read.year, read.month, read.day)


def _is(node: exp.Expression, scope: Scope) -> Expression:
    only(node, "this", "expression")
    if isinstance(node.expression, exp.Null):
        return ir.is_null(term(node.this, scope).code)
    if not isinstance(node.expression, exp.Boolean):
        raise not_understood(node)
    code = comparisons.as_term(condition(node.this, scope)).code
    wanted = ir.compared("=", code, ir.number(int(bool(node.expression.this))))
    return ir.both(ir.opposite(ir.is_null(code)), wanted)


def _not(node: exp.Expression, scope: Scope) -> Expression:
    only(node, "this")
    return ir.opposite(condition(node.this, scope))


def _connected(join: Callable[..., Expression]) -> Callable[[exp.Expression, Scope], Expression]:
    """Join the operands in sorted order, each once, so that equal questions have equal trees."""

    def read(node: exp.Expression, scope: Scope) -> Expression:
        operands = {found.sql(): found for found in (condition(part, scope) for part in chain(node))}
        return join(*(operands[text] for text in sorted(operands)))

    return read


def chain(node: exp.Expression) -> list[exp.Expression]:
    """Return the operands of a AND b AND c, or of a OR b OR c, without recursion: such chains may be long."""
    operands: list[exp.Expression] = []
    stack = [node]
    while stack:
        part = bare(stack.pop())
        if type(part) is type(node):
            only(part, "this", "expression")
            stack += [part.expression, part.this]
        else:
            operands.append(part)
    return operands


_VALUES: dict[type, Callable[[exp.Expression, Scope], Operand]] = {
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Boolean: lambda node, scope: Constant(bool(node.this)),
    exp.Null: lambda node, scope: Constant(None),
    exp.Case: _case,
    exp.If: _if,
    exp.TimestampTrunc: _truncated,
    exp.DateTrunc: _truncated,
    exp.Extract: _extracted,
    exp.DateDiff: _difference,
    exp.Cast: _cast,
    exp.Anonymous: _function,
}

_CONDITIONS: dict[type, Callable[[exp.Expression, Scope], Expression]] = {
    exp.Is: _is,
    exp.Not: _not,
    exp.And: _connected(ir.both),
    exp.Or: _connected(ir.either),
}
