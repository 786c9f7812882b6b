"""scikit-learn, unchanged: searches and cross-validation ask the holdout, in one process, with one transcript."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from joblib import parallel_config  # type: ignore[import-untyped]
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from discreet.errors import ParameterError
from discreet.validity import ReusableHoldout

X, Y = load_breast_cancer(return_X_y=True)
X_TRAIN, X_HOLD, Y_TRAIN, Y_HOLD = train_test_split(X, Y, test_size=0.5, random_state=0)
GRID = {"max_depth": [1, 2, 3, 5]}


def searched(guard: ReusableHoldout, **how: Any) -> Any:
    tree = DecisionTreeClassifier(random_state=0)
    search = GridSearchCV(tree, GRID, cv=guard.cv(X_TRAIN), scoring=guard.scorer(), error_score="raise", **how)
    return search.fit(X_TRAIN, Y_TRAIN)


def test_a_grid_search_asks_the_holdout_once_for_each_candidate() -> None:
    guard = ReusableHoldout(X_HOLD, Y_HOLD, queries=20)
    search = searched(guard)
    assert guard.method == "ladder"
    assert guard.asked == 4
    assert search.best_score_ == max(answer.value for answer in guard.answers)
    true = (search.best_estimator_.predict(X_HOLD) == Y_HOLD).mean()
    assert guard.answers[-1].low <= true <= guard.answers[-1].high


def test_the_best_of_a_search_with_the_ladder_is_the_first_that_reached_the_best_score() -> None:
    guard = ReusableHoldout(X_HOLD, Y_HOLD, queries=20)
    search = searched(guard)
    values = [answer.value for answer in guard.answers]
    assert search.best_index_ == values.index(max(values))


def test_the_holdout_never_enters_scikit_learn() -> None:
    guard = ReusableHoldout(X_HOLD, Y_HOLD, queries=20)
    ((fitted, scored),) = guard.cv(X_TRAIN)
    assert fitted.tolist() == scored.tolist() == list(range(len(X_TRAIN)))


def test_cross_validate_and_pipelines_work_unchanged() -> None:
    guard = ReusableHoldout(X_HOLD, Y_HOLD, method="guess_and_check", queries=20)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    found = cross_validate(model, X_TRAIN, Y_TRAIN, cv=guard.cv(X_TRAIN), scoring=guard.scorer())
    assert found["test_score"].tolist() == [answer.value for answer in guard.answers]
    assert guard.answers[0].source == "training"


def test_workers_are_refused_with_what_to_do_instead() -> None:
    """A copy in each worker would spend the same share of β again, while the parent counts no question."""
    guard = ReusableHoldout(X_HOLD, Y_HOLD, queries=20)
    with pytest.raises(Exception, match=r"pickle|n_jobs=1") as caught:
        searched(guard, n_jobs=2)
    chain: list[str] = []
    error: BaseException | None = caught.value
    while error is not None:
        chain.append(str(error))
        error = error.__cause__ or error.__context__
    assert "n_jobs=1" in " ".join(chain)
    assert guard.asked == 0


def test_threads_share_the_transcript() -> None:
    guard = ReusableHoldout(X_HOLD, Y_HOLD, queries=20)
    with parallel_config(backend="threading"):
        searched(guard, n_jobs=2)
    assert guard.asked == 4


def test_a_cloned_search_asks_the_same_holdout() -> None:
    guard = ReusableHoldout(X_HOLD, Y_HOLD, queries=20)
    search = GridSearchCV(DecisionTreeClassifier(), GRID, cv=guard.cv(X_TRAIN), scoring=guard.scorer())
    clone(search).fit(X_TRAIN, Y_TRAIN)
    assert guard.asked == 4


def test_an_error_is_negated_because_scikit_learn_looks_for_the_largest() -> None:
    guard = ReusableHoldout(X_HOLD, Y_HOLD, metric="error", method="guess_and_check", queries=20)
    assert searched(guard).best_score_ <= 0
    assert np.isfinite(guard.answers[0].value)


def test_a_refusal_in_a_search_is_a_warning_with_the_sentence_and_loses_nothing() -> None:
    guard = ReusableHoldout(X_HOLD, Y_HOLD, method="split", queries=3, width=0.9)
    tree = DecisionTreeClassifier(random_state=0)
    search = GridSearchCV(tree, GRID, cv=guard.cv(X_TRAIN), scoring=guard.scorer())
    with warnings.catch_warnings(record=True) as told:  # scikit-learn's way to say that a score failed
        warnings.simplefilter("always")
        search.fit(X_TRAIN, Y_TRAIN)
    assert any("would widen all intervals" in str(one.message) for one in told)
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [False, False, False, True]
    assert len(guard.answers) == 3


def test_frames_and_labels_of_text_are_rows_like_any_others(tmp_path: Path) -> None:
    frame = pandas.DataFrame(X_HOLD, columns=[f"x{j}" for j in range(X_HOLD.shape[1])])
    named = np.array(["ill", "well"], dtype=object)[Y_HOLD]
    model = DecisionTreeClassifier(random_state=0).fit(frame, named)
    terms: dict[str, Any] = {"method": "guess_and_check", "queries": 20, "path": tmp_path / "a.holdout"}
    with ReusableHoldout(frame, named, **terms) as guard:
        answer = guard.score(model, frame, named)
    with ReusableHoldout(frame, named, **terms) as again:
        assert again.answers == [answer]
    with pytest.raises(ParameterError, match="another holdout"):
        ReusableHoldout(frame.rename(columns={"x0": "y0"}), named, **terms)
