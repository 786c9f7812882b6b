"""Turn what arrives into ticks: Arrow batches, lines, and micro-batches of Spark.

A tick is a public piece of time: a minute, or one batch of a source that delivers on a schedule. Events are
counted into ticks here, exactly and at the speed of numpy; only then a stream takes the counts. What the clock
shows is public, what happens in a tick is not. So the number of ticks and their bounds are given, never read off
the events, and an event whose time is missing or outside is counted in the first or the last tick.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Code, Fix, ParameterError
from discreet.rational import shown, whole

if TYPE_CHECKING:
    import pyarrow

Integers = NDArray[np.int64]

_DIGITS = 100  # of a count in a line: far more than any has, and far fewer than Python refuses to read


class TakesCounts(Protocol):
    """A stream that takes the count of a tick."""

    @property
    def tick(self) -> int:
        """The ticks so far."""

    def add(self, count: int = 1) -> Any:
        """End a tick in which `count` events happened."""

    def save(self) -> None:
        """Write the state to the file of the stream, if it has one."""


def per_tick(
    batches: Iterable[pyarrow.RecordBatch | pyarrow.Table],
    *,
    time: str,
    start: datetime,
    tick: timedelta,
    ticks: int,
) -> Integers:
    """Return how many events each tick has: an exact, private array, to be given to a stream at once.

    Args:
        batches: Arrow batches or tables, in any order.
        time: The column with the time of an event: a timestamp or a date.
        start: When the first tick begins. Without a time zone it is UTC.
        tick: How long a tick is.
        ticks: The number of ticks.

    >>> import pyarrow
    >>> noon = datetime(2026, 1, 1, 12)
    >>> events = pyarrow.table({"at": [noon, noon + timedelta(seconds=30), noon + timedelta(seconds=90), None]})
    >>> per_tick(events.to_batches(), time="at", start=noon, tick=timedelta(minutes=1), ticks=3).tolist()
    [3, 1, 0]
    """
    count, length = whole(ticks, "ticks"), round(tick / timedelta(microseconds=1))
    if length <= 0:
        raise ParameterError(
            "A tick takes some time.", found=shown(tick), fix=Fix("tick", Code("timedelta(minutes=1)"))
        )
    zero = round((_utc(start) - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(microseconds=1))
    counts = np.zeros(count, np.int64)
    for batch in batches:
        place = np.clip((_microseconds(batch, time) - zero) // length, 0, count - 1)
        counts += np.bincount(place, minlength=count)
    return counts


def feed(stream: TakesCounts, batches: Iterable[pyarrow.RecordBatch | pyarrow.Table]) -> int:
    """Give every batch to a stream as one tick, and return the number of ticks. The source sets the pace.

    >>> import pyarrow
    >>> from discreet.stream import Counter
    >>> counter = Counter(epsilon=1, delta="1e-9", horizon=100)
    >>> feed(counter, iter(pyarrow.table({"page": ["home"] * 10}).to_batches(max_chunksize=5)))
    2
    """
    fed = 0
    for batch in batches:
        stream.add(batch.num_rows)
        fed += 1
    return fed


def counts_in(lines: Iterable[str]) -> Iterator[int]:
    """Return the counts in lines of text, one a tick. Empty lines are skipped.

    >>> list(counts_in(["3\\n", "", "12"]))
    [3, 12]
    """
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text:
            continue
        if not text.isascii() or not text.isdigit() or len(text) > _DIGITS:
            raise ParameterError(
                "A line must hold the count of one tick: a whole number, and not below 0.",
                found=f"line {number}: {text[:40]!r}",
                fix="Everything before this line was counted. Mend the line, and go on from there.",
            )
        yield int(text)


def for_each_batch(
    stream: TakesCounts, *, then: Callable[[Any], None] | None = None
) -> Callable[[Any, int], None]:
    """Return the function that Spark Structured Streaming calls for every micro-batch: one tick each.

        events.writeStream.foreachBatch(for_each_batch(counter)).start()

    Spark may deliver a micro-batch again after a failure, under the same number, and never again one that it has
    noted as done. So the state of a durable stream is on the disk before this function returns; and a number below
    the stream's tick was counted before, and is skipped: every micro-batch is counted once.

    Args:
        stream: The stream, which runs in the driver.
        then: Called with the stream after every tick, such as to publish its value; nothing by default.

    >>> from discreet.stream import Counter
    >>> counter = Counter(epsilon=1, delta="1e-9", horizon=100)
    >>> class Frame:
    ...     def count(self):
    ...         return 7
    >>> count = for_each_batch(counter)
    >>> count(Frame(), 0), count(Frame(), 0), counter.tick
    (None, None, 1)
    """

    def count(frame: Any, number: int) -> None:
        if number < stream.tick:
            return
        while stream.tick < number:  # a micro-batch without rows may not be delivered
            stream.add(0)
        stream.add(int(frame.count()))
        stream.save()
        if then is not None:
            then(stream)

    return count


def bounded(
    batches: Iterable[pyarrow.RecordBatch | pyarrow.Table], *, person: str, events: int
) -> Iterator[pyarrow.Table]:
    """Keep the first `events` events of each person, so that a bound on contributions is a fact.

    It remembers how often each person was seen, exactly: that memory is as secret as the events.

    Args:
        batches: Arrow batches or tables.
        person: The column that identifies a person.
        events: The most events of one person.

    >>> import pyarrow
    >>> table = pyarrow.table({"user": ["a", "a", "b", "a"]})
    >>> [kept.num_rows for kept in bounded([table, table], person="user", events=2)]
    [3, 1]
    """
    import pyarrow as arrow

    most, seen = whole(events, "events"), dict[Any, int]()
    for batch in batches:
        keep = []
        for user in batch.column(person).to_pylist():
            seen[user] = seen.get(user, 0) + 1
            keep.append(seen[user] <= most)
        table = batch if isinstance(batch, arrow.Table) else arrow.Table.from_batches([batch])
        yield table.filter(arrow.array(keep, arrow.bool_()))


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _microseconds(batch: Any, time: str) -> Integers:
    """Return the times of events as microseconds since 1970; those that are missing are far before."""
    import pyarrow as arrow
    import pyarrow.compute

    column = batch.column(time)
    column = column.combine_chunks() if isinstance(column, arrow.ChunkedArray) else column
    if not arrow.types.is_temporal(column.type):
        raise ParameterError(
            f"The column {time!r} has no times.", found=column.type, fix="Cast it to a timestamp first."
        )
    known = column.cast(arrow.timestamp("us", tz=getattr(column.type, "tz", None)), safe=False)
    number = known.cast(arrow.int64())
    filled = arrow.compute.fill_null(number, -(2**62))
    found: Integers = filled.to_numpy(zero_copy_only=False)
    return found
