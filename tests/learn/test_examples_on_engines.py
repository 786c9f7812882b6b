"""Rows for learners, on every engine: the same sums to the last digit, and a person weighs at most a whole."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.engines.engine import Engine
from discreet.engines.examples import BATCH, WHOLE, Batch, Examples
from discreet.engines.nodes import Column, Compare, Int
from discreet.errors import DatabaseUnavailable, DiscreetError
from discreet.schema.metadata import UNIT
from tests.engines.test_engines import ENGINES, HOSTILE, PEOPLE, Load, Row

COLUMNS = {name: PEOPLE.sealed_name(name) for name in ("age", "income", "city", "far", "at")}
MARKS = {name: [pytest.mark.xdist_group(name)] for name in ("postgres", "spark")}


@pytest.fixture(scope="module", params=[pytest.param(name, marks=MARKS.get(name, [])) for name in ENGINES])
def load(request: pytest.FixtureRequest) -> Iterator[Load]:
    with ENGINES[request.param](request) as loader:
        yield loader


@pytest.fixture(scope="module")
def engine(load: Load) -> Engine:
    return load(HOSTILE)


def expected(rows: Sequence[Row], *, several: bool) -> list[tuple[int, ...]]:
    """Return the codes and the weight of each row, computed one by one."""
    whole = {row["person"]: sum(r["w"] for r in rows if r["person"] == row["person"]) for row in rows}
    return [
        (
            *(-1 if row[sealed] is None else row[sealed] for sealed in COLUMNS.values()),
            WHOLE * row["w"] // max(whole[row["person"]], 1) if several else row["w"],
        )
        for row in rows
    ]


def digits(names: Sequence[str]) -> Callable[[Batch], list[np.ndarray[Any, Any]]]:
    """Return a function whose totals tell rows apart: sums, sums of products, and a histogram of weights."""

    def parts(batch: Batch) -> list[np.ndarray[Any, Any]]:
        table = np.stack([np.asarray(batch.codes[name], np.int64) for name in names]) % 1009
        weights = np.asarray(batch.weights, np.int64)
        missing = np.stack([np.asarray(batch.codes[name]) == -1 for name in names]).sum(axis=1)
        return [
            table @ weights,
            table @ table.T,
            np.bincount(weights % 16, minlength=16),
            np.array([batch.size]),
            missing,
        ]

    return parts


def in_numpy(rows: Sequence[Row], *, several: bool) -> list[Any]:
    table = np.array(expected(rows, several=several), np.int64).reshape(-1, len(COLUMNS) + 1)
    codes = {name: table[:, i] for i, name in enumerate(COLUMNS)}
    return [part.tolist() for part in digits(list(COLUMNS))(Batch(codes, table[:, -1]))]


@pytest.mark.parametrize("several", [True, False])
def test_the_sums_are_those_of_python_to_the_last_digit(engine: Engine, several: bool) -> None:
    found = engine.examples(engine.rows.selection(COLUMNS, several=several)).total(digits(list(COLUMNS)))
    assert [part.tolist() for part in found] == in_numpy(HOSTILE, several=several)
    assert {part.dtype.kind for part in found} == {"i"}


def test_rows_that_were_made_of_others_add_up_the_same(engine: Engine) -> None:
    def made(batch: Batch) -> Batch:
        return Batch({"twice": 2 * np.asarray(batch.codes["age"], np.int64)}, batch.weights)

    def once_more(batch: Batch) -> Batch:
        return Batch({"more": batch.codes["twice"] + 1}, batch.weights)

    derived = engine.examples(engine.rows.selection(COLUMNS)).derived(made, 8).derived(once_more, 8)
    rows = expected(HOSTILE, several=True)
    for power in (1, 2):
        [found] = derived.total(lambda batch: [np.array([(batch.codes["more"] ** power).sum()])])  # noqa: B023
        assert found.tolist() == [sum((2 * row[0] + 1) ** power for row in rows)]


def test_no_person_weighs_more_than_a_whole(load: Load) -> None:
    """Persons of 1 to 200 rows with any sealed weights: their rows share the weight of one."""
    pick = np.random.default_rng(5)
    empty = dict.fromkeys(HOSTILE[0])
    sizes = [1, 2, 3, 7, 200]
    rows = [
        {**empty, "person": person, "w": int(pick.integers(UNIT + 1)), "c0": person, "spot": False}
        for person, size in enumerate(sizes)
        for _ in range(size)
    ]
    engine = load(rows)

    def by_person(batch: Batch) -> list[np.ndarray[Any, Any]]:
        weights = np.bincount(batch.codes["age"], np.asarray(batch.weights), minlength=len(sizes))
        return [weights, np.bincount(batch.codes["age"], minlength=len(sizes))]

    weights, found = engine.examples(engine.rows.selection({"age": "c0"})).total(by_person)
    assert found.tolist() == sizes
    assert all(WHOLE - size <= weight <= WHOLE for weight, size in zip(weights, sizes, strict=True))


def test_a_table_without_rows_has_the_shapes_of_any_other(load: Load) -> None:
    engine = load([])
    selection = engine.rows.selection(COLUMNS)
    found = engine.examples(selection).total(digits(list(COLUMNS)))
    assert [part.tolist() for part in found] == in_numpy([], several=True)
    derived = engine.examples(selection).derived(
        lambda batch: Batch({"x": batch.codes["age"] * 0}, batch.weights), 8
    )
    [total] = derived.total(lambda batch: [np.array([batch.codes["x"].sum(), batch.size])])
    assert total.tolist() == [0, 0]


def test_a_condition_selects_rows_before_they_share_their_weight(engine: Engine) -> None:
    kept = [row for row in HOSTILE if row["c5"] == 1]
    where = Compare("=", Column("c5"), Int(1))
    found = engine.examples(engine.rows.selection(COLUMNS, where=where)).total(digits(list(COLUMNS)))
    assert [part.tolist() for part in found] == in_numpy(kept, several=True)


def test_sums_beyond_64_bits_are_exact(engine: Engine) -> None:
    [found] = engine.examples(engine.rows.selection(COLUMNS)).total(
        lambda batch: [np.array([int(batch.size > 0) * (2**63 - 1), -batch.size * 2**54])]
    )
    assert found.tolist() == [2**63 - 1, -240 * 2**54]
    [found] = _in_pieces(engine.examples(engine.rows.selection({"far": "c1"}, several=False)))
    assert found.tolist() == [sum(2**61 if row["c1"] is None else row["c1"] for row in HOSTILE)]


def _in_pieces(examples: Examples) -> list[Any]:
    """Add up codes of 62 bits without leaving int64 in a batch, as a learner does."""

    def parts(batch: Batch) -> list[np.ndarray[Any, Any]]:
        codes = np.asarray(batch.codes["far"], np.int64)
        filled = np.where(codes < 0, 2**61, codes)
        return [np.array([(filled >> 31).sum(), (filled & (2**31 - 1)).sum()])]

    [[high, low]] = examples.total(parts)
    return [np.array([int(high) * 2**31 + int(low)], object)]


def test_codes_are_as_narrow_as_their_limits(engine: Engine) -> None:
    """Memory is what a learner runs out of: a code below 128 takes one byte."""
    selection = engine.rows.selection(COLUMNS)
    assert selection.types == ("int8", "int16", "int8", "int64", "int16")

    def sizes(batch: Batch) -> list[np.ndarray[Any, Any]]:
        widths = [batch.codes[name].dtype.itemsize for name in COLUMNS]
        return [np.array([*widths, batch.weights.dtype.itemsize]) * (batch.size > 0), np.array([batch.size > 0])]

    widths, batches = engine.examples(selection).total(sizes)
    assert (widths // batches).tolist() == [1, 2, 1, 8, 2, 2]


def test_batches_are_small_enough_for_exact_sums_in_float64(load: Load) -> None:
    rows = [{**dict.fromkeys(HOSTILE[0]), "person": i, "w": 1, "spot": False} for i in range(BATCH + 5)]
    engine = load(rows)

    def parts(batch: Batch) -> list[np.ndarray[Any, Any]]:
        return [np.array([batch.size, batch.size > BATCH])]

    [found] = engine.examples(engine.rows.selection({"age": "c0"}, several=False)).total(parts)
    assert found.tolist() == [BATCH + 5, 0]


def test_rows_show_nothing_and_do_not_travel(engine: Engine) -> None:
    examples = engine.examples(engine.rows.selection(COLUMNS))
    assert repr(examples) == "<rows, sealed>"
    written = pickle.dumps(examples)  # a function that holds its rows travels: what arrives has none
    assert len(written) < 100
    with pytest.raises(DiscreetError, match="another process"):
        pickle.loads(written).total(lambda batch: [])


def test_a_function_may_hold_the_rows_that_it_adds_up(engine: Engine) -> None:
    """As a method does whose object has them."""
    examples = engine.examples(engine.rows.selection(COLUMNS))

    class Learner:
        def __init__(self) -> None:
            self.examples, self.factor = examples, 3

        def sum(self) -> int:
            [found] = self.examples.total(lambda batch: [np.array([self.factor * batch.size])])
            return int(found[0])

    assert Learner().sum() == 3 * len(HOSTILE)


def test_an_engine_that_fails_quotes_no_row(engine: Engine) -> None:
    selection = engine.rows.selection(COLUMNS)
    broken = replace(selection, query=f"{selection.query} WHERE CAST(c8 AS INTEGER) = 1")
    with pytest.raises(DatabaseUnavailable) as failure:
        engine.examples(broken).total(digits(list(COLUMNS)))
    assert "quoted" not in str(failure.value)
    assert failure.value.__context__ is None
