"""Release a noisy Hessian, and say from it how far coefficients may be off.

The noise b in the objective moves the minimiser by about H⁻¹b, and another sample of the same size would move it
by about H⁻¹ in covariance. H is private, so a share of the budget buys a noisy one, at the coefficients that were
released.

Claim. The upper triangle of Σ wᵢ·ℓ″(mᵢ)·xᵢxᵢᵀ is a vector of integers: curvatures are rounded down to multiples
of a unit u (`curve_of`), the entries of x are integers, and the sums are divided by `_COARSE` and rounded down.
One person, whose rows together weigh at most one, moves it by at most c/u·SCALE²/`_COARSE` + √(number of entries)
in l2, c the largest ℓ″: the upper triangle of xxᵀ is no longer than xxᵀ, whose norm is ‖x‖² ≤ SCALE², and
rounding moves an entry by less than 1.

The deviations are on the safe side. Noise of deviation s on the entries changes no eigenvalue by more than about
2s√d + 3s. Eigenvalues are lowered by that, though not below λ, so that H is more likely too small than too large,
and deviations more likely too large than too small. They are a normal approximation, for the coefficients of the
regularised fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.learn.feature_map import SCALE
from discreet.learn.methods.gradients import Sums, curve_of
from discreet.learn.methods.hat_sums import HatSums
from discreet.mechanisms import Exact, Gaussian, Sensitivity
from discreet.privacy.theorems.learning.margin_loss import MarginLoss
from discreet.privacy.theorems.learning.tolerance import SMOOTHING

Floats = NDArray[np.float64]

_COARSE = 2**14


@dataclass(frozen=True)
class Curvature:
    """A noisy Hessian of so many features.

    Args:
        size: The number of features.
        law: How the curvature of the loss is bounded.
        rho: What it may cost.

    >>> from discreet.privacy.theorems.learning import LOGISTIC
    >>> made = Curvature(2, LOGISTIC, Fraction(1, 2))
    >>> made.moved, round(made.deviation, 2)
    (16777218, 0.25)
    """

    size: int
    law: MarginLoss
    rho: Fraction

    @property
    def entries(self) -> int:
        """The number of entries of the upper triangle."""
        return self.size * (self.size + 1) // 2

    @property
    def moved(self) -> int:
        """The most that one person moves the vector that is released, in l2."""
        largest = self.law.curvature / (4 if self.law.saturates else 1)
        row = math.ceil(largest * curve_of(self.law)) * SCALE**2
        return -(-row // _COARSE) + math.isqrt(self.entries) + 1

    @property
    def mechanism(self) -> Gaussian:
        """The noise: ρ-zCDP, and √(2ρ)-Gaussian DP as well."""
        square = self.moved**2
        return Gaussian(math.ceil(Fraction(square) / (2 * self.rho)) + SMOOTHING, Sensitivity(l2_squared=square))

    @property
    def deviation(self) -> float:
        """The deviation of the noise on an entry of the Hessian."""
        return math.sqrt(self.mechanism.variance) / self._unit

    def released(self, sums: Sums | HatSums, theta: Floats) -> tuple[Floats, bool]:
        """Return the noisy Hessian of the loss at public coefficients, and whether its noise was predictable."""
        upper = np.triu_indices(self.size)
        exact = [int(value) // _COARSE for value in sums.exact_hessian(theta)[upper]]
        noisy = self.mechanism.release(Exact(exact, Sensitivity(l2_squared=self.moved**2)))
        found = np.zeros((self.size, self.size))
        found[upper] = np.asarray(noisy, float) / self._unit
        return found + np.triu(found, 1).T, noise.is_test_noise(noisy)

    def deviations(self, noisy: Floats, lam: float, sigma: float) -> Floats:
        """Return the deviations of the coefficients, for noise in the objective and for the sample.

        Args:
            noisy: The noisy Hessian of the loss.
            lam: λ.
            sigma: The deviation of the noise in the objective.
        """
        values, vectors = np.linalg.eigh(noisy + lam * np.eye(self.size))
        lowered = np.maximum(values - self.deviation * (2 * math.sqrt(self.size) + 3), lam)
        # b has covariance σ²I, and the gradient of the sample at most H − λI.
        variances = (sigma**2 + lowered - lam) / lowered**2
        found: Floats = np.sqrt(np.einsum("ij,j,ij->i", vectors, variances, vectors))
        return found

    @property
    def _unit(self) -> float:
        return float(curve_of(self.law)) * SCALE**2 / _COARSE
