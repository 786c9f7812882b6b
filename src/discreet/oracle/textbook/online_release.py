"""Answer online queries without privacy, and count the mistakes of multiplicative weights.

An adversary asks one query after the other. If the error of the hypothesis is α or more, that is a mistake: the
truth is released, and the hypothesis moves towards it at the rate α/2. For any choice of queries, there are at
most

    T ≤ 4·ln N/α²

mistakes: they add up to T·α at least, and to 2·ln N/α + T·α/2 at most. (The notes conclude T ≤ ln N/α² from
T·α ≤ 2·√(T·ln N), which loses a factor 4.) The private versions use this bound. This class is **not private**: it
releases the truth, for public data and for pictures. Theory: docs/theory/multiplicative-weights.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import Code, Fix, ParameterError
from discreet.oracle.textbook.multiplicative_weights import Floats, Weights
from discreet.rational import Rational, positive


class OnlineRelease:
    """Answers to queries on public data, each within α: from the hypothesis or from the truth.

    >>> release = OnlineRelease([0.7, 0.1, 0.1, 0.1], alpha="0.1")
    >>> round(release.ask([1, 0, 0, 0]), 6), release.mistakes
    (0.7, 1)
    >>> for _ in range(100):
    ...     answer = release.ask([1, 0, 0, 0])
    >>> abs(answer - 0.7) < 0.1, release.mistakes
    (True, 31)
    """

    def __init__(self, truth: ArrayLike, alpha: Rational):
        shares = np.asarray(truth, np.float64)
        if shares.ndim != 1 or not shares.size or not (shares >= 0).all() or not 0 < shares.sum() < np.inf:
            raise ParameterError(
                "The truth must be a row of counts or shares, none of them negative and not all of them 0.",
                fix=Fix("truth", Code("[70, 10, 10, 10]")),
            )
        self._truth: Floats = shares / shares.sum()
        self._alpha = float(positive(alpha, "alpha", floats="exact"))
        self._weights = Weights.uniform(shares.size)
        self._errors: list[float] = []

    def ask(self, query: ArrayLike) -> float:
        """Return the share that the query counts, within α: weights from 0 to 1, one for each cell."""
        weights = np.asarray(query, np.float64)
        # A comparison with NaN is false, so the bounds are what must hold, and not what must not.
        if weights.shape != self._truth.shape or not ((weights >= 0) & (weights <= 1)).all():
            raise ParameterError(
                f"A query must have {self._truth.size} weights, each from 0 to 1.",
                found=f"shape {weights.shape}, from {weights.min(initial=0):g} to {weights.max(initial=0):g}",
                fix="Give one weight for each cell.",
            )
        guess, true = float(weights @ self._weights.shares), float(weights @ self._truth)
        if abs(guess - true) < self._alpha:
            return guess
        self._errors.append(abs(guess - true))
        self._weights = self._weights.moved(weights, np.sign(true - guess) * self._alpha / 2)
        return true

    @property
    def hypothesis(self) -> Floats:
        """The distribution over cells from which queries are answered."""
        return self._weights.shares.copy()

    @property
    def mistakes(self) -> int:
        """The number of answers whose error was α or more."""
        return len(self._errors)

    @property
    def errors(self) -> list[float]:
        """The error at each mistake."""
        return self._errors.copy()

    @property
    def divergence(self) -> float:
        """KL(truth‖hypothesis), which decreases with every mistake."""
        return self._weights.divergence(self._truth)
