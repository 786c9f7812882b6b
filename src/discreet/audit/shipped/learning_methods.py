"""List the fits of `learn` as subjects of an attack: every method, on tables that come near its bound.

The pairs are chosen such that a person moves what is released by as much as is paid for, or nearly: then an
overcharge shows. Four attacks are used, by what a fit releases:

    transcript   sums with additive noise: the loss of the whole run, exactly (`replay.transcript`)
    exact        choices of a rule: all of them are enumerated
    density      minimisers and posteriors, which are no sum with noise: their densities (`attacks.densities`)
    black box    the same by samples, for gross mistakes: a few hundred fits

Losses are steep at the start, where coefficients are 0: the hinge has slope 1 there. With a large λ coefficients
stay near 0, so that a person moves a minimiser by nearly 1/λ.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet import learn, privacy
from discreet.audit.attacks import densities, exact
from discreet.audit.blackbox import blackbox
from discreet.audit.inputs.subject import Subject
from discreet.audit.replay import transcript
from discreet.audit.replay.traces import again, record
from discreet.audit.report.verdict import Verdict
from discreet.audit.shipped import learning_densities
from discreet.engines.examples import WHOLE, MemoryExamples
from discreet.learn import methods
from discreet.learn.estimator import PrivateEstimator
from discreet.learn.feature_map import SCALE, FeatureMap
from discreet.learn.methods.curvature import Curvature
from discreet.learn.methods.gradient_descent import GradientDescent
from discreet.learn.methods.gradients import Sums, signed
from discreet.learn.methods.margin_losses import HuberHinge, Logistic, MarginLoss
from discreet.learn.methods.problem import Problem
from discreet.learn.price import Price
from discreet.learn.training import State, Task, Training, silent
from discreet.ledger.costs import cost
from discreet.privacy.losses import GaussianDP, Losses, ZeroConcentrated
from discreet.schema import Boolean, Category, Column, Integer

Floats = NDArray[np.float64]
Row: TypeAlias = dict[str, int]
Rows: TypeAlias = list[Row]
"""Rows of a tiny table, as codes: a column x, and the target y."""

COLUMNS: dict[str, Column] = {"x": Boolean(missing=False)}
ONE: Row = {"x": 1, "y": 1}
OTHER: Row = {"x": 0, "y": 0}
PAIRS: list[tuple[Rows, Rows]] = [
    ([], [ONE]),
    ([ONE, OTHER], [OTHER]),
    ([ONE] * 3, [*[ONE] * 3, {"x": 1, "y": 0}]),
]
MINIMISERS: list[tuple[Rows, Rows]] = [([], [ONE])]
"""One pair where samples are few: confidence is shared by all pairs."""

SAME: dict[str, Column] = {"x": Integer(1, 1, missing=1)}
"""A column with one value: its hat is 1 in every row, as long as the intercept."""

PROVEN, PURE = Price.alone(4, "0.01"), Price.alone(3)
FITS, DRAWS = 400, 250  # for each table of a black box: a fit takes about 1 ms, and a draw 5 ms

Attack: TypeAlias = Callable[[Subject], Verdict]
_TRANSCRIPT: Mapping[str, Attack] = {"transcript": transcript.attack}
_STEEP = Logistic(0.25, shift=1.0)  # slope 0.98 where coefficients are 0


ESTIMATORS = {
    "LogisticRegression": "objective perturbation, margin",
    "LinearSVC": "noisy gradient descent, hinge, 2 steps",
    "LinearRegression": "least squares, Gaussian",
    "Ridge": "least squares, Gaussian",
    "CategoricalNB": "categorical naive Bayes, Gaussian",
    "GaussianNB": "Gaussian naive Bayes, Gaussian",
    "BoostedStumps": "boosted stumps, 2 rounds",
    "BoostedHistograms": "boosted histograms, Gaussian, 2 epochs",
    "PrivateSearch": "private search, 2 settings",
}
"""Which entry stands for each public estimator."""


@cache
def fits() -> dict[str, Subject]:
    """Return the subjects by name.

    >>> len(fits()), "noisy gradient descent, hinge, 2 steps" in fits()
    (23, True)
    """
    task, regression = Task(COLUMNS, "y", Boolean()), Task(COLUMNS, "y", Integer(0, 1))
    found = [
        _minimiser("objective perturbation, Gaussian", task, PROVEN, FITS),
        _minimiser("objective perturbation, Laplace", task, PURE, FITS),
        _minimiser("objective perturbation, hats", Task(SAME, "y", Boolean()), PROVEN, FITS, FeatureMap(SAME)),
        _wide(task),
        _additive("output perturbation, Gaussian", _output(task, PROVEN)),
        _additive("output perturbation, Laplace", _output(task, PURE)),
        _additive("noisy gradient descent, hinge, 2 steps", _descent(task, HuberHinge())),
        _additive(
            "noisy gradient descent, softmax, 2 steps",
            _descent(Task(COLUMNS, "y", Category(["a", "b", "c"])), None),
        ),
        _posterior(task),
        _softmax("softmax objective perturbation, Gaussian", PROVEN),
        _softmax("softmax objective perturbation, Laplace", PURE),
        learning_densities.bounded_posterior(
            "posterior sampling, bounded likelihood", task, _map(), PURE, examples, DRAWS
        ),
    ]
    for law, price in (("Gaussian", PROVEN), ("Laplace", PURE)):
        found += [
            _additive(f"least squares, {law}", _planned(learn.LinearRegression(), regression, price)),
            _additive(f"categorical naive Bayes, {law}", _planned(learn.CategoricalNB(), task, price)),
            _additive(f"Gaussian naive Bayes, {law}", _planned(learn.GaussianNB(), task, price)),
            _additive(f"boosted histograms, {law}, 2 epochs", _histograms(task, price)),
        ]
    found += [_stumps(task), _search(task), _hessian()]
    return {subject.name: subject for subject in found}


def examples(rows: Rows) -> MemoryExamples:
    """Return a tiny table as rows of a learner, each of them a person.

    >>> examples([ONE])
    <rows, sealed>
    """
    codes = {name: np.array([row[name] for row in rows], np.int64) for name in ("x", "y")}
    return MemoryExamples(codes, np.full(len(rows), WHOLE, np.int16))


def seen(state: State) -> tuple[float, ...]:
    """Return the numbers of a model: coefficients and the count.

    >>> seen({"theta": [2, 4], "grid": 1, "count": None})
    (1.0, 2.0)
    """
    theta = (np.asarray(state["theta"], float).ravel() * 2.0 ** -state["grid"]).tolist()
    return (*theta, *([] if state.get("count") is None else [float(state["count"])]))


def _released(training: Callable[[], Training], read: Callable[[State], Any]) -> Callable[[Rows], Any]:
    return lambda rows: read(training().run(examples(rows), silent))


_SAMPLED: Mapping[str, Attack] = {"black box": blackbox.attack}


def _gaussian(losses: Losses) -> GaussianDP:
    """Return the Gaussian DP that is charged: a stronger claim at large δ than the ρ of the same amount."""
    return GaussianDP(Fraction(math.sqrt(2 * float(cost(losses).rho)) * (1 + 1e-9)))


# -- what is released ---------------------------------------------------------------------------------------------


def _map() -> FeatureMap:
    """Return a map for which the row of a person is as long in l1 as is paid for: its two features are equal."""
    return FeatureMap(COLUMNS, "linear", intercept=1.0)


def _additive(name: str, training: Callable[[], Training]) -> Subject:
    release = _released(training, lambda state: repr(state))
    return Subject(name=name, release=release, loss=training().losses, pairs=PAIRS, attacks=_TRANSCRIPT)


def _minimiser(name: str, task: Task, price: Price, samples: int, features: FeatureMap | None = None) -> Subject:
    @cache
    def training() -> Training:
        return methods.plan("objective_perturbation", Problem(task, _STEEP, (features or _map(),), 10.0), price)

    return Subject(
        name=name,
        release=_released(training, seen),
        loss=_gaussian(training().losses) if price.rho else training().losses,
        pairs=MINIMISERS,
        attacks={"density": partial(densities.attack, size=2), **_SAMPLED},
        samples=samples,
    )


def _wide(task: Task) -> Subject:
    """Return logistic regression as it is by default: a noisy count of few persons gives the loss its margin."""
    training = _planned(learn.LogisticRegression(feature_map=_map()), task, PROVEN)
    return Subject(
        name="objective perturbation, margin",
        release=_released(training, seen),
        loss=_gaussian(training().losses),
        pairs=MINIMISERS,
        attacks={"density": partial(densities.attack, size=2, before=1)},
    )


def _softmax(name: str, price: Price) -> Subject:
    task = Task(COLUMNS, "y", Category(["a", "b", "c"]))
    claim = _gaussian if price.rho else (lambda losses: losses)
    return learning_densities.softmax_minimiser(name, task, _map(), price, examples, claim)


def _posterior(task: Task) -> Subject:
    @cache
    def training() -> Training:
        return methods.plan("posterior_sampling", Problem(task, _STEEP, (_map(),)), PROVEN)

    drawn = Subject(
        name="posterior sampling",
        release=_released(training, lambda state: seen(state)[:2]),
        loss=_gaussian(training().losses),
        pairs=MINIMISERS,
    )
    told = replace(drawn, release=_released(training, lambda state: (seen(state), state["facts"])))

    def divergence(claimed: Subject) -> Verdict:
        return posterior_divergence(replace(told, loss=claimed.loss), loss=_STEEP)

    return replace(drawn, attacks={"density": divergence, **_SAMPLED}, samples=DRAWS)


def _hessian() -> Subject:
    """Return the Hessian for intervals. Of a row in the middle only the intercept is left: one entry moves."""
    columns: dict[str, Column] = {"x": Integer(0, 2, missing=0)}
    features, loss = FeatureMap(columns, "linear"), Logistic()
    curvature = Curvature(features.size, loss.law, Fraction(1, 2))

    def release(rows: Rows) -> Any:
        sums = Sums(signed(examples(rows), features, "y"), loss, features.size)
        return repr(curvature.released(sums, np.zeros(features.size))[0].tolist())

    return Subject(
        name="noisy Hessian for intervals",
        release=release,
        loss=ZeroConcentrated(curvature.rho),
        pairs=PAIRS,
        attacks=_TRANSCRIPT,
    )


def _output(task: Task, price: Price) -> Callable[[], Training]:
    return cache(lambda: methods.plan("output_perturbation", Problem(task, HuberHinge(), (_map(),), 50.0), price))


def _descent(task: Task, loss: MarginLoss | None) -> Callable[[], Training]:
    return cache(lambda: GradientDescent(steps=2).plan(Problem(task, loss, (_map(),)), PROVEN))


def _planned(estimator: PrivateEstimator, task: Task, price: Price) -> Callable[[], Training]:
    return cache(lambda: estimator.plan(task, price))


def _histograms(task: Task, price: Price) -> Callable[[], Training]:
    return _planned(learn.BoostedHistograms(epochs=2, certificate_share="0.03"), task, price)


def _stumps(task: Task) -> Subject:
    """Return two rounds of boosting: all pairs of rules are enumerated."""
    training = _planned(learn.BoostedStumps(rounds=2, certificate_share=0), task, Price.alone(2))
    release = _released(training, lambda state: tuple(state["chosen"]))
    enumerated: Mapping[str, Attack] = {"exact": partial(exact.attack, unexplored="1e-9", most=1000)}
    return Subject(
        name="boosted stumps, 2 rounds", release=release, loss=training().losses, pairs=PAIRS, attacks=enumerated
    )


def _search(task: Task) -> Subject:
    """Return a search among two settings, of which each candidate may cost half of its ε."""
    tuned = learn.LogisticRegression(method="output_perturbation", feature_map=_map())
    search = learn.PrivateSearch(tuned, {"regularisation": [10, 50]}, candidates=2)
    training = _planned(search, task, PURE)
    return Subject(
        name="private search, 2 settings",
        release=_released(training, lambda state: (state["score"], *seen(state["model"]))),
        loss=training().losses,
        pairs=[([ONE, OTHER], [OTHER]), ([], [ONE]), ([], [OTHER])],
        attacks={"transcript": candidate},
    )


def candidate(subject: Subject) -> Verdict:
    """Return whether a candidate of a pure search loses more than half of the claim, by the transcript of a run.

    The theorem of private selection doubles what a candidate loses. A candidate has three releases: a count, its
    coefficients and its score.
    """
    start, claimed, worst = time.perf_counter(), float(cost(subject.loss).epsilon or 0) / 2, 0.0
    for D, D2 in subject.pairs:
        first = record(subject.release, D, seed=1)
        found = transcript.losses(first, again(subject.release, D2, first.tape))
        worst = max(worst, 3 * sum(float(cost(loss).epsilon or 0) for loss in found) / len(first.tape.calls))
    return Verdict(
        attack="transcript",
        caught=worst > claimed,
        words=f"A candidate of the search loses ε = {worst:.4g}; half of the claim is {claimed:.4g}.",
        claimed=claimed,
        found=worst,
        seconds=time.perf_counter() - start,
    )


def posterior_divergence(subject: Subject, *, loss: Logistic) -> Verdict:
    """Return whether the posteriors of neighbours are farther apart than is claimed, by integration over θ.

    The k and the λ are those that a run says of itself. The divergence of Kullback and Leibler is at most ρ. That
    draws have the law of the posterior is not tested here, but by the black box.

    Args:
        subject: The draws: a release returns the facts of the model.
        loss: The loss of the margin.
    """
    start, charged, worst = time.perf_counter(), float(cost(subject.loss).rho), 0.0
    for D, D2 in subject.pairs:
        facts = subject.release(D)[1]
        k, lam = (float(facts[name].split()[-1]) for name in ("Temperature", "Regularisation"))
        wide = 12 / math.sqrt(k * lam)
        axis = np.linspace(-wide, wide, 301)
        theta = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
        laws = [_log_posterior(rows, theta, k, lam, loss) for rows in (D, D2)]
        worst = max(worst, *(float((np.exp(p) * (p - q)).sum()) for p, q in (laws, laws[::-1])))
    shown, claimed = (
        privacy.epsilon(ZeroConcentrated(Fraction(rho)), densities.DELTA) for rho in (worst, charged)
    )
    return Verdict(
        attack="density",
        caught=worst > charged,
        words=f"The posteriors of neighbours show ε = {shown:.4g}; the claim is {claimed:.4g}.",
        claimed=claimed,
        found=shown,
        delta=float(densities.DELTA),
        seconds=time.perf_counter() - start,
    )


def _log_posterior(rows: Rows, theta: Floats, k: float, lam: float, loss: Logistic) -> Floats:
    """Return the logarithms of the masses of a posterior on a grid."""
    exponent = lam / 2 * (theta**2).sum(axis=1)
    for row in rows:
        features = _map().rows({"x": np.array([row["x"]])})[0] / SCALE
        margin = (theta @ features) * (2 * row["y"] - 1)
        exponent = exponent + loss.width * np.logaddexp(0.0, (loss.shift - margin) / loss.width)
    raised = -k * (exponent - exponent.min())
    found: Floats = raised - math.log(float(np.exp(raised).sum()))
    return found
