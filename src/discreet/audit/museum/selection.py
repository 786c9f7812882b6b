"""Show three wrong ways to choose the best candidate: a missing factor ½, wrong accounting, and no noise at all.

Every score has sensitivity 1. Each choice has few outcomes and few draws, so the exact attack enumerates all of
them.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import noise, privacy
from discreet.audit.attacks import exact
from discreet.audit.inputs.subject import Subject
from discreet.audit.museum.exhibit import Exhibit
from discreet.audit.report.verdict import Verdict
from discreet.mechanisms import Exact, Exponential, PermuteAndFlip

Scores = tuple[int, ...]


def _attacked(
    name: str, release: Callable[[Scores], Any], loss: privacy.Loss, pair: tuple[Scores, Scores]
) -> Verdict:
    return exact.attack(Subject(name=name, release=release, loss=loss, pairs=[pair]), unexplored="1e-5")


# -- literal-exponential ----------------------------------------------------------------------------------------


def as_written(scores: Scores) -> int:
    """Choose r with probability ∝ exp(u(r)), for ε = 1 and Δ = 1: the factor 2 is missing."""
    array = np.array(scores)
    return noise.softmax(array.max() - array, over=1)


_BEHIND = ((0, 4), (1, 3))

LITERAL_EXPONENTIAL = Exhibit(
    name="literal-exponential",
    title="The exponential mechanism without its factor ½",
    story=(
        "Lecture notes define the exponential mechanism by P(r) ∝ exp(ε·u(r))/Δ, and prove it private for "
        "exp(ε·u(r)/(2Δ)). The factor 2 is needed because one score may rise while the others fall, so that the "
        "sum over all candidates, by which every weight is divided, changes as well. Without it the loss is up to "
        "twice the claim, for Δ = 1, where the position of Δ does not matter. Outside the exponential, as "
        "printed, Δ cancels when the probabilities are normalised: then scores of sensitivity 1000 are treated "
        "like scores of sensitivity 1."
    ),
    sources=("Lecture note 002, section 4.2", "McSherry and Talwar 2007"),
    broken=lambda: _attacked("exponential mechanism as written", as_written, privacy.Pure(1), _BEHIND),
    mended=lambda: _attacked(
        "exponential mechanism",
        lambda scores: Exponential(epsilon=1).release(Exact(scores, sensitivity=1)),
        privacy.Pure(1),
        _BEHIND,
    ),
    ours=(
        "Exponential.scale is 2Δ/ε, or Δ/ε for scores that are declared monotonic "
        "(test_the_exponential_mechanism_of_the_notes_loses_up_to_twice_epsilon in "
        "tests/mechanisms/test_selection_exact.py)."
    ),
)


# -- flip-as-exponential ----------------------------------------------------------------------------------------

TIMES = 5


def repeatedly(scores: Scores, mechanism: PermuteAndFlip | Exponential) -> list[int]:
    """Choose five times."""
    return [mechanism.release(Exact(scores, sensitivity=1)) for _ in range(TIMES)]


_TIED = ((0, 0), (1, -1))

FLIP_AS_EXPONENTIAL = Exhibit(
    name="flip-as-exponential",
    title="Permute-and-flip charged as if it were the exponential mechanism",
    story=(
        "Permute-and-flip chooses at least as well as the exponential mechanism at the same ε, so a library "
        "replaced the one by the other, and kept the accounting. But the exponential mechanism is better than "
        "ε-private: its losses, over all outcomes, lie within one interval of width ε, never at both +ε and −ε. "
        "Composition uses that: it is why many choices cost a quarter of what ε alone would cost in zCDP. "
        "Permute-and-flip has no such bounded range. Take two tied candidates, of which one person makes one "
        "better and the other worse. The loss is ε if the worse one is chosen and −ε/2 if the better one is (for "
        "ε = 1): a range half as wide again."
    ),
    sources=("opendp/opendp#2911", "McKenna and Sheldon 2020", "Dong, Durfee and Rogers 2020, on bounded range"),
    broken=lambda: _attacked(
        "permute-and-flip, charged as exponential",
        lambda scores: repeatedly(scores, PermuteAndFlip(epsilon=1)),
        privacy.Exponential(1) * TIMES,
        _TIED,
    ),
    mended=lambda: _attacked(
        "permute-and-flip, charged as such",
        lambda scores: repeatedly(scores, PermuteAndFlip(epsilon=1)),
        privacy.PermuteAndFlip(1) * TIMES,
        _TIED,
    ),
    ours=(
        "Each mechanism declares a loss of its own kind (test_each_declares_the_loss_that_is_its_own and "
        "test_the_losses_of_permute_and_flip_do_not in tests/mechanisms/test_selection_exact.py)."
    ),
)


# -- exact-score-selection --------------------------------------------------------------------------------------

EPSILON = 2


def best_then_noise(scores: Scores) -> tuple[int, int]:
    """Take the candidate with the best exact score, and release that score with noise for all of ε."""
    best = scores.index(max(scores))
    return best, scores[best] + noise.discrete_laplace(Fraction(1, EPSILON))


def half_and_half(scores: Scores) -> tuple[int, int]:
    """Choose with half of ε, and release the score of the chosen candidate with the other half."""
    half = Fraction(EPSILON, 2)
    best = PermuteAndFlip(half).release(Exact(scores, sensitivity=1))
    return best, scores[best] + noise.discrete_laplace(1 / half)


_CLOSE = ((3, 2), (2, 3))

EXACT_SCORE_SELECTION = Exhibit(
    name="exact-score-selection",
    title="The best candidate is chosen on exact scores",
    story=(
        "A synthesiser checks which of many tables of counts its model fits worst, and then measures that table, "
        "with noise. The measurement is private, but the check was not accounted for. Which table was measured is "
        "itself an answer about the data: where two candidates are close, one person decides which of them is "
        "named, and the name has no noise."
    ),
    sources=("google/dpsynth#35",),
    broken=lambda: _attacked("best by exact score", best_then_noise, privacy.Pure(EPSILON), _CLOSE),
    mended=lambda: _attacked("best by permute-and-flip", half_and_half, privacy.Pure(EPSILON), _CLOSE),
    ours=(
        "An Exact cannot be compared, so nothing but a mechanism can choose by it "
        "(test_every_way_to_look_inside_is_refused_and_says_nothing in tests/mechanisms/test_exact.py)."
    ),
)

EXHIBITS = (LITERAL_EXPONENTIAL, FLIP_AS_EXPONENTIAL, EXACT_SCORE_SELECTION)
