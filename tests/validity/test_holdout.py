"""The reusable holdout: decisions before looking, answers, refusals, bad input, and what every answer carries."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.errors import BudgetExceeded, NotForRelease, ParameterError
from discreet.release.released import Released
from discreet.validity import HoldoutAnswer, ReusableHoldout, plan
from discreet.validity.theorems import concentration

N = 2000
RNG = np.random.default_rng(5)
X = RNG.normal(size=(N, 3))
Y = (X[:, 0] > 0).astype(int)
METHODS = ("split", "ladder", "guess_and_check", "gaussian", "thresholdout")


class Sign:
    """A model that predicts the sign of one feature."""

    def __init__(self, feature: int = 0):
        self.feature = feature

    def predict(self, rows: Any) -> Any:
        return (np.asarray(rows)[:, self.feature] > 0).astype(int)


def guard(method: str = "guess_and_check", **changes: Any) -> ReusableHoldout:
    return ReusableHoldout(X, Y, method=method, **{"queries": 20, "width": 1.0, "overfits": 3, **changes})


# -- decisions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("purpose", "n", "queries", "method"),
    [
        ("selecting", 1000, 100, "ladder"),
        ("screening", 10_000, 1000, "guess_and_check"),
        ("estimating", 10_000, 3, "split"),
        ("estimating", 10_000, 20, "guess_and_check"),
        ("estimating", 100_000, 1000, "gaussian"),
    ],
)
def test_auto_decides_by_public_numbers_and_says_why(purpose: str, n: int, queries: int, method: str) -> None:
    found = plan(n, queries, purpose=purpose)
    assert found.method == method
    assert method.split("_")[0] in found.why.lower()
    assert found.width == min(o.width for o in found.options if o.method == method)


def test_a_plan_says_what_a_width_takes() -> None:
    found = plan(10_000, 100, 0.05, purpose="screening")
    split = next(option for option in found.options if option.method == "split")
    assert split.rows is not None
    assert split.rows > 100_000
    assert "takes" in str(found)


def test_a_method_that_can_say_nothing_is_refused_before_the_holdout_is_used() -> None:
    with pytest.raises(ParameterError, match=r"gaussian certifies ± .* at best.*queries="):
        guard("gaussian", width=0.1)


# -- answers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_every_answer_is_a_release_with_an_interval_a_label_and_json(method: str) -> None:
    with noise.deterministic(7):  # Thresholdout raises a false alarm now and then
        answer = guard(method).score(Sign(), X, Y)
    assert isinstance(answer, Released)
    assert answer.low <= answer.value <= answer.high
    assert answer.low <= 1.0 <= answer.high
    assert answer.source == ("training" if method in ("guess_and_check", "thresholdout") else "holdout")
    assert answer.estimate.basis == "population"
    assert HoldoutAnswer.from_json(answer.to_json()) == answer
    assert HoldoutAnswer.from_json(answer.to_json()).label.facts == answer.label.facts
    assert "hold" in str(answer)
    assert answer._repr_html_()


@pytest.mark.parametrize("method", METHODS)
def test_a_label_promises_privacy_only_where_there_is_some(method: str) -> None:
    label = guard(method).label
    private = method in ("gaussian", "thresholdout")
    assert label.private is private
    assert label.guarantee.startswith("ε" if private else "none")
    assert label.receipt.promise.delta < 1 if private else label.receipt.promise.delta == 1


def test_a_wrong_guess_is_corrected_and_a_right_one_confirmed() -> None:
    holdout = guard()
    right, wrong = holdout.score(Sign(1), X, Y), holdout.check(lambda X, y: X[:, 1] > 0, guess=0.9)
    assert (right.source, wrong.source) == ("training", "holdout")
    assert abs(wrong.value - 0.5) < 0.05
    assert wrong.high < 0.9
    assert (holdout.asked, holdout.corrected) == (2, 1)


def test_thresholdout_corrects_a_wrong_guess_with_noise() -> None:
    rows = 400_000
    y = np.ones(rows)
    with noise.deterministic(3):
        holdout = ReusableHoldout(y.reshape(-1, 1), y, method="thresholdout", queries=50, overfits=2)
        good = holdout.check(lambda X, y: y * 0.5, guess=0.501)
        bad = holdout.check(lambda X, y: y * 0.5, guess=0.9)
    assert (good.source, good.value) == ("training", 0.501)
    assert bad.source == "holdout"
    assert bad.low <= 0.5 <= bad.high
    assert bad.value != 0.5
    with noise.deterministic(4):
        holdout.check(lambda X, y: y * 0.5, guess=0.1)
        with pytest.raises(BudgetExceeded, match="would widen all intervals"):
            holdout.check(lambda X, y: y * 0.5, guess=0.5)


def test_the_ladder_tells_the_best_score_and_nothing_about_the_others() -> None:
    holdout = guard("ladder")
    first, worse, again = (holdout.score(Sign(j), X, Y) for j in (1, 2, 1))
    best = holdout.score(Sign(0), X, Y)
    after = holdout.score(Sign(1), X, Y)
    assert first.value == worse.value == again.value
    assert "best so far" in worse.note
    assert best.value == after.value == 1.0
    assert holdout.corrected == 2


def test_an_error_is_better_when_it_is_smaller() -> None:
    holdout = guard("ladder", metric="error")
    assert holdout.score(Sign(1), X, Y).value > holdout.score(Sign(0), X, Y).value == 0.0
    assert holdout.scorer()(Sign(0), X, Y) == 0.0


def test_a_loss_of_ones_own_is_a_mean_over_rows() -> None:
    holdout = guard(metric=lambda y, p: (y - p) ** 2 / 4, greater_is_better=False)
    answer = holdout.score(Sign(1), X, Y)
    assert answer.low <= np.mean((Y - Sign(1).predict(X)) ** 2 / 4) <= answer.high


def test_features_are_screened_in_one_batch() -> None:
    train = np.random.default_rng(6).normal(size=(N, 3))
    holdout = guard(queries=10)
    found = holdout.select_features(train, (train[:, 0] > 0).astype(int), k=1)
    assert found.selected.tolist() == [0]
    assert found.signs.tolist() == [1]
    assert holdout.asked == 3
    with pytest.raises(ParameterError, match="purpose"):
        guard("ladder").select_features(train, (train[:, 0] > 0).astype(int), k=1)


def test_splitting_divides_beta_among_all_questions() -> None:
    answer = guard("split").check(X[:, 1] > 0)
    each, logarithm = N // 20, math.log(2 * 20 / 0.05)
    assert answer.low <= concentration.chernoff_low(answer.value, each, logarithm)
    assert answer.high >= concentration.chernoff_high(answer.value, each, logarithm)


# -- refusals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["split", "gaussian", "thresholdout"])
def test_a_used_up_holdout_refuses_in_the_sentence_and_loses_nothing(method: str) -> None:
    with noise.deterministic(2):
        holdout = guard(method, queries=2)
        for _ in range(2):
            holdout.score(Sign(), X, Y)
        with pytest.raises(BudgetExceeded, match=r"answer would widen all intervals from ±[\d.]+ to ±[\d.]+"):
            holdout.score(Sign(), X, Y)
    assert len(holdout.answers) == 2
    assert holdout.asked == 2


def test_too_many_surprises_are_refused_by_their_width() -> None:
    holdout = guard(width=0.09)

    def overfit() -> None:
        for wrong in range(100):
            holdout.check(lambda X, y: X[:, 1] > 0, guess=0.9, name=f"{wrong}")

    with pytest.raises(BudgetExceeded, match="would widen all intervals"):
        overfit()
    assert 2 <= len(holdout.answers) < 100


@pytest.mark.parametrize(
    ("statistic", "problem"),
    [
        (np.full(N, np.nan), "not a number"),
        (np.full(N, 1.5), r"must lie in \[0, 1\]"),
        (np.ones(N - 1), "one number for each"),
        (np.array(["a"] * N), "made of numbers"),
    ],
    ids=["NaN", "range", "shape", "text"],
)
def test_bad_statistics_are_refused_with_a_fix_counted_and_survived(statistic: Any, problem: str) -> None:
    holdout = guard()
    before = holdout.check(X[:, 0] > 0, guess=0.5)
    with pytest.raises(ParameterError, match=problem):
        holdout.check(statistic)
    assert holdout.asked == 2  # the message says something about the rows
    assert holdout.answers[0] == before
    assert holdout.check(X[:, 0] > 0, guess=0.5).number == 2


def test_private_methods_clamp_instead_because_a_message_would_tell() -> None:
    strange = np.where(X[:, 0] > 0, np.nan, 2.0)
    assert guard("gaussian").check(strange).low <= 0.5


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"metric": "roc_auc"}, "not a mean over rows"),
        ({"metric": "tasty"}, "Unknown metric"),
        ({"method": "magic"}, "methods of a holdout"),
        ({"purpose": "fun"}, "Unknown purpose"),
        ({"queries": 0}, "at least 1"),
        ({"confidence": 1}, "between 0 and 1"),
        ({"width": 0}, "between 0 and 1"),
    ],
)
def test_bad_parameters_are_refused_with_a_fix(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(ParameterError, match=problem) as caught:
        ReusableHoldout(X, Y, **change)
    assert caught.value.fixes


def test_rows_without_labels_are_refused() -> None:
    with pytest.raises(ParameterError, match="one label for each"):
        ReusableHoldout(X, Y[:-1])
    with pytest.raises(ParameterError, match="labels of a holdout are known"):
        ReusableHoldout(X, np.where(Y == 1, np.nan, 0.0))
    with pytest.raises(ParameterError, match=r"A guess lies in \[0, 1\]"):
        guard().check(X[:, 0] > 0, guess=float("nan"))


def test_a_holdout_is_not_copied() -> None:
    with pytest.raises(TypeError, match="one transcript"):
        pickle.dumps(guard())


def test_answers_from_test_bits_do_not_leave() -> None:
    with noise.deterministic(1):
        answer = guard("gaussian").score(Sign(), X, Y)
    assert answer.test_bits
    with pytest.raises(NotForRelease):
        pickle.dumps(answer)


def test_the_report_tells_what_was_asked_and_what_comes() -> None:
    holdout = guard()
    holdout.score(Sign(), X, Y)
    assert "1 questions: 1 confirmed" in str(holdout)
    assert holdout._repr_html_()
    assert holdout.width_after(100) > holdout.width


# -- errors, interrupts and promises ------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_an_error_on_the_holdout_widens_what_comes_after_because_it_told_something(method: str) -> None:
    """An error looks at all rows, without noise. If it were free, an analyst could ask by errors alone."""

    def failing(X: Any, y: Any) -> Any:
        raise RuntimeError("a bug in the statistic")

    with noise.deterministic(8):
        quiet, loud = guard(method, overfits=9), guard(method, overfits=9)
        with pytest.raises(RuntimeError, match="a bug"):
            loud.check(failing, guess=0.5)
        assert loud.asked == 1
        assert loud.width > 1.05 * quiet.width
        first = quiet.check(X[:, 1] > 0, guess=0.5)
        if loud.width > 1:
            with pytest.raises(BudgetExceeded, match="would widen all intervals"):
                loud.check(X[:, 1] > 0, guess=0.5)
        else:
            after = loud.check(X[:, 1] > 0, guess=0.5)
            assert after.high - after.low > 1.05 * (first.high - first.low)


def test_messages_tell_no_number_of_the_holdout() -> None:
    """Not how many rows there are, and not how large a number is: both would be answers that nothing counts."""
    told = set()
    for bad in (X[:, 0] * 7 + 3, X[X[:, 0] > 0.3, 0], X, np.where(X[:, 0] > 1, np.nan, 1.0), X.astype(str)[:, 0]):
        with pytest.raises(ParameterError) as caught:
            guard().check(bad)
        told.add(str(caught.value))
        assert not any(text in str(caught.value) for text in (str(len(X[X[:, 0] > 0.3])), "shape (", "e+", "-"))
    assert len(told) <= 5


@pytest.mark.parametrize("method", METHODS)
def test_an_interrupt_leaves_the_same_state_as_other_processes_read(method: str, tmp_path: Any) -> None:
    """Ctrl-C in the second of three questions of a batch: the step is lost, and counts, here and everywhere."""
    with noise.deterministic(9):
        path = tmp_path / "a.holdout"
        here = guard(method, path=path, overfits=9)
        here.check(X[:, 0] > 0, guess=0.5)

        def total(place: int) -> Any:
            if place == 1:
                raise KeyboardInterrupt
            return lambda rows: 0

        with pytest.raises(KeyboardInterrupt):
            here._batch(["a", "b", "c"], total, [0.5, 0.5, 0.5])
        there = guard(method, path=path, overfits=9)
        assert here.asked == there.asked == 4
        assert here.corrected == there.corrected
        assert here.width == there.width
        assert here.answers == there.answers
        assert here.check(X[:, 1] > 0, guess=0.5) == there.answers[-1]
        here.close()
        there.close()


def test_a_number_of_features_without_meaning_costs_nothing() -> None:
    holdout = guard()
    for wrong in (0, 4, -1, 1.5):
        with pytest.raises(ParameterError, match="k is a number of features"):
            holdout.select_features(X, Y, k=wrong)  # type: ignore[arg-type]
    assert holdout.asked == 0


@pytest.mark.parametrize(("method", "purpose"), [("guess_and_check", "screening"), ("ladder", "selecting")])
def test_answers_are_as_narrow_as_the_plan_said(method: str, purpose: str) -> None:
    """All questions that were announced, and as many surprises: no margin is above that of the plan."""
    found = plan(N, 30, purpose=purpose, overfits=8)
    holdout = guard(method, queries=30, overfits=8)
    rng = np.random.default_rng(1)
    for question in range(30):
        share = 0.05 * question if method == "ladder" else 0.5
        values = rng.random(N) < (min(share, 0.35) if question < 8 else 0.3)
        answer = holdout.check(values, guess=None if question < 8 else 0.3)
        assert answer.margin <= found.width + 1e-12
    assert 5 <= holdout.corrected <= 8


def test_no_answer_is_wider_than_what_is_accepted() -> None:
    """A guess that is confirmed has the tolerance as its margin, which stays within the width."""
    rows = 300
    holdout = ReusableHoldout(X[:rows], Y[:rows], method="guess_and_check", queries=1000, width=0.16)
    answers = [holdout.check(X[:rows, 1] > 0, guess=float((X[:rows, 1] > 0).mean())) for _ in range(3)]
    assert {answer.source for answer in answers} == {"training"}
    assert max(answer.margin for answer in answers) <= 0.16 + 1e-12


def test_a_model_that_predicts_no_row_at_all_is_refused_for_free() -> None:
    """It fails whatever the rows are, so the error tells nothing about them."""
    from sklearn.linear_model import LogisticRegression

    holdout = guard("gaussian")
    fitted = LogisticRegression().fit(X[:, :2], Y)
    for model, problem in ((LogisticRegression(), "not fitted"), (fitted, "2 features"), ("a", "needs a method")):
        with pytest.raises(ParameterError, match=problem):
            holdout.score(model)
    assert holdout.asked == 0
    assert holdout.score(LogisticRegression().fit(X, Y)).low <= 0.95


def test_a_place_or_labels_that_cannot_be_are_refused(tmp_path: Any) -> None:
    with pytest.raises(ParameterError, match="is a file"):
        guard(path=tmp_path)
    for unknown in (None, float("nan")):
        with pytest.raises(ParameterError, match="labels of a holdout are known"):
            ReusableHoldout(X, np.array([unknown, *["a"] * (N - 1)], object))
