"""Columns: what they refuse, where values lie, and a code for every value of every type."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines import nodes, sql_writer
from discreet.errors import ParameterError
from discreet.schema import (
    Boolean,
    Category,
    Column,
    Date,
    Datetime,
    Integer,
    Real,
    Text,
    from_json,
)
from discreet.sealing.sources import family

COLUMNS: list[Column] = [
    Integer(-5, 110),
    Integer(0, 2**61, outside="missing", missing=7),
    Real("-0.5", "1.5", step="0.1"),
    Real(0, 500_000, step=100, outside="missing", missing=250),
    Category(["red", "blue", "it's"], other="another", missing="red"),
    Category([1, 2, 40]),
    Boolean(),
    Boolean(missing=False),
    Date("2020-01-01", "2020-12-31"),
    Datetime("2020-01-01", "2020-01-02", step="15min", outside="missing", missing="2020-01-01 12:07"),
    Text(),
]


def cell(kind: str, literal: str) -> str:
    return f"CAST({literal} AS {kind})"


@cache
def engine() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def codes(column: Column, kind: str, *values: str) -> list[Any]:
    """The codes of SQL literals, stored as a type and read from a table as sealing does."""
    connection = engine()
    rows = ", ".join(f"({i}, CAST({value} AS {kind}))" for i, value in enumerate(values))
    connection.execute(f"CREATE OR REPLACE TEMP TABLE t AS FROM (VALUES {rows}) AS t(i, v)")
    text = sql_writer.sql(column.encode(nodes.Column("v"), family(described(connection))), limits=None)
    return [code for (code,) in connection.execute(f"SELECT {text} FROM t ORDER BY i").fetchall()]


def described(connection: duckdb.DuckDBPyConnection) -> str:
    return str(connection.execute("DESCRIBE SELECT v FROM t").fetchall()[0][1])


# What is refused, and how


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: Integer(5, 1), "lower bound 5 is above the upper bound 1"),
        (lambda: Integer(0, "1.5"), "not a whole number"),  # type: ignore[arg-type]
        (lambda: Integer(0, 2**62), r"beyond 2\^62"),
        (lambda: Integer(-(2**61), 2**61 + 1), r"at most 2\^62 values"),
        (lambda: Integer(0, float("nan")), "finite"),  # type: ignore[arg-type]
        (lambda: Integer(0, True), "must be a number"),
        (lambda: Integer(0, 9, missing=10), r"not a value of the column \(found: 10\)"),
        (lambda: Integer(0, 9, outside="drop"), r"clamp or missing \(found: 'drop'\)"),
        (lambda: Real(0, 1, 0), "step must be above 0"),
        (lambda: Real(0, 1, -1), "step must be above 0"),
        (lambda: Real(2, 1, 1), "lower bound 2 is above the upper bound 1"),
        (lambda: Real(0, float("inf"), 1), "finite"),
        (lambda: Real(0, 1, 2), "wider than the whole range"),
        (lambda: Real(0, 1, "1e-13"), r"levels\. The largest number of levels is 2\^40.*Try: step=1e-06"),
        (lambda: Real(10**15, 10**15 + 1, "0.25"), "finer than floating-point numbers"),
        (lambda: Real(0, 10**400, 1), "between 1e-300 and 1e300"),
        (lambda: Real(0, 10**300, Fraction(1, 10**300)), r"1\.0e\+600 levels"),
        (lambda: Real(0, 1, "0.1", missing=2), r"not a value of the column \(found: 2\)"),
        (lambda: Category([]), "at least one value"),
        (lambda: Category("red"), r"list of values \(found: 'red'\).*values=\['red'\]"),
        (lambda: Category(["a", "b", "a"]), r"listed twice \(found: 'a'\)"),
        (lambda: Category(["a", 1]), "strings or integers, not both"),
        (lambda: Category([True, False]), "declare a boolean column"),
        (lambda: Category([1.5]), "strings or integers"),  # type: ignore[list-item]
        (lambda: Category([2**60]), "Write it as a string"),
        (lambda: Category(["\ud800"]), "UTF-8"),
        (lambda: Category(["a\0"]), "UTF-8"),
        (lambda: Category(["a"], missing="b"), "not in the list"),
        (lambda: Boolean(missing="no"), "true or false"),  # type: ignore[arg-type]
        (lambda: Date("2020-01-02", "2020-01-01"), "is after"),
        (lambda: Date("2020-13-01", "2020-01-01"), "not a date or a time"),
        (lambda: Date("2020-01-01 10:00", "2020-01-02"), "declare a datetime column"),
        (lambda: Date(3, 4), "must be a date"),  # type: ignore[arg-type]
        (lambda: Datetime("2020-01-01", "2021-01-01", "hour"), "written like 15min, 1h or 1d"),
        (lambda: Datetime("2020-01-01", "2021-01-01", timedelta(0)), "above 0"),
        (lambda: Datetime("1970-01-01", "2070-01-01", "1us"), r"largest number of levels is 2\^40"),
    ],
)
def test_a_column_that_means_nothing_is_refused_in_words(wrong: Any, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        wrong()


def test_outside_and_missing_are_named() -> None:
    with pytest.raises(TypeError, match=r"'missing' is one value too many \(name it: outside=…, missing=…, dec"):
        Integer(0, 1, "missing")  # type: ignore[call-arg]


def test_what_a_declaration_lacks_is_said_with_an_example() -> None:
    with pytest.raises(
        TypeError, match=r"^Real: step is missing\. Declare it like dp\.Real\(0, 500_000, step=100\)\.$"
    ):
        Real(0, 1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^Integer: 'step' is not a parameter"):
        Integer(0, 1, step=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^Date: lo is given twice"):
        Date("2020-01-01", lo="2020-01-01")  # type: ignore[misc,call-arg]


# Where values lie


def test_numbers_are_exact_fractions_however_they_were_written() -> None:
    assert Real(0, 1, 0.1) == Real("0", Decimal(1), Fraction(1, 10)) == Real(0, 1, "0.1")
    assert Real(0, 1, 0.1).levels == 11
    assert Real(np.float64(0.1), np.int64(1), 0.1).lo == Fraction(1, 10)
    assert Integer(2.0, 4) == Integer(2, 4)  # type: ignore[arg-type]


def test_a_literal_lies_where_its_value_is_in_bounds_or_out() -> None:
    assert Integer(10, 20).code(25) == 15
    assert Integer(10, 20).code("12.5") == Fraction(5, 2)
    assert Real(0, 1, "0.1").code(0.3) == 3
    assert Real(0, 1, "0.1").code(-0.25) == Fraction(-5, 2)
    assert Category(["a", "b"]).code("b") == 1
    assert Category([1, 7]).code(7) == 1
    assert Date("2020-01-01", "2020-12-31").code(date(2020, 3, 1)) == 60
    assert Date("2020-01-01", "2020-12-31").code(datetime(2019, 12, 31, 12)) == Fraction(-1, 2)
    assert Datetime("2020-01-01", "2020-01-02", "1h").code("2020-01-01T05:00:00+02:00") == 3


@pytest.mark.parametrize("literal", ["red?", None, True, float("nan"), float("inf"), object(), [], "9" * 5000])
def test_what_is_no_value_of_a_column_has_no_code(literal: Any) -> None:
    for column in COLUMNS:
        if column.kind != "boolean":
            assert column.code(literal) is None
    assert Boolean().code("true") is None


@pytest.mark.parametrize("column", [c for c in COLUMNS if c.kind != "text"], ids=repr)
def test_every_code_stands_for_the_value_that_has_it(column: Any) -> None:
    some = sorted({*range(min(column.levels, 200)), column.levels - 1})
    for code, value in zip(some, column.values(np.array(some)), strict=True):
        assert column.code(value) == code or abs(column.code(value) - code) < Fraction(1, 10**6)


def test_scale_and_offset_give_the_value_of_a_code() -> None:
    column = Real("-0.5", "1.5", step="0.1")
    assert column.offset + column.scale * 3 == Fraction(-1, 5)
    assert Date("1970-01-11", "1971-01-01").offset == 10
    assert Datetime("1970-01-01 00:00:01", "1971-01-01", "1min").offset == 10**6
    assert Datetime("1970-01-01 00:00:01", "1971-01-01", "1min").scale == 60 * 10**6


@pytest.mark.parametrize("column", COLUMNS, ids=repr)
def test_a_column_comes_back_from_json_and_from_a_pickle(column: Column) -> None:
    assert from_json(json.loads(json.dumps(column.as_json()))) == column
    assert pickle.loads(pickle.dumps(column)) == column
    assert hash(from_json(column.as_json())) == hash(column)


def test_json_that_is_no_column_is_refused_in_words() -> None:
    with pytest.raises(ParameterError, match="one of integer, real, category"):
        from_json({"type": "number"})
    with pytest.raises(
        ParameterError, match=r"declared with lo, hi, outside, missing, decimal, thousands \(found: 'step' is not"
    ):
        from_json({"type": "integer", "lo": 0, "hi": 1, "step": 1})
    with pytest.raises(ParameterError, match=r"missing, decimal, thousands \(found: lo is missing\)\.$"):
        from_json({"type": "integer", "hi": 1})


# Codes of values, literally


def test_integers_are_clamped_and_rounded_to_the_nearest() -> None:
    column = Integer(-5, 110)
    assert codes(column, "BIGINT", "-6", "-5", "0", "110", "111", "NULL") == [0, 0, 5, 115, 115, None]
    assert codes(column, "TINYINT", "-128", "127") == [0, 115]
    assert codes(column, "UTINYINT", "0", "255") == [5, 115]
    assert codes(column, "HUGEINT", "170141183460469231731687303715884105727", "-9223372036854775809") == [115, 0]
    assert codes(column, "UHUGEINT", "340282366920938463463374607431768211455", "3") == [115, 8]
    assert codes(
        column, "DOUBLE", "2.5", "-2.5", "-0.0", "'nan'", "'inf'", "'-inf'", "1e300", "0.49999999999999994"
    ) == [*(8, 3, 5, None, 115, 0, 115, 5)]
    assert codes(column, "DECIMAL(38,10)", "2.5", "-2.5", "9999999999999999999999999999") == [8, 3, 115]
    assert codes(
        column, "VARCHAR", "' 12 '", "'12.5'", "'1e2'", "'twelve'", "''", "'NaN'", "'-inf'", "'1e999'"
    ) == [*(17, 18, 105, None, None, None, 0, 115)]
    assert codes(column, "BOOLEAN", "true", "false") == [6, 5]
    assert codes(column, "DATE", "'2020-01-01'") == [None]


def test_outside_may_be_missing_and_missing_may_have_a_value() -> None:
    assert codes(Integer(0, 9, outside="missing"), "INTEGER", "-1", "3", "10", "NULL") == [None, 3, None, None]
    assert codes(Integer(0, 9, missing=4), "INTEGER", "-1", "NULL") == [0, 4]
    assert codes(Integer(0, 9, outside="missing", missing=4), "INTEGER", "-1", "3") == [4, 3]
    assert codes(Real(0, 1, "0.25", outside="missing", missing="0.5"), "DOUBLE", "1.01", "'nan'", "0.9") == [
        2,
        2,
        4,
    ]


@pytest.mark.parametrize("kind", ["BIGINT", "HUGEINT", "UBIGINT", "DECIMAL(38,0)", "VARCHAR", "UHUGEINT"])
def test_integers_beyond_2_to_the_53_stay_exact(kind: str) -> None:
    near, column = 2**53 + 1, Integer(0, 2**60)
    values = [near, near + 1, near + 2, 2**60 - 1, 2**60 + 5, 17]
    assert codes(column, kind, *(f"'{v}'" for v in values)) == [*values[:4], 2**60, 17]


def test_wide_integers_read_from_text_and_floats_are_total() -> None:
    column = Integer(-(2**60), 2**60)
    found = codes(column, "VARCHAR", "'1e300'", "'-inf'", "'nan'", "'x'", "'2.5'", "'-2.5'", f"'{10**40}'")
    assert found == [2**61, 0, None, None, 2**60 + 3, 2**60 - 2, 2**61]
    assert codes(column, "DOUBLE", "9007199254740991", "1e300", "'-inf'") == [2**60 + 2**53 - 1, 2**61, 0]


def test_reals_go_to_the_nearest_point_of_the_grid() -> None:
    column = Real("-0.5", "1.5", step="0.1")
    assert codes(
        column, "DOUBLE", "-9", "-0.5", "-0.44", "0", "0.3", "1.5", "1e308", "'inf'", "'-inf'", "'nan'"
    ) == [*(0, 0, 1, 5, 8, 20, 20, 20, 0, None)]
    assert codes(column, "FLOAT", "0.3", "'nan'") == [8, None]
    assert codes(column, "DECIMAL(10,2)", "0.34", "0.36", "7") == [8, 9, 20]
    assert codes(column, "VARCHAR", "'0.3'", "'zero'", "'1_0'", "'٣'") == [8, None, 20, None]
    assert codes(column, "BIGINT", "1", "-9223372036854775808") == [15, 0]


def test_no_rounding_leads_out_of_the_domain() -> None:
    # hi lies just below 1½ steps, so code 1 is the last; in doubles a value below hi divides to 1½ steps exactly.
    column = Real(0, Fraction("0.0135") - Fraction(1, 10**25), step="0.009")
    assert np.floor(0.013499999999999998 / 0.009 + 0.5) == 2 == column.levels
    assert codes(column, "DOUBLE", "0.013499999999999998", "0.0135", "1") == [1, 1, 1]


def test_categories_match_to_the_last_character() -> None:
    column = Category(["red", "blue", "it's", "Zürich", ""], other="another")
    values = ["'red'", "'red '", "'Red'", "'it''s'", "'Zürich'", "'Zu\u0308rich'", "''", "NULL", "'another'"]
    assert codes(column, "VARCHAR", *values) == [0, 5, 5, 2, 3, 5, 4, None, 5]
    assert codes(Category(["red"]), "VARCHAR", "'blue'", "'red'") == [None, 0]
    assert codes(Category(["red"], missing="red"), "VARCHAR", "'blue'", "NULL") == [0, 0]
    assert codes(Category(["1", "2"]), "DOUBLE", "1", "2.0", "2.5", "'nan'", "'inf'") == [0, 1, None, None, None]


def test_categories_of_integers_match_numbers_of_every_type() -> None:
    column = Category([1, 2, 40])
    assert codes(column, "INTEGER", "1", "40", "41", "NULL") == [0, 2, None, None]
    assert codes(column, "DOUBLE", "1", "40", "40.5", "'nan'", "1e300") == [0, 2, None, None, None]
    assert codes(column, "VARCHAR", "'1'", "'40.0'", "'x'", "'04e1'") == [0, 2, None, 2]
    assert codes(column, "DECIMAL(9,3)", "2.000", "2.001") == [1, None]


def test_booleans_are_read_from_words_and_from_0_and_1() -> None:
    assert codes(Boolean(), "BOOLEAN", "true", "false", "NULL") == [1, 0, None]
    assert codes(Boolean(), "VARCHAR", "'True'", "'no'", "'1'", "'0.0'", "'2'", "'?'") == [1, 0, 1, 0, None, None]
    assert codes(Boolean(missing=True), "DOUBLE", "0", "1", "2", "'nan'") == [0, 1, 1, 1]


def test_days_are_counted_in_utc() -> None:
    column = Date("2020-01-01", "2020-12-31")
    assert codes(column, "DATE", "'2020-03-01'", "'0044-03-15 (BC)'", "'infinity'", "NULL") == [60, 0, 365, None]
    assert codes(column, "TIMESTAMP", "'2020-03-01 23:59:59'", "'-infinity'") == [60, 0]
    assert codes(column, "TIMESTAMPTZ", "'2020-03-01 23:00:00-05'") == [61]
    texts = ["'2020-03-01'", "'2020-03-01 23:00:00-05'", "'1 March'", "'5000000-01-01'", "'2020-02-30'"]
    assert codes(column, "VARCHAR", *texts) == [60, 61, None, 365, None]


def test_times_are_rounded_down_to_steps_of_utc() -> None:
    column = Datetime("2020-01-01", "2020-01-02", step="15min", outside="missing")
    assert codes(column, "TIMESTAMP", "'2020-01-01 00:14:59.999999'", "'2020-01-02'", "'infinity'") == [
        0,
        96,
        None,
    ]
    assert codes(column, "TIMESTAMPTZ", "'2020-01-01 02:15:00+02'") == [1]
    assert codes(column, "TIMESTAMP_NS", "'2020-01-01 00:15:00.000000001'") == [1]
    assert codes(column, "VARCHAR", "'2020-01-01T02:15:00+02:00'", "'2020-01-01'", "'noon'") == [1, 0, None]
    assert codes(column, "DATE", "'2020-01-01'", "'infinity'") == [0, None]


def test_a_missing_time_may_have_a_declared_value_between_steps() -> None:
    column = Datetime("2020-01-01", "2020-01-02", step="1h", missing="2020-01-01 12:59")
    assert codes(column, "VARCHAR", "'?'") == [12]


# Totality: no value of any type raises, and every code is in the domain

HOSTILE: dict[str, list[str]] = {
    "BIGINT": ["NULL", "9223372036854775807", "-9223372036854775808", "0"],
    "HUGEINT": ["NULL", "170141183460469231731687303715884105727", "-170141183460469231731687303715884105728"],
    "UHUGEINT": ["NULL", "340282366920938463463374607431768211455"],
    "BIGNUM": ["NULL", "'1' || repeat('0', 90)"],
    "DOUBLE": ["NULL", "'nan'", "'inf'", "'-inf'", "-0.0", "1e308", "5e-324", "9007199254740993"],
    "FLOAT": ["NULL", "'nan'", "'inf'", "3e38"],
    "DECIMAL(38,38)": ["NULL", "0.5"],
    "DECIMAL(38,0)": ["99999999999999999999999999999999999999", "-99999999999999999999999999999999999999"],
    "BOOLEAN": ["NULL", "true"],
    "VARCHAR": [
        "NULL",
        "''",
        "' '",
        "'\U0001f600'",
        "'a' || chr(0) || 'b'",
        "'0x1F'",
        "'1e-400'",
        "repeat('9', 400)",
    ],
    "DATE": ["NULL", "'infinity'", "'-infinity'", "'5877642-06-25 (BC)'", "'5881580-07-10'"],
    "TIMESTAMP": ["NULL", "'infinity'", "'-infinity'", "'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54'"],
    "TIMESTAMPTZ": ["NULL", "'infinity'", "'-infinity'", "'0001-01-01 (BC) 00:00:00+00'"],
    "TIMESTAMP_NS": ["NULL", "'2200-01-01'"],
    "TIMESTAMP_S": ["NULL", "'infinity'"],
    "TIME": ["NULL", "'23:59:59'"],
    "INTERVAL": ["NULL", "'1000000 months'"],
    "BLOB": ["NULL", "'\\xFF\\x00'"],
    "UUID": ["NULL", "'00000000-0000-0000-0000-000000000000'"],
    "BIT": ["NULL", "'0101'"],
    "INTEGER[]": ["NULL", "[1, NULL]"],
    "STRUCT(a INTEGER)": ["NULL", "{'a': 1}"],
    "MAP(VARCHAR, INTEGER)": ["NULL", "map {'a': 1}"],
    "ENUM('red', 'x')": ["NULL", "'red'"],
    "JSON": ["NULL", "'[1]'"],
}


def in_domain(column: Column, found: list[Any]) -> Iterator[bool]:
    for code in found:
        yield code is None or column.levels is None or 0 <= code < column.levels


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_value_of_any_type_raises_or_leaves_the_domain(kind: str) -> None:
    for column in COLUMNS:
        assert all(in_domain(column, codes(column, kind, *HOSTILE[kind])))


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


@settings(deadline=None, max_examples=30)
@given(st.lists(TEXTS, min_size=1, max_size=20))
def test_no_text_raises_or_leaves_the_domain(texts: list[str]) -> None:
    for column in COLUMNS:
        assert all(
            in_domain(column, codes(column, "VARCHAR", *(sql_writer.sql(sql_writer.text(text)) for text in texts)))
        )


FLOATS = st.floats() | st.floats(-60, 120) | st.integers(-(2**63), 2**63 - 1).map(float)


@settings(deadline=None, max_examples=60)
@given(st.lists(FLOATS, min_size=1, max_size=20), st.integers(-50, 50), st.integers(1, 60), st.integers(1, 9))
def test_every_float_goes_to_the_nearest_point_of_the_grid(
    values: list[float], lo: int, width: int, parts: int
) -> None:
    column = Real(lo, lo + width, Fraction(1, parts))
    for value, code in zip(values, codes(column, "DOUBLE", *(f"'{v}'" for v in values)), strict=True):
        if np.isnan(value):
            assert code is None
            continue
        clamped = Fraction(min(max(value, float(column.lo)), float(column.hi)))
        assert abs((clamped - column.lo) / column.step - code) <= Fraction(1, 2) + Fraction(1, 10**9)
