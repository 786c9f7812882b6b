"""Compute how many rows k adaptive questions take, by each method, and how many questions n rows allow.

Widths fall with n and rise with k, so both are found by doubling and bisection. Theory:
docs/theory/reusable-holdout.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from discreet.errors import Fix, ParameterError
from discreet.validity.theorems.concentration import count, failure, hoeffding_width
from discreet.validity.theorems.gaussian_answers import best_gaussian
from discreet.validity.theorems.sparse_answers import GRAIN, thresholdout
from discreet.validity.theorems.transcript import QUIET, log_share, splitting, transcript_width

EVERY = _MOST = 10**13
"""More surprises than there are questions: every answer is one."""


def grid_values(rows: int) -> int:
    """Return how many values an answer from the holdout may have: a grid of about 1/√n.

    >>> grid_values(10_000)
    101
    """
    return math.isqrt(count(rows, "rows")) + 1


def confirming(rows: int, queries: int) -> float:
    """Return how far a guess may be from the holdout, beside the width: what k pairs of samples differ by at most.

    >>> round(confirming(10_000, 1000), 4)
    0.0276
    """
    return math.sqrt(math.log(2 * count(queries, "queries")) / count(rows, "rows"))


def _guess_and_check(rows: int, queries: int, beta: float, overfits: int) -> float:
    """Return the width of the last answer. If all are corrected, no guess is, and none has to be confirmed."""
    values, wrong = grid_values(rows), min(overfits, queries - 1)
    half = 0.5 / (values - 1)
    more = half if overfits >= queries - 1 else max(half, confirming(rows, queries))
    return transcript_width(rows, queries, wrong, beta, values=values, planned=queries) + more + 1 / GRAIN


def ladder_steps(rows: int) -> int:
    """Return how many steps the grid of the Ladder has: each is about 1/√n, twice the deviation of a score.

    >>> ladder_steps(10_000)
    100
    """
    return math.isqrt(count(rows, "rows"))


def _ladder(rows: int, queries: int, beta: float, overfits: int) -> float:
    steps = ladder_steps(rows)
    changes = min(overfits, queries - 1, steps)
    share = log_share(queries, changes, values=steps + 1, falling=True, planned=queries)
    return math.sqrt((math.log(2 / beta) - share) / (2 * rows)) + 1 / steps + 1 / GRAIN


def _thresholdout(rows: int, queries: int, beta: float, overfits: int) -> float:
    found = thresholdout(rows, queries, max(overfits, 1), beta * QUIET)
    return math.inf if found is None else found.width


WIDTHS: dict[str, Callable[[int, int, float, int], float]] = {
    "fixed questions": lambda n, k, b, _: hoeffding_width(n, b, k),
    "split": lambda n, k, b, _: splitting(n, k, b * QUIET),
    "gaussian": lambda n, k, b, _: best_gaussian(n, k, b * QUIET).width,
    "ladder": _ladder,
    "guess_and_check": _guess_and_check,
    "thresholdout": _thresholdout,
}
"""The width of every method for n rows, k questions, β, and a number of surprises: wrong guesses, or new bests."""


def width(method: str, rows: int, queries: int, beta: float, overfits: int = 0) -> float:
    """Return the width of k adaptive answers by one method.

    Args:
        method: A key of WIDTHS.
        rows: The rows of the holdout.
        queries: The number of answers.
        beta: The probability of failure of all together.
        overfits: How many answers come from the holdout, where that matters.

    >>> round(width("guess_and_check", 10_000, 1000, 0.05, overfits=5), 3)
    0.086
    >>> round(width("split", 10_000, 1000, 0.05), 3)
    0.728
    """
    if method not in WIDTHS:
        raise ParameterError(
            f"The methods are {', '.join(WIDTHS)}.", found=method, fix=Fix("method", "guess_and_check")
        )
    return WIDTHS[method](count(rows, "rows"), count(queries, "queries"), failure(beta), overfits)


def rows_needed(method: str, queries: int, wanted: float, beta: float, overfits: int = 0) -> int:
    """Return the least number of rows, up to a thousandth, at which a method is as narrow as `wanted`.

    Args:
        method: A key of WIDTHS.
        queries: The number of answers.
        wanted: The width.
        beta: The probability of failure of all together.
        overfits: How many answers come from the holdout, where that matters.

    >>> rows_needed("fixed questions", 1000, 0.01, 0.05)
    52984
    """
    if not 0 < wanted < 1:
        raise ParameterError("A width lies between 0 and 1.", found=wanted, fix=Fix("width", 0.05))

    def enough(rows: int) -> bool:
        return width(method, rows, queries, beta, overfits) <= wanted

    low, high = 0, 1
    while not enough(high):
        low, high = high, 2 * high
        if high > _MOST:
            raise ParameterError("No number of rows that could be had is enough.", found=wanted)
    while high - low > max(1, high // 1000 if method != "fixed questions" else 1):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def queries_allowed(method: str, rows: int, wanted: float, beta: float, overfits: int = 0) -> int:
    """Return the most questions, up to a hundredth, that a method answers as narrowly as `wanted`.

    Args:
        method: A key of WIDTHS.
        rows: The rows of the holdout.
        wanted: The width.
        beta: The probability of failure of all together.
        overfits: How many answers come from the holdout, where that matters.

    >>> queries_allowed("split", 100_000, 0.1, 0.05)
    219
    """

    def narrow(queries: int) -> bool:
        return width(method, rows, queries, beta, overfits) <= wanted

    low, high = 0, 1
    while narrow(high) and high < _MOST:
        low, high = high, 2 * high
    while high - low > max(1, high // 1000):
        middle = (low + high) // 2
        low, high = (middle, high) if narrow(middle) else (low, middle)
    return low
