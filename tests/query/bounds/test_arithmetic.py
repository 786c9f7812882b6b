"""Terms mean what SQL means, and stay within the bounds that are claimed of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet.errors import QuestionRefused
from discreet.query import ir
from discreet.query.bounds import arithmetic, calendar, conditionals
from discreet.query.bounds import reachable_values as attainable
from discreet.query.parse.scope import column_term
from discreet.query.parse.select import parse
from discreet.query.question import Term
from discreet.schema import Category, Date, Datetime
from tests.vault.every_row import WORLD, on_sealed, on_values

Value = Fraction | None
Meaning = Callable[[dict[str, Value]], Value]


def strict(operation: Callable[..., Fraction]) -> Callable[..., Meaning]:
    def build(*operands: Meaning) -> Meaning:
        def meaning(row: dict[str, Value]) -> Value:
            values = [operand(row) for operand in operands]
            return None if None in values else operation(*values)

        return meaning

    return build


def skipping(operation: Callable[..., Fraction]) -> Callable[..., Meaning]:
    def build(*operands: Meaning) -> Meaning:
        def meaning(row: dict[str, Value]) -> Value:
            known = [value for value in (operand(row) for operand in operands) if value is not None]
            return operation(known) if known else None

        return meaning

    return build


def rounded(value: Fraction) -> Fraction:
    size = Fraction(math.floor(abs(value) + Fraction(1, 2)))
    return size if value >= 0 else -size


def chosen(left: Meaning, right: Meaning, outcome: Meaning, other: Meaning) -> Meaning:
    def meaning(row: dict[str, Value]) -> Value:
        a, b = left(row), right(row)
        return outcome(row) if a is not None and b is not None and a < b else other(row)

    return meaning


def first(left: Meaning, right: Meaning) -> Meaning:
    return lambda row: right(row) if left(row) is None else left(row)


def unless(left: Meaning, right: Meaning) -> Meaning:
    return lambda row: None if left(row) is not None and left(row) == right(row) else left(row)


leaves: st.SearchStrategy[tuple[str, Meaning]] = st.one_of(
    st.sampled_from(["a", "b", "x"]).map(lambda name: (name, lambda row: row[name])),
    st.sampled_from(["0", "1", "2.5", "7", "0.1"]).map(lambda text: (text, lambda row: Fraction(text))),
)


def grown(inner: st.SearchStrategy[tuple[str, Meaning]]) -> st.SearchStrategy[tuple[str, Meaning]]:
    def node(template: str, build: Callable[..., Meaning], count: int) -> st.SearchStrategy[tuple[str, Meaning]]:
        return st.tuples(*[inner] * count).map(
            lambda parts: (template.format(*(text for text, _ in parts)), build(*(mean for _, mean in parts)))
        )

    return st.one_of(
        node("({} + {})", strict(lambda a, b: a + b), 2),
        node("({} - {})", strict(lambda a, b: a - b), 2),
        node("({} * {})", strict(lambda a, b: a * b), 2),
        node("({} / 4)", strict(lambda a: a / 4), 1),
        node("({} / -0.3)", strict(lambda a: a / Fraction("-0.3")), 1),
        node("(- {})", strict(lambda a: -a), 1),
        node("floor({})", strict(lambda a: Fraction(math.floor(a))), 1),
        node("ceil({})", strict(lambda a: Fraction(math.ceil(a))), 1),
        node("round({})", strict(rounded), 1),
        node("abs({})", strict(abs), 1),
        node("(abs({}) // 3)", strict(lambda a: Fraction(abs(a) // 3)), 1),
        node("(abs({}) % 2.5)", strict(lambda a: abs(a) % Fraction("2.5")), 1),
        node("least({}, {})", skipping(min), 2),
        node("greatest({}, {})", skipping(max), 2),
        node("coalesce({}, {})", first, 2),
        node("nullif({}, {})", unless, 2),
        node("sign({})", strict(lambda a: Fraction((a > 0) - (a < 0))), 1),
        node("trunc({})", strict(lambda a: Fraction(math.trunc(a))), 1),
        node("trunc({}, 1)", strict(lambda a: Fraction(math.trunc(10 * a), 10)), 1),
        node("case when {} < {} then {} else {} end", chosen, 4),
    )


def rows() -> list[dict[str, Value]]:
    """Return every combination of the three numbers, once."""
    found = on_values("a", "b", "x", rows="city = 'Bergen' and flag")
    return [{n: None if v is None else Fraction(v) for n, v in zip("abx", row, strict=True)} for row in found]


def codes_of(term: Term) -> list[Any]:
    return [code for (code,) in on_sealed(term.code, rows="c3 = 0 and c5 = 1")]


def summed(text: str) -> Term | None:
    """Return the term of sum(text).

    None if it rounds a difference with more outcomes than are written out, or is NULL on every row.
    """
    try:
        return parse(f"select sum({text}) from world", WORLD).aggregates[0].term
    except QuestionRefused as refusal:
        if not any(words in str(refusal) for words in ("ounding a difference", "NULL has no value here")):
            raise
        return None


@settings(max_examples=100, deadline=None)
@given(st.recursive(leaves, grown, max_leaves=6))
def test_arithmetic_is_exact_and_within_its_bounds_on_every_row(expression: tuple[str, Meaning]) -> None:
    text, meaning = expression
    term = summed(text)
    assume(term is not None)
    assert term is not None
    for code, row in zip(codes_of(term), rows(), strict=True):
        wanted = meaning(row)
        assert (code is None) == (wanted is None)
        if code is not None:
            assert term.low <= code <= term.high
            assert term.offset + term.scale * code == wanted
        assert term.nullable or code is not None


@settings(max_examples=30, deadline=None)
@given(st.recursive(leaves, grown, max_leaves=5))
def test_what_is_tried_out_in_python_is_what_the_engine_computes(expression: tuple[str, Meaning]) -> None:
    term = summed(expression[0])
    assume(term is not None)
    assert term is not None
    columns = {f"c{i}": column_term(f"c{i}", column) for i, column in enumerate(WORLD.columns.values())}
    read = ir.columns_of(term.code)
    codes, missing = attainable.attained(term.code, None, {name: columns[name] for name in read}) or ([], False)
    found = set(codes_of(term))
    assert set(codes) == found - {None}
    assert missing == (None in found)


# Where the bounds come from

AGE = Term(ir.sealed("c0"), 0, 110)
INCOME = Term(ir.sealed("c1"), 0, 5000, scale=Fraction(100), nullable=False)


def test_clamping_in_the_question_tightens_the_bounds() -> None:
    clamped = conditionals.greatest(
        conditionals.least(INCOME, arithmetic.constant(Fraction(50_000))), arithmetic.constant(Fraction(10_000))
    )
    assert [clamped.least, clamped.most] == [10_000, 50_000]


def test_a_square_is_not_negative() -> None:
    centred = arithmetic.subtract(AGE, arithmetic.constant(Fraction(50)))
    assert arithmetic.multiply(centred, centred).least == 0
    assert arithmetic.multiply(centred, arithmetic.add(AGE, arithmetic.constant(Fraction(1)))).least == -50 * 111


def test_a_remainder_is_bounded_by_its_divisor() -> None:
    rest = arithmetic.remainder(AGE, arithmetic.constant(Fraction(10)))
    assert [rest.least, rest.most] == [0, 9]


def test_the_step_of_a_sum_is_the_largest_that_fits_both() -> None:
    assert arithmetic.add(AGE, INCOME).scale == 1
    assert arithmetic.add(
        arithmetic.scaled(AGE, Fraction(1, 2)), arithmetic.scaled(AGE, Fraction(1, 3))
    ).scale == Fraction(1, 6)


def test_what_no_int64_could_hold_is_refused_with_the_way_out() -> None:
    wide = Term(ir.sealed("c0"), 0, 2**40)
    with pytest.raises(QuestionRefused, match=r"2\^62.*floor\(income / 1000\)"):
        arithmetic.multiply(wide, wide)
    with pytest.raises(QuestionRefused, match=r"2\^62"):
        arithmetic.add(wide, arithmetic.scaled(wide, Fraction(1, 10**9)))
    with pytest.raises(QuestionRefused, match=r"2\^62"):
        arithmetic.ordered("<", wide, arithmetic.scaled(wide, Fraction(10**9)))


def test_a_nest_that_would_explode_is_refused_before_it_does() -> None:
    def nested(depth: int) -> Term:
        inner = AGE if depth == 0 else nested(depth - 1)
        return conditionals.least(inner, arithmetic.subtract(AGE, inner))

    with pytest.raises(QuestionRefused, match="parts"):
        nested(60)


def test_a_difference_is_never_divided_by_an_engine() -> None:
    apart = arithmetic.subtract(AGE, Term(ir.sealed("c2"), 0, 100))
    few = arithmetic.floor(arithmetic.divide(apart, arithmetic.constant(Fraction(10))))
    assert [few.least, few.most] == [-10, 11]
    assert "//" not in few.code.sql()
    with pytest.raises(QuestionRefused, match="Rounding a difference is answered for up to 256 outcomes"):
        arithmetic.floor(arithmetic.divide(arithmetic.subtract(AGE, INCOME), arithmetic.constant(Fraction("0.3"))))


@pytest.mark.parametrize(
    "text", ["floor(a - b)", "ceil(a - b)", "round(a - b)", "floor(b % 3)", "abs(a - b) // 1"]
)
def test_rounding_a_difference_that_is_whole_already_changes_nothing(text: str) -> None:
    term = summed(text)
    assert term is not None
    wanted = [value for (value,) in on_values(text)]
    assert [None if c is None else term.offset + term.scale * c for (c,) in on_sealed(term.code)] == wanted


def test_categories_are_brought_to_one_list() -> None:
    city, town = (column_term(f"c{i}", c) for i, c in enumerate((Category(["b", "o"]), Category(["o", "x"]))))
    either = conditionals.choose([(ir.is_null(city.code), town)], city)
    assert either.labels == ("o", "x", "b")
    moved = "CASE WHEN NOT (c0 IS NULL) THEN CASE WHEN c0 < 1 THEN 2 ELSE 0 END END"
    assert either.code.sql() == f"CASE WHEN c0 IS NULL THEN c1 ELSE {moved} END"


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("nullif(b, 0)", 1, 5),
        ("nullif(b, 5)", 0, 4),
        ("nullif(b, 3)", 0, 5),
        ("nullif(b, 7)", 0, 5),
        ("nullif(b, a)", 0, 5),
        ("sign(a)", -1, 1),
        ("sign(b)", 0, 1),
        ("sign(b + 1)", 1, 1),
        ("sign(-b)", -1, 0),
        ("trunc(x)", -1, 2),
        ("trunc(a / 3)", -1, 1),
        ("trunc(x * 10, -1)", -10, 20),
    ],
)
def test_the_bounds_of_a_function_are_no_wider_than_its_values(text: str, least: int, most: int) -> None:
    term = summed(text)
    assert term is not None
    assert [term.least, term.most] == [least, most]


# The calendar

EVER = column_term("c0", Date("0001-01-01", "9999-12-31"))
_PERIOD = 146_097  # days of 400 years, after which the calendar and its formulas repeat
DAYS = np.concatenate([np.arange(_PERIOD + 400), np.arange(EVER.high - 4000, EVER.high + 1)])


def computed(term: Term) -> Any:
    """Return a term on every day of the first 400 years and the last ten."""
    code, missing = attainable.evaluated(term.code, {"c0": (DAYS, np.zeros(len(DAYS), dtype=bool))})
    assert not missing.any()
    assert term.low <= code.min()
    assert code.max() <= term.high
    return code


def days_since_the_epoch() -> Any:
    return (DAYS + int(EVER.offset)).astype("datetime64[D]")


@pytest.mark.parametrize(
    ("part", "wanted"),
    [
        ("year", lambda day: day.astype("datetime64[Y]").astype(int) + 1970),
        ("month", lambda day: day.astype("datetime64[M]").astype(int) % 12 + 1),
        ("quarter", lambda day: day.astype("datetime64[M]").astype(int) % 12 // 3 + 1),
        ("day", lambda day: (day - day.astype("datetime64[M]")).astype(int) + 1),
        ("doy", lambda day: (day - day.astype("datetime64[Y]")).astype(int) + 1),
        ("dow", lambda day: (day.astype(int) + 4) % 7),
        ("isodow", lambda day: (day.astype(int) + 3) % 7 + 1),
    ],
)
def test_the_parts_of_days_through_a_period_of_the_calendar(part: str, wanted: Callable[[Any], Any]) -> None:
    term = calendar.extracted(part, EVER)
    assert np.array_equal(computed(term) + int(term.offset), wanted(days_since_the_epoch()))


@pytest.mark.parametrize(("unit", "months"), [("month", 1), ("quarter", 3), ("year", 12)])
def test_the_month_quarter_and_year_of_days_through_a_period_of_the_calendar(unit: str, months: int) -> None:
    term = calendar.truncated(unit, EVER)
    starts = np.array(term.labels, dtype="datetime64[D]")[computed(term)]
    wanted = days_since_the_epoch().astype("datetime64[M]").astype(int) // months * months
    assert np.array_equal(starts.astype("datetime64[M]").astype(int), wanted)


def test_weeks_begin_on_monday() -> None:
    week = calendar.truncated("week", EVER)
    starts = computed(week) * int(week.scale) + int(week.offset)
    assert set((starts + 3) % 7) == {0}
    assert set(days_since_the_epoch().astype(int) - starts) == set(range(7))


PARTS = ["year", "quarter", "month", "day", "dow", "isodow", "doy"]


@pytest.mark.parametrize("part", [*PARTS, "hour", "minute"])
def test_the_parts_of_times_are_duckdbs(part: str) -> None:
    term = parse(f"select sum(extract({part} from seen)) from world", WORLD).aggregates[0].term
    assert term is not None
    wanted = [value for (value,) in on_values(f"extract({part} from seen)")]
    assert [None if c is None else int(term.offset + term.scale * c) for (c,) in on_sealed(term.code)] == wanted


@pytest.mark.parametrize("column", ["day", "seen"])
@pytest.mark.parametrize("unit", ["year", "quarter", "month", "week", "day", "hour"])
def test_the_periods_of_dates_and_times_are_duckdbs(column: str, unit: str) -> None:
    key = parse(f"select date_trunc('{unit}', {column}) k, count(*) from world group by k", WORLD).keys[0]
    assert key.values is not None
    shown = [None if code is None else key.values[code] for (code,) in on_sealed(key.code)]
    wanted = [value for (value,) in on_values(f"date_trunc('{unit}', {column})")]
    same = [
        a == b or (a == b.date() and not b.time().second) for a, b in zip(shown, wanted, strict=True) if a and b
    ]
    assert all(same)
    assert [a is None for a in shown] == [b is None for b in wanted]
    assert set(shown) == {*key.values, *([None] if key.missing else [])}


@pytest.mark.parametrize("unit", calendar.UNITS)
@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("day", "seen"),
        ("seen", "day"),
        ("day", "day + 40"),
        ("seen", "date '2023-06-15'"),
        ("timestamp '2023-12-31 23:59:59.999999'", "seen"),
        ("date '1899-02-28'", "day"),
        ("date '1899-02-28'", "timestamp '2001-01-01 10:20:30'"),
    ],
)
def test_date_diff_counts_what_duckdb_counts_within_its_bounds(unit: str, start: str, end: str) -> None:
    text = f"date_diff('{unit}', {start}, {end})"
    term = summed(text)
    assert term is not None
    codes = [code for (code,) in on_sealed(term.code)]
    assert all(code is None or term.low <= code <= term.high for code in codes)
    wanted = [value for (value,) in on_values(text)]
    assert [None if code is None else term.offset + term.scale * code for code in codes] == wanted


def test_weeks_of_years_apart_are_counted_without_dividing_a_difference() -> None:
    columns = [column_term(f"c{i}", Date("1900-01-01", "2099-12-31")) for i in range(2)]
    weeks = calendar.difference("week", *columns)
    codes = np.arange(0, columns[0].high + 1, 61)
    pairs = {f"c{i}": (part.ravel(), part.ravel() < 0) for i, part in enumerate(np.meshgrid(codes, codes))}
    found, _ = attainable.evaluated(weeks.code, pairs)
    wanted = np.fix((pairs["c1"][0] - pairs["c0"][0]) / 7).astype(int)
    assert np.array_equal(found * int(weeks.scale) + int(weeks.offset), wanted)
    assert [weeks.least, weeks.most] == [-(columns[0].high // 7), columns[0].high // 7]


def test_days_between_dates_and_days_after_dates() -> None:
    question = parse("select sum(day - cast(seen as date)) from world where day + 3 > date '2024-02-01'", WORLD)
    term = question.aggregates[0].term
    assert term is not None
    assert question.where is not None
    wanted = on_values("day - cast(seen as date)", "day + 3 > date '2024-02-01'")
    found = on_sealed(term.code, question.where)
    assert [(None if c is None else int(term.offset + term.scale * c), w) for c, w in found] == wanted


def test_a_date_far_from_its_epoch_keeps_its_calendar() -> None:
    column = Datetime("1999-12-31 23:30", "2000-03-01 00:30", step="30min")
    month = calendar.truncated("month", column_term("c0", column))
    assert month.labels == (date(1999, 12, 1), date(2000, 1, 1), date(2000, 2, 1), date(2000, 3, 1))
    codes = np.arange(column.levels)
    found, _ = attainable.evaluated(month.code, {"c0": (codes, codes < 0)})
    shown = [column.lo + timedelta(minutes=30 * int(code)) for code in codes]
    assert [month.labels[code] for code in found] == [when.date().replace(day=1) for when in shown]
