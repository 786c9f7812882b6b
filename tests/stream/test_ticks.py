"""Events become ticks: from Arrow batches, lines and Spark's micro-batches, each counted once."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow
import pytest

from discreet.errors import ParameterError
from discreet.stream import Counter, bounded, feed, for_each_batch, per_tick
from discreet.stream.ticks import counts_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOON = datetime(2026, 5, 1, 12)
MINUTE = timedelta(minutes=1)


def test_events_are_counted_into_ticks_whatever_their_unit_and_zone() -> None:
    seconds = np.array([0, 1, 59, 60, 61, 600, -5, 10**6])
    times = [NOON + timedelta(seconds=int(s)) for s in seconds]
    for kind in (
        pyarrow.timestamp("ns"),
        pyarrow.timestamp("us"),
        pyarrow.timestamp("s"),
        pyarrow.timestamp("ms", "UTC"),
    ):
        table = pyarrow.table({"at": pyarrow.array(times).cast(kind)})
        for start in (NOON, NOON.replace(tzinfo=UTC)):
            counts = per_tick(table.to_batches(max_chunksize=3), time="at", start=start, tick=MINUTE, ticks=5)
            assert counts.tolist() == [4, 2, 0, 0, 2]
    days = pyarrow.table({"at": [date(2026, 5, 1), date(2026, 5, 3), None]})
    assert per_tick([days], time="at", start=datetime(2026, 5, 1), tick=timedelta(days=1), ticks=3).tolist() == [
        2,
        0,
        1,
    ]


def test_what_is_no_time_is_refused_by_type_and_never_by_value() -> None:
    table = pyarrow.table({"at": [1, 2]})
    with pytest.raises(ParameterError, match="no times"):
        per_tick([table], time="at", start=NOON, tick=MINUTE, ticks=3)
    with pytest.raises(ParameterError, match="tick="):
        per_tick([], time="at", start=NOON, tick=timedelta(0), ticks=3)
    nothing = pyarrow.table({"at": pyarrow.array([None, None], pyarrow.timestamp("us"))})
    assert per_tick([nothing], time="at", start=NOON, tick=MINUTE, ticks=2).tolist() == [2, 0]


def test_a_batch_is_a_tick_and_persons_can_be_bounded() -> None:
    table = pyarrow.table({"user": ["a", "a", "b", None, "a"] * 10})
    counter = Counter(epsilon=1, delta="1e-9", horizon=100)
    assert feed(counter, table.to_batches(max_chunksize=5)) == 10 == counter.tick
    kept = list(bounded(table.to_batches(max_chunksize=5), person="user", events=2))
    assert [part.num_rows for part in kept] == [4, 2, *[0] * 8]


def test_lines_are_counts() -> None:
    assert list(counts_in(["3", "", " 4 \n"])) == [3, 4]
    for bad in ("-1", "x", "1.5", "nan", "٣"):
        with pytest.raises(ParameterError, match="line 2"):
            list(counts_in(["1", bad]))


def test_a_micro_batch_that_comes_again_is_counted_once() -> None:
    class Frame:
        def count(self) -> int:
            return 5

    seen: list[int] = []
    counter = Counter(epsilon=1, delta="1e-9", horizon=100)
    count = for_each_batch(counter, then=lambda stream: seen.append(stream.tick))
    for number in (0, 1, 1, 0, 4, 2):
        count(Frame(), number)
    assert counter.tick == 5
    assert seen == [1, 2, 5]


@pytest.mark.xdist_group("spark")
def test_spark_structured_streaming_feeds_a_durable_counter(spark: SparkSession, tmp_path: Path) -> None:
    """The example of docs/tutorials/streams.md, with files as the source; the query is stopped and goes on."""
    source, place = tmp_path / "events", tmp_path / "visits.stream"
    source.mkdir()

    def arrive(name: str, events: int) -> None:
        lines = "\n".join(json.dumps({"page": "home"}) for _ in range(events))
        (tmp_path / name).write_text(lines)
        (tmp_path / name).rename(source / f"{name}.json")

    def run() -> Any:
        with Counter(epsilon=30, delta="1e-3", horizon=100, path=place) as counter:
            events = spark.readStream.schema("page string").option("maxFilesPerTrigger", 1).json(str(source))
            query = (
                events.writeStream.foreachBatch(for_each_batch(counter))
                .option("checkpointLocation", str(tmp_path / "checkpoint"))
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
            return counter.release()

    arrive("one", 100)
    arrive("two", 50)
    first = run()
    assert first.ticks == (2,)
    assert abs(first.value - 150) < 30
    arrive("three", 25)
    second = run()
    assert second.ticks == (3,)
    assert abs(second.value - 175) < 30


def test_a_micro_batch_that_spark_has_noted_is_in_the_file(tmp_path: Path) -> None:
    """Spark delivers no batch again whose function returned: its events must survive the process."""

    class Frame:
        def count(self) -> int:
            return 1000

    place, terms = tmp_path / "a.stream", {"epsilon": 1, "delta": "1e-9", "horizon": 100}
    counter = Counter(**terms, path=place)  # type: ignore[arg-type]
    count = for_each_batch(counter)
    for number in range(3):
        count(Frame(), number)
    left = place.read_bytes()  # what a killed process leaves
    counter.close()
    place.write_bytes(left)
    with Counter(**terms, path=place) as again:  # type: ignore[arg-type]
        assert again.tick == 3
        for_each_batch(again)(Frame(), 3)
        assert abs((again.value.value or 0) - 4000) < 200
