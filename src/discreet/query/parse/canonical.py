"""Write the canonical text of a question: the key under which its answer is recorded and found again for free.

Names are as declared, functions and keywords in one case, numbers in full without trailing zeros. Operands of AND
and OR are sorted, compound operands and no others stand in parentheses, aliases and comments are removed. Equal
texts mean equal questions: a text that is parsed again gives the question that it came from, which
tests/query/parse/test_select.py checks for every question it knows. Some equal questions have unequal texts
(`5 < age` and `age > 5`); both are charged.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from sqlglot import exp

from discreet.query.parse.expressions import bare, chain, unit_of
from discreet.query.parse.scope import Scope, identifier, named

_COMPOUND = (exp.Binary, exp.Connector, exp.Not, exp.Neg, exp.Between, exp.In)
_TIGHT = (exp.Binary, exp.Not, exp.Neg, exp.Between, exp.In)
_BETWEEN: dict[type, str] = {
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.And: "AND",
    exp.Or: "OR",
}
_SIMPLE: dict[type, str] = {exp.Count: "count", exp.Sum: "sum", exp.Avg: "avg"}


def expression_text(node: exp.Expression, scope: Scope) -> str:
    """Return the canonical text of an expression that has been read."""
    return _written(_normal(node, scope), last=True)


def question(
    table: str, keys: Sequence[str], aggregates: Sequence[str], where: str | None, groups: Sequence[str]
) -> str:
    """Return the canonical text of a whole question from those of its parts.

    Args:
        table: The name of the table.
        keys: The texts of the group keys.
        aggregates: The texts of the aggregates.
        where: The text of the condition; None without one.
        groups: The texts after GROUP BY; empty without groups.

    >>> question("people", ["city"], ["count(*)"], "age >= 65", ["city"])
    'select city, count(*) from people where age >= 65 group by city'
    """
    text = f"select {', '.join([*keys, *aggregates])} from {named(table)}"
    if where is not None:
        text += f" where {where}"
    return f"{text} group by {', '.join(groups)}" if groups else text


def _written(node: exp.Expression, *, last: bool = False) -> str:
    """Return the text of a normal form. On its `last` use the writer may change it, which saves a copy."""
    plain = _plain(node)
    if plain is not None:
        return plain
    return node.sql("duckdb", copy=not last, normalize_functions="lower", comments=False)


def _plain(node: exp.Expression) -> str | None:
    """Return the text of what is common, as sqlglot's writer gives it, but sooner; None for all else."""
    if isinstance(node, exp.Column):
        return named(node.name)
    if isinstance(node, exp.Literal):
        return None if node.is_string else str(node.this)
    if type(node) in _SIMPLE and (inside := _only(node)):
        return f"{_SIMPLE[type(node)]}({inside})"
    if (symbol := _BETWEEN.get(type(node))) is None:
        return None
    left, right = _plain(node.this), _plain(node.expression)
    return None if left is None or right is None else f"{left} {symbol} {right}"


def _only(call: exp.Expression) -> str:
    """Return the column, or the star, that a function is called with; empty if it has other arguments."""
    if any(argument for name, argument in call.args.items() if name not in ("this", "big_int")):
        return ""
    if isinstance(call.this, exp.Star):
        return "" if any(call.this.args.values()) else "*"
    return named(call.this.name) if isinstance(call.this, exp.Column) else ""


def _normal(node: exp.Expression, scope: Scope) -> exp.Expression:
    node = bare(node)
    if isinstance(node, exp.And | exp.Or):
        return _sorted(node, scope)
    if isinstance(node, exp.Column):
        name = scope.metadata.person if scope.is_person(node) else scope.name(node)
        return exp.Column(this=identifier(str(name)))
    if isinstance(node, exp.Literal) and not node.is_string:
        return exp.Literal(this=_numeral(str(node.this)), is_string=False)
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Literal | exp.Boolean | None):
        return exp.Count(this=exp.Star())
    if isinstance(node, exp.DateDiff):  # datediff(days, a, b) and date_diff('day', a, b) are one
        node = exp.DateDiff(this=node.this, expression=node.expression, unit=exp.Var(this=unit_of(node)))
    if isinstance(node, exp.WithinGroup):
        return _normal(_called(node), scope)
    return type(node)(**{name: _argument(part, node, scope) for name, part in node.args.items()})


def _numeral(text: str) -> str:
    """Return a number by its value alone: 65 for 65.0 and 6.5e1. It has been read before, so it is short."""
    whole, _, places = f"{Decimal(text):f}".partition(".")
    places = places.rstrip("0")
    return f"{whole}.{places}" if places else whole


def _called(node: exp.WithinGroup) -> exp.Expression:
    """Return percentile_cont(0.9) within group (order by x) as a call with two arguments."""
    ordered, probability = node.expression.expressions[0], node.this.this
    if ordered.args.get("desc"):
        probability = exp.Sub(this=exp.Literal.number(1), expression=exp.Paren(this=probability.copy()))
    return exp.PercentileCont(this=ordered.this.copy(), expression=probability.copy())


def _argument(part: object, parent: exp.Expression, scope: Scope) -> object:
    if isinstance(part, list):
        return [_argument(item, parent, scope) for item in part]
    if not isinstance(part, exp.Expression):
        return part
    normal = _normal(part, scope)
    return exp.Paren(this=normal) if isinstance(parent, _TIGHT) and isinstance(normal, _COMPOUND) else normal


def _sorted(node: exp.Expression, scope: Scope) -> exp.Expression:
    """Return a chain of AND or OR, sorted by canonical text, each operand once."""
    parts = {_written(part): part for part in (_normal(operand, scope) for operand in chain(node))}
    operands = [parts[text] for text in sorted(parts)]
    joined = _closed(operands[0])
    for operand in operands[1:]:
        joined = type(node)(this=joined, expression=_closed(operand))
    return joined if len(operands) > 1 else operands[0]


def _closed(operand: exp.Expression) -> exp.Expression:
    return exp.Paren(this=operand) if isinstance(operand, exp.Connector) else operand
