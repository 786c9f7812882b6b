"""Write statements for engines: exact sums over sealed rows, by group.

Writing a statement reads no row. So a question that no engine can run (an expression that may exceed 126 bits, a
function that a dialect lacks) is refused here, before anything is charged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from discreet.engines import sql_writer
from discreet.engines.nodes import Expression


@dataclass(frozen=True)
class Statement:
    """Totals by group over a source, each written as SQL.

    >>> Statement("sealed.rows", ("c0",), ("SUM(w)",)).select()
    'SELECT c0 AS r0, SUM(w) AS r1 FROM sealed.rows GROUP BY 1'
    """

    source: str
    keys: tuple[str, ...]
    totals: tuple[str, ...]

    def select(self, total: str = "{}") -> str:
        """Return the query; every total is formatted by `total`, such as a cast."""
        texts = [*self.keys, *(total.format(text) for text in self.totals)]
        named = ", ".join(f"{text} AS r{i}" for i, text in enumerate(texts))
        grouped = f" GROUP BY {', '.join(str(i + 1) for i in range(len(self.keys)))}" if self.keys else ""
        return f"SELECT {named} FROM {self.source}{grouped}"


@dataclass(frozen=True)
class Rows:
    """A sealed table as statements see it: its name in FROM, its dialect, and the largest code of each column.

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
        """Write the sum of each expression over the rows on which `where` is true, by group.

        Args:
            where: The condition on rows; None for all rows.
            keys: The expressions to group by. Without keys there is exactly one group, (), even without rows.
            sums: The expressions to add up.
            spot: Whether only the spot rows take part, those that may name a string in partition selection.
        """
        totals = tuple(sql_writer.total(tree, self.dialect, limits=self.limits) for tree in sums)
        return Statement(f"{self.name}{self._where(where, spot)}", self._written(keys), totals)

    def persons(self, *, where: Expression | None, keys: Sequence[Expression], cap: int) -> Statement:
        """Write the sum over persons, by group, of the weight of each person there, at most `cap`."""
        named = tuple(f"k{i}" for i in range(len(keys)))
        written = [f"{text} AS {name}" for text, name in zip(self._written(keys), named, strict=True)]
        each = (
            f"(SELECT {', '.join([*written, f'LEAST({int(cap)}, SUM(w)) AS p'])} FROM {self.name}"
            f"{self._where(where)} GROUP BY {', '.join(['person', *named])}) AS persons"
        )
        return Statement(each, named, ("COALESCE(SUM(p), 0)",))

    def sizes(self, most: int) -> Statement:
        """Write the count of persons by their number of rows; those with `most` or more are counted together."""
        each = f"(SELECT LEAST({int(most)}, COUNT(*)) AS n FROM {self.name} GROUP BY person) AS persons"
        return Statement(each, ("n",), ("COUNT(*)",))

    def _written(self, keys: Sequence[Expression]) -> tuple[str, ...]:
        return tuple(sql_writer.sql(key, self.dialect, limits=self.limits) for key in keys)

    def _where(self, where: Expression | None, spot: bool = False) -> str:
        written = [] if where is None else [sql_writer.sql(where, self.dialect, limits=self.limits)]
        conditions = [*written, *(["spot"] if spot else [])]
        return f" WHERE {' AND '.join(conditions)}" if conditions else ""
