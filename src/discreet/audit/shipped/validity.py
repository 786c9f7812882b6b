"""List the private methods of a reusable holdout as subjects of an attack, for neighbours that replace a row.

The threshold test of Thresholdout is enumerated on counts of a few rows, with both sides, all questions up to
its one overfit, and the number that comes with it: two runs of ε₀ each, so 4ε₀ where a row is replaced. Gaussian
answers have noise on a fine grid: two of them, the second about a question that depends on the first, are
attacked by sampling.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.audit.inputs.subject import Subject
from discreet.kernel.threshold_test import Side, Watch, start
from discreet.privacy.losses import Pure
from discreet.validity.methods.gaussian import GaussianNoise
from discreet.validity.methods.method import Terms
from discreet.validity.methods.thresholdout import sides_compared
from discreet.validity.theorems.sparse_answers import GRAIN

EPSILON = 4
WATCH = Watch(EPSILON, threshold=1, monotonic=True)
PREDICTED = 3

Counts = Sequence[int]
"""What is compared with the prediction, question by question."""

PAIRS: list[tuple[Counts, Counts]] = [((4, 4), (5, 3)), ((2, 3), (3, 4)), ((5, 2), (4, 2))]

_ROWS: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((0, 0, 1, 1), (0, 1, 1, 1)), ((0, 0, 0, 0), (1, 0, 0, 0))]


def holdouts() -> dict[str, Subject]:
    """Return the subjects by name.

    >>> sorted(holdouts())
    ['GaussianNoise(rows=4, queries=2)', 'Thresholdout(epsilon=16, overfits=1)']
    """
    gaussian = GaussianNoise(_terms())
    found = [
        Subject(
            name="Thresholdout(epsilon=16, overfits=1)", release=compared, loss=Pure(4 * EPSILON), pairs=PAIRS
        ),
        Subject(name="GaussianNoise(rows=4, queries=2)", release=answered, loss=gaussian.losses, pairs=_ROWS),
    ]
    return {subject.name: subject for subject in found}


def compared(counts: Counts) -> list[tuple[str, int] | None]:
    """Return all that Thresholdout shows of some counts: confirmations, and the side and number of one overfit."""
    sides: tuple[Side, Side] = ("up", "down")
    runs = {side: start(WATCH, side, place) for place, side in enumerate(sides)}
    shown: list[tuple[str, int] | None] = []
    for total in counts:
        shown.append(sides_compared(runs, total, PREDICTED, 1))
        if shown[-1] is not None:
            break
    return shown


def answered(rows: Sequence[int]) -> list[float]:
    """Return two Gaussian answers about the rows; the second question depends on the first answer."""
    method, numbers = GaussianNoise(_terms()), np.asarray(rows, np.int64)
    first = method.reply(lambda _: int(numbers.sum()) * GRAIN, None).value
    chosen = numbers if first > 0.5 else 1 - numbers
    second = method.reply(lambda _: int(chosen.sum()) * GRAIN, None).value
    return [first, second]


def _terms() -> Terms:
    return Terms(rows=4, beta=0.05, queries=2, overfits=1)
