"""Simulate analysts who overfit a holdout, with and without a guard.

    screening     Dwork et al., Science 2015: choose features by training rows and holdout, and report the
    holdout's score boosting      Blum and Hardt 2015: submit random guesses, keep those that did well, and let
    them vote

The data are coin flips, extended from a seed: they are no secret, and the same for everyone. Labels do not
depend on the features, unless there is a signal, so every honest score is 50 %.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.validity.holdout import ReusableHoldout

Signs = NDArray[np.int8]
SIZES = (1, 11, 31, 71, 101, 151, 201, 301, 401, 501)
"""How many features a classifier votes with: odd, so that there is no tie."""

_SIGNAL, _BLOCK = 20, 512


@dataclass(frozen=True)
class Point:
    """The scores of one classifier: on training rows, as reported (with an interval), and on fresh rows."""

    features: int
    analyst: str
    train: float
    reported: float
    fresh: float
    low: float | None = None
    high: float | None = None


def coins(seed: str, rows: int, columns: int) -> Signs:
    """Return rows of fair signs, from a seed.

    >>> coins("a", 2, 3).shape, set(coins("a", 100, 1).ravel().tolist()) == {-1, 1}
    ((2, 3), True)
    """
    size = rows * columns
    content = np.frombuffer(hashlib.shake_256(seed.encode()).digest(-(-size // 8)), np.uint8)
    signs: Signs = (2 * np.unpackbits(content)[:size].astype(np.int8) - 1).reshape(rows, columns)
    return signs


def sample(seed: str, rows: int, features: int, signal: bool = False) -> tuple[Signs, Signs]:
    """Return features and labels; with a signal, twenty features agree with the label in ½ + 3/√n of the rows."""
    X, y = coins(f"{seed} X", rows, features), coins(f"{seed} y", rows, 1)[:, 0]
    if signal:
        words = hashlib.shake_256(f"{seed} signal".encode()).digest(2 * rows * _SIGNAL)
        agree = np.frombuffer(words, np.uint16).reshape(rows, _SIGNAL) < 65536 * (0.5 + 3 / rows**0.5)
        X = X.copy()
        X[:, :_SIGNAL] = np.where(agree, y[:, None], -y[:, None])
    return X, y


def screening(
    rows: int = 10_000,
    features: int = 10_000,
    *,
    signal: bool = False,
    seed: str = "science",
    sizes: Sequence[int] = SIZES,
    progress: Callable[[str, float], None] | None = None,
    **guard: Any,
) -> list[Point]:
    """Return what a plain holdout reports, and what a guarded one does, for classifiers of more and more features.

    Args:
        rows: The rows for training, and as many in the holdout, and fresh ones.
        features: The number of features.
        signal: Whether some features predict the label.
        seed: Which data.
        sizes: How many features the classifiers vote with.
        progress: Called with what is being done and the share that is done.
        guard: Parameters of the `ReusableHoldout`; a purpose of screening by default.

    >>> points = screening(400, 200, sizes=(51,))
    >>> [point.analyst for point in points]
    ['plain holdout', 'guarded holdout']
    """
    tell = progress or (lambda _what, _done: None)
    tell("flipping coins", 0.0)
    (X, y), (X_hold, y_hold), (X_new, y_new) = (
        sample(f"{seed} {part}", rows, features, signal) for part in range(3)
    )
    sizes = [size for size in sizes if size <= features]

    def votes(rows_of: Signs, chosen: NDArray[Any], signs: NDArray[Any]) -> NDArray[Any]:
        return np.where(rows_of[:, chosen].astype(np.float32) @ signs.astype(np.float32) > 0, 1, -1)

    def scored(analyst: str, chosen: NDArray[Any], signs: NDArray[Any], ask: Any = None) -> Point:
        train, held, fresh = (
            votes(part, chosen, signs) == label for part, label in ((X, y), (X_hold, y_hold), (X_new, y_new))
        )
        guess = float(train.mean())
        if ask is None:
            return Point(len(chosen), analyst, guess, float(held.mean()), float(fresh.mean()))
        answer = ask(held, guess)
        return Point(len(chosen), analyst, guess, answer.value, float(fresh.mean()), answer.low, answer.high)

    tell("the plain holdout", 0.2)
    first, second, least = _means(X, y), _means(X_hold, y_hold), 1 / rows**0.5
    both = ((first > least) & (second > least)) | ((first < -least) & (second < -least))
    order = np.argsort(-np.abs(np.where(both, first, 0.0)), kind="stable")
    points = [scored("plain holdout", order[:k], np.sign(first[order[:k]])) for k in sizes]
    tell("the guarded holdout", 0.5)
    with ReusableHoldout(
        X_hold, y_hold, **{"purpose": "screening", "queries": features + len(sizes), "width": 1.0, **guard}
    ) as kept:
        found = kept.select_features(X, y, k=max(sizes))
        for k in sizes:
            ask = lambda held, guess, k=k: kept.check(held, guess, name=f"{k} features")  # noqa: E731
            points.append(scored("guarded holdout", found.selected[:k], found.signs[:k], ask))
    tell("done", 1.0)
    return points


def boosting(rows: int = 4000, queries: int = 800, *, method: str | None = None, seed: str = "boost") -> float:
    """Return the score that an analyst reports who lets random guesses vote that seemed good.

    Args:
        rows: The rows of the holdout.
        queries: How many random guesses are submitted.
        method: The method of the guard; None for a plain holdout.
        seed: Which data.

    >>> boosting(400, 100) > 0.6 > boosting(400, 100, method="ladder")
    True
    """
    y, guesses = coins(f"{seed} y", rows, 1)[:, 0], coins(f"{seed} U", queries, rows)
    if method is None:
        scores = [float((one == y).mean()) for one in guesses]
        return float((_voted(guesses, np.array(scores)) == y).mean())
    with ReusableHoldout(guesses.T, y, method=method, queries=queries + 1, width=1.0) as guard:
        answers = [guard.check(one == y, 0.5, name="guess").value for one in guesses]
        kept = np.diff([0.5, *answers]) if method == "ladder" else np.array(answers) - 0.5
        return guard.check(_voted(guesses, 0.5 + kept) == y, 0.5, name="vote").value


def _voted(guesses: Signs, scores: NDArray[Any]) -> NDArray[Any]:
    weights = np.sign(scores - 0.5)
    return np.where(weights @ guesses.astype(np.float64) >= 0, 1, -1)


def _means(X: Signs, y: Signs) -> NDArray[np.float64]:
    """Return the mean of feature times label, for every feature."""
    wide, label = X.shape[1], y.astype(np.float32)
    parts = [label @ X[:, at : at + _BLOCK].astype(np.float32) for at in range(0, wide, _BLOCK)]
    return np.concatenate(parts).astype(np.float64) / len(y)
