"""Bound from below what one run of the threshold test loses between two tables.

A run compares values f₁ … f_k with one noisy threshold T + ρ, each with fresh noise ν, until the first "above"
(`kernel.threshold_test`). Both noises are one-sided and geometric, of scales c and b. On the other table the
values are f′₁ … f′_k. An analyst who saw "below" up to j − 1 sees one of two things next: "above" by a gap g, with
probability

    Σ_ρ P(ρ)·Π_{i<j} P(ν < T + ρ − f_i)·P(ν = T + ρ + g − f_j),

or "below" again. For g ≥ f_j − T the last factor is e^{−(T + ρ + g − f_j)/b}, so the ratio of the two tables does
not depend on g. Each of these ratios is a loss of the run, since the outcome could have been that one, also where
it was another; the largest is returned. Sums over ρ are taken as integrals, because scales are millions of units
in an oracle; the result is rounded down by 10⁻⁶. Between tables whose values all move alike the integrals are the
same, and cancel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.kernel.threshold_test import Watch

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)
_POINTS = (_NODES + 1) / 2
_DOWN = 1 - 1e-6


def run_loss(mechanism: Watch, values: Sequence[tuple[int, int]]) -> float:
    """Return an ε that a run loses at least, from the values that it compared on both tables, in their order.

    A query above T that was "below" says that the noise of the threshold is large. A person who raised it, and is
    not in the next query, makes this one less likely to be "above": all of ε is lost.

    >>> watch = Watch(epsilon=1, threshold=4 * 10**6, sensitivity=10**6, monotonic=True)
    >>> at = watch.threshold
    >>> round(run_loss(watch, [(at, at + 10**6), (0, 0)]), 4)
    1.0
    >>> round(run_loss(watch, [(0, 10**6)]), 4), run_loss(watch, [(0, 0)])
    (0.55, 0.0)
    """
    largest = 0.0
    threshold, scale = mechanism.threshold, float(mechanism.query_scale)
    before: list[tuple[float, float]] = []
    for values_here in values:
        moved = (values_here[0] - values_here[1]) / scale
        heights = [_heard(mechanism, [f[side] for f in before], above=True) for side in (0, 1)]
        largest = max(largest, abs(moved + heights[0] - heights[1]))
        before.append((float(values_here[0] - threshold), float(values_here[1] - threshold)))
    quiet = [_heard(mechanism, [f[side] for f in before], above=False) for side in (0, 1)]
    return max(largest, abs(quiet[0] - quiet[1])) * _DOWN


def _heard(mechanism: Watch, excesses: Sequence[float], *, above: bool) -> float:
    """Return ln E[Π P(ν < ρ − x_i)·e^{−ρ/b}], the last factor only before an "above"; x_i is f_i − T.

    Below the largest x nothing is "below", so the integral begins there: ρ = r + that, and v = e^{−r/c}.
    """
    b, c = float(mechanism.query_scale), float(mechanism.threshold_scale)
    start = max([0.0, *excesses])
    factors = np.ones_like(_POINTS)
    for excess in excesses:
        factors *= -np.expm1((excess - start) / b + np.log(_POINTS) * c / b)
    if above:
        factors *= _POINTS ** (c / b)
    mass = float((_WEIGHTS / 2 * factors).sum())
    return math.log(mass) - start / c - (start / b if above else 0.0)
