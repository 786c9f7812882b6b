"""Test every linear query with and without each person: the declared norms hold, and a person attains them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.duckdb import DuckDB
from discreet.errors import QuestionRefused
from discreet.mechanisms.sensitivity import Sensitivity
from discreet.query import ir
from discreet.query.plan import linear_queries
from discreet.query.plan.affine import AffineMap, centred
from discreet.query.plan.group_index import Cells, dense
from discreet.query.plan.linear_queries import MOST, LinearQuery
from discreet.query.question import Term
from discreet.schema.metadata import UNIT
from tests.vault.sealed_rows import engine_with, key, term

GRID = Cells((key("c1", 3, missing=True),))

TERMS = {
    "small": term(high=6),
    "odd width": term(high=7),
    "signed": term(low=-3, high=4, scale="1/3", offset="5/7"),
    "boolean": term(high=1),
    "negative": term(low=-9, high=-2, scale=2),
    "narrower than the column": term(low=2, high=4),
    "wide": term(high=2**30),
}

rows = st.lists(
    st.fixed_dictionaries(
        {
            "person": st.integers(0, 3),
            "c0": st.none() | st.integers(0, 9) | st.just(2**30),
            "c1": st.none() | st.integers(0, 4),  # 3 and 4 are not declared keys
        }
    ),
    max_size=24,
)


def all_queries(over: Term, rows_per_person: int) -> list[LinearQuery]:
    squared = linear_queries.square(over, rows_per_person).query
    whole = [
        linear_queries.rows_with(over),
        linear_queries.deviation(over, rows_per_person),
        linear_queries.total(over, rows_per_person),
    ]
    return [linear_queries.rows(), linear_queries.persons(), *whole, *([squared] if squared else [])]


def vectors(engine: DuckDB, wanted: Sequence[LinearQuery], without: int | None, grid: Cells = GRID) -> list[Any]:
    where = None if without is None else ir.compared("<>", ir.sealed("person"), ir.number(without))
    sums = [query.tree for query in wanted if query.tree is not None]
    rows = engine.run(engine.rows.sums(where=where, keys=grid.trees(), sums=sums))
    columns = iter([dense(rows.sums[:, j], grid.places(rows.keys, None), grid.declared) for j in range(len(sums))])
    people = engine.run(engine.rows.persons(where=where, keys=grid.trees(), cap=UNIT))
    counted = dense(people.sums[:, 0], grid.places(people.keys, None), grid.declared)
    return [counted if query.persons else next(columns) for query in wanted]


def holds(declared: Sensitivity, change: Any) -> bool:
    norms = {
        "entries": np.count_nonzero(change),
        "each": np.abs(change).max(),
        "l1": np.abs(change).sum(),
        "l2_squared": sum(int(x) ** 2 for x in change),
    }
    monotonic = declared.monotonic != "up" or bool((change >= 0).all())
    return monotonic and all(int(norms[name]) <= getattr(declared, name) for name in norms)


@given(data=rows, rows_per_person=st.integers(1, 3))
@settings(max_examples=8, deadline=None)
def test_no_person_exceeds_the_declared_sensitivity_of_a_linear_query(data: Any, rows_per_person: int) -> None:
    wanted = [query for over in TERMS.values() for query in all_queries(over, rows_per_person)]
    with engine_with(data, rows_per_person) as engine:
        everyone = vectors(engine, wanted, None)
        for person in range(4):
            others = vectors(engine, wanted, person)
            for query, with_them, without in zip(wanted, everyone, others, strict=True):
                declared = query.sensitivity(rows_per_person, GRID.declared)
                assert holds(declared, with_them - without), (query.description, query.key)


@pytest.mark.parametrize("over", TERMS.values(), ids=TERMS.keys())
def test_a_person_at_an_end_of_the_bounds_attains_the_declared_sensitivity(over: Term) -> None:
    wanted, largest = all_queries(over, rows_per_person=2), [0] * 9
    for code in {over.low, over.high, (over.low + over.high) // 2}:
        for groups in ((0, 0), (0, 1)):
            with engine_with([{"person": 0, "c0": code, "c1": group} for group in groups], 2) as engine:
                moved = [int(np.abs(change).sum()) for change in vectors(engine, wanted, None)]
                largest = [max(pair) for pair in zip(moved, largest, strict=False)]
    assert largest == [query.sensitivity(2, GRID.declared).l1 for query in wanted]


def test_one_person_in_a_thousand_groups_costs_as_one() -> None:
    grid = Cells((key("c1", 1000),))
    rows = [{"person": 7, "c0": 10, "c1": group} for group in range(1000)]
    wanted = all_queries(term(), 3)
    with engine_with(rows, rows_per_person=3) as engine:
        for query, change in zip(wanted, vectors(engine, wanted, None, grid), strict=True):
            declared = query.sensitivity(3, grid.declared)
            assert np.count_nonzero(change) == 1000
            assert holds(declared, change)
            assert declared.l1 == 3 * UNIT * query.bound


def test_codes_outside_their_bounds_and_missing_ones_cannot_exceed_them() -> None:
    codes = [None, 0, 1, 2, 3, 4, 5, 100, 2**31 - 1]
    wanted = all_queries(term(low=2, high=4), 1)
    with engine_with([{"person": i, "c0": code, "c1": 0} for i, code in enumerate(codes)]) as engine:
        everyone = vectors(engine, wanted, None)
        for person in range(len(codes)):
            for query, a, b in zip(wanted, everyone, vectors(engine, wanted, person), strict=True):
                assert abs(int(a[0] - b[0])) <= UNIT * query.bound


@pytest.mark.parametrize("over", TERMS.values(), ids=TERMS.keys())
def test_rows_without_a_value_add_nothing_but_to_the_rows(over: Term) -> None:
    wanted = all_queries(over, 1)[2:]
    some = [{"person": i, "c0": code, "c1": 0} for i, code in enumerate([0, 3, 2**30])]
    none = [{"person": 9, "c0": None, "c1": group} for group in (0, 1)]
    with engine_with(some) as engine, engine_with([*some, *none]) as more:
        for query, a, b in zip(wanted, vectors(engine, wanted, None), vectors(more, wanted, None), strict=True):
            assert a.tolist() == b.tolist(), query.description


@pytest.fixture(scope="module")
def numbered() -> Iterator[DuckDB]:
    with engine_with([{"person": code, "c0": code} for code in range(60)]) as engine:
        yield engine


@given(
    slope=st.integers(1, 3), start=st.integers(-40, 40), low=st.integers(0, 20), width=st.integers(0, 30),
    shift=st.integers(0, 5),
)  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_an_affine_map_is_the_same_in_python_and_in_the_engine(
    numbered: DuckDB, slope: int, start: int, low: int, width: int, shift: int
) -> None:
    line, code = AffineMap(slope, start, low, low + width, shift), ir.sealed("c0")
    codes = list(range(low, low + width + 1))
    inside = ir.among(code, map(ir.number, codes))
    found = numbered.run(numbered.rows.sums(where=inside, keys=[code], sums=[line.tree(code)]))
    assert {k: v for (k,), v in zip(found.keys, found.sums[:, 0].tolist(), strict=True)} == {
        code: line.at(code) for code in codes
    }
    exact = [Fraction(slope * code + start, 2**shift) for code in codes]
    assert all(abs(line.at(c) - x) <= Fraction(1, 2) for c, x in zip(codes, exact, strict=True))
    assert max(abs(line.at(code)) for code in codes) == line.bound


def test_centring_halves_the_bound_whether_the_width_is_even_or_odd() -> None:
    for high in (1, 2, 7, 8, 110):
        line, unit = centred(term(high=high), most=1000)
        assert line.bound * unit == Fraction(high, 2)
        assert {line.at(0), line.at(high)} == {-line.bound, line.bound}


@pytest.mark.parametrize("high", [2**24, 2**24 + 1, 10**9, 2**40, 2**59])
@pytest.mark.parametrize("rows_per_person", [1, 8, 1000, 2**24])
def test_giant_bounds_are_coarsened_until_one_person_fits(high: int, rows_per_person: int) -> None:
    over = term(high=high)
    for query in all_queries(over, rows_per_person):
        moved = query.sensitivity(rows_per_person, 10).l1
        assert moved is not None
        assert moved <= MOST
        assert query.bound >= 1
    away = linear_queries.deviation(over, rows_per_person)
    assert away.slack <= Fraction(high) * rows_per_person / 2**22


def test_giant_bounds_lose_no_row_and_have_no_bias() -> None:
    high, codes = 2**30, [0, 1, 5, 2**29, 2**30 - 3, 2**30, 123456789]
    over = term(high=high, scale="1/100", offset=-7)
    with engine_with([{"person": i, "c0": c} for i, c in enumerate(codes)]) as engine:
        wanted = [linear_queries.deviation(over, 1), linear_queries.total(over, 1)]
        exact = [
            sum(over.scale * (c - high // 2) for c in codes),
            sum(over.scale * c + over.offset for c in codes),
        ]
        for query, found, truth in zip(wanted, vectors(engine, wanted, None, Cells(())), exact, strict=True):
            assert query.slack > 0
            assert abs(int(found[0]) * query.unit / UNIT - truth) <= query.slack * len(codes)


def test_two_levels_need_no_query_for_the_square_and_one_level_no_query_at_all() -> None:
    assert linear_queries.square(term(high=1), 1).query is None
    assert linear_queries.square(term(high=1), 1).middle == 1
    assert centred(term(low=4, high=4), 100)[0].bound == 0


def test_equal_linear_queries_are_shared() -> None:
    assert linear_queries.rows_with(term(nullable=False)) == linear_queries.rows()
    assert linear_queries.deviation(term(), 1) == linear_queries.deviation(term(), 1)
    assert linear_queries.deviation(term(), 1) != linear_queries.deviation(term("c1"), 1)
    assert linear_queries.rows_with(term()) != linear_queries.rows()


def test_a_grid_too_fine_for_int64_is_refused_with_a_fix() -> None:
    with pytest.raises(QuestionRefused, match=r"too fine to add up.*Declare a larger step"):
        linear_queries.total(term(scale=Fraction(1, 10**15), offset=Fraction(1, 7 * 10**20), high=10**15), 1)


@given(
    codes=st.lists(st.integers(0, 4000), min_size=1, max_size=30), rows_per_person=st.sampled_from([1, 16, 4096])
)
@settings(max_examples=6, deadline=None)
def test_mean_and_square_are_recovered_from_their_linear_queries(codes: list[int], rows_per_person: int) -> None:
    over = term(high=4000)
    line, _ = centred(over, MOST // (rows_per_person * UNIT))
    square = linear_queries.square(over, rows_per_person)
    away = linear_queries.deviation(over, rows_per_person)
    assert square.query is not None
    with engine_with([{"person": i, "c0": c} for i, c in enumerate(codes)]) as engine:
        first, second = (int(v[0]) for v in vectors(engine, [away, square.query], None, Cells(())))
    n = len(codes)
    assert first * away.unit / UNIT / n == sum(line.at(c) for c in codes) * away.unit / n
    found = second * square.query.unit / UNIT / n + square.middle
    assert abs(found - Fraction(sum(line.at(c) ** 2 for c in codes), n)) <= square.slack
