"""Add up expressions exactly, over a sample or over the sealed rows of an engine.

The sum of w·g over all rows, for many expressions g at once. In an engine, expressions that tell few combinations
of codes apart are not added up one by one: the engine adds up the weights by combination, in one statement for all
expressions that fit together (`cells`), and each expression is then evaluated once per combination. The others
become sums in statements of many at a time. Both give the same integers. Which way is taken follows from the
expressions and the metadata alone. What is returned is exact and private: it goes into an `Exact` and nowhere
else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.engines import nodes, sql_writer
from discreet.engines.nodes import Expression
from discreet.errors import QuestionRefused
from discreet.learn.statistical_queries.cells import MOST_CELLS, Table, packed
from discreet.learn.statistical_queries.sample import Sample
from discreet.oracle.linear_query import Value, evaluate
from discreet.query import ir
from discreet.schema.metadata import UNIT, TableMetadata

if TYPE_CHECKING:
    from discreet.engines.engine import Engine
    from discreet.engines.statement import Statement

AT_ONCE = 64
"""The number of sums in one statement."""

_WIDE = 2**62


class ExactSums(Protocol):
    """Rows whose weighted sums are exact."""

    @property
    def metadata(self) -> TableMetadata:
        """All that is public about the rows."""

    @property
    def weight(self) -> int:
        """The most that the rows of one person weigh."""

    def prepare(self, trees: Sequence[Expression]) -> Any:
        """Return what `run` takes. It reads no row, and refuses what cannot be computed."""

    def run(self, prepared: Any) -> list[int]:
        """Return the sums, one for each expression."""


@dataclass(frozen=True)
class SampleSums:
    """Sums over a sample.

    >>> from discreet.schema import Integer
    >>> sums = SampleSums(Sample.of({"age": [30, 70]}, {"age": Integer(0, 110)}))
    >>> sums.run(sums.prepare([ir.sealed("c0")])) == [100 * UNIT]
    True
    """

    sample: Sample

    @property
    def metadata(self) -> TableMetadata:
        """The declared schema."""
        return self.sample.metadata

    @property
    def weight(self) -> int:
        """One row, which is one person."""
        return UNIT

    def prepare(self, trees: Sequence[Expression]) -> list[Expression]:
        """Return the expressions. What cannot be evaluated is refused here, whatever the rows are."""
        none = {name: Value(np.zeros(0, np.int64), np.zeros(0, bool)) for name in self.sample.codes}
        for tree in trees:
            if not _narrow(tree, self.metadata.limits):
                raise QuestionRefused(
                    "The query leads to an integer above 2^62.", fix="Declare coarser columns, or smaller weights."
                )
            evaluate(tree, none)
        return list(trees)

    def run(self, prepared: Sequence[Expression]) -> list[int]:
        """Return the sums."""
        return [added(evaluate(tree, self.sample.codes), self.sample.weights) for tree in prepared]


@dataclass(frozen=True)
class _Prepared:
    cells: tuple[tuple[Table, Statement, tuple[Expression, ...]], ...]
    direct: tuple[tuple[tuple[int, ...], Statement], ...]
    count: int


@dataclass(frozen=True)
class EngineSums:
    """Sums over sealed rows, computed by the engine."""

    engine: Engine
    metadata: TableMetadata

    @property
    def weight(self) -> int:
        """The most that the rows of one person weigh, by sealing."""
        return self.metadata.rows_per_person * UNIT

    def prepare(self, trees: Sequence[Expression]) -> _Prepared:
        """Write the statements. A statement that no engine can run is refused here, before anything is charged."""
        rows, weight = self.engine.rows, ir.sealed("w")
        wide = [place for place, tree in enumerate(trees) if not _narrow(tree, self.metadata.limits)]
        narrow = [place for place in range(len(trees)) if place not in set(wide)]
        tables, left = packed([trees[place] for place in narrow], _levels(self.metadata), most=MOST_CELLS)
        tables = [replace(table, places=tuple(narrow[i] for i in table.places)) for table in tables]
        cells = tuple(
            (
                table,
                rows.sums(where=None, keys=table.keys(), sums=[weight]),
                tuple(trees[place] for place in table.places),
            )
            for table in tables
        )
        alone = sorted([*wide, *(narrow[i] for i in left)])
        batches = [tuple(alone[start : start + AT_ONCE]) for start in range(0, len(alone), AT_ONCE)]
        direct = tuple(
            (batch, rows.sums(where=None, keys=[], sums=[nodes.Mul(weight, trees[place]) for place in batch]))
            for batch in batches
        )
        return _Prepared(cells, direct, len(trees))

    def run(self, prepared: _Prepared) -> list[int]:
        """Return the sums."""
        totals = [0] * prepared.count
        for table, statement, trees in prepared.cells:
            found = self.engine.run(statement)
            codes = {
                name: _value(
                    [None if key[i] is None else table.code(name, int(key[i] or 0)) for key in found.keys]
                )
                for i, name in enumerate(table.starts)
            }
            for place, tree in zip(table.places, trees, strict=True):
                totals[place] = added(evaluate(tree, codes), found.sums[:, 0])
        for places, statement in prepared.direct:
            row = self.engine.run(statement).sums
            for place, total in zip(places, row[0], strict=True):
                totals[place] = int(total)
        return totals


def added(value: Value, weights: NDArray[Any]) -> int:
    """Return Σ weight·value over the rows where the value is not NULL, as an exact integer.

    >>> added(Value(np.array([1, 2]), np.array([False, True])), np.array([10, 10]))
    10
    """
    values = np.broadcast_to(np.where(value.null, 0, value.value), weights.shape)
    if not weights.size:
        return 0
    if weights.dtype != object:
        largest = float(np.abs(values.astype(np.float64)).max()) * float(np.abs(weights.astype(np.float64)).sum())
        if largest < _WIDE:
            return int(values.astype(np.int64) @ weights)
    pairs = zip(values.tolist(), weights.tolist(), strict=True)
    return sum(int(one) * int(weight) for one, weight in pairs)


def _value(codes: list[Any]) -> Value:
    return Value(
        np.array([0 if code is None else int(code) for code in codes], np.int64),
        np.array([code is None for code in codes], bool),
    )


def _levels(metadata: TableMetadata) -> dict[str, int]:
    """Return the number of codes of each sealed column that has a list of them."""
    levels = {metadata.sealed_name(name): column.levels for name, column in metadata.columns.items()}
    return {name: most for name, most in levels.items() if most is not None}


def _narrow(tree: Expression, limits: dict[str, int]) -> bool:
    """Return whether no step of the arithmetic leaves 62 bits, for any codes of these limits."""
    for node in tree.walk():
        if isinstance(node, nodes.Arithmetic):
            left, right = (max(map(abs, sql_writer.value_bounds(n, limits))) for n in (node.left, node.right))
            if (left * right if isinstance(node, nodes.Mul) else left + right) >= _WIDE // 2:
                return False
    return True
