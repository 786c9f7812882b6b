"""Record the cost of one release: frozen records, one per kind of guarantee and one per mechanism.

A record states what is known about the pair of output laws (P, Q) on two neighbouring tables, at the stated
sensitivity. Guarantees (`Pure`, `Approximate`, `ZeroConcentrated`, `GaussianDP`, `Renyi`) know only a bound.
Mechanisms (`Laplace`, `DiscreteGaussian`, …) know the whole pair, so that they add up more tightly.
Records do nothing by themselves: `plan` composes them when all parameters are fixed in advance, `session` when the
next step depends on the last answer.

The neighbouring relation (add/remove one person, or replace one) is that for which the sensitivity was computed.
It matters here only for `PoissonSubsampled`, whose loss is not symmetric: a plan names the relation.

Parameters are exact fractions; a float is taken at its exact value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TypeAlias

from discreet.errors import Code, Fix, ParameterError
from discreet.rational import Exactly, Rational, rational, shown, whole


@dataclass(frozen=True)
class Loss:
    """The cost of one release. Multiply by an integer for so many repetitions.

    >>> Pure("0.1") * 3
    Repeated(loss=Pure(epsilon=Fraction(1, 10)), count=3)
    """

    def __mul__(self, count: int) -> Repeated:
        return Repeated(self, count)

    __rmul__ = __mul__


@dataclass(frozen=True)
class Repeated(Loss):
    """The same loss `count` times; `count` is fixed in advance."""

    loss: Loss
    count: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", whole(self.count, "count", least=0))
        if isinstance(self.loss, Repeated):
            object.__setattr__(self, "count", self.count * self.loss.count)
            object.__setattr__(self, "loss", self.loss.loss)


# -- guarantees: a bound and nothing else -----------------------------------------------------------------------


@dataclass(frozen=True)
class Pure(Loss):
    """ε-differential privacy: P(S) ≤ e^ε·Q(S) for every event S, both ways."""

    epsilon: Exactly = Exactly()


@dataclass(frozen=True)
class Approximate(Loss):
    """(ε, δ)-differential privacy: P(S) ≤ e^ε·Q(S) + δ, both ways."""

    epsilon: Exactly = Exactly()
    delta: Exactly = Exactly(most=1)


@dataclass(frozen=True)
class ZeroConcentrated(Loss):
    """ρ-zCDP: the Rényi divergence of order α is at most ρ·α for every α > 1, both ways."""

    rho: Exactly = Exactly()


@dataclass(frozen=True)
class GaussianDP(Loss):
    """μ-GDP: telling P from Q is no easier than telling N(0, 1) from N(μ, 1)."""

    mu: Exactly = Exactly()


@dataclass(frozen=True)
class Renyi(Loss):
    """A Rényi curve: divergence of order `orders[i]` at most `epsilons[i]`, both ways."""

    orders: tuple[Rational, ...]
    epsilons: tuple[Rational, ...]

    def __post_init__(self) -> None:
        orders = tuple(rational(a, "order", floats="exact") for a in self.orders)
        epsilons = tuple(rational(e, "epsilon", floats="exact") for e in self.epsilons)
        if not orders or len(orders) != len(epsilons):
            raise ParameterError(
                "A Rényi curve needs as many epsilons as orders, and at least one of each.",
                found=f"{len(orders)} orders, {len(epsilons)} epsilons",
            )
        if min(orders) <= 1 or min(epsilons) < 0:
            raise ParameterError(
                "Rényi orders must be above 1, and their epsilons not below 0.",
                found=f"order {shown(self.orders)}, epsilon {shown(self.epsilons)}",
            )
        object.__setattr__(self, "orders", orders)
        object.__setattr__(self, "epsilons", epsilons)


# -- mechanisms: the whole pair of laws -------------------------------------------------------------------------


@dataclass(frozen=True)
class Laplace(Loss):
    """Real Laplace noise of density ∝ exp(−|x|/scale) on values of l1 sensitivity `sensitivity`."""

    scale: Exactly = Exactly(above=0)
    sensitivity: Exactly = Exactly(default=1)


@dataclass(frozen=True)
class DiscreteLaplace(Loss):
    """Integer noise P(x) ∝ exp(−|x|/scale) on integers of l1 sensitivity `sensitivity`."""

    scale: Exactly = Exactly(above=0)
    sensitivity: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity", whole(self.sensitivity, "sensitivity", least=0))


@dataclass(frozen=True)
class Gaussian(Loss):
    """Real Gaussian noise of standard deviation `sigma` on values of l2 sensitivity `sensitivity`."""

    sigma: Exactly = Exactly(above=0)
    sensitivity: Exactly = Exactly(default=1)


@dataclass(frozen=True)
class DiscreteGaussian(Loss):
    """Integer noise P(x) ∝ exp(−x²/(2·variance)) on one integer of sensitivity `sensitivity`.

    If one person changes k entries of a vector by at most d each, the loss is `DiscreteGaussian(v, d) * k`.
    """

    variance: Exactly = Exactly(above=0)
    sensitivity: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity", whole(self.sensitivity, "sensitivity", least=0))


@dataclass(frozen=True)
class RandomizedResponse(Loss):
    """The truth with probability e^ε/(e^ε + k − 1), else one of the k − 1 other answers, each as likely."""

    epsilon: Exactly = Exactly()
    categories: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", whole(self.categories, "categories", least=2))


@dataclass(frozen=True)
class Exponential(Loss):
    """The exponential mechanism, P(r) ∝ exp(ε·u(r)/(2·Δu)): its loss lies in an interval of width ε."""

    epsilon: Exactly = Exactly()


@dataclass(frozen=True)
class PermuteAndFlip(Loss):
    """Permute-and-flip: ε-DP and, unlike the exponential mechanism, no better than that when composed."""

    epsilon: Exactly = Exactly()


@dataclass(frozen=True)
class SparseVector(Loss):
    """A run of the sparse vector technique, with all its answers: ε-DP as a whole."""

    epsilon: Exactly = Exactly()


@dataclass(frozen=True)
class PoissonSubsampled(Loss):
    """`loss` on a sample that holds each person with probability `rate`, drawn afresh and kept secret.

    `loss` is that of the mechanism under adding or removing one person.
    """

    loss: Loss
    rate: Exactly = Exactly(most=1)

    def __post_init__(self) -> None:
        if isinstance(self.loss, Repeated | PoissonSubsampled):
            raise ParameterError(
                "The sample is drawn afresh for every release, so a repeated or sampled loss cannot be sampled.",
                found=type(self.loss).__name__,
                fix="Write PoissonSubsampled(loss, rate) * k, not PoissonSubsampled(loss * k, rate).",
            )


Losses: TypeAlias = Loss | Sequence[Loss]
"""The content of a plan: one loss or several."""


def counted(losses: Losses) -> dict[Loss, int]:
    """Return the distinct losses with how often each occurs, repetitions multiplied out.

    >>> counted([Pure(1), Pure(1) * 2])
    {Pure(epsilon=Fraction(1, 1)): 3}
    """
    counts: dict[Loss, int] = {}
    for loss in [losses] if isinstance(losses, Loss) else losses:
        if not isinstance(loss, Loss):
            raise ParameterError(
                "A plan is made of losses.", found=shown(loss), fix=Fix("losses", Code("[privacy.Pure(1)]"))
            )
        single, count = (loss.loss, loss.count) if isinstance(loss, Repeated) else (loss, 1)
        if count:
            counts[single] = counts.get(single, 0) + count
    return counts


def describe(loss: Loss) -> str:
    """Return the loss in one short line, for tables and messages.

    >>> describe(Gaussian(sigma=100) * 10)
    '10 × Gaussian(sigma=100, sensitivity=1)'
    """
    if isinstance(loss, Repeated):
        return f"{loss.count} × {describe(loss.loss)}"
    parts = (
        f"{f.name}={describe(value) if isinstance(value := getattr(loss, f.name), Loss) else value}"
        for f in fields(loss)
    )
    return f"{type(loss).__name__}({', '.join(parts)})"
