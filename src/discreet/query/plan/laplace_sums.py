"""Bound the tail of a weighted sum of Laplace noise, as closely as its law allows.

Let X = Σ c_j·Λ_j with independent Laplace Λ_j of scale 1, R = 1/max |c_j|, and M(z) = E e^{zX} = Π 1/(1 − c_j²z²)
for |Re z| < R.

**Claim.** For 0 < r < R and every step h > 0, with L = 2π/h,

    (h/2π)·Σ_n M(z_n)/z_n·e^{−z_n·s} = Σ_k e^{rkL}·P(X > s + kL) ≥ P(X > s),   z_n = r + inh, n and k over ℤ.

*Proof.* ∫ e^{zs}·P(X > s) ds = M(z)/z for 0 < Re z < R. So y ↦ M(r + iy)/(r + iy) is the Fourier transform of
s ↦ e^{rs}·P(X > s), which is continuous, of bounded variation and integrable; the transform falls as |y|⁻³ at
least. Poisson's summation formula gives the equality. All terms on the right are positive, and one is
P(X > s). ∎

So the sum is never too small, and it falls in s, as every term on the right does. What it adds is
e^{−rL}·P(X > s − L) ≤ e^{−rL} for k = −1 and about e^{−(R−r)·L} for k = 1: h is chosen so that both are small
beside the tail that is looked for.

**What is left out.** Let a_j = c_j², a the largest of them. For y = nh ≥ Y = Nh, |1 − a_j·(r + iy)²| is at least
1 − a_j·r² + a_j·y². With G(y) = Π 1/(1 − a_j·r² + a_j·y²), G(y) ≤ G(Y)·(1 + (1 − ar²)/(aY²))·(Y/y)². So the terms
with |n| > N add up to at most (1/π)·∫_Y^∞ G(y)/y dy·e^{−rs} ≤ G(Y)·(1 + (1 − ar²)/(aY²))/(2π)·e^{−rs}. That is
added. Sums of floats are within a relative 10⁻¹² of Σ |M(z_n)/z_n|, which is added too.

**Equal factors** are counted, not listed. To make them equal they are rounded up by up to 2⁻⁴⁰ of the largest, by
which the tail only grows: given the variances of its terms X is normal, and its variance grows.

Chernoff's bound ½·e^{−rs}·M(r) (the ½ as X is a mixture of centred normals) holds as well; the smaller of both
is returned. Tested in tests/query/plan/test_laplace_sums.py against partial fractions; used by `prefix_tree`.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

_GRID = np.geomspace(1e-6, 0.999, 200)  # of r²/R², for the r of Chernoff's bound
_ALIAS = 1e-4  # what the terms k = ±1 may add, as a share of the tail
_TERMS = 256  # the largest N: beyond, Chernoff's bound stays
_HALVINGS = 48
_GRAIN = 2.0**-40
_ROUNDING = 1e-12


def quantile(coefficients: Floats, beta: float) -> float:
    """Return a number that Σ c_j·Λ_j exceeds with probability beta at most.

    Args:
        coefficients: The factors c_j of independent Laplace noise of scale 1.
        beta: The probability, below one half.

    >>> round(quantile(np.array([1.0]), 0.05), 3) == round(math.log(10), 3)
    True
    """
    sizes = np.abs(coefficients[coefficients != 0])
    if not len(sizes):
        return 0.0
    grid = float(sizes.max()) * _GRAIN
    rounded, counts = np.unique(np.ceil(sizes / grid), return_counts=True)
    squares = (rounded * grid) ** 2
    rate, above = _chernoff(squares, counts, beta)
    weights, step, missing = _transform(squares, counts, rate, beta)
    if missing * math.exp(-rate * above) > beta / 2:
        return above

    def tail(s: float) -> float:
        turns = np.exp(-1j * step * s * np.arange(len(weights)))
        return math.exp(-rate * s) * (float((weights * turns).real.sum()) + missing)

    low, high = 0.0, above
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if tail(middle) <= beta else (middle, high)
    return high


def _chernoff(squares: Floats, counts: NDArray[np.int64], beta: float) -> tuple[float, float]:
    """Return the rate r of Chernoff's bound, and the bound."""
    end = 1 / math.sqrt(float(squares.max()))
    rates = end * np.sqrt(_GRID)
    logarithms = -np.log1p(-np.outer(rates**2, squares)) @ counts
    found = (math.log(1 / (2 * beta)) + logarithms) / rates
    best = int(found.argmin())
    return float(rates[best]), float(found[best])


def _transform(
    squares: Floats, counts: NDArray[np.int64], rate: float, beta: float
) -> tuple[NDArray[np.complex128], float, float]:
    """Return the terms n ≥ 0 of the sum without e^{−z_n·s}, the step h, and a bound of what they leave out.

    Terms n and −n are conjugate, so that those with n > 0 count twice.
    """
    largest = float(squares.max())
    room = min(rate, 1 / math.sqrt(largest) - rate)
    step = 2 * math.pi * room / math.log(1 / (_ALIAS * beta))
    heights = step * np.arange(_TERMS + 1)
    z = rate + 1j * heights
    # Logarithms of products: a product of hundreds of factors might leave the range of floats.
    logarithms = np.log(1 - np.multiply.outer(z**2, squares)) @ counts
    weights = step / (2 * math.pi) * np.exp(-logarithms) / z
    weights[1:] *= 2
    end = heights[-1]
    decay = math.exp(-float(np.log(1 - squares * rate**2 + squares * end**2) @ counts))
    beyond = decay * (1 + (1 - largest * rate**2) / (largest * end**2)) / (2 * math.pi)
    amounts = np.abs(weights)
    kept = int(np.flatnonzero(amounts > _ROUNDING * amounts[0])[-1]) + 1
    return weights[:kept], step, beyond + float(amounts[kept:].sum()) + _ROUNDING * float(amounts.sum())
