"""Release the margins of a training set privately, as a noisy histogram, and bound the error from it.

Claim. Neighbours differ by one person. Each row of training adds its weight to one of `BINS` cells of [−1, 1],
the weights of one person add up to at most WHOLE, and the margin of a row depends on the row and on the released
model alone. So the histogram has an l1 sensitivity of WHOLE, and the noise of its mechanism makes it private.

Bounds from it are private too: they are computed from what was released. With probability 1 − a, no sum of the
first j noises is below −t_j, for any j, nor the sum of all above t_BINS: t_j = √(2·j·v·ln((BINS + 1)/a)) for
Gaussian noise of variance v, which is subgaussian, and t_j = j·s·ln(2·(BINS + 1)/a) for Laplace noise of scale
s. So the share of margins below an edge is at most (noisy count + t_j)/(noisy total − t_BINS), and that
denominator is at most the number of persons. With a = alpha/2, a margin bound at alpha/2 does the rest. What is
bounded is the error on a new person: the weighted share of their rows that the vote has wrong. With one row per
person that is the usual error. Theory: docs/theory/boosting.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import noise
from discreet.engines.examples import WHOLE, Batch, Examples
from discreet.learn.boosting.margin_bounds import MarginBound, entropy_bound, schapire_bound
from discreet.mechanisms import Exact, Gaussian, Laplace, Sensitivity
from discreet.rational import Rational, positive, rational
from discreet.render.terminal import table

if TYPE_CHECKING:
    import altair

Floats = NDArray[np.float64]

BINS = 40
"""The cells of [−1, 1]."""

_DOWN = 1e-9  # margins are moved down by this before they are placed, so that rounding never flatters


def released(
    examples: Examples, mechanism: Gaussian | Laplace, margin: Callable[[Batch], Floats]
) -> tuple[list[int], bool]:
    """Return the noisy histogram of the margins, in units of weight, and whether its noise was predictable.

    Args:
        examples: The rows of training.
        mechanism: The noise, for an l1 sensitivity of WHOLE.
        margin: Returns the margins of the rows of a batch.
    """

    def part(batch: Batch) -> list[Floats]:
        place = np.clip(np.floor((margin(batch) - _DOWN + 1) / 2 * BINS), 0, BINS - 1).astype(np.int64)
        return [np.bincount(place, weights=batch.weights.astype(np.float64), minlength=BINS).astype(np.float64)]

    [exact] = examples.total(part)
    sensitivity = Sensitivity(l1=WHOLE, each=WHOLE, l2_squared=WHOLE**2)
    noisy: Any = mechanism.release(Exact([int(count) for count in exact], sensitivity))
    return [int(count) for count in np.asarray(noisy)], noise.is_test_noise(noisy)


@dataclass(frozen=True)
class NoisyMargins:
    """The margins of a training set with noise: they were paid for, and may be published.

    Args:
        name: What has these margins.
        counts: The noisy histogram, in units of 1/WHOLE of a person.
        law: "gaussian" or "laplace".
        spread: The variance of Gaussian noise, or the scale of Laplace noise, in the same units.
    """

    name: str
    counts: tuple[int, ...] = field(repr=False)
    law: str
    spread: Fraction
    private = True

    @property
    def edges(self) -> Floats:
        """The upper edges of the cells."""
        return np.linspace(-1, 1, BINS + 1)[1:]

    def slack(self, cells: int, alpha: float) -> float:
        """Return how much the noise of so many cells can hide, in persons, with probability 1 − alpha for all."""
        if self.law == "gaussian":
            return math.sqrt(2 * cells * float(self.spread) * math.log((BINS + 1) / alpha)) / WHOLE
        return cells * float(self.spread) * math.log(2 * (BINS + 1) / alpha) / WHOLE

    def persons(self, alpha: float) -> int:
        """Return a number of persons that the training set has at least, with probability 1 − alpha."""
        return max(0, math.floor(sum(self.counts) / WHOLE - self.slack(BINS, alpha)))

    def shares(self, alpha: float) -> Floats:
        """Return, for every upper edge, the largest share of margins below it, with probability 1 − alpha."""
        below = np.cumsum(np.array(self.counts, float)) / WHOLE
        worst = below + np.array([self.slack(cells, alpha) for cells in range(1, BINS + 1)])
        found: Floats = np.clip(worst / max(1, self.persons(alpha)), 0.0, 1.0)
        return found

    def bounds(
        self, hypotheses: int, *, alpha: Rational = "0.05", weights: ArrayLike | None = None
    ) -> tuple[MarginBound, ...]:
        """Return private bounds on the error of the vote on a new person.

        Breiman's bound is not among them: the least margin is that of one row, and no noisy histogram knows it.

        Args:
            hypotheses: |H|, counting h and −h.
            alpha: The probability that a bound fails; 0.05 by default.
            weights: The α of every distinct hypothesis that votes; none by default.
        """
        half = positive(rational(alpha, "alpha", floats="exact"), "alpha") / 2
        n = self.persons(float(half))
        if not n:
            reason = "the noise hides how many persons there are"
            return (MarginBound("Relative entropy", 1.0, 2 * float(half), reason=reason),)
        useful = self.edges > 1e-9
        theta, share = self.edges[useful], self.shares(float(half))[useful]
        case = {"examples": n, "hypotheses": hypotheses, "alpha": half}
        found = [
            entropy_bound(theta, share, weights=weights, **case),  # type: ignore[arg-type]
            schapire_bound(theta, share, **case),  # type: ignore[arg-type]
        ]
        return tuple(_at(bound, 2 * float(half)) for bound in found)

    def rows(self) -> Sequence[tuple[str, str]]:
        """Return edges and noisy shares, every fifth cell, for a table."""
        total = max(1.0, sum(self.counts) / WHOLE)
        below = np.cumsum(np.array(self.counts, float)) / WHOLE / total
        places = range(4, BINS, 5)
        return [(f"{self.edges[i]:.2f}", f"{100 * float(np.clip(below[i], 0, 1)):.1f} %") for i in places]

    def plot(self) -> altair.LayerChart:
        """Draw the noisy margin distribution graph. It is private."""
        from discreet.learn.boosting.margin_plots import noisy_distribution

        return noisy_distribution(self)

    def __str__(self) -> str:
        head = f"Margins of {self.name}, with noise: private, and paid for by the release of the model."
        return "\n".join([head, *table([("margin below", "share"), *self.rows()])])


def _at(bound: MarginBound, alpha: float) -> MarginBound:
    return MarginBound(bound.name, bound.value, alpha, bound.theta, bound.draws, bound.reason)
