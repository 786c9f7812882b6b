"""Exact sums: the engine, by cells or one by one, and the sample give the same integers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.engines import nodes
from discreet.errors import ParameterError, QuestionRefused
from discreet.learn.statistical_queries import (
    Halfspace,
    Sample,
    StatisticalQuery,
    literals,
    moment,
    predicate,
    schema,
)
from discreet.learn.statistical_queries import exact_sums as sums_module
from discreet.learn.statistical_queries.cells import packed
from discreet.learn.statistical_queries.exact_sums import EngineSums, SampleSums, added
from discreet.learn.statistical_queries.query import GRAIN, condition
from discreet.learn.statistical_queries.rules import errors, true, untrue
from discreet.oracle.linear_query import Value, evaluate
from discreet.query import ir
from discreet.schema import Column, Integer, Real
from discreet.schema.metadata import UNIT
from discreet.vault.vault import Vault
from tests.learn.statistical_queries import tables

PEOPLE = schema(tables.COLUMNS)
ILL = condition(PEOPLE, "ill")
TREES = [
    *(predicate(PEOPLE, text).tree for text in literals(PEOPLE, cuts=3)),
    *(errors(condition(PEOPLE, text), ILL) for text in ("age >= 60", "city = 'Rome' or age > 70", "pay < 100")),
    moment(PEOPLE, "age", when="ill").tree,
    moment(PEOPLE, "pay", signed=True, flip="not ill").tree,
    moment(PEOPLE, None, flip=untrue(ILL)).tree,
    predicate(PEOPLE, true(Halfspace(("age", "pay"), (70000, -30000), 5).mistaken(PEOPLE, ILL))).tree,
    ir.number(GRAIN),
]


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    with tables.sealed(tmp_path_factory.mktemp("sums") / "v", tables.rows()) as opened:
        yield opened


@pytest.mark.parametrize("cells", [2**16, 60, 0])
def test_every_way_gives_the_same_integers(vault: Vault, cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums_module, "MOST_CELLS", cells)
    by_sample = SampleSums(tables.sample())
    by_engine = EngineSums(vault.table().engine(), vault.metadata)
    prepared = by_engine.prepare(TREES)
    assert bool(prepared.direct) == (cells < 2**16)
    assert bool(prepared.cells) == (cells > 0)
    assert len(prepared.cells) < 10
    assert by_engine.run(prepared) == by_sample.run(by_sample.prepare(TREES))


def test_many_stumps_take_few_statements(vault: Vault) -> None:
    """One statement for all hypotheses that fit into one table of cells."""
    trees = [errors(condition(PEOPLE, text), ILL) for text in literals(PEOPLE, ["age", "city"], cuts=50)]
    prepared = EngineSums(vault.table().engine(), vault.metadata).prepare(trees)
    assert (len(trees), len(prepared.cells), len(prepared.direct)) == (108, 1, 0)


def test_expressions_that_compare_with_few_integers_share_a_statement_however_fine_the_column_is() -> None:
    fine = schema({"x": Real(0, 10**6, step="0.001"), "y": Integer(0, 10**9)})
    trees = [condition(fine, text) for text in ("x >= 5 and y < 7", "y in (3, 9) or x is null", "x <> 2", "x < y")]
    tables, alone = packed(trees, {"c0": 10**9 + 1, "c1": 10**9 + 1})
    assert alone == [3]  # the codes themselves are compared
    assert [table.places for table in tables] == [(0, 1, 2)]
    assert tables[0].starts == {"c0": (0, 2000, 2001, 5000), "c1": (0, 3, 4, 7, 9, 10)}


def test_a_column_with_too_many_cuts_keeps_its_codes() -> None:
    trees = [ir.compared(">=", ir.sealed("c0"), ir.number(cut)) for cut in range(1, 3000, 2)]
    tables, alone = packed(trees, {"c0": 3001})
    assert (tables[0].starts, alone) == ({"c0": None}, [])
    assert packed(trees, {"c0": 10**6}) == ([], [*range(1500)])


@pytest.mark.parametrize(
    "text", ["x < 3", "x <= 3", "x > 3", "x >= 3", "x = 3", "x <> 3", "x in (0, 3)", "x is null"]
)
def test_every_code_of_an_interval_is_like_its_first(text: str) -> None:
    codes = np.arange(8)
    tree = condition(schema({"x": Integer(0, 7)}), text)
    starts = np.array(packed([tree], {"c0": 8})[0][0].starts["c0"])
    first = starts[np.searchsorted(starts, codes, "right") - 1]
    here, there = (evaluate(tree, {"c0": Value(x, np.zeros(8, bool))}) for x in (codes, first))
    assert np.broadcast_to(here.value, 8).tolist() == np.broadcast_to(there.value, 8).tolist()
    assert len(starts) <= 4


def test_means_are_right() -> None:
    table = {"x": [0, 5, 10, None], "y": [1.0, 1.0, 0.0, 1.0]}
    found = Sample.of(table, {"x": Integer(0, 10), "y": Integer(0, 1)})
    sums = SampleSums(found)
    queries = [
        moment(found, "x"),
        moment(found, "x", signed=True),
        moment(found, "x", signed=True, flip="y = 1"),
        predicate(found, "x >= 5"),
        moment(found, None, flip="x < 5"),
    ]
    totals = sums.run(sums.prepare([query.tree for query in queries]))
    assert [total / (UNIT * GRAIN) for total in totals] == [1.5, 0, 2, 2, 2]


def test_one_person_changes_no_sum_by_more_than_is_declared() -> None:
    """Over all rows of extreme values, signed and not: the bound of interval arithmetic holds."""
    extremes: list[dict[str, Any]] = [
        {"age": age, "city": city, "pay": pay, "ill": ill}
        for age in (None, -1e9, 0, 99, 1e9, float("nan"))
        for city in (None, "Rome", "nowhere")
        for pay in (None, 0, 1000, float("inf"))
        for ill in (None, True, False)
    ]
    for row in extremes:
        sums = SampleSums(Sample.of({name: [row[name]] for name in row}, tables.COLUMNS))
        assert all(abs(total) <= UNIT * GRAIN for total in sums.run(sums.prepare(TREES)))


def test_a_query_beyond_its_range_is_refused() -> None:
    with pytest.raises(ParameterError, match="must lie in its range"):
        StatisticalQuery("too much", ir.number(GRAIN + 1)).admit(PEOPLE)
    with pytest.raises(ParameterError, match="must lie in its range"):
        StatisticalQuery("negative", nodes.Sub(ir.number(0), ir.number(1))).admit(PEOPLE)
    with pytest.raises(ParameterError, match="must lie in its range"):
        StatisticalQuery("wide", ir.number(0), low=-2).admit(PEOPLE)
    with pytest.raises(ParameterError, match="declared range"):
        moment(PEOPLE, "height")


def test_arithmetic_that_could_overflow_is_refused_whatever_the_rows_are() -> None:
    """The same for rows that would overflow and rows that would not: a refusal must not depend on them."""
    columns: dict[str, Column] = {"x": Integer(0, 2**50), "y": Real(0, 2**30, step=1)}
    product = nodes.Mul(ir.sealed("c0"), ir.sealed("c1"))
    tree = ir.case([(ir.compared(">", product, ir.number(5)), ir.number(GRAIN))], ir.number(0))
    for value in (0, 2**50):
        sums = SampleSums(Sample.of({"x": [value], "y": [value]}, columns))
        with pytest.raises(QuestionRefused, match="above 2\\^62"):
            sums.prepare([tree])


def test_sums_beyond_int64_stay_exact() -> None:
    value = Value(np.array([2**40, 2**40]), np.array([False, False]))
    assert added(value, np.array([2**40, 1])) == 2**80 + 2**40
    assert added(value, np.array([2**70, 1], object)) == 2**110 + 2**40
    assert added(Value(np.array(3), np.array(False)), np.zeros(0, np.int64)) == 0


def test_a_person_with_many_rows_changes_a_sum_by_at_most_what_sealing_allows(tmp_path: Path) -> None:
    """With one row too few in the weight, the difference of the count would be larger than declared."""
    alone, more = tables.rows(20), tables.rows(50, seed=1)
    alone["who"], more["who"] = [*range(20)], [99] * 50
    both = {name: [*alone[name], *more[name]] for name in alone}
    totals, weights = [], set()
    for name, table in (("alone", alone), ("both", both)):
        with tables.sealed(tmp_path / name, table, person="who", rows_per_person=2) as vault:
            sums = EngineSums(vault.table().engine(), vault.metadata)
            totals.append(sums.run(sums.prepare(TREES)))
            weights.add(sums.weight)
    (weight,) = weights
    changes = [abs(there - here) for here, there in zip(*totals, strict=True)]
    assert max(changes) <= weight * GRAIN
    assert max(changes) > 0.99 * weight * GRAIN
