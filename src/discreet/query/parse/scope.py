"""Resolve the names that a question may use: the columns of the table, and the table itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import QuestionRefused
from discreet.query import ir
from discreet.query.question import Term
from discreet.schema.metadata import UNIT

if TYPE_CHECKING:
    from discreet.engines.nodes import Expression
    from discreet.schema import Column
    from discreet.schema.metadata import TableMetadata


SCHEMAS = ("public", "main")
"""The schemas that tools write before the name of a table; a vault has one table, and no schema."""

_WEIGHT = "w"  # the weight of a sealed row: UNIT, or less if its person has more rows than count in full


@dataclass(frozen=True)
class Scope:
    """A table, and its alias in this question."""

    metadata: TableMetadata
    alias: str | None = None

    @cached_property
    def _folded(self) -> dict[str, str]:
        return {name.casefold(): name for name in self.metadata.columns}

    def term(self, node: exp.Column) -> Term:
        """Return the column that a node names, in upper or lower case."""
        name = self.name(node)
        return column_term(self.metadata.sealed_name(name), self.metadata.columns[name])

    def name(self, node: exp.Column) -> str:
        """Return the declared name of the column that a node names."""
        self._check_table(node)
        written = node.name
        if self.is_person(node):
            raise QuestionRefused(
                f"{written} names the person of a row, and a question may only count it.",
                fix=f"Write count(distinct {named(written)}).",
            )
        if written.casefold() in self._folded:
            return self._folded[written.casefold()]
        hints = [self._unquoted(written) or did_you_mean(written, self.metadata.columns)]
        if node.this.args.get("quoted"):
            hints.insert(0, f"Text stands in single quotes: '{written[:40]}'.")
        raise QuestionRefused(f"There is no column {written}.", fix=hints)

    def _unquoted(self, written: str) -> str:
        """Return a hint if a word is the beginning of a name that needs quotes, such as Patient of Patient-Nr."""
        for name in filter(None, (*self.metadata.columns, self.metadata.person)):
            first = re.match(r"\w+", name)
            if first and first[0] != name and first[0].casefold() == written.casefold():
                return f"Write a name with other signs than letters and digits in double quotes: {named(name)}."
        return ""

    def is_person(self, node: exp.Expression) -> bool:
        """Return whether a node names the person column."""
        person = self.metadata.person
        if person is None or not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
            return False
        return node.name.casefold() == person.casefold()

    def over_bound(self) -> Expression:
        """Return whether the person of a row has more rows than count in full: only then the row weighs less."""
        if self.metadata.person is None:
            raise QuestionRefused(
                "Every row is a person here and counts in full, so no person is over the bound.",
                fix="Leave over_bound() out.",
            )
        return ir.compared("<", ir.sealed(_WEIGHT), ir.number(UNIT))

    def bounds(self, sealed: str) -> Term:
        """Return a column, or the weight, by its name in the sealed table."""
        if sealed == _WEIGHT:
            return Term(ir.sealed(_WEIGHT), 0, UNIT, nullable=False)
        names = {self.metadata.sealed_name(name): name for name in self.metadata.columns}
        return column_term(sealed, self.metadata.columns[names[sealed]])

    def _check_table(self, node: exp.Column) -> None:
        schema = node.args.get("db")
        known_schema = schema is None or (self.alias is None and schema.name.casefold() in SCHEMAS)
        if not isinstance(node.this, exp.Identifier) or not known_schema or node.args.get("catalog"):
            raise QuestionRefused(f"{node.sql()} is not a column.", fix="Name one column: age, or people.age.")
        known = self.alias or self.metadata.name
        if node.table and node.table.casefold() != known.casefold():
            raise QuestionRefused(
                f"{node.table} is not the table of this question.", fix=f"Write {named(known)}.{named(node.name)}."
            )


def column_term(sealed: str, column: Column) -> Term:
    """Return a column of the sealed table as a term.

    >>> from discreet.schema import Integer
    >>> column_term("c0", Integer(18, 99)).least
    Fraction(18, 1)
    """
    if column.levels is None:
        return Term(ir.sealed(sealed), 0, 0, kind=column.kind, column=column)
    labels = tuple(column.values(list(range(column.levels)))) if column.kind == "category" else None
    nullable = getattr(column, "missing", None) is None
    return Term(
        ir.sealed(sealed),
        0,
        column.levels - 1,
        scale=column.scale,
        offset=column.offset,
        kind=column.kind,
        column=column,
        labels=labels,
        nullable=nullable,
    )


def identifier(name: str) -> exp.Identifier:
    """Return a name, quoted unless it is plain and not a keyword of SQL.

    >>> identifier("age").sql(), identifier("select").sql(), identifier("Kosten €").sql()
    ('age', '"select"', '"Kosten €"')
    """
    plain = re.fullmatch("[a-z_][a-z0-9_]*", name) is not None and name.upper() not in _words()
    return exp.Identifier(this=name, quoted=not plain)


@lru_cache(1)
def _words() -> frozenset[str]:
    from sqlglot.dialects.duckdb import DuckDB

    return frozenset(DuckDB.Tokenizer.KEYWORDS) | frozenset(
        word.upper() for word in ("all", "end", "else", "then")
    )


@lru_cache(4096)
def named(name: str) -> str:
    """Return the text of a name, as a question writes it: what a hint shows can be copied."""
    return identifier(name).sql("duckdb")


def did_you_mean(written: str, names: Iterable[str]) -> str:
    """Return a hint: the nearest names, or the first dozen of all names.

    >>> did_you_mean("agee", ["age", "city"])
    'Did you mean age?'
    """
    known = {name.casefold(): name for name in names}
    near = get_close_matches(written.casefold(), known, n=3, cutoff=0.6)
    if near:
        return f"Did you mean {' or '.join(known[name] for name in near)}?"
    few = list(known.values())
    return f"There are {', '.join(few[:12])}{' …' if len(few) > 12 else ''}."
