"""Read upper and lower privacy profiles from the tilted law of a sum.

With S(x) = P(L > x) the profile of a law on a lattice is δ(x_j) = (1 − e^−step)·Σ_{i ≥ j} e^(x_j − x_i)·S(x_i):
sums of positive terms only, so nothing cancels. Between nodes it is linear in e^ε. `tilted_fft` states the
error terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.privacy.pld.dominating_pairs import Floats
from discreet.privacy.pld.normal import invert
from discreet.privacy.pld.tilted_fft import Sum
from discreet.privacy.rounding import TINY, not_below_zero, upward

_DEEPEST = 600.0  # e^600 still fits a double: nodes so far below the middle that a factor exceeds it are left out
_BLOCK = 200.0  # losses summed with one common factor: e^−200 is far from underflow
_HIDDEN = 1e-200  # more than underflow can have hidden: 2²² nodes of at most e^200 times the least normal double


@dataclass(frozen=True)
class Profile:
    """δ at the nodes `epsilons`, divided by e^`log_scale`: the lattice's, and the error to add or take away."""

    epsilons: Floats
    lattice: Floats
    error: Floats
    log_scale: float
    source: Sum

    @classmethod
    def of(cls, law: Sum) -> Profile:
        """Compute the profile at every node that is not too far below the middle."""
        x = (law.first + np.arange(len(law.weights), dtype=np.float64)) * law.step
        centre = float(law.weights @ x) / float(law.weights.sum())
        start = int(np.searchsorted(x, centre - _DEEPEST / (law.theta + 1)))
        x, weights = x[start:], law.weights[start:]
        tilt = np.exp(-law.theta * (x - centre))
        above = np.append(np.cumsum((weights * tilt)[:0:-1])[::-1], 0.0)
        lattice = -math.expm1(-law.step) * _discounted(above, law.step)
        return cls(x, lattice, law.error * _steepness(law.theta) * tilt, law.log_moment - law.theta * centre, law)

    @property
    def _upper(self) -> Floats:
        return self.lattice * (1 + self.source.rounding) + self.error + _HIDDEN

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Bound δ(ε)."""
        law = self.source
        finite = max(self._unscaled(self._at(self._upper, epsilon)), TINY) if epsilon < law.ceiling else 0.0
        high = min(1.0, (finite + law.infinite[1]) * (1 + 1e-12))
        lost = max(high * 1e-4, 1e-300)
        slip = epsilon + self._slip(lost)
        lower = self._at(self.lattice * (1 - law.rounding), slip) - self._at(self.error, slip)
        low = 0.0 if math.isnan(lower) else self._unscaled(lower) * (1 - 1e-9) - lost - law.moved
        return min(high, max(0.0, low) + law.infinite[0]), high

    def upper_epsilon(self, delta: float) -> float:
        """Return an ε at which δ(ε) is certainly not above `delta`."""
        left = (delta - self.source.infinite[1]) * (1 - 1e-12)
        if left <= 0:
            return math.inf
        target = self._scaled(left)
        values = self._upper
        j = int(np.argmax(values <= target))
        crossing = self._crossing(values, j, target) if values[j] <= target else math.inf
        epsilon = not_below_zero(min(crossing, self.source.ceiling))
        return epsilon and upward(epsilon, 64)

    def lower_epsilon(self, delta: float) -> float:
        """Return an ε at which δ(ε) is certainly not below `delta`, or 0."""
        if self.source.infinite[0] >= delta:
            return math.inf
        lost = delta * 1e-4
        target = self._scaled(delta + lost + self.source.moved - self.source.infinite[0]) * (1 + 1e-12)
        values = self.lattice * (1 - self.source.rounding)
        reached = np.flatnonzero(values[:-1] - self.error[:-1] >= target)
        if not len(reached):
            return 0.0
        j = int(reached[-1])
        # For ε in this segment the error is at most what it is at its left end.
        crossing = self._crossing(values, j + 1, target + float(self.error[j]))
        return max(0.0, crossing - self._slip(lost)) * (1 - 1e-9)

    def error_share(self, epsilon: float) -> float:
        """Return how much of the upper bound of δ(ε) is error: all, where ε is below the window."""
        if 0 < epsilon <= self.epsilons[0] + self.source.step / 2:
            return 1.0
        error, lattice = self._at(self.error, epsilon), self._at(self.lattice, epsilon)
        return error / (error + lattice) if 0 < error + lattice < math.inf else 0.0

    def _scaled(self, delta: float) -> float:
        return math.exp(min(700.0, math.log(delta) - self.log_scale))

    def _unscaled(self, value: float) -> float:
        return math.exp(min(700.0, math.log(value) + self.log_scale)) if value > 0 else 0.0

    def _crossing(self, values: Floats, j: int, target: float) -> float:
        """Return the ε at which the line in e^ε through nodes j − 1 and j is at `target`."""
        if j == 0:
            return float(self.epsilons[0])
        share = min(max((values[j - 1] - target) / (values[j - 1] - values[j]), 0.0), 1.0)
        # ln(1 + share·(e^step − 1)), written so that e^step cannot overflow.
        step = self.source.step
        return float(self.epsilons[j - 1]) + step + math.log(share + (1 - share) * math.exp(-step))

    def _at(self, values: Floats, epsilon: float) -> float:
        """The line in e^ε between the nodes around ε; nothing is known to the left of the first node."""
        if epsilon < self.epsilons[0]:
            return math.inf
        if epsilon >= self.epsilons[-1]:
            return float(values[-1])
        j = int(np.searchsorted(self.epsilons, epsilon, side="right"))
        along, step = epsilon - float(self.epsilons[j - 1]), self.source.step
        share = math.exp(along - step) * math.expm1(-along) / math.expm1(-step)
        return float(values[j - 1] + share * (values[j] - values[j - 1]))

    def _slip(self, chance: float) -> float:
        """Bound how far the lattice lies above the true loss, but for `chance`, by Bennett or by Markov."""
        law = self.source
        jumps = law.variance / law.step**2
        if jumps == 0:
            return law.mean
        # e^−L keeps its mean, so L gains half the variance; nor can it gain more than its upward moves.
        drift = law.mean + law.step * jumps * min(1.0, law.step / 2 * math.exp(min(law.step, 1.0)))
        nats = math.log(1 / chance)
        most = math.sqrt(2 * nats * jumps) + nats  # Bernstein's weaker bound
        # P(S ≥ t·step) ≤ exp(−v·((1 + t/v)·ln(1 + t/v) − t/v)) for v = variance/step².
        return (
            drift
            + law.step
            * invert(
                lambda t: -jumps * ((1 + t / jumps) * math.log1p(t / jumps) - t / jumps), -nats, 0.0, most, 1e-6
            )[1]
        )


def _discounted(values: Floats, step: float) -> Floats:
    """Return Σ_{i ≥ j} e^(−(i − j)·step)·values[i] for every j, a block of nodes at a time."""
    size = max(1, int(_BLOCK / step))
    falling = np.exp(-step * np.arange(min(size, len(values))))
    sums, later = np.empty(len(values)), 0.0
    for start in reversed(range(0, len(values), size)):
        block = values[start : start + size]
        factors = falling[: len(block)]
        within = np.cumsum((block * factors)[::-1])[::-1] / factors
        sums[start : start + size] = within + later * math.exp(-step) * factors[::-1]
        later = float(sums[start])
    return sums


def _steepness(theta: float) -> float:
    """c(θ), the largest value of (1 − e^−y)·e^(−θy)."""
    return math.exp(theta * math.log(theta / (1 + theta))) / (1 + theta) if theta > 0 else 1.0
