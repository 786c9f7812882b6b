"""Add up the gradient of the softmax loss over all rows, in integers, with an exact bound on what a person adds.

    L(Θ) = Σ wᵢ·(log Σ_c e^{xᵢθ_c} − xᵢθ_{yᵢ}),   ∂L/∂θ_c = Σ wᵢ·(p_c(xᵢ) − 1[c = yᵢ])·xᵢ

Claims. Features are integers xᵢ with ‖xᵢ‖ ≤ SCALE, and the residual of a row of weight wᵢ is a vector aᵢ of
integers in units of 1/`STEPS` of a weight: aᵢ = ⌊STEPS·wᵢ·p_c⌋ for every other class c, and minus their sum for
the class of the row. Numbers that are rounded down add up to at most Wᵢ = STEPS·wᵢ, and a row where floats made
them more counts as 0, so ‖aᵢ‖² ≤ 2Wᵢ² is a fact about integers. The rows of one person have Σ wᵢ ≤ WHOLE, so by
the triangle inequality one person moves the sum Σ aᵢ ⊗ xᵢ by at most √2·STEPS·WHOLE·SCALE in l2 (`l2_squared`),
whatever Θ is and whatever the other rows are. Sums of a batch stay below 2⁵³ and are exact, in any order.

Only a row about which the model is sure, and wrong, has a residual longer than W. `shortened` scales such
residuals to at most W, so that one person moves the sum by at most STEPS·WHOLE·SCALE: less by √2, as is the noise.
Theory: docs/theory/gradient-descent.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.engines.examples import WHOLE, Batch, Examples
from discreet.learn.feature_map import SCALE, FeatureMap
from discreet.learn.methods.gradients import FEATURES

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CODES = "codes"
"""The name of derived rows: the code of the class."""

STEPS = 2**8
"""Residuals are multiples of 1/STEPS of the least weight: 20 bits for a whole person."""

PERSON = STEPS * WHOLE * SCALE
"""The norm of the gradient of a person whose residual is 1, in the units of the sums."""

GRID = 20
"""Coefficients are multiples of 2^-GRID, so that scores are sums of integers, and exact."""

LARGEST = 2**10
"""Coefficients lie within ±LARGEST: then scores stay below 2⁵³ in units of 2^-GRID/SCALE."""


def labelled(examples: Examples, feature_map: FeatureMap, target: str) -> Examples:
    """Return the features of all rows and the codes of their class; a row without a class has no weight."""

    def made(batch: Batch) -> Batch:
        features = feature_map.rows({name: batch.codes[name] for name in feature_map.columns})
        codes = np.asarray(batch.codes[target], np.int64)
        weights = np.where(codes < 0, 0, batch.weights).astype(np.int16)
        return Batch({FEATURES: features.astype(np.int16), CODES: np.maximum(codes, 0).astype(np.int16)}, weights)

    return examples.derived(made, 2 * feature_map.size + 4)


@dataclass(frozen=True)
class SoftmaxSums:
    """The sums of the softmax loss over labelled rows.

    Args:
        examples: The rows, made by `labelled`.
        classes: The number of classes.
        size: The number of features.
        longest: The square of the norm of the residual of a row of weight 1, at most: 2, which holds for all, by
            default, or 1, for which residuals are shortened.

    >>> from discreet.engines.examples import MemoryExamples
    >>> codes = {FEATURES: np.array([[0, SCALE]]), CODES: np.array([2])}
    >>> SoftmaxSums(MemoryExamples(codes, np.array([WHOLE])), 4, 2).gradient(np.zeros((4, 2))) / PERSON
    array([[ 0.  ,  0.25],
           [ 0.  ,  0.25],
           [ 0.  , -0.75],
           [ 0.  ,  0.25]])
    """

    examples: Examples
    classes: int
    size: int
    longest: Literal[1, 2] = 2

    @property
    def l2_squared(self) -> int:
        """The square of the l2 norm of what one person adds, at most."""
        return self.longest * PERSON**2

    def gradient(self, theta: Floats) -> Integers:
        """Return the gradient at coefficients in units of 2^-GRID, in units of 1/`PERSON`."""

        def part(batch: Batch) -> list[Floats]:
            features = batch.codes[FEATURES].astype(np.float64)
            scores = (features @ theta.T) / float(SCALE << GRID)
            found = residuals(scores, batch.codes[CODES], batch.weights)
            if self.longest == 1:
                shortened(found, batch.weights)
            return [found.T @ features]

        [total] = self.examples.total(part)
        return total


def residuals(scores: Floats, codes: NDArray[np.integer], weights: NDArray[np.integer]) -> Floats:
    """Return w·(p − e_y) of every row in integers, others rounded down and their sum at most w.

    >>> residuals(np.array([[0.0, 0.0, 0.0]]), np.array([1]), np.array([WHOLE]))[0] / (STEPS * WHOLE)
    array([ 0.33333302, -0.66666603,  0.33333302])
    """
    row = np.arange(len(codes))
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    weight = STEPS * np.asarray(weights, np.float64)
    total = raised.sum(axis=1)
    found: Floats = np.floor(raised * (weight / total)[:, None])
    found[row, codes] = 0.0
    others = found.sum(axis=1)
    found[others > weight] = 0.0  # floats do not add up to so much; if they did, the row would not count
    found[row, codes] = -np.where(others > weight, 0.0, others)
    return found


def shortened(found: Floats, weights: NDArray[np.integer]) -> None:
    """Scale residuals that are longer than the weight of their row to at most that, in place, towards zero.

    >>> wrong = residuals(np.array([[40.0, 0.0, 0.0]]), np.array([1]), np.array([WHOLE]))
    >>> shortened(wrong, np.array([WHOLE]))
    >>> (wrong[0] / (STEPS * WHOLE)).round(3).tolist()
    [0.707, -0.707, 0.0]
    """
    weight = STEPS * np.asarray(weights, np.float64)
    square = np.einsum("ij,ij->i", found, found)  # a sum of integers below 2⁴², and exact
    long = square > weight**2
    # A little less than W over the norm, by more than floats are off: so no norm is above W.
    scale = weight[long] * (1 - 2.0**-40) / np.sqrt(square[long])
    found[long] = np.trunc(found[long] * scale[:, None])
