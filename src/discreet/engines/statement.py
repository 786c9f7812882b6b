"""Write statements for engines: exact sums over sealed rows, by group.

Writing a statement reads no row. So a question that no engine can run (an expression that may exceed 126 bits, a
function that a dialect lacks) is refused here, before anything is charged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from discreet.engines import full_weight, sql_writer
from discreet.engines.clamping import unclamped
from discreet.engines.dialects import DIALECTS
from discreet.engines.examples import WHOLE
from discreet.engines.full_weight import Combination
from discreet.engines.nodes import Column, Expression

ONCE = "once"
"""Begins the name of a mark: `once9` is true for a person whose texts in `c9` are all different."""

FULL, OTHERS = "full_weight", "others"
"""The names of rows that all have full weight, and of the others, where an engine tells them apart."""

_IN_MEMORY = {"TINYINT": "int8", "SMALLINT": "int16", "INTEGER": "int32", "BIGINT": "int64"}


@dataclass(frozen=True)
class Statement:
    """Totals by group over a source, each written as SQL.

    >>> Statement("sealed.rows", ("c0",), ("SUM(w)",)).select()
    'SELECT c0 AS r0, SUM(w) AS r1 FROM sealed.rows GROUP BY 1'
    """

    source: str
    keys: tuple[str, ...]
    totals: tuple[str, ...]
    lean: Statement | None = None
    """The same totals in less time, for rows that meet the two conditions below; None if nothing is saved."""

    within: tuple[tuple[str, int], ...] = ()
    """The columns that must have no code below 0 or above this one for `lean`."""

    marks: tuple[str, ...] = ()
    """The columns of marks that the rows must have for `lean`."""

    combined: tuple[Combination, ...] = ()
    """What is wanted, as combinations of the totals; none if the totals themselves are wanted."""

    def select(self, total: str = "{}") -> str:
        """Return the query; every total is formatted by `total`, such as a cast."""
        texts = [*self.keys, *(total.format(text) for text in self.totals)]
        named = ", ".join(f"{text} AS r{i}" for i, text in enumerate(texts))
        grouped = f" GROUP BY {', '.join(str(i + 1) for i in range(len(self.keys)))}" if self.keys else ""
        return f"SELECT {named} FROM {self.source}{grouped}"


@dataclass(frozen=True)
class Selection:
    """Columns of single rows, with the weights of a learner, as a query.

    Args:
        query: The query. Its columns are those of `names`, and then the weight.
        names: The names by which a learner knows the columns.
        types: The types of their codes in memory, by the names that numpy gives them.
        columns: The sealed columns, in the same order.
        rows: The sealed rows.
        several: Whether a person may weigh more than one row.
        where: The condition on rows; None for all rows.
    """

    query: str
    names: tuple[str, ...]
    types: tuple[str, ...]
    columns: tuple[str, ...]
    rows: Rows
    several: bool
    where: Expression | None = None

    def sums(
        self,
        quantities: Mapping[str, Expression],
        *,
        where: Expression | None,
        keys: Sequence[Expression],
        sums: Sequence[Expression],
    ) -> Statement:
        """Write sums over these rows with the weights of a learner, which are the column `w`.

        Args:
            quantities: What is computed from each row, over the sealed columns, by names for the other arguments.
            where: The condition on rows; None for all rows. It does not change how a person's rows share a weight.
            keys: The expressions to group by.
            sums: The expressions to add up.
        """
        rows, limits = self.rows, dict[str, int]()
        listed = []
        for name, tree in quantities.items():
            written = sql_writer.sql(tree, rows.dialect, limits=rows.limits)
            listed.append(f"{written} AS {sql_writer.identifier(name, rows.dialect)}")
            limits[name] = max(map(abs, sql_writer.value_bounds(tree, rows.limits)))
        listed.append(f"{rows.share(several=self.several)} AS w")
        source = f"(SELECT {', '.join(listed)} FROM {rows.name}{rows._where(self.where)}) AS examples"
        # Quantities may be negative. The limits bound their absolute values, and so those of their products.
        return Rows(source, rows.dialect, {**limits, "w": WHOLE}).sums(where=where, keys=keys, sums=sums)


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
    codes: bool = False
    """Whether the engine can check that the codes of a column are within their limit, and knows the rows of full
    weight and all others as FULL and OTHERS, for `Statement.lean`."""

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
        source, written = f"{self.name}{self._where(where, spot)}", self._written(keys)
        totals = tuple(sql_writer.total(tree, self.dialect, limits=self.limits) for tree in sums)
        if not self.codes:
            return Statement(source, written, totals)
        relied: dict[str, int] = {}
        trees = [unclamped(tree, self.limits, relied) for tree in sums]
        lean = None if written else self._by_weight(trees, where, spot)
        if lean is None and relied:
            short = (sql_writer.total(tree, self.dialect, limits=self.limits) for tree in trees)
            lean = Statement(source, written, tuple(short))
        return Statement(source, written, totals, lean, tuple(sorted(relied.items())))

    def _by_weight(self, trees: Sequence[Expression], where: Expression | None, spot: bool) -> Statement | None:
        """Write sums without keys as those of rows of full weight, and those of all other rows.

        These are two tables, so no row is read twice. Sums of weights alone take no longer in one scan.
        """
        if "w" not in self.limits or all(isinstance(tree, Column) for tree in trees):
            return None
        few, combined = full_weight.parts(trees, self.limits)
        whole = [full_weight.total(tree, self.limits) for tree in few]
        if None in whole:
            return None
        weighed = tuple(sql_writer.total(tree, self.dialect, limits=self.limits) for tree in few)
        unweighed = tuple(f"COALESCE({text}, 0)" for text in whole)
        # A row of full weight is a spot row: its person is within the bound.
        sources = {FULL: (self._where(where), unweighed), OTHERS: (self._where(where, spot), weighed)}
        source = ", ".join(
            f"({Statement(f'{name}{condition}', (), texts).select()}) AS {name}"
            for name, (condition, texts) in sources.items()
        )
        added = tuple(f"{FULL}.r{i} + {OTHERS}.r{i}" for i in range(len(few)))
        return Statement(source, (), added, combined=tuple(combined))

    def persons(self, *, where: Expression | None, keys: Sequence[Expression], cap: int) -> Statement:
        """Write the sum over persons, by group, of the weight of each person there, at most `cap`.

        A person whose texts in a column are all different has at most one row in each group by that column, which
        weighs at most `cap` if that is the weight of a whole row. So the rows of marked persons are added up by
        group, and only the rows of the others are gathered by person first. The numbers are the same.
        """
        named = tuple(f"k{i}" for i in range(len(keys)))
        written = [f"{text} AS {name}" for text, name in zip(self._written(keys), named, strict=True)]
        totals = ("COALESCE(SUM(p), 0)",)

        def gathered(*further: str) -> str:
            return (
                f"SELECT {', '.join([*written, f'LEAST({int(cap)}, SUM(w)) AS p'])} FROM {self.name}"
                f"{self._where(where, False, *further)} GROUP BY {', '.join(['person', *named])}"
            )

        plain = f"({gathered()}) AS persons"
        marks = tuple(f"{ONCE}{key.name[1:]}" for key in keys if isinstance(key, Column) and self._is_text(key))
        if not marks or cap < self.limits.get("w", cap + 1):
            return Statement(plain, named, totals)
        once = f"({' OR '.join(marks)})"
        single = (
            f"SELECT {', '.join([*written, 'SUM(w) AS p'])} FROM {self.name}{self._where(where, False, once)} "
            f"GROUP BY {', '.join(named)}"
        )
        source = f"({single} UNION ALL {gathered(f'NOT {once}')}) AS persons"
        return Statement(plain, named, totals, Statement(source, named, totals), marks=marks)

    def _is_text(self, column: Column) -> bool:
        """Return whether a column may hold strings: codes have limits."""
        return self.codes and column.name.startswith("c") and column.name not in self.limits

    def sizes(self, most: int) -> Statement:
        """Write the count of persons by their number of rows; those with `most` or more are counted together."""
        each = f"(SELECT LEAST({int(most)}, COUNT(*)) AS n FROM {self.name} GROUP BY person) AS persons"
        return Statement(each, ("n",), ("COUNT(*)",))

    def selection(
        self, columns: Mapping[str, str], *, where: Expression | None = None, several: bool = True
    ) -> Selection:
        """Write the codes of single rows, where a missing one is −1, and the weights of a learner.

        The weights of one person's rows add up to at most a whole row: the sealed weight is divided by the sum of
        the person's sealed weights, rounded down. It looks at the rows of that person only.

        Args:
            columns: The sealed columns, by the names that the learner knows them by.
            where: The condition on rows; None for all rows.
            several: Whether a person may weigh more than one row. If not, the sealed weight is the learner's.
        """
        dialect = DIALECTS[self.dialect]
        kinds = [self._narrow(column) for column in columns.values()]
        codes = [
            f"CAST(COALESCE({column}, -1) AS {dialect.types[kind]}) AS r{i}"
            for i, (column, kind) in enumerate(zip(columns.values(), kinds, strict=True))
        ]
        listed = ", ".join([*codes, f"{self.share(several=several)} AS w"])
        query = f"SELECT {listed} FROM {self.name}{self._where(where)}"
        types = tuple(_IN_MEMORY[kind] for kind in kinds)
        return Selection(query, tuple(columns), types, tuple(columns.values()), self, several, where)

    def share(self, *, several: bool) -> str:
        """Write the weight of a learner: that of a row as a share of the person's, or the sealed weight itself."""
        dialect = DIALECTS[self.dialect]
        whole, narrow = dialect.types["BIGINT"], dialect.types["SMALLINT"]
        total = f"GREATEST(CAST(SUM(w) OVER (PARTITION BY person) AS {whole}), 1)"
        share = dialect.division.format(f"(CAST(w AS {whole}) * {WHOLE})", total) if several else "w"
        return f"CAST({share} AS {narrow})"

    def _narrow(self, column: str) -> str:
        """Return our name of the narrowest type for the codes of a column, and −1."""
        most = self.limits.get(column, 2**62)
        if most < 2**15:
            return "TINYINT" if most < 2**7 else "SMALLINT"
        return "INTEGER" if most < 2**31 else "BIGINT"

    def _written(self, keys: Sequence[Expression]) -> tuple[str, ...]:
        return tuple(sql_writer.sql(key, self.dialect, limits=self.limits) for key in keys)

    def _where(self, where: Expression | None, spot: bool = False, *further: str) -> str:
        written = [] if where is None else [sql_writer.sql(where, self.dialect, limits=self.limits)]
        conditions = [*written, *(["spot"] if spot else []), *further]
        return f" WHERE {' AND '.join(conditions)}" if conditions else ""
