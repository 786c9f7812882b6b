"""Make spans over small tables for tests: with the package's own noise, and with whole tables at hand."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import Exact
from discreet.oracle.linear_query import Query
from discreet.oracle.span.design import Column, Design, design
from discreet.oracle.span.plan import noise, variances
from discreet.oracle.span.residuals import residual, sensitivity
from discreet.oracle.span.span import Span
from discreet.oracle.span.strategy import strategy
from discreet.schema.metadata import UNIT

Counts = NDArray[np.int64]


def columns(*shapes: tuple[int, int]) -> tuple[Column, ...]:
    """Return columns of these sizes, of which so many levels have an order."""
    return tuple(Column(size, ordered, strategy(size, ordered)) for size, ordered in shapes)


def made(shapes: tuple[Column, ...], most: int) -> Design:
    found = design(shapes, most)
    assert found is not None
    return found


def drawn(plan: Design, counts: Counts, *, rho: str = "1", promise: str = "every", alpha: str = "0.05") -> Span:
    """Return a span of a table: its residuals as the oracle releases them, from counts in rows."""
    given = variances(plan, Fraction(rho), UNIT)
    span = Span(
        plan.columns,
        {some: variance / UNIT**2 for some, variance in given.items()},
        least=float(min(given.values())) ** 0.5,
        most=plan.most,
        promise=promise,
        alpha=Fraction(alpha),
    )
    for some, variance in given.items():
        strategies = [plan.columns[i].strategy for i in some]
        others = tuple(axis for axis in range(counts.ndim) if axis not in some)
        exact = Exact(
            residual((UNIT * counts).sum(axis=others), strategies).ravel(), sensitivity(UNIT, strategies)
        )
        noisy = np.atleast_1d(noise(plan, some, variance, UNIT).release(exact))
        span.learn(some, np.asarray(noisy, np.float64) / UNIT)
    return span


def box(plan: Design, **ranges: tuple[int, int]) -> Query:
    """Return a count over ranges [low, high) of the columns c0, c1 and so on."""
    conditions = []
    for name, (low, high) in ranges.items():
        i = int(name[1:])
        at = np.arange(plan.columns[i].size)
        conditions.append(([i], ((at >= low) & (at < high)).astype(np.float64)))
    used = tuple(sorted(i for i, _ in ((c[0], w) for c, w in conditions)))
    return Query(used, (), None, str(ranges), conditions=tuple(conditions), whole=True)


def boxes(plan: Design) -> list[dict[str, tuple[int, int]]]:
    """Return all boxes on all columns of a design, wherever one is not the whole column."""
    choices = []
    for i, column in enumerate(plan.columns):
        ends = (
            [(a, b) for a in range(column.size) for b in range(a + 1, column.size + 1)]
            if column.ordered > 2
            else [(a, a + 1) for a in range(column.size)]
        )
        choices.append([{}, *({f"c{i}": end} for end in ends if end != (0, column.size))])
    return [{k: v for part in chosen for k, v in part.items()} for chosen in product(*choices)]


def true(counts: Counts, ranges: dict[str, tuple[int, int]]) -> int:
    places = tuple(slice(*ranges.get(f"c{i}", (None, None))) for i in range(counts.ndim))
    return int(counts[places].sum())
