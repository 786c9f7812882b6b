"""Measure the residuals of a span, one scan at a time, and read them from the journal after a restart.

    plan    the plan, the strategies, noise and overlap of every set, at no cost; written before all measurements
    span    the sets of one scan: their ρ is set aside, the noise is drawn, the numbers are written

The strategies are in the journal because released numbers mean nothing without them, and another machine may round
a root differently. A scan that has begun and has no numbers is spent and lost: questions about its sets have no
answer from the span. No line of this is secret: after the charge, everything here is released or public.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.journal import Journal
from discreet.ledger.costs import cost
from discreet.oracle.exact_sums import Sums
from discreet.oracle.pricing import Terms
from discreet.oracle.span.confidence import split
from discreet.oracle.span.design import Column, Columns, Design, columns_of, design
from discreet.oracle.span.overlap import overlaps
from discreet.oracle.span.plan import OraclePlan, noise, plan, variances
from discreet.oracle.span.span import Span
from discreet.oracle.span.strategy import Strategy
from discreet.query.bins import Axis
from discreet.schema.metadata import UNIT

MOST_TOGETHER = 2**17
"""The most cells that one scan counts for several sets."""

_SOON = 1 / 64  # what a set counts less for every further column that it lacks


def planned(journal: Journal, axes: Sequence[Axis], agreed: Terms, margin: int) -> OraclePlan:
    """Return the plan of an oracle: from its journal, or made now and written there."""
    for record in journal.begun.values():
        if record["begin"] == "plan":
            return OraclePlan.from_json(record["plan"])
    found = plan(axes, agreed, margin)
    facts: dict[str, Any] = {"strategies": {}, "sets": []}
    if found.share and (made := design(columns_of(axes), found.most)) is not None:
        given = variances(made, found.span * (agreed.rho - agreed.for_total), agreed.sensitivity)
        used = sorted({i for columns in made.noise for i in columns})
        facts["strategies"] = {str(i): packed(made.columns[i].strategy.matrix) for i in used}
        facts["sets"] = [[list(columns), variance] for columns, variance in given.items()]
        if found.promise == "every":
            alpha, _ = split(agreed.alpha, True, agreed.promise, bool(found.test), found.certificate)
            overlap = overlaps(made.columns, made.noise, found.most, float(alpha))
            facts["overlap"] = [[list(columns), factor] for columns, factor in overlap.items()]
    journal.end(journal.begin("plan", Fraction(0), plan=found.as_json(), **facts))
    return found


def measured(journal: Journal, sums: Sums, axes: Sequence[Axis], agreed: Terms, plan: OraclePlan) -> Span | None:
    """Return the span of an oracle: what its journal has, and the rest measured now; None without one."""
    facts = next(record for record in journal.begun.values() if record["begin"] == "plan")
    given = {tuple(columns): int(variance) for columns, variance in facts["sets"]}
    if not given:
        return None
    made = Design(_columns(axes, facts["strategies"]), {}, plan.most)
    noises = {columns: noise(made, columns, v, agreed.sensitivity) for columns, v in given.items()}
    alpha, _ = split(agreed.alpha, True, agreed.promise, bool(plan.test), plan.certificate, plan.kept)
    span = Span(
        made.columns,
        {columns: float(drawn.variance) / UNIT**2 for columns, drawn in noises.items()},
        least=math.sqrt(min(drawn.variance for drawn in noises.values())),
        most=plan.most,
        promise=plan.promise,
        alpha=alpha,
        overlap={tuple(columns): float(factor) for columns, factor in facts.get("overlap", [])},
    )
    begun = [record for record in journal.begun.values() if record["begin"] == "span"]
    for record in begun:
        sets = [tuple(columns) for columns in record["sets"]]
        numbers = journal.ended.get(record["n"], {}).get("values")
        for place, columns in enumerate(sets):
            if numbers is None:
                span.forget(columns)
            else:
                span.learn(columns, unpacked(numbers[place]) / UNIT)
            given.pop(columns)
    for places, sets in scans([axis.size for axis in axes], list(given)):
        wanted = {columns: [made.columns[i].strategy for i in columns] for columns in sets}
        counted = sums.prepare_marginal([axes[i] for i in places])
        rho = rounded_up(sum((cost(noises[columns].loss).rho for columns in sets), Fraction(0)))
        step = journal.begin("span", rho, sets=[list(columns) for columns in sets])
        sealed = sums.residuals(places, counted, wanted)
        drawn = {columns: np.atleast_1d(noises[columns].release(sealed[columns])) for columns in sets}
        journal.end(step, values=[packed(drawn[columns]) for columns in sets])
        for columns in sets:
            span.learn(columns, np.asarray(drawn[columns], np.float64) / UNIT)
    return span


def scans(sizes: Sequence[int], sets: Sequence[Columns]) -> Iterator[tuple[Columns, list[Columns]]]:
    """Yield columns to count together, and the sets that are computed from them: every set once.

    To the first set of most columns those columns are added, while cells are few enough, that complete the most of
    the sets which are left; a set that lacks two columns counts a little, for the column after this one.

    >>> list(scans([2, 3, 4], [(), (0,), (0, 1), (1, 2)]))
    [((0, 1, 2), [(), (0,), (0, 1), (1, 2)])]
    """
    left = list(sets)
    within = np.array([[i in columns for i in range(len(sizes))] for columns in left], bool).reshape(
        len(left), len(sizes)
    )
    while left:
        together = within[within.sum(axis=1).argmax()].copy()
        while True:
            cells = math.prod(size for size, used in zip(sizes, together, strict=True) if used)
            allowed = ~together & (cells * np.array(sizes) <= MOST_TOGETHER)
            lacking = (within & ~together).sum(axis=1)
            gains = np.where(allowed, _SOON ** (lacking - 1.0) * (lacking > 0) @ within, 0.0)
            if not gains.any():
                break
            together[int(gains.argmax())] = True
        inside = ~(within & ~together).any(axis=1)
        yield tuple(np.flatnonzero(together).tolist()), [left[place] for place in np.flatnonzero(inside)]
        left, within = [left[place] for place in np.flatnonzero(~inside)], within[~inside]


def rounded_up(rho: Fraction) -> Fraction:
    """Return a cost rounded up to 50 bits: exact sums of hundreds of variances would have thousands of digits.

    >>> rounded_up(Fraction(1, 3)) >= Fraction(1, 3), rounded_up(Fraction(1, 3)).denominator == 2**51
    (True, True)
    """
    bits = 50 - math.floor(math.log2(rho))
    return Fraction(math.ceil(rho * 2**bits), 2**bits)


def packed(numbers: NDArray[np.int64]) -> str:
    """Return integers as a short text: their shape, and their bytes.

    >>> unpacked(packed(np.array([[1, -2]]))).tolist()
    [[1, -2]]
    """
    whole = np.ascontiguousarray(np.asarray(numbers), np.int64)
    shape = ",".join(map(str, whole.shape))
    return f"{shape};{base64.b64encode(zlib.compress(whole.astype('<i8').tobytes(), 1)).decode('ascii')}"


def unpacked(text: str) -> NDArray[np.int64]:
    """Return the integers that `packed` wrote."""
    shape, _, body = text.partition(";")
    found = np.frombuffer(zlib.decompress(base64.b64decode(body)), "<i8").astype(np.int64)
    return found.reshape([int(size) for size in shape.split(",") if size])


def _columns(axes: Sequence[Axis], strategies: Mapping[str, str]) -> tuple[Column, ...]:
    """Return the columns of a design with the strategies of the journal."""
    return tuple(
        replace(column, strategy=Strategy(unpacked(strategies[str(i)]))) if str(i) in strategies else column
        for i, column in enumerate(columns_of(axes))
    )
