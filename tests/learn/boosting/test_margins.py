"""Margins of every kind of vote, and that they never leave without saying that they are not private."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from discreet.errors import ParameterError
from discreet.learn.boosting.margins import WARNING, Margins, margins

X, Y = load_breast_cancer(return_X_y=True)
FLOWERS, KINDS = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[KINDS]
PAIR = [("bayes", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=2, random_state=0))]
MODELS: dict[str, Any] = {
    "adaboost": AdaBoostClassifier(n_estimators=20, random_state=0),
    "bagging": BaggingClassifier(n_estimators=7, max_features=0.5, random_state=0),
    "bagging without probabilities": BaggingClassifier(RidgeClassifier(), n_estimators=5, random_state=0),
    "forest": RandomForestClassifier(n_estimators=9, max_depth=3, random_state=0),
    "extra trees": ExtraTreesClassifier(n_estimators=9, max_depth=3, random_state=0),
    "hard vote": VotingClassifier([*PAIR, ("deep", DecisionTreeClassifier(random_state=0))]),
    "soft vote": VotingClassifier(PAIR, voting="soft", weights=[3, 1]),
    "gradient boosting": GradientBoostingClassifier(n_estimators=15, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_margin_is_positive_where_the_model_is_right(name: str) -> None:
    model = MODELS[name].fit(X, Y)
    found = margins(model, X, Y).last
    assert np.all(np.abs(found) <= 1)
    clear = np.abs(found) > 1e-9
    assert clear.mean() > 0.9
    assert np.array_equal((found > 0)[clear], (model.predict(X) == Y)[clear])


@pytest.mark.parametrize("name", [name for name in MODELS if name != "gradient boosting"])
def test_margins_of_three_named_classes(name: str) -> None:
    model = MODELS[name].fit(FLOWERS, NAMES)
    found = margins(model, FLOWERS, NAMES).last
    clear = np.abs(found) > 1e-9
    assert np.array_equal((found > 0)[clear], (model.predict(FLOWERS) == NAMES)[clear])


def test_margins_of_adaboost_are_its_normalised_vote() -> None:
    model = MODELS["adaboost"].fit(X, Y)
    signs = np.array([2 * voter.predict(X) - 1 for voter in model.estimators_])
    alphas = model.estimator_weights_[: len(signs)]
    vote = (2 * Y - 1) * (alphas @ signs) / alphas.sum()
    assert margins(model, X, Y).last == pytest.approx(vote)


def test_margins_of_a_forest_are_its_probabilities() -> None:
    model = MODELS["forest"].fit(X, Y)
    likely = model.predict_proba(X)
    assert margins(model, X, Y).last == pytest.approx((2 * Y - 1) * (likely[:, 1] - likely[:, 0]))


def test_margins_of_gradient_boosting_are_its_score_over_what_its_trees_can_reach() -> None:
    model = MODELS["gradient boosting"].fit(X, Y)
    reach = sum(model.learning_rate * np.abs(row[0].tree_.value).max() for row in model.estimators_)
    start = abs(np.log(Y.mean() / (1 - Y.mean())))
    assert margins(model, X, Y).last == pytest.approx((2 * Y - 1) * model.decision_function(X) / (reach + start))


def test_a_voter_that_was_dropped_has_no_weight() -> None:
    voters = [*PAIR, ("gone", "drop")]
    model = VotingClassifier(voters, voting="soft", weights=[1, 2, 9]).fit(X, Y)
    likely = model.predict_proba(X)
    assert margins(model, X, Y).last == pytest.approx((2 * Y - 1) * (likely[:, 1] - likely[:, 0]))


def test_a_bag_whose_voters_miss_a_class_still_votes_over_all_of_them() -> None:
    rows, kinds = [[0.0], [1.0], [2.0], [3.0], [4.0]], ["a", "a", "a", "b", "c"]
    model = BaggingClassifier(KNeighborsClassifier(1), n_estimators=20, random_state=1).fit(rows, kinds)
    assert any(len(voter.classes_) < 3 for voter in model.estimators_)
    likely = model.predict_proba(rows)
    assert margins(model, rows, kinds).last[0] == pytest.approx(likely[0, 0] - likely[0, 1:].max())


def test_rounds_are_those_asked_for() -> None:
    model = MODELS["adaboost"].fit(X, Y)
    assert margins(model, X, Y).rounds == (5, 20)
    assert margins(model, X, Y, rounds=[1, 3]).rounds == (1, 3)
    with pytest.raises(ParameterError, match="20 voters"):
        margins(model, X, Y, rounds=[21])


def test_text_page_and_picture_say_not_private() -> None:
    found = margins(MODELS["forest"].fit(X, Y), X, Y)
    assert not found.private
    assert WARNING in str(found)
    assert WARNING in found._repr_html_()
    assert "Not private" in found.plot().to_dict()["title"]["subtitle"]
    assert "array" not in repr(found)


def test_the_graph_is_the_cumulative_distribution() -> None:
    found = Margins("a vote", (5, 100), (np.array([-1.0, 0.0, 0.5, 1.0]), np.array([0.0, 0.5, 0.5, 1.0])))
    drawn = found.plot().to_dict()
    rows = drawn["layer"][0]["data"]["values"]
    shares = {round(row["margin"], 6): row["share"] for row in rows if row["after"] == "5 voters"}
    assert shares[-1.0] == 0.25
    assert shares[0.0] == 0.5 == found.share_at_most(0.0) + 0.25
    assert shares[1.0] == 1.0
    assert {row["after"] for row in rows} == {"5 voters", "100 voters"}


@pytest.mark.parametrize(
    ("model", "wrong"),
    [
        (LinearRegression().fit(X, Y), "classifier"),
        (GaussianNB().fit(X, Y), "votes"),
        (RandomForestClassifier(), "fitted"),
        (GradientBoostingClassifier(n_estimators=2).fit(FLOWERS, KINDS), "two classes"),
    ],
)
def test_what_does_not_vote_is_refused_in_words(model: Any, wrong: str) -> None:
    size = 4 if hasattr(model, "n_features_in_") and model.n_features_in_ == 4 else 30
    data, right = (FLOWERS, KINDS) if size == 4 else (X, Y)
    with pytest.raises(ParameterError, match=wrong):
        margins(model, data, right)


def test_examples_that_do_not_fit_are_refused() -> None:
    model = MODELS["forest"].fit(X, Y)
    with pytest.raises(ParameterError, match="class that the model does not know"):
        margins(model, X, Y + 5)
    with pytest.raises(ParameterError, match="as many rows"):
        margins(model, X[:10], Y)
    with pytest.raises(ParameterError, match="at least one example"):
        margins(model, X[:0], Y[:0])
