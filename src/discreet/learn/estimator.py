"""Define what all private estimators share: scikit-learn's face, a label, a receipt and a JSON form.

    model = vault.fit(LogisticRegression(), target="income", epsilon=1)       # paid by a ledger
    model = LogisticRegression(epsilon=1, delta="1e-6", columns=…, classes=…).fit(frame, y)   # without a vault

An estimator decides what it would do, and what that costs, from public facts (`plan`). It reads rows only in the
training that follows, through `Examples.total`. A fitted estimator holds what was released (`state_`), and
everything else about it follows: it may be pickled, cloned, saved and published.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.engines.examples import WHOLE, MemoryExamples
from discreet.errors import Code, Fix, ParameterError, extra
from discreet.learn import card, model_json
from discreet.learn.encoding import Codes, encoded, names_of, rows_of, width_of
from discreet.learn.label import array_label
from discreet.learn.price import Price
from discreet.learn.threads import one_thread
from discreet.learn.training import State, Task, Training, silent
from discreet.rational import Rational
from discreet.release.label import Label
from discreet.release.receipt import Receipt
from discreet.release.released import TEST_BITS, Guarded
from discreet.release.serialize import reading
from discreet.schema import Boolean, Category, Column

with extra("learn", "Models need scikit-learn"):
    from sklearn.base import BaseEstimator
    from sklearn.exceptions import DataConversionWarning, NotFittedError
    from sklearn.utils import estimator_html_repr

Columns = Mapping[str, Column] | Sequence[Column] | Column
"""Declared columns: by name, in the order of an array, or one declaration for every column."""


_SOLVER = "The solver runs until a fixed tolerance is met, which the noise pays for."
_WEIGHTS = "Weights for rows or classes are not offered: the guarantee counts on it that a person weighs 1."
_REGULARISED = "Regularisation is stated as a multiple of the least that the noise allows."
_REFUSED: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("C", "alpha", "penalty", "l1_ratio"), (_REGULARISED, "Leave it out, or see regularisation.")),
    **dict.fromkeys(
        ("max_iter", "tol", "solver", "n_jobs", "warm_start", "dual", "copy_X", "verbose", "max_fun"),
        (_SOLVER, "Leave it out."),
    ),
    **dict.fromkeys(
        ("class_weight", "sample_weight", "priors", "class_prior", "fit_prior"), (_WEIGHTS, "Leave it out.")
    ),
    "random_state": (
        "Noise cannot be seeded: an attacker who knows the seed could subtract it.",
        "Leave it out. Repeat the fit to see how much it varies.",
    ),
    "fit_intercept": ("There is always an intercept, regularised like the rest.", "Leave it out."),
    "multi_class": ("More than two classes are always one softmax problem.", "Leave it out."),
}
"""Parameters of scikit-learn that have no place here: why, and what to do."""


_KINDS: dict[str, type[PrivateEstimator]] = {}
"""The estimators that a saved model may name."""


class PrivateEstimator(Guarded, BaseEstimator):  # type: ignore[misc]
    """The base of all private estimators. A subclass has `plan`, `restore` and `outcome`."""

    epsilon: Rational | None
    delta: Rational
    columns: Columns | None

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if not cls.__name__.startswith("_"):
            _KINDS[cls.__name__] = cls

    def __new__(cls, *_: Any, **keywords: Any) -> Self:
        """Refuse parameters of scikit-learn that have no place here, with the reason."""
        offered = [name for name in signature(cls.__init__).parameters if name != "self"]
        for name in keywords:
            if name not in offered:
                raise not_offered(name, cls.__name__, offered)
        made: Self = super().__new__(cls)
        return made

    # -- what a subclass decides --------------------------------------------------------------------------------

    def plan(self, task: Task, price: Price) -> Training:
        """Return what would be done for a price. It reads no row, and may refuse."""
        raise NotImplementedError

    def restore(self, state: State) -> None:
        """Set the fitted attributes from a model that was released."""
        raise NotImplementedError

    def outcome(self) -> Column:
        """Return the declaration of the target of `fit(X, y)`."""
        raise NotImplementedError

    # -- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, **others: Any) -> Self:
        """Fit to a frame or an array whose columns are declared. Each row is a person; there is no ledger.

        Args:
            X: A frame of pandas, polars or Arrow, or an array.
            y: The target, one value for each row.
            others: What other estimators take beside it, such as sample_weight: refused with the reason.
        """
        for name, value in others.items():
            if value is not None:
                raise not_offered(name, f"{type(self).__name__}.fit", [])
        task, training, codes = self._prepared(X, y)
        rows = MemoryExamples(codes, np.full(len(codes[task.target]), WHOLE, np.int16))
        with one_thread():
            state = training.run(rows, silent)
        return self.released(task, state, array_label(task, training, self.price()))

    def _prepared(self, X: Any, y: Any) -> tuple[Task, Training, Codes]:
        """Return what is learnt from data with declared columns, how, and the codes of the data."""
        if y is None:
            raise ParameterError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        names = names_of(X)
        X = X if names is not None else rows_of(X)
        columns = declared(self.columns, names, None if names is not None else width_of(X))
        target = "target"
        while target in columns:
            target += "_"
        task = Task(columns, target, self.outcome())
        _expect_words(y, task.outcome)
        training = self.plan(task, self.price())
        codes = {**encoded(X, columns), **encoded({target: _column(y)}, {target: task.outcome})}
        sizes = sorted({len(values) for values in codes.values()})
        if len(sizes) > 1:
            raise ParameterError("X and y must have as many rows.", found=f"{sizes[0]} and {sizes[1]}")
        return task, training, codes

    def price(self) -> Price:
        """Return the price of `fit(X, y)`."""
        if self.epsilon is None:
            raise ParameterError(
                "A fit without a vault needs epsilon, and delta unless it shall be pure.",
                fix=[Fix("epsilon", 1), Fix("estimator", Code("LogisticRegression()"), call="vault.fit")],
            )
        return Price.alone(self.epsilon, self.delta)

    def released(self, task: Task, state: State, label: Label, *, free: bool = False) -> Self:
        """Take over a model that was released, with its label, and return this estimator."""
        self.task_, self.state_, self._label, self._free = task, state, label, free
        self.feature_names_in_ = np.array(list(task.features), dtype=object)
        self.n_features_in_ = len(task.features)
        self.restore(state)
        return self

    # -- what every result has ----------------------------------------------------------------------------------

    @property
    def label(self) -> Label:
        """Whom the model protects, how well, and by what means."""
        self._expect_fitted()
        return self._label

    @property
    def receipt(self) -> Receipt:
        """What the model was charged, and what is left."""
        return self.label.receipt

    @property
    def cost(self) -> Receipt:
        """The same as `receipt`."""
        return self.receipt

    @property
    def free(self) -> bool:
        """Whether the model was recorded already, and cost nothing."""
        self._expect_fitted()
        return self._free

    @property
    def test_bits(self) -> bool:
        """Whether the noise was predictable: then the model is not for release."""
        return bool(getattr(self, "state_", {}).get("test_bits", False))

    def card(self, path: str = "model.json") -> str:
        """Return the model card as Markdown, to publish beside the file of the model; `path` is its name."""
        self._expect_fitted()
        return card.markdown(self, path)

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads: parameters, the model, its label and its receipt."""
        self._expect_fitted()
        return model_json.written(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Return the model that `to_json` wrote."""
        kinds = {name: kind for name, kind in _KINDS.items() if issubclass(kind, cls)}
        made, task, state, label = model_json.read(record, kinds)
        with reading("model"):
            model: Self = made.released(task, state, label)
        return model

    def save(self, path: Any) -> None:
        """Write the model to a file."""
        self.expect_release("save")
        model_json.save(self.to_json(), path)

    @classmethod
    def load(cls, path: Any) -> Self:
        """Return the model of a file."""
        return cls.from_json(model_json.load(path))

    # -- inside -------------------------------------------------------------------------------------------------

    def _codes(self, X: Any) -> Codes:
        """Return the codes of the features of new rows, in the order of the fit."""
        self._expect_fitted()
        names = names_of(X)
        if names is None:
            X = rows_of(X)
            if width_of(X) != self.n_features_in_:
                raise ParameterError(
                    f"X has {width_of(X)} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                    "features as input."
                )
            return encoded(X, self.task_.features)
        absent = [name for name in self.task_.features if name not in names]
        if absent:
            raise ParameterError(
                f"The data have no column {absent[0]!r}, which the model was fitted with.",
                found=", ".join(map(repr, names)),
            )
        return encoded(X, self.task_.features)

    def _expect_fitted(self) -> None:
        if not hasattr(self, "state_"):
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet. Call vault.fit(estimator, target=…, epsilon=…) or "
                "estimator.fit(X, y)."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # noise is not seeded
        tags.input_tags.allow_nan = True  # a value is never refused: it has a declared fate
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "state_")

    def __str__(self) -> str:
        if not hasattr(self, "state_"):
            return repr(self)
        return (f"{TEST_BITS}\n" if self.test_bits else "") + card.text(self)

    def _repr_html_(self) -> str:
        if not hasattr(self, "state_"):
            return str(estimator_html_repr(self))
        return card.page(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        # scikit-learn's own bundle would hide the card from notebooks.
        return {"text/plain": str(self), "text/html": self._repr_html_()}


def not_offered(name: str, where: str, offered: Sequence[str]) -> ParameterError:
    """Return the error about a parameter that is not offered: why, if scikit-learn has it, and what to do.

    >>> print(not_offered("fit_intercept", "Ridge", ["epsilon"]))
    There is always an intercept, regularised like the rest (found: fit_intercept of Ridge). Leave it out.
    >>> print(not_offered("epsilom", "Ridge", ["epsilon", "delta"]))
    Ridge has no parameter 'epsilom'. Did you mean 'epsilon'?
    """
    if name in _REFUSED:
        problem, fix = _REFUSED[name]
        return ParameterError(problem, found=f"{name} of {where}", fix=fix)
    near = get_close_matches(name, offered, 1)
    listed = f"It has {', '.join(offered)}." if offered else "Leave it out."
    return ParameterError(
        f"{where} has no parameter {name!r}.", fix=f"Did you mean {near[0]!r}?" if near else listed
    )


def declared(columns: Columns | None, names: Sequence[str] | None, width: int | None) -> dict[str, Column]:
    """Return the declared columns by name, for data with these names or with so many columns.

    >>> declared(Boolean(), ["a", "b"], None) == {"a": Boolean(), "b": Boolean()}
    True
    """
    if columns is None:
        raise ParameterError(
            "The columns must be declared: their ranges and categories are public, and not read off the data.",
            fix=Fix("columns", Code('{"age": dp.Integer(0, 110), "city": dp.Category(["Oslo", "Bergen"])}')),
        )
    for one in columns.values() if isinstance(columns, Mapping) else _listed(columns):
        if not isinstance(one, Column):
            raise ParameterError(
                "A column is declared by its type and its range, or its categories.",
                found=repr(one),
                fix=Fix("columns", Code('{"age": dp.Integer(0, 110), "city": dp.Category(["Oslo", "Bergen"])}')),
            )
    if isinstance(columns, Mapping):
        return dict(columns)
    if not isinstance(columns, Sequence):
        found = list(names) if names is not None else [f"x{i}" for i in range(width or 0)]
        return dict.fromkeys(found, columns)
    found = list(names) if names is not None else [f"x{i}" for i in range(len(columns))]
    if len(columns) != len(found):
        raise ParameterError(
            f"The data have {len(found)} columns, and {len(columns)} are declared.",
            fix=Fix("columns", Code("[…]"), note="one for each column of the data"),
        )
    return dict(zip(found, columns, strict=True))


def _listed(columns: Any) -> Sequence[Any]:
    return columns if isinstance(columns, Sequence) and not isinstance(columns, str) else [columns]


def _column(y: Any) -> Any:
    """Return a target with one dimension: a frame or an array of one column is taken for its column."""
    if hasattr(y, "to_frame") or hasattr(y, "combine_chunks"):  # a series, or a column of Arrow
        return y
    array = rows_of(y)
    if array.ndim == 2 and array.shape[1] == 1:
        warnings.warn("A column-vector y was passed when a 1d array was expected.", DataConversionWarning, 4)
        return array[:, 0]
    if array.ndim != 1:
        raise ParameterError("y must have one value for each row.", found=f"shape {array.shape}")
    return array


def _expect_words(y: Any, outcome: Column) -> None:
    """Refuse a target of numbers for classes that are words: by its type alone, no row could have a class."""
    if not isinstance(outcome, Category) or getattr(getattr(y, "dtype", None), "kind", "") not in ("i", "u", "f"):
        return
    words = [value for value in outcome.values(list(range(outcome.levels))) if isinstance(value, str)]
    if len(words) == outcome.levels and not any(any(letter.isdigit() for letter in word) for word in words):
        raise ParameterError(
            "y has numbers, and the classes are words: no row would have a class.",
            found=f"classes {', '.join(map(repr, words[:4]))}",
            fix="Declare the classes as y has them; some ensembles replace them by numbers.",
        )


def outcome_of_classes(classes: Sequence[Any] | None) -> Column:
    """Return the declaration of classes.

    >>> outcome_of_classes(["no", "yes"]).levels
    2
    """
    if classes is None or isinstance(classes, str) or len(list(classes)) < 2:
        raise ParameterError(
            "The classes must be declared, at least two: they are public, and not read off the data.",
            found=None if classes is None else repr(classes),
            fix=Fix("classes", ["no", "yes"]),
        )
    listed = [value.item() if isinstance(value, np.generic) else value for value in classes]
    if all(isinstance(value, bool) for value in listed):
        return Boolean()
    return Category(listed)


def class_values(task: Task) -> NDArray[Any]:
    """Return the classes of a task as an array, for `classes_`."""
    return np.array(task.classes)
