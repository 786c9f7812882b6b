"""The cells of a question are evaluated on the levels, and compared with the engine on every row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError, QuestionRefused
from discreet.ledger import Budget
from discreet.mechanisms.exact import opened
from discreet.oracle.exact_sums import Sums
from discreet.oracle.linear_query import GRAIN, Query, decompose
from discreet.query import cache_key
from discreet.query.bins import Axis, axes_of
from discreet.schema import Category, Column, Integer, Real
from discreet.schema.metadata import UNIT
from discreet.vault.vault import Vault
from tests.vault.sealed_tables import scratch

AGES = [None, *range(6)]
EVERY = [(age, city, pay) for age in AGES for city in ("a", "b", None) for pay in (0, 3, 7, None)]
COLUMNS: dict[str, Column] = {
    "age": Integer(0, 5),
    "city": Category(["a", "b"]),
    "pay": Real(0, 7, 1),
    "word": Integer(0, 3),
}


@pytest.fixture(scope="module")
def vault() -> Iterator[Vault]:
    """Seal every combination of values once."""
    table = pyarrow.table(
        {
            "age": pyarrow.array([row[0] for row in EVERY], pyarrow.int64()),
            "city": [row[1] for row in EVERY],
            "pay": pyarrow.array([row[2] for row in EVERY], pyarrow.int64()),
            "word": [0] * len(EVERY),
        }
    )
    with (
        scratch() as folder,
        Vault.seal(
            table, to=folder / "v", name="people", person=None, columns=COLUMNS, budget=Budget(9, "1e-6")
        ) as sealed,
    ):
        yield sealed


def axes(vault: Vault, **bins: int) -> tuple[Axis, ...]:
    return axes_of(vault.metadata, ["age", "city", "pay"], bins)


def read(vault: Vault, text: str, known: tuple[Axis, ...]) -> list[Query]:
    wanted = decompose(cache_key.parsed(text, vault.metadata), known)
    return [query for query in (wanted.count, wanted.total) if query is not None]


def in_the_engine(vault: Vault, query: Query) -> float:
    sums = Sums(vault._engine(vault.metadata), UNIT)
    return float(opened(sums.value(query, sums.prepare(query)))) / (UNIT * GRAIN)


def on_the_cells(vault: Vault, query: Query, known: tuple[Axis, ...]) -> float:
    sums = Sums(vault._engine(vault.metadata), UNIT)
    counted, statement = sums.prepare_marginal([known[i] for i in query.columns])
    marginal = opened(sums.marginal(counted, statement)).reshape([known[i].size for i in query.columns])
    return float((marginal * query.weights).sum()) / UNIT


CONDITIONS = st.sampled_from(
    [
        "age between 1 and 3",
        "age > 2",
        "age <> 4",
        "age is null",
        "age is not null",
        "city = 'a'",
        "city in ('a', 'b')",
        "city is null",
        "pay >= 3",
        "pay < 1000",
        "age >= pay",
        "age + pay > 5",
        "age * 2 - pay = 1",
        "floor(age / 2) = 1",
        "case when city = 'a' then age > 2 else pay > 2 end",
        "coalesce(age, 9) > 4",
        "age in (1, 5) or city = 'b'",
    ]
)


@settings(max_examples=60, deadline=None)
@given(parts=st.lists(st.tuples(CONDITIONS, st.booleans()), min_size=1, max_size=3))
def test_on_all_levels_the_cells_say_what_the_engine_says(vault: Vault, parts: list[tuple[str, bool]]) -> None:
    where = " and ".join(f"not ({text})" if negated else f"({text})" for text, negated in parts)
    known = axes(vault)
    for query in read(vault, f"select count(*) from people where {where}", known):
        assert query.crisp
        assert on_the_cells(vault, query, known) == in_the_engine(vault, query)


@pytest.mark.parametrize("where", ["true", "city = 'a'", "age > 2 and city is not null", "pay > 2", "age > pay"])
def test_sums_weigh_each_row_by_its_value(vault: Vault, where: str) -> None:
    known = axes(vault)
    count, total = read(vault, f"select sum(pay) from people where {where}", known)
    truth = [
        pay / 7
        for age, city, pay in EVERY
        if pay is not None
        and {
            "true": True,
            "city = 'a'": city == "a",
            "age > 2 and city is not null": age is not None and age > 2 and city is not None,
            "pay > 2": pay > 2,
            "age > pay": age is not None and age > pay,
        }[where]
    ]
    assert in_the_engine(vault, count) == len(truth) == on_the_cells(vault, count, known)
    assert abs(in_the_engine(vault, total) - sum(truth)) <= float(total.slack) * len(truth)
    assert on_the_cells(vault, total, known) == pytest.approx(sum(truth))


def test_a_question_that_cuts_a_bin_takes_the_bin_for_level(vault: Vault) -> None:
    known = axes(vault, age=2)
    (query,) = read(vault, "select count(*) from people where age <= 3", known)
    assert query.weights.tolist() == [1.0, 1 / 3, 0.0]
    assert not query.crisp
    assert in_the_engine(vault, query) == sum(age is not None and age <= 3 for age, _, _ in EVERY)


def test_a_question_along_the_bins_is_crisp(vault: Vault) -> None:
    known = axes(vault, age=2)
    (query,) = read(vault, "select count(*) from people where age <= 2", known)
    assert query.weights.tolist() == [1.0, 0.0, 0.0]
    assert on_the_cells(vault, query, known) == in_the_engine(vault, query)


def test_bins_may_begin_at_given_values(vault: Vault) -> None:
    found = axes_of(vault.metadata, ["Age"], {"age": [2, 4.5]})
    assert found[0].starts == (0, 2, 5)
    assert found[0].widths.tolist() == [2, 3, 1, 1]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("select city, count(*) from people group by city", "one number at a time"),
        ("select count(*), sum(pay) from people", "one number at a time"),
        ("select median(pay) from people", "answers count\\(\\*\\)"),
        ("select sum(age * age) from people", "one of its own columns"),
        ("select count(*) from people where word = 1", "this one reads another"),
    ],
)
def test_a_question_that_is_not_a_linear_query_over_the_columns_is_refused(
    vault: Vault, text: str, word: str
) -> None:
    with pytest.raises(QuestionRefused, match=word):
        read(vault, text, axes(vault))


@pytest.mark.parametrize(
    ("columns", "bins", "word"),
    [
        ("age", None, "list of columns"),
        ([], None, "list of columns"),
        (["height"], None, "no column"),
        (["age", "AGE"], None, "twice"),
        (["age"], {"city": 2}, "not among the columns"),
        (["age"], {"age": 7}, "from 1 to 6"),
        (["age"], {"age": ["x"]}, "cannot begin at this value"),
    ],
)
def test_axes_that_make_no_sense_are_refused(vault: Vault, columns: list[str], bins: object, word: str) -> None:
    with pytest.raises(ParameterError, match=word):
        axes_of(vault.metadata, columns, bins)  # type: ignore[arg-type]


def test_a_condition_over_too_many_levels_is_refused_with_the_way_out(tmp_path: Path) -> None:
    wide: dict[str, Column] = {"a": Integer(0, 9999), "b": Integer(0, 9999)}
    table = pyarrow.table({"a": [1], "b": [2]})
    with Vault.seal(table, to=tmp_path / "v", name="t", person=None, columns=wide, budget=Budget(1)) as vault:
        known = axes_of(vault.metadata, ["a", "b"])
        assert [axis.size for axis in known] == [65, 65]
        (query,) = read(vault, "select count(*) from t where a > 5000 and b < 20", known)
        assert query.columns == (0, 1)
        with pytest.raises(QuestionRefused, match="Compare each column with constants"):
            read(vault, "select count(*) from t where a > b", known)


def test_averages_over_bins_are_means_of_levels() -> None:
    axis = Axis("a", "c0", 5, True, (0, 3))
    assert axis.averaged(np.array([1, 0, 1, 1, 1, 0]), 0).tolist() == pytest.approx([2 / 3, 1.0, 0.0])
