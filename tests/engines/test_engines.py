"""Every supported question, on every engine, over the same hostile rows: the same integers, to the last digit.

To add an engine: one more entry of ENGINES.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Engine, Groups
from discreet.engines.nodes import Add, Column, Int, Mul, Sub
from discreet.engines.postgres import Postgres
from discreet.engines.spark import Spark
from discreet.engines.statement import Rows
from discreet.errors import QuestionRefused
from discreet.ledger import Budget
from discreet.postgres import Address, connected, identifier
from discreet.postgres import run as run_script
from discreet.query.answer.execute import prepare
from discreet.query.parse.select import parse
from discreet.query.plan.plan import Plan, plan
from discreet.schema import Boolean, Category, Date, Datetime, Integer, Real, Text
from discreet.schema.metadata import UNIT, TableMetadata
from tests.engines.python_rows import PythonRows, Totals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PEOPLE = TableMetadata(
    "people",
    {
        "age": Integer(0, 110),
        "far": Integer(-(2**61), 2**61 - 1),
        "income": Real(0, 500_000, step=100),
        "city": Category(["Bergen", "Oslo", "Ås", "it's"]),
        "town": Category(["Oslo", "Odda", "Bergen"]),
        "insured": Boolean(),
        "day": Date("2023-01-01", "2024-12-31"),
        "at": Datetime("2024-01-01", "2024-02-01", step="1h"),
        "note": Text(),
        "wide": Integer(0, 2**40),
    },
    person="who",
    rows_per_person=3,
)
TYPES = {
    "person": "BIGINT",
    "w": "SMALLINT",
    **{f"c{i}": kind for i, kind in enumerate(["SMALLINT"] * 10)},
    "c1": "BIGINT",
    "c2": "INTEGER",
    "c8": "TEXT",
    "c9": "BIGINT",
    "spot": "BOOLEAN",
}
TEXTS = [
    *(
        "",
        " ",
        "a",
        "A",
        "a ",
        "ab",
        "a%",
        "a_b",
        "a\\b",
        "\\",
        "\\%",
        "%",
        "_",
        "it's",
        '"quoted"',
        "''",
        "ä",
        "Ä",
    ),
    *("ß", "ẞ", "SS", "ss", "İ", "I", "i", "ı", "Σ", "σ", "ς", "ΑΣ", "ας", "K", "k", "Å", "å", "ǅ", "ﬁ", "FI"),
    *(
        "e\u0301",
        "é",
        "É",
        "👩‍👩‍👧",
        "👍🏽",
        "👍",
        "\u0301",
        "a\nb",
        "a\tb",
        "\x01",
        "\u200b",
        "\ufeffa",
        "𝒜",
        "null",
    ),
]
"""Strings that engines read differently. NUL is not among them: PostgreSQL has no such character."""

Row = dict[str, Any]
Load = Callable[[Sequence[Row]], Engine]


# The engines


@contextmanager
def in_duckdb(request: pytest.FixtureRequest) -> Iterator[Load]:
    with tempfile.TemporaryDirectory() as folder:
        opened: list[DuckDB] = []

        def load(rows: Sequence[Row]) -> Engine:
            path = Path(folder) / f"{len(opened)}.duckdb"
            with duckdb.connect(str(path)) as connection:
                connection.execute(f"CREATE TABLE rows ({', '.join(f'{n} {t}' for n, t in TYPES.items())})")
                connection.register("given", arrow(rows))
                connection.execute(f"INSERT INTO rows SELECT {', '.join(TYPES)} FROM given")
            opened.append(DuckDB(path, limits=PEOPLE.limits, threads=1))
            return opened[-1]

        yield load
        for engine in opened:
            engine.close()


@contextmanager
def in_postgres(request: pytest.FixtureRequest) -> Iterator[Load]:
    address = Address.of(request.getfixturevalue("postgres").address("the 'engines'"))
    schema = identifier(str(address.schema))
    with connected(address) as connection:
        run_script(connection, f"DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}")
    count = 0

    def load(rows: Sequence[Row]) -> Engine:
        nonlocal count
        count += 1
        kinds = {name: f'{kind} COLLATE "C"' if kind == "TEXT" else kind for name, kind in TYPES.items()}
        with connected(address) as connection:
            table = identifier(str(address.schema), f"rows_{count}")
            run_script(connection, f"CREATE TABLE {table} ({', '.join(f'{n} {t}' for n, t in kinds.items())})")
            if rows:
                values = ", ".join(f"${i + 1}" for i in range(len(TYPES)))
                with connection.cursor() as cursor:
                    cursor.executemany(f"INSERT INTO {table} VALUES ({values})", arrow(rows))
        return Postgres(address, f"rows_{count}", limits=PEOPLE.limits)

    yield load


@contextmanager
def in_spark(request: pytest.FixtureRequest) -> Iterator[Load]:
    session: SparkSession = request.getfixturevalue("spark")
    count = 0

    def load(rows: Sequence[Row]) -> Engine:
        nonlocal count
        count += 1
        kinds = ", ".join(f"{name} {'STRING' if kind == 'TEXT' else kind}" for name, kind in TYPES.items())
        session.createDataFrame(arrow(rows), kinds).coalesce(1).write.saveAsTable(f"engines_{count}")
        return Spark(f"spark_catalog.default.engines_{count}", session, limits=PEOPLE.limits)

    yield load
    for i in range(count):
        session.sql(f"DROP TABLE engines_{i + 1}")


ENGINES: dict[str, Callable[[pytest.FixtureRequest], AbstractContextManager[Load]]] = {
    "duckdb": in_duckdb,
    "postgres": in_postgres,
    "spark": in_spark,
}
GROUPED = {
    "postgres": [pytest.mark.xdist_group("postgres")],
    "spark": [pytest.mark.xdist_group("spark"), pytest.mark.slow],  # all at once, in seconds: test_spark.py
}
"""Engines whose tests share a server, and so a process."""


@pytest.fixture(scope="module", params=[pytest.param(name, marks=GROUPED.get(name, [])) for name in ENGINES])
def load(request: pytest.FixtureRequest) -> Iterator[Load]:
    with ENGINES[request.param](request) as loader:
        yield loader


def arrow(rows: Sequence[Row]) -> pa.Table:
    numbers = {"SMALLINT": pa.int16(), "INTEGER": pa.int32(), "BIGINT": pa.int64()}
    kinds = {**numbers, "TEXT": pa.string(), "BOOLEAN": pa.bool_()}
    return pa.table({name: pa.array([row[name] for row in rows], kinds[kind]) for name, kind in TYPES.items()})


def hostile_rows() -> list[Row]:
    """Codes at both ends of every column, and missing; weights from 0 to one; persons in many groups."""
    pick = np.random.default_rng(4)
    names = [f"c{i}" for i in range(10)]
    rows = []
    for i in range(240):
        row: Row = {"person": int(pick.integers(-2, 40)) * 10**15, "w": int(pick.choice([0, 1, 7, 4095, UNIT]))}
        for name, column in zip(names, PEOPLE.columns.values(), strict=True):
            if column.levels is None:
                row[name] = TEXTS[i % len(TEXTS)] if i % 11 else None
            else:
                ends = [0, 1, column.levels // 2, column.levels - 2, column.levels - 1]
                anything = int(pick.integers(column.levels))
                row[name] = [None, *ends, anything, anything][int(pick.integers(8))]
        rows.append({**row, "spot": bool(pick.integers(2))})
    return rows


HOSTILE = hostile_rows()


@pytest.fixture(scope="module")
def engine(load: Load) -> Engine:
    return load(HOSTILE)


@pytest.fixture(scope="module")
def empty(load: Load) -> Engine:
    return load([])


@cache
def planned(text: str, budget: Budget) -> Plan:
    return plan(parse(text, PEOPLE), PEOPLE, epsilon="1", budget=budget)


def asked(text: str, rows: Any, budget: Budget) -> list[Any]:
    """Return all statements that a question needs."""
    prepared = prepare(planned(text, budget), rows)
    found = [prepared.selection, prepared.sums, prepared.persons, *prepared.rankings]
    return [statement for statement in found if statement is not None]


def totals(groups: Groups) -> Totals:
    assert len(set(groups.keys)) == len(groups.keys)
    return {key: [int(total) for total in row] for key, row in zip(groups.keys, groups.sums, strict=True)}


def answers(engine: Engine, text: str, budget: Budget) -> list[Totals]:
    return [totals(engine.run(statement)) for statement in asked(text, engine.rows, budget)]


def expected(rows: Sequence[Row], text: str, budget: Budget) -> list[Totals]:
    return cast("list[Totals]", asked(text, cast(Rows, PythonRows(rows)), budget))


# Every construct of the language

CONDITIONS = [
    *("age = 3", "age <> 0", "age < 55", "age <= 54.5", "age > 1", "age >= 110", "far > 0"),
    *("age between 1 and 55", "age not between 1 and 55", "age in (0, 1, 110)", "age not in (0, 110)"),
    *("far between -2305843009213693952 and -2305843009213693951", "far = 2305843009213693951", "far < 7"),
    *(
        "income < 1000.25",
        "income * 2 > age * 1000",
        "income - age > wide",
        "wide > income",
        "wide * age > income",
    ),
    *(
        "city = 'Oslo'",
        "city <> 'it''s'",
        "city in ('Oslo', 'it''s')",
        "city > 'C'",
        "city = town",
        "city <> town",
    ),
    *("city like '%s%'", "city ilike 'o%'", "city like 'it_s'", "town not like 'O%'"),
    *("insured", "not insured", "insured = false", "insured is null", "insured is not null"),
    *("day >= '2024-02-29'", "day = '2023-01-01'", "day between '2023-12-31' and '2024-01-01'", "day < at"),
    *("at < '2024-01-01 02:30'", "date_trunc('month', day) = '2024-02-01'", "year(day) = 2024", "hour(at) < 7"),
    *("age is null or far is null", "not (age > 5 and city = 'Oslo')", "age > 5 or not insured or note is null"),
    *("not (age > 5 or (insured and city is not null))", "1 = 1", "1 = 2", "coalesce(age, 7) = 7"),
    *("case when insured then age else income end > 50", "if(insured, 1, 0) = 1", "abs(age - 55) < 3"),
    *("age % 7 = 3", "least(age, income) > 10", "floor(age / 10) = 5", "round(income / 1000) > 3"),
    *("note = 'a'", "note <> 'a'", "note = 'a '", "note = ''", "note = 'it''s'", "note = '\\'", "note = 'é'"),
    *(
        "age is distinct from 54",
        "age is not distinct from null",
        "city is distinct from town",
        "note is distinct from 'a'",
    ),
    *("nullif(age, 54) > 3", "nullif(note, '') is null", "nullif(wide, income) is null", "sign(age - 55) = 0"),
    *("trunc(income / 700) = 3", "trunc((age - 55) / 7) < -2", "date_diff('day', day, at) between -30 and 30"),
    *("date_diff('month', day, at) = 1", "datediff(week, day, at) > 2", "date_diff('hour', at, day) > 24"),
    *("lower(city) = 'oslo'", "upper(city) = upper(town)", "length(city) > 3", "substr(city, 2, 1) = 's'"),
    *("note in ('a', 'A', '👍', 'ß')", "note not in ('a', '')", "note is null", "note is not null"),
]
PATTERNS = [
    *("%", "_", "__", "a%", "%a", "%a%", "a_b", "a__b", "_%_", "%%", "", "a", "\\", "\\%", "%\\%", "a\\b", "\\\\"),
    *("it's", "%'%", '%"%', "é", "e_", "_\u0301", "👍_", "👍%", "👩%", "______", "_\nb", "a\t_", "%\u200b%", "ß"),
    *(
        "%ss%",
        "S_",
        "i",
        "I",
        "İ",
        "ı",
        "σ",
        "Σ",
        "ας",
        "αΣ",
        "ΑΣ",
        "k",
        "K",
        "å",
        "Å",
        "fi",
        "ﬁ",
        "ǆ",
        "ä%",
        "Ä_",
    ),
    *("É", "É%", "NULL", "𝒜", "\x01", "[a]", "(a|b)", "a.b", "^a", "a$", "*", "a+", "?", "!a", "~a"),
]
AGGREGATES = [
    *(
        "count(*)",
        "count(age)",
        "count(note)",
        "count(distinct who)",
        "count_if(age > 3)",
        "sum(age)",
        "count(far)",
    ),
    *(
        "sum(insured)",
        "sum(age + income)",
        "sum(age * age - income)",
        "sum(wide)",
        "sum(wide * age)",
        "sum(-wide)",
    ),
    *("avg(income)", "avg(wide)", "stddev(age)", "variance(income)", "stddev(wide)", "var_pop(age * 3 - 7)"),
    *("sum(case when insured then age when city = 'Oslo' then -income end)", "sum(abs(age - 55))"),
    *("avg(case when note like 'a%' then 1 else 0 end)", "sum(age) filter (where insured)"),
    *(
        "sum(nullif(age, 0))",
        "sum(sign(age - 55))",
        "avg(trunc(wide / 1000000))",
        "avg(date_diff('week', day, at))",
    ),
    *(
        "corr(age, income)",
        "covar_pop(wide, age)",
        "covar_samp(insured, age)",
        "corr(age, income) filter (where insured)",
    ),
    *("avg(date_diff('microsecond', day, at))", "sum(date_diff('quarter', day, at))", "avg(length(city))"),
    *("quantile(age, [0.25, 0.5, 0.75])", "min(age), median(age), max(age)"),
    *("median(age)", "quantile(income, 0.9)", "quantile(far, 0.25)", "min(day)", "max(at)", "median(wide * 3)"),
    *("count(*), sum(age), avg(age), stddev(age), median(age), count(distinct who), count(income)",),
]
KEYS = [
    *("age", "city", "insured", "city, insured", "city, town, insured", "floor(age / 10)", "floor(age / 10) * 10"),
    *(
        "date_trunc('month', day)",
        "date_trunc('week', at)",
        "year(day), quarter(day)",
        "hour(at)",
        "dayofweek(day)",
    ),
    *("case when age < 18 then 0 when age < 65 then 18 else 65 end", "age >= 65", "coalesce(city, 'nowhere')"),
    *(
        "width_bucket(age, 20, 60, 2)",
        "floor(income / 100000)",
        "floor(wide / 100000000000)",
        "insured and age > 3",
    ),
    *("lower(city)", "left(town, 1)", "upper(substr(city, 1, 2))", "nullif(city, 'Oslo')", "sign(age - 50)"),
    *("trunc(income / 100000)", "date_diff('year', day, at)", "age is not distinct from 3"),
    *("floor((far + 2305843009213693952) / 1000000000000000000)", "age % 7", "least(age, 5)"),
]
QUESTIONS = [
    *(f"select count(*), sum(age) from people where {condition}" for condition in CONDITIONS),
    *(f"select {aggregate} from people" for aggregate in AGGREGATES),
    *(f"select {aggregate} from people where age > 50 group by city" for aggregate in AGGREGATES),
    *(f"select {key}, count(*), avg(income), count(distinct who) from people group by all" for key in KEYS),
    "select city, histogram(age, 7) from people group by city",
    "with a as (select *, age * 2 as d from people where age > 3), b as (select d - income as e, city from a) "
    "select city, sum(e), count(*) from b where e < 0 group by city",
    "select x, median(y) from (select upper(city) as x, nullif(age, 0) as y from people where insured) group by x",
]
OF_TEXTS = [
    "select note, count(*), sum(age), count(distinct who) from people group by note",
    "select note, city, avg(income) from people where note <> 'a' group by note, city",
    "select nullif(note, 'a'), count(*), avg(age) from people group by 1",
    "select note, insured, median(age) from people group by note, insured",
]
PURE, WITH_DELTA = Budget(100), Budget(100, "1e-6")


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_has_the_same_integers_everywhere(engine: Engine, empty: Engine, question: str) -> None:
    for budget in (PURE, WITH_DELTA):
        assert answers(engine, question, budget) == expected(HOSTILE, question, budget)
    assert answers(empty, question, PURE) == expected([], question, PURE)


@pytest.mark.parametrize("question", OF_TEXTS)
def test_texts_come_back_as_they_were_to_the_last_sign(engine: Engine, empty: Engine, question: str) -> None:
    assert answers(engine, question, WITH_DELTA) == expected(HOSTILE, question, WITH_DELTA)
    assert answers(empty, question, WITH_DELTA) == expected([], question, WITH_DELTA)


@pytest.mark.parametrize("word", ["like", "not like", "ilike", "not ilike"])
def test_patterns_match_the_same_texts_everywhere(engine: Engine, word: str) -> None:
    for pattern in PATTERNS:
        question = f"select count(*) from people where note {word} '{pattern.replace(chr(39), chr(39) * 2)}'"
        assert answers(engine, question, PURE) == expected(HOSTILE, question, PURE), pattern


def test_sums_beyond_64_bits_are_exact(engine: Engine) -> None:
    far, weight = Column("c1"), Column("w")
    product = Mul(Sub(far, Int(7)), weight)
    asked_for: dict[str, Any] = {"where": None, "keys": [Column("c5")], "sums": [product, weight]}
    groups = engine.run(engine.rows.sums(**asked_for))
    assert totals(groups) == PythonRows(HOSTILE).sums(**asked_for)
    assert groups.sums.dtype == object
    assert all(type(total) is int for total in groups.sums.ravel())


def test_keys_are_integers_and_lose_no_digit(engine: Engine) -> None:
    keys = [Add(Column("c1"), Column("c9")), Column("c8")]
    asked_for: dict[str, Any] = {"where": None, "keys": keys, "sums": [Column("w")]}
    groups = engine.run(engine.rows.sums(**asked_for))
    assert totals(groups) == PythonRows(HOSTILE).sums(**asked_for)
    assert {type(part) for part, _ in groups.keys} == {int, type(None)}
    assert any(isinstance(part, int) and part > 2**60 and part % 2 for part, _ in groups.keys)


@pytest.mark.parametrize("most", [1, 2, 5])
def test_a_person_is_counted_once_by_how_many_rows_they_have(engine: Engine, empty: Engine, most: int) -> None:
    assert totals(engine.run(engine.rows.sizes(most))) == PythonRows(HOSTILE).sizes(most)
    assert totals(empty.run(empty.rows.sizes(most))) == {}


# Any rows, any question

CODES = {
    f"c{i}": st.none()
    | (
        st.sampled_from(TEXTS)
        if column.levels is None
        else st.sampled_from([0, 1, column.levels - 1]) | st.integers(0, column.levels - 1)
    )
    for i, column in enumerate(PEOPLE.columns.values())
}
ANY_ROW = st.fixed_dictionaries(
    {"person": st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3), "w": st.integers(0, UNIT), **CODES}
    | {"spot": st.booleans()}
)
ANY_CONDITION = st.recursive(
    st.sampled_from(CONDITIONS),
    lambda inner: (
        st.builds("({} and {})".format, inner, inner)
        | st.builds("({} or {})".format, inner, inner)
        | st.builds("not ({})".format, inner)
    ),
    max_leaves=6,
)
ANY_QUESTION = st.builds(
    "select {}, {}, {} from people where {} group by all".format,
    st.sampled_from([key for key in KEYS if "," not in key or "(" in key]),
    st.sampled_from(AGGREGATES),
    st.sampled_from(AGGREGATES).map("{} as another".format),
    ANY_CONDITION,
)


@settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(ANY_ROW, max_size=12), questions=st.lists(ANY_QUESTION, min_size=1, max_size=4))
def test_any_rows_and_any_question_agree_with_python(load: Load, rows: list[Row], questions: list[str]) -> None:
    engine = load(rows)
    for question in questions:
        try:
            wanted = expected(rows, question, PURE)
        except QuestionRefused:  # too many groups: refused everywhere, before it is asked
            continue
        assert answers(engine, question, PURE) == wanted
