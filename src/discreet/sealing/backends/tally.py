"""Count rows by person in arrays, where the numbers of persons lie close together.

An array has a place for every number, so a row costs one addition, a tenth of what a hash table of persons costs.
Arrays take at most 256 MiB, and no more places than there are rows, four times over; otherwise the engine counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from discreet.engines.interruptible import waited_for
from discreet.errors import Fix, SealingFailed
from discreet.sealing.backends.duckdb import Progress, work_on

if TYPE_CHECKING:
    import pyarrow
    from duckdb import DuckDBPyConnection

_BYTES = 2**28
_AT_ONCE = 1 << 16  # rows; with more, new memory takes longer than the counting


def fits(size: int, rows: int, words: int) -> bool:
    """Return whether arrays of this size may count so many rows, and add up so many words.

    >>> fits(1_000, 2_000, 1), fits(2**30, 2**31, 0), fits(2**20, 10, 0)
    (True, False, False)
    """
    return size * (4 + 8 * words) <= _BYTES and size <= 4 * rows and rows < 2**32


def tallied(
    connection: DuckDBPyConnection,
    query: str,
    size: int,
    words: Sequence[str],
    stage: str,
    progress: Progress | None,
) -> pyarrow.Table:
    """Return the numbers that rows have: `person`, their count `n`, and the sums of their words, modulo 2^64.

    Args:
        connection: The connection that holds the rows.
        query: The query for the number of every row, from 0 to size − 1, and its words.
        size: The number of numbers.
        words: The names of the words.
        stage: The stage of sealing, for `progress`.
        progress: Called with the stage and the part of it that is done; None for no reports.
    """
    import pyarrow

    def counted() -> pyarrow.Table:
        counts, bits = np.zeros(size, np.uint32), [np.zeros(size, np.uint64) for _ in words]
        one = np.uint32(1)  # of the type of the counts: others take thirty times as long
        for batch in connection.sql(query).to_arrow_reader(_AT_ONCE):
            numbers, *noted = (column.to_numpy() for column in batch.columns)
            np.add.at(counts, numbers, one)
            for gathered, own in zip(bits, noted, strict=True):
                np.add.at(gathered, numbers, own)
        found = np.flatnonzero(counts)
        columns = {"person": found.astype(np.int32), "n": counts[found].astype(np.int64)}
        return pyarrow.table({**columns, **{name: each[found] for name, each in zip(words, bits, strict=True)}})

    tell = progress or (lambda stage, done: None)
    tell(stage, 0.0)
    # Arrow repeats a message of DuckDB, which may quote a row.
    with suppress(pyarrow.ArrowException, OSError, MemoryError):
        return waited_for(lambda: work_on(counted), stop=connection.interrupt)
    raise SealingFailed(
        "Memory or disk space ran out while persons were counted.",
        fix=Fix("memory", "2GB", note="less for each step"),
    )
