"""Convert a guarantee for one person into one for `size` people who change at once: group privacy.

A path of `size` neighbours leads from one table to the other, and the laws move a little at each step:

* ε-DP              → size·ε;
* (ε, δ)            → (size·ε, δ·(e^(size·ε) − 1)/(e^ε − 1)), summing δ·e^(jε) over the steps;
* zCDP ρ            → size²·ρ  (Bun and Steinke 2016, Proposition 1.9);
* GDP μ             → size·μ   (Dong, Roth, Su 2022, Theorem 2.14);
* Rényi (α, D_α)    → (α/2^c, 3^c·D_α) for 2^c people and α ≥ 2^(c+1) (Mironov 2017, Proposition 2);
* a mechanism that adds noise → the same noise at size times the sensitivity, exactly.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from discreet.errors import NotComposable
from discreet.privacy.loss_measures import pure_epsilon
from discreet.privacy.losses import (
    Approximate,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    GaussianDP,
    Laplace,
    Loss,
    Pure,
    Renyi,
    Repeated,
    ZeroConcentrated,
    describe,
)
from discreet.privacy.rounding import float_above, float_below, upward
from discreet.rational import rational, whole


def for_group(loss: Loss, size: int) -> Loss:
    """Return the loss for any `size` people together, given the loss for one.

    >>> for_group(ZeroConcentrated("0.01"), 3)
    ZeroConcentrated(rho=Fraction(9, 100))
    """
    size = whole(size, "size")
    match loss:
        case Repeated():
            return for_group(loss.loss, size) * loss.count
        case Laplace() | Gaussian():
            return replace(loss, sensitivity=size * loss.sensitivity)
        case DiscreteLaplace() | DiscreteGaussian():
            return replace(loss, sensitivity=size * loss.sensitivity)
        case ZeroConcentrated():
            return ZeroConcentrated(size**2 * loss.rho)
        case GaussianDP():
            return GaussianDP(size * loss.mu)
        case Renyi():
            return _renyi(loss, size)
        case Approximate():
            return Approximate(size * loss.epsilon, _delta(loss, size))
    epsilon = pure_epsilon(loss)
    if epsilon is None:
        raise NotComposable(
            f"No group theorem covers {describe(loss)}.",
            fix=f"Use the loss that the mechanism has at the sensitivity of {size} people.",
        )
    return Pure(size * epsilon)


def _delta(loss: Approximate, size: int) -> Fraction:
    """δ·Σ e^(jε) over j < size, never above 1."""
    if loss.epsilon == 0 or loss.delta == 0:
        return min(Fraction(1), size * loss.delta)
    if size * loss.epsilon > 700:
        return Fraction(1)
    if float_below(loss.epsilon) == 0:  # e^(size·ε) is hardly above 1
        return min(Fraction(1), 2 * size * loss.delta)
    steps = math.expm1(float_above(size * loss.epsilon)) / math.expm1(float_below(loss.epsilon))
    return min(Fraction(1), loss.delta * Fraction(upward(steps, 12)))


def _renyi(loss: Renyi, size: int) -> Renyi:
    doublings = (size - 1).bit_length()
    least = 2 ** (doublings + 1) if doublings else 1
    orders = [rational(a, "order") for a in loss.orders]
    known = [
        (a / 2**doublings, 3**doublings * rational(e, "epsilon"))
        for a, e in zip(orders, loss.epsilons, strict=True)
        if a >= least
    ]
    if not known:
        raise NotComposable(
            f"A group of {size} needs a Rényi curve that is known at an order of {least} or more.",
            found=f"the largest is {max(orders)}",
        )
    return Renyi(tuple(a for a, _ in known), tuple(e for _, e in known))
