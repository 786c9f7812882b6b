"""Bound how far a mean over independent rows is from its expectation, for questions fixed beforehand.

* Hoeffding: n independent numbers in [0, 1] have P(|mean − E| ≥ α) ≤ 2e^{−2nα²}. For |H| questions at once the
  union bound gives 2|H|e^{−2nα²}, so n = ln(2|H|/β)/(2α²) rows suffice for all of them.
* McDiarmid: if row i moves f by at most cᵢ, P(|f − E f| ≥ t) ≤ 2exp(−2t²/Σcᵢ²).
* Chernoff, as Hoeffding proved it: P(mean ≥ a) ≤ e^{−n·kl(a, p)} for a ≥ p = E, and the same below, where
  kl(a, p) = a ln(a/p) + (1 − a) ln((1 − a)/(1 − p)). Inverted, it gives an interval that is never wider than
  Hoeffding's, because kl(a, p) ≥ 2(a − p)², and far narrower near 0 and 1.

None of them holds for a question that was chosen after its rows were seen. Theory: docs/theory/generalisation.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from discreet.errors import Fix, ParameterError

_UP = 1 + 1e-12  # more than a handful of float operations can lose
_STEPS = 60  # bisections of [0, 1]: the end that is returned is on the safe side


def failure(beta: float) -> float:
    """Return a probability of failure that lies strictly between 0 and 1.

    >>> failure(0.05)
    0.05
    """
    if not 0 < beta < 1:
        raise ParameterError(
            "The probability of failure must lie between 0 and 1.", found=beta, fix=Fix("beta", 0.05)
        )
    return float(beta)


def count(value: int, name: str) -> int:
    """Return a number of rows or questions, at least 1.

    >>> count(3, "queries")
    3
    """
    if isinstance(value, bool) or value != int(value) or value < 1:
        raise ParameterError(f"{name} must be a whole number, at least 1.", found=value, fix=Fix(name, 1000))
    return int(value)


def hoeffding_width(rows: int, beta: float, hypotheses: int = 1) -> float:
    """Return α such that all means are within α of their expectations, but with probability β.

    >>> round(hoeffding_width(10_000, 0.05, hypotheses=1000), 4)
    0.023
    """
    logarithm = math.log(2 * count(hypotheses, "hypotheses") / failure(beta))
    return math.sqrt(logarithm / (2 * count(rows, "rows"))) * _UP


def hoeffding_size(width: float, beta: float, hypotheses: int = 1) -> int:
    """Return the rows that suffice for all means to be within `width`: ln(2|H|/β)/(2α²), rounded up.

    >>> hoeffding_size(0.01, 0.05), hoeffding_size(0.01, 0.05, hypotheses=1000)
    (18445, 52984)
    """
    logarithm = math.log(2 * count(hypotheses, "hypotheses") / failure(beta))
    return math.ceil(logarithm / (2 * _width(width) ** 2) * _UP)


def hoeffding_failure(rows: int, width: float, hypotheses: int = 1) -> float:
    """Return the probability that one of the means is off by `width` or more, at most.

    >>> round(hoeffding_failure(18445, 0.01), 4)
    0.05
    """
    exponent = -2 * count(rows, "rows") * _width(width) ** 2
    return min(1.0, 2 * count(hypotheses, "hypotheses") * math.exp(exponent) * _UP)


def mcdiarmid_failure(moves: Sequence[float], width: float) -> float:
    """Return the probability that f is off by `width` or more, where row i moves f by at most `moves[i]`.

    >>> mcdiarmid_failure([0.01] * 100, 0.1) == hoeffding_failure(100, 0.1)
    True
    """
    squares = _squares(moves)
    return min(1.0, 2 * math.exp(-2 * _width(width) ** 2 / squares) * _UP)


def mcdiarmid_width(moves: Sequence[float], beta: float) -> float:
    """Return t such that f is within t of its expectation, but with probability β.

    >>> round(mcdiarmid_width([0.0001] * 10_000, 0.05), 4)
    0.0136
    """
    return math.sqrt(_squares(moves) * math.log(2 / failure(beta)) / 2) * _UP


def relative_entropy(a: float, p: float) -> float:
    """Return kl(a, p), the relative entropy of two coins, in nats.

    >>> round(relative_entropy(0.5, 0.25), 4), relative_entropy(0.0, 0.0), relative_entropy(0.5, 0.0)
    (0.1438, 0.0, inf)
    """
    first = 0.0 if a <= 0 else math.inf if p <= 0 else a * math.log(a / p)
    second = 0.0 if a >= 1 else math.inf if p >= 1 else (1 - a) * math.log((1 - a) / (1 - p))
    return max(0.0, first + second)


def chernoff_low(mean: float, rows: int, log_failures: float) -> float:
    """Return the least p with n·kl(mean, p) ≤ `log_failures`, rounded down: the lower end of an interval.

    It misses with probability at most e^{−log_failures}.

    >>> round(chernoff_low(0.97, 1000, 3.0), 4)
    0.9549
    """
    if mean <= 0:
        return 0.0
    low, high, limit = 0.0, float(mean), log_failures / rows * _UP
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if relative_entropy(mean, middle) <= limit else (middle, high)
    return low


def chernoff_high(mean: float, rows: int, log_failures: float) -> float:
    """Return the greatest p with n·kl(mean, p) ≤ `log_failures`, rounded up: the upper end of an interval.

    >>> round(chernoff_high(0.0, 1000, 3.0), 4)
    0.003
    """
    return 1 - chernoff_low(1 - mean, rows, log_failures)


def _width(width: float) -> float:
    if not 0 < width <= 1:
        raise ParameterError("A width lies between 0 and 1.", found=width, fix=Fix("width", 0.05))
    return float(width)


def _squares(moves: Sequence[float]) -> float:
    squares = math.fsum(move * move for move in moves)
    if not 0 < squares < math.inf:
        raise ParameterError(
            "Each row moves the function by a finite amount, and one of them by more than 0.",
            found=squares,
            fix=Fix("moves", [0.01, 0.01]),
        )
    return squares
