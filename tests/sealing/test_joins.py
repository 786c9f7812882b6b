"""Several tables sealed as one: attributes of persons, and public lookups."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.schema import Category, Column, Date, Integer, Text
from discreet.sealing.seal import seal
from discreet.sealing.sources import Source
from tests.vault.sealed_tables import by_person, scratch, sealed

VISITS = pa.table({"user": [1, 1, 2, 3, None], "day": ["2020-01-01", "2020-01-02", "2020-01-03", "x", None]})
PERSONS = pa.table(
    {"user": [1, 2, 2, 9, None], "age": [30, 50, 40, 99, 7], "country": ["no", "se", "fi", "no", "xx"]}
)
COUNTRIES = pa.table({"country": ["no", "se", "fi"], "region": ["west", "east", "east"]})
COLUMNS: dict[str, Column] = {
    "day": Date("2020-01-01", "2020-12-31"),
    "age": Integer(0, 110, missing=20),
    "region": Category(["west", "east"]),
}


def rows(vault: Path) -> list[tuple[Any, ...]]:
    return sorted(((row["c0"], row["c1"], row["c2"], row["w"]) for row in sealed(vault)), key=str)


def test_rows_are_those_of_the_first_table_with_what_is_known_of_their_persons(tmp_path: Path) -> None:
    described = seal(
        VISITS, to=tmp_path / "v", person="user", columns=COLUMNS, tables=[PERSONS], lookups={"country": COUNTRIES}
    )
    # Of the two rows about person 2 the lesser one is taken, with age 40; no table has person 3.
    assert rows(tmp_path / "v") == sorted(
        [(0, 30, 0, 2048), (1, 30, 0, 2048), (2, 40, 1, 4096), (None, 20, None, 4096), (None, 7, None, 4096)],
        key=str,
    )
    assert described.joins == (
        "a pyarrow Table, by user: one row of each person",
        "a pyarrow Table, a public table, by country",
    )


def test_tables_may_write_the_same_person_in_different_types(tmp_path: Path) -> None:
    (tmp_path / "persons.csv").write_text("user,age,country\n1,30,no\n2,40,fi\n,7,xx\n")
    for name, visits in (("frame", VISITS.to_pandas()), ("arrow", VISITS)):
        seal(
            visits,
            to=tmp_path / name,
            person="user",
            columns=COLUMNS,
            tables=[tmp_path / "persons.csv"],
            lookups={"country": COUNTRIES},
        )
        assert [row[1] for row in rows(tmp_path / name)] == [30, 30, 40, 20, 7]


def test_a_lookup_may_go_by_a_column_of_the_rows_and_without_persons(tmp_path: Path) -> None:
    seal(
        pa.table({"zip": [150.0, None, 999.0]}),
        to=tmp_path / "v",
        person=None,
        columns={"region": Category(["west", "east"], missing="east")},
        lookups={"zip": pa.table({"zip": [150, 999], "region": ["west", None]})},
    )
    assert sorted(row["c0"] for row in sealed(tmp_path / "v")) == [0, 1, 1]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"lookups": {"country": pa.concat_tables([COUNTRIES, COUNTRIES])}}, "lists country 'fi' more than once"),
        ({"lookups": {"town": COUNTRIES}}, "has no column 'town'. It has 'country', 'region'"),
        ({"lookups": {"region": COUNTRIES}}, "No table of persons has the column 'region'"),
        (
            {"tables": [PERSONS.rename_columns(["user", "age", "day"])], "lookups": {}},
            "Column 'day' is in a .* and in",
        ),
        ({"tables": [PERSONS.select(["age", "country"])]}, "no column 'user'"),
        ({"tables": []}, "No table of persons has the column 'country'"),
        ({"columns": {"day": COLUMNS["day"]}, "lookups": {}}, "No column is taken from"),
        ({"person": None}, "Tables are joined by person"),
    ],
)
def test_what_cannot_be_joined_is_refused_in_words(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    arguments: dict[str, Any] = {
        "person": "user",
        "columns": COLUMNS,
        "tables": [PERSONS],
        "lookups": {"country": COUNTRIES},
        **change,
    }
    with pytest.raises(ParameterError, match=says):
        seal(VISITS, to=tmp_path / "v", **arguments)


def test_columns_of_one_name_are_told_apart_by_renaming(tmp_path: Path) -> None:
    twins = pa.table({"user": [1, 2], "day": ["2020-02-01", "2020-02-02"]})
    columns: dict[str, Column] = {"day": COLUMNS["day"], "joined": COLUMNS["day"]}
    seal(
        VISITS, to=tmp_path / "v", person="user", columns=columns, tables=[Source(twins, rename={"day": "joined"})]
    )
    found = sorted(((row["c0"], row["c1"]) for row in sealed(tmp_path / "v")), key=str)
    assert found == [(0, 31), (1, 31), (2, 32), (None, None), (None, None)]


IDS = st.none() | st.sampled_from(["a", "b", "c"])
EVENTS = st.lists(st.tuples(IDS, st.integers(0, 3)), max_size=8)
FACTS = st.lists(
    st.tuples(IDS, st.none() | st.integers(0, 3), st.none() | st.sampled_from(["k", "l"])), max_size=8
)


@settings(deadline=None, max_examples=12)
@given(EVENTS, FACTS, EVENTS.filter(bool), FACTS)
def test_another_person_in_any_table_changes_nobody_elses_rows(
    events: Any, facts: Any, more_events: Any, more_facts: Any
) -> None:
    def bags(events: Any, facts: Any) -> Counter[Any]:
        visits = pa.table({"who": pa.array([e[0] for e in events], pa.string()), "n": [e[1] for e in events]})
        known = {
            "who": pa.array([f[0] for f in facts], pa.string()),
            "age": pa.array([f[1] for f in facts], pa.int64()),
            "s": pa.array([f[2] for f in facts], pa.string()),
        }
        columns: dict[str, Column] = {"n": Integer(0, 3), "age": Integer(0, 3), "s": Text()}
        visits = visits.cast(pa.schema([("who", pa.string()), ("n", pa.int64())]))
        with scratch() as place:
            tables = [pa.table(known)]
            seal(
                visits, to=place / "v", person="who", rows_per_person=2, columns=columns, tables=tables, threads=1
            )
            return by_person(sealed(place / "v"))

    before = bags(events, facts)
    newcomer = [("new", n) for _, n in more_events], [("new", *rest) for _, *rest in more_facts]
    after = bags([*newcomer[0], *events], [*newcomer[1], *facts])
    assert before <= after
    assert (after - before).total() == 1
