"""Bound the cost of the best of a secret, random number of private candidates.

A candidate is one run of a private mechanism, together with a private score. The number K of candidates has the
logarithmic law P(K = k) ∝ (1 − γ)^k/k, k ≥ 1, of mean m, and is kept secret. Only the candidate of the best
score is released. Let p(y) be the chance that a candidate beats y. Its release has the density

    A(y) = m·Q(y)·γ/(γ + (1 − γ)·p(y)),

and what neighbours change about the last factor is bounded, because p is the probability of an event (the case η
= 0 of Papernot and Steinke 2022, with the whole trade-off curve of Q in place of one Rényi divergence):

    Q is ε-DP    A is 2ε-DP
    Q is μ-GDP   δ_A(ε) ≤ m·δ_μ(ε − L),   e^L = max_z (γ + (1 − γ)·Φ(z + μ))/(γ + (1 − γ)·Φ(z))

A is also a post-processing of K and of all K candidates, so that δ_A(ε) ≤ E δ_{√K·μ}(ε). Where the smaller of
the two is below the profile of M-GDP for all ε ≥ 0, A is M-GDP, and adds up in a ledger. Proofs:
docs/theory/private-selection.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
from discreet.privacy.pld.normal import gaussian_delta
from discreet.privacy.rounding import upward
from discreet.rational import Rational, positive, shown

Floats = NDArray[np.float64]

_GRAINS = 2**20  # γ is a multiple of 1/_GRAINS
_CELLS = np.linspace(-9.0, 9.0, 2**13 + 1)
_LOOKS = 150  # places at which a profile is compared
_SLACK = 1 - 1e-9  # of δ, for rounding here
_LOST = 1e-13  # what rounding may do to a probability
_TINY = 1e-250  # of δ: profiles are not compared below


@dataclass(frozen=True)
class Logarithmic:
    """The logarithmic law of the number of candidates.

    Args:
        gamma: γ, a fraction between 0 and 1.

    >>> law = Logarithmic.of_mean(10)
    >>> round(law.mean, 3), round(float(law.gamma), 4)
    (10.0, 0.0269)
    """

    gamma: Fraction

    @classmethod
    def of_mean(cls, mean: Rational) -> Logarithmic:
        """Return the law of about this mean."""
        wanted = float(positive(mean, "mean", floats="exact"))
        if not 1 < wanted <= 10_000:
            raise ParameterError(
                "The mean number of candidates must be above 1, and at most 10,000.",
                found=shown(mean),
                fix=Fix("mean", 10),
            )
        low, high = 1, _GRAINS - 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if cls(Fraction(middle, _GRAINS)).mean > wanted else (low, middle)
        return cls(Fraction(high, _GRAINS))

    @cached_property
    def mean(self) -> float:
        """The mean, rounded up."""
        g = float(self.gamma)
        return upward((1 / g - 1) / -math.log(g), 16)

    def chances(self) -> tuple[Floats, Floats, float]:
        """Return runs of numbers by their largest, the chance of each run, and the chance of all larger ones."""
        g = float(self.gamma)
        last = math.ceil(60 / g)
        ends = np.unique(np.concatenate([np.arange(1, 65), np.geomspace(64, last, 60).astype(np.int64)]))
        logs = np.arange(1, last + 1) * math.log1p(-g) - np.log(np.arange(1, last + 1)) - math.log(-math.log(g))
        sums = np.concatenate([[0.0], np.cumsum(np.exp(logs))])
        runs = np.diff(sums[np.concatenate([[0], ends])])
        return ends.astype(float), runs + _LOST, math.exp(-60) / (60 * -math.log(g)) + _LOST


@lru_cache(maxsize=256)
def lift(mu: float, law: Logarithmic) -> float:
    """Return L: how much one person changes the logarithm of the chance to be the best, rounded up.

    >>> law = Logarithmic.of_mean(10)
    >>> round(lift(0.1, law) / 0.1, 1), lift(0.2, law) > lift(0.1, law)
    (1.4, True)
    """
    g = float(law.gamma)
    # Over a cell the numerator is largest at its right end, and the denominator least at its left.
    above = g + (1 - g) * _normal(np.concatenate([_CELLS, [np.inf]]) + mu)
    below = g + (1 - g) * _normal(np.concatenate([[-np.inf], _CELLS]))
    largest = math.log(float((above / below).max()))
    # For a small μ cells are too wide for that. L is at most μ times the steepest slope of the logarithm.
    nearest = np.minimum(np.abs(_CELLS[:-1]), np.abs(_CELLS[1:]))
    density = np.exp(-(np.concatenate([_CELLS[:1], nearest, _CELLS[-1:]]) ** 2) / 2) / math.sqrt(2 * math.pi)
    steepest = mu * float(((1 - g) * density / below).max()) * (1 + 1e-12)
    return float(upward(min(largest, steepest), 64)) + 1e-12


def delta(mu: float, law: Logarithmic, epsilon: float) -> float:
    """Return a δ, never too small, at which the best of μ-GDP candidates is (ε, δ)-DP.

    Args:
        mu: The μ of each candidate with its score.
        law: The law of the number of candidates.
        epsilon: ε.

    >>> delta(0.18, Logarithmic.of_mean(10), 1.0) < 1e-5
    True
    """
    left = epsilon - lift(mu, law)
    if left <= 0:
        return 1.0
    return min(1.0, upward(law.mean * gaussian_delta(mu, math.nextafter(left, 0.0))[1], 8))


def dominated(mu: float, law: Logarithmic, whole: float) -> bool:
    """Return whether the best of μ-GDP candidates is certainly `whole`-GDP.

    The two profiles fall in ε: where the one at the left end of a cell is below the other at its right end, it is
    below on the cell. Cells end where δ is below 10⁻²⁵⁰.

    Args:
        mu: The μ of each candidate with its score.
        law: The law of the number of candidates.
        whole: The μ of the release.

    >>> law = Logarithmic.of_mean(10)
    >>> dominated(0.1, law, 0.32), dominated(0.1, law, 0.25)
    (True, False)
    """
    if whole <= mu:
        return False
    looks, right = _looked(whole)
    ends, chances, beyond = law.chances()
    roots = np.sqrt(ends) * mu
    sampled = (chances[:, None] * _profile(roots[:, None], looks[None, :-1])).sum(axis=0) + beyond
    for i in range(len(looks) - 1):
        found = sampled[i] if sampled[i] < right[i] else min(sampled[i], delta(mu, law, float(looks[i])))
        if found > right[i]:
            return False
    return True


@lru_cache(maxsize=64)
def _looked(whole: float) -> tuple[Floats, list[float]]:
    """Return where profiles are compared, and the profile of `whole`-GDP at the right end of each cell."""
    last = whole
    while gaussian_delta(whole, last)[1] > _TINY and last < 700:
        last *= 1.1
    near, far = np.linspace(0.0, 5 * whole, _LOOKS), np.geomspace(5.05 * whole, max(last, 6 * whole), _LOOKS)
    looks = np.concatenate([near, far])
    return looks, [gaussian_delta(whole, float(look))[0] for look in looks[1:]]


_erfc = np.frompyfunc(math.erfc, 1, 1)


def _normal(x: Floats) -> Floats:
    """Return Φ(x), within 1e-15."""
    return np.asarray(_erfc(-x / math.sqrt(2)), float) / 2


def _profile(mu: Floats, epsilon: Floats) -> Floats:
    """Return the profile of μ-GDP, rounded up."""
    first = _normal(mu / 2 - epsilon / mu)
    second = np.exp(np.minimum(epsilon, 700.0)) * _normal(-mu / 2 - epsilon / mu)
    found: Floats = np.clip(first - second, 0.0, 1.0) + _LOST
    return found


def mu_alone(epsilon: Rational, target: Rational, law: Logarithmic) -> float:
    """Return nearly the largest μ of a candidate such that the best of them is (ε, δ)-DP by itself.

    Args:
        epsilon: ε.
        target: δ.
        law: The law of the number of candidates.

    >>> round(mu_alone(1, "1e-5", Logarithmic.of_mean(10)), 3)
    0.181
    """
    wanted = float(positive(target, "delta")) * _SLACK
    at = math.nextafter(float(positive(epsilon, "epsilon")), 0.0)
    return _above_zero(_largest(lambda mu: delta(mu, law, at) <= wanted, at), law)


def mu_within(whole: float, law: Logarithmic) -> float:
    """Return nearly the largest μ of a candidate such that the best of them is `whole`-GDP.

    >>> 0.3 < mu_within(0.2, Logarithmic.of_mean(10)) / 0.2 < 0.35
    True
    """
    return _above_zero(_largest(lambda mu: dominated(mu, law, whole), whole), law)


def _above_zero(mu: float, law: Logarithmic) -> float:
    if mu <= 0:
        raise ParameterError(
            "No candidate is this private, among so many.",
            found=f"{law.mean:.3g} candidates on average",
            fix=[Fix("epsilon", 1), Fix("candidates", 2)],
        )
    return mu


def _largest(private: Callable[[float], bool], most: float) -> float:
    low, high = 0.0, most
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (middle, high) if private(middle) else (low, middle)
    return low
