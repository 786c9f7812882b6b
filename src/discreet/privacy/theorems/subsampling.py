"""Credit sampling: a mechanism on a secret random part of the table costs less.

Two samplers, each with the neighbouring relation it needs; mixing them up voids the guarantee:

* `poisson`: every person is in the sample with probability q, independently. Neighbours differ by *adding or
  removing* one person, and the mechanism's own guarantee is for adding or removing one.
* `without_replacement`: m of n people, every set as likely, q = m/n. n is public, neighbours *replace* one person,
  and the mechanism's own guarantee is for replacing one.

Theorem (Balle, Barthe, Gaboardi 2018), for both: if δ(ε) is the mechanism's privacy profile, then on the sample

    δ'(log(1 + q·(e^ε − 1))) ≤ q·δ(ε)   for all ε ≥ 0,

so (ε, δ) becomes (log(1 + q·(e^ε − 1)), q·δ). The sample is drawn afresh for every release and never shown.
For Gaussian noise on a Poisson sample the profile is exact, and the whole pair of laws is known: compose
`PoissonSubsampled(Gaussian(…), rate)` in a plan.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar

from discreet.errors import NotComposable, ParameterError
from discreet.privacy.losses import Approximate, Gaussian, Pure, describe
from discreet.privacy.parameters import nonnegative, probability
from discreet.privacy.pld import normal
from discreet.privacy.rounding import downward, float_above, float_below, sum_upward, upward
from discreet.rational import Rational, whole

Guarantee = TypeVar("Guarantee", Pure, Approximate)

_STEEP = 30  # beyond, e^ε is factored out of 1 + q·(e^ε − 1)


def poisson(loss: Guarantee, rate: Rational) -> Guarantee:
    """Return the guarantee on a Poisson sample of this rate. Neighbours: add or remove one person.

    >>> poisson(Approximate(1, "1e-6"), rate="0.01").delta
    Fraction(1, 100000000)
    """
    return _amplified(loss, probability(rate, "rate"))


def without_replacement(loss: Guarantee, *, sample: int, population: int) -> Guarantee:
    """Return the guarantee on `sample` of `population` people, drawn at once. Neighbours: replace one person.

    >>> float(without_replacement(Pure(1), sample=1, population=100).epsilon)
    0.01703686323617...
    """
    drawn, people = whole(sample, "sample", least=0), whole(population, "population")
    if drawn > people:
        raise ParameterError(
            "sample must lie between 0 and the population, which is 1 or more.",
            found=f"sample={sample}, population={population}",
        )
    return _amplified(loss, Fraction(drawn, people))


def amplified_epsilon(epsilon: Fraction, rate: Fraction) -> Fraction:
    """Return log(1 + rate·(e^epsilon − 1)) rounded up, never above `epsilon`.

    >>> float(amplified_epsilon(Fraction(1), Fraction(1, 100)))
    0.01703686323617...
    """
    if rate in (0, 1):
        return rate * epsilon
    if epsilon > 2**900:
        return epsilon  # log(1/rate) is nothing beside it
    e, q = float_above(epsilon), float_above(rate)
    if e <= _STEEP:
        amplified = upward(math.log1p(q * math.expm1(e)), 16)
    else:
        amplified = sum_upward(e, math.log(q + float_above(1 - rate) * math.exp(-e)), ulps=16)
    return min(epsilon, Fraction(amplified))


def gaussian_delta(loss: Gaussian, *, rate: Rational, epsilon: Rational) -> float:
    """Return δ at `epsilon` of Gaussian noise on a sample, of either kind, rounded up.

    Exact for a Poisson sample under adding or removing one person; for a sample without replacement an upper
    bound, with `loss.sensitivity` that of replacing one.

    >>> gaussian_delta(Gaussian(sigma=1), rate="0.01", epsilon="0.1")
    7.29003769576...e-05
    """
    q, target = probability(rate, "rate"), nonnegative(epsilon, "epsilon")
    if q == 0:
        return 0.0
    mu = float_above(loss.sensitivity / loss.sigma)
    whole = normal.gaussian_delta(mu, _before_sampling(target, q))[1]
    return min(1.0, upward(float_above(q) * whole, 1)) if whole else 0.0


def gaussian_epsilon(loss: Gaussian, *, rate: Rational, delta: Rational) -> float:
    """Return the ε at which Gaussian noise on a sample has this δ, rounded up: the inverse of `gaussian_delta`.

    >>> gaussian_epsilon(Gaussian(sigma=1), rate="0.01", delta="1e-6")
    0.36394783961...
    """
    q, target = probability(rate, "rate"), nonnegative(delta, "delta")
    if q <= target:
        return 0.0
    mu = float_above(loss.sensitivity / loss.sigma)
    whole = normal.gaussian_epsilon(mu, float_below(target / q))[1]
    return whole if math.isinf(whole) else float_above(amplified_epsilon(Fraction(whole), q))


def _amplified(loss: Guarantee, rate: Fraction) -> Guarantee:
    if not isinstance(loss, Pure | Approximate):
        raise NotComposable(
            f"{describe(loss)} is neither pure nor (ε, δ).",
            fix=[
                "For a Poisson sample in a plan, write privacy.PoissonSubsampled(loss, rate).",
                "For one release of Gaussian noise, use gaussian_delta.",
            ],
        )
    changes = {"epsilon": amplified_epsilon(loss.epsilon, rate)}
    if isinstance(loss, Approximate):
        changes["delta"] = rate * loss.delta
    return replace(loss, **changes)


def _before_sampling(epsilon: Fraction, rate: Fraction) -> float:
    """log(1 + (e^ε − 1)/q), rounded down: the ε of the whole table that sampling turns into this one."""
    e, q = float_below(epsilon), float_above(rate)
    if e <= _STEEP:
        return max(0.0, downward(math.log1p(math.expm1(e) / q), 16))
    return e if math.isinf(e) else -sum_upward(-e, math.log(q), -math.log1p(-math.exp(-e)), ulps=8)
