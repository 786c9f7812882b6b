"""Show that a hypothesis chosen from its sample says nothing about the population, unless it was chosen privately.

The lecture note's example: rows are points of a large domain, and h_S(x) = 1 if x is in S. On the sample h_S has
mean 1, on the population nearly 0, and Hoeffding's bound, which holds for every hypothesis that was fixed
before, fails.

A private h_S: for every point of the domain a fair coin is flipped, with odds e^ε : 1 towards the truth about
whether the point is in S. Replacing one row changes the truth about two points, so h is 2ε-DP where a row is
replaced: the average gap is at most tanh(ε) (`theorems.expectation`), and it is.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from discreet import noise
from discreet.rational import Rational, positive
from discreet.validity.metric import Integers
from discreet.validity.theorems.expectation import expected_gap


class Memory(NamedTuple):
    """The mean of a hypothesis on its sample, and on the population; and the most that they may differ on
    average."""

    sample: float
    population: float
    bound: float


def memorised(rows: Integers, domain: int) -> Memory:
    """Return what the hypothesis that remembers its sample looks like. The bound is that of no privacy.

    >>> found = memorised(np.arange(100), 1_000_000)
    >>> found.sample, found.population, found.bound
    (1.0, 0.0001, 1.0)
    """
    known = np.zeros(domain, dtype=bool)
    known[rows] = True
    return Memory(float(known[rows].mean()), float(known.mean()), 1.0)


def remembered_privately(rows: Integers, domain: int, epsilon: Rational = "0.1") -> Memory:
    """Return the same with a coin for every point of the domain, which tells the truth with odds e^ε : 1.

    >>> found = remembered_privately(np.arange(20_000), 40_000, epsilon="0.1")
    >>> found.sample - found.population < found.bound
    True
    """
    known = np.zeros(domain, dtype=bool)
    known[rows] = True
    exact = positive(epsilon, "epsilon")
    lies = _lies(exact, domain)
    told = known ^ lies
    return Memory(float(told[rows].mean()), float(told.mean()), expected_gap(2 * float(exact)))


def _lies(epsilon: Fraction, size: int) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return coins that lie with probability 1/(e^ε + 1): the parity of geometric noise is such a coin.

    A discrete Laplace draw, folded to x ≥ 0, is geometric with ratio e^{−1/t}; it is odd with probability
    e^{−1/t}/(1 + e^{−1/t}) = 1/(e^{1/t} + 1), and 1/t = ε.
    """
    drawn = np.asarray(noise.discrete_laplace(1 / epsilon, size))
    folded = np.where(drawn >= 0, drawn, -1 - drawn)
    odd: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = folded % 2 == 1
    return odd
