"""Replay a whole synthesis on hostile tables, from the rows to the synthetic table."""

from __future__ import annotations

import tempfile
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow
import pytest

from discreet.audit import replay
from discreet.audit.replay.replay import findings
from discreet.ledger import Budget
from discreet.rational import Rational
from discreet.schema import Boolean, Category, Column, Integer
from discreet.synth import measure as fitting
from discreet.synth.exact_marginals import marginals_of
from discreet.synth.measure import Source
from discreet.synth.released import Released
from discreet.vault.vault import Vault

ROWS: list[dict[str, Any]] = [
    {"who": 1, "age": 34, "city": "Oslo", "ill": True},
    {"who": 1, "age": 71, "city": "Bergen", "ill": False},
    {"who": 2, "age": None, "city": "Oslo", "ill": None},
]
DAYS: list[dict[str, Any]] = [{"who": row["who"], "age": row["age"], "day": 3 * i} for i, row in enumerate(ROWS)]
MORE_ROWS: list[dict[str, Any]] = [
    {"who": i // 2, "age": 30 + i % 5, "city": ["Oslo", "Bergen"][i % 2], "ill": i % 2 == 1} for i in range(60)
]
PICKING = 4
"""An ε at which scores of these rows would be noise, and picks are not."""
COLUMNS: dict[str, Column] = {
    "age": Integer(0, 110),
    "city": Category(["Bergen", "Oslo"], other="elsewhere"),
    "ill": Boolean(),
}
MANY_LEVELS: dict[str, Column] = {"age": Integer(0, 110), "day": Integer(0, 99)}
"""Columns of so many levels that the number of rows is measured by itself."""


def _written(name: str, value: Any) -> str | None:
    if value is None or name != "who":
        return None if value is None else str(value)
    whole = (
        isinstance(value, int | float) and value == value and abs(value) != float("inf") and value == int(value)
    )
    return str(int(value)) if whole else repr(value)


def synthesized(rows: list[dict[str, Any]], declared: dict[str, Column] = COLUMNS, epsilon: Rational = 20) -> Any:
    """Seal rows, synthesize, and return all that the analyst sees."""
    names = ["who", *declared]
    columns = {
        name: pyarrow.array([_written(name, row.get(name)) for row in rows], pyarrow.string()) for name in names
    }
    with tempfile.TemporaryDirectory() as folder:
        with Vault.seal(
            pyarrow.table(columns),
            to=f"{folder}/people.vault",
            person="who",
            rows_per_person=2,
            columns=declared,
            budget=Budget(30, "1e-6"),
        ) as vault:
            made = vault.synthesize(epsilon=epsilon, rows=5, persons=True)
            spent = vault.ledger.balance().spent
        seen = [[m.columns, m.values.tolist(), m.variance] for m in made.measurements]
        scores = {name: [s.value for s in scores] for name, scores in made.scores.items()}
        return [
            seen,
            scores,
            made.model.marginal((0, 1)).tolist(),
            [axis.starts for axis in made.axes],
            made.sizes,
            spent,
        ]


def test_a_whole_synthesis_is_private_on_hostile_tables() -> None:
    found = findings(synthesized, ROWS, person="who", limit=1)
    assert not found, found[0].words


def with_a_total(rows: list[dict[str, Any]]) -> Any:
    return synthesized(rows, MANY_LEVELS)


def test_a_synthesis_that_measures_the_number_of_rows_is_private_on_hostile_tables() -> None:
    assert any(columns == () for columns, *_ in with_a_total(DAYS)[0])
    found = findings(with_a_total, DAYS, person="who", limit=1)
    assert not found, found[0].words


def with_picks(rows: list[dict[str, Any]]) -> Any:
    """Synthesize where scores would be noise, which is a fact about ε and the noisy number of rows."""
    return synthesized(rows, epsilon=PICKING)


def test_a_synthesis_that_picks_pairs_is_private_on_hostile_tables() -> None:
    assert any("picked" in with_picks(MORE_ROWS)[1] for _ in range(20))
    found = findings(with_picks, MORE_ROWS, person="who", limit=1)
    assert not found, found[0].words


@pytest.mark.slow
def test_the_replay_catches_picks_by_distances_that_count_each_row_thrice(monkeypatch: pytest.MonkeyPatch) -> None:
    distance = fitting._distance
    monkeypatch.setattr(fitting, "_distance", lambda exact, expected: 3 * distance(exact, expected))
    assert findings(with_picks, MORE_ROWS, person="who", limit=4)


@pytest.mark.slow
def test_the_replay_catches_a_number_of_rows_that_counts_each_five_times(monkeypatch: pytest.MonkeyPatch) -> None:
    def doubled(*given: Any) -> Source:
        exact = marginals_of(*given)
        return lambda columns: exact(columns) * (1 if columns else 5)

    module = import_module("discreet.synth.synthesize")  # the package has a function of this name
    monkeypatch.setattr(module, "marginals_of", doubled)
    assert findings(with_a_total, DAYS, person="who", limit=1)


@pytest.mark.slow
def test_a_whole_synthesis_is_private_on_every_neighbour_that_is_tried() -> None:
    verdict = replay(synthesized, ROWS, person="who", limit=30)
    assert not verdict.caught, verdict.words


@pytest.mark.slow
def test_the_replay_catches_a_marginal_that_was_read_without_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If the rounds chose pairs by exact distances, the choice would depend on the rows."""
    measure = fitting.measure

    def nosy(released: Released, source: Source, budgets: Any) -> None:
        measure(released, source, budgets)
        released.measurements[-1].values[...] += np.asarray(source((0,))).sum() > 3 * 4096

    monkeypatch.setattr(fitting, "measure", nosy)
    assert findings(synthesized, ROWS, person="who", limit=1)
