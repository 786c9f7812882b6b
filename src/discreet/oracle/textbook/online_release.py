"""Online query release without privacy: how few mistakes multiplicative weights make.

An adversary names one query after the other. Where the hypothesis is off by α or more, that is a mistake: the
truth is told, and the hypothesis moves towards it at the rate α/2. However queries are chosen, there are at most

    T ≤ 4·ln N/α²

mistakes: they add up to T·α at least, and to 2·ln N/α + T·α/2 at most. (The notes conclude T ≤ ln N/α² from
T·α ≤ 2·√(T·ln N), which loses a factor 4.) This is what the private versions lean on. It is **not private**: it
tells the truth, for public data and for pictures. Theory: docs/theory/multiplicative-weights.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import ParameterError
from discreet.oracle.textbook.multiplicative_weights import Floats, Weights
from discreet.rational import Rational, positive


class OnlineRelease:
    """Answers to queries on public data, each within α: from the hypothesis, or else from the truth.

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
        if shares.ndim != 1 or not shares.size or shares.min() < 0 or not 0 < shares.sum() < np.inf:
            raise ParameterError("The truth is a row of counts or shares, not below 0, and not all of them 0.")
        self._truth: Floats = shares / shares.sum()
        self._alpha = float(positive(alpha, "alpha", floats="exact"))
        self._weights = Weights.uniform(shares.size)
        self._errors: list[float] = []

    def ask(self, query: ArrayLike) -> float:
        """Return the share that the query counts, within α: weights from 0 to 1, one for each cell."""
        weights = np.asarray(query, np.float64)
        if weights.shape != self._truth.shape or weights.min() < 0 or weights.max() > 1:
            raise ParameterError(f"A query has {self._truth.size} weights, each from 0 to 1.")
        said, true = float(weights @ self._weights.shares), float(weights @ self._truth)
        if abs(said - true) < self._alpha:
            return said
        self._errors.append(abs(said - true))
        self._weights = self._weights.moved(weights, np.sign(true - said) * self._alpha / 2)
        return true

    @property
    def hypothesis(self) -> Floats:
        """The distribution over cells that answers."""
        return self._weights.shares.copy()

    @property
    def mistakes(self) -> int:
        """How often the hypothesis was off by α or more."""
        return len(self._errors)

    @property
    def errors(self) -> list[float]:
        """How far it was off, at each mistake."""
        return self._errors.copy()

    @property
    def divergence(self) -> float:
        """KL(truth‖hypothesis), which falls with every mistake."""
        return self._weights.divergence(self._truth)
