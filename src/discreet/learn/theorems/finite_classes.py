"""Bound the risk of the best of finitely many hypotheses, found privately or not (note 003).

n rows are drawn from a distribution; the risk of h is P[h ≠ y], and |H| hypotheses compete. With
probability 1 − β:

| | without privacy: empirical risk minimisation | ε-DP: the exponential mechanism, c = 1 or 2 |
|---|---|---|
| agnostic: excess over the best risk | 2·√(ln(2|H|/β)/(2n)) | 2·√(ln(4|H|/β)/(2n)) + c·ln(2|H|/β)/(nε) |
| realisable: the risk itself | ln(|H|/β)/n | kl⁻¹(c·ln(2|H|/β)/(nε), ln(2|H|/β)/n) |

c is 1 where neighbours add or remove a person, who lowers all scores or none: then e^{−ε·errors} is ε-DP. It is 2
where neighbours replace a person. kl⁻¹(a, b) is the largest r with a·ln(a/r) + (1 − a)·ln((1 − a)/(1 − r)) ≤ b; it
is at most a + b + √(b² + 2ab). The number of errors of the chosen hypothesis is at most c·ln(2|H|/β)/ε above the
least, with probability 1 − β/2, and the rest is Hoeffding's or Chernoff's inequality for all hypotheses together.
Proofs: docs/theory/pac.md. Results are rounded up.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal, TypeAlias, get_args

from discreet.errors import Fix, ParameterError
from discreet.learn.theorems.sample_size import root_above
from discreet.mechanisms import tails
from discreet.privacy.rounding import float_above, sum_upward
from discreet.rational import Rational, positive, rational, shown, whole

Neighbours: TypeAlias = Literal["add/remove", "replace"]
"""The neighbouring relation: one person more or less, or one person changed."""


def erm_agnostic(rows: int, hypotheses: int, beta: Rational = "0.05") -> float:
    """Return the excess risk of the hypothesis with the fewest errors: 2·√(ln(2|H|/β)/(2n)), at most 1.

    >>> round(erm_agnostic(10_000, 1000), 4)
    0.046
    """
    n, size, failure = _parameters(rows, hypotheses, beta)
    return min(1.0, root_above(2 * tails.log(2 * size / failure) / n))


def erm_realisable(rows: int, hypotheses: int, beta: Rational = "0.05") -> float:
    """Return the risk of a hypothesis without errors: ln(|H|/β)/n, at most 1.

    >>> round(erm_realisable(10_000, 1000), 6)
    0.00099
    """
    n, size, failure = _parameters(rows, hypotheses, beta)
    return min(1.0, float_above(tails.log(size / failure) / n))


def excess_errors(
    hypotheses: int, *, epsilon: Rational, beta: Rational = "0.05", neighbours: Neighbours = "add/remove"
) -> float:
    """Return how many more errors than the best the choice has at most: c·ln(|H|/β)/ε.

    Args:
        hypotheses: The number of hypotheses.
        epsilon: The guarantee of the choice.
        beta: The probability of failure.
        neighbours: The neighbouring relation: c is 1 for "add/remove" and 2 for "replace".

    >>> round(excess_errors(1000, epsilon=1), 2), round(excess_errors(1000, epsilon=1, neighbours="replace"), 2)
    (9.9, 19.81)
    """
    _, size, failure = _parameters(1, hypotheses, beta)
    return float_above(factor(neighbours) * tails.log(size / failure) / positive(epsilon, "epsilon"))


def private_agnostic(
    rows: int,
    hypotheses: int,
    *,
    epsilon: Rational,
    beta: Rational = "0.05",
    neighbours: Neighbours = "add/remove",
) -> float:
    """Return the excess risk of the exponential mechanism, for any distribution; at most 1.

    Args:
        rows: The number of rows.
        hypotheses: The number of hypotheses.
        epsilon: The guarantee of the choice.
        beta: The probability of failure.
        neighbours: The neighbouring relation.

    >>> round(private_agnostic(10_000, 1000, epsilon="0.1"), 4)
    0.0581
    """
    n, size, failure = _parameters(rows, hypotheses, beta)
    sampling = root_above(2 * tails.log(4 * size / failure) / n)
    private = excess_errors(size, epsilon=epsilon, beta=failure / 2, neighbours=neighbours)
    return min(1.0, sum_upward(sampling, sum_upward(private / n, 0.0)))


def private_realisable(
    rows: int,
    hypotheses: int,
    *,
    epsilon: Rational,
    beta: Rational = "0.05",
    neighbours: Neighbours = "add/remove",
) -> float:
    """Return the risk of the exponential mechanism where some hypothesis has no risk; at most 1.

    Args:
        rows: The number of rows.
        hypotheses: The number of hypotheses.
        epsilon: The guarantee of the choice.
        beta: The probability of failure.
        neighbours: The neighbouring relation.

    >>> round(private_realisable(10_000, 1000, epsilon="0.1"), 5)
    0.01602
    """
    n, size, failure = _parameters(rows, hypotheses, beta)
    share = sum_upward(excess_errors(size, epsilon=epsilon, beta=failure / 2, neighbours=neighbours) / n, 0.0)
    return kl_inverse(share, float_above(tails.log(2 * size / failure) / n))


def kl_inverse(share: float, bound: float) -> float:
    """Return a number not below the largest r with kl(share, r) ≤ bound, and at most 1.

    Whatever is returned has been checked: kl(share, r) exceeds the bound by more than its rounding. For share = 0
    it is 1 − e^{−bound}.

    >>> round(kl_inverse(0.0, 0.01), 6), round(kl_inverse(0.1, 0.01), 4)
    (0.00995, 0.1477)
    """
    if share >= 1:
        return 1.0
    low, high = share, 1.0
    while high - low > 1e-12 * high and low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if _kl(share, middle) > bound * (1 + 1e-9) + 1e-15 else (middle, high)
    return high


def _kl(a: float, r: float) -> float:
    """Return the divergence of a coin of probability a from one of probability r ≥ a, with r < 1."""
    first = a * math.log(a / r) if a > 0 else 0.0
    return first + (1 - a) * (math.log1p(-a) - math.log1p(-r))


def factor(neighbours: Neighbours) -> int:
    """Return c: how many times ε a score weighs against the sensitivity, 1 or 2.

    >>> factor("add/remove"), factor("replace")
    (1, 2)
    """
    if neighbours not in get_args(Neighbours):
        raise ParameterError(
            "Neighbours add or remove a person, or replace one.",
            found=repr(neighbours),
            fix=Fix("neighbours", "add/remove"),
        )
    return 1 if neighbours == "add/remove" else 2


def _parameters(rows: int, hypotheses: int, beta: Rational) -> tuple[int, int, Fraction]:
    failure = rational(beta, "beta", floats="exact")
    if not 0 < failure < 1:
        raise ParameterError("beta must lie between 0 and 1.", found=shown(beta), fix=Fix("beta", "0.05"))
    return whole(rows, "rows"), whole(hypotheses, "hypotheses"), failure
