"""Restarts of the sparse vector: charged as c runs, a new threshold for each, never a copy."""

from __future__ import annotations

import copy
import math
import pickle
from fractions import Fraction

import pytest

from discreet import privacy
from discreet.errors import BudgetExceeded, ParameterError, SensitivityExceeded
from discreet.mechanisms import AboveThreshold, Exact, RestartingSparse, Sparse
from discreet.noise.testing import Asked, scripted


def test_restarts_are_charged_as_so_many_runs_and_fit_the_budget() -> None:
    for positives in (1, 3, 50):
        mechanism = Sparse.restarting(positives, epsilon=1, delta="1e-6", threshold=7)
        assert mechanism.loss == AboveThreshold(mechanism.each, threshold=7).loss * positives
        assert privacy.epsilon(mechanism.loss, "1e-6") <= 1
        assert mechanism.each >= Fraction(1, positives)


def test_the_epsilon_of_a_run_is_more_than_that_of_the_mended_notes() -> None:
    """θ = √(32·c·ln(1/δ))/ε, which is ε₀ = ε/√(8·c·ln(1/δ)); and not 32·c·ln(1/δ)/ε, as the notes write."""
    for positives in (10, 100, 1000):
        each = float(Sparse.restarting(positives, epsilon=1, delta="1e-6").each)
        mended = 1 / math.sqrt(8 * positives * math.log(1e6))
        assert each > 2 * mended
        assert mended > 2 * 1 / (32 * positives * math.log(1e6))


def test_no_larger_epsilon_of_a_run_would_fit() -> None:
    mechanism = Sparse.restarting(50, epsilon=1, delta="1e-6")
    more = AboveThreshold(mechanism.each * Fraction("1.01"), threshold=0).loss * 50
    assert privacy.epsilon(more, "1e-6") > 1


@pytest.mark.parametrize("delta", [0, 1, 2])
def test_a_delta_without_a_meaning_is_refused(delta: int) -> None:
    with pytest.raises(ParameterError, match="delta above 0 and below 1"):
        Sparse.restarting(3, epsilon=1, delta=delta)


def drawn_thresholds(release: object) -> tuple[int, object]:
    """Return how many thresholds a run draws, every draw being 0, and what it shows."""
    mechanism = RestartingSparse(2, threshold=5, positives=2)
    seen: list[Asked] = []

    def choose(asked: Asked) -> int:
        seen.append(asked)
        return 0

    with scripted(choose):
        shown = release(mechanism)  # type: ignore[operator]
    return sum(asked.parameter == mechanism.threshold_scale for asked in seen), shown


def test_each_positive_is_followed_by_a_new_threshold() -> None:
    def asked(mechanism: RestartingSparse) -> list[bool]:
        run = mechanism.start()
        return [bool(run.ask(Exact(value, 1))) for value in (4, 5, 4, 9)]

    assert drawn_thresholds(asked) == (2, [False, True, False, True])
    at_once = drawn_thresholds(lambda mechanism: mechanism.release(Exact([4, 5, 4, 9, 9], 1)).tolist())
    assert at_once == (2, [False, True, False, True])


def test_a_vector_is_compared_with_the_threshold_of_its_run() -> None:
    mechanism = RestartingSparse(2, threshold=0, positives=2)
    lines = iter([0, 100])

    def choose(asked: Asked) -> int:
        return next(lines) if asked.parameter == mechanism.threshold_scale else 0

    with scripted(choose):
        assert mechanism.release(Exact([1, 50, 150, 1], 1)).tolist() == [True, False, True]


def test_a_run_ends_and_refuses_copies_and_other_sensitivities() -> None:
    run = Sparse.restarting(2, epsilon=50, delta="1e-6", threshold=0).start()
    with pytest.raises(SensitivityExceeded):
        run.ask(Exact(10**6, 2))
    assert run.left == 2
    assert run.ask(Exact(10**6, 1))
    assert run.left == 1
    assert run.ask(Exact(10**6, 1))
    with pytest.raises(BudgetExceeded, match="2 positive answers"):
        run.ask(Exact(0, 1))
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied"):
            copied(run)


def test_the_error_bar_holds_for_all_runs() -> None:
    one, all_of_them = AboveThreshold("0.5", threshold=0), RestartingSparse("0.5", threshold=0, positives=20)
    assert all_of_them.error("0.95", queries=100) == one.error(Fraction(399, 400), queries=100)
