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
    """The margin of one number of the answer; None if it depends on the data. `words` describes it in a line."""

    name: str
    margin: float | None
    words: str

    @property
    def half_width(self) -> float | None:
        """The same as `margin`."""
        return self.margin


def expected(
    formula: Linear | Mean | Spread, noises: Mapping[LinearQuery, Noise], confidence: Fraction
) -> Expected:
    """Return what is known in advance about the margin of a number."""
    name, sure = formula.aggregate.name, f"{float(100 * confidence):.6g} %"
    if isinstance(formula, Linear):
        margin = margin_of_sum([(c, noises[query]) for c, query in formula.parts], 1 - confidence)
        return Expected(name, margin, f"{name}: ± {number(margin)} at {sure}{_rounding(formula.queries)}.")
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


def expected_rank(aggregate: Aggregate, ranking: Ranking, confidence: Fraction) -> Expected:
    """Return what is known in advance about the interval of a quantile: the error of its ends in rank."""
    cell = "" if not ranking.shift else f", rounded to steps of {number(ranking.term.scale * 2**ranking.shift, 6)}"
    return Expected(
        aggregate.name,
        None,
        f"{aggregate.name}: between values whose rank has an error of at most {number(ranking.rank_error)} rows, "
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
    """Return one line about a quantile."""
    law = type(ranking.value).__name__
    name = {"PermuteAndFlip": "permute-and-flip"}.get(law, "the exponential mechanism")
    rank = float(ranking.probability)
    return f"The {rank:g} quantile of every group among {ranking.cells:,} candidates, by {name}."


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
