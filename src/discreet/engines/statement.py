"""What an engine is asked: exact sums over sealed rows, by group, written out before anything is charged.

To write a statement touches no row, so a question that no engine can carry out (an expression that may leave 126
bits, a division that a dialect lacks) is refused here, while refusing is free.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from discreet.engines import sql_writer
from discreet.engines.nodes import Expression


@dataclass(frozen=True)
class Statement:
    """Totals by group over a source, each a text of SQL.

    >>> Statement("sealed.rows", ("c0",), ("SUM(w)",)).select()
    'SELECT c0 AS r0, SUM(w) AS r1 FROM sealed.rows GROUP BY 1'
    """

    source: str
    keys: tuple[str, ...]
    totals: tuple[str, ...]

    def select(self, total: str = "{}") -> str:
        """Return the query; every total is put into the given form, such as a cast."""
        texts = [*self.keys, *(total.format(text) for text in self.totals)]
        named = ", ".join(f"{text} AS r{i}" for i, text in enumerate(texts))
        grouped = f" GROUP BY {', '.join(str(i + 1) for i in range(len(self.keys)))}" if self.keys else ""
        return f"SELECT {named} FROM {self.source}{grouped}"


@dataclass(frozen=True)
class Rows:
    """A sealed table as questions see it: what FROM calls it, in which dialect, and how large its codes can be.

    >>> from discreet.engines.nodes import Column
    >>> rows = Rows("sealed.rows", limits={"w": 4096})
    >>> rows.sums(where=None, keys=[Column("c0")], sums=[Column("w")]).totals
    ('COALESCE(SUM("w"), 0)',)
    """

    name: str
    dialect: str = "duckdb"
    limits: Mapping[str, int] = field(default_factory=dict)

    def sums(
        self,
        *,
        where: Expression | None,
        keys: Sequence[Expression],
        sums: Sequence[Expression],
        spot: bool = False,
    ) -> Statement:
        """Add up each expression over the rows on which `where` is true, by group; `spot` takes spot rows only.

        Without keys there is exactly one group, (), even if no row takes part.
        """
        totals = tuple(sql_writer.total(tree, self.dialect, limits=self.limits) for tree in sums)
        return Statement(f"{self.name}{self._where(where, spot)}", self._written(keys), totals)

    def persons(self, *, where: Expression | None, keys: Sequence[Expression], cap: int) -> Statement:
        """Add up over persons, by group, what each weighs there, `cap` at most."""
        named = tuple(f"k{i}" for i in range(len(keys)))
        written = [f"{text} AS {name}" for text, name in zip(self._written(keys), named, strict=True)]
        each = (
            f"(SELECT {', '.join([*written, f'LEAST({int(cap)}, SUM(w)) AS p'])} FROM {self.name}"
            f"{self._where(where)} GROUP BY {', '.join(['person', *named])}) AS persons"
        )
        return Statement(each, named, ("COALESCE(SUM(p), 0)",))

    def sizes(self, most: int) -> Statement:
        """Count persons by how many rows they have, those with `most` or more together."""
        each = f"(SELECT LEAST({int(most)}, COUNT(*)) AS n FROM {self.name} GROUP BY person) AS persons"
        return Statement(each, ("n",), ("COUNT(*)",))

    def _written(self, keys: Sequence[Expression]) -> tuple[str, ...]:
        return tuple(sql_writer.sql(key, self.dialect, limits=self.limits) for key in keys)

    def _where(self, where: Expression | None, spot: bool = False) -> str:
        written = [] if where is None else [sql_writer.sql(where, self.dialect, limits=self.limits)]
        conditions = [*written, *(["spot"] if spot else [])]
        return f" WHERE {' AND '.join(conditions)}" if conditions else ""
