"""Explain a plan as text: what is measured, with which noise, and the margins of the answers.

The margins follow from the plan alone. If one depends on the data (the error of an average is noise divided by the
number of rows), it is given for a thousand rows, or as a rank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.mechanisms import Laplace
from discreet.query.plan.error_bounds import Noise, joint_margins, margin_of_sum
from discreet.query.plan.estimators import Joint, Linear, Mean, Rank, Spread
from discreet.query.plan.group_index import Cells
from discreet.query.plan.linear_queries import LinearQuery
from discreet.query.plan.partition_selection import Selection
from discreet.query.plan.quantiles import Ranking
from discreet.render.numbers import number
from discreet.schema.metadata import UNIT

_ROWS = 1000


@dataclass(frozen=True)
class Expected:
    """The margin of one number of the answer; None if it depends on the data. `words` describes it in a line."""

    name: str
    margin: float | None
    words: str


def expected(
    formula: Linear | Mean | Spread | Joint, noises: Mapping[LinearQuery, Noise], confidence: Fraction
) -> Expected:
    """Return what is known in advance about the margin of a number."""
    name, sure = formula.aggregate.name, f"{float(100 * confidence):.6g} %"
    if isinstance(formula, Linear):
        margin = margin_of_sum([(c, noises[query]) for c, query in formula.parts], 1 - confidence)
        return Expected(name, margin, f"{name}: ± {number(margin)} at {sure}{_rounding(formula.queries)}.")
    if isinstance(formula, Joint):
        return _expected_joint(formula, noises, confidence)
    middle = formula if isinstance(formula, Mean) else formula.mean
    if middle.deviation is None:
        return Expected(name, 0.0, f"{name}: exact, because only one value is possible.")
    margins = joint_margins([noises[query] for query in formula.queries], 1 - confidence)
    count, away = margins[0] / (_ROWS * UNIT), margins[1] * float(middle.deviation.unit) / (_ROWS * UNIT)
    half = float(middle.most - middle.least) / 2
    # The guess is half-way between the middle and the end of the bounds, as in discreet.query.plan.estimators.
    about = away + count * half / 2
    if isinstance(formula, Spread) and formula.square is not None:
        unit = float(middle.deviation.unit) ** 2
        squares = formula.square.query
        second = 0.0 if squares is None else margins[2] * float(squares.unit) * unit / (_ROWS * UNIT)
        about = second + half * away + count * half**2 / 2
        if formula.aggregate.kind == "stddev":
            about = about / half  # d√v = dv/(2·√v), at √v of half the largest deviation
    ratio = "" if count < 1 else " (too few rows for this noise)"
    tail = f"; with more rows less in proportion{_rounding(formula.queries)}"
    return Expected(
        name, None, f"{name}: about ± {number(about, 3)} in a group of {_ROWS:,} rows{ratio}, at {sure}{tail}."
    )


def _expected_joint(formula: Joint, noises: Mapping[LinearQuery, Noise], confidence: Fraction) -> Expected:
    name, sure = formula.aggregate.name, f"{float(100 * confidence):.6g} %"
    if formula.product is None:
        return Expected(name, 0.0, f"{name}: exact, because one of the values is always the same.")
    margins = dict(
        zip(formula.queries, joint_margins([noises[q] for q in formula.queries], 1 - confidence), strict=True)
    )
    means = [mean for mean in (formula.x, formula.y) if mean.deviation is not None]
    halves = [float(mean.most - mean.least) / 2 for mean in means]
    about = margins[formula.product] * float(abs(formula.product.unit))
    for mean, half in zip(means, reversed(halves), strict=True):  # with means half-way to an end, as above
        if mean.deviation is not None:
            about += margins[mean.deviation] * float(abs(mean.deviation.unit)) * half / 2
    about /= _ROWS * UNIT
    if formula.aggregate.kind == "correlation":
        about /= halves[0] * halves[1] / 4  # with deviations of half their bounds
    return Expected(
        name,
        None,
        f"{name}: about ± {number(about, 3)} in a group of {_ROWS:,} rows, at {sure}; with more rows less.",
    )


def expected_rank(formula: Rank, ranking: Ranking, confidence: Fraction) -> Expected:
    """Return what is known in advance about the interval of a quantile: the error of its ends in rank."""
    name, place = formula.aggregate.name, ranking.place(formula.probability)
    error = ranking.rank_error(ranking.probabilities[place])
    cell = "" if not ranking.shift else f", rounded to steps of {number(ranking.term.scale * 2**ranking.shift, 6)}"
    return Expected(
        name,
        None,
        f"{name}: between values whose rank is off by at most about {number(error)} rows, "
        f"at {float(100 * confidence):.6g} %{cell}.",
    )


def query(measured: LinearQuery, noise: Noise, needing: Sequence[str]) -> str:
    """Return one line about a linear query, its noise, and the numbers that need it.

    >>> from discreet.query.plan.linear_queries import rows
    >>> query(rows(), Laplace(scale=40960, sensitivity=4096), ["count(*)"])
    'For count(*): the rows of every group, with discrete Laplace noise of scale 10.'
    """
    unit = measured.unit / UNIT
    if isinstance(noise, Laplace):
        law = f"discrete Laplace noise of scale {number(noise.scale * abs(unit))}"
    else:
        deviation = float(noise.variance) ** 0.5 * float(abs(unit))
        law = f"discrete Gaussian noise of standard deviation {number(deviation)}"
    return f"For {', '.join(needing)}: the {measured.description} of every group, with {law}."


def quantile(ranking: Ranking) -> str:
    """Return one line about the quantiles of a term."""
    law = type(ranking.values[0]).__name__
    name = {"PermuteAndFlip": "permute-and-flip"}.get(law, "the exponential mechanism")
    several = "" if len(ranking.probabilities) == 1 else "s"
    return (
        f"The {ranks(ranking)} quantile{several} of every group among {ranking.cells:,} candidates, by {name}; "
        f"{'their intervals' if several else 'its interval'} from noisy sums of {ranking.tree.leaves:,} bins."
    )


def ranks(ranking: Ranking) -> str:
    """Return the ranks of quantiles as text, such as "0.25, 0.5 and 0.75"."""
    shown = [f"{float(p if ranking.term.scale > 0 else 1 - p):g}" for p in ranking.probabilities]
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def selection(chosen: Selection | None, cells: Cells) -> list[str]:
    """Return one line about partition selection, if there is any."""
    if chosen is None:
        return []
    names = ", ".join(key.name for key in cells.open)
    return [
        f"Partition selection keeps the values of {names} that about {number(chosen.needs)} persons or more "
        f"share, with discrete Gaussian noise at δ = {float(chosen.delta):.3g}; rarer values are left out."
    ]


def _rounding(measures: tuple[LinearQuery, ...]) -> str:
    slack = max((measure.slack for measure in measures), default=Fraction(0))
    return f", each value rounded to the nearest {number(2 * slack, 6)} first" if slack else ""
