"""Add up the exact moments of a regression, Σ w·z·zᵀ, by the engine itself or row by row.

Both ways give the same integers. Linear features are polynomials of codes, and categories are keys: an engine
adds up products of numbers, sums of numbers by category, and weights by pairs of categories, without sending a
row. Other features are computed from single rows (`Examples.total`), in batches whose float64 sums are exact: a
product of two features and a weight is at most 2³⁶, and a batch has at most 2¹³ rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.engine import Groups
from discreet.engines.examples import Batch, Examples, StoredExamples
from discreet.engines.nodes import Case, Expression, Int, IsNull, Mul, Not, Sub
from discreet.engines.nodes import Column as Name
from discreet.engines.statement import Statement
from discreet.learn.feature_map import SCALE, Block
from discreet.learn.statistics.design import Design, is_number, present
from discreet.learn.statistics.scaled_column import ScaledColumn

STATEMENTS, SHARED = 64, 4
"""The most statements that an engine runs for one model; with more, rows are read once instead.

If persons share weights, every statement adds up the weights of all persons again, so only few are worth it.
"""

Progress = Callable[[float], None]
_WEIGHT, _TARGET = Name("w"), "y"


def moments(examples: Examples, design: Design, target: str, progress: Progress | None = None) -> NDArray[Any]:
    """Return Σ w·z·zᵀ as a matrix of Python integers, in units of weight. A row without a target does not count.

    Args:
        examples: The rows.
        design: The integers that they become.
        target: The name of the target.
        progress: Called with the share of the work that is done.
    """
    if isinstance(examples, StoredExamples):
        asked = InEngine.of(examples, design, target)
        if asked is not None:
            return asked.moments(progress or (lambda _: None))
    return by_rows(examples, design, target)


def worthwhile(examples: StoredExamples, statements: int) -> bool:
    """Return whether so many statements are faster than reading the rows once."""
    return statements <= (SHARED if examples.selection.several else STATEMENTS)


def weight(examples: Examples) -> int:
    """Return the exact sum of the weights of all rows."""
    if isinstance(examples, StoredExamples):
        found = examples.answered(examples.selection.sums({}, where=None, keys=[], sums=[_WEIGHT]))
        return int(found.sums[0, 0])
    [total] = examples.total(lambda batch: [np.asarray(batch.weights, np.int64).sum(keepdims=True)])
    return int(total[0])


def by_rows(examples: Examples, design: Design, target: str) -> NDArray[Any]:
    """Return the moments from single rows."""
    names = list(design.feature_map.columns)

    def part(batch: Batch) -> list[NDArray[Any]]:
        codes = np.asarray(batch.codes[target], np.int64)
        rows = design.rows({name: batch.codes[name] for name in names}, codes)
        weights = np.where(codes < 0, 0, batch.weights).astype(np.float64)
        return [(rows * weights[:, None]).T @ rows]

    [total] = examples.total(part)
    return total.astype(object)


@dataclass(frozen=True)
class Scalar:
    """A feature that is a number in SQL: `factor` times an expression over a sealed column."""

    index: int
    name: str
    tree: Expression
    factor: int


@dataclass(frozen=True)
class InEngine:
    """The moments of linear features, as statements that an engine runs.

    Args:
        examples: The rows.
        design: The integers that they become.
        scalars: The features that are numbers, the target first.
        keys: The features that are categories, with their sealed columns.
    """

    examples: StoredExamples
    design: Design
    scalars: list[Scalar]
    keys: list[tuple[Block, str]]

    @classmethod
    def of(cls, examples: StoredExamples, design: Design, target: str) -> InEngine | None:
        """Return how the engine adds up the moments; None if it would take too many statements, or cannot."""
        if design.feature_map.kind != "linear":
            return None
        selection = examples.selection
        sealed = dict(zip(selection.names, selection.columns, strict=True))
        scaled = design.target
        scalars = [Scalar(design.size, _TARGET, scaled.centred(sealed[target]), scaled.factor)]
        keys = list[tuple[Block, str]]()
        for block in design.feature_map.blocks:
            column = sealed[block.name]
            if is_number(block) or block.binary:
                number = ScaledColumn(block.column)
                tree, factor = number.centred(column), number.factor
                if block.binary:
                    tree, factor = Sub(Mul(Int(2), Name(column)), Int(1)), SCALE
                scalars.append(Scalar(block.start, f"x{block.start}", tree, factor))
                if block.missing:
                    place = block.start + block.width
                    absent = Case(((IsNull(Name(column)), Int(1)),), Int(0))
                    scalars.append(Scalar(place, f"x{place}", absent, present(block)))
            else:
                keys.append((block, column))
        found = cls(examples, design, scalars, keys)
        return found if worthwhile(examples, len(list(found._parts()))) else None

    def moments(self, progress: Progress) -> NDArray[Any]:
        """Return Σ w·z·zᵀ."""
        whole = np.zeros((self.design.size + 1, self.design.size + 1), object)
        listed = list(self._parts())
        for done, (statement, store) in enumerate(listed):
            progress(done / len(listed))
            store(whole, self.examples.answered(statement))
        return whole

    def _parts(self) -> Iterator[tuple[Statement, Callable[[NDArray[Any], Groups], None]]]:
        """Return the statements, each with a function that stores its totals."""
        one = Scalar(self.design.size - 1, "", Int(1), SCALE)
        pairs = [(one, one), *((one, scalar) for scalar in self.scalars)]
        pairs += [(a, b) for i, a in enumerate(self.scalars) for b in self.scalars[i:]]
        yield (
            self._sums([], [_product(a, b) for a, b in pairs]),
            lambda whole, found: _store_sums(whole, found, pairs),
        )
        for block, column in self.keys:
            beside = [one, *self.scalars]
            statement = self._sums([column], [_product(one, scalar) for scalar in beside])
            yield statement, _by_category(block, beside)
        for (left, a), (right, b) in combinations(self.keys, 2):
            yield self._sums([a, b], [_WEIGHT]), _by_pair(left, right)

    def _sums(self, columns: list[str], sums: list[Expression]) -> Statement:
        quantities = {scalar.name: scalar.tree for scalar in self.scalars}
        named = {f"k{i}": Name(column) for i, column in enumerate(columns)}
        return self.examples.selection.sums(
            {**quantities, **named},
            where=Not(IsNull(Name(_TARGET))),
            keys=[Name(name) for name in named],
            sums=sums,
        )


def _product(left: Scalar, right: Scalar) -> Expression:
    """Return weight · left · right, without factors; a missing operand makes it NULL, which adds nothing."""
    tree: Expression = _WEIGHT
    for scalar in (left, right):
        tree = Mul(tree, Name(scalar.name)) if scalar.name else tree
    return tree


def _put(whole: NDArray[Any], i: int, j: int, value: int) -> None:
    whole[i, j] = whole[j, i] = value


def _store_sums(whole: NDArray[Any], found: Groups, pairs: list[tuple[Scalar, Scalar]]) -> None:
    for (a, b), total in zip(pairs, found.sums[0], strict=True):
        _put(whole, a.index, b.index, int(total) * a.factor * b.factor)


def _place(block: Block, code: Any) -> int | None:
    """Return the feature of a value of a category; None if it has none."""
    if code is None:
        return block.start + block.width if block.missing else None
    return block.start + min(int(code), block.width - 1)


def _by_category(block: Block, beside: list[Scalar]) -> Callable[[NDArray[Any], Groups], None]:
    def store(whole: NDArray[Any], found: Groups) -> None:
        for (code,), totals in zip(found.keys, found.sums, strict=True):
            place = _place(block, code)
            if place is None:
                continue
            for scalar, total in zip(beside, totals, strict=True):
                _put(whole, place, scalar.index, int(total) * SCALE * scalar.factor)
            whole[place, place] = int(totals[0]) * SCALE**2

    return store


def _by_pair(left: Block, right: Block) -> Callable[[NDArray[Any], Groups], None]:
    def store(whole: NDArray[Any], found: Groups) -> None:
        for (a, b), [total] in zip(found.keys, found.sums, strict=True):
            i, j = _place(left, a), _place(right, b)
            if i is not None and j is not None:
                _put(whole, i, j, int(total) * SCALE**2)

    return store
