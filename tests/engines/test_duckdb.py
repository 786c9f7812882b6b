"""The embedded engine returns exact integers and reads nothing but its file."""

from __future__ import annotations

import contextlib
import copy
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.duckdb import DuckDB, memory_limit
from discreet.engines.engine import Groups
from discreet.engines.nodes import Column
from discreet.engines.statement import FULL, OTHERS, Statement
from discreet.errors import DatabaseUnavailable, ParameterError
from discreet.sealing.backends import SealedRows
from tests.engines.parsed_trees import tree

Row = tuple[int, int, int | None, int | None, str | None, bool]
ROWS: list[Row] = [
    (0, 4096, 3, 2**61, "a", True),
    (0, 4096, 3, 0, "b", True),
    (1, 1000, None, 2**61, None, False),
    (1, 1000, 5, None, "a", True),
    (2, 4096, 3, 2**61, "a", True),
]


LIMITS = {"w": 4096, "c0": 127, "c1": 2**62}


def stored(path: Path, rows: list[Row], *, apart: bool = False) -> Path:
    """Store rows as one table, as earlier versions did, or those of full weight apart from the others."""
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE rows (person BIGINT, w SMALLINT, c0 TINYINT, c1 BIGINT, c2 VARCHAR, spot BOOLEAN)"
        )
        if rows:
            connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)", rows)
        if apart:
            both = SealedRows("…", columns=("person", "c0", "c1", "c2"), spot=True).together(FULL, OTHERS)
            connection.execute(
                f"CREATE TABLE {FULL} AS SELECT * EXCLUDE (w, spot) FROM rows WHERE w = 4096; "
                f"CREATE TABLE {OTHERS} AS FROM rows WHERE w IS DISTINCT FROM 4096; DROP TABLE rows; "
                f"CREATE VIEW rows AS {both}"
            )
    return path


@pytest.fixture(params=[False, True], ids=["one table", "full weight apart"])
def engine(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[DuckDB]:
    opened = DuckDB(stored(tmp_path / "rows.duckdb", ROWS, apart=request.param), limits=LIMITS)
    yield opened
    opened.close()


def found(groups: Groups) -> dict[Any, list[int]]:
    return {key: [int(value) for value in row] for key, row in zip(groups.keys, groups.sums, strict=True)}


def test_sums_by_group_with_the_missing_group_among_them(engine: DuckDB) -> None:
    groups = engine.run(engine.rows.sums(where=None, keys=[tree("c0")], sums=[tree("w"), tree("w * (c0 - 4)")]))
    assert found(groups) == {(3,): [12288, -12288], (None,): [1000, 0], (5,): [1000, 1000]}
    assert groups.sums.dtype == np.int64


def test_without_keys_there_is_one_group_even_if_no_row_takes_part(engine: DuckDB) -> None:
    assert found(engine.run(engine.rows.sums(where=None, keys=[], sums=[tree("w")]))) == {(): [14288]}
    assert found(engine.run(engine.rows.sums(where=tree("c0 = 99"), keys=[], sums=[tree("w"), tree("c1")]))) == {
        (): [0, 0]
    }
    assert found(engine.run(engine.rows.persons(where=tree("c0 = 99"), keys=[], cap=4096))) == {(): [0]}


def test_absent_groups_are_absent(engine: DuckDB) -> None:
    assert found(engine.run(engine.rows.sums(where=tree("c0 = 99"), keys=[tree("c0")], sums=[tree("w")]))) == {}


def test_rows_on_which_the_filter_is_null_are_out(engine: DuckDB) -> None:
    assert found(engine.run(engine.rows.sums(where=tree("NOT c0 = 3"), keys=[], sums=[tree("w")]))) == {(): [1000]}


def test_sums_beyond_64_bits_are_exact_python_integers(engine: DuckDB) -> None:
    groups = engine.run(engine.rows.sums(where=None, keys=[tree("c2")], sums=[tree("w * c1"), tree("w")]))
    assert groups.sums.dtype == object
    assert found(groups) == {("a",): [2 * 4096 * 2**61, 9192], ("b",): [0, 4096], (None,): [1000 * 2**61, 1000]}


def test_sums_beyond_2_to_the_53_lose_no_digit(engine: DuckDB) -> None:
    groups = engine.run(engine.rows.sums(where=tree("c2 = 'a'"), keys=[], sums=[tree("c1 + 1")]))
    assert found(groups) == {(): [2 * (2**61 + 1)]}
    assert groups.sums.dtype == np.int64


def test_spot_takes_spot_rows_only(engine: DuckDB) -> None:
    groups = engine.run(engine.rows.sums(where=None, keys=[tree("c2")], sums=[tree("w")], spot=True))
    assert found(groups) == {("a",): [9192], ("b",): [4096]}


def test_persons_count_each_person_once_up_to_the_cap(engine: DuckDB) -> None:
    assert found(engine.run(engine.rows.persons(where=None, keys=[], cap=4096))) == {(): [4096 + 2000 + 4096]}
    assert found(engine.run(engine.rows.persons(where=None, keys=[tree("c2")], cap=4096))) == {
        ("a",): [9192],
        ("b",): [4096],
        (None,): [1000],
    }


def test_several_keys_and_expressions_as_keys(engine: DuckDB) -> None:
    key = tree("CASE WHEN c0 < 4 THEN 0 ELSE 1 END")
    groups = engine.run(engine.rows.sums(where=None, keys=[key, tree("c2")], sums=[tree("w")]))
    assert found(groups) == {(0, "a"): [8192], (0, "b"): [4096], (1, None): [1000], (1, "a"): [1000]}


def test_groups_show_nothing_and_are_not_pickled_or_copied(engine: DuckDB) -> None:
    groups = engine.run(engine.rows.sums(where=None, keys=[], sums=[tree("w")]))
    assert "14288" not in repr(groups) + str(groups) + f"{groups}"
    for away in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="sealed"):
            away(groups)


def test_threads_ask_at_the_same_time(engine: DuckDB) -> None:
    answers: list[dict[Any, list[int]]] = []

    def ask() -> None:
        answers.extend(
            found(engine.run(engine.rows.sums(where=None, keys=[], sums=[tree("w")]))) for _ in range(10)
        )

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [{(): [14288]}] * 40


def test_it_opens_again_after_it_was_closed(engine: DuckDB) -> None:
    engine.close()
    engine.close()
    assert found(engine.run(engine.rows.sums(where=None, keys=[], sums=[tree("w")]))) == {(): [14288]}


def test_an_engine_goes_to_other_processes(engine: DuckDB) -> None:
    engine.run(engine.rows.sums(where=None, keys=[], sums=[tree("w")]))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(total, (engine,)) == 14288


def total(engine: DuckDB) -> int:
    return int(engine.run(engine.rows.sums(where=None, keys=[], sums=[Column("w")])).sums[0, 0])


def test_a_forked_process_asks_too_and_ends_in_peace(tmp_path: Path) -> None:
    # In a process of its own: pytest's has threads, and Python warns of forks among threads.
    path = stored(tmp_path / "rows.duckdb", ROWS)
    code = (
        "import os, sys, warnings; warnings.simplefilter('ignore')\n"
        "from discreet.engines.nodes import Column\n"
        "from discreet.engines.duckdb import DuckDB\n"
        f"engine = DuckDB({str(path)!r})\n"
        "asked = engine.rows.sums(where=None, keys=[], sums=[Column('w')])\n"
        "def total(): return engine.run(asked).sums[0, 0]\n"
        "total()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    sys.exit(0 if total() == 14288 else 3)\n"
        "print(os.waitpid(child, 0)[1], total())\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True)
    assert ran.stdout.split() == ["0", "14288"]


INTERRUPTED = """
import dataclasses, os, sys, threading, time
from discreet.engines.nodes import Column
from discreet.engines.duckdb import DuckDB, memory_limit
engine = DuckDB(sys.argv[1])
def total(table):
    rows = dataclasses.replace(engine.rows, name="sealed." + table)
    if sys.argv[2] == "single rows":
        examples = engine.examples(rows.selection({"a": "c0"}, several=False))
        return examples.total(lambda batch: [batch.weights.sum(keepdims=True)])[0][0]
    return engine.run(rows.sums(where=None, keys=[Column("c0")], sums=[Column("w")])).sums[0, 0]
def others():
    return time.process_time() - time.thread_time()
def tell():
    begun = others()
    while others() < begun + 0.3:
        os.sched_yield()
    print("running", flush=True)
total("few")
threading.Thread(target=tell, daemon=True).start()
try:
    total("endless")
except KeyboardInterrupt:
    print("stopped", total("few"), flush=True)
"""


@pytest.mark.parametrize("of", ["sums", "single rows"])
def test_an_interrupt_stops_a_question_and_the_next_one_is_answered(of: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.duckdb"
    with duckdb.connect(str(path)) as connection:
        for name, size in (("few", 10), ("endless", 10**15)):
            connection.execute(
                f"CREATE VIEW {name} AS SELECT 4096::SMALLINT AS w, (range % 1)::TINYINT AS c0 FROM range({size})"
            )
    command = [sys.executable, "-c", INTERRUPTED, str(path), of]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "running\n"
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=600)[0] == "stopped 40960\n"
        finally:
            process.kill()
    assert process.returncode == 0


def test_the_file_is_not_changed_and_no_other_file_is_opened(engine: DuckDB, tmp_path: Path) -> None:
    before = (tmp_path / "rows.duckdb").read_bytes()
    cursor = engine._cursor()
    for statement in (
        "INSERT INTO sealed.rows SELECT * FROM sealed.rows",
        f"ATTACH '{tmp_path / 'other.duckdb'}' AS other",
        f"COPY sealed.rows TO '{tmp_path / 'rows.csv'}'",
        "SET enable_external_access = true",
    ):
        with pytest.raises(duckdb.Error):
            cursor.execute(statement)
    engine.close()
    assert (tmp_path / "rows.duckdb").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["rows.duckdb"]


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no sealed rows at"):
        DuckDB(tmp_path / "rows.duckdb")


@pytest.mark.parametrize(("rows", "alone"), [(3, True), (122_880, True), (122_881, False)])
def test_what_duckdb_would_not_divide_is_asked_of_one_thread(tmp_path: Path, rows: int, alone: bool) -> None:
    with duckdb.connect(str(tmp_path / "rows.duckdb")) as connection:
        connection.execute(f"CREATE TABLE rows AS SELECT i AS person, 4096 AS w FROM range({rows}) r(i)")
        own = connection.execute("SELECT current_setting('threads')").fetchone()

    def threads(said: int | None = None) -> object:
        engine = DuckDB(tmp_path / "rows.duckdb", threads=said)
        try:
            return engine._cursor().execute("SELECT current_setting('threads')").fetchone()
        finally:
            engine.close()

    assert threads() == ((1,) if alone else own)
    assert threads(3) == (3,)


def test_memory_and_threads_are_settings(tmp_path: Path) -> None:
    engine = DuckDB(stored(tmp_path / "rows.duckdb", ROWS), memory="300MB", threads=1)
    settings_ = engine._cursor().execute("SELECT current_setting('threads'), current_setting('memory_limit')")
    assert settings_.fetchall() == [(1, "286.1 MiB")]
    engine.close()


@pytest.mark.parametrize("elsewhere", [False, True])
def test_what_duckdb_says_of_a_row_is_not_repeated(engine: DuckDB, elsewhere: bool) -> None:
    """Every failure has the same message, in the main thread and in another."""
    name = "(SELECT 'Ada Lovelace' AS name)"
    failing = [
        Statement(name, (), ("SUM(CAST(name AS INTEGER))",)),
        Statement(name, (), ("SUM(length(repeat(name, 10000000000)))",)),
        Statement(name, ("error(name)",), ("SUM(1)",)),
    ]
    with ThreadPoolExecutor(1) as pool:
        failures = [
            pool.submit(failure, engine, statement).result() if elsewhere else failure(engine, statement)
            for statement in failing
        ]
    assert len({str(each) for each in failures}) == 1
    for each in failures:
        assert "Lovelace" not in "".join(traceback.format_exception(each))
        assert (each.__cause__, each.__context__) == (None, None)
    assert found(engine.run(engine.rows.sums(where=None, keys=[], sums=[tree("w")]))) == {(): [14288]}


def test_a_shape_that_does_not_fit_into_memory_is_not_told(engine: DuckDB) -> None:
    """The error of numpy would show the number of groups."""

    def fetch(found: duckdb.DuckDBPyConnection) -> None:
        np.empty(found.fetchall()[0][0], np.int64)

    with pytest.raises(DatabaseUnavailable, match="memory or disk space ran out") as caught:
        engine._asked(f"SELECT {2**56}", fetch)
    assert caught.value.__context__ is None


def failure(engine: DuckDB, statement: Statement) -> DatabaseUnavailable:
    """Return the error of a statement that fails."""
    with pytest.raises(DatabaseUnavailable) as caught:
        engine.run(statement)
    return caught.value


def test_rows_that_cannot_be_opened_are_told_in_words(tmp_path: Path) -> None:
    path = stored(tmp_path / "rows.duckdb", ROWS)
    for memory in ("lots", "", "3 apples"):
        with pytest.raises(ParameterError, match=rf'found: memory=\'{memory}\'.*memory="2GB"'):
            DuckDB(path, memory=memory).fingerprint()
    with pytest.raises(DatabaseUnavailable, match=r"cannot open .*memory is too small"):
        DuckDB(path, memory="1KB").fingerprint()
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(DatabaseUnavailable, match=r"cannot open .*damaged.*restore") as caught:
        DuckDB(path).fingerprint()
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


@pytest.mark.parametrize(
    ("size", "threads", "available", "limit"),
    [(0, 2, 2**36, 2**30), (0, 64, 2**36, 2**34), (2**32, 2, 2**36, 2**33), (2**32, 2, 2**31, None)],
)
def test_memory_has_a_limit_by_default_unless_the_machine_has_less(
    size: int, threads: int, available: int, limit: int | None
) -> None:
    assert memory_limit(size, threads, available) == limit


def test_an_engine_has_the_default_limit(tmp_path: Path) -> None:
    asked = Statement("(SELECT current_setting('memory_limit') AS m) AS s", ("m",), ())
    for memory, shown in ((None, "1.0 GiB"), ("300MB", "286.1 MiB")):
        opened = DuckDB(stored(tmp_path / f"{memory}.duckdb", ROWS), memory=memory, threads=2)
        with contextlib.closing(opened) as engine:
            assert engine.run(asked).keys == [(shown,)]


CODES = st.none() | st.sampled_from([0, 1, 126, 127])
WIDE = st.none() | st.sampled_from([0, 1, 2**53 + 1, 2**62 - 1])
ROW = st.tuples(
    st.integers(0, 3),
    st.integers(0, 4096),
    CODES,
    WIDE,
    st.none() | st.sampled_from(["", "a", "ü"]),
    st.booleans(),
)


@settings(deadline=None, max_examples=25)
@given(st.lists(ROW, max_size=12))
def test_every_sum_is_what_python_integers_add_up_to(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row]
) -> None:
    engine = DuckDB(stored(tmp_path_factory.mktemp("law") / "rows.duckdb", rows), limits=LIMITS)
    groups = engine.run(
        engine.rows.sums(
            where=tree("c0 > 0 OR c2 IS NULL"),
            keys=[tree("c2")],
            sums=[tree("w * (c0 - 64) * (c0 - 64)"), tree("w * c1")],
        )
    )
    expected: dict[Any, list[int]] = {}
    for _, w, c0, c1, c2, _ in rows:
        if (c0 is not None and c0 > 0) or c2 is None:
            group = expected.setdefault((c2,), [0, 0])
            group[0] += 0 if c0 is None else w * (c0 - 64) ** 2
            group[1] += 0 if c1 is None else w * c1
    assert found(groups) == expected
    persons: dict[Any, dict[int, int]] = {}
    for person, w, c0, _, _, _ in rows:
        persons.setdefault((c0,), {}).setdefault(person, 0)
        persons[c0,][person] += w
    capped = {key: [sum(min(4096, weight) for weight in each.values())] for key, each in persons.items()}
    assert found(engine.run(engine.rows.persons(where=None, keys=[tree("c0")], cap=4096))) == capped
    engine.close()


CLAMPED = "CASE WHEN c0 < 0 THEN 0 WHEN c0 > 100 THEN 100 ELSE c0 END"


@pytest.mark.parametrize(("code", "added"), [(100, 100), (None, 0), (101, 100), (-7, 0), (127, 100)])
def test_codes_within_their_limit_are_added_up_without_clamping_and_others_are_clamped(
    tmp_path: Path, code: int | None, added: int
) -> None:
    """A damaged file must not move a sum by more than its bounds allow."""
    path = stored(tmp_path / "rows.duckdb", [(0, 4096, 3, 0, "a", True), (1, 4096, code, 0, "a", True)])
    with contextlib.closing(DuckDB(path, limits={"w": 4096, "c0": 100})) as engine:
        statement = engine.rows.sums(where=None, keys=[], sums=[tree(f"w * ({CLAMPED})")])
        assert "CASE" in statement.select()
        assert statement.lean is not None
        assert "CASE" not in statement.lean.select()
        for _ in range(2):  # the second time, what was seen of the column is known
            assert engine.run(statement).sums.tolist() == [[4096 * (3 + added)]]


def test_a_clamp_that_a_code_within_its_limit_may_meet_stays(engine: DuckDB) -> None:
    statement = engine.rows.sums(where=None, keys=[], sums=[tree("CASE WHEN c0 > 4 THEN 4 ELSE c0 END")])
    assert statement.lean is None
    assert engine.run(statement).sums.tolist() == [[3 + 3 + 4 + 3]]


WEIGHTS, LETTERS = st.sampled_from([0, 1000, 4096]), st.sampled_from(["a", "b", None])
WEIGHED = st.tuples(st.integers(0, 3), WEIGHTS, CODES, WIDE, LETTERS)
SUMS = ["w", "w * (c0 - 64)", "w * (c0 * 3 + 7)", "w * (7 - 2 * c0)", "w * c1", "w * (c0 * c0)", "w * 5"]
SUMS += ["CASE WHEN c0 IS NULL THEN 0 ELSE w END"]


@settings(deadline=None, max_examples=10)
@given(st.lists(WEIGHED, max_size=12), st.booleans())
def test_rows_of_full_weight_and_all_others_add_up_to_what_one_scan_gives(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], apart: bool
) -> None:
    every = [(*row, True) for row in rows]
    path = stored(tmp_path_factory.mktemp("weights") / "rows.duckdb", every, apart=apart)
    with contextlib.closing(DuckDB(path, limits=LIMITS)) as engine:
        statement = engine.rows.sums(where=tree("c1 IS NULL OR c1 > 0"), keys=[], sums=list(map(tree, SUMS)))
        assert statement.lean is not None
        assert len(statement.lean.totals) < len(SUMS), "sums over one column share theirs"
        own = [(w, c0, c1) for _, w, c0, c1, _ in rows if c1 is None or c1 > 0]
        with_code = [(w, c0) for w, c0, _ in own if c0 is not None]
        assert engine.run(statement).sums.tolist() == [
            [
                sum(w for w, *_ in own),
                sum(w * (c0 - 64) for w, c0 in with_code),
                sum(w * (c0 * 3 + 7) for w, c0 in with_code),
                sum(w * (7 - 2 * c0) for w, c0 in with_code),
                sum(w * c1 for w, _, c1 in own if c1 is not None),
                sum(w * c0 * c0 for w, c0 in with_code),
                sum(w * 5 for w, *_ in own),
                sum(w for w, _ in with_code),
            ]
        ]


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("weight", [None, 4097, 9000])
def test_rows_without_a_weight_or_with_more_than_the_full_one_do_not_move_sums_over_codes(
    tmp_path: Path, weight: int | None, apart: bool
) -> None:
    """No sealed file has such rows. A damaged one must not move a sum further than its sensitivity."""
    rows: list[Any] = [(0, 4096, 3, 0, "a", True), (1, weight, 5, 0, "a", True)]
    path = stored(tmp_path / "rows.duckdb", rows, apart=apart)
    with contextlib.closing(DuckDB(path, limits=LIMITS)) as engine:
        statement = engine.rows.sums(where=None, keys=[], sums=[tree("w * c0")])
        assert engine.run(statement).sums.tolist() == [[4096 * 3]]


@settings(deadline=None, max_examples=10)
@given(st.lists(WEIGHED, max_size=12), st.booleans())
def test_persons_whose_texts_are_all_different_count_as_if_gathered_by_person(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], marked: bool
) -> None:
    texts: dict[int, list[Any]] = {}
    for person, *_, text in rows:
        texts.setdefault(person, []).append(text)
    path = stored(tmp_path_factory.mktemp("marks") / "rows.duckdb", [(*row, True) for row in rows])
    if marked:  # files that were sealed earlier have no marks
        with duckdb.connect(str(path)) as connection:
            connection.execute("ALTER TABLE rows ADD COLUMN once2 BOOLEAN DEFAULT false")
            for person, own in texts.items():
                connection.execute("UPDATE rows SET once2 = ? WHERE person = ?", [len({*own}) == len(own), person])
    expected: dict[Any, dict[int, int]] = {}
    for person, w, c0, _, text in rows:
        if c0 is not None:
            group = expected.setdefault((text,), {})
            group[person] = min(4096, group.get(person, 0) + w)
    with contextlib.closing(DuckDB(path, limits=LIMITS)) as engine:
        counted = engine.run(engine.rows.persons(where=tree("NOT c0 IS NULL"), keys=[tree("c2")], cap=4096))
    assert found(counted) == {key: [sum(each.values())] for key, each in expected.items()}
