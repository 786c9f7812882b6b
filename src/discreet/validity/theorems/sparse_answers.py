"""Choose the noise of Thresholdout: most answers from outside of the holdout, a few from it.

The holdout is compared with guesses by the threshold test of the kernel (`discreet.kernel.threshold_test`): for
a guess g the sum over the holdout minus n·g, and its negative, are tested against a noisy threshold T. If
neither is above, the answer is g. If one is, the gap of the test gives the answer, and its run is over: with B +
1 runs there are at most B such answers, the *overfits*.

Claim. Each run is ε₀-DP where a row is added or removed, so all runs together are ε-DP with ε = 2(B + 1)ε₀ where
one is replaced. By max-information (`transfer`) k questions on n rows are within w of the population, but with
probability β/2, although each was chosen after the answers before it. A comparison that says "below" of a sum
above T + s does so with probability at most β/(4k), where s is the slack of the test. A gap is too large by more
than its margin with probability at most β/(16k) in each of 2k comparisons, any of which may be the one that raises
an alarm, and too small with β/(8(B + 1)) in each run. So a guess that is released is within (T + s)/n + w of the
population, and a number from the holdout within margin/n + w: all of them together, but with probability β.

T is set so that a guess which is right, up to the error of two samples of n rows, raises a false alarm so rarely
that these use up a fourth of the overfits. That is about usefulness: the claim holds for every T. Theory:
docs/theory/reusable-holdout.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from discreet.errors import LawTooWide
from discreet.kernel.threshold_test import Watch, early, overshoot, slack, undershoot
from discreet.validity.theorems.concentration import count, failure
from discreet.validity.theorems.transfer import max_information_width

GRAIN = 2**20
"""One row, in the units of sums: a number in [0, 1] is rounded down to a multiple of 1/GRAIN."""

_UP = 1 + 1e-9


class SparseAnswers(NamedTuple):
    """The widths of answers from training data and from the holdout, and the threshold test that gives them."""

    width: float
    holdout_width: float
    watch: Watch
    runs: int
    epsilon: Fraction


@lru_cache(maxsize=64)
def thresholdout(rows: int, queries: int, overfits: int, beta: float) -> SparseAnswers | None:
    """Return the narrowest answers of Thresholdout; None if its noise could not be drawn.

    >>> found = thresholdout(1_000_000, 1000, 10, 0.05)
    >>> round(found.width, 3), round(found.holdout_width, 3), found.runs
    (0.042, 0.031, 11)
    """
    n, k, b = count(rows, "rows"), count(queries, "queries"), failure(beta)
    runs = count(overfits, "overfits") + 1
    found: SparseAnswers | None = None
    for step in range(-14, 11):
        whole = 2.0**step / math.sqrt(n)  # ε of all runs together: max-information grows from about 1/√n on
        made = _made(n, k, runs, Fraction(whole / (2 * runs)).limit_denominator(10**9), b)
        if made is not None and (found is None or made.width < found.width):
            found = made
    return found


def _made(n: int, k: int, runs: int, epsilon: Fraction, beta: float) -> SparseAnswers | None:
    if epsilon <= 0:
        return None
    try:
        trial = Watch(epsilon, threshold=0, sensitivity=GRAIN, monotonic=True)
    except LawTooWide:
        return None
    whole = 2 * runs * epsilon
    sampled = max_information_width(n, k, float(whole) * _UP, beta / 2)
    if not math.isfinite(sampled):
        return None
    rare, natural = max((runs - 1) / (4 * 2 * k), 1e-12), math.ceil(2 * math.sqrt(n) * GRAIN)
    threshold = natural + _quantile(trial, min(rare, 0.25))
    watch = Watch(epsilon, threshold=threshold, sensitivity=GRAIN, monotonic=True)
    return _certified(n, k, SparseAnswers(0.0, 0.0, watch, runs, whole), sampled, beta)


@lru_cache(maxsize=64)
def certified(rows: int, queries: int, found: SparseAnswers, beta: float) -> SparseAnswers:
    """Return the same test with the widths that it has at another β; vacuous ones if there are none.

    >>> found = thresholdout(1_000_000, 1000, 10, 0.05)
    >>> certified(1_000_000, 1000, found, 0.05) == found
    True
    >>> certified(1_000_000, 1000, found, 0.001).width > found.width
    True
    """
    sampled = max_information_width(rows, queries, float(found.epsilon) * _UP, beta / 2)
    return _certified(rows, queries, found, sampled, beta)


def _certified(n: int, k: int, found: SparseAnswers, sampled: float, beta: float) -> SparseAnswers:
    watch, runs = found.watch, found.runs
    missed = watch.threshold + slack(watch, Fraction(beta) / (4 * k))
    # An alarm is chosen by its noise among 2k comparisons; the noise of the threshold is drawn once in a run.
    over, under = overshoot(watch, Fraction(beta) / (16 * k)), undershoot(watch, Fraction(beta) / (8 * runs))
    gap = max(over, under)
    width, holdout_width = ((sums / (n * GRAIN) + sampled) * _UP for sums in (missed, gap))
    return found._replace(width=width, holdout_width=holdout_width)


def _quantile(watch: Watch, chance: float) -> int:
    """Return how far below the threshold a sum must be to raise a false alarm with at most this chance."""
    low, high = 0, 1
    while early(watch, high) > chance:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if early(watch, middle) <= chance else (middle, high)
    return high
