"""The textbook's mechanisms side by side, on public data: what theorems promise, what is measured, what it costs.

For a number k of queries each mechanism is built for k at the same ε, and asked k queries of a workload in turn.
The error is the largest of all k, as a share of the rows; what is spent is what the updates that were made cost.
Laplace noise on every query, at ε/k each, is what they are compared with; and for the budget, at the ε at which it
would be as accurate as private multiplicative weights promise to be. All this looks at the truth to say how far
off an answer is, so it is for public data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.mechanisms import Exact, Laplace
from discreet.oracle.textbook import censored
from discreet.oracle.textbook.hardt_rothblum import HardtRothblum
from discreet.oracle.textbook.interaction import QueryRun
from discreet.oracle.textbook.pmw import PrivateMultiplicativeWeights
from discreet.oracle.textbook.queries import Queries
from discreet.privacy import plan
from discreet.rational import Rational, positive, whole

PMW, HARDT_ROTHBLUM, EVERY_QUERY = "PMW on AboveThreshold", "Hardt–Rothblum", "Laplace on every query"
"""The names of the series."""


@dataclass(frozen=True)
class Point:
    """One mechanism at one number of queries: errors as shares of the rows, and the ε that was spent.

    `measured` is None where only the theorem was asked, and `spent` where that would say nothing.
    """

    mechanism: str
    queries: int
    promised: float
    measured: float | None = None
    spent: float | None = None


def compared(
    truth: ArrayLike,
    queries: Queries,
    *,
    epsilon: Rational,
    delta: Rational,
    failure: Rational,
    asked: Sequence[int],
    promised: Sequence[int] = (),
) -> list[Point]:
    """Return a point for each mechanism and number of queries: measured where `asked`, else the theorem alone.

    >>> budget = {"epsilon": 1, "delta": "1e-6", "failure": "0.05"}
    >>> points = compared([9 * 10**9, 10**9, 0, 0], Queries.marginals([2, 2], 1), **budget, asked=[8])
    >>> [(point.mechanism, point.promised < 0.5) for point in points]
    [('PMW on AboveThreshold', True), ('Hardt–Rothblum', True), ('Laplace on every query', True)]
    """
    counts = np.asarray(truth, np.int64)
    setting: dict[str, Any] = {
        "cells": counts.size,
        "rows": int(counts.sum()),
        "grid": queries.grid,
        "failure": failure,
    }
    found: list[Point] = []
    for k in sorted({*asked, *promised}):
        online = PrivateMultiplicativeWeights.for_epsilon(epsilon, queries=whole(k, "asked"), **setting)
        first = HardtRothblum(epsilon=epsilon, delta=delta, queries=k, **setting)
        rows = counts if k in asked else None
        found += [_online(online, rows, queries), _first(first, rows, queries, delta)]
        found.append(_paid(positive(epsilon, "epsilon"), online, rows, queries))
    return found


def _online(made: PrivateMultiplicativeWeights, counts: Any, queries: Queries) -> Point:
    if counts is None:
        return Point(PMW, made.queries, made.promise.error)
    run = made.start(Exact(counts, sensitivity=1))
    error = _worst(run, made.queries, counts, queries)
    return Point(PMW, made.queries, made.promise.error, error, float(2 * made.each * run.updates))


def _first(made: HardtRothblum, counts: Any, queries: Queries, delta: Rational) -> Point:
    if counts is None:
        return Point(HARDT_ROTHBLUM, made.queries, made.promise.error)
    run = made.start(Exact(counts, sensitivity=1))
    error = _worst(run, made.queries, counts, queries)
    curve = censored.loss(made.moves / made.noise.scale, run.updates + 1)
    spent = plan.epsilon(curve, delta) if run.updates else 0.0
    return Point(HARDT_ROTHBLUM, made.queries, made.promise.error, error, spent)


def _paid(epsilon: Fraction, online: PrivateMultiplicativeWeights, counts: Any, queries: Queries) -> Point:
    k, full = online.queries, online.rows * online.grid
    made = Laplace.for_epsilon(epsilon / k, queries.grid)
    promised = made.error(1 - online.beta, dimension=k) / full
    as_good = float(epsilon) * promised / online.promise.error
    if counts is None:
        return Point(EVERY_QUERY, k, promised, spent=as_good)
    # Every query is a release of its own, at ε/k: noise of the same law on each.
    missed = made.release(Exact(np.zeros(k, np.int64), queries.grid))
    return Point(EVERY_QUERY, k, promised, float(np.abs(missed).max()) / full, as_good)


def _worst(run: QueryRun, k: int, counts: Any, queries: Queries) -> float:
    """The largest error of k queries, those of the workload in turn."""
    true = queries.weights @ counts / (int(counts.sum()) * queries.grid)
    return max(
        abs(run.ask(queries.weights[i % queries.count]).share - float(true[i % queries.count])) for i in range(k)
    )
