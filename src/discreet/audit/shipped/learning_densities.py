"""Compare the densities of models on neighbours by formulas, where there are too many coefficients to enumerate.

    softmax minimisers    ln p(Θ) = ln ν(b(Θ)) + ln det H(Θ), b(Θ) = −∇L(Θ) − λΘ: the noise that leads to Θ
    bounded posteriors    ln P(θ), from the exact exponents of the sampler

λ, the noise and the prior are those that a run says of itself, and derivatives and losses come from the code that
a fit uses, so norms, weights and the intercept are in it.

Claim. For Laplace noise, and for a posterior, the largest difference of logarithms found is a lower bound of ε.
For Gaussian noise the mean of the loss over a sequence of noise that fills space evenly, and over its opposite, is
about the divergence of Kullback and Leibler, which is at most ρ; its error is far below the distance from a claim
at which an entry is caught.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from discreet import privacy
from discreet.audit.attacks import densities
from discreet.audit.blackbox import blackbox
from discreet.audit.inputs.subject import Subject
from discreet.audit.report.verdict import Verdict
from discreet.engines.examples import MemoryExamples
from discreet.learn import methods
from discreet.learn.feature_map import FeatureMap
from discreet.learn.methods.bounded_posterior import RADIUS, BoundedPosterior
from discreet.learn.methods.gradients import signed
from discreet.learn.methods.grid_envelope import GRID
from discreet.learn.methods.margin_losses import Logistic
from discreet.learn.methods.problem import Problem
from discreet.learn.methods.softmax import labelled
from discreet.learn.methods.softmax_objective import SoftmaxObjective
from discreet.learn.methods.solver import minimise
from discreet.learn.price import Price
from discreet.learn.training import State, Task, Training, silent
from discreet.ledger.costs import cost
from discreet.privacy.losses import Losses, ZeroConcentrated

Floats = NDArray[np.float64]
Make = Callable[[list[dict[str, int]]], MemoryExamples]

_POINTS, _NOISE = 200, 60
_SPREADS = (0.1, 1.0, 10.0, 100.0)


def softmax_minimiser(
    name: str, task: Task, features: FeatureMap, price: Price, make: Make, loss: Callable[[Losses], object]
) -> Subject:
    """Return the minimiser of a perturbed softmax objective as a subject.

    Args:
        name: Its name.
        task: More than two classes.
        features: A map for which a person's row is as long as is paid for.
        price: What a fit may cost.
        make: Makes rows of a learner of rows of a tiny table.
        loss: Returns the claim, from the losses of the training.
    """

    @cache
    def training() -> Training:
        return methods.plan("objective_perturbation", Problem(task, None, (features,), 10.0), price)

    def attack(subject: Subject) -> Verdict:
        start, worst, made = time.perf_counter(), 0.0, training()
        lam = _told(made.run(make([]), silent), "Regularisation")
        spread = made.noise[0].spread or 0.0
        for pair in subject.pairs:
            first, second = (
                SoftmaxObjective(labelled(make(rows), features, "y"), len(task.classes), features.size)
                for rows in pair
            )
            for one, other in ((first, second), (second, first)):
                found = _largest(one, other, lam, spread) if price.pure else _mean(one, other, lam, spread)
                worst = max(worst, found)
        return _verdict(subject, worst, start, gaussian=not price.pure)

    def release(rows: list[dict[str, int]]) -> tuple[float, ...]:
        state = training().run(make(rows), silent)
        return tuple((np.array(state["theta"], float).ravel() * 2.0 ** -state["grid"]).tolist())

    pairs: list[tuple[list[dict[str, int]], list[dict[str, int]]]] = [
        ([], [{"x": 1, "y": 1}]),
        ([{"x": 1, "y": 2}] * 60, [{"x": 1, "y": 2}] * 60 + [{"x": 1, "y": 1}]),
    ]
    claim = loss(training().losses)
    return Subject(name=name, release=release, loss=claim, pairs=pairs, attacks={"density": attack})  # type: ignore[arg-type]


def bounded_posterior(
    name: str, task: Task, features: FeatureMap, price: Price, make: Make, samples: int
) -> Subject:
    """Return one draw from a bounded posterior as a subject: its densities, and its draws by samples.

    Args:
        name: Its name.
        task: Two classes.
        features: A map for which a person's row is as long as is paid for.
        price: A pure ε.
        make: Makes rows of a learner of rows of a tiny table.
        samples: The number of draws for each table of the black box.
    """
    loss = Logistic()

    @cache
    def training() -> Training:
        return methods.plan("posterior_sampling", Problem(task, loss, (features,)), price)

    def drawn(rows: list[dict[str, int]]) -> tuple[float, ...]:
        state = training().run(make(rows), silent)
        return tuple((np.array(state["theta"], float) * 2.0 ** -state["grid"]).tolist())

    def attack(subject: Subject) -> Verdict:
        start, worst = time.perf_counter(), 0.0
        directions = _normal(_POINTS, features.size)
        directions *= RADIUS / np.linalg.norm(directions, axis=1, keepdims=True)
        points = np.trunc(directions * 2.0**GRID).astype(np.int64)
        for pair in subject.pairs:
            told = [training().run(make(rows), silent)["facts"] for rows in pair]
            exponents: list[list[Fraction]] = []
            for rows, facts in zip(pair, told, strict=True):
                k, ridge = float(facts["Temperature"].split()[-1]), float(facts["Prior"].split(",")[0].split()[-1])
                held = signed(make(rows), features, "y")
                made = BoundedPosterior(held, loss, features.size, Fraction(k * RADIUS), Fraction(ridge))
                exponents.append(made.exponents(points))
            moved = [float(one - other) for one, other in zip(*exponents, strict=True)]
            # One person multiplies a density by so much more at one point than at another.
            worst = max(worst, max(moved) - min(moved))
        return _verdict(subject, worst, start, gaussian=False)

    made = Subject(name=name, release=drawn, loss=training().losses, pairs=[([], [{"x": 1, "y": 1}])])
    return replace(made, attacks={"density": attack, "black box": blackbox.attack}, samples=samples)


def _told(state: State, fact: str) -> float:
    return float(state["facts"][fact].split()[-1])


def _derivatives(sums: SoftmaxObjective, theta: Floats, lam: float) -> tuple[Floats, float]:
    hessian = sums.hessian(theta) + lam * np.eye(len(theta))
    return -sums.gradient(theta) - lam * theta, float(np.linalg.slogdet(hessian)[1])


def _largest(first: SoftmaxObjective, second: SoftmaxObjective, lam: float, scale: float) -> float:
    """Return the largest log ratio of densities with Laplace noise, at points that some noise leads to."""
    worst, places = 0.0, _normal(_POINTS, first.classes * first.size)
    pulls: Sequence[float] = (*_SPREADS, *(-one for one in _SPREADS))
    for number in range(_POINTS):
        # Along the person's row, and everywhere: a pull of each class in turn makes its probability 0 or 1.
        theta = places[number].reshape(first.classes, first.size)
        theta[number % first.classes] += pulls[number % len(pulls)]
        theta *= _SPREADS[number % len(_SPREADS)]
        own, one = _derivatives(first, theta.ravel(), lam)
        other, two = _derivatives(second, theta.ravel(), lam)
        worst = max(worst, abs(one - two + float(np.abs(other).sum() - np.abs(own).sum()) / scale))
    return worst


def _normal(count: int, size: int) -> Floats:
    """Return points that are spread like a normal law: a Kronecker sequence by roots of primes."""
    primes = [n for n in range(2, 8 * size + 8) if all(n % m for m in range(2, n))][:size]
    shares = np.outer(np.arange(1, count + 1), np.sqrt(primes)) % 1.0
    found: Floats = ndtri(np.clip(shares, 1e-6, 1 - 1e-6))
    return found


def _mean(first: SoftmaxObjective, second: SoftmaxObjective, lam: float, sigma: float) -> float:
    """Return the mean loss with Gaussian noise, over evenly spread noise and its opposite."""
    size, total = first.classes * first.size, 0.0
    drawn = _normal(_NOISE, size) * sigma
    for b in np.concatenate([drawn, -drawn]):
        theta = minimise(
            lambda at, b=b: first.gradient(at) + lam * at + b,  # type: ignore[misc]
            lambda at: first.hessian(at) + lam * np.eye(size),
            np.zeros(size),
        )
        own, one = _derivatives(first, theta, lam)
        other, two = _derivatives(second, theta, lam)
        total += one - two + float(other @ other - own @ own) / (2 * sigma**2)
    return total / (2 * _NOISE)


def _verdict(subject: Subject, worst: float, start: float, *, gaussian: bool) -> Verdict:
    charged = cost(subject.loss)
    limit = float(charged.rho if gaussian or charged.epsilon is None else charged.epsilon)
    shown, claimed = worst, limit
    if gaussian:
        shown, claimed = (
            privacy.epsilon(ZeroConcentrated(Fraction(max(rho, 1e-12))), densities.DELTA) for rho in (worst, limit)
        )
    return Verdict(
        attack="density",
        caught=worst > limit * (1 + 1e-6) + (densities.NUMERIC if not gaussian else 0.0),
        words=f"The densities of neighbours show ε = {shown:.4g}; the claim is {claimed:.4g}.",
        claimed=claimed,
        found=shown,
        delta=float(densities.DELTA) if gaussian else 0.0,
        seconds=time.perf_counter() - start,
    )
