"""A plan in words: what is measured, with which noise, and how wide the answers will be.

The half-widths follow from the plan alone. Where one depends on the data (an average is off by a noise divided by
how many rows there are) it is told for a thousand rows, or as a rank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.mechanisms import Laplace
from discreet.query.plan.error_bounds import Noise, radii, radius
from discreet.query.plan.estimators import Linear, Mean, Spread
from discreet.query.plan.group_index import Cells
from discreet.query.plan.linear_queries import LinearQuery
from discreet.query.plan.partition_selection import Selection
from discreet.query.plan.quantiles import Ranking
from discreet.query.question import Aggregate
from discreet.render.numbers import number
from discreet.schema.metadata import UNIT

_ROWS = 1000


@dataclass(frozen=True)
class Expected:
    """How wide one number of the answer will be: a half-width, or None where it depends on the data."""

    name: str
    half_width: float | None
    words: str


def expected(
    formula: Linear | Mean | Spread, noises: Mapping[LinearQuery, Noise], confidence: Fraction
) -> Expected:
    """Return what is known about the width of a number beforehand."""
    name, sure = formula.aggregate.name, f"{float(100 * confidence):.6g} %"
    if isinstance(formula, Linear):
        width = radius([(c, noises[measure]) for c, measure in formula.parts], 1 - confidence)
        return Expected(name, width, f"{name}: ± {number(width)} at {sure}{_rounding(formula.measures)}.")
    middle = formula if isinstance(formula, Mean) else formula.mean
    if middle.deviation is None:
        return Expected(name, 0.0, f"{name}: known, for there is one value only.")
    reach = radii([noises[measure] for measure in formula.measures], 1 - confidence)
    count, away = reach[0] / (_ROWS * UNIT), reach[1] * float(middle.deviation.unit) / (_ROWS * UNIT)
    half = float(middle.most - middle.least) / 2
    # Half-way between the middle and the end of the bounds, as in discreet.query.plan.estimators.
    about = away + count * half / 2
    if isinstance(formula, Spread) and formula.square is not None:
        unit = float(middle.deviation.unit) ** 2
        squares = formula.square.measure
        second = 0.0 if squares is None else reach[2] * float(squares.unit) * unit / (_ROWS * UNIT)
        about = second + half * away + count * half**2 / 2
        if formula.aggregate.kind == "stddev":
            about = about / half  # the derivative of the root at half of the largest deviation
    ratio = "" if count < 1 else " (more than there is to say about so few)"
    tail = f"; with more rows less in proportion{_rounding(formula.measures)}"
    return Expected(
        name, None, f"{name}: about ± {number(about, 3)} in a group of {_ROWS:,} rows{ratio}, at {sure}{tail}."
    )


def expected_rank(aggregate: Aggregate, ranking: Ranking, confidence: Fraction) -> Expected:
    """Return what is known about the width of a quantile beforehand: how far off in rank its ends are."""
    cell = "" if not ranking.shift else f", told to steps of {number(ranking.term.scale * 2**ranking.shift, 6)}"
    return Expected(
        aggregate.name,
        None,
        f"{aggregate.name}: between values whose rank is off by at most {number(ranking.rank_error)} rows, "
        f"at {float(100 * confidence):.6g} %{cell}.",
    )


def measured(measure: LinearQuery, noise: Noise, needing: Sequence[str]) -> str:
    """Return one line about a measure, its noise, and the numbers that need it.

    >>> from discreet.query.plan.linear_queries import rows
    >>> measured(rows(), Laplace(scale=40960, sensitivity=4096), ["count(*)"])
    'For count(*): the rows of every group, with discrete Laplace noise of scale 10.'
    """
    unit = measure.unit / UNIT
    if isinstance(noise, Laplace):
        law = f"discrete Laplace noise of scale {number(noise.scale * abs(unit))}"
    else:
        deviation = float(noise.variance) ** 0.5 * float(abs(unit))
        law = f"discrete Gaussian noise of standard deviation {number(deviation)}"
    return f"For {', '.join(needing)}: the {measure.words} of every group, with {law}."


def ranked(ranking: Ranking) -> str:
    """Return one line about a quantile."""
    law = type(ranking.value).__name__
    name = {"PermuteAndFlip": "permute-and-flip"}.get(law, "the exponential mechanism")
    rank = float(ranking.probability)
    return f"The {rank:g} quantile of every group among {ranking.cells:,} candidates, by {name}."


def texts(selection: Selection | None, cells: Cells) -> list[str]:
    """Return how texts are found, if they are."""
    if selection is None:
        return []
    names = ", ".join(key.name for key in cells.open)
    return [
        f"The values of {names} that about {number(selection.needs)} persons or more share are found first, with "
        f"discrete Gaussian noise at δ = {float(selection.delta):.3g}; rarer ones are left out."
    ]


def _rounding(measures: tuple[LinearQuery, ...]) -> str:
    slack = max((measure.slack for measure in measures), default=Fraction(0))
    return f", each value rounded to the nearest {number(2 * slack, 6)} first" if slack else ""
