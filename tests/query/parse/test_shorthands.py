"""Histograms and lists of quantiles are questions that could have been written out."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.errors import QuestionRefused
from discreet.query.parse.select import parse
from tests.query.parse.test_select import PEOPLE, shape
from tests.vault.every_row import WORLD, on_sealed, on_values

SAME = [
    (
        "select histogram(age, 10) from people",
        "select case when age = 110 then 99 else 11 * floor(age / 11) end, count(*) from people group by 1",
    ),
    (
        "select city, histogram(age, 5) as n from people where insured group by 1",
        "select city, case when age = 110 then 88 else 22 * floor(age / 22) end, count(*) from people "
        "where insured group by 1, 2",
    ),
    (
        'select histogram("select", 4) from people',
        'select case when "select" = 5 then (5 / 2) else (-5) + (5 / 2) * floor(("select" - (-5)) / (5 / 2)) end, '
        "count(*) from people group by 1",
    ),
    (
        "select quantile(age, [0.25, 0.5]) from people",
        "select quantile(age, 0.25), quantile(age, 0.5) from people",
    ),
    ("select quantile(age, [0.5]) from people", "select quantile(age, 0.5) from people"),
]


@pytest.mark.parametrize(("short", "long"), SAME)
def test_a_shorthand_is_the_question_written_out(short: str, long: str) -> None:
    assert shape(parse(short, PEOPLE)) == shape(parse(long, PEOPLE))
    assert shape(parse(parse(short, PEOPLE).text, PEOPLE)) == shape(parse(short, PEOPLE))


def test_the_columns_of_a_histogram_are_the_lower_ends_of_bins_and_counts() -> None:
    question = parse("select city, histogram(income, 5) n from people group by city order by n desc", PEOPLE)
    assert question.columns == ("city", "income", "n")
    assert question.keys[1].values == (0, 100_000, 200_000, 300_000, 400_000)
    assert parse("select histogram(age, 2) from people", PEOPLE).columns == ("age", "count")
    several = parse("select quantile(age, [0.25, 0.5]) as q, count(*) from people", PEOPLE)
    assert several.columns == ("q_0.25", "q_0.5", "count(*)")


@pytest.mark.parametrize("column", ["a", "b", "x", "a + b"])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 50])
def test_every_value_falls_into_the_bin_that_holds_it(column: str, count: int) -> None:
    (key,) = parse(f"select histogram({column}, {count}) from world", WORLD).keys
    term = parse(f"select avg({column}) from world", WORLD).aggregates[0].term
    assert term is not None
    assert key.values is not None
    least, width = float(term.least), float(term.most - term.least) / count
    values: Any = on_values(column)
    for (code,), (value,) in zip(on_sealed(key.code), values, strict=True):
        assert (code is None) == (value is None)
        if code is not None:
            place = min(int((value - least) / width + 1e-9), count - 1)
            assert key.values[code] == pytest.approx(least + place * width)


@pytest.mark.parametrize(
    ("text", "reason", "fix"),
    [
        ("select histogram(day, 10) from people", "histogram is for numbers", "date_trunc('month', day)"),
        ("select histogram(age) from people", "how many bins", "histogram(age, 10)"),
        ("select histogram(age, 0) from people", "from 1 to 1000", "Write 1"),
        ("select histogram(age, city) from people", "from 1 to 1000", "Write 1"),
        ("select histogram(3, 10) from people", "one value only", "count(*)"),
        ("select histogram(age, 2), histogram(income, 2) from people", "at most one histogram", "two questions"),
        ("select city, histogram(age, 2) n from people group by 1 order by 2", "names and not places", "alias"),
        ("select city, histogram(age, 2) n from people group by 1, 2", "groups by its own bins", "without it"),
        ("select quantile(age, []) from people", "list of quantiles is empty", "[0.25, 0.5, 0.75]"),
        ("select sum(histogram(age, 2)) from people", "histogram", ""),
    ],
)
def test_a_wrong_shorthand_is_refused_with_a_way_out(text: str, reason: str, fix: str) -> None:
    with pytest.raises(QuestionRefused) as refused:
        parse(text, PEOPLE)
    assert reason in refused.value.problem
    assert fix in " ".join(map(str, refused.value.fixes))
