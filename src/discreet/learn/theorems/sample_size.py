"""Compute how many rows private learning from statistical queries needs (note 001, Theorem 3.2).

Setting. K statistical queries with values in [0, 1], m rows drawn from a distribution, m public, neighbours
replace one row. Each mean gets Laplace noise of scale K/(εm), so that all K are ε-differentially private together.

Theorem. If m ≥ max(2K/(ετ)·ln(2K/β), 2/τ²·ln(4K/β)), then with probability 1 − β all K answers are within τ of the
expectations. Proof: all noises are within τ/2 except with probability K·e^{−τεm/(2K)} ≤ β/2, and all means of the
rows except with 2K·e^{−mτ²/2} ≤ β/2 (Hoeffding). ∎ Queries that are chosen from earlier answers break the second
half: the rows are then no fresh sample for them, and more rows, or the theorems about generalisation, are needed.
For values in [−1, 1] both ranges double: max(4K/(ετ)·ln(2K/β), 8/τ²·ln(4K/β)). The proof is in docs/theory/pac.md.

The proof in the notes has no union bound over the K noises: `notes_sample_size` is its formula, and
`noise_failure` the exact probability that one of the noises exceeds τ/2: 0.994 there, where the notes promise
0.05.

All results are rounded up.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.errors import Fix, ParameterError
from discreet.mechanisms import tails
from discreet.privacy.rounding import float_above
from discreet.rational import Rational, positive, rational, shown, whole


def sample_size(
    queries: int, tolerance: Rational, *, epsilon: Rational, beta: Rational = "0.05", signed: bool = False
) -> int:
    """Return a number of rows with which all answers are within the tolerance, privately.

    Args:
        queries: The number K of statistical queries, fixed in advance.
        tolerance: The tolerance τ.
        epsilon: The guarantee of all answers together, for neighbours that replace a row.
        beta: The probability of failure.
        signed: Whether values lie in [−1, 1]; in [0, 1] by default.

    >>> sample_size(100, "0.1", epsilon=1, beta="0.05")
    16589
    >>> sample_size(100, "0.1", epsilon=1, beta="0.05", signed=True)
    33177
    """
    private, sampling = sample_size_parts(queries, tolerance, epsilon=epsilon, beta=beta, signed=signed)
    return max(private, sampling)


def sample_size_parts(
    queries: int, tolerance: Rational, *, epsilon: Rational, beta: Rational = "0.05", signed: bool = False
) -> tuple[int, int]:
    """Return the rows that privacy needs, and the rows that sampling needs without it.

    Args:
        queries: The number K of statistical queries.
        tolerance: The tolerance τ.
        epsilon: The guarantee of all answers together.
        beta: The probability of failure.
        signed: Whether values lie in [−1, 1].

    >>> sample_size_parts(10, "0.005", epsilon=1, beta="0.05")
    (23966, 534769)
    """
    count, tau, loss, failure = _parameters(queries, tolerance, epsilon, beta)
    width = 2 if signed else 1
    private = width * 2 * count / (loss * tau) * tails.log(2 * count / failure)
    sampling = width**2 * 2 / tau**2 * tails.log(4 * count / failure)
    return tails.ceiling(private), tails.ceiling(sampling)


def notes_sample_size(queries: int, tolerance: Rational, *, epsilon: Rational, beta: Rational = "0.05") -> int:
    """Return the number of rows that the proof in the notes asks for, which is too small.

    It is max(2K/(ετ)·ln(1/β), 1/τ²·ln(K/β)): each noise is within τ/2 with probability 1 − β, not all of them.

    Args:
        queries: The number K of statistical queries.
        tolerance: The tolerance τ.
        epsilon: The guarantee of all answers together.
        beta: The probability of failure that is claimed.

    >>> notes_sample_size(100, "0.1", epsilon=1, beta="0.05")
    5992
    """
    count, tau, loss, failure = _parameters(queries, tolerance, epsilon, beta)
    private = 2 * count / (loss * tau) * tails.log(1 / failure)
    return max(tails.ceiling(private), tails.ceiling(tails.log(count / failure) / tau**2))


def noise_failure(rows: int, queries: int, tolerance: Rational, *, epsilon: Rational) -> float:
    """Return the probability that one of K Laplace noises of scale K/(εm) exceeds τ/2, rounded up.

    It is 1 − (1 − e^{−τεm/(2K)})^K, without any sampling error.

    Args:
        rows: The number m of rows.
        queries: The number K of statistical queries.
        tolerance: The tolerance τ.
        epsilon: The guarantee of all answers together.

    >>> [round(noise_failure(m, 100, "0.1", epsilon=1), 3) for m in (5992, 16589)]
    [0.994, 0.025]
    """
    count, tau, loss, _ = _parameters(queries, tolerance, epsilon, Fraction(1, 2))
    single = tails.exp(-tau * loss * whole(rows, "rows", least=0) / (2 * count))
    inside = tails.exp(count * tails.log(1 - single)) if single < 1 else Fraction(0)
    return float_above(min(Fraction(1), (1 - inside) * (1 + Fraction(1, 10**40))))


def _parameters(
    queries: int, tolerance: Rational, epsilon: Rational, beta: Rational
) -> tuple[int, Fraction, Fraction, Fraction]:
    tau, failure = positive(tolerance, "tolerance"), rational(beta, "beta", floats="exact")
    if not 0 < failure < 1:
        raise ParameterError("beta must lie between 0 and 1.", found=shown(beta), fix=Fix("beta", "0.05"))
    if tau >= 1:
        raise ParameterError("A tolerance must be below 1.", found=shown(tolerance), fix=Fix("tolerance", "0.1"))
    return whole(queries, "queries"), tau, positive(epsilon, "epsilon"), failure


def tolerance_at(rows: int, queries: int, *, epsilon: Rational, beta: Rational = "0.05") -> float:
    """Return a tolerance that the theorem promises at a number of rows, rounded up: the inverse of `sample_size`.

    It is the larger of 2K/(εm)·ln(2K/β) and √(2·ln(4K/β)/m).

    Args:
        rows: The number m of rows.
        queries: The number K of statistical queries.
        epsilon: The guarantee of all answers together.
        beta: The probability of failure.

    >>> round(tolerance_at(16589, 100, epsilon=1), 4)
    0.1
    """
    count, _, loss, failure = _parameters(queries, Fraction(1, 2), epsilon, beta)
    m = whole(rows, "rows")
    private = 2 * count / (loss * m) * tails.log(2 * count / failure)
    return max(float_above(private), root_above(2 * tails.log(4 * count / failure) / m))


def root_above(square: Fraction) -> float:
    """Return a float that is not below the root of a fraction.

    >>> root_above(Fraction(2)) >= 2**0.5
    True
    """
    found = math.sqrt(float_above(square))
    while Fraction(found) ** 2 < square:
        found = math.nextafter(found, math.inf)
    return found
