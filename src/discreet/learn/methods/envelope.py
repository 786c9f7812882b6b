"""Draw from a strongly log-concave posterior of a logistic loss exactly, by rejection from shells of Gaussians.

    target   exp(−k·(F(θ̂ + v) − F(θ̂))),   F = Σ wᵢ·ℓ(yᵢ·xᵢθ) + λ/2·‖θ‖²,   ‖xᵢ‖ ≤ 1,   θ̂ near the minimiser

**Envelope.** The logistic loss of width T has |ℓ‴| ≤ ℓ″/T, so ℓ(m + a) − ℓ(m) − ℓ′(m)·a ≥ ℓ″(m)·a²·ψ(|a|/T) with
ψ(r) = (e^{−r} + r − 1)/r², which falls from ½. As |xᵢv| ≤ ‖v‖, on the shell r ≤ ‖v‖ < s

    F(θ̂ + v) − F(θ̂) ≥ ∇F(θ̂)·v + λ/2·‖v‖² + ψ(s/T)·vᵀHv,   H ≤ ∇²L(θ̂),

and λ/2·‖v‖² ≥ (λ − t)/2·‖v‖² + t/2·r² for t ≥ 0 (with s for r if t < 0). So the target is at most a Gaussian
density on each shell, and so at most the sum of all these Gaussians everywhere. A proposal draws a shell by the
mass of its Gaussian, then a point of that Gaussian, wherever it lies, and the chance of acceptance is the target
over the sum. No step of this asks on which side of a radius a point is, which floats do not know.

Claim. An accepted point has the density of the target, whatever H, θ̂ and the shells are: they decide the speed
alone. In floating point all chances are right up to a factor e^{±κ}, for which the caller pays
(docs/theory/posterior-sampling.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet import noise

Floats = NDArray[np.float64]

UNIT = 2.0**50
"""Standard normal numbers are drawn as multiples of 1/UNIT."""

_CHANCE = 2**40  # exponents of chances are multiples of 1/_CHANCE
_FARTHEST = 2**61
_TILTS = np.concatenate([-(2.0 ** np.arange(4.0, -5.0, -0.5)), [0.0], np.linspace(0.05, 0.9, 18)])
_FIRST, _AT_ONCE = 8, 256  # proposals in the first round, and the most in a later one


def flatness(radius: Floats | float) -> Floats:
    """Return ψ(r) = (e^{−r} + r − 1)/r², rounded down a little.

    >>> flatness(np.array([0.0, 1.0, np.inf])).round(6).tolist()
    [0.5, 0.367879, 0.0]
    """
    r = np.asarray(radius, float)
    # Below 0.01 the series ½ − r/6 is a lower bound, and floats lose nothing to cancellation.
    with np.errstate(invalid="ignore", divide="ignore"):
        far = np.where(np.isinf(r), 0.0, (np.expm1(-r) + r) / np.square(np.maximum(r, 0.01)))
    found: Floats = np.where(r < 0.01, 0.5 - r / 6, far) * (1 - 1e-9)
    return found


def chance(size: int, lam: float, mu: float, count: float, curvature: float, width: float = 1.0) -> float:
    """Return about the least chance of acceptance, as a logarithm: the worst Hessian of so many rows.

    Args:
        size: The number of coefficients.
        lam: λ.
        mu: The μ of the release, so that k = μ²λ.
        count: The number of persons.
        curvature: The largest curvature of the loss.
        width: The width of the loss; 1 by default.

    >>> chance(10, 8.0, 0.25, 1e9, 0.25) > chance(100, 8.0, 0.25, 1e9, 0.25)
    True
    """
    k = mu**2 * lam
    strong = np.arange(1.0, size + 1)
    h = count * curvature / strong
    radius = np.sqrt(strong / (k * (lam + h)) + (size - strong) / (k * lam))
    lost = strong / 2 * np.log((lam + h) / (lam + 2 * flatness(radius / width) * h))
    return -float(lost.max())


@dataclass(frozen=True)
class Shells:
    """Where the envelope changes, and the exponent scale/2·Σ precision·v² + shift of its Gaussian on each shell.

    Args:
        radii: The inner radii of the shells, and infinity.
        precision: λ − t + 2ψh, a row for each shell.
        shift: The constant of the exponent.
        mass: The logarithm of the mass of the Gaussian, up to a constant.
    """

    radii: Floats
    precision: Floats
    shift: Floats
    mass: Floats

    @classmethod
    def of(cls, curvatures: Floats, *, scale: float, lam: float, width: float = 1.0) -> Shells:
        """Return the shells for a Hessian with these eigenvalues; of a few tilts the one of least mass is taken.

        Args:
            curvatures: Eigenvalues that are not above those of ∇²L, in any order.
            scale: k.
            lam: λ.
            width: The width T of the loss; 1 by default.
        """
        typical = math.sqrt(float((1 / (scale * (lam + curvatures))).sum()))
        far = math.sqrt((2 * len(curvatures) + 100 + np.log1p(curvatures / lam).sum()) / (scale * lam))
        # The norm of a Gaussian vector spreads by about 1/√d of itself: shells are as wide.
        ratio = math.exp(1.5 / math.sqrt(len(curvatures) + 1))
        count = max(2, math.ceil(math.log(max(far / typical, 1.0) * 2) / math.log(ratio)))
        radii = np.concatenate([[0.0], typical / 2 * ratio ** np.arange(count), [np.inf]])
        tilts = lam * _TILTS
        precision = np.empty((len(radii) - 1, len(curvatures)))
        mass, shift = np.empty(len(radii) - 1), np.empty(len(radii) - 1)
        for j, (inner, outer) in enumerate(pairwise(radii)):
            flat = float(flatness(outer / width))
            tried = lam - tilts[:, None] + 2 * flat * curvatures
            with np.errstate(invalid="ignore"):  # 0 times infinity, where a tilt does not apply
                edge = np.where(tilts > 0, inner, outer)
                paid = np.where(tilts == 0, 0.0, scale * tilts * np.square(edge) / 2)
            logs = np.where(np.isfinite(paid), -paid - 0.5 * np.log(tried).sum(axis=1), np.inf)
            best = int(np.argmin(logs))
            precision[j], mass[j], shift[j] = tried[best], logs[best], paid[best]
        return cls(radii, precision, shift, mass)


@dataclass(frozen=True)
class Envelope:
    """Shells and their Gaussians, in the basis in which H is diagonal.

    Args:
        scale: k.
        radii: The inner radii of the shells, and infinity.
        precision: λ − t + 2ψh, a row for each shell.
        gaps: How far the logarithm of the mass of each shell's Gaussian is below the largest, over `_CHANCE`.
        height: The constant of the exponent of each shell, consistent with the rounded gaps.
    """

    scale: float
    radii: Floats
    precision: Floats
    gaps: NDArray[np.int64]
    height: Floats

    @classmethod
    def of(cls, curvatures: Floats, *, scale: float, lam: float, width: float = 1.0) -> Envelope:
        """Return the envelope for the eigenvalues of H.

        Args:
            curvatures: The eigenvalues, not above those of the Hessian of the losses.
            scale: k.
            lam: A lower bound of λ.
            width: The width T of the loss.

        >>> made = Envelope.of(np.array([0.0, 100.0]), scale=1.0, lam=1.0)
        >>> made.gaps.min(), len(made.radii) == len(made.gaps) + 1
        (np.int64(0), True)
        """
        shells = Shells.of(curvatures, scale=scale, lam=lam, width=width)
        mass = shells.mass
        gaps = np.rint((mass.max() - mass) * _CHANCE).clip(0, _FARTHEST).astype(np.int64)
        # A shell is drawn in proportion to e^{−gap}: where rounding moved that, its height moves along.
        height = shells.shift + mass + gaps / _CHANCE - mass.max()
        return cls(scale, shells.radii, shells.precision, gaps, height)

    def proposals(self, count: int) -> tuple[Floats, Floats, bool]:
        """Return points, the exponents of the sum of all Gaussians there, and whether bits were for tests."""
        shells = [noise.softmax(self.gaps, over=_CHANCE) for _ in range(count)]
        drawn = noise.discrete_gaussian(int(UNIT) ** 2, size=(count, self.precision.shape[1]))
        picked = np.array([int(shell) for shell in shells])
        points = np.asarray(drawn, float) / UNIT / np.sqrt(self.scale * self.precision[picked])
        return points, self.exponents(points), noise.is_test_noise(drawn)

    def exponents(self, points: Floats) -> Floats:
        """Return −ln of the sum of all Gaussians at points: up to a constant, of the density of a proposal."""
        each = self.scale / 2 * (np.square(points) @ self.precision.T) + self.height
        least = each.min(axis=1)
        found: Floats = least - np.log(np.exp(least[:, None] - each).sum(axis=1))
        return found

    def draw(self, exponent: Callable[[Floats], Floats]) -> tuple[Floats, bool]:
        """Return one point with density ∝ e^{−exponent}, and whether its bits were for tests.

        Args:
            exponent: The exponents of the target at points, which are not below those of the envelope.
        """
        count = _FIRST // 2
        while True:
            count = min(2 * count, _AT_ONCE)
            points, exponents, tested = self.proposals(count)
            excess = np.maximum(exponent(points) - exponents, 0.0)
            steps = np.rint(np.minimum(excess * _CHANCE, _FARTHEST)).astype(np.int64)
            accepted = np.flatnonzero(np.asarray(noise.bernoulli_exp(steps, over=_CHANCE)))
            if len(accepted):
                return points[accepted[0]], tested
