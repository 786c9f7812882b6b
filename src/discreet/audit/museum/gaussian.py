"""Show Gaussian and Laplace noise of the wrong width, or of the wrong kind for its claim.

Where a value has a scale, its sensitivity is `STEP`: the grid is so fine against the noise that the discrete laws
behave like the continuous ones. A single wide draw is cheap to enumerate, down to the far tail, which is where
these claims fail.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from discreet import noise, privacy
from discreet.audit.attacks import exact
from discreet.audit.inputs.subject import Subject
from discreet.audit.museum.exhibit import Exhibit
from discreet.audit.report.verdict import Verdict
from discreet.mechanisms import Exact, Gaussian

STEP = 20


def _attacked(
    name: str,
    release: Callable[[Any], Any],
    loss: privacy.Loss,
    pair: tuple[Any, Any],
    *,
    unexplored: str = "1e-12",
) -> Verdict:
    return exact.attack(Subject(name=name, release=release, loss=loss, pairs=[pair]), unexplored=unexplored)


# -- classical-gaussian -----------------------------------------------------------------------------------------

LARGE, DELTA = 10, Fraction(1, 1000)


def classical_variance(epsilon: int, delta: Fraction) -> Fraction:
    """Return the variance 2·ln(1.25/δ)·Δ²/ε² of the textbooks, which is proved for ε < 1.

    >>> round(float(classical_variance(1, Fraction(1, 1000))) / STEP**2, 2)
    14.26
    """
    return Fraction(2 * math.log(1.25 / float(delta))) * STEP**2 / epsilon**2


def classical(value: int) -> int:
    """Add noise by the textbook's formula, far outside the range of its proof."""
    return value + noise.discrete_gaussian(classical_variance(LARGE, DELTA))


def _calibrated() -> Verdict:
    ours = Gaussian.for_budget(LARGE, DELTA, sensitivity=STEP)
    return _attacked(
        "calibrated Gaussian noise",
        lambda value: ours.release(Exact(value, sensitivity=STEP)),
        privacy.Approximate(LARGE, DELTA),
        (0, STEP),
    )


CLASSICAL_GAUSSIAN = Exhibit(
    name="classical-gaussian",
    title="The classical Gaussian mechanism at a large ε",
    story=(
        "Every course teaches σ = Δ·√(2·ln(1.25/δ))/ε. The proof needs ε < 1, but the formula does not say so, "
        "and code that uses it accepts 10 without an error. There it shrinks too fast: at large ε the noise must "
        "be about Δ/√(2ε), and the formula gives Δ/ε times a constant. For δ = 0.001 it wastes noise where it was "
        "proved, is right by luck between ε = 6 and 8, and at ε = 10 fails more than three times as often as δ "
        "allows."
    ),
    sources=("Dwork and Roth 2014, theorem A.1", "Balle and Wang 2018", "Lecture note 003, output perturbation"),
    broken=lambda: _attacked("classical Gaussian noise", classical, privacy.Approximate(LARGE, DELTA), (0, STEP)),
    mended=_calibrated,
    ours=(
        "Gaussian.for_budget starts from the analytic Gaussian mechanism and certifies the discrete law at any ε "
        "(test_the_classical_calibration_breaks_its_promise_at_large_epsilon and "
        "test_a_calibrated_gaussian_keeps_its_budget_and_wastes_little in "
        "tests/mechanisms/test_additive_exact.py)."
    ),
)


# -- gaussian-objective-perturbation ----------------------------------------------------------------------------

RIDGE = 2


def perturbed_minimum(labels: Sequence[int], b: int) -> float:
    """Return the θ that minimises Σ ½(θ − y)² + ½·λ·θ² + b·θ: a ridge regression with one parameter.

    >>> perturbed_minimum([20, 0, 10], b=0)
    6.0
    """
    return (sum(labels) - b) / (len(labels) + RIDGE)


def with_gaussian_b(labels: Sequence[int]) -> float:
    """Perturb the objective with P(b) ∝ exp(−b²/σ²), for the σ = Δ/ε of ε = 1."""
    return perturbed_minimum(labels, noise.discrete_gaussian(Fraction(STEP**2, 2)))


def with_laplace_b(labels: Sequence[int]) -> float:
    """Perturb the objective with P(b) ∝ exp(−|b|/σ), for the same σ."""
    return perturbed_minimum(labels, noise.discrete_laplace(STEP))


_LABELS = ((STEP, 0, STEP), (STEP, 0, 0))

GAUSSIAN_OBJECTIVE_PERTURBATION = Exhibit(
    name="gaussian-objective-perturbation",
    title="Pure ε from a Gaussian in the objective",
    story=(
        "Objective perturbation adds a random slope b to the loss that is minimised, and releases the minimiser. "
        "With another person in the data, the same minimiser needs another b, at most Δ away. The privacy loss is "
        "how much less likely that b is. Lecture notes say that b ∝ exp(−‖b‖²/σ²) gives pure ε. That is a "
        "Gaussian: from b to b + Δ its density falls by exp((2bΔ + Δ²)/σ²), more for larger b, so that no ε holds "
        "in the tail. The square is a slip: exp(−‖b‖/σ) falls by the same factor everywhere."
    ),
    sources=("Lecture note 003, objective perturbation", "Chaudhuri, Monteleoni and Sarwate 2011"),
    broken=lambda: _attacked("objective with Gaussian b", with_gaussian_b, privacy.Pure(1), _LABELS),
    mended=lambda: _attacked("objective with Laplace b", with_laplace_b, privacy.Pure(1), _LABELS),
    ours=(
        "The loss of a Gaussian has no pure ε: privacy.epsilon at δ = 0 is infinite, and a session of pure ε "
        "refuses it (test_a_loss_without_a_filter_is_refused_with_the_way_out in tests/privacy/test_session.py)."
    ),
)


# -- lambda-inverted --------------------------------------------------------------------------------------------

LAMBDA = Fraction(1, 2)

Votes = tuple[int, int]


def winner(votes: Votes, scale: Fraction) -> int:
    """Return the answer with more votes, by noisy counts."""
    no, yes = (count + noise.discrete_laplace(scale) for count in votes)
    return int(yes > no)


_TEACHERS = ((3, 1), (2, 2))

LAMBDA_INVERTED = Exhibit(
    name="lambda-inverted",
    title="Noise of scale λ where 1/λ was meant",
    story=(
        "Teachers vote, noise is added to the counts, and a student learns from the winner. The accounting "
        "charges 2λ for each vote, which is right for noise with density proportional to exp(−λ|x|). Its scale is "
        "1/λ, and the random generator takes a scale, but was given λ. At λ = 1 the two are the same, so a test "
        "at that value does not notice. At λ = ½ there is a quarter of the noise. The smaller λ is, the better "
        "the privacy on paper and the worse in fact."
    ),
    sources=("vanderschaarlab/mlforhealthlabpub#36", "Ganev, Annamalai and De Cristofaro 2024, arXiv 2406.13985"),
    broken=lambda: _attacked(
        "noisy votes, scale λ",
        lambda votes: winner(votes, LAMBDA),
        privacy.Pure(2 * LAMBDA),
        _TEACHERS,
        unexplored="1e-5",
    ),
    mended=lambda: _attacked(
        "noisy votes, scale 1/λ",
        lambda votes: winner(votes, 1 / LAMBDA),
        privacy.Pure(2 * LAMBDA),
        _TEACHERS,
        unexplored="1e-5",
    ),
    ours=(
        "No mechanism takes a bare λ: it is built with scale= or for_epsilon(…), and loses exactly what it says "
        "(test_laplace_loses_exactly_sensitivity_over_scale_and_no_more in "
        "tests/mechanisms/test_additive_exact.py)."
    ),
)


# -- charged-for-one --------------------------------------------------------------------------------------------


def both(value: int) -> tuple[int, int]:
    """Release the same value from two places, each with Gaussian noise of its own."""
    return value + noise.discrete_gaussian(1), value + noise.discrete_gaussian(1)


CHARGED_FOR_ONE = Exhibit(
    name="charged-for-one",
    title="Two answers about the same person, charged as one",
    story=(
        "Two clients release one number each, with independent noise, and each of the two numbers is private. But "
        "both numbers depend on the same record, through the model that they share, so an attacker who sees both "
        "sees the record twice. Accounting that looks at one number at a time charges for one. Independent noise "
        "does not make independent answers: the sensitivities of all answers about a person add up."
    ),
    sources=("google/differential-privacy#428",),
    broken=lambda: _attacked("two answers, charged as one", both, privacy.DiscreteGaussian(1), (0, 1)),
    mended=lambda: _attacked("two answers, charged as two", both, privacy.DiscreteGaussian(1) * 2, (0, 1)),
    ours=(
        "A vector's sensitivity counts all entries that one person changes, and a mechanism refuses more than it "
        "was built for (test_a_value_more_sensitive_than_the_mechanism_was_built_for_is_refused in "
        "tests/mechanisms/test_exact.py)."
    ),
)

EXHIBITS = (CLASSICAL_GAUSSIAN, GAUSSIAN_OBJECTIVE_PERTURBATION, LAMBDA_INVERTED, CHARGED_FOR_ONE)
