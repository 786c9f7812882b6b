"""The face is scikit-learn's, as far as privacy allows: what its own checks say, and how estimators are used."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas
import pytest
from sklearn.base import clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression as Plain
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import has_fit_parameter

from discreet import learn
from discreet.errors import ParameterError
from discreet.learn import FeatureMap, Features, LogisticRegression
from discreet.learn.feature_map import SCALE
from discreet.learn.label import ALONE
from discreet.schema import Real
from tests.learn.people import FEATURES, people

TABLE = people(2000).to_pandas()
RICH = TABLE["rich"].to_numpy()
GIVEN: dict[str, Any] = {"epsilon": 4, "delta": "1e-6", "columns": FEATURES, "classes": [False, True]}

ROWS = "The number of rows is private: a table without rows is fitted like any other."
NOISE = "It compares two fits, and noise is never the same twice."
CLASSES = "Classes are public and must be declared; the check has others, and they have no weight."
RANGE = (
    "The range of a target is public and must be declared; 200 rows under noise fit less well than the check asks."
)
VALUES = "No value raises: a target that is none of the declared classes has no weight."
EXEMPT = {
    "check_estimators_empty_data_messages": ROWS,
    "check_fit_idempotent": NOISE,
    "check_supervised_y_2d": NOISE,
    "check_classifier_data_not_an_array": NOISE,
    "check_classifiers_classes": CLASSES,
    "check_classifiers_train": CLASSES,
    "check_classifier_not_supporting_multiclass": CLASSES,
    "check_regressor_data_not_an_array": NOISE,
    "check_regressors_int": NOISE,
    "check_regressors_train": RANGE,
    "check_classifiers_regression_target": VALUES,
    "check_supervised_y_no_nan": VALUES,
}
"""The checks of scikit-learn that a private estimator cannot pass, and why."""


DECLARED: dict[str, Any] = {"epsilon": 50, "delta": "1e-5", "columns": Real(-10, 10, step="0.01")}
TWO: dict[str, Any] = {**DECLARED, "classes": [0, 1]}
NUMBER: dict[str, Any] = {**DECLARED, "target_column": Real(-10, 10, step="0.01")}
OTHERS = [
    learn.LinearSVC(**TWO),
    learn.LinearRegression(**NUMBER),
    learn.CategoricalNB(**TWO),
    learn.GaussianNB(**TWO),
    learn.BoostedHistograms(**TWO),
    learn.BoostedStumps(**TWO),
]


@pytest.mark.parametrize(
    ("estimator", "exempt"),
    [
        (LogisticRegression(**TWO), EXEMPT),
        (learn.Ridge(**NUMBER), EXEMPT),
        (Features(columns=Real(-10, 10, step="0.01")), {"check_estimators_empty_data_messages": ROWS}),
        *(pytest.param(one, EXEMPT, marks=pytest.mark.slow) for one in OTHERS),
    ],
    ids=lambda given: type(given).__name__,
)
def test_it_passes_the_checks_of_scikit_learn_but_for_those_that_privacy_forbids(
    estimator: Any, exempt: dict[str, str]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(estimator, on_fail=None, on_skip=None)
    failed = {
        result["check_name"]: str(result["exception"])[:200] for result in found if result["status"] == "failed"
    }
    assert {name: why for name, why in failed.items() if name not in exempt} == {}
    assert sum(result["status"] == "passed" for result in found) >= 35
    skipped = {result["check_name"] for result in found if result["status"] == "skipped"}
    assert skipped <= {"check_array_api_input", "check_pipeline_consistency"}  # needs a setting; of noise


def test_parameters_are_read_set_and_cloned() -> None:
    made = LogisticRegression(**GIVEN, feature_map=FeatureMap(FEATURES, knots=3))
    assert made.get_params() == {
        **GIVEN,
        "feature_map": made.feature_map,
        "intervals": False,
        "margin": None,
        "method": "auto",
        "regularisation": None,
    }
    assert clone(made).get_params() == made.get_params()
    assert made.set_params(epsilon=1).epsilon == 1
    with pytest.raises(ValueError, match="Invalid parameter"):
        made.set_params(eps=1)
    assert "epsilon=4" in repr(LogisticRegression(**GIVEN))
    assert is_classifier(made)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("C", "see regularisation"),
        ("max_iter", "fixed tolerance"),
        ("class_weight", "a person weighs 1"),
        ("random_state", "cannot be seeded"),
        ("epsilom", "Did you mean 'epsilon'"),
        ("weights", "It has epsilon, delta, columns, classes"),
    ],
)
def test_parameters_that_have_no_place_here_are_refused_with_the_reason(name: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        LogisticRegression(**{name: 1})  # type: ignore[arg-type]


def test_weights_of_rows_are_refused_with_the_reason_in_a_pipeline_too() -> None:
    ones = np.ones(len(RICH))
    with pytest.raises(ParameterError, match="a person weighs 1"):
        LogisticRegression(**GIVEN).fit(TABLE, RICH, sample_weight=ones)
    piped = make_pipeline(LogisticRegression(**GIVEN))
    with pytest.raises(ParameterError, match="a person weighs 1"):
        piped.fit(TABLE, RICH, logisticregression__sample_weight=ones)
    assert LogisticRegression(**GIVEN).fit(TABLE, RICH, sample_weight=None).classes_.tolist() == [False, True]
    assert not has_fit_parameter(LogisticRegression(), "sample_weight")  # as meta-estimators ask


@pytest.mark.parametrize("wrong", ["auto", {"age": (0, 100)}, ["age", "town"], {"age": None}])
def test_columns_that_are_not_declared_by_a_type_are_refused(wrong: Any) -> None:
    with pytest.raises(ParameterError, match="declared by its type"):
        LogisticRegression(**{**GIVEN, "columns": wrong}).fit(TABLE, RICH)


def test_numbers_are_no_classes_that_are_words() -> None:
    """An ensemble may replace classes by their numbers: by its type alone, no row would have a class."""
    words = LogisticRegression(**{**GIVEN, "classes": ["poor", "rich"]})
    with pytest.raises(ParameterError, match="the classes are words"):
        words.fit(TABLE, RICH.astype(int))
    with pytest.raises(ParameterError, match="the classes are words"):
        VotingClassifier([("one", words)]).fit(TABLE, np.where(RICH, "rich", "poor"))
    for classes in (["1", "2"], ["type 1", "type 2"]):  # text that numbers may be read as
        LogisticRegression(**{**GIVEN, "classes": classes}).fit(TABLE, RICH.astype(int))


def test_names_of_features_are_those_of_the_frame() -> None:
    made = LogisticRegression(**GIVEN).fit(TABLE, RICH)
    assert made.feature_names_in_.tolist() == ["age", "town"]
    assert made.n_features_in_ == 2


def test_it_may_end_a_pipeline() -> None:
    """Columns that a transformer made are declared like any other: here what `set_output` names."""
    towns = ColumnTransformer([("keep", "passthrough", ["town", "age"])], verbose_feature_names_out=False)
    model = make_pipeline(towns.set_output(transform="pandas"), LogisticRegression(**GIVEN))
    model.fit(TABLE, RICH)
    assert model.score(TABLE, RICH) > 0.75
    assert model.predict_proba(TABLE).shape == (2000, 2)
    assert "LogisticRegression" in model._repr_html_()


def test_cross_validation_works_and_every_fold_says_that_fits_add_up() -> None:
    """It is not refused: on public rows it is useful. Five folds at ε = 4 are not one fit at ε = 4, and say so."""
    estimator = LogisticRegression(**GIVEN)
    scores = cross_val_score(estimator, TABLE, RICH, cv=3)
    assert scores.mean() > 0.75
    search = GridSearchCV(estimator, {"regularisation": [2, 5]}, cv=2).fit(TABLE, RICH)
    assert ALONE in search.best_estimator_.label.notes
    assert not hasattr(estimator, "state_")


def test_a_fit_without_epsilon_or_declarations_is_refused() -> None:
    for name in ("epsilon", "columns", "classes"):
        with pytest.raises(ValueError, match=name):
            LogisticRegression(**{**GIVEN, name: None}).fit(TABLE, RICH)


# -- Features -----------------------------------------------------------------------------------------------------


def test_features_are_those_of_the_map_in_units_of_one() -> None:
    features = Features(FEATURES, knots=4)
    found = features.fit_transform(TABLE)
    assert features.map_ == FeatureMap(FEATURES, knots=4)
    assert np.array_equal(found * SCALE, np.rint(found * SCALE))
    assert (np.linalg.norm(found, axis=1) <= 1).all()
    assert features.get_feature_names_out().tolist() == features.map_.names


def test_features_learn_nothing_from_rows() -> None:
    few, many = Features(FEATURES).fit(TABLE.head(0)), Features(FEATURES).fit(TABLE)
    assert np.array_equal(few.transform(TABLE), many.transform(TABLE))
    with pytest.raises(NotFittedError):
        Features(FEATURES).transform(TABLE)


def test_features_become_a_frame() -> None:
    frame = Features(FEATURES, kind="linear").set_output(transform="pandas").fit_transform(TABLE)
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == ["age", "town Oslo", "town Bergen", "town Rome", "intercept"]


def test_features_stand_before_any_estimator() -> None:
    """Such as one without privacy, on public rows: what would be possible with these features."""
    plain = make_pipeline(Features(FEATURES), Plain()).fit(TABLE, RICH)
    private = LogisticRegression(**{**GIVEN, "epsilon": 50}, feature_map="hats").fit(TABLE, RICH)
    assert abs(plain.score(TABLE, RICH) - private.score(TABLE, RICH)) < 0.05
