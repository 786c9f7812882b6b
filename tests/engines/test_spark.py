"""Rows in Spark: the same integers with any settings of the session; changes, failures, interrupts."""

from __future__ import annotations

import io
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.engines.engine import Engine
from discreet.engines.examples import Examples
from discreet.engines.nodes import Boolean, Case, Column, Compare, Expression, FloorDiv, Int, Mul, Sub, Text
from discreet.engines.spark import FILES, MARK, SETTINGS, Spark, files, ours, told
from discreet.engines.statement import Rows, Statement
from discreet.errors import DatabaseUnavailable, ParameterError, QuestionRefused
from tests.engines.python_rows import PythonRows
from tests.engines.test_engines import (
    ANY_QUESTION,
    CONDITIONS,
    HOSTILE,
    OF_TEXTS,
    PATTERNS,
    PEOPLE,
    PURE,
    QUESTIONS,
    WITH_DELTA,
    Load,
    asked,
    in_spark,
    totals,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")

TABLE = "spark_catalog.default.people_of_spark"


@pytest.fixture(scope="module")
def load(request: pytest.FixtureRequest) -> Iterator[Load]:
    with in_spark(request) as loader:
        yield loader


@pytest.fixture(scope="module")
def engine(load: Load) -> Engine:
    return load(HOSTILE)


@pytest.fixture(scope="module")
def empty(load: Load) -> Engine:
    return load([])


# The same integers. A statement takes Spark a third of a second, so that many questions go into one.


@dataclass
class Gathered:
    """Collects the statements of questions, by group, in place of `Rows`."""

    sums_by_keys: dict[tuple[Expression, ...], list[Expression]] = field(default_factory=dict)
    persons_by_keys: dict[tuple[Expression, ...], Expression | None] = field(default_factory=dict)

    def sums(
        self,
        *,
        where: Expression | None,
        keys: Sequence[Expression],
        sums: Sequence[Expression],
        spot: bool = False,
    ) -> None:
        assert not spot
        wanted = self.sums_by_keys.setdefault(tuple(keys), [])
        for tree in sums:
            only = tree if where is None else Case(((where, tree),))
            if only not in wanted:
                wanted.append(only)

    def persons(self, *, where: Expression | None, keys: Sequence[Expression], cap: int) -> None:
        assert cap == 4096
        self.persons_by_keys.setdefault(tuple(keys), where)

    def requests(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for keys, wanted in self.sums_by_keys.items():
            for i in range(0, len(wanted), 80):
                yield "sums", {"where": None, "keys": keys, "sums": wanted[i : i + 80]}
        for keys, where in self.persons_by_keys.items():
            yield "persons", {"where": where, "keys": keys, "cap": 4096}


def gathered(questions: Sequence[str]) -> Gathered:
    found = Gathered()
    for question in questions:
        for budget in (WITH_DELTA,) if question in OF_TEXTS else (PURE, WITH_DELTA):
            asked(question, cast(Rows, found), budget)
    return found


def check(engine: Engine, requests: Iterator[tuple[str, dict[str, Any]]], rows: list[dict[str, Any]]) -> int:
    count = 0
    for kind, wanted in requests:
        found = totals(engine.run(getattr(engine.rows, kind)(**wanted)))
        assert found == getattr(PythonRows(rows), kind)(**wanted)
        count += 1
    return count


def test_every_question_has_the_integers_that_it_has_elsewhere(engine: Engine) -> None:
    """All sums by every eighth key, and persons by one: the slow test has the rest."""
    questions = gathered([*QUESTIONS, *OF_TEXTS])
    questions.sums_by_keys = dict(list(questions.sums_by_keys.items())[::8])
    questions.persons_by_keys = dict(list(questions.persons_by_keys.items())[:1])
    assert check(engine, questions.requests(), HOSTILE) > 5


@pytest.mark.slow
def test_every_question_by_every_other_key_too(engine: Engine) -> None:
    questions = gathered([*QUESTIONS, *OF_TEXTS])
    questions.sums_by_keys = dict(list(questions.sums_by_keys.items())[1:])
    assert check(engine, questions.requests(), HOSTILE) > 35


def test_an_empty_table_has_no_groups_and_sums_of_nothing(empty: Engine) -> None:
    assert check(empty, gathered([*QUESTIONS[-3:], "select count(*), sum(age) from people"]).requests(), []) >= 4


def test_patterns_match_the_texts_that_they_match_elsewhere(engine: Engine) -> None:
    written = [pattern.replace("'", "''") for pattern in PATTERNS]
    words = ("like", "not like", "ilike", "not ilike")
    questions = [f"select count(*) from people where note {word} '{text}'" for word in words for text in written]
    assert check(engine, gathered(questions).requests(), HOSTILE) >= 2


@pytest.mark.parametrize("condition", [CONDITIONS[i] for i in range(3, len(CONDITIONS), 9)])
def test_filters_that_spark_pushes_into_its_files_leave_the_same_rows(engine: Engine, condition: str) -> None:
    (wanted,) = asked(f"select count(*), sum(age) from people where {condition}", engine.rows, PURE)
    (expected,) = asked(
        f"select count(*), sum(age) from people where {condition}", cast(Rows, PythonRows(HOSTILE)), PURE
    )
    assert totals(engine.run(wanted)) == expected


@settings(deadline=None, max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(questions=st.lists(ANY_QUESTION, min_size=3, max_size=5))
def test_any_question_agrees_with_python(engine: Engine, questions: list[str]) -> None:
    found = Gathered()
    for question in questions:
        try:
            asked(question, cast(Rows, found), PURE)
        except QuestionRefused:  # too many groups: refused everywhere, before it is asked
            continue
    check(engine, found.requests(), HOSTILE)


def test_sums_and_quotients_beyond_64_bits_are_exact(engine: Engine) -> None:
    far, wide, w = Column("c1"), Column("c9"), Column("w")
    product = Mul(Sub(far, Int(7)), w)
    widest = Mul(far, Mul(far, Int(3)))  # just below 2^126
    quotients = [FloorDiv(widest, Int(k)) for k in (2**41, 10**19 + 7, 2**63, 3 * 2**60 + 1)]
    wanted: dict[str, Any] = {"where": None, "keys": [Column("c5")], "sums": [product, wide, *quotients]}
    groups = engine.run(engine.rows.sums(**wanted))
    assert totals(groups) == PythonRows(HOSTILE).sums(**wanted)
    assert groups.sums.dtype == object
    assert {type(total) for total in groups.sums.ravel()} == {int}


def test_keys_beyond_64_bits_lose_no_digit(engine: Engine) -> None:
    key = Mul(Column("c1"), Column("c9"))
    wanted: dict[str, Any] = {"where": None, "keys": [key, Column("c8")], "sums": [Column("w")]}
    groups = engine.run(engine.rows.sums(**wanted))
    assert totals(groups) == PythonRows(HOSTILE).sums(**wanted)
    assert {type(part) for part, _ in groups.keys} == {int, type(None)}
    assert any(isinstance(part, int) and part > 2**64 and part % 2 for part, _ in groups.keys)


@pytest.mark.parametrize("limit", [2**23 - 1, 2**23, 2**43 - 1, 2**43, 2**62])
def test_sums_are_exact_on_both_sides_of_every_limit(spark: SparkSession, limit: int) -> None:
    """Sums of small numbers are BIGINTs, of larger ones two BIGINTs, of the largest ones decimals."""
    values = [limit, -limit, limit, limit - 1, 1 - limit, limit, 1048576, 1048575, -1048577]
    with table(spark, f"SELECT * FROM VALUES {', '.join(f'({value}L)' for value in values)} AS t(c0)") as name:
        engine = Spark(name, spark, limits={"c0": limit})
        assert totals(engine.run(engine.rows.sums(where=None, keys=[], sums=[Column("c0")]))) == {
            (): [sum(values)]
        }


# Settings of the user's session


@contextmanager
def table(session: SparkSession, query: str) -> Iterator[str]:
    session.sql(f"CREATE TABLE {TABLE} AS {query}")
    try:
        yield TABLE
    finally:
        session.sql(f"DROP TABLE {TABLE}")


HOSTILE_SETTINGS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "Asia/Kathmandu",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.parser.quotedRegexColumnNames": "true",
    "spark.sql.groupByOrdinal": "false",
    "spark.sql.groupByAliases": "false",
    "spark.sql.variable.substitute": "true",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "true",
    "spark.sql.caseSensitive": "true",
}


@pytest.mark.slow
def test_what_a_session_was_told_changes_no_answer_and_stays_as_it_was(spark: SparkSession) -> None:
    before = {name: spark.conf.get(name) for name in HOSTILE_SETTINGS}
    texts = {"${spark.app.name}": 1, "tests": 2, "a\\nb": 3, "a\nb": 4, "it's": 5}
    frame = spark.createDataFrame([(weight, text) for text, weight in texts.items()], "w SMALLINT, c0 STRING")
    frame.createOrReplaceTempView("texts")
    with table(spark, "SELECT * FROM texts") as name:
        try:
            for setting, value in HOSTILE_SETTINGS.items():
                spark.conf.set(setting, value)
            engine = Spark(name, spark, limits={"w": 4096})
            by_text = engine.rows.sums(where=None, keys=[Column("c0")], sums=[Column("w")])
            assert totals(engine.run(by_text)) == {(text,): [weight] for text, weight in texts.items()}
            for text, weight in texts.items():
                same = Compare("=", Column("c0"), Text(text))
                of_it = engine.rows.sums(where=same, keys=[], sums=[Column("w")])
                assert totals(engine.run(of_it)) == {(): [weight]}
            assert {setting: spark.conf.get(setting) for setting in HOSTILE_SETTINGS} == HOSTILE_SETTINGS
        finally:
            for setting, was in before.items():
                spark.conf.set(setting, str(was))
    assert set(HOSTILE_SETTINGS) - {"spark.sql.caseSensitive"} <= set(SETTINGS)


def test_several_threads_ask_at_once(engine: Engine) -> None:
    statements = [engine.rows.sums(where=None, keys=[Column(f"c{i}")], sums=[Column("w")]) for i in (3, 4, 5, 8)]
    with ThreadPoolExecutor(4) as pool:
        found = [totals(groups) for groups in pool.map(engine.run, statements)]
    keys = [[Column(f"c{i}")] for i in (3, 4, 5, 8)]
    rows = PythonRows(HOSTILE)
    assert found == [rows.sums(where=None, keys=key, sums=[Column("w")]) for key in keys]


# What can go wrong


def weights(rows: Examples) -> int:
    [found] = rows.total(lambda batch: [np.array([np.asarray(batch.weights, np.int64).sum()])])
    return int(found[0])


def test_rows_that_came_since_sealing_are_never_counted(spark: SparkSession) -> None:
    with table(spark, "SELECT CAST(4096 AS SMALLINT) AS w, id AS person FROM range(10)") as name:
        marks = f"'{MARK}' = 'as it was', '{FILES}' = '{files(spark.table(name))}'"
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({marks})")
        engine = Spark(name, spark)
        assert engine.fingerprint() == "as it was"
        count = engine.rows.sums(where=None, keys=[], sums=[Column("w")])
        spark.sql(f"INSERT INTO {name} VALUES (4096, 1)")
        assert totals(engine.run(count)) == {(): [10 * 4096]}  # of the files that it saw when it was opened
        with pytest.raises(ParameterError, match="changed since it was sealed"):
            Spark(name, spark).fingerprint()
        with pytest.raises(ParameterError, match="changed since it was sealed"):
            engine.fingerprint()  # which looks again
        with pytest.raises(ParameterError, match=r"changed since it was sealed.*reseal"):
            _ = engine.rows
        with pytest.raises(ParameterError, match="changed since it was sealed"):
            engine.run(count)


def test_a_learner_never_sees_rows_that_came_since_sealing(spark: SparkSession) -> None:
    """Also if the executors keep the rows, which are then read again."""
    with table(spark, "SELECT CAST(4096 AS SMALLINT) AS w, id AS person FROM range(10)") as name:
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('{FILES}' = '{files(spark.table(name))}')")
        engine = Spark(name, spark)
        selection = engine.rows.selection({})
        examples = engine.examples(selection)
        kept = examples.derived(lambda batch: batch, 2)
        assert weights(examples) == weights(kept) == 10 * 4096
        spark.sql(f"INSERT INTO {name} VALUES (4096, 1)")
        spark.sql(f"REFRESH TABLE {name}")
        for rows in (examples, kept, engine.examples(selection)):
            with pytest.raises(ParameterError, match="changed since it was sealed"):
                weights(rows)


def test_a_cached_table_is_not_asked_for_nobody_knows_its_files(spark: SparkSession) -> None:
    with table(spark, "SELECT CAST(4096 AS SMALLINT) AS w, id AS person FROM range(10)") as name:
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('{FILES}' = '{files(spark.table(name))}')")
        engine = Spark(name, spark)
        count = engine.rows.sums(where=None, keys=[], sums=[Column("w")])
        spark.sql(f"INSERT INTO {name} VALUES (4096, 1)")
        spark.sql(f"CACHE TABLE {name}")
        try:
            for asking in (
                engine.fingerprint,
                lambda: engine.rows,
                lambda: engine.run(count),
                Spark(name, spark).fingerprint,
            ):
                with pytest.raises(ParameterError, match=rf"changed since it was sealed.*UNCACHE TABLE {name}"):
                    asking()
        finally:
            spark.sql(f"UNCACHE TABLE {name}")


def test_a_client_without_java_hears_of_failures_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py4j.protocol", None)  # as where only pyspark-client is installed

    def fail() -> None:
        raise OSError("which may quote a row")

    with pytest.raises(DatabaseUnavailable, match=r"^Spark could not do it \(OSError\)"):
        told(fail, "could not do it")


def test_a_question_that_needs_no_file_is_answered(engine: Engine) -> None:
    empty = engine.rows.sums(where=Boolean(False), keys=[], sums=[Column("w")])
    assert totals(engine.run(empty)) == {(): [0]}


def test_rows_without_a_mark_say_nothing(engine: Engine) -> None:
    assert engine.fingerprint() == ""


def test_a_failure_quotes_no_row_nowhere(engine: Engine, spark: SparkSession) -> None:
    from pyspark.errors import PySparkException
    from pyspark.logger import PySparkLogger

    logger, written = PySparkLogger.getLogger("SQLQueryContextLogger"), io.StringIO()
    handler = logging.StreamHandler(written)
    logger.addHandler(handler)
    try:
        failing = Statement(f"{engine.rows.name} WHERE CAST(c8 AS INTEGER) > 0", (), ("SUM(w)",))
        with pytest.raises(DatabaseUnavailable, match=r"CAST_INVALID_INPUT\).*not repeated") as caught:
            engine.run(failing)
        assert not any(text in str(caught.value) for text in ("quoted", "👍", "ΑΣ"))
        assert caught.value.__context__ is None
        assert written.getvalue() == ""
        with pytest.raises(PySparkException):
            ours(spark).sql("SELECT CAST('of the user' AS INTEGER)").collect()
        assert "of the user" in written.getvalue()
    finally:
        logger.removeHandler(handler)


def test_sums_that_would_wrap_fail_and_give_no_number(engine: Engine) -> None:
    wrapping = Statement(f"{engine.rows.name} WHERE c1 > 4611686018427387000", (), ("SUM(c1)",))
    with pytest.raises(DatabaseUnavailable, match="ARITHMETIC_OVERFLOW"):
        engine.run(wrapping)


def test_a_missing_table_raises_a_message_of_our_own(spark: SparkSession) -> None:
    with pytest.raises(
        DatabaseUnavailable, match=r"could not look up the table default\.nowhere: it is not there"
    ):
        Spark("default.nowhere", spark)


def test_without_a_session_the_message_shows_the_code_that_makes_one() -> None:
    code = "from discreet.engines.spark import Spark; Spark('people')"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr
    assert "There is no Spark session in this process." in said
    assert "Try: Vault(spark=SparkSession.builder.getOrCreate())." in said


def test_a_forked_process_is_refused_before_a_charge(engine: Engine) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:  # whatever happens, nothing of pytest's may run on here
        try:
            _ = engine.rows
            os.write(writing, b"nothing was said")
        except ParameterError as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert b"does not survive a fork" in os.read(reading, 1000)
    assert engine.rows.dialect == "spark"


@pytest.mark.parametrize("of", ["a statement", "rows"])
def test_an_interrupt_cancels_the_question_in_the_cluster(of: str, engine: Engine, spark: SparkSession) -> None:
    crossed = "range(100000) AS a CROSS JOIN range(10000000) AS b"
    endless = Statement(crossed, (), ("SUM(a.id * b.id % 7)",))
    ones = replace(engine.rows.selection({}), query=f"SELECT CAST(1 AS SMALLINT) AS w FROM {crossed}")
    tracker, told_off = spark.sparkContext.statusTracker(), threading.Event()

    def interrupt() -> None:
        while not tracker.getActiveJobsIds() and not told_off.wait(0.05):
            pass
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # not that of pyspark, which cancels everything
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            engine.run(endless) if of == "a statement" else weights(engine.examples(ones))
    finally:
        told_off.set()
        thread.join()
        signal.signal(signal.SIGINT, before)
    assert len(tracker.getActiveJobsIds()) == 0
    assert totals(engine.run(engine.rows.sums(where=None, keys=[], sums=[Column("w")])))


def test_an_engine_shows_its_table_and_nothing_else(engine: Engine) -> None:
    assert repr(engine) == f"Spark({engine.rows.name!r})"
    assert PEOPLE.limits == dict(engine.rows.limits)
