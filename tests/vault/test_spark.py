"""A vault whose rows stay in Spark: all of it or nothing, whatever fails, dies or interferes."""

from __future__ import annotations

import io
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.spark import FILES, MARK
from discreet.errors import DiscreetError, ParameterError, SealingFailed
from discreet.schema.metadata import TableMetadata
from discreet.sealing import seal as sealing
from discreet.sealing.backends import SealedRows
from discreet.sealing.backends.spark import SEALING, Catalogue, full_name, named
from discreet.sealing.draft import propose
from discreet.sealing.sources import Source
from discreet.vault.storage import spark as in_spark
from tests.vault.sealed_tables import by_person, sealed
from tests.vault.spark_vaults import nothing_left, rows_of, tables_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")

VISITS = pa.table(
    {
        "who": pa.array([i % 40 for i in range(120)]),
        "age": pa.array([20 + i % 40 for i in range(120)]),
        "city": pa.array([["Oslo", "Bergen", None][i % 3] for i in range(120)]),
        "note": pa.array([f"note {i % 2}" for i in range(120)]),
    }
)
COLUMNS: dict[str, Any] = {"age": dp.Integer(0, 110), "city": dp.Category(["Oslo", "Bergen"]), "note": dp.Text()}
DECLARED: dict[str, Any] = {"person": "who", "columns": COLUMNS, "rows_per_person": 3}
BUDGET = dp.Budget(200, "1e-6")


@pytest.fixture(scope="module")
def visits(spark: SparkSession) -> DataFrame:
    frame: DataFrame = spark.createDataFrame(VISITS)
    return frame


def property_of(session: SparkSession, table: str, name: str) -> str | None:
    found = {row["key"]: row["value"] for row in session.sql(f"SHOW TBLPROPERTIES {table}").collect()}
    return found.get(name)


# A whole vault


def test_a_vault_in_spark_is_sealed_asked_changed_and_sealed_again(
    spark: SparkSession, visits: DataFrame, tmp_path: Path
) -> None:
    place, stages = tmp_path / "visits.vault", list[tuple[str, float]]()
    question = "select city, count(*), avg(age) from visits group by city"

    def told(stage: str, done: float) -> None:
        stages.append((stage, done))

    with nothing_left(spark):
        with dp.Vault.seal(
            visits, to=place, rows="whole_vault", budget=BUDGET, progress=told, **DECLARED
        ) as vault:
            answer = vault.ask(question, epsilon=40)
            counts = answer.to_arrow().column("count").to_pylist()
            assert [abs(n - 40) < 10 for n in counts] == [True] * 3
        assert sorted(path.name for path in place.iterdir()) == ["description.json", "ledger.sqlite"]
        assert vault.metadata.engine == "spark"
        assert vault.metadata.table == "`spark_catalog`.`default`.`whole_vault`"
        assert property_of(spark, "whole_vault", MARK) == vault.metadata.fingerprint
        assert property_of(spark, "whole_vault", SEALING) is None
        stages_in_order = list(dict.fromkeys(stage for stage, _ in stages))
        assert stages_in_order == ["reading rows", "weighing persons", "weighing rows"]
        assert all(0 <= done <= 1 for _, done in stages)
        sealing.seal(VISITS, to=tmp_path / "arrow", **DECLARED)
        first = vault.metadata
        assert by_person(rows_of(spark, first)) == by_person(sealed(tmp_path / "arrow"))

        with dp.Vault(place, spark=spark, analyst="ana") as again:
            assert again.ask(question, epsilon=40).to_arrow() == answer.to_arrow()  # from the ledger
            visits.limit(60).createOrReplaceTempView("newer_visits")
            again.reseal(Source(spark, table="newer_visits"))
            assert again.ask("select count(*) from visits", epsilon=40).value == pytest.approx(60, abs=15)
            assert again.metadata.version == 2
        assert {"whole_vault", "whole_vault_2"} <= tables_in(spark)
        assert len(rows_of(spark, again.metadata)) == 60

        spark.sql("INSERT INTO whole_vault_2 SELECT * FROM whole_vault LIMIT 1")
        with dp.Vault(place) as changed:
            before = changed.ledger.balance().spent
            with pytest.raises(ParameterError, match="changed since it was sealed"):
                changed.ask("select count(*) from visits where age > 30", epsilon=1)
            assert changed.ledger.balance().spent == before
        spark.sql("DROP TABLE whole_vault_2")
        with dp.Vault(place) as gone, pytest.raises(DiscreetError, match="it is not there"):
            gone.ask("select count(*) from visits where age > 30", epsilon=1)
        spark.sql("DROP TABLE whole_vault")


def test_rows_of_another_description_are_not_asked(spark: SparkSession, visits: DataFrame, tmp_path: Path) -> None:
    in_spark.seal(visits, to=tmp_path / "v", rows="another_description", **DECLARED)
    text = (tmp_path / "v" / "description.json").read_text()
    (tmp_path / "v" / "description.json").write_text(text.replace('"rows_per_person": 3', '"rows_per_person": 2'))
    from discreet.vault.storage import Directory, engine_with_fingerprint

    place = Directory(tmp_path / "v")
    with pytest.raises(ParameterError, match="are not those that its rows were sealed with"):
        engine_with_fingerprint(place, place.metadata())
    spark.sql("DROP TABLE another_description")


def test_without_rows_a_table_passes_through_the_driver(
    spark: SparkSession, visits: DataFrame, tmp_path: Path
) -> None:
    visits.createOrReplaceTempView("visits")
    sealing.seal(VISITS, to=tmp_path / "arrow", **DECLARED)
    for name, source in {"frame": visits, "named": Source(spark, table="visits")}.items():
        sealing.seal(source, to=tmp_path / name, **DECLARED)
        assert by_person(sealed(tmp_path / name)) == by_person(sealed(tmp_path / "arrow"))


def test_what_is_declared_is_told_without_reading_a_row(spark: SparkSession) -> None:
    frame = spark.sql(
        "SELECT CAST(raise_error('read') AS INT) AS age, DATE '2024-01-01' AS day, X'00' AS raw, 1.50 AS p"
    )
    draft = propose(frame)
    assert "[columns.age]  # INTEGER" in draft
    assert "[columns.day]  # DATE" in draft
    assert "[columns.p]  # DECIMAL(3,2)" in draft


# Names


def test_names_are_completed_by_what_the_session_is_in(spark: SparkSession) -> None:
    assert full_name(spark, "people") == ("spark_catalog", "default", "people")
    assert full_name(spark, "shop.`the people`") == ("spark_catalog", "shop", "the people")
    assert full_name(spark, "spark_catalog.shop.people") == ("spark_catalog", "shop", "people")
    assert named("`a.b`.`c``d`") == ("a.b", "c`d")


@pytest.mark.parametrize("name", ["", "a..b", "a.", "a b", "`a", "a`b`", "``", "people; DROP TABLE x"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(ParameterError, match="is not the name of a table"):
        named(name)


@pytest.mark.slow
def test_columns_may_have_any_name_and_be_renamed(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(1, 2, 3)], "`who is it?` INT, `a.b ``c``` INT, `select` INT")
    there = in_spark.seal(
        Source(frame, rename={"select": "chosen"}),
        to=tmp_path / "v",
        rows="`any_name`",
        person="who is it?",
        columns={"a.b `c`": dp.Integer(0, 9), "chosen": dp.Integer(0, 9)},
    )
    assert [(row["c0"], row["c1"]) for row in rows_of(spark, there)] == [(2, 3)]
    spark.sql("DROP TABLE any_name")


def test_names_that_differ_in_capitals_only_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.sql("SELECT 1 AS a, 2 AS A")
    for rows in ("differ", None):
        seal: Callable[..., Any] = sealing.seal if rows is None else in_spark.seal
        with pytest.raises(ParameterError, match="differ in capitals only"):
            seal(
                frame,
                to=tmp_path / "v",
                person=None,
                columns={"a": dp.Integer(0, 1)},
                **({} if rows is None else {"rows": rows}),
            )


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (VISITS, r"a pyarrow Table is not in Spark.*createDataFrame"),
        ("people.parquet", r"people\.parquet is not in Spark.*spark\.read"),
    ],
)
def test_what_is_not_in_spark_is_to_be_brought_there(
    source: Any, words: str, spark: SparkSession, visits: DataFrame, tmp_path: Path
) -> None:
    with nothing_left(spark), pytest.raises(ParameterError, match=words):
        in_spark.seal(visits, to=tmp_path / "v", rows="elsewhere", tables=[source], **DECLARED)
    assert list(tmp_path.iterdir()) == []


def test_a_session_alone_is_no_table(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"Name a table .*Source\(table=\"shop.visits\"\)"):
        in_spark.seal(spark, to=tmp_path / "v", rows="no_table", **DECLARED)
    with pytest.raises(DiscreetError, match=r"could not find the table nowhere: it is not there"):
        in_spark.seal(Source(spark, table="nowhere"), to=tmp_path / "v", rows="no_table", **DECLARED)
    with pytest.raises(
        DiscreetError, match=r"could not look into `spark_catalog`\.`nowhere`: there is no such schema"
    ):
        in_spark.seal(spark.sql("SELECT 1 AS who"), to=tmp_path / "v", rows="nowhere.rows", **DECLARED)
    with pytest.raises(ParameterError, match=r"has no column 'age'\. It has 'who'"):
        in_spark.seal(spark.sql("SELECT 1 AS who"), to=tmp_path / "v", rows="no_table", **DECLARED)


@pytest.mark.slow
def test_without_a_session_a_vault_says_how_to_make_one(
    spark: SparkSession, visits: DataFrame, tmp_path: Path
) -> None:
    in_spark.seal(visits, to=tmp_path / "v", rows="no_session", **DECLARED)
    code = (
        "import sys; from discreet.vault.storage import storage_at; "
        "place = storage_at(sys.argv[1]); place.engine(place.metadata())"
    )
    run = subprocess.run([sys.executable, "-c", code, tmp_path / "v"], capture_output=True, text=True)
    assert "Try: Vault(spark=SparkSession.builder.getOrCreate())." in run.stderr
    spark.sql("DROP TABLE no_session")


# What can go wrong


@pytest.mark.parametrize("stage", ["reading rows", "weighing persons", "weighing rows"])
def test_whatever_stops_sealing_leaves_nothing(
    stage: str, spark: SparkSession, visits: DataFrame, tmp_path: Path
) -> None:
    def stop(now: str, done: float) -> None:
        if now == stage:
            raise KeyboardInterrupt

    with nothing_left(spark), pytest.raises(KeyboardInterrupt):
        in_spark.seal(visits, to=tmp_path / "v", rows="stopped", progress=stop, **DECLARED)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_after_the_rows_were_written_takes_them_back(
    spark: SparkSession, visits: DataFrame, tmp_path: Path
) -> None:
    def full(_: str, done: float) -> None:
        if done == 1 and "taken_back" in tables_in(spark):
            raise OSError("the disk is full")

    with nothing_left(spark), pytest.raises(OSError, match="the disk is full"):
        in_spark.seal(visits, to=tmp_path / "v", rows="taken_back", progress=full, **DECLARED)
    assert list(tmp_path.iterdir()) == []


def test_a_source_that_fails_quotes_no_row(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    frame = spark.sql("SELECT id AS who, CAST(raise_error(concat('it is ', 'Ada')) AS INT) AS age FROM range(3)")
    with nothing_left(spark), pytest.raises(SealingFailed, match=r"USER_RAISED.*not repeated") as caught:
        in_spark.seal(frame, to=tmp_path / "v", rows="fails", person="who", columns={"age": dp.Integer(0, 110)})
    assert "Ada" not in str(caught.value)
    assert caught.value.__context__ is None
    assert "it is Ada" not in capfd.readouterr().err


def test_an_interrupt_cancels_sealing_in_the_cluster(spark: SparkSession, tmp_path: Path) -> None:
    endless = spark.sql(
        "SELECT a.id * b.id % 7 AS who, 1 AS age FROM range(100000) AS a CROSS JOIN range(10000000) AS b"
    )
    tracker, done = spark.sparkContext.statusTracker(), threading.Event()

    def interrupt() -> None:
        while not tracker.getActiveJobsIds() and not done.wait(0.05):
            pass
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with nothing_left(spark), pytest.raises(KeyboardInterrupt):
            in_spark.seal(
                endless, to=tmp_path / "v", rows="endless", person="who", columns={"age": dp.Integer(0, 110)}
            )
    finally:
        done.set()
        thread.join()
        signal.signal(signal.SIGINT, before)
    assert len(tracker.getActiveJobsIds()) == 0
    assert list(tmp_path.iterdir()) == []


def test_rows_that_were_written_twice_are_noticed(spark: SparkSession) -> None:
    described = TableMetadata("v", {"age": dp.Integer(0, 9)}, person="who", rows_per_person=2, engine="spark")
    catalogue = Catalogue(spark, ("spark_catalog", "default", "written_twice"), described)
    once = "SELECT id DIV 2 AS person, CAST(4096 AS SMALLINT) AS w, CAST(1 AS TINYINT) AS c0 FROM range(10)"
    with nothing_left(spark):
        catalogue.begin()
        try:
            with pytest.raises(SealingFailed, match="wrote some rows twice"):
                catalogue.write(
                    SealedRows(full="", every=f"{once} UNION ALL {once}"), "mark", "weighing rows", None
                )
            assert property_of(spark, "written_twice", MARK) is None
        finally:
            catalogue.end(keep=False)


def left_behind(session: SparkSession, name: str, worker: str) -> None:
    for table in (name, f"{name}__sealing_0123456789ab_coded"):
        session.sql(f"CREATE TABLE {table} (person BIGINT) TBLPROPERTIES ('{SEALING}' = '{worker}')")


def test_what_a_killed_process_left_is_dropped_by_the_next(
    spark: SparkSession, visits: DataFrame, tmp_path: Path
) -> None:
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    with nothing_left(spark):
        left_behind(spark, "left_by_the_dead", f"{socket.gethostname()} {dead.stdout.strip()}")
        described = in_spark.seal(visits, to=tmp_path / "v", rows="left_by_the_dead", **DECLARED)
        assert len(rows_of(spark, described)) == 120
        assert {name for name in tables_in(spark) if name.startswith("left_by")} == {"left_by_the_dead"}
        spark.sql("DROP TABLE left_by_the_dead")


def test_what_a_living_process_works_at_is_left_alone(
    spark: SparkSession, visits: DataFrame, tmp_path: Path
) -> None:
    left_behind(spark, "at_work", f"{socket.gethostname()} {os.getppid()}")
    with pytest.raises(ParameterError, match=rf"is being sealed by process {os.getppid()} on .* DROP TABLE"):
        in_spark.seal(visits, to=tmp_path / "v", rows="at_work", **DECLARED)
    assert {"at_work", "at_work__sealing_0123456789ab_coded"} <= tables_in(spark)
    for name in ("at_work", "at_work__sealing_0123456789ab_coded"):
        spark.sql(f"DROP TABLE {name}")


@pytest.mark.parametrize(
    "worker",
    ["another-host 1", "another-host 1 0123456789ab", "", "nobody", "a b c d", f"{socket.gethostname()} -1"],
)
def test_what_may_be_at_work_elsewhere_is_left_alone(
    worker: str, spark: SparkSession, visits: DataFrame, tmp_path: Path
) -> None:
    left_behind(spark, "elsewhere", worker)
    spark.sql("INSERT INTO elsewhere VALUES (7)")
    try:
        with pytest.raises(ParameterError, match=r"is being sealed by process .* DROP TABLE"):
            in_spark.seal(visits, to=tmp_path / "v", rows="elsewhere", **DECLARED)
        assert spark.table("elsewhere").count() == 1
        assert "elsewhere__sealing_0123456789ab_coded" in tables_in(spark)
    finally:
        for name in ("elsewhere", "elsewhere__sealing_0123456789ab_coded"):
            spark.sql(f"DROP TABLE {name}")


@pytest.mark.parametrize("moment", [pytest.param(0.0, marks=pytest.mark.slow), 1.0])
def test_a_table_of_another_sealing_is_neither_taken_nor_dropped(
    moment: float, spark: SparkSession, visits: DataFrame, tmp_path: Path
) -> None:
    """Another process dropped what is being sealed, or was faster, and seals to the same name."""

    def take(stage: str, done: float) -> None:
        if (stage, done) == ("weighing rows", moment) and not taken:
            taken.append(True)
            spark.sql("DROP TABLE IF EXISTS taken")
            properties = f"'{SEALING}' = 'another-host 1 0123456789ab'"
            spark.sql(
                f"CREATE TABLE taken TBLPROPERTIES ({properties}) AS SELECT 7 AS person, 4096 AS w, true AS spot"
            )

    taken = list[bool]()
    try:
        with pytest.raises(SealingFailed):
            in_spark.seal(visits, to=tmp_path / "v", rows="taken", progress=take, **DECLARED)
        assert [row["person"] for row in spark.table("taken").collect()] == [7]
        assert property_of(spark, "taken", SEALING) == "another-host 1 0123456789ab"
        assert property_of(spark, "taken", MARK) is None
        assert not [name for name in tables_in(spark) if name.startswith("taken__sealing")]
        assert list(tmp_path.iterdir()) == []
    finally:
        spark.sql("DROP TABLE IF EXISTS taken")


def test_a_plan_that_cannot_be_made_is_not_logged(spark: SparkSession) -> None:
    from pyspark.logger import PySparkLogger

    logger, written = PySparkLogger.getLogger("SQLQueryContextLogger"), io.StringIO()
    handler = logging.StreamHandler(written)
    logger.addHandler(handler)
    described = TableMetadata("v", {"age": dp.Integer(0, 9)}, person="who", engine="spark")
    catalogue = Catalogue(spark, ("spark_catalog", "default", "not_logged"), described)
    try:
        with pytest.raises(SealingFailed, match="cannot carry out reading rows"):
            catalogue.store("coded", "SELECT 'Ada' AS key, nothing FROM range(3)", "reading rows", None)
        assert written.getvalue() == ""
    finally:
        logger.removeHandler(handler)
        catalogue.end(keep=False)


def test_a_table_that_exists_is_never_overwritten(spark: SparkSession, visits: DataFrame, tmp_path: Path) -> None:
    spark.sql("CREATE TABLE somebodys (x INT)")
    with nothing_left(spark), pytest.raises(ParameterError, match="exists, and sealed rows are never overwritten"):
        in_spark.seal(visits, to=tmp_path / "v", rows="Somebodys", **DECLARED)
    assert list(tmp_path.iterdir()) == []
    spark.sql("DROP TABLE somebodys")


@pytest.mark.slow
def test_an_empty_table_is_sealed_and_additions_to_it_are_noticed(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([], "who INT, age INT")
    described = in_spark.seal(
        frame, to=tmp_path / "v", rows="empty_rows", person="who", columns={"age": dp.Integer(0, 110)}
    )
    engine = in_spark.engine(described, spark)
    count = engine.rows.sums(where=None, keys=[], sums=[])
    assert count.source == described.table
    assert property_of(spark, "empty_rows", FILES)
    spark.sql("INSERT INTO empty_rows VALUES (1, 4096, 5)")
    with pytest.raises(ParameterError, match="changed since it was sealed"):
        in_spark.engine(described, spark).fingerprint()
    spark.sql("DROP TABLE empty_rows")


def test_a_namespace_in_which_texts_stand_for_others_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("schemaLevel", "objectLevel"):
        spark.conf.set(f"spark.sql.collation.{name}.enabled", "true")
    spark.sql("CREATE SCHEMA alike DEFAULT COLLATION UTF8_LCASE")
    frame = spark.createDataFrame([(1, "a"), (2, "A")], "who INT, note STRING")
    with pytest.raises(ParameterError, match="`alike` gives the texts of its tables a collation"):
        in_spark.seal(frame, to=tmp_path / "v", rows="alike.rows", person="who", columns={"note": dp.Text()})
    assert spark.sql("SHOW TABLES IN alike").where("NOT isTemporary").count() == 0
    spark.sql("DROP SCHEMA alike")
    for name in ("schemaLevel", "objectLevel"):
        spark.conf.unset(f"spark.sql.collation.{name}.enabled")


@pytest.mark.slow
def test_what_the_session_was_told_stays_and_does_not_matter(
    spark: SparkSession, visits: DataFrame, tmp_path: Path
) -> None:
    told = {
        "spark.sql.session.timeZone": "Asia/Kathmandu",
        "spark.sql.timestampType": "TIMESTAMP_NTZ",
        "spark.sql.sources.default": "csv",
    }
    before = {name: spark.conf.get(name) for name in told}
    try:
        for name, value in told.items():
            spark.conf.set(name, value)
        frame = spark.sql(
            "SELECT '2024-01-01 00:30' AS t, TIMESTAMP_LTZ '2024-01-01 00:30' AS z, '' AS n, 1 AS who"
        )
        step: Any = dp.Datetime("2023-12-31", "2024-01-02", step="15min")
        there = in_spark.seal(
            frame,
            to=tmp_path / "v",
            rows="told_otherwise",
            person="who",
            columns={"t": step, "z": step, "n": dp.Text()},
        )
        assert {name: spark.conf.get(name) for name in told} == told
    finally:
        for name, was in before.items():
            spark.conf.set(name, str(was))
    (row,) = rows_of(spark, there)
    assert (row["c0"], row["c1"]) == (98, 75)  # a text without a zone is of UTC; the other is of Kathmandu
    assert row["c2"] == ""  # which is no NULL, as it is in CSV
    spark.sql("DROP TABLE told_otherwise")
