"""Add up what a learner computes from rows that stay in Spark: the executors compute, the driver adds up.

The function travels to the executors, and exact integers come back, one sum per partition: no row of the
table reaches the driver. The sums of a partition are exact (`discreet.engines.examples.added_up`). They are sent
in two halves, a signed 64-bit and an unsigned 32-bit integer, and the driver adds up Python integers. So the
totals do not depend on the partitions.

A function may hold the rows that it belongs to (a method whose object has them): their pickle is a note that they
are elsewhere, so neither a session nor a row travels.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.examples import BATCH, Batch, Elsewhere, Examples, Parts, added_up, narrowed
from discreet.engines.statement import Selection

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

SCHEMA = "part INT, shape ARRAY<INT>, high BINARY, low BINARY"
"""The columns of what a partition returns: one row for each array of its sums."""

Made = Callable[[Batch], Batch]
Answered = Callable[[Callable[[], "pyarrow.Table"]], "pyarrow.Table"]
"""Runs a query between two checks that the table has not changed, and hides what Spark says."""


class SparkExamples:
    """Rows in Spark.

    Args:
        frame: The query of the rows: codes, and then weights. It has not run.
        selection: Its names and types.
        answered: Runs a query with the checks of the engine.
        steps: Functions that make other rows of each batch, in order.
        kept: What keeps the codes in the memory of the executors, or on their disks, between two sums; None if
            they are read again for each.
    """

    def __init__(
        self,
        frame: DataFrame,
        selection: Selection,
        answered: Answered,
        *,
        steps: Sequence[Made] = (),
        kept: Kept | None = None,
    ):
        self._frame, self._selection, self._answered = frame, selection, answered
        self._steps, self._kept = tuple(steps), kept

    def __repr__(self) -> str:
        return "<rows, sealed>"

    def __reduce__(self) -> tuple[Callable[[], Examples], tuple[()]]:
        return Elsewhere, ()

    def total(self, function: Callable[[Batch], Parts]) -> list[NDArray[Any]]:
        """Return the exact sums, over all batches, of the arrays that a function returns."""
        names, steps = self._selection.names, self._steps

        def summed(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            return _partition(batches, names, steps, function)

        # A table without rows, or a partition, has the shapes of an empty batch.
        empty = [np.empty(0, kind) for kind in (*self._selection.types, "int16")]
        whole = [_wide(part) for part in function(_batch(empty, names, steps))]
        found = self._answered(lambda: _mapped(self._frame, summed).toArrow())
        for row in found.to_pylist():
            whole[row["part"]] = whole[row["part"]] + _read(row)
        return [narrowed(array) for array in whole]

    def derived(self, function: Made, width: int, share: float = 1.0) -> Examples:
        """Return the rows that a function makes of each batch. They are made again for every sum.

        The executors keep the codes that they are made of, which are as narrow as can be.
        """
        kept = self._kept or Kept(self._frame)
        steps = (*self._steps, function)
        return SparkExamples(self._frame, self._selection, self._answered, steps=steps, kept=kept)


class Kept:
    """Keeps the rows of a frame with the executors for as long as one of its users lives."""

    def __init__(self, frame: DataFrame):
        frame.persist()
        weakref.finalize(self, _forget, frame)


def _mapped(frame: DataFrame, function: Callable[[Any], Any]) -> DataFrame:
    with warnings.catch_warnings():
        # pyspark warns about the version of pandas, which neither side of this function uses
        warnings.simplefilter("ignore", FutureWarning)
        return frame.mapInArrow(function, SCHEMA)


def _forget(frame: DataFrame) -> None:
    with suppress(Exception):  # the session may have ended before
        frame.unpersist()


def _partition(
    batches: Iterator[pyarrow.RecordBatch],
    names: Sequence[str],
    steps: Sequence[Made],
    function: Callable[[Batch], Parts],
) -> Iterator[pyarrow.RecordBatch]:
    """Return the sums of one partition. It runs on an executor."""
    import pyarrow

    totals = added_up(function(batch) for batch in _batches(batches, names, steps))
    if not totals:
        return
    columns = [_split(array) for array in totals]
    yield pyarrow.RecordBatch.from_pydict(
        {
            "part": pyarrow.array(range(len(totals)), pyarrow.int32()),
            "shape": pyarrow.array([list(array.shape) for array in totals], pyarrow.list_(pyarrow.int32())),
            "high": pyarrow.array([high for high, _ in columns], pyarrow.binary()),
            "low": pyarrow.array([low for _, low in columns], pyarrow.binary()),
        }
    )


def _batches(
    batches: Iterator[pyarrow.RecordBatch], names: Sequence[str], steps: Sequence[Made]
) -> Iterator[Batch]:
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH):
            columns = batch.slice(start, BATCH).columns
            yield _batch([column.to_numpy(zero_copy_only=False) for column in columns], names, steps)


def _batch(columns: Sequence[NDArray[Any]], names: Sequence[str], steps: Sequence[Made]) -> Batch:
    *codes, weights = columns
    batch = Batch(dict(zip(names, codes, strict=True)), weights)
    for step in steps:
        batch = step(batch)
    return batch


def _split(array: NDArray[Any]) -> tuple[bytes, bytes]:
    """Return v = high·2³² + low as two arrays of bytes, little-endian; |v| < 2⁹⁵, for up to 2⁴⁰ rows."""
    high, low = array >> 32, array & (2**32 - 1)
    return high.astype("<i8").tobytes(), low.astype("<u4").tobytes()


def _read(row: dict[str, Any]) -> NDArray[Any]:
    high, low = np.frombuffer(row["high"], "<i8").astype(object), np.frombuffer(row["low"], "<u4").astype(object)
    return np.asarray(high * 2**32 + low, object).reshape(row["shape"])


def _wide(part: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(part).astype(np.int64).astype(object)
