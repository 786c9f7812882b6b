"""Compute residuals: what the columns of a set do together, and fewer of them do not.

The residual of a set A is (⊗ S_i)·x, x the counts of all combinations of the columns of A in units of weight, S_i
the strategy of column i. It is a vector of integers.

**Claim.** One person changes it by at most K·UNIT·√(Π cost_i) in l2, and some person by just so much. *Proof.* A
person who joins raises the counts by δ ≥ 0, and the entries of δ add up to at most K·UNIT. (⊗S_i)·δ is a sum of
columns of ⊗S_i with these factors, and a column has the norm Π‖column of S_i‖ ≤ √(Π cost_i). ∎

**Arithmetic.** Counts are clamped to 2^c first, which lowers no δ below 0 and raises none. The product is
computed in int64, which is arithmetic modulo 2⁶⁴, and in floats beside it. A result beyond ±2⁶² is clamped, as
every exact value is. Floats decide where that is: c is such that they are off by less than 2⁶¹, and they decide
at 1.5·2⁶², halfway between the clamp and 2⁶³, where int64 begins to be wrong. So the clamp is that of the
integer, which brings no two values further apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import Sensitivity
from discreet.mechanisms.exact import LIMIT
from discreet.oracle.span.strategy import Strategy

Integers = NDArray[np.int64]


def residual(counts: Integers, strategies: Sequence[Strategy]) -> Integers:
    """Return (⊗ S_i)·counts, clamped to what an exact value holds. One axis of the array for each strategy.

    >>> from discreet.oracle.span.strategy import strategy
    >>> residual(np.array([[5, 1], [2, 2]]), [strategy(2, 0), strategy(2, 0)]).tolist()
    [[4]]
    """
    counted = np.clip(counts, 0, 2 ** _bits(strategies)).astype(np.int64)
    whole, near = counted, counted.astype(np.float64)
    for axis, chosen in enumerate(strategies):
        whole = np.moveaxis(np.tensordot(chosen.matrix, whole, (1, axis)), 0, axis)
        near = np.moveaxis(np.tensordot(chosen.matrix.astype(np.float64), near, (1, axis)), 0, axis)
    beyond = np.abs(near) >= 1.5 * 2.0**62
    clamped: Integers = np.where(beyond, np.where(near > 0, LIMIT, -LIMIT), np.clip(whole, -LIMIT, LIMIT))
    return clamped


def _bits(strategies: Sequence[Strategy]) -> int:
    """Return c: with up to 2²⁰ cells and 2¹¹ roundings, floats are off by 2^(c + 20 + e + 11 − 53).

    e are the bits of the largest entry of ⊗S_i. The result is 55, or less for four columns.
    """
    entries = sum(max(1, int(np.abs(chosen.matrix).max())).bit_length() for chosen in strategies)
    return min(55, 83 - entries)


def sensitivity(contribution: int, strategies: Sequence[Strategy]) -> Sensitivity:
    """Return how much one person, whose rows weigh at most `contribution`, changes a residual.

    >>> from discreet.oracle.span.strategy import strategy
    >>> sensitivity(4096, [strategy(2, 0), strategy(3, 0)]).l2_squared == 4096**2 * 6
    True
    """
    squared = contribution**2
    for chosen in strategies:
        squared *= chosen.cost
    return Sensitivity(l2_squared=squared)
