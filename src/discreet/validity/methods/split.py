"""Answer every question from rows of its own.

A keyed permutation, whose key does not depend on the rows, cuts the holdout into as many parts as questions were
announced. The t-th question is fixed before any row of the t-th part was used, so Chernoff's interval at β/k holds
for it, and all k hold together with probability 1 − β. A question that fails has seen all parts, so it widens the
answers after it (`theorems.transcript`). Theory: docs/theory/reusable-holdout.md.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np

from discreet.validity.methods.method import Method, Reply, Terms, Total
from discreet.validity.metric import Integers
from discreet.validity.theorems.concentration import chernoff_high, chernoff_low
from discreet.validity.theorems.sparse_answers import GRAIN
from discreet.validity.theorems.transcript import splitting


class Split(Method):
    """Sample splitting."""

    name, title, limited = "split", "each answer from rows of its own", True

    def __init__(self, terms: Terms):
        super().__init__(terms)
        self._each = terms.rows // terms.queries
        self._order = permutation(terms.seed, terms.rows)

    def width(self, more: int = 0) -> float:
        """Return the half-width of every answer."""
        return splitting(self.terms.rows, self.terms.queries, self.beta)

    def widened(self) -> float:
        """Return the half-width with one more part."""
        return splitting(self.terms.rows, self.asked + 1, self.beta)

    def reply(self, total: Total, guess: float | None) -> Reply:
        """Return the mean over the next part."""
        part = self._order[self.asked * self._each : (self.asked + 1) * self._each]
        mean = total(part) / (GRAIN * self._each)
        logarithm = math.log(2 * self.terms.queries / self.beta)
        low, high = (f(mean, self._each, logarithm) for f in (chernoff_low, chernoff_high))
        return Reply.within(mean, low, high, "holdout")


def permutation(seed: bytes, size: int) -> Integers:
    """Return an order of rows that depends on the seed alone.

    >>> sorted(permutation(b"a", 5).tolist())
    [0, 1, 2, 3, 4]
    """
    keys = np.frombuffer(hashlib.shake_256(seed).digest(8 * size), dtype=np.uint64)
    return np.argsort(keys, kind="stable").astype(np.int64)
