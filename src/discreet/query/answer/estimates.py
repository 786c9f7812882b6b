"""Estimate numbers with intervals from noisy integers.

Each interval holds the weighted truth (the result of the sealed rows without noise) with the stated confidence,
for each number by itself. Let the noises of one number stay within their margins, which they do except with
probability alpha (discreet.query.plan.error_bounds). Then N, A and Q lie in their intervals, and interval
arithmetic gives the interval of the number:

* counts, sums: linear, ± the margin. They are not clamped: a count below zero keeps sums over groups unbiased.
* avg: A/N. It lies within the declared bounds. If N may be 0, the interval is everything that A leaves possible,
  and the value is its middle.
* variance: E[f²] − (E[f])², within 0 and the square of half the range. stddev: its root, which is increasing.
* covariance: E[f·g] − E[f]·E[g], within ± a quarter of the product of both ranges. correlation: it, divided by
both
  standard deviations of the same rows, within ±1. All noises of one number stay within their margins together.
* rounding: coarsening changed each value by at most e, hence an average by e and a standard deviation by e: the
  norm of x − E[x] differs from that of its rounding by at most the norm of the difference. Sums are sums of
  rounded values, and the plan states the rounding.

If the noises are within their margins, no interval is empty. If one is empty, everything possible is returned. All
functions are vectorised over groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.mechanisms.exact import Integers, with_mark
from discreet.query.answer.interval_arithmetic import Floats, Interval
from discreet.query.plan import estimators
from discreet.query.plan.error_bounds import Noise, joint_margins, margin, margin_of_sum
from discreet.query.plan.estimators import Joint, Linear, Mean, Spread
from discreet.query.plan.linear_queries import LinearQuery, Square
from discreet.query.plan.quantiles import Ranking
from discreet.query.question import Aggregate, Question
from discreet.release import estimate as released

Noisy = Mapping[LinearQuery, Integers]
Noises = Mapping[LinearQuery, Noise]


@dataclass(frozen=True)
class Estimate:
    """One number per group: the value, and an interval that holds the truth with the plan's confidence."""

    aggregate: Aggregate = field(repr=False)
    value: Floats
    low: Floats
    high: Floats

    @property
    def name(self) -> str:
        """The name that the question gives it."""
        return self.aggregate.name


@dataclass(frozen=True)
class Estimates:
    """The answer to a question: the keys of every group, and the numbers, each array in the order of the keys."""

    keys: list[tuple[Any, ...]]
    columns: tuple[Estimate, ...]
    confidence: Fraction

    def __getitem__(self, name: str) -> Estimate:
        return next(column for column in self.columns if column.name == name)


def linear(formula: Linear, noisy: Noisy, noises: Noises, alpha: Fraction) -> Estimate:
    """Return a count or a sum, ± its margin.

    Args:
        formula: The formula of the number.
        noisy: The released integers of each linear query.
        noises: The mechanism that released them.
        alpha: 1 − confidence of the interval.
    """
    if len(formula.parts) == 1:
        ((coefficient, query),) = formula.parts
        interval = Interval.around(noisy[query], margin(noises[query], alpha)) * coefficient
        value: Floats = noisy[query].astype(np.float64) * float(coefficient)
        return Estimate(formula.aggregate, value, interval.low, interval.high)
    middle = [Interval.around(noisy[query], 0) * coefficient for coefficient, query in formula.parts]
    whole = sum(middle[1:], middle[0])
    wide = whole.widened(Fraction(margin_of_sum([(c, noises[query]) for c, query in formula.parts], alpha)))
    return Estimate(formula.aggregate, whole.middle, wide.low, wide.high)


def mean(formula: Mean, noisy: Noisy, noises: Noises, alpha: Fraction) -> Estimate:
    """Return an average with everything that its two noises leave possible.

    Args:
        formula: The formula of the number.
        noisy: The released integers of each linear query.
        noises: The mechanism that released them.
        alpha: 1 − confidence of the interval.
    """
    possible = Interval.between(formula.least, formula.most, noisy[formula.count].astype(np.float64))
    away = formula.deviation
    if away is None:
        return Estimate(formula.aggregate, possible.middle, possible.low, possible.high)
    count, numerator = _known((formula.count, away), noisy, noises, alpha)
    ratio = numerator.over(count, Interval.around(np.zeros_like(noisy[away]), away.bound))
    interval = (ratio * away.unit).plus(formula.centre).widened(away.slack).within(possible)
    ends = interval.or_else(possible)
    guess = _over(noisy[away], noisy[formula.count]) * float(away.unit) + float(formula.centre)
    value = np.where(count.low > 0, ends.clip(guess), ends.middle)
    return Estimate(formula.aggregate, value, ends.low, ends.high)


def spread(formula: Spread, noisy: Noisy, noises: Noises, alpha: Fraction) -> Estimate:
    """Return a variance or a standard deviation with everything that its three noises leave possible.

    Args:
        formula: The formula of the number.
        noisy: The released integers of each linear query.
        noises: The mechanism that released them.
        alpha: 1 − confidence of the interval.
    """
    inner, root = formula.mean, formula.aggregate.kind == "stddev"
    zero = np.zeros_like(noisy[inner.count])
    if inner.deviation is None or formula.square is None:
        nothing = zero.astype(np.float64)
        return Estimate(formula.aggregate, nothing, nothing, nothing)
    known = dict(zip(formula.queries, _known(formula.queries, noisy, noises, alpha), strict=True))
    ends, guess = _variance(inner, formula.square, known, noisy)
    value = np.where(known[inner.count].low > 0, ends.clip(guess), ends.middle)
    if root:
        widest = Interval.between(Fraction(0), (inner.most - inner.least) / 2, guess)
        ends = ends.root().within(widest)
        value = ends.clip(np.sqrt(np.maximum(value, 0.0)))
    return Estimate(formula.aggregate, value, ends.low, ends.high)


def joint(formula: Joint, noisy: Noisy, noises: Noises, alpha: Fraction) -> Estimate:
    """Return a covariance or a correlation with everything that its noises leave possible.

    Rounding. Let X and Y be the values, and X′, Y′ their coarsened ones, off by e_x and e_y at most. By Cauchy and
    Schwarz |cov(X, Y) − cov(X′, Y′)| ≤ sd(X − X′)·sd(Y) + sd(X′)·sd(Y − Y′) ≤ e_x·h_y + (h_x + e_x)·e_y, where h
    is half the range. The product is rounded as well, by its own slack.

    Args:
        formula: The formula of the number.
        noisy: The released integers of each linear query.
        noises: The mechanism that released them.
        alpha: 1 − confidence of the interval.
    """
    x, y, product = formula.x, formula.y, formula.product
    zero = np.zeros_like(noisy[x.count])
    if x.deviation is None or y.deviation is None or product is None:
        nothing = zero.astype(np.float64)
        return Estimate(formula.aggregate, nothing, nothing, nothing)
    known = dict(zip(formula.queries, _known(formula.queries, noisy, noises, alpha), strict=True))
    count = known[x.count]

    def mean(query: LinearQuery) -> tuple[Interval, Floats]:
        """The mean of a factor in its own values: the interval, and a guess."""
        ratio = known[query].over(count, Interval.around(zero, query.bound)) * query.unit
        return ratio, _over(noisy[query], noisy[x.count]) * float(query.unit)

    (first, guess_x), (second, guess_y), (both, guess) = (mean(q) for q in (x.deviation, y.deviation, product))
    half_x, half_y = ((part.most - part.least) / 2 for part in (x, y))
    slack = x.deviation.slack * half_y + (half_x + x.deviation.slack) * y.deviation.slack + product.slack
    largest = Interval.between(-half_x * half_y, half_x * half_y, guess)
    ends = (both - first.times(second)).widened(slack).within(largest).or_else(largest)
    guess = guess - guess_x * guess_y
    if formula.aggregate.kind == "correlation":
        spreads = [
            _variance(part, square, known, noisy) for part, square in zip((x, y), formula.squares, strict=True)
        ]
        (wide_x, about_x), (wide_y, about_y) = spreads
        possible = Interval.between(Fraction(-1), Fraction(1), guess)
        ends = ends.over(wide_x.root().times(wide_y.root()), possible)
        scale = np.sqrt(np.maximum(about_x * about_y, 0.0))
        guess = np.divide(guess, scale, out=np.zeros_like(guess), where=scale > 0)
    value = np.where(count.low > 0, ends.clip(guess), ends.middle)
    return Estimate(formula.aggregate, value, ends.low, ends.high)


def _variance(
    inner: Mean, square: Square, known: Mapping[LinearQuery, Interval], noisy: Noisy
) -> tuple[Interval, Floats]:
    """Return the variance of a term: everything that is possible, and a guess."""
    away, count = inner.deviation, known[inner.count]
    if away is None:
        raise TypeError("a term that does not vary has no variance to estimate")
    zero = np.zeros_like(noisy[inner.count])
    first = known[away].over(count, Interval.around(zero, away.bound))
    second = Interval.around(zero, 0)
    guess = -(_over(noisy[away], noisy[inner.count]) ** 2) + float(square.middle)
    if square.query is not None:
        second = known[square.query].over(count, Interval.around(zero, square.query.bound)) * square.query.unit
        guess = guess + _over(noisy[square.query], noisy[inner.count]) * float(square.query.unit)
    largest = Interval.between(Fraction(0), (inner.most - inner.least) ** 2 / 4, guess)
    variance = (second.plus(square.middle).widened(square.slack) - first.squared()) * away.unit**2
    return _rounded(variance, away.slack).within(largest).or_else(largest), guess * float(away.unit**2)


def ranked(aggregate: Aggregate, ranking: Ranking, chosen: Sequence[Integers]) -> Estimate:
    """Return a quantile from the cells selected for it and for the ends of its interval."""
    value, low, high = chosen
    first, last = ranking.codes(value, last=False), ranking.codes(value, last=True)
    codes = first + (last - first) // 2, ranking.codes(low, last=False), ranking.codes(high, last=True)
    numbers = [_values(ranking, code) for code in codes]
    ends = numbers[1:] if ranking.term.scale > 0 else numbers[:0:-1]
    return Estimate(aggregate, numbers[0], *ends)


def _known(queries: Sequence[LinearQuery], noisy: Noisy, noises: Noises, alpha: Fraction) -> list[Interval]:
    """Return intervals of the exact sums; all hold together except with probability alpha."""
    margins = joint_margins([noises[query] for query in queries], alpha)
    return [Interval.around(noisy[query], margin) for query, margin in zip(queries, margins, strict=True)]


def _over(numerator: Integers, count: Integers) -> Floats:
    """Return the ratio if the count is above 0; the result is arbitrary elsewhere."""
    return numerator / np.where(count > 0, count, 1)


def _rounded(variance: Interval, slack: Fraction) -> Interval:
    """Return the variance of values that differ by at most `slack` from those of the given variance."""
    return variance.root().widened(slack).above(0.0).squared() if slack else variance


def _values(ranking: Ranking, codes: NDArray[np.int64]) -> Floats:
    term = ranking.term
    found = np.array([float(term.offset + term.scale * int(code)) for code in codes], np.float64)
    return with_mark(found, of=codes)


def columns(
    question: Question, estimates: Estimates, rows: Sequence[int] | None = None
) -> tuple[dict[str, list[Any]], list[released.Estimate]]:
    """Return keys and aggregates of a release from estimates.

    Args:
        question: The question that was asked.
        estimates: Its answer.
        rows: The groups to keep, in this order; all of them by default.
    """
    shown = np.arange(len(estimates.keys)) if rows is None else np.asarray(rows, np.int64)
    chosen = estimates.keys if rows is None else [estimates.keys[row] for row in shown.tolist()]
    keys = {key.name: [row[place] for row in chosen] for place, key in enumerate(question.keys)}
    answers = [
        released.Estimate(
            name=estimate.name,
            values=estimate.value[shown],
            low=estimate.low[shown],
            high=estimate.high[shown],
            note=estimate.aggregate.note,
            kind=estimate.aggregate.kind,
            axis=axis_of(estimate.aggregate),
            bounds=estimators.possible(estimate.aggregate),
            test_bits=noise.is_test_noise(estimate.value) or None,
        )
        for estimate in estimates.columns
    ]
    return keys, answers


def axis_of(aggregate: Aggregate) -> str:
    """Return the axis of an aggregate: averages and quantiles of dates are dates, all else is a number."""
    kind = "number" if aggregate.term is None else aggregate.term.kind
    return kind if kind in released.AXES and aggregate.kind in ("avg", "quantile") else "number"
