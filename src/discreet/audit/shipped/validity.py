"""List the private methods of a reusable holdout as subjects of an attack, for neighbours that replace a row.

The threshold test of Thresholdout is enumerated on counts of a few rows. It is held to more than what is charged,
2ε₀ for each run, because an attack has no power against a claim that is not tight:

    one run      A row is replaced, so queries may move both ways. In the proof of `kernel.threshold_test` the
                 noise of the threshold moves by 1, and that of the alarm by 2 at most: with the ε₁ of the
                 threshold and the ε₂ of the comparisons a run loses ε₁ + 2ε₂ = 1.55·ε₀
    both sides   all questions up to the one overfit. Of its two runs one has an alarm, and the noise of the other
                 moves by 1 in its threshold alone: ε₁ + 2ε₂ + ε₁ = 2ε₀

Both are attained: a sum at the threshold is "below", and rises; then one at the threshold raises an alarm, and
falls. So noise that is a little too small is caught.

Gaussian answers have noise on a fine grid: two of them, the second about a question that depends on the first, are
attacked by their transcript, and by sampling.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from discreet.audit.attacks import exact, pieces
from discreet.audit.blackbox import blackbox
from discreet.audit.inputs.subject import Subject
from discreet.audit.inputs.transcripts import followed
from discreet.audit.replay import transcript
from discreet.audit.report.verdict import Verdict
from discreet.kernel.threshold_test import Side, Watch, start
from discreet.mechanisms import Exact, Sensitivity
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
AIMED: tuple[Counts, Counts] = (4, 2, 4), (5, 1, 3)
"""At the threshold of either side, which is not told, and then at the upper one, which is."""

_Rows: TypeAlias = list[dict[str, int]]
_ROWS: list[tuple[_Rows, _Rows]] = [
    ([{"hit": hit} for hit in (0, 0, 1, 1)], [{"hit": hit} for hit in (0, 1, 1, 1)]),
    ([{"hit": 0}] * 4, [{"hit": 1}, *[{"hit": 0}] * 3]),
]


def holdouts() -> dict[str, Subject]:
    """Return the subjects by name.

    >>> sorted(holdouts())[1:]
    ['Thresholdout(epsilon=6.2, one run)', 'Thresholdout(epsilon=8, one overfit)']
    """
    gaussian = GaussianNoise(_terms())
    additive: Mapping[str, Callable[[Subject], Verdict]] = {
        "transcript": transcript.attack,
        "black box": blackbox.attack,
    }
    found = [
        _one_run(),
        _both_sides(),
        Subject(
            name="GaussianNoise(rows=4, queries=2)",
            release=answered,
            loss=gaussian.losses,
            pairs=_ROWS,
            attacks=additive,
        ),
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


def answered(rows: _Rows) -> list[float]:
    """Return two Gaussian answers about the rows; the second question depends on the first answer."""
    method, numbers = GaussianNoise(_terms()), np.array([row["hit"] for row in rows], np.int64)
    first = method.reply(lambda _: int(numbers.sum()) * GRAIN, None).value
    chosen = numbers if first > 0.5 else 1 - numbers
    second = method.reply(lambda _: int(chosen.sum()) * GRAIN, None).value
    return [first, second]


def _one_run() -> Subject:
    """Return a run of one side: a sum at the threshold is "below", and then another one is not."""
    threshold, comparisons = WATCH.split
    lost, at = threshold + 2 * comparisons, WATCH.threshold

    def release(sums: Counts) -> list[Any]:
        run = start(WATCH, "up", 0)

        def ask(total: int) -> Any:
            return run.gap(Exact(total, Sensitivity(entries=1, each=1, monotonic="up")))

        return followed(ask, sums, (False, True), middle=0)

    return Subject(
        name=f"Thresholdout(epsilon={float(lost):g}, one run)",
        release=release,
        loss=Pure(lost),
        pairs=[((at, at), (at + 1, at - 1))],
        attacks={"piecewise": pieces.attack, "black box": blackbox.attack},
    )


def _both_sides() -> Subject:
    """Return the two runs of one overfit. By pieces only the side of the alarm is seen, and not its number."""
    threshold, comparisons = WATCH.split
    lost = 2 * threshold + 2 * comparisons
    shown = Subject(
        name=f"Thresholdout(epsilon={float(lost):g}, one overfit)", release=compared, loss=Pure(lost), pairs=PAIRS
    )
    sides = partial(_by_sides, replace(shown, release=_sides, pairs=[AIMED]))
    return replace(shown, attacks={"exact": exact.attack, "piecewise": sides, "black box": blackbox.attack})


def _sides(counts: Counts) -> list[str]:
    """Return the side of each alarm, up to the first one."""
    return ["neither" if alarm is None else alarm[0] for alarm in compared(counts)]


def _by_sides(aimed: Subject, claimed: Subject) -> Verdict:
    return pieces.attack(replace(aimed, loss=claimed.loss), pivots=(0, 1))


def _terms() -> Terms:
    return Terms(rows=4, beta=0.05, queries=2, overfits=1)
