"""Answer questions from a synthetic table, with intervals from its measurements.

A question is a linear query: weights in [0, 1] on the bins of its columns. The value is the model's. The interval
holds the true value (that of the sealed rows) with the stated confidence, and rests on measurements only:

* if the columns were measured together, the noisy sum itself, ± the noise on it;
* if three columns that contain them were scored, |q(D) − q(E)| ≤ (‖D − E‖₁ + ||D| − |E||)/2, where E is the table
  of these three columns in the model at that time, whose noisy distance is known: this covers the error of the
  model as well as noise;
* both, where there are both. If there is neither, it is from 0 to all rows, and `how` is "unknown".

**For questions chosen beforehand.** Noise is drawn once, so an interval holds with its confidence for a question
that does not depend on the noise. A question chosen after looking, such as one about the densest bin, selects the
noise too, and its interval holds less often. An oracle promises its intervals for such questions too
(docs/theory/oracle.md).

Three numbers can be further off than allowed for: the number of rows, the noisy sum and the distance. Each has a
third of alpha.

Of a bin that the question cuts, any part may meet the condition, from none to all; the interval allows for both.
`typical` is the expected error if the assumptions of the shrinkage hold: it is not a bound.

    {"schema": "discreet synthetic answer 1", "question": …, "estimate": {…}, "typical": 12.5, "how": "measured",
     "receipt": {"spent": {"exact": "0", "value": 0.0}, …}, "label": {…}}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import QuestionRefused
from discreet.mechanisms import tails
from discreet.oracle.linear_query import MOST_LEVELS
from discreet.rational import Rational
from discreet.release import serialize
from discreet.release.estimate import Estimate
from discreet.release.label import Label
from discreet.release.receipt import Receipt
from discreet.release.released import Guarded, expect_schema
from discreet.synth.marginals.domain import Columns, Floats, onto
from discreet.synth.structural_zeros import understood

if TYPE_CHECKING:
    from discreet.query.bins import Axis
    from discreet.query.question import Term
    from discreet.synth.synthetic import Synthetic

SCHEMA = "discreet synthetic answer 1"
"""The version of the JSON of an answer: the only one that is written and read."""

PRODUCT = "an answer of a synthetic table"

HOW = {
    "measured": "the columns were measured together: it covers noise",
    "scored": "the distance of the model was measured: it covers noise and the error of the model",
    "unknown": "the columns were not measured together: it is from 0 to the number of rows",
}
"""The basis of an interval."""


@dataclass(frozen=True)
class SyntheticAnswer(Guarded):
    """A number from a synthetic table, with its interval and the basis of the interval (a key of HOW).

    The interval holds for a question that was chosen before looking at the table. The label is that of the table,
    with its guarantee. The answer itself is post-processing, so its receipt is free.
    """

    question: str
    value: float
    low: float
    high: float
    typical: float
    confidence: Fraction
    how: str
    test_bits: bool = False
    label: Label = field(kw_only=True, repr=False, compare=False)

    @property
    def receipt(self) -> Receipt:
        """Nothing was charged for the answer; the accounts are those of the table."""
        return Receipt.free_of(self.label.receipt)

    @property
    def estimate(self) -> Estimate:
        """The number with its interval."""
        return Estimate(
            self.question,
            [self.value],
            [self.low],
            [self.high],
            note=HOW[self.how],
            test_bits=self.test_bits,
            confidence=self.confidence,
            basis="noise and model",
        )

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads. It says if it was made from test bits."""
        return {
            "schema": SCHEMA,
            "question": self.question,
            "estimate": serialize.written_estimate(self.estimate),
            "typical": self.typical,
            "how": self.how,
            "receipt": self.receipt.in_numbers(),
            "label": serialize.written_label(self.label),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> SyntheticAnswer:
        """Return the answer that `to_json` wrote."""
        expect_schema(record, SCHEMA)
        with serialize.reading("answer of a synthetic table"):
            found = serialize.read_estimate(record["estimate"])
            value, low, high = (serialize.of_type(float, end) for end in (found.value, *found.interval))
            how = serialize.of_type(str, record["how"])
            if how not in HOW:
                raise ValueError(f"{how!r:.60} is not the basis of an interval")
            return cls(
                question=serialize.of_type(str, record["question"]),
                value=value,
                low=low,
                high=high,
                typical=float(serialize.of_type((int, float), record["typical"])),
                confidence=found.confidence,
                how=how,
                test_bits=found.test_bits,
                label=serialize.read_label(serialize.of_type(dict, record["label"])),
            )

    @property
    def error(self) -> float:
        """The margin of error: half of the interval's length."""
        return (self.high - self.low) / 2

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the interval."""
        return self.low, self.high

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        sure = f"{float(self.confidence):.4g}"
        return f"{_short(self.value)} ({_short(self.low)} to {_short(self.high)} with {sure}: {HOW[self.how]})"


@dataclass(frozen=True)
class _Ends:
    value: float
    low: float
    high: float
    typical: float
    how: str


def answer(table: Synthetic, question: Any, confidence: Rational) -> SyntheticAnswer:
    """Return the answer to a question about a synthetic table."""
    asked = understood(question, table.axes, table.metadata)
    alpha = tails.alpha(confidence)
    query = asked.count
    parts = 1 if asked.total is None else 2
    counted = _linear(table, query.columns, query.weights, *_cut(query.weights), alpha / parts)
    text = query.text.removeprefix("count: ")
    released: dict[str, Any] = {
        "test_bits": table.test_bits,
        "label": replace(table.label, product=PRODUCT),
    }
    if asked.total is None or asked.term is None:
        return SyntheticAnswer(text, *_numbers(counted), 1 - alpha, counted.how, **released)
    least, most = _rounded(table, asked.total.columns, query.columns, query.weights, asked.total.target or "")
    summed = _linear(table, asked.total.columns, asked.total.weights, least, most, alpha / parts)
    found = (_sum if asked.kind == "sum" else _mean)(counted, summed, asked.term)
    how = max(counted.how, summed.how, key=list(HOW).index)
    return SyntheticAnswer(text, *found, 1 - alpha, how, **released)


def _cut(weights: Floats) -> tuple[Floats, Floats]:
    """Return the least and the largest weights: of a bin that is cut, nothing and all."""
    return np.floor(weights), np.ceil(weights)


def _rounded(
    table: Synthetic, columns: Columns, inside: Columns, weights: Floats, target: str
) -> tuple[Floats, Floats]:
    """Return the least and the most that a bin can add to the sum of a column, as a share of its range."""
    place = next(i for i, axis in enumerate(table.axes) if axis.sealed == target)
    axis = table.axes[place]
    if axis.levels > MOST_LEVELS:
        raise QuestionRefused(
            f"Column {axis.name} has too many levels to be added up here; the limit is {MOST_LEVELS:,}.",
            found=f"{axis.levels:,}",
            fix="Add up the synthetic rows instead.",
        )
    ends = [_laid(end, (place,), columns) for end in _shares(axis)]
    selected = [_laid(end, inside, columns) for end in _cut(weights)]
    shape = table.domain.shape(columns)
    low, high = (np.broadcast_to(part * end, shape) for part, end in zip(selected, ends, strict=True))
    return np.asarray(low), np.asarray(high)


def _shares(axis: Axis) -> tuple[Floats, Floats]:
    """Return where every bin begins and ends, as a share of the range. Missing values add nothing."""
    top = max(1, axis.levels - 1)
    ends = np.array([*axis.starts[1:], axis.levels]) - 1
    none = np.zeros(int(axis.nullable))
    return np.r_[np.array(axis.starts) / top, none], np.r_[ends / top, none]


def _laid(values: Floats, columns: Columns, wanted: Columns) -> Floats:
    sizes = dict(zip(columns, values.shape, strict=True))
    return values.reshape([sizes.get(column, 1) for column in wanted])


def _linear(
    table: Synthetic, columns: Columns, weights: Floats, least: Floats, most: Floats, alpha: Fraction
) -> _Ends:
    """Return the value of a linear query, and its interval for weights between the least and the most."""
    model = table.model
    value = float((weights * model.marginal(columns)).sum())
    typical = math.sqrt(float(np.square(weights * model.deviation(columns)).sum()))
    known = model.evidence.total()
    rows, off = float(known.values), _quantile(alpha / 3) * math.sqrt(known.variance)
    low, high, how = 0.0, max(rows + off, 0.0), "unknown"
    intervals = {"measured": _measured(table, columns, least, most, alpha / 3)}
    intervals["scored"] = _scored(table, columns, least, most, alpha / 3, (rows - off, rows + off))
    for name, ends in intervals.items():
        if ends is not None:
            low, high, how = max(low, ends[0]), min(high, ends[1]), name if how == "unknown" else how
    high = max(high, low)
    return _Ends(min(max(value, low), high), low, high, typical, how)


def _measured(
    table: Synthetic, columns: Columns, least: Floats, most: Floats, alpha: Fraction
) -> tuple[float, float] | None:
    """Return the interval from the most precise measurement that contains the columns; None if there is none."""
    best: tuple[float, float, float] | None = None
    for m in table.measurements:
        if not set(columns) <= set(m.columns):
            continue
        ends = [np.broadcast_to(_laid(end, columns, m.columns), m.values.shape) for end in (least, most)]
        sums = [float((end * m.values).sum()) for end in ends]
        deviations = [math.sqrt(float((np.square(end) * m.variances).sum())) for end in ends]
        if best is None or sum(deviations) < best[0]:
            quantile = _quantile(alpha)
            best = (sum(deviations), sums[0] - quantile * deviations[0], sums[1] + quantile * deviations[1])
    return None if best is None else best[1:]


def _scored(
    table: Synthetic, columns: Columns, least: Floats, most: Floats, alpha: Fraction, rows: tuple[float, float]
) -> tuple[float, float] | None:
    """Return the interval from the smallest scored distance of the model over columns that contain these.

    `rows` is the interval of the number of rows.
    """
    found = [s for s in table.scores.get("triples", ()) if set(columns) <= set(s.columns)]
    if not found:
        return None
    nearest = min(found, key=lambda s: s.value)
    # It is the smallest of several noisy distances, so alpha is shared among all of them.
    distance = max(nearest.value, 0.0) + _quantile(alpha / len(found)) * nearest.deviation
    predicted = table.scored(nearest.columns)
    size = float(predicted.sum())
    margin = (distance + max(abs(end - size) for end in rows)) / 2
    inside = onto(predicted, nearest.columns, columns)
    return float((least * inside).sum()) - margin, float((most * inside).sum()) + margin


def _numbers(ends: _Ends) -> tuple[float, float, float, float]:
    return ends.value, ends.low, ends.high, ends.typical


def _sum(counted: _Ends, summed: _Ends, term: Term) -> tuple[float, float, float, float]:
    least, span = float(term.least), float(term.most - term.least)
    edges = sorted((least * counted.low, least * counted.high))
    value = least * counted.value + span * summed.value
    typical = math.hypot(least * counted.typical, span * summed.typical)
    return value, edges[0] + span * summed.low, edges[1] + span * summed.high, typical


def _mean(counted: _Ends, summed: _Ends, term: Term) -> tuple[float, float, float, float]:
    least, span = float(term.least), float(term.most - term.least)
    low = summed.low / counted.high if counted.high > 0 else 0.0
    high = summed.high / counted.low if counted.low > 0 else 1.0
    low, high = min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)
    share = summed.value / counted.value if counted.value > 0 else 0.5
    share = min(max(share, low), max(high, low))
    typical = math.hypot(summed.typical, share * counted.typical) / max(counted.value, 1.0)
    return least + span * share, least + span * low, least + span * max(high, low), span * typical


def _quantile(alpha: Fraction) -> float:
    return -NormalDist().inv_cdf(float(alpha) / 2)  # 1 − alpha/2 would be 1 where alpha is tiny


def _short(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"
