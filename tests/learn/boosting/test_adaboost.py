"""AdaBoost: the best stump by brute force, the bound on the training error, and the growth of margins."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from discreet.errors import ParameterError
from discreet.learn.boosting.adaboost import AdaBoost
from discreet.learn.boosting.margin_plots import errors_over_rounds
from discreet.learn.boosting.stumps import SortedColumns, Stump

X, Y = load_breast_cancer(return_X_y=True)


@pytest.mark.parametrize("depth", [1, 2])
def test_it_is_an_estimator_of_scikit_learn(depth: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(AdaBoost(rounds=5, depth=depth), on_skip=None)


@settings(max_examples=100, deadline=None)
@given(arrays(float, (7, 2), elements=st.integers(-2, 2)), arrays(float, 7, elements=st.integers(-5, 5)))
def test_the_best_stump_is_the_best_of_all(rows: np.ndarray, signed: np.ndarray) -> None:
    found = SortedColumns(rows).best(signed)
    edges = [
        signed @ Stump(column, cut, sign).vote(rows)
        for column, cut, sign in product(range(2), [-np.inf, *np.arange(-2.5, 3)], (1, -1))
    ]
    assert signed @ found.vote(rows) == pytest.approx(max(edges))


def test_a_threshold_lies_between_neighbouring_floats() -> None:
    low, high = 1.0, float(np.nextafter(1.0, 2.0))
    found = SortedColumns(np.array([[low], [high]])).best(np.array([-1.0, 1.0]))
    assert found.vote(np.array([[low], [high]])).tolist() == [-1, 1]


def test_the_training_error_is_below_the_textbooks_product() -> None:
    model = AdaBoost(rounds=60).fit(X, Y)
    errors = model.staged_error(X, Y)
    assert np.all(errors <= model.training_bound_ + 1e-12)
    assert errors[-1] == 0


def test_margins_grow_after_the_training_error_is_zero() -> None:
    model = AdaBoost(rounds=400).fit(X, Y)
    errors = model.staged_error(X, Y)
    perfect = int(np.argmax(errors == 0)) + 1
    assert perfect < 100
    found = model.margins(X, Y)
    assert found.rounds == (5, 100, 400)
    assert found.values[2].min() > found.values[1].min() > 0 > found.values[0].min()


def test_it_is_as_good_as_scikit_learns() -> None:
    ours = cross_val_score(AdaBoost(rounds=50), X, Y, cv=5).mean()
    theirs = cross_val_score(AdaBoostClassifier(n_estimators=50, random_state=0), X, Y, cv=5).mean()
    assert ours > theirs - 0.015


def test_classes_may_have_any_names() -> None:
    names = np.where(Y == 1, "yes", "no")
    model = AdaBoost(rounds=20).fit(X, names)
    assert set(model.predict(X)) == {"yes", "no"}
    assert model.margins(X, names).last == pytest.approx(AdaBoost(rounds=20).fit(X, Y).margins(X, Y).last)


def test_columns_that_say_nothing_give_a_constant_vote() -> None:
    model = AdaBoost(rounds=5).fit(np.zeros((5, 2)), [0, 1, 1, 1, 0])
    assert model.predict(np.zeros((2, 2))).tolist() == [1, 1]
    even = AdaBoost(rounds=5).fit(np.zeros((4, 2)), [0, 1, 1, 0])
    assert len(even.predict(np.zeros((2, 2)))) == 2


def test_errors_over_rounds_are_drawn_and_say_not_private() -> None:
    model = AdaBoost(rounds=20).fit(X, Y)
    drawn = errors_over_rounds({"training": model.staged_error(X, Y).tolist()}).to_dict()
    assert "Not private" in drawn["title"]["subtitle"]


@pytest.mark.parametrize("wrong", [AdaBoost(rounds=0), AdaBoost(depth=0)])
def test_parameters_without_a_meaning_are_refused(wrong: AdaBoost) -> None:
    with pytest.raises(ParameterError):
        wrong.fit(X, Y)
