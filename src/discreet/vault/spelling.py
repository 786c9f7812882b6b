"""One spelling for each question: the key under which an answer is kept and served again for nothing.

Names are as declared, functions and keywords in one case, operands of AND and OR sorted, parentheses where and
only where operands are compound, aliases and comments gone. Equal texts mean equal questions: a text read again
gives the question it came from, which tests/vault/test_sql.py checks for every question it knows. Some equal
questions have unequal texts (`5 < age` and `age > 5`); they are paid for twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from sqlglot import exp
from sqlglot.expressions import Expression

from discreet.vault.expressions import bare, chain
from discreet.vault.scope import Scope

_COMPOUND = (exp.Binary, exp.Connector, exp.Not, exp.Neg, exp.Between, exp.In)
_TIGHT = (exp.Binary, exp.Not, exp.Neg, exp.Between, exp.In)


def spelled(node: Expression, scope: Scope) -> str:
    """Return the one spelling of an expression that has been understood."""
    return _written(_normal(node, scope))


def question(
    table: str, keys: Sequence[str], aggregates: Sequence[str], where: str | None, groups: Sequence[str]
) -> str:
    """Return the text of a whole question from the spellings of its parts.

    >>> question("people", ["city"], ["count(*)"], "age >= 65", ["city"])
    'select city, count(*) from people where age >= 65 group by city'
    """
    text = f"select {', '.join([*keys, *aggregates])} from {_written(identifier(table))}"
    if where is not None:
        text += f" where {where}"
    return f"{text} group by {', '.join(groups)}" if groups else text


def identifier(name: str) -> exp.Identifier:
    """Return a name, quoted unless it is plain and no word of SQL."""
    plain = re.fullmatch("[a-z_][a-z0-9_]*", name) is not None and name.upper() not in _words()
    return exp.Identifier(this=name, quoted=not plain)


@lru_cache(1)
def _words() -> frozenset[str]:
    from sqlglot.dialects.duckdb import DuckDB

    return frozenset(DuckDB.Tokenizer.KEYWORDS) | frozenset(
        word.upper() for word in ("all", "end", "else", "then")
    )


def _written(node: Expression) -> str:
    return node.sql("duckdb", normalize_functions="lower", comments=False)


def _normal(node: Expression, scope: Scope) -> Expression:
    node = bare(node)
    if isinstance(node, exp.And | exp.Or):
        return _sorted(node, scope)
    if isinstance(node, exp.Column):
        name = scope.description.person if scope.is_person(node) else scope.name(node)
        return exp.Column(this=identifier(str(name)))
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Literal | exp.Boolean | None):
        return exp.Count(this=exp.Star())
    if isinstance(node, exp.WithinGroup):
        return _normal(_called(node), scope)
    return type(node)(**{name: _argument(part, node, scope) for name, part in node.args.items()})


def _called(node: exp.WithinGroup) -> Expression:
    """percentile_cont(0.9) within group (order by x) as a call with two arguments."""
    ordered, probability = node.expression.expressions[0], node.this.this
    if ordered.args.get("desc"):
        probability = exp.Sub(this=exp.Literal.number(1), expression=exp.Paren(this=probability.copy()))
    return exp.PercentileCont(this=ordered.this.copy(), expression=probability.copy())


def _argument(part: object, parent: Expression, scope: Scope) -> object:
    if isinstance(part, list):
        return [_argument(item, parent, scope) for item in part]
    if not isinstance(part, Expression):
        return part
    normal = _normal(part, scope)
    return exp.Paren(this=normal) if isinstance(parent, _TIGHT) and isinstance(normal, _COMPOUND) else normal


def _sorted(node: Expression, scope: Scope) -> Expression:
    """A chain of AND or OR, sorted by spelling, each operand once."""
    parts = {_written(part): part for part in (_normal(operand, scope) for operand in chain(node))}
    operands = [parts[text] for text in sorted(parts)]
    joined = _closed(operands[0])
    for operand in operands[1:]:
        joined = type(node)(this=joined, expression=_closed(operand))
    return joined if len(operands) > 1 else operands[0]


def _closed(operand: Expression) -> Expression:
    return exp.Paren(this=operand) if isinstance(operand, exp.Connector) else operand
