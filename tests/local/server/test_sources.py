"""Test sources: every one gives the same state."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import noise
from discreet.errors import ParameterError
from discreet.local.collection.collection import Collection
from discreet.local.device.wire import batch, frames
from discreet.local.protocols.protocol import Payloads
from discreet.local.server import sources
from discreet.local.server.aggregator import Aggregator
from tests.local.collections_of import MAY, colours

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WIDE = colours(domain=1000, protocol="grr", epsilon="3")


@pytest.fixture(scope="module")
def payloads() -> Payloads:
    with noise.deterministic(1):
        return np.asarray(WIDE.randomiser.encode(np.arange(2000) % 1000))


@pytest.fixture(scope="module")
def state(payloads: Payloads) -> bytes:
    server = Aggregator(WIDE)
    server.payloads(payloads)
    assert server.n == 2000
    return server.written()


def column(payloads: Payloads, kind: pa.DataType) -> pa.Array:
    return pa.array([row.tobytes() for row in payloads], kind)


KINDS = [pa.binary(2), pa.binary(), pa.large_binary()]


def test_files_of_batches(tmp_path: Path, payloads: Payloads, state: bytes) -> None:
    parts = np.array_split(frames(WIDE, payloads), 5)
    (tmp_path / "a").write_bytes(batch(parts[0]) + batch(parts[1]))
    (tmp_path / "b").write_bytes(b"".join(batch(part) for part in parts[2:]))
    assert sources.from_files(WIDE, [tmp_path / "a", tmp_path / "b"]).written() == state


def test_a_file_that_is_given_twice_is_counted_once_by_its_ids(tmp_path: Path, payloads: Payloads) -> None:
    (tmp_path / "a").write_bytes(batch(frames(WIDE, payloads, identified=True)))
    (tmp_path / "bare").write_bytes(batch(frames(WIDE, payloads)))
    files = [tmp_path / "a", tmp_path / "a", tmp_path / "bare"]
    found = sources.from_files(WIDE, files, identified=True, period=MAY)
    assert (found.n, found.rejected["replayed"], found.rejected["without id"]) == (2000, 2000, 2000)
    assert found.period == (MAY, MAY)
    assert sources.from_files(WIDE, files).n == 4000


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_arrow_tables_whatever_their_chunks_and_slices(
    kind: pa.DataType, payloads: Payloads, state: bytes
) -> None:
    table = pa.table({"other": range(2000), "payload": column(payloads, kind)})
    cut = pa.concat_tables([table.slice(0, 700), table.slice(700)])
    assert sources.from_arrow(WIDE, table, "payload").written() == state
    assert sources.from_arrow(WIDE, cut, "payload").written() == state


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_parquet_files_and_folders(kind: pa.DataType, tmp_path: Path, payloads: Payloads, state: bytes) -> None:
    table = pa.table({"payload": column(payloads, kind), "other": range(2000)})
    pq.write_table(table.slice(0, 900), tmp_path / "a.parquet", row_group_size=300)
    pq.write_table(table.slice(900), tmp_path / "b.parquet")
    assert sources.from_parquet(WIDE, tmp_path).written() == state


def test_a_query_of_duckdb(payloads: Payloads, state: bytes) -> None:
    with duckdb.connect() as connection:
        connection.register("arrow", pa.table({"payload": column(payloads, pa.binary())}))
        connection.execute("CREATE TABLE reports AS SELECT * FROM arrow")
        assert sources.from_duckdb(WIDE, connection, "SELECT payload FROM reports").written() == state


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_missing_and_malformed_payloads_are_refused_and_counted(kind: pa.DataType) -> None:
    rows = [b"\x01\x00", None, b"\xff\xff", b"\x02\x00"] + ([] if kind == pa.binary(2) else [b"\x01", b""])
    found = sources.from_arrow(WIDE, pa.table({"payload": pa.array(rows, kind)}), "payload")
    assert found.n == 2
    assert found.rejected["invalid payload"] == 1
    assert found.rejected["malformed"] == len(rows) - 3
    assert (found.state[1], found.state[2]) == (1, 1)


def test_payloads_of_another_width_are_all_malformed() -> None:
    found = sources.from_arrow(WIDE, pa.table({"payload": pa.array([b"abc"] * 3, pa.binary(3))}), "payload")
    assert (found.n, found.rejected["malformed"]) == (0, 3)


def test_no_rows_and_only_missing_ones_are_no_reports() -> None:
    for rows in ([], [None, None]):
        for kind in KINDS:
            assert sources.from_arrow(WIDE, pa.table({"payload": pa.array(rows, kind)}), "payload").n == 0


def test_another_column_is_refused_in_words(tmp_path: Path) -> None:
    table = pa.table({"payload": [1], "note": ["x"]})
    with pytest.raises(ParameterError, match=r"no column 'report' \(found: payload, note\)"):
        sources.from_arrow(WIDE, table, "report")
    with pytest.raises(ParameterError, match=r"payloads must be binary \(found: int64\)"):
        sources.from_arrow(WIDE, table, "payload")
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(ParameterError, match="no column 'report'"):
        sources.from_parquet(WIDE, tmp_path, "report")


@pytest.mark.xdist_group("spark")
def test_spark_counts_each_partition_where_it_is(
    spark: SparkSession, tmp_path: Path, payloads: Payloads, state: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark.sparkContext, "pythonExec", sys.executable)  # where discreet is installed
    for part, rows in enumerate(np.array_split(payloads, 2)):
        pq.write_table(pa.table({"payload": column(rows, pa.binary())}), tmp_path / f"{part}.parquet")
    frame = spark.read.parquet(str(tmp_path))
    assert sources.from_spark(WIDE, frame).written() == state


def test_a_collection_without_labels_is_counted_too(payloads: Payloads) -> None:
    bare: Collection = WIDE
    assert bare.labels is None
    server = Aggregator(bare)
    server.payloads(payloads)
    assert server.estimate().labels[:2] == ["0", "1"]
