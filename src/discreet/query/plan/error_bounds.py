"""Bound the error of a number by the laws of its noises.

One noise: `mechanism.error`, the tail of the law itself. Several noises: a union bound. If noise j stays within
a_j except with probability β_j, all do except with Σ β_j, whether they are independent or not. For a sum Σ
c_j·Z_j, alpha is divided so that β_j is proportional to c_j times the scale, which is best for Laplace tails: Σ
c_j·t_j·ln(1/β_j) is least where c_j·t_j/β_j is the same for all j. Independent discrete Gaussians have a better
bound: each is subgaussian with its parameter v (Canonne, Kamath, Steinke 2020), so Σ c_j·Z_j is subgaussian with Σ
c_j²·v_j, and

    P(|Σ c_j·Z_j| > s) ≤ 2·e^{−s²/(2·Σ c_j²·v_j)}.

The smaller bound is used. Each interval holds by itself: of a hundred at 95 %, about five may be wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from discreet.mechanisms import Gaussian, Laplace, tails
from discreet.query.plan import allocation

Noise = Laplace | Gaussian
_UP = 1 + 2.0**-40  # exceeds the rounding error of the few float operations below


def margin_of_sum(parts: Sequence[tuple[Fraction, Noise]], alpha: Fraction) -> float:
    """Return a margin that |Σ coefficient·noise| exceeds with probability `alpha` at most.

    >>> margin_of_sum([(Fraction(1, 2), Laplace(scale=10))], Fraction(1, 20))
    15.0
    """
    if not parts:
        return 0.0
    if len(parts) == 1:
        ((coefficient, noise),) = parts
        return _above(abs(coefficient) * margin(noise, alpha))
    sizes = [float(abs(coefficient)) * _size(noise) for coefficient, noise in parts]
    shares = allocation.proportional(sizes)
    bounds = [
        abs(coefficient) * margin(noise, alpha * share)
        for (coefficient, noise), share in zip(parts, shares, strict=True)
    ]
    variances = [c**2 * noise.variance for c, noise in parts if isinstance(noise, Gaussian)]
    together = (
        math.sqrt(2 * sum(variances) * tails.log(2 / alpha)) * _UP if len(variances) == len(parts) else math.inf
    )
    return min(_above(sum(bounds, Fraction(0))), together)


def joint_margins(noises: Sequence[Noise], alpha: Fraction) -> list[int]:
    """Return one margin for each noise; all hold together except with probability `alpha`.

    >>> joint_margins([Laplace(scale=10), Laplace(scale=20)], Fraction(1, 20))
    [37, 74]
    """
    return [margin(noise, alpha / len(noises)) for noise in noises]


@lru_cache(maxsize=1024)  # the explanation of a plan and its answer need the same margins
def margin(noise: Noise, alpha: Fraction) -> int:
    """Return a margin that |noise| exceeds with probability `alpha` at most.

    >>> margin(Laplace(scale=10), Fraction(1, 20))
    30
    """
    return noise.error(1 - alpha)


def _size(noise: Noise) -> float:
    return math.sqrt(noise.variance) if isinstance(noise, Gaussian) else float(noise.scale)


def _above(value: Fraction) -> float:
    """Return the least float that is not below the fraction."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
