"""Show private minimisers whose theorem was applied with one condition missing.

The exhibits are linear classifiers with a few rows, each (x, y), x a number and y = ±1, for ε = 1: θ̂ minimises

    Σ ℓ(y·x·θ) + λ/2·‖θ‖² + b·θ,   b with independent Laplace coordinates,

and is released as it is, on a grid finer than any test sees; what that costs is the exhibit `discrete-slope`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet import noise, privacy
from discreet.audit.attacks import densities, exact
from discreet.audit.inputs.subject import Subject
from discreet.audit.museum.exhibit import Exhibit
from discreet.audit.replay import transcript
from discreet.audit.replay.replay import replay
from discreet.audit.report.verdict import Verdict
from discreet.learn.methods.margin_losses import HuberHinge, Logistic, MarginLoss
from discreet.learn.methods.solver import minimise
from discreet.mechanisms import Exact, Laplace
from discreet.privacy.theorems.learning import pure_noise

Floats = NDArray[np.float64]
Points: TypeAlias = Sequence[tuple[float, int]]

FINE = 2**30
"""b is a multiple of 1/FINE."""


@dataclass(frozen=True)
class Objective:
    """Objective perturbation at ε = 1.

    Args:
        scale: The scale of the Laplace noise in every coordinate.
        ridge: λ for each coefficient, from the number of rows; the last one is of the intercept if there are two.
        loss: The loss of the margin; logistic by default.
        intercept: Whether rows have a constant 1 beside x.
    """

    scale: float
    ridge: Callable[[int], Sequence[float]]
    loss: MarginLoss = Logistic()  # noqa: RUF009  # frozen
    intercept: bool = False

    @property
    def size(self) -> int:
        """The number of coefficients."""
        return 2 if self.intercept else 1

    def release(self, rows: Points) -> list[float]:
        """Release the minimiser.

        >>> len(Objective(1.0, lambda n: [1.0]).release([(1.0, 1)]))
        1
        """
        x = np.array([[a, 1.0] if self.intercept else [a] for a, _ in rows]).reshape(-1, self.size)
        signed = x * np.array([y for _, y in rows], float)[:, None]
        ridge = np.asarray(self.ridge(len(rows)), float)
        b = np.asarray(noise.discrete_laplace(round(self.scale * FINE), self.size), float) / FINE
        found = minimise(
            lambda at: -signed.T @ self.loss.slope(signed @ at) + ridge * at + b,
            lambda at: (signed.T * self.loss.curvature(signed @ at)) @ signed + np.diag(ridge),
            np.zeros(self.size),
        )
        return [float(value) for value in found]


def _by_density(name: str, objective: Objective, pair: tuple[Points, Points], epsilon: float = 1.0) -> Verdict:
    subject = Subject(name=name, release=objective.release, loss=privacy.Pure(round(epsilon, 6)), pairs=[pair])
    return densities.attack(subject, size=objective.size)


_OURS = "test_pure_minimisers_of_neighbours_are_as_close_as_promised in tests/learn/test_density_ratio.py"
_ALONE: tuple[Points, Points] = ([], [(0.7, 1)])

UNREGULARISED_INTERCEPT = Exhibit(
    name="unregularised-intercept",
    title="The regulariser leaves out the intercept",
    story=(
        "Statistical software does not shrink the intercept, because it means nothing to shrink it. Objective "
        "perturbation is private because the objective is λ-strongly convex in every direction: only then a "
        "person changes the determinant of its Hessian by a factor of at most 1 + R²/λ. Along an intercept "
        "without a regulariser the curvature is that of the rows alone, and where rows are few one person more "
        "multiplies it."
    ),
    sources=("Chaudhuri, Monteleoni and Sarwate 2011, whose regulariser covers all coefficients",),
    broken=lambda: _by_density(
        "an intercept without λ", Objective(1.7, lambda _: [2.0, 0.02], intercept=True), _ALONE
    ),
    mended=lambda: _by_density(
        "an intercept with λ", Objective(1.7, lambda _: [2.0, 2.0], intercept=True), _ALONE
    ),
    ours=f"The intercept is one of the features, inside the norm and inside the regulariser ({_OURS}).",
)

LAMBDA_PER_ROW = Exhibit(
    name="lambda-per-row",
    title="λ grows with the number of rows, which is a secret",
    story=(
        "A mean of losses with a regulariser λ is a sum of losses with a regulariser nλ, and libraries that take "
        "means multiply λ by the number of rows, or divide a C by it. Then neighbours have another λ. For the "
        "same "
        "noise their minimisers are apart by a share of θ itself, which is not bounded: far out, where noise is "
        "large, one minimiser tells n."
    ),
    sources=("the parametrisation by means that most libraries share",),
    broken=lambda: _by_density(
        "λ = n", Objective(1.0, lambda n: [float(max(n, 1))]), ([(1, 1)], [(1, 1), (1, -1)])
    ),
    mended=lambda: _by_density("λ = 2", Objective(1.0, lambda _: [2.0]), ([(1, 1)], [(1, 1), (1, -1)])),
    ours=(
        "λ is a multiple of R²/ε, which a noisy count decides that is paid for "
        "(test_a_noisy_count_decides_how_much_to_regularise_within_public_bounds in "
        "tests/learn/methods/test_problem.py)."
    ),
)

_HUBER = HuberHinge(0.1)
_AT_THE_BEND: tuple[Points, Points] = ([], [(1.0, 1)])

LOGISTIC_RULE_FOR_HINGE = Exhibit(
    name="logistic-rule-for-hinge",
    title="The rule of the logistic loss is used for a huberised hinge",
    story=(
        "For the logistic loss the determinant is free: it bends only where its slope is between 0 and 1, and "
        "what "
        "a row adds to the curvature is saved on its slope. The huberised hinge bends by 1/(2h) at once, where "
        "its "
        "slope is still 0. So noise of scale 1/ε and λ = R²/ε, right for the one, is not enough for the other: "
        "the "
        "determinant costs up to ln(1 + 1/(2hλ)) more."
    ),
    sources=("Chaudhuri, Monteleoni and Sarwate 2011, whose ε′ subtracts 2·ln(1 + c/(nλ))",),
    broken=lambda: _by_density("scale 1/ε, λ = 1/ε", Objective(1.0, lambda _: [1.0], _HUBER), _AT_THE_BEND),
    mended=lambda: _by_density(
        "scale and λ by its own rule",
        Objective(float(pure_noise.scale_for(1, lam=20, loss=_HUBER.law)), lambda _: [20.0], _HUBER),
        _AT_THE_BEND,
    ),
    ours=(
        "A loss says how its curvature follows from its slope, and only a loss that saturates has the free "
        "determinant (test_the_determinant_is_free_only_where_lambda_is_large in "
        "tests/privacy/theorems/learning/test_objective_perturbation.py)."
    ),
)

_LONG = ([(0.1, 1)] * 300, [*[(0.1, 1)] * 300, (10.0, -1)])

NORM_NOT_SQUARED = Exhibit(
    name="norm-not-squared",
    title="The curvature of a row is bounded by c·R where it is c·R²",
    story=(
        "The Hessian of a row is ℓ″·x·xᵀ, whose norm is at most c·R². With rows of norm 1 both are the same, "
        "and code that was written for rows of norm 1 was later given a parameter for their norm, which scaled "
        "the slope and, by the same factor only, the curvature. With R = 10 λ is ten times too small."
    ),
    sources=("a library whose parameter data_norm was added after the proof",),
    broken=lambda: _by_density("λ = R/ε", Objective(10.0, lambda _: [10.0]), _LONG),
    mended=lambda: _by_density("λ = R²/ε", Objective(10.0, lambda _: [100.0]), _LONG),
    ours=f"Every row is scaled to norm 1 and truncated, and theorems take R and square it ({_OURS}).",
)

# -- a solver that stops early ------------------------------------------------------------------------------------

STOP = 0.54
"""The slope at which the solver of the exhibit stops."""


def descended(rows: Sequence[dict[str, int]]) -> int:
    """Release the minimiser of λ/2·θ² − θ·rows, found by steps that overshoot, with noise for a shift of 1/λ."""
    return int(_noisy(rows, sensitivity=1000, scale=1000))


def descended_and_paid(rows: Sequence[dict[str, int]]) -> int:
    """Release the same, with noise for a shift of (1 + 2·STOP)/λ."""
    return int(_noisy(rows, sensitivity=2081, scale=2081))


def _noisy(rows: Sequence[dict[str, int]], *, sensitivity: int, scale: int) -> Any:
    theta, slope = 0.0, -float(len(rows))
    while abs(slope) > STOP:  # λ = 1; every step leaves 9/10 of the slope, on the other side
        theta -= 1.9 * slope
        slope = theta - len(rows)
    return Laplace(scale, sensitivity).release(Exact(round(theta * 1000), sensitivity))


def _stopped(name: str, release: Callable[[Any], Any]) -> Verdict:
    pairs = [([{"x": 1}], [{"x": 1}, {"x": 1}])]
    return transcript.attack(Subject(name=name, release=release, loss=privacy.Pure(1), pairs=pairs))


TOLERANCE_FOR_FREE = Exhibit(
    name="tolerance-for-free",
    title="The solver stops early, and the noise is for exact minimisers",
    story=(
        "One person moves the exact minimiser by at most 1/λ. A solver returns a point where the gradient is "
        "small, say τ, which is up to τ/λ away, on a side that depends on the number of its steps. Two tables "
        "may stop on opposite sides: their points are (1 + 2τ)/λ apart. Proofs of output perturbation speak of "
        "the "
        "exact minimiser, and code calls a solver with its default tolerance."
    ),
    sources=("Iyengar, Near, Song, Thakkar, Thakurta and Wang 2019, approximate minima perturbation",),
    broken=lambda: _stopped("noise for 1/λ", descended),
    mended=lambda: _stopped("noise for (1 + 2τ)/λ", descended_and_paid),
    ours=(
        "The tolerance is a public constant that no data loosen, and twice of it is a part of the sensitivity "
        "(test_one_person_moves_the_minimiser_by_no_more_than_the_sensitivity in "
        "tests/learn/methods/test_output_perturbation.py)."
    ),
)

# -- a posterior --------------------------------------------------------------------------------------------------

CELLS = np.linspace(-6.0, 6.0, 25)
"""The coefficients that a posterior of the exhibit may have."""

CROWD: list[tuple[float, int]] = [(1.0, 1), (1.0, -1)] * 5
"""Rows about which a posterior of the right sign is undecided."""

STRENGTH, SHARP = 1, 1
"""λ and k: by the theorem one draw is 1-Gaussian DP."""


def drawn(rows: Points, *, sign: int) -> int:
    """Return the place of one draw from exp(−k·(sign·Σ ln(1 + e^{−yxθ}) + λ/2·θ²)) on `CELLS`."""
    losses = sum((np.logaddexp(0.0, -y * x * CELLS) for x, y in rows), np.zeros(len(CELLS)))
    exponent = SHARP * (sign * losses + STRENGTH / 2 * CELLS**2)
    return int(noise.softmax(np.rint((exponent - exponent.min()) * 2**20).astype(np.int64), over=2**20))


def _posterior(name: str, sign: int) -> Verdict:
    subject = Subject(
        name=name,
        release=partial(drawn, sign=sign),
        loss=privacy.GaussianDP(1),
        pairs=[(CROWD, [*CROWD, (1.0, 1)])],
    )
    return exact.attack(subject, unexplored="1e-9")


WRONG_SIGN = Exhibit(
    name="posterior-of-the-wrong-sign",
    title="A posterior that prefers what explains the data worst",
    story=(
        "Lecture notes write the posterior as exp(−τ·Σ log p − r). The sign is wrong: it is exp(+τ·Σ log p − r). "
        "With it the draw is useless, and not private either: one draw is √(k/λ)-Gaussian DP because the exponent "
        "is convex, and with the wrong sign it is not. The law has two far modes, and one person decides between "
        "them."
    ),
    sources=("Gopi, Lee and Liu 2022, whose exponent is strongly convex",),
    broken=lambda: _posterior("exp(−Σ log p)", -1),
    mended=lambda: _posterior("exp(+Σ log p)", 1),
    ours=(
        "The sampler is tested against the law of the posterior (test_draws_have_the_law_of_the_posterior in "
        "tests/learn/methods/test_posterior_sampling.py)."
    ),
)

# -- classes ------------------------------------------------------------------------------------------------------


def classes_found(rows: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Release how many rows each class has that occurs."""
    return _counted(rows, sorted({str(row.get("class")) for row in rows}))


def classes_declared(rows: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Release how many rows each declared class has."""
    return _counted(rows, ["ill", "well"])


def _counted(rows: Sequence[dict[str, Any]], classes: list[str]) -> dict[str, int]:
    counts = [sum(str(row.get("class")) == name for row in rows) for name in classes]
    noisy: Any = Laplace(1).release(Exact(counts, 1)) if counts else []
    return {name: int(count) for name, count in zip(classes, np.asarray(noisy).ravel(), strict=True)}


_PATIENTS = [{"class": "ill"}, {"class": "well"}, {"class": "well"}]

CLASSES_OFF_THE_DATA = Exhibit(
    name="classes-off-the-data",
    title="The classes of a classifier are those that occur",
    story=(
        "A classifier lists the distinct values of its target as classes, as scikit-learn's interface suggests, "
        "and "
        "counts each with noise. The list itself has no noise: a model that knows a rare class says that a person "
        "of this class is in the table, and a model of one class fewer that they are not."
    ),
    sources=("IBM/differential-privacy-library, which reads classes_ off y unless told otherwise",),
    broken=lambda: replay(classes_found, _PATIENTS, name="classes that occur", limit=20, seed=7),
    mended=lambda: replay(classes_declared, _PATIENTS, name="classes that were declared", limit=20, seed=7),
    ours=(
        "Classes are declared, and a fit without them is refused (test_classes_are_those_of_the_schema in "
        "tests/learn/methods/test_problem.py)."
    ),
)

EXHIBITS = (
    UNREGULARISED_INTERCEPT,
    LAMBDA_PER_ROW,
    LOGISTIC_RULE_FOR_HINGE,
    NORM_NOT_SQUARED,
    TOLERANCE_FOR_FREE,
    WRONG_SIGN,
    CLASSES_OFF_THE_DATA,
)
