"""Add up the gradient and the Hessian of a linear classifier over all rows, exactly in integers.

    L(θ) = Σ wᵢ·ℓ(yᵢ·xᵢθ),   ∇L = −Σ wᵢ·s(mᵢ)·yᵢ·xᵢ,   ∇²L = Σ wᵢ·ℓ″(mᵢ)·xᵢxᵢᵀ

Claims. Features are integers of at most 12 bits, so every sum below is a sum of integers that a float64 holds
exactly. So the totals do not depend on the order of the rows, on the batches, or on the machine that adds them up,
apart from the last bit of the exponential. The products xᵢθ are exact as well: θ is split in two parts of at most
36 bits. Per row, the slope s is rounded to a multiple of 2⁻⁵², so that the sum of n rows differs from the real
gradient by at most n·2⁻⁵¹ in norm: the tolerance of the solver covers it up to 2³⁰ rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.examples import WHOLE, Batch, Examples
from discreet.learn.feature_map import SCALE, FeatureMap
from discreet.learn.methods.margin_losses import MarginLoss
from discreet.privacy.theorems.learning import margin_loss as theorem

Floats = NDArray[np.float64]

FEATURES, SIGNS = "features", "signs"
"""The names of derived rows: features in units of 1/SCALE, and the sign of the class."""

_COARSE, _FINE = 2.0**16, 2.0**52  # θ is a multiple of 2⁻⁵²; its leading part one of 2⁻¹⁶
_HALF = 2.0**26  # slopes are multiples of 2⁻⁵², in two halves of 26 bits
SLOPE = 1 / _FINE
"""The unit of slopes."""

CURVE = 2**16
"""Curvatures are multiples of 1/CURVE, or of a power of two more for losses that bend more (`curve_of`)."""

_LARGEST = 2**15  # of a curvature in its unit: with features and a batch of rows, sums stay below 2⁵³


def curve_of(law: theorem.MarginLoss) -> Fraction:
    """Return one over the unit of curvatures, a power of two: no curvature of the loss has more than 15 bits.

    >>> curve_of(theorem.LOGISTIC), curve_of(theorem.huberised_hinge("0.05"))
    (Fraction(65536, 1), Fraction(2048, 1))
    """
    found = Fraction(CURVE)
    while largest_curvature(law) * found > _LARGEST:
        found /= 2
    return found


def largest_curvature(law: theorem.MarginLoss) -> Fraction:
    """Return the largest ℓ″ of a loss.

    >>> largest_curvature(theorem.LOGISTIC)
    Fraction(1, 4)
    """
    return Fraction(law.curvature) / (4 if law.saturates else 1)


def signed(examples: Examples, feature_map: FeatureMap, target: str) -> Examples:
    """Return the features of all rows and the signs of their class; a row without a class has no weight."""

    def made(batch: Batch) -> Batch:
        features = feature_map.rows({name: batch.codes[name] for name in feature_map.columns})
        codes = np.asarray(batch.codes[target], np.int64)
        weights = np.where(codes < 0, 0, batch.weights).astype(np.int16)
        signs = np.where(codes == 1, 1, -1).astype(np.int8)
        return Batch({FEATURES: features.astype(np.int16), SIGNS: signs}, weights)

    return examples.derived(made, 2 * feature_map.size + 3)


@dataclass(frozen=True)
class Sums:
    """The sums of one loss over signed rows.

    Args:
        examples: The rows, made by `signed`.
        loss: The loss of the margin.
        size: The number of features.
    """

    examples: Examples
    loss: MarginLoss
    size: int

    def gradient(self, theta: Floats) -> Floats:
        """Return ∇L at θ."""
        parts = split(theta)

        def part(batch: Batch) -> list[Floats]:
            features, margins = _margins(batch, parts)
            slopes = rounded_slopes(self.loss, margins, batch.weights)
            leading = np.trunc(slopes / _HALF)
            both = np.stack([leading, slopes - leading * _HALF]) * batch.codes[SIGNS]
            return [both @ features]

        [total] = self.examples.total(part)
        leading, rest = total.astype(object)
        exact = leading * int(_HALF) + rest
        return -np.array([int(value) / (SCALE * int(_FINE)) for value in exact])

    def hessian(self, theta: Floats) -> Floats:
        """Return ∇²L at θ, with curvatures rounded down to 15 bits: it steers the solver."""
        return np.asarray(self.exact_hessian(theta), float) / (float(curve_of(self.loss.law)) * SCALE**2)

    def exact_hessian(self, theta: Floats) -> NDArray[Any]:
        """Return ∇²L at θ in integers, in units of 1/(`curve_of`·SCALE²), with curvatures rounded down."""
        parts, unit = split(theta), float(curve_of(self.loss.law))

        def part(batch: Batch) -> list[Floats]:
            features, margins = _margins(batch, parts)
            curves = np.floor(self.loss.curvature(margins) * (batch.weights / WHOLE) * unit)
            return [(features * curves[:, None]).T @ features]

        [total] = self.examples.total(part)
        return total

    def sampled(self, halvings: int) -> Sums:
        """Return the sums over about one of 2^halvings rows, chosen by what they hold: on every machine the same.

        It is for the way to a minimum, and not for the minimum.
        """
        multipliers = (np.arange(1, self.size + 1) * 40_503 % 65_521).astype(np.float64)

        def chosen(batch: Batch) -> Batch:
            mixed = (batch.codes[FEATURES].astype(np.float64) @ multipliers).astype(np.int64) * 2_654_435_761
            mixed += batch.codes[SIGNS]
            keep = (mixed >> 20) & (2**halvings - 1) == 0
            return Batch({name: column[keep] for name, column in batch.codes.items()}, batch.weights[keep])

        width, share = 2 * self.size + 3, 2.0 ** (2 - halvings)  # with room for an uneven choice
        return Sums(self.examples.derived(chosen, width, share), self.loss, self.size)


def rounded_slopes(loss: MarginLoss, margins: Floats, weights: NDArray[np.integer]) -> Floats:
    """Return w·s(m) of every row as the gradient adds it up: integers, in units of `SLOPE`.

    >>> from discreet.learn.methods.margin_losses import Logistic
    >>> rounded_slopes(Logistic(), np.array([0.0]), np.array([WHOLE // 2])) * SLOPE
    array([0.25])
    """
    return np.rint(loss.slope(margins) * (weights / WHOLE) * _FINE)


def split(theta: Floats) -> Floats:
    """Return θ as two rows of integers: multiples of 2⁻¹⁶, and of 2⁻⁵² for the rest."""
    leading = np.rint(theta * _COARSE)
    return np.stack([leading, np.rint((theta - leading / _COARSE) * _FINE)])


def products(features: Floats, parts: Floats) -> Floats:
    """Return xθ for each row, for each of one or several θ that were `split`: it depends on no other row.

    >>> products(np.array([[SCALE, 1.0]]), split(np.array([0.5, 1.0])))
    array([0.50024414])
    """
    leading, rest = features @ parts[0].T, features @ parts[1].T  # for one θ twice as fast as one product
    found: Floats = leading / (_COARSE * SCALE) + rest / (_FINE * SCALE)
    return found


def _margins(batch: Batch, parts: Floats) -> tuple[Floats, Floats]:
    features = batch.codes[FEATURES].astype(np.float64)
    return features, products(features, parts) * batch.codes[SIGNS]


def counted(examples: Examples) -> Any:
    """Return the exact sum of the weights of all rows, as an array of one integer."""
    [total] = examples.total(lambda batch: [np.array([np.asarray(batch.weights, np.int64).sum()])])
    return total
