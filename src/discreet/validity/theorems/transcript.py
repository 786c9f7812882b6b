"""Bound answers by how little the analyst could have learnt from them: splitting, the Ladder, Guess-and-Check.

**Splitting.** Each of k questions has n/k rows of its own, so it is fixed before its rows are seen: Hoeffding at
β/k.

**Transcripts.** Fix the analyst's coins, and the rows that are not in the holdout. Then the t-th question is a
function of the answers before it: there are as many possible t-th questions as there are histories of t − 1
answers. Give each history a share of β such that all shares add up to at most 1. By Hoeffding (or Chernoff) and
the union bound all questions that *could* be asked, hence those that are, lie within their own width
√(ln(2/(share·β))/(2n)), but with probability β. A history is coded by what is surprising in it. With f failures
whose answers are one of m values, r refusals for one of q = REASONS reasons each, and everything else predictable
from outside of the holdout,

    share = share(t) · 6/(π²(f + 1)²) · 6/(π²(r + 1)²) / (C(t−1, f)·C(t−1−f, r)·m^f·q^r),
    share(t) = ½·6/(π²t²) + ½·[t ≤ k]/k,

where k is the number of questions that was announced. The shares add up to at most 1, because for every t, f and
r they are divided evenly among the histories, and Σ 6/(π²i²) = 1. For the Ladder the m^f is C(m, f): values only
fall.

* Guess-and-Check (Rogers et al. 2020): a failure is a guess that the holdout did not confirm; then the holdout's
  own mean is released, rounded to a grid of m values.
* The Ladder (Blum, Hardt 2015): a failure is a new best score, rounded to a grid of m values. `blum_hardt` is the
  bound of their theorem, for comparison.

**Refusals.** Splitting, Gaussian answers and Thresholdout have theorems of their own, about k answers. An error
that a question raises on the holdout is no answer: it tells something about all rows, without noise. Fix the
places and reasons of the refusals, and let the rest go on as if they were prescribed: that is one mechanism to
which the theorem applies, for a share of β that is its own. `refusals_share` gives QUIET of β to the mechanism
without refusals, and divides the rest among the C(k, r)·q^r with r of them.

Theory: docs/theory/reusable-holdout.md.
"""

from __future__ import annotations

import math

from discreet.errors import Fix, ParameterError
from discreet.validity.theorems.concentration import count, failure

REASONS = 8
"""The most messages of a refusal: lost, NaN, out of range, of another shape or type, an error of the analyst."""

QUIET = 0.999
"""The part of β for a holdout on which no question fails."""

_UP = 1 + 1e-12
_BASEL = math.log(6 / math.pi**2)


def splitting(rows: int, queries: int, beta: float) -> float:
    """Return the width of k answers, each from rows of its own; infinite if there are fewer rows than answers.

    >>> round(splitting(10_000, 100, 0.05), 3)
    0.204
    """
    each = count(rows, "rows") // count(queries, "queries")
    return math.sqrt(math.log(2 * queries / failure(beta)) / (2 * each)) * _UP if each else math.inf


def blum_hardt(rows: int, queries: int, beta: float) -> tuple[float, float]:
    """Return the width of the Ladder by its first theorem, and the step η that makes it least.

    η + √(((1/η + 2)·ln(4k/η) + 1 + ln(1/β))/(2n)) bounds how far the running best is from the best so far.

    >>> [round(x, 3) for x in blum_hardt(10_000, 100, 0.05)]
    [0.15, 0.05]
    """
    n, k, b = count(rows, "rows"), count(queries, "queries"), failure(beta)

    def width(step: float) -> float:
        exponent = (1 / step + 2) * math.log(4 * k / step) + 1 + math.log(1 / b)
        return step + math.sqrt(exponent / (2 * n))

    steps = [10 ** (-4 + i / 500) for i in range(2001)]
    best = min(steps, key=width)
    return width(best) * _UP, best


def log_share(
    question: int,
    failures: int,
    *,
    values: int,
    refusals: int = 0,
    falling: bool = False,
    planned: int | None = None,
) -> float:
    """Return the logarithm of the share of β of one history before the t-th question.

    Args:
        question: t, counted from 1.
        failures: The answers so far that came from the holdout.
        values: The number of values that such an answer can have.
        refusals: The questions so far that had no answer.
        falling: Whether each such value is below the one before it, as in the Ladder.
        planned: The number of questions that was announced; none by default.

    >>> round(log_share(1, 0, values=101), 2), round(log_share(1000, 5, values=101), 1)
    (-1.49, -71.7)
    """
    t, f, r = count(question, "question"), failures, refusals
    anytime = math.exp(_BASEL - 2 * math.log(t))
    shared = anytime if planned is None else anytime / 2 + (0.5 / planned if t <= planned else 0.0)
    surprises = _choices(t - 1, f) + _choices(t - 1 - f, r)
    surprises += _choices(values, f) if falling else f * math.log(values)
    surprises += r * math.log(REASONS)
    weights = 2 * _BASEL - 2 * math.log(f + 1) - 2 * math.log(r + 1)
    return (math.log(shared) + weights - surprises) - 1e-9


def refusals_share(queries: int, refusals: int) -> float:
    """Return the share of β after r of k questions failed on the holdout, for methods with a theorem of their own.

    >>> refusals_share(100, 0), refusals_share(100, 1) < 1e-6
    (0.999, True)
    """
    if not refusals:
        return QUIET
    log_choices = _choices(max(queries, refusals), refusals) + refusals * math.log(REASONS)
    return (1 - QUIET) * math.exp(_BASEL - 2 * math.log(refusals) - log_choices) / _UP


def transcript_width(
    rows: int, question: int, failures: int, beta: float, *, values: int, planned: int | None = None
) -> float:
    """Return Hoeffding's width for the t-th question after so many failures.

    Args:
        rows: The rows of the holdout.
        question: t, counted from 1.
        failures: The answers so far that came from the holdout.
        beta: The probability of failure of all answers together.
        values: The number of values that an answer from the holdout can have.
        planned: The number of questions that was announced; none by default.

    >>> round(transcript_width(10_000, 1000, 0, 0.05, values=101), 3)
    0.031
    >>> round(transcript_width(10_000, 1000, 5, 0.05, values=101, planned=1000), 3)
    0.059
    """
    share = log_share(question, failures, values=values, planned=planned)
    return math.sqrt((math.log(2 / failure(beta)) - share) / (2 * count(rows, "rows"))) * _UP


def _choices(n: int, k: int) -> float:
    """Return ln C(n, k), rounded up; refuse a history that cannot be."""
    if not 0 <= k <= n:
        raise ParameterError("There are more failures than answers.", found=f"{k} of {n}", fix=Fix("failures", 0))
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + 1e-9
