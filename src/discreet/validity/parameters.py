"""Check what a holdout is made with: rows, labels, a method, a guess and a width."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
from discreet.rational import Rational
from discreet.validity.methods import METHODS
from discreet.validity.planning import expect_purpose, plan

WIDEST = 0.25
"""An interval that is wider to either side says little: by default no such answer is given."""


def expect_rows(X: Any, y: NDArray[Any]) -> int:
    """Return the number of rows, if X and y have as many, and there are any.

    >>> expect_rows(np.zeros((3, 1)), np.zeros(3))
    3
    """
    rows = int(np.shape(X)[0]) if hasattr(X, "shape") else len(X)
    if y.ndim != 1 or rows != len(y) or not rows:
        raise ParameterError(
            "A holdout needs rows, and one label for each of them.",
            found=f"{rows:,} rows, labels of shape {y.shape}",
            fix="Give y as one array with a label for each row of X.",
        )
    if y.dtype.kind in "fO" and any(label is None or label != label for label in y.tolist()):
        raise ParameterError(
            "The labels of a holdout are known.", found="NaN or None", fix="Leave out rows without a label."
        )
    return rows


def expect_model(model: Any, X: Any) -> None:
    """Refuse what cannot predict these rows, whatever is in them, before the holdout is touched: that is free.

    Args:
        model: Anything with `predict`.
        X: The rows of the holdout, of which only the shape is used.
    """
    if not callable(getattr(model, "predict", None)):
        raise ParameterError(
            "A model needs a method `predict`.",
            found=type(model).__name__,
            fix="For other statistics use check(…).",
        )
    if _is_unfitted(model):
        raise ParameterError(
            "The model is not fitted.", found=type(model).__name__, fix="Call fit(X, y) with training rows."
        )
    expected: Any = getattr(model, "n_features_in_", None)
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if isinstance(expected, int) and len(shape) == 2 and shape[1] != expected:
        raise ParameterError(
            f"The model was fitted with {expected:,} features, and the holdout has {shape[1]:,}.",
            fix="Give both the same columns, in the same order.",
        )


def _is_unfitted(model: Any) -> bool:
    """Return whether this is an estimator of scikit-learn that needs to be fitted and was not.

    By its own word, or by attributes that end in an underscore, which fitting makes: scikit-learn's convention.
    """
    tags, told = getattr(model, "__sklearn_tags__", None), getattr(model, "__sklearn_is_fitted__", None)
    if tags is None or not getattr(tags(), "requires_fit", True):
        return False
    if callable(told):
        return not told()
    return not any(name.endswith("_") and not name.startswith("__") for name in vars(model))


def decided(
    method: str, purpose: str, rows: int, queries: int, overfits: int, confidence: Rational
) -> tuple[str, str]:
    """Return the method, and why it was chosen.

    Args:
        method: The name of a method, or "auto".
        purpose: What "auto" decides for.
        rows: The number of rows.
        queries: The number of questions.
        overfits: The number of surprises.
        confidence: The probability that all intervals hold together.

    >>> decided("split", "estimating", 100, 5, 1, "0.95")
    ('split', 'The analyst chose the method.')
    """
    expect_purpose(purpose)
    if method == "auto":
        found = plan(rows, queries, confidence=confidence, purpose=purpose, overfits=overfits)
        return found.method, found.why
    if method not in METHODS:
        raise ParameterError(
            f"The methods of a holdout are auto, {', '.join(METHODS)}.", found=method, fix=Fix("method", "auto")
        )
    if method == "split" and queries > rows:
        raise ParameterError(
            "Every question needs a row of its own.",
            found=f"{queries:,} queries",
            fix=Fix("queries", max(1, rows // 100)),
        )
    return method, "The analyst chose the method."


def expect_guess(guess: float | None, *, needed: bool) -> None:
    """Refuse a guess that is no share, and none where one is needed."""
    if guess is None and needed:
        raise ParameterError(
            "Thresholdout compares the holdout with a guess.",
            fix=Fix("guess", 0.7, note="the score on training data"),
        )
    if guess is not None and not 0 <= float(guess) <= 1:  # NaN too
        raise ParameterError("A guess lies in [0, 1].", found=guess, fix=Fix("guess", 0.7))


def expect_width(width: float) -> float:
    """Return the widest margin that is accepted.

    >>> expect_width(0.1)
    0.1
    """
    if not 0 < float(width) <= 1:
        raise ParameterError("The widest margin lies between 0 and 1.", found=width, fix=Fix("width", WIDEST))
    return float(width)
