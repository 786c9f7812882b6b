"""Bound how long the texts of a catalogue query can grow, before a database computes them.

A database computes 2,048 rows at a time, and does not count the texts of a vector against its limit of memory:
`replace(replace('a', 'a', 'aaaaaaaaaa'), …)` has ten times as many letters with each level. So a query is refused
if the texts that it puts together, each once, may have more than `MOST` characters.

A long text that a query selects counts as well: joins copy it for every row.

The bound of a text: a literal has its length, and a column that of the longest text below its query, at least
`SHORT`. What is put together has the sum of its parts, and a replacement has a part for each character and one
more. Any other node has the longest of its parts. Texts that rows are aggregated to are limited by the database;
here they count as `AGGREGATED`, and what is made of so long a text counts 16 times, so that it grows little.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlglot import exp

MOST = 1 << 16
"""The most characters of all texts that one row puts together: 128 MB for the rows of a vector."""
SHORT, AGGREGATED, _AGAIN = 64, 1 << 10, 16
_SUMS = (exp.DPipe, exp.Concat, exp.ConcatWs, exp.Array, exp.JSONObject, exp.Add)
_REPLACES = (exp.Replace, exp.RegexpReplace)
_AGGREGATES = (exp.ArrayAgg, exp.GroupConcat, exp.ArrayToString)
_SUM_NAMES = {"concat", "concat_ws", "json_object", "json_build_object"}
_REPLACE_NAMES = {"replace", "regexp_replace"}
_AGGREGATE_NAMES = {"array_agg", "string_agg", "array_to_string"}


class TooLong(Exception):
    """A query whose texts may grow beyond the bound."""


def check_growth(query: exp.Query) -> None:
    """Refuse a query whose texts may grow beyond the bound, by raising `TooLong`.

    >>> import sqlglot
    >>> check_growth(sqlglot.parse_one("select a || '.' || b from t"))
    >>> check_growth(sqlglot.parse_one(f"select replace(replace(a, 'a', '{'b' * 99}'), 'b', '{'c' * 99}') from t"))
    Traceback (most recent call last):
    discreet.query.parse.tool_growth.TooLong
    """
    _Growth().longest(query, SHORT)


class _Growth:
    """The characters that were put together so far."""

    def __init__(self) -> None:
        self.total = 0

    def longest(self, node: Any, column: int) -> int:
        """Return the bound of a node, where columns have at most so many characters."""
        if isinstance(node, exp.Query):
            return self._query(node, column)
        if isinstance(node, exp.Literal):
            return len(str(node.this))
        if isinstance(node, exp.Column | exp.Star):
            return column
        parts = [self.longest(part, column) for part in _parts(node)]
        name = str(node.this).casefold() if isinstance(node, exp.Anonymous) else ""
        if isinstance(node, _SUMS) or name in _SUM_NAMES:
            return self._grown(sum(parts))
        if isinstance(node, _REPLACES) or name in _REPLACE_NAMES:
            return self._grown((max(parts) + 1) * (sum(parts) - max(parts) + 1))
        if isinstance(node, _AGGREGATES) or name in _AGGREGATE_NAMES:
            return self._made(max([AGGREGATED, *parts]))
        return max(parts, default=0)

    def _query(self, query: exp.Query, column: int) -> int:
        """Return the bound of a query: first what its columns come from, one after the other, then the rest."""
        with_: Any = query.args.get("with_") or query.args.get("with") or exp.With()
        for common in with_.expressions:
            found = self.longest(common.this, column)
            if with_.args.get("recursive") and found > column:
                raise TooLong  # it grows again with every round
            column = max(column, found)
        sources = ("from_", "from", "joins", "laterals")
        for name in sources:
            for part in _listed(query.args.get(name)):
                column = max(column, self.longest(part, column))
        others, tables = [0], 1 + len(query.args.get("joins") or ())
        for name, argument in query.args.items():
            for part in _listed(argument) if name not in (*sources, "with_", "with") else ():
                found = self.longest(part, column)
                others.append(found)
                if name == "expressions" and isinstance(query, exp.Select) and found > SHORT:
                    self._made(found * (tables if part.find(exp.Star) else 1))  # a long text for every row
        return max(others)

    def _grown(self, length: int) -> int:
        self._made(length * _AGAIN if length >= AGGREGATED else length)
        return length

    def _made(self, length: int) -> int:
        self.total += length
        if self.total > MOST:
            raise TooLong
        return length


def _parts(node: Any) -> Iterator[Any]:
    if isinstance(node, exp.Expr):
        for argument in node.args.values():
            yield from _listed(argument)


def _listed(argument: Any) -> list[Any]:
    if isinstance(argument, list):
        return [part for item in argument for part in _listed(item)]
    return [argument] if isinstance(argument, exp.Expr) else []
