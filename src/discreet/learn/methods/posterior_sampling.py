"""Release one draw from the posterior of a logistic loss.

    θ ~ exp(−k·(Σ wᵢ·ℓ(yᵢ·xᵢθ) + λ/2·‖θ‖²)),   released: θ on a grid, plus a little discrete noise

Claim. Neighbours differ by one person, whose rows weigh 1 together. Their losses together are 1-Lipschitz in θ,
and the exponent is kλ-strongly convex, so the draw is μ-Gaussian DP with μ = √(k/λ) (Gopi, Lee, Liu 2022),
whatever the number of rows and of features. The draw is exact: it comes from rejection
(`discreet.learn.methods.envelope`), and no Markov chain has to mix. Floating point moves the density by a factor
within e^{±c}, and the point by less than 2⁻²⁸: the first is paid by ρ + 2√(cρ) + 2c instead of ρ, the second by
noise on the released point. Together with the count this is charged as zCDP, and proves (ε, δ) as Gaussian DP.

λ is chosen from a noisy count such that the sampler ends after about a million proposals for the worst rows. How
long it takes depends on the rows, so the time of a fit is a channel that the guarantee does not cover; the label
says so. There is no limit on the number of proposals, because giving up would depend on the rows too. Theory:
docs/theory/posterior-sampling.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.engines.examples import WHOLE, Batch, Examples
from discreet.errors import Fix, ParameterError
from discreet.learn.feature_map import SCALE
from discreet.learn.methods import bounded_posterior
from discreet.learn.methods.envelope import Envelope, chance
from discreet.learn.methods.gradients import FEATURES, SIGNS, SLOPE, Sums, products, rounded_slopes, signed, split
from discreet.learn.methods.margin_losses import Logistic
from discreet.learn.methods.problem import Count, Problem
from discreet.learn.methods.solver import TOLERANCE, minimise
from discreet.learn.price import Price, short
from discreet.learn.training import Progress, State, Training
from discreet.mechanisms import Exact, Gaussian, Sensitivity
from discreet.privacy.losses import Loss, ZeroConcentrated
from discreet.privacy.pld.normal import gaussian_delta
from discreet.privacy.theorems.learning.posterior_sampling import temperature_for_gdp
from discreet.privacy.theorems.learning.tolerance import SMOOTHING
from discreet.release.label import Noise

Floats = NDArray[np.float64]

GRID = 24
"""Released coefficients are multiples of 2⁻²⁴."""

LENGTH = 12
"""The norm of coefficients for which λ is best: about that of a good classifier on rows of norm 1."""

LEAST, MOST = 2.0, 24.0
"""λμ lies between these: below, errors of floats are not bounded; above, rows would not be seen."""

ROWS = 2**22
"""The number of persons whose errors of floating point are paid for; beyond, k falls with its square."""

_COUNT, _OUTPUT = Fraction(1, 100), Fraction(1, 2500)  # shares of ρ
_ROUNDED = 2.0**-46  # the error of a row's part of an exponent, over k and over the width if that is above 1
_MOVED = 2.0**-28  # more than floats move a point
_CHANCE = math.log(1e-6)  # of acceptance, for the worst rows
_UNBOUNDED = 1e15  # persons
_FAR = 40.0  # deviations of the count, which it leaves with a chance of e⁻⁸⁰⁰
_SLACK = 1 - 1e-9  # of δ, for the tails of the grid and for rounding here
_HALF = 2.0**20  # sums of exponents are multiples of 2⁻⁵⁹, in two parts: rows of one person may be thousands
_LOW = 2.0**39
_CURVE = 2.0**16

ARITHMETIC = (
    "The draw is made by rejection, with coins and Gaussian numbers from a cryptographic generator. Chances are "
    "computed in floating point, whose errors are bounded and paid for."
)


def plan(problem: Problem, price: Price) -> Training:
    """Return the training by posterior sampling. It reads no row, and may refuse.

    Args:
        problem: Two classes, and the logistic loss or the smooth hinge.
        price: What it may cost.
    """
    loss = problem.loss
    if not isinstance(loss, Logistic):
        raise ParameterError(
            "Posterior sampling draws exactly from logistic losses of two classes only.",
            found=f"{problem.classes} classes" if loss is None else loss.name,
            fix=Fix("method", "objective_perturbation"),
        )
    if price.rho is None:
        return bounded_posterior.plan(problem, price, loss)
    counted, output = short(price.rho * _COUNT), short(price.rho * _OUTPUT)
    paid = short(price.rho - counted - output)
    mu = _mu(price, counted + output, paid, loss.width)
    if chance(problem.maps[-1].size, MOST / mu, mu, _UNBOUNDED, 0.25 / loss.width, loss.width) < _CHANCE:
        raise ParameterError(
            "The posterior has too many coefficients to be sampled exactly.",
            found=f"{problem.maps[-1].size:,} features",
            fix=[Fix("method", "objective_perturbation"), "Or choose fewer features."],
        )
    counting = Count(Gaussian(math.ceil(WHOLE**2 / (2 * counted)) + SMOOTHING, WHOLE))
    losses: list[Loss] = [ZeroConcentrated(counted), ZeroConcentrated(paid), ZeroConcentrated(output)]

    def run(examples: Examples, progress: Progress) -> State:
        count, tested = counting.released(examples)
        feature_map = problem.chosen(count, price.strength)
        if feature_map.size > problem.maps[-1].size and not _feasible(feature_map.size, mu, count, loss):
            feature_map = problem.maps[-1]
        asked = None if problem.regularisation is None else problem.regularisation / float(price.epsilon)
        lam = regularisation(feature_map.size, mu, max(count, counting.deviation), loss, asked)
        progress("features", 0.05)
        signs = signed(examples, feature_map, problem.task.target)
        most = max(count, 0.0) + _FAR * counting.deviation + 1.0
        scale = float(temperature_for_gdp(mu, lam=lam)) * min(1.0, ROWS / most) ** 2 * (1 - 1e-12)
        posterior = Posterior(signs, loss, feature_map.size, scale, lam)
        point, predictable = posterior.draw(progress)
        moved = math.ceil(2 * _MOVED * 2.0**GRID + math.sqrt(feature_map.size))
        release = Gaussian(
            math.ceil(Fraction(moved**2) / (2 * output)) + SMOOTHING, Sensitivity(l2_squared=moved**2)
        )
        steps = np.clip(np.rint(point * 2.0**GRID), -(2.0**61), 2.0**61).astype(np.int64)
        noisy = release.release(Exact(steps, Sensitivity(l2_squared=moved**2)))
        return {
            "theta": np.asarray(noisy, np.int64).tolist(),
            "grid": GRID,
            "map": feature_map.as_json(),
            "count": count,
            "facts": {
                "Features": f"{feature_map.size:,} {feature_map.kind}, every row of norm 1, with an intercept",
                "Regularisation": f"λ = {lam:.6g}",
                "Temperature": f"k = {scale:.6g}",
            },
            "test_bits": bool(tested or predictable or noise.is_test_noise(noisy)),
        }

    told = [
        Noise("persons", "discrete Gaussian noise", counting.deviation, 1.0),
        Noise("coefficients", "one draw from the posterior"),
        Noise("coefficients", "discrete Gaussian noise", 2.0**-GRID / math.sqrt(2 * output)),
    ]
    return Training(
        losses, run, told, f"Posterior sampling, exact, {loss.name}.", [bounded_posterior.TIMING], ARITHMETIC
    )


@dataclass(frozen=True)
class Posterior:
    """The posterior of signed rows.

    Args:
        examples: The rows, made by `gradients.signed`.
        loss: The loss of the margin.
        size: The number of features.
        scale: k.
        lam: λ.
    """

    examples: Examples
    loss: Logistic
    size: int
    scale: float
    lam: float

    def draw(self, progress: Progress) -> tuple[Floats, bool]:
        """Return one point, and whether its bits were for tests."""
        sums = Sums(self.examples, self.loss, self.size)
        middle = minimise(
            lambda at: sums.gradient(at) + self.lam * at,
            lambda at: sums.hessian(at) + self.lam * np.eye(self.size),
            np.zeros(self.size),
            progress=lambda done: progress("minimising", 0.1 + 0.4 * done),
        )
        slope = sums.gradient(middle) + self.lam * middle
        values, basis = np.linalg.eigh(self._hessian(middle))
        # Below the eigenvalues of the Hessian, whatever floats did: they decide the speed, and λ carries the rest.
        curvatures = np.maximum(values - 1e-9 * (1 + values.max()), 0.0)
        # ∇F·v ≥ −τ·(1 + ‖v‖²), and what the eigenvectors miss is far below τ.
        envelope = Envelope.of(curvatures, scale=self.scale, lam=self.lam - 8 * TOLERANCE, width=self.loss.width)
        progress("drawing", 0.6)

        def exponent(points: Floats) -> Floats:
            steps = points @ basis.T
            linear = steps @ slope + self.lam / 2 * (steps**2).sum(axis=1)
            found: Floats = self.scale * (self._divergence(middle, steps) + linear + 4 * TOLERANCE)
            return found

        point, tested = envelope.draw(exponent)
        return middle + basis @ point, tested

    def _hessian(self, theta: Floats) -> Floats:
        """Return a matrix not above ∇²L: curvatures are rounded down."""

        def part(batch: Batch) -> list[Floats]:
            features = batch.codes[FEATURES].astype(np.float64)
            margins = (features @ theta) / SCALE * batch.codes[SIGNS]
            curves = np.floor(self.loss.curvature(margins) * (batch.weights / WHOLE) * _CURVE * (1 - 1e-9))
            return [(features * curves[:, None]).T @ features]

        [total] = self.examples.total(part)
        found: Floats = np.asarray(total, float) / (_CURVE * SCALE**2)
        return found

    def _divergence(self, theta: Floats, steps: Floats) -> Floats:
        """Return L(θ + v) − L(θ) − g·v for each step v, g being ∇L(θ) as `Sums.gradient` adds it up.

        A row's slope is the rounded one that is a part of g, so that rounding cancels in the sum with g·v, however
        many rows a person has. With softplus(x) = x + softplus(−x) the term of (base, moved) is that of (−base,
        −moved), so base is made negative: nothing large is subtracted from something large. Terms become
        integers before they are added.
        """
        width, middle, moves = self.loss.width, split(theta), split(steps)

        def part(batch: Batch) -> list[Floats]:
            features = batch.codes[FEATURES].astype(np.float64)
            signs = batch.codes[SIGNS].astype(np.float64)
            weights, margins = batch.weights / WHOLE, products(features, middle) * signs
            slopes = rounded_slopes(self.loss, margins, batch.weights) * SLOPE
            base = (self.loss.shift - margins) / width
            turned = np.where(base > 0.0, -1.0, 1.0)
            slopes = np.where(base > 0.0, weights - slopes, slopes)
            base = -np.abs(base)[:, None]
            moved = products(features, moves) * (turned * signs / width)[:, None]
            small = np.exp(np.maximum(base, -700.0))
            bent = (np.logaddexp(0.0, base - moved) - np.log1p(small)) * weights[:, None]
            worth = (bent + slopes[:, None] * moved) * (width * _HALF)
            leading = np.floor(worth)
            return [np.stack([leading.sum(axis=0), np.rint((worth - leading) * _LOW).sum(axis=0)])]

        [total] = self.examples.total(part)
        leading, rest = np.asarray(total, float)
        found: Floats = (leading + rest / _LOW) / _HALF
        return found


def regularisation(size: int, mu: float, count: float, loss: Logistic, asked: float | None = None) -> float:
    """Return λ: the best for a classifier of norm `LENGTH`, but enough for the sampler to end.

    A draw has an excess loss of about d/(2k) = d/(2μ²λ), and regularisation costs λ/2·B², so λ = √d/(μB) is best.

    Args:
        size: The number of features.
        mu: The μ of the draw.
        count: The noisy number of persons.
        loss: The loss.
        asked: What was asked for, if anything was: λ is at least that.

    >>> round(regularisation(2, 0.25, 1e4, Logistic()), 2), round(regularisation(200, 0.25, 1e4, Logistic()), 1)
    (8.0, 27.1)
    """
    lam = max(LEAST / mu, math.sqrt(size) / (mu * LENGTH) if asked is None else asked)
    while lam < MOST / mu and chance(size, lam, mu, count, 0.25 / loss.width, loss.width) < _CHANCE:
        lam *= 1.05
    return min(lam, MOST / mu)


def _feasible(size: int, mu: float, count: float, loss: Logistic) -> bool:
    return chance(size, MOST / mu, mu, max(count, 1.0), 0.25 / loss.width, loss.width) >= _CHANCE


def blurred(rho: float, c: float) -> float:
    """Return the ρ of two laws whose densities are within e^{±c} of a pair that is ρ-zCDP.

    >>> blurred(0.04, 1e-6) < 0.0405
    True
    """
    return rho + 2 * math.sqrt(c * rho) + 2 * c


def _mu(price: Price, beside: Fraction, paid: Fraction, width: float = 1.0) -> float:
    """Return the μ of the draw such that all that is charged covers what floats do to its density."""
    rho = float(paid) * (1 - 1e-9)
    while True:
        mu = math.sqrt(2 * rho)
        c = 2 * (MOST * mu) * ROWS * _ROUNDED * max(width, 1.0)
        whole = math.sqrt(2 * (rho + float(beside))) * (1 + 1e-12)
        at, within = float(price.epsilon) - 2 * c, float(price.delta) * math.exp(-c) * _SLACK
        proven = not price.proves or (at > 0 and gaussian_delta(whole, at)[1] <= within)
        if blurred(rho, c) * (1 + 1e-9) <= float(paid) and proven:
            return mu
        rho *= 0.9995
