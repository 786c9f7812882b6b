"""Release one draw from a posterior whose likelihood is bounded, for pure ε.

    P(θ) ∝ e^{−κ/2·‖θ‖²}·exp(−(ε/B)·Σ wᵢ·ℓ(yᵢ·xᵢθ))   on the grid points θ of a ball ‖θ‖ ≤ r

Claim. Rows have norm at most 1, so that margins in the ball lie in [−r, r], and losses in an interval of length B;
the least is subtracted. A person, whose rows weigh 1 together, multiplies the density by a factor in [e^{−ε}, 1]
and divides it by the mean of that factor: the draw is ε-DP for adding or removing one person, whatever the number
of rows and of features, and whatever the prior is. Nothing is added to the draw. The losses are integers, looked
up in a table and interpolated in integers: a function of the point and of the row alone, in [0, B], on every
machine; so floats enter the chances of the sampler only (`grid_envelope`), and what they do there is paid for.

The draw is exact: it comes from rejection, and no Markov chain has to mix. A likelihood that is clipped outside of
a ball would be bounded too, but it is not log-concave, and no sampler of it is known that ends in reasonable time
(docs/theory/posterior-sampling.md). The time of a fit depends on the rows, and the label says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.engines.examples import WHOLE, Batch, Examples
from discreet.errors import Fix, ParameterError
from discreet.learn.methods.envelope import Shells, chance
from discreet.learn.methods.gradients import FEATURES, SIGNS, Sums, signed
from discreet.learn.methods.grid_envelope import ERROR, GRID, WIDEST, GridEnvelope
from discreet.learn.methods.margin_losses import Logistic
from discreet.learn.methods.problem import Count, Problem
from discreet.learn.methods.solver import minimise
from discreet.learn.price import Price
from discreet.learn.training import Progress, State, Training
from discreet.privacy.losses import Pure
from discreet.privacy.theorems.learning.posterior_sampling import pure_epsilon
from discreet.release.label import Noise

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

RADIUS = 8
"""r, the norm of coefficients that the prior allows: a power of two."""

LEAST = Fraction(1, 1024)
"""The least ε: below, what floats do to chances would be a share of it."""

UNIT = 22
"""Losses are multiples of 2⁻²²."""

_KNOTS = 10  # the table has 2¹⁰ knots for each unit of the margin
_MARGIN = GRID + 12  # margins are multiples of 2⁻⁴⁰: features of 2⁻¹², points of 2⁻²⁸
_COUNT = Fraction(1, 100)  # the share of ε for the count
_CHANCE = math.log(1e-6)  # of acceptance, for the worst rows
_NEAREST, _UNBOUNDED = 0.5, 1e15  # the least norm of a prior's draw, and persons
_SPREAD = 0.5  # the norm of a prior's draw, over r

TIMING = (
    "The time of a fit depends on the rows, because draws are rejected until one is accepted. The guarantee does "
    "not cover what an observer of that time learns."
)
ARITHMETIC = (
    "The draw is made by rejection on a grid, with coins and discrete Gaussian numbers from a cryptographic "
    "generator. Losses are exact integers. Chances are computed in floating point, with an error that is paid for."
)


@lru_cache(maxsize=8)
def table(loss: Logistic, radius: int = RADIUS) -> Integers:
    """Return the losses at the knots from −r to r, in units of 2^-UNIT, the least being 0.

    >>> table(Logistic())[[0, 8192, 16384]] / 2**UNIT
    array([8.        , 0.69281173, 0.        ])
    """
    margins = np.arange(-radius * 2**_KNOTS, radius * 2**_KNOTS + 1) / 2.0**_KNOTS
    values = loss.width * np.logaddexp(0.0, (loss.shift - margins) / loss.width)
    found = np.rint((values - values[-1]) * 2.0**UNIT).astype(np.int64)
    return np.minimum.accumulate(found)


def losses_at(margins: Integers, knots: Integers) -> Integers:
    """Return the loss of each margin, given in units of 2⁻⁴⁰: integers from 0 to the first knot.

    >>> losses_at(np.array([-(2**43), 2**43, 2**60]), table(Logistic())).tolist() == [8 * 2**UNIT, 0, 0]
    True
    """
    shift, last = _MARGIN - _KNOTS, len(knots) - 1
    moved = np.clip(margins + (last << (shift - 1)), 0, last << shift)
    place = np.minimum(moved >> shift, last - 1)
    rest = moved - (place << shift)
    found: Integers = knots[place] + (((knots[place + 1] - knots[place]) * rest) >> shift)
    return found


@dataclass(frozen=True)
class BoundedPosterior:
    """The posterior of signed rows on the grid points of a ball.

    Args:
        examples: The rows, made by `gradients.signed`.
        loss: The loss of the margin.
        size: The number of features.
        epsilon: What a person may change the logarithm of a density by.
        ridge: κ, the precision of the prior.
    """

    examples: Examples
    loss: Logistic
    size: int
    epsilon: Fraction
    ridge: Fraction

    @property
    def bound(self) -> int:
        """B, the largest loss, in its unit."""
        return int(table(self.loss)[0])

    def exponents(self, points: Integers) -> list[Fraction]:
        """Return −ln P of points of the grid exactly, up to a constant."""
        sums = self._sums(points)
        squares = [sum(one * one for one in row) for row in points.tolist()]
        each, prior = self.epsilon / (WHOLE * self.bound), self.ridge / (2 * 4**GRID)
        return [each * total + prior * square for total, square in zip(sums, squares, strict=True)]

    def _sums(self, points: Integers) -> list[int]:
        knots, turned = table(self.loss), points.astype(np.float64).T

        def part(batch: Batch) -> list[Integers]:
            # Exact: features of 12 bits, points of 31.
            products = batch.codes[FEATURES].astype(np.float64) @ turned
            margins = products.astype(np.int64) * np.asarray(batch.codes[SIGNS], np.int64)[:, None]
            weights = np.asarray(batch.weights, np.int64)[:, None]
            return [(losses_at(margins, knots) * weights).sum(axis=0)]

        [total] = self.examples.total(part)
        return [int(one) for one in total]

    def draw(self, progress: Progress) -> tuple[Integers, bool]:
        """Return one point of the grid, and whether its bits were for tests."""
        sums = Sums(self.examples, self.loss, self.size)
        scale = float(self.epsilon) / (self.bound / 2.0**UNIT)
        lam = float(self.ridge) / scale
        middle, pressed = self._middle(sums, lam, progress)
        centre = np.trunc(middle * 2.0**GRID).astype(np.int64)  # towards 0: it stays in the ball
        middle = np.asarray(centre, np.float64) * 2.0**-GRID
        # F(θ) ≥ F(m) + (∇F(m) + νm)·v − νm·v + …, and −m·v ≥ (‖v‖² − r² + ‖m‖²)/2 in the ball.
        slope = float(np.linalg.norm(sums.gradient(middle) + (lam + pressed) * middle))
        inside = max(RADIUS**2 - float(middle @ middle), 0.0)
        values, basis = np.linalg.eigh(sums.hessian(middle))
        curvatures = np.maximum(values - 1e-6 * (1 + values.max()), 0.0)
        rows = float(self.examples.total(lambda batch: [np.array([batch.weights.astype(np.int64).sum()])])[0][0])
        bent = 0.25 / self.loss.width
        off = rows / WHOLE * (2.0**-20 + bent * 2.0**-22) + slope * 2 * RADIUS + pressed * inside / 2
        shells = Shells.of(curvatures, scale=scale, lam=(lam + pressed) * (1 - 1e-9), width=self.loss.width)
        envelope = GridEnvelope.of(centre, RADIUS << GRID, shells, basis, scale, scale * off * (1 + 1e-6))
        progress("drawing", 0.6)
        [start] = self.exponents(centre[None, :])
        return envelope.draw(lambda points: [one - start for one in self.exponents(points)])

    def _middle(self, sums: Sums, lam: float, progress: Progress) -> tuple[Floats, float]:
        """Return the minimum in the ball, and the ν for which it is the minimum of F + ν/2·‖θ‖²."""

        def solved(pressed: float, start: Floats) -> Floats:
            ridge = lam + pressed
            return minimise(
                lambda at: sums.gradient(at) + ridge * at,
                lambda at: sums.hessian(at) + ridge * np.eye(self.size),
                start,
                progress=lambda done: progress("minimising", 0.1 + 0.4 * done),
            )

        found = solved(0.0, np.zeros(self.size))
        if np.linalg.norm(found) <= RADIUS:
            return found, 0.0
        low, high = 0.0, lam
        while np.linalg.norm(found := solved(high, found)) > RADIUS:
            low, high = high, 4 * high
        best, scale = (found, high), float(self.epsilon) * 2.0**UNIT / self.bound
        while scale * high * (RADIUS**2 - float(best[0] @ best[0])) > 0.1 and high - low > 1e-9 * high:
            tried = (low + high) / 2
            found = solved(tried, found)
            if np.linalg.norm(found) > RADIUS:
                low = tried
            else:
                high, best = tried, (found, tried)
        return best


def plan(problem: Problem, price: Price, loss: Logistic) -> Training:
    """Return the training by one draw from the bounded posterior. It reads no row, and may refuse.

    Args:
        problem: Two classes.
        price: A pure ε.
        loss: The logistic loss or the smooth hinge.
    """
    if price.epsilon < LEAST:
        raise ParameterError(
            f"Posterior sampling needs an epsilon of {float(LEAST):.2g} or more.",
            fix=Fix("method", "objective_perturbation"),
        )
    counted = price.epsilon * _COUNT
    paid = price.epsilon - counted
    epsilon, counting = paid - 4 * ERROR, Count.pure(counted)
    size = problem.maps[-1].size
    if size > WIDEST or not _feasible(size, epsilon, _UNBOUNDED, loss):
        raise ParameterError(
            "The posterior has too many coefficients to be sampled exactly.",
            found=f"{size:,} features",
            fix=[Fix("method", "objective_perturbation"), "Or choose fewer features."],
        )

    def run(examples: Examples, progress: Progress) -> State:
        count, tested = counting.released(examples)
        chosen = problem.chosen(count, price.strength)
        if not _free(chosen.size, epsilon, count, loss):
            chosen = problem.maps[-1]  # hats would need a prior that leaves them nothing to say
        ridge = precision(chosen.size, epsilon, max(count, counting.deviation), loss)
        progress("features", 0.05)
        rows = signed(examples, chosen, problem.task.target)
        posterior = BoundedPosterior(rows, loss, chosen.size, epsilon, Fraction(ridge))
        point, predictable = posterior.draw(progress)
        return {
            "theta": point.tolist(),
            "grid": GRID,
            "map": chosen.as_json(),
            "count": count,
            "facts": {
                "Features": f"{chosen.size:,} {chosen.kind}, every row of norm 1, with an intercept",
                "Prior": f"Gaussian of precision {ridge:.6g}, on a ball of radius {RADIUS}",
                "Temperature": f"k = {float(epsilon) / (posterior.bound / 2**UNIT):.6g}",
            },
            "test_bits": bool(tested or predictable),
        }

    told = [
        Noise("persons", "discrete Laplace noise", counting.deviation, 1.0),
        Noise("coefficients", "one draw from the posterior"),
    ]
    notes = [f"Coefficients have a norm of at most {RADIUS}: this bounds the likelihood of a row.", TIMING]
    method = f"Posterior sampling, exact, bounded likelihood, {loss.name}."
    drawn = pure_epsilon(temperature=epsilon, bound=1) + 4 * ERROR
    return Training([Pure(counted), Pure(drawn)], run, told, method, notes, ARITHMETIC)


def precision(size: int, epsilon: Fraction, count: float, loss: Logistic) -> float:
    """Return κ: a prior whose draws have half of the radius, or as much narrower as lets the sampler end.

    Args:
        size: The number of features.
        epsilon: The ε of the draw.
        count: The noisy number of persons.
        loss: The loss.

    >>> round(precision(2, Fraction(1), 1e4, Logistic()), 3)
    0.125
    """
    low, high = size / (_SPREAD * RADIUS) ** 2, size / _NEAREST**2
    if _free(size, epsilon, count, loss):
        return low
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if _accepted(size, epsilon, middle, count, loss) >= _CHANCE else (middle, high)
    return high


def _accepted(size: int, epsilon: Fraction, ridge: float, count: float, loss: Logistic) -> float:
    scale = float(epsilon) / (float(table(loss)[0]) / 2**UNIT)
    lam = ridge / scale
    return chance(size, lam, math.sqrt(scale / lam), max(count, 1.0), 0.25 / loss.width, loss.width)


def _free(size: int, epsilon: Fraction, count: float, loss: Logistic) -> bool:
    wide = size / (_SPREAD * RADIUS) ** 2
    return size <= WIDEST and _accepted(size, epsilon, wide, count, loss) >= _CHANCE


def _feasible(size: int, epsilon: Fraction, count: float, loss: Logistic) -> bool:
    return _accepted(size, epsilon, size / _NEAREST**2, count, loss) >= _CHANCE
