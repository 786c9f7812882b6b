"""Audit the textbook mechanisms: replay whole runs on hostile tables, from the rows to the answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from discreet.audit import replay
from discreet.errors import BudgetExceeded
from discreet.mechanisms import Exact
from discreet.oracle import BLR, MWEM, HardtRothblum, PrivateMultiplicativeWeights, Queries
from discreet.oracle.textbook.mwem import learn

ROWS: list[dict[str, Any]] = [{"age": age % 4} for age in (0, 0, 1, 3, 3, 3)]
QUERIES = [[1, 0, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 1]]
SETTING: dict[str, Any] = {"cells": 4, "rows": 6, "queries": 5, "failure": "0.5"}


def histogram(rows: list[dict[str, Any]]) -> Exact:
    """Return ages in four cells: any other value is in the last one."""
    ages = [row.get("age") for row in rows]
    cells = [age if type(age) is int and 0 <= age < 4 else 3 for age in ages]
    return Exact(np.bincount(cells, minlength=4), sensitivity=1)


def interviewed(mechanism: Any) -> Callable[[list[dict[str, Any]]], Any]:
    """Ask, and let the next question depend on the last answer."""

    def computation(rows: list[dict[str, Any]]) -> Any:
        run = mechanism.start(histogram(rows))
        shown: list[tuple[int, bool]] = []
        for query in QUERIES:
            try:
                answer = run.ask(query if not shown or shown[-1][1] else query[::-1])
            except BudgetExceeded as over:
                return [*shown, str(over)]
            shown.append((int(answer.value), answer.paid))
        return [*shown, run.hypothesis.tolist()]

    return computation


def small_database(rows: list[dict[str, Any]]) -> Any:
    return BLR(epsilon=1, queries=Queries(QUERIES), rows=6, size=3).release(histogram(rows)).tolist()


def learned(rows: list[dict[str, Any]]) -> Any:
    found = learn(MWEM.for_epsilon(3, queries=Queries(QUERIES), rows=6, rounds=3, replay=1), histogram(rows))
    return found.measured, np.asarray(found.histogram).tolist()


PMW = PrivateMultiplicativeWeights(alpha=1, each=2, **SETTING)
COMPUTATIONS = {
    "PMW": interviewed(PMW),
    "Hardt–Rothblum": interviewed(HardtRothblum(epsilon=3, delta="0.1", **SETTING)),
    "MWEM": learned,
    "BLR": small_database,
}


@pytest.mark.parametrize("name", COMPUTATIONS)
def test_given_the_released_answers_nothing_else_depends_on_the_table(name: str) -> None:
    verdict = replay(COMPUTATIONS[name], ROWS, name=name, limit=6, seed=3)
    assert not verdict.caught, verdict.words
    assert "no value exceeded its declared sensitivity" in verdict.words


def test_a_size_that_depends_on_the_table_is_caught() -> None:
    """n must be declared: here the threshold depends on the rows."""

    def undeclared(rows: list[dict[str, Any]]) -> Any:
        made = PrivateMultiplicativeWeights(alpha=1, each=2, **(SETTING | {"rows": len(rows) or 1}))
        return interviewed(made)(rows)

    assert replay(undeclared, ROWS, limit=6, seed=3).caught
