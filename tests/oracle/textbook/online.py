"""Small settings and adversaries that the tests of both online mechanisms share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.errors import BudgetExceeded
from discreet.mechanisms import Exact
from discreet.oracle import Answer
from discreet.oracle.textbook.interaction import QueryRun

FALSE_ALARM = "1e-7"


def skewed(cells: int, rows: int, seed: int) -> np.ndarray:
    """A table of exactly so many rows, most of them in few cells."""
    counts: np.ndarray = np.random.default_rng(seed).multinomial(
        rows, np.random.default_rng(seed + 1).dirichlet(np.full(cells, 0.2))
    )
    return counts


def stubborn(run: QueryRun, counts: np.ndarray, queries: np.ndarray, times: int) -> list[tuple[Answer, int]]:
    """Ask what the hypothesis gets most wrong, as often as it takes: each answer, and the truth."""
    rows, found = int(counts.sum()), []
    for _ in range(times):
        query = queries[int(np.argmax(np.abs(queries @ run.hypothesis - queries @ counts / rows)))]
        found.append((run.ask(query), int(query @ counts)))
    return found


def seen(mechanism: Any, counts: Sequence[int], queries: Sequence[Sequence[int]]) -> list[Any]:
    """All that an onlooker sees of a run: answers, then whether it ended."""
    run = mechanism.start(Exact(list(counts), sensitivity=1))
    shown: list[Any] = []
    for query in queries:
        try:
            answer = run.ask(query)
        except BudgetExceeded as over:
            shown.append(str(over))
            break
        shown.append((int(answer.value), answer.paid))
    return shown
