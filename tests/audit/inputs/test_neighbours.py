"""Neighbours have one person more or less, and include the people who have broken private code before."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.audit.inputs.neighbours import MANY, bases, neighbours, people

VISITS = [
    {"id": 1, "age": 30, "weight": 61.5, "city": "Bath", "smokes": True, "day": dt.date(2024, 5, 1)},
    {"id": 2, "age": 44, "weight": 80.0, "city": "York", "smokes": False, "day": dt.date(2024, 5, 2)},
    {"id": 1, "age": 30, "weight": 62.5, "city": "Bath", "smokes": True, "day": dt.date(2024, 6, 1)},
]
TABLES = st.lists(
    st.fixed_dictionaries({"id": st.integers(0, 3), "x": st.none() | st.floats() | st.text(max_size=3)}),
    min_size=1,
    max_size=6,
)


def written(rows: list[dict[str, Any]]) -> Counter[str]:
    """Return rows as text, in which NaN equals itself."""
    return Counter(map(repr, rows))


def values(column: str, person: str | None = "id") -> list[Any]:
    """Return the values of added people in a column."""
    added = (neighbour.rows for neighbour in neighbours(VISITS, person) if neighbour.added)
    return [row[column] for rows in added for row in rows[:9] if row not in VISITS]


@settings(max_examples=12, deadline=None)
@given(TABLES, st.sampled_from([None, "id"]))
def test_one_person_is_added_or_removed_and_no_other_changes(
    rows: list[dict[str, Any]], person: str | None
) -> None:
    for table in bases(rows, person):
        for neighbour in neighbours(table.rows, person, like=rows):
            larger, smaller = (neighbour.rows, table.rows) if neighbour.added else (table.rows, neighbour.rows)
            assert len(larger) > len(smaller)
            assert written(smaller) <= written(larger)
            if person is None:
                assert len(larger) == len(smaller) + 1
            else:
                before, after = people(smaller, person), people(larger, person)
                assert len(after) == len(before) + 1
                assert set(before) < set(after)


@settings(max_examples=12, deadline=None)
@given(TABLES, st.sampled_from([None, "id"]))
def test_the_search_does_not_touch_the_table(rows: list[dict[str, Any]], person: str | None) -> None:
    before = repr(rows)
    for table in bases(rows, person):
        list(neighbours(table.rows, person, like=rows))
    assert repr(rows) == before


def test_every_person_of_a_small_table_leaves_with_all_of_their_rows() -> None:
    gone = {neighbour.name: neighbour.rows for neighbour in neighbours(VISITS, "id") if not neighbour.added}
    assert gone == {"without id 1": [VISITS[1]], "without id 2": [VISITS[0], VISITS[2]]}


def test_of_many_people_those_with_most_rows_and_with_extreme_values_leave() -> None:
    rows = [{"id": i, "age": 40} for i in range(500)]
    rows[321]["age"], rows[77]["age"] = 99, 3
    rows += [{"id": 234, "age": 40}] * 5
    gone = {n.name for n in neighbours(rows, "id") if not n.added}
    assert {"without id 321", "without id 77", "without id 234", "without id 0", "without id 499"} <= gone
    assert len(gone) <= 40


@pytest.mark.parametrize(
    ("column", "extreme"),
    [
        ("weight", [math.inf, -math.inf, 1.7976931348623157e308, 5e-324, None]),
        ("age", [0, -1, 2**31, -(2**31), 2**63, -(2**63), 2**53 + 1, None]),
        ("city", ["", None]),
        ("smokes", [True, False, None]),
        ("day", [dt.date.min, dt.date.max, None]),
    ],
)
@pytest.mark.parametrize("person", ["id", None])
def test_a_person_with_extreme_values_joins(column: str, extreme: list[Any], person: str | None) -> None:
    assert set(extreme) <= set(values(column, person))


def test_nan_and_the_negative_zero_are_among_the_extremes() -> None:
    weights = [weight for weight in values("weight") if weight is not None]
    assert any(math.isnan(weight) for weight in weights)
    assert "-0.0" in map(repr, weights)


def test_strings_are_undeclared_long_and_full_of_special_characters() -> None:
    cities = [city for city in values("city") if city is not None]
    assert any(len(city) >= 10_000 for city in cities)
    assert any("\0" in city and "'" in city and "\n" in city for city in cities)
    assert "never seen before" in cities


def test_an_extreme_value_meets_every_category_so_that_a_filter_lets_some_pass() -> None:
    met = {
        row["city"]
        for neighbour in neighbours(VISITS, "id")
        for row in neighbour.rows
        if isinstance(row["weight"], float) and math.isnan(row["weight"])
    }
    assert {"Bath", "York"} <= met


def test_a_person_with_very_many_rows_joins_where_people_have_ids() -> None:
    assert any(len(n.rows) == len(VISITS) + MANY for n in neighbours(VISITS, "id"))
    assert not any(len(n.rows) > len(VISITS) + 1 for n in neighbours(VISITS))


def test_ids_that_careless_code_confuses_join_and_none_that_is_taken() -> None:
    ids = values("id")
    assert {"1", "1.0", "", None} <= set(ids)
    assert any(isinstance(value, float) and math.isnan(value) for value in ids)
    taken: list[dict[str, Any]] = [
        {"id": None, "x": 1},
        {"id": math.nan, "x": 1},
        {"id": "1", "x": 1},
        {"id": 1, "x": 1},
    ]
    for neighbour in neighbours(taken, "id"):
        if neighbour.added:
            assert len(people(neighbour.rows, "id")) == 5, neighbour.name


def test_an_added_person_stands_at_the_end_at_the_start_or_in_the_middle() -> None:
    rows = [{"x": i} for i in range(4)]
    places = {n.rows.index({"x": 0}) for n in neighbours(rows) if n.name.startswith("with a copy of row 3")}
    assert places == {0, 1}
    copies = {n.name: n.rows for n in neighbours(rows) if n.name.startswith("with a copy of row 0 ")}
    assert copies["with a copy of row 0 in the middle"] == [{"x": 0}, {"x": 1}, {"x": 0}, {"x": 2}, {"x": 3}]


def test_there_are_hostile_tables_to_start_from() -> None:
    tables = {table.name: table.rows for table in bases(VISITS, "id")}
    assert tables["the table as given"] == VISITS
    assert tables["the empty table"] == []
    assert tables["a table of one row"] == VISITS[:1]
    assert tables["a table of one person"] == [VISITS[0], VISITS[2]]
    assert tables["the table in reverse"] == VISITS[::-1]
    assert len(people(tables["the table with extreme rows"], "id")) > 2 + 5
    assert [repr(row["id"]) for row in tables["the table with ids written in two ways"]] == ["1", "2", "1.0"]


def test_a_person_joins_an_empty_table_with_the_columns_of_the_given_one() -> None:
    joined = list(neighbours([], "id", like=[{"id": "ann", "age": 30}]))
    assert all(neighbour.added for neighbour in joined)
    assert any(neighbour.rows == [{"id": "stranger", "age": 2**63}] for neighbour in joined)
    assert list(neighbours([])) == []


def test_columns_are_taken_from_all_rows() -> None:
    assert any(row.get("late") == 2**63 for n in neighbours([{"x": 1}, {"x": 1, "late": 2}]) for row in n.rows)
