"""Functions of strings are computed on the declared list, as DuckDB computes them on the rows."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import duckdb
import pyarrow
import pytest

from discreet.errors import QuestionRefused
from discreet.query.bounds import strings
from discreet.query.parse.select import parse
from discreet.schema import Category
from discreet.schema.metadata import TableMetadata
from tests.vault.every_row import WORLD, on_sealed, on_values

CALLS = [
    *("lower(city)", "upper(city)", "lower(upper(town))", "trim(city)", "coalesce(lower(city), lower(town))"),
    *(f"substr(city, {start})" for start in (-9, -6, -2, 0, 1, 3, 9)),
    *(f"substr(city, {start}, {size})" for start in (-9, -7, -2, 0, 1, 3, 9) for size in (0, 1, 2, 9)),
    *(f"{side}(city, {size})" for side in ("left", "right") for size in (0, 1, 3, 9)),
    "case when a > 0 then upper(city) else lower(town) end",
    "substring(city from 2 for 2)",
]


@pytest.mark.parametrize("call", CALLS)
def test_a_function_of_a_category_is_duckdbs(call: str) -> None:
    (key,) = parse(f"select {call} k, count(*) from world group by k", WORLD).keys
    assert key.values is not None
    assert len(set(key.values)) == len(key.values)
    found = [None if code is None else key.values[code] for (code,) in on_sealed(key.code)]
    assert found == [value for (value,) in on_values(call)]


@pytest.mark.parametrize(
    "condition",
    [
        "lower(city) = 'oslo'",
        "upper(city) in ('OSLO', 'ÅS')",
        "left(city, 1) = 'O' or town is null",
        "lower(city) = lower(town)",
        "length(city) > 2",
        "lower('OSLO') = lower(city)",
        "substr(city, 1, 1) like 'b%'",
        "upper(city) is distinct from upper(town)",
    ],
)
def test_a_condition_on_a_function_of_a_category_is_duckdbs(condition: str) -> None:
    where = parse(f"select count(*) from world where {condition}", WORLD).where
    assert where is not None
    assert on_sealed(where) == on_values(condition)


def test_a_length_is_a_number_with_the_bounds_of_the_list() -> None:
    term = parse("select sum(length(city)) from world", WORLD).aggregates[0].term
    assert term is not None
    assert [term.least, term.most] == [2, 6]
    assert on_sealed(term.code) == on_values("length(city)")


@lru_cache(1)
def mapped_by_duckdb() -> list[tuple[str, str, str]]:
    characters = [chr(i) for i in range(1, 0x110000) if not 0xD800 <= i <= 0xDFFF]
    with duckdb.connect() as connection:
        connection.register("given", pyarrow.table({"c": characters}))
        return connection.execute("select c, lower(c), upper(c) from given").fetchall()


def test_every_character_has_the_case_that_duckdb_gives_it() -> None:
    """One call for all characters, each of which is mapped by itself: a call for each took most of the time."""
    given, small, large = map("".join, zip(*mapped_by_duckdb(), strict=True))
    for mapped, wanted in ((strings.lower(given), small), (strings.upper(given), large)):
        assert len(mapped) == len(wanted) == len(given)
        assert [c for c, one, other in zip(given, mapped, wanted, strict=True) if one != other] == []


@pytest.mark.parametrize(
    ("call", "reason", "fix"),
    [
        ("lower(note)", "the values of a text column are not public", "ilike"),
        ("upper(a)", "for categories of strings", "upper(city)"),
        ("substr(city, a)", "must be a whole number", "Write 1"),
        ("substr(city, 1, -1)", "The length of substr", "Write 1"),
        ("left(city, 0.5)", "The length of left", "Write 1"),
        ("substr(city)", "position to start at", "substr(city, 1, 3)"),
        ("lower(date_trunc('month', day))", "this category has none", "Use = or in"),
        ("trim(both 'x' from city)", "", ""),
    ],
)
def test_a_wrong_use_is_refused_with_a_way_out(call: str, reason: str, fix: str) -> None:
    with pytest.raises(QuestionRefused) as refused:
        parse(f"select {call}, count(*) from world group by 1", WORLD)
    assert reason in refused.value.problem
    assert fix in " ".join(map(str, refused.value.fixes))


def test_no_row_is_read_for_a_list_of_a_thousand_strings() -> None:
    labels = [f"{'Aa' if i % 2 else 'aA'}{i // 2}" for i in range(1000)]
    table = TableMetadata("t", {"code": Category(labels)}, person="id")
    (key,) = parse("select lower(code), count(*) from t group by 1", table).keys
    values: Any = key.values
    assert values == tuple(f"aa{i}" for i in range(500))
