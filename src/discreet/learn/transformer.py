"""Offer the feature map as a transformer of scikit-learn: `Features`.

    features = Features(columns={"age": dp.Integer(0, 110), "city": dp.Category(["Oslo", "Bergen"])})
    features.fit_transform(frame)            # the vectors that the estimators of this package learn from

It learns nothing: `fit` reads no value, and each row is mapped alone by what is declared. So it may stand before
any estimator without a cost. A transformer that learns, such as StandardScaler, reads every row, and the guarantee
of an estimator behind it does not cover what it learnt.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, extra
from discreet.learn.encoding import encoded, names_of, rows_of, width_of
from discreet.learn.estimator import Columns, declared
from discreet.learn.feature_map import KNOTS, SCALE, FeatureMap, Kind

with extra("learn", "Features need scikit-learn"):
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import check_is_fitted


class Features(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Map rows to vectors of norm at most 1, by their declared columns alone.

    Args:
        columns: The declared columns, as of an estimator.
        kind: "hats", the default, or "linear".
        knots: The number of hat functions of a number; 9 by default.
        line: The size of a centred column beside the hats of a number; 0, the default, for none. Classifiers with
            a δ take 1.2 for two classes, and 2 or 3 for more.

    >>> import discreet as dp
    >>> features = Features(columns={"age": dp.Integer(0, 100, missing=0)}, knots=3)
    >>> features.fit_transform({"age": [0, 25]}).round(2).tolist()
    [[0.71, 0.0, 0.0, 0.71], [0.41, 0.41, 0.0, 0.82]]
    >>> features.get_feature_names_out().tolist()
    ['age 0', 'age 50', 'age 100', 'intercept']
    """

    def __init__(
        self, columns: Columns | None = None, *, kind: Kind = "hats", knots: int = KNOTS, line: float = 0
    ):
        self.columns = columns
        self.kind = kind
        self.knots = knots
        self.line = line

    def fit(self, X: Any, y: Any = None) -> Self:
        """Take the names of the columns. No value is read.

        Args:
            X: A frame or an array.
            y: Not used.
        """
        names = names_of(X)
        width = None if names is not None else width_of(rows_of(X))
        columns = declared(self.columns, names, width)
        self.map_ = FeatureMap(columns, self.kind, self.knots, line=self.line)
        self.n_features_in_ = len(self.map_.columns)
        self.feature_names_in_ = np.array(list(self.map_.columns), dtype=object)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the features of each row."""
        check_is_fitted(self)
        width, known = None if names_of(X) is not None else width_of(rows_of(X)), self.n_features_in_
        if width is not None and width != known:
            raise ParameterError(f"X has {width} features, but Features is expecting {known} features as input.")
        found: NDArray[np.float64] = self.map_.rows(encoded(X, self.map_.columns)) / SCALE
        return found

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the features; `input_features` is not used."""
        check_is_fitted(self)
        return np.array(self.map_.names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags
