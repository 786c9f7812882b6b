"""Answer every question with Gaussian noise, so little that it is useful and so much that no analyst overfits.

Claim. Each answer is the exact sum over the holdout plus discrete Gaussian noise of variance σ², with
sensitivity GRAIN where one row is replaced: k answers are k·GRAIN²/(2σ²)-zCDP. By the theorem of Rogers et al.
(`theorems.gaussian_answers`) all k answers are within √((2I − ln(1 − λ))/(2nβλ)) + m of the population, but with
probability β, where m is what the largest of k noises exceeds with probability β/2 at most, from the law of the
noise itself. Where β is small, the theorem of Jung et al. is narrower. Then ε and δ are those of the discrete
noise, certified by the accountant, and the narrower theorem is chosen: both depend on n, k and β alone, and are
known before the holdout is looked at.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from discreet.mechanisms import Exact, Gaussian, tails
from discreet.privacy import plan
from discreet.privacy.losses import Loss, ZeroConcentrated
from discreet.release.label import Noise
from discreet.validity.methods.method import Method, Reply, Terms, Total
from discreet.validity.theorems.gaussian_answers import jung_gaussian, rogers, sampling_width
from discreet.validity.theorems.sparse_answers import GRAIN
from discreet.validity.theorems.transfer import jung

_GUESSES = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0)  # ε, as a multiple of μ·√(2 ln(1/β)), of which the best is taken


class GaussianNoise(Method):
    """Gaussian answers."""

    name, title, limited, private = "gaussian", "every score with Gaussian noise", True, True

    def __init__(self, terms: Terms):
        super().__init__(terms)
        self._width, self.mechanism = calibrated(terms.rows, terms.queries, self.beta)

    @property
    def losses(self) -> Loss:
        """The zCDP of all answers together, where one row is replaced."""
        return ZeroConcentrated(self.terms.queries * Fraction(GRAIN**2) / (2 * self.mechanism.variance))

    @property
    def noise(self) -> list[Noise]:
        """The noise on a score."""
        spread = math.sqrt(self.mechanism.variance) / (GRAIN * self.terms.rows)
        return [Noise("each score", "discrete Gaussian noise", spread, 1 / self.terms.rows)]

    def width(self, more: int = 0) -> float:
        """Return the half-width of every answer: wider after a question that failed, as the noise is fixed."""
        if not self.errors:
            return self._width
        return certified(self.terms.rows, self.terms.queries, self.beta, self.mechanism)

    def widened(self) -> float:
        """Return the half-width for one answer more."""
        return calibrated(self.terms.rows, self.asked + 1, self.beta)[0]

    def reply(self, total: Total, guess: float | None) -> Reply:
        """Return the mean with noise."""
        noisy = int(self.mechanism.release(Exact(total(None), GRAIN)))
        value, width = noisy / (GRAIN * self.terms.rows), self.width()
        return Reply.within(value, value - width, value + width, "holdout")


@lru_cache(maxsize=64)
def calibrated(rows: int, queries: int, beta: float) -> tuple[float, Gaussian]:
    """Return the half-width of k answers, and their noise.

    >>> width, mechanism = calibrated(10_000, 100, 0.05)
    >>> round(width, 3), mechanism.sensitivity.each == GRAIN
    (0.171, True)
    """
    first = _noise(rows, rogers(rows, queries, beta).deviation)
    width = _rogers_width(rows, queries, beta, first)
    found = jung_gaussian(rows, queries, beta)
    if found.width >= 0.98 * width:
        return width, first
    second = _noise(rows, found.deviation)
    return min((width, first), (_jung_width(rows, queries, beta, second), second), key=lambda pair: pair[0])


@lru_cache(maxsize=64)
def certified(rows: int, queries: int, beta: float, mechanism: Gaussian) -> float:
    """Return the half-width of k answers with this noise, at another β than it was chosen for.

    >>> width, mechanism = calibrated(10_000, 100, 0.05)
    >>> certified(10_000, 100, 0.001, mechanism) > certified(10_000, 100, 0.05, mechanism) == width
    True
    """
    return min(bound(rows, queries, beta, mechanism) for bound in (_rogers_width, _jung_width))


def _noise(rows: int, deviation: float) -> Gaussian:
    """Return discrete noise of this deviation on the mean, as a short fraction."""
    return Gaussian(Fraction(math.ceil(deviation * rows * GRAIN)) ** 2, GRAIN)


def _rogers_width(rows: int, queries: int, beta: float, mechanism: Gaussian) -> float:
    deviation = math.sqrt(mechanism.variance) / (GRAIN * rows)
    bound = tails.gaussian_bound(mechanism.variance, Fraction(beta) / (2 * queries)) / (GRAIN * rows)
    return sampling_width(rows, queries, deviation, beta) + bound


def _jung_width(rows: int, queries: int, beta: float, mechanism: Gaussian) -> float:
    mu = math.sqrt(queries / float(mechanism.variance)) * GRAIN
    best = math.inf
    for miss in (beta**2 / 10, beta**2 / 100, beta**2 / 1000):
        bound = tails.gaussian_bound(mechanism.variance, Fraction(miss) / queries) / (GRAIN * rows)
        for guess in _GUESSES:
            epsilon = guess * mu * math.sqrt(2 * math.log(1 / beta))
            delta = float(plan.delta(mechanism.loss * queries, Fraction(epsilon)))
            best = min(best, jung(bound, miss, epsilon, delta, beta))
    return best
