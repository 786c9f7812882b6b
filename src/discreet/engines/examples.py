"""Add up what a learner computes from every row, exactly and in any order.

A learner that needs more than sums of columns (a gradient, a histogram of residuals) computes integers from the
codes of each row, and `Examples.total` adds them up. A batch holds the codes of some rows and their weights; where
the batches begin, and on how many machines they are, does not change the totals, because the sums are exact.

Claims. A row is seen by the function alone, and only the totals come back. The weights of the rows of one person
add up to at most `WHOLE`: each row of a person with m rows weighs 1/m, rounded down, so that all rows are used at
the price of one. The totals are private until a mechanism has added noise, so the repr of a batch shows nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError

if TYPE_CHECKING:
    import pyarrow

    from discreet.engines.engine import Groups
    from discreet.engines.statement import Selection, Statement

WHOLE = 4096
"""The weight of a person: the weights of all rows of one person add up to at most this."""

BATCH = 8192
"""The most rows in a batch. A float64 that adds up so many products below 2⁴⁰ is exact."""

_EXACT = float(2**53)
_KEPT = 5 * 2**28  # bytes of derived rows that are kept in memory
_WEIGHTS = "\0weights"  # no column is called so
_HELD = 1024  # batches whose totals, each below 2⁵³ in size, add up within int64

Parts: TypeAlias = Sequence[NDArray[Any]]
"""What a function computes from a batch: arrays of integers, also as float64 below 2⁵³ in size."""


@dataclass(frozen=True, repr=False, eq=False)
class Batch:
    """Some rows: their codes by the name of the column, and their weights.

    Args:
        codes: The codes of each column, as integers; −1 where a value is missing.
        weights: The weights of the rows, from 0 to `WHOLE`.
    """

    codes: Mapping[str, NDArray[np.integer]]
    weights: NDArray[np.integer]

    @property
    def size(self) -> int:
        """The number of rows in this batch."""
        return len(self.weights)

    def __repr__(self) -> str:
        return "<rows, sealed>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Rows are sealed and cannot be pickled or copied. Release what they add up to with noise.")


class Examples(Protocol):
    """Rows that a learner learns from, wherever they are."""

    def total(self, function: Callable[[Batch], Parts]) -> list[NDArray[Any]]:
        """Return the exact sums, over all batches, of the arrays that a function returns.

        The function returns arrays of the same shapes for every batch, also for an empty one. The sums have dtype
        int64 if all entries fit, and hold Python integers (dtype object) if one does not.
        """

    def derived(self, function: Callable[[Batch], Batch], width: int, share: float = 1.0) -> Examples:
        """Return the rows that a function makes of each batch, such as features made of codes, or a sample.

        They are kept if they fit into memory, and else made again for every sum. `width` is the number of bytes
        of a row, and `share` about which part of the rows there will be.
        """


@dataclass(frozen=True, repr=False, eq=False)
class MemoryExamples:
    """Rows in the memory of this process, as one array for each column.

    >>> import numpy as np
    >>> rows = MemoryExamples({"age": np.array([3, 5, 5])}, np.full(3, WHOLE))
    >>> [found] = rows.total(lambda batch: [np.array([batch.size, batch.codes["age"].sum()])])
    >>> found.tolist()
    [3, 13]
    >>> rows
    <rows, sealed>
    """

    codes: Mapping[str, NDArray[np.integer]]
    weights: NDArray[np.integer]
    size: int = BATCH

    def batches(self) -> Iterator[Batch]:
        """Return the rows in batches; a table without rows is one empty batch."""
        for start in range(0, max(len(self.weights), 1), self.size):
            part = slice(start, start + self.size)
            yield Batch({name: column[part] for name, column in self.codes.items()}, self.weights[part])

    def total(self, function: Callable[[Batch], Parts]) -> list[NDArray[Any]]:
        """Return the exact sums, over all batches, of the arrays that a function returns."""
        return added_up(function(batch) for batch in self.batches())

    def derived(self, function: Callable[[Batch], Batch], width: int, share: float = 1.0) -> Examples:
        """Return the rows that a function makes of each batch, kept if they take less than 1.25 GB."""
        if len(self.weights) * width * share > _KEPT:
            return Derived(self, function)
        kept: dict[str, NDArray[Any]] = {}
        used = 0
        for batch in self.batches():
            made = function(batch)
            columns: dict[str, NDArray[Any]] = {**made.codes, _WEIGHTS: made.weights}
            for name, column in columns.items():
                if name not in kept:  # once and for all rows, so that nothing is held twice
                    kept[name] = np.empty((len(self.weights), *column.shape[1:]), column.dtype)
                kept[name][used : used + made.size] = column
            used += made.size
        whole = {name: column[:used] for name, column in kept.items()}
        return MemoryExamples(whole, whole.pop(_WEIGHTS), self.size)

    def __repr__(self) -> str:
        return "<rows, sealed>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Rows are sealed and cannot be pickled or copied. Release what they add up to with noise.")


class StoredExamples:
    """Rows that an engine holds, read into the memory of this process when single rows are first needed.

    Args:
        selection: The rows.
        read: Reads them.
        run: Runs a statement about them.
    """

    def __init__(
        self,
        selection: Selection,
        read: Callable[[Selection], Examples],
        run: Callable[[Statement], Groups],
    ):
        self._selection, self._read, self._run = selection, read, run
        self._rows: Examples | None = None

    @property
    def selection(self) -> Selection:
        """The rows, for writing statements that the engine can run by itself."""
        return self._selection

    def answered(self, statement: Statement) -> Groups:
        """Return the exact totals of a statement about these rows, which stay in the engine."""
        return self._run(statement)

    def total(self, function: Callable[[Batch], Parts]) -> list[NDArray[Any]]:
        """Return the exact sums, over all batches, of the arrays that a function returns."""
        return self._held().total(function)

    def derived(self, function: Callable[[Batch], Batch], width: int, share: float = 1.0) -> Examples:
        """Return the rows that a function makes of each batch."""
        return self._held().derived(function, width, share)

    def _held(self) -> Examples:
        if self._rows is None:
            self._rows = self._read(self._selection)
        return self._rows

    def __repr__(self) -> str:
        return "<rows, sealed>"

    def __reduce__(self) -> tuple[Callable[[], Examples], tuple[()]]:
        return Elsewhere, ()  # a function that holds its rows may travel to other machines, without them


class Elsewhere:
    """Rows that are not here: what becomes of the rows of an engine in another process."""

    def __repr__(self) -> str:
        return "<rows, sealed>"

    def total(self, function: Callable[[Batch], Parts]) -> list[NDArray[Any]]:
        """Refuse: the rows are in the process that has the engine."""
        raise DiscreetError("These rows are in another process.", fix="Add them up where the engine is.")

    def derived(self, function: Callable[[Batch], Batch], width: int, share: float = 1.0) -> Examples:
        """Return the same: rows made of what is not here are not here."""
        return self


@dataclass(frozen=True, repr=False, eq=False)
class Derived:
    """Rows that a function makes of other rows, each time they are added up."""

    source: Examples
    function: Callable[[Batch], Batch]

    def total(self, function: Callable[[Batch], Parts]) -> list[NDArray[Any]]:
        """Return the exact sums, over all batches, of the arrays that a function returns."""
        return self.source.total(lambda batch: function(self.function(batch)))

    def derived(self, function: Callable[[Batch], Batch], width: int, share: float = 1.0) -> Examples:
        """Return the rows that another function makes of these, kept if they are few."""
        return self.source.derived(lambda batch: function(self.function(batch)), width, share)

    def __repr__(self) -> str:
        return "<rows, sealed>"


def gathered(batches: Iterable[pyarrow.RecordBatch], selection: Selection) -> MemoryExamples:
    """Return the rows of a selection in memory, from batches that an engine sends one after another.

    Each batch is let go once its columns are copied, and the pieces of a column once they are joined: all rows are
    in memory once, and those of one column twice.
    """
    kinds = (*selection.types, "int16")
    held: list[list[NDArray[Any]]] = [[np.empty(0, kind)] for kind in kinds]
    for batch in batches:
        for pieces, kind, column in zip(held, kinds, batch.columns, strict=True):
            pieces.append(column.to_numpy(zero_copy_only=False).astype(kind))
    joined = []
    for pieces in held:
        joined.append(np.concatenate(pieces))
        pieces.clear()
    *codes, weights = joined
    return MemoryExamples(dict(zip(selection.names, codes, strict=True)), weights)


def added_up(results: Iterator[Parts]) -> list[NDArray[Any]]:
    """Return the exact sums of arrays of integers, entry by entry.

    >>> added_up(iter([[np.array([2**62])], [np.array([2**62])]]))
    [array([9223372036854775808], dtype=object)]
    """
    whole: list[NDArray[Any]] = []
    held: list[NDArray[np.int64]] = []
    count = 0
    for parts in results:
        exact = [_integers(part) for part in parts]
        held = exact if not held else [a + b for a, b in zip(held, exact, strict=True)]
        count += 1
        if count == _HELD or any(int(np.abs(part).max(initial=0)) >= _EXACT for part in exact):
            whole, held, count = _flushed(whole, held), [], 0
    if held:
        whole = _flushed(whole, held)
    return [narrowed(array) for array in whole]


def _integers(part: NDArray[Any]) -> NDArray[np.int64]:
    """Return one batch's array as int64. A float64 is exact below 2⁵³, and a learner stays below."""
    return np.asarray(part).astype(np.int64, copy=False)


def _flushed(whole: list[NDArray[Any]], held: list[NDArray[np.int64]]) -> list[NDArray[Any]]:
    wide = [array.astype(object) for array in held]
    return wide if not whole else [a + b for a, b in zip(whole, wide, strict=True)]


def narrowed(array: NDArray[Any]) -> NDArray[Any]:
    """Return Python integers as int64 if all of them fit, and as they are if one does not."""
    fits = all(-(2**63) <= value < 2**63 for value in array.ravel())
    return array.astype(np.int64) if fits else array
