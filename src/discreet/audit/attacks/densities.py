"""Compare the densities of a perturbed minimiser on two neighbours, from the code that computes it.

A release draws a vector b of noise, and returns a smooth, one-to-one function θ of b and the table, such as the
minimiser of an objective with b·θ inside; then it may add noise of its own to θ. Here a script decides all draws
(`noise.testing.scripted`): b is given, and the noise on θ is 0. So θ(b) is computed by the code itself, its
derivative by differences, and the b′ that leads to the same θ on the other table by Newton's method. The privacy
loss at θ is

    ln ν(b) − ln ν(b′) − ln|∂θ/∂b| + ln|∂θ′/∂b′|,

ν being the law that the code asked for. It holds all that can go wrong on the way from a table to the objective:
norms, weights, λ, the intercept, the scale of the noise.

Claim. For Laplace noise the largest loss found is a lower bound of ε, up to `NUMERIC`. For Gaussian noise the mean
of the loss, by Gauss–Hermite quadrature, is the divergence of Kullback and Leibler, which is at most ρ for a
release that is ρ-zCDP, hence at most μ²/2 for one that is μ-Gaussian DP. Neither uses statistics.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import privacy
from discreet.audit.inputs.subject import Subject
from discreet.audit.report.verdict import Verdict
from discreet.errors import DiscreetError
from discreet.ledger.costs import cost
from discreet.noise.testing import Asked, scripted
from discreet.privacy import ZeroConcentrated

Floats = NDArray[np.float64]

DELTA = Fraction(1, 10**5)
"""The δ at which Gaussian claims are shown."""

NUMERIC = 5e-3
"""What differences and tolerances of solvers may add to a loss."""

_NODES = 4  # of the quadrature, for each coordinate
_TRIED = (-5.0, -1.0, 0.0, 5.0)  # Laplace noise in each of several coordinates, in its scales
_LINE = tuple(np.linspace(-6.0, 6.0, 97).tolist())  # and in a single one
_APART = 1e-2  # the step of differences, in spreads of the noise
_STEPS = 30


@dataclass
class _Map:
    """θ as a function of b on one table. Coordinates of b are in units of the spread of the noise."""

    release: Callable[[Any], Any]
    data: Any
    size: int
    before: int = 0
    asked: Asked = field(default=Asked("", Fraction(1)))

    @property
    def spread(self) -> float:
        """The deviation of Gaussian noise, or the scale of Laplace noise, in steps of its grid."""
        parameter = float(self.asked.parameter)  # type: ignore[arg-type]
        return math.sqrt(parameter) if self.asked.law == "discrete_gaussian" else parameter

    def probe(self) -> None:
        """Run once with b = 0, to learn what is asked for."""
        self.at(np.zeros(self.size), first=True)

    def at(self, b: Floats, *, first: bool = False) -> Floats:
        """Return θ(b). The first draws after those before b are b, and all others are 0."""
        left = [] if first else [0] * self.before + [round(float(value) * self.spread) for value in b]
        drawn = itertools.count()

        def choose(asked: Asked) -> int:
            if next(drawn) == self.before and first:
                self.asked = asked
            return left.pop(0) if left else 0

        with scripted(choose):
            found = self.release(self.data)
        theta: Floats = np.asarray(found, float)[: self.size]
        return theta

    def derivative(self, b: Floats) -> Floats:
        """Return ∂θ/∂b by central differences."""
        moved = [(self.at(b + h) - self.at(b - h)) / (2 * _APART) for h in _APART * np.eye(self.size)]
        return np.array(moved).T

    def inverse(self, theta: Floats, start: Floats) -> Floats:
        """Return the b that leads to θ, by Newton's method with the derivative at the last point but for few."""
        b, slope = start, self.derivative(start)
        last = math.inf
        for _ in range(_STEPS):
            off = self.at(b) - theta
            step = np.linalg.solve(slope, off)
            length = float(np.linalg.norm(step))
            if length < 1e-4:
                return np.asarray(b - step, float)
            if length > last / 4:
                slope = self.derivative(b)
                step = np.linalg.solve(slope, off)
            b, last = b - step, length
        raise DiscreetError("No noise leads to this minimiser: it is not a smooth function of its noise.")


def attack(subject: Subject, *, size: int, before: int = 0) -> Verdict:
    """Return whether densities refute the subject's claim. Its release returns `size` coefficients first.

    Args:
        subject: What is attacked: its first `size` draws, after those before them, are the noise b.
        size: The number of coefficients.
        before: The number of draws before b, such as that of a noisy count; 0 by default. They are 0, so that
            what follows from them must be the same for both tables of a pair.
    """
    start, worst = time.perf_counter(), (-math.inf, "", "")
    gaussian = False
    for D, D2 in subject.pairs:
        for one, other in ((D, D2), (D2, D)):
            maps = _Map(subject.release, one, size, before), _Map(subject.release, other, size, before)
            for table in maps:
                table.probe()
            if maps[0].asked != maps[1].asked:
                return Verdict(attack="density", caught=True, words="The noise depends on the table.")
            gaussian = maps[0].asked.law == "discrete_gaussian"
            found = _divergence(*maps) if gaussian else _largest(*maps)
            worst = max(worst, (found, str(one), str(other)))
    found, charged = worst[0], cost(subject.loss)
    limit = float(charged.rho if gaussian or charged.epsilon is None else charged.epsilon)
    shown, claimed = (_epsilon(value) if gaussian else value for value in (max(found, 0.0), limit))
    at = f" at δ = {float(DELTA):g}" if gaussian else ""
    return Verdict(
        attack="density",
        caught=found > limit + NUMERIC,
        words=f"Between {worst[1]} and {worst[2]} the densities of the minimisers show ε = {shown:.4g}{at}; the "
        f"claim is {claimed:.4g}.",
        claimed=claimed,
        found=shown,
        delta=float(DELTA) if gaussian else 0.0,
        seconds=time.perf_counter() - start,
    )


def _losses(first: _Map, second: _Map, points: list[Floats]) -> list[float]:
    """Return the privacy loss at the minimisers of some noise."""
    found = []
    for b in points:
        theta = first.at(b)
        there = second.inverse(theta, b)
        volumes = [float(np.linalg.slogdet(each.derivative(at))[1]) for each, at in ((first, b), (second, there))]
        found.append(_log_law(first, b) - _log_law(second, there) - volumes[0] + volumes[1])
    return found


def _log_law(table: _Map, b: Floats) -> float:
    return -float((b**2).sum()) / 2 if table.asked.law == "discrete_gaussian" else -float(np.abs(b).sum())


def _divergence(first: _Map, second: _Map) -> float:
    """Return the mean of the loss under Gaussian noise."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    places = list(itertools.product(range(_NODES), repeat=first.size))
    shares = [math.prod(float(weights[i]) for i in place) for place in places]
    losses = _losses(first, second, [nodes[list(place)] for place in places])
    return float(np.dot(shares, losses) / sum(shares))


def _largest(first: _Map, second: _Map) -> float:
    """Return the largest loss at some points, with Laplace noise, in either direction: a pure ε bounds both."""
    tried = itertools.product(_LINE if first.size == 1 else _TRIED, repeat=first.size)
    return max(map(abs, _losses(first, second, [np.array(place) for place in tried])))


def _epsilon(rho: float) -> float:
    return privacy.epsilon(ZeroConcentrated(Fraction(rho)), DELTA) if rho > 0 else 0.0
