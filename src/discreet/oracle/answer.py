"""Define the answer of an oracle: a number with its interval, its cost, and what the oracle has spent so far.

{"schema": "discreet oracle answer 1", "question": …, "estimate": {…}, "how": ["checked"], "promise": "every",
 "free": true, "cost": {"exact": "0", "value": 0.0}, "spent": …, "total": …, "receipt": {…}, "label": {…}}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.oracle import render
from discreet.oracle.pricing import FINE
from discreet.release import serialize
from discreet.release.estimate import Estimate
from discreet.release.label import Label
from discreet.release.receipt import Receipt, exact
from discreet.release.released import Guarded, expect_schema

if TYPE_CHECKING:
    from discreet.query.question import Term

SCHEMA = "discreet oracle answer 1"
"""The version of the JSON of an answer: the only one that is written and read."""

HOW = {
    "checked": "from the hypothesis, which passed the threshold test",
    "alarm": "from the threshold test, which found the hypothesis wrong and measured by how much",
    "paid": "measured with noise of its own",
    "measured": "from a marginal that was measured for this question",
    "span": "from what was measured before the first question",
    "certified": "from a table whose largest error was measured",
    "unchecked": "from the hypothesis, not checked against the data",
}
"""The source of the number in an answer."""


@dataclass(frozen=True)
class Part:
    """The sum of one query with its interval, in units of 1/FINE rows; its cost, and its source (a key of HOW)."""

    value: int
    low: int
    high: int
    how: str
    cost: Fraction = Fraction(0)

    @classmethod
    def around(cls, value: int, margin: int, how: str, cost: Fraction = Fraction(0)) -> Part:
        """Return a part with its interval. Weights are not negative, so neither are sums.

        >>> part = Part.around(3, 5, "paid")
        >>> part.low, part.high
        (0, 8)
        """
        return cls(max(value, 0), max(value - margin, 0), max(value + margin, 0), how, cost)

    def wider(self, by: int) -> Part:
        """Return the part with a wider interval.

        >>> Part(5, 3, 7, "paid").wider(4)
        Part(value=5, low=0, high=11, how='paid', cost=Fraction(0, 1))
        """
        return replace(self, low=max(self.low - by, 0), high=self.high + by)

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return {"value": self.value, "low": self.low, "high": self.high, "how": self.how, "cost": str(self.cost)}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Part:
        """Return the part that `as_json` wrote."""
        return cls(**{**record, "cost": Fraction(record["cost"])})


@dataclass(frozen=True)
class OracleAnswer(Guarded):
    """One answer: value and interval, its cost, and what the oracle has spent of its budget so far.

    `low` and `high` enclose the true value with probability `confidence`. If `promise` is "every", that holds
    whatever was asked before and however this question was chosen; if it is "each", for a question that was chosen
    without looking at free answers of this oracle. An answer that was not checked has no interval.

    `cost`, `spent` and `total` are ρ of the oracle. `receipt` and `label` are those of the whole oracle, which was
    charged once, when it was made: asking charges the vault nothing.
    """

    question: str
    value: float
    low: float
    high: float
    confidence: Fraction
    how: tuple[str, ...]
    cost: Fraction
    spent: Fraction
    total: Fraction
    test_bits: bool = False
    promise: str = "every"
    label: Label = field(kw_only=True, repr=False, compare=False)

    @property
    def receipt(self) -> Receipt:
        """The charge of the whole oracle, and what was left of the vault when the oracle was opened."""
        return self.label.receipt

    @property
    def estimate(self) -> Estimate:
        """The number with its interval."""
        return Estimate(
            self.question,
            [self.value],
            [self.low],
            [self.high],
            test_bits=self.test_bits,
            confidence=self.confidence,
            basis="noise" if self.checked else "unchecked",
        )

    @property
    def free(self) -> bool:
        """Whether the answer cost nothing."""
        return self.cost == 0

    @property
    def checked(self) -> bool:
        """Whether the answer has an interval."""
        return "unchecked" not in self.how

    @property
    def error(self) -> float:
        """The margin of error: half of the interval's length."""
        return (self.high - self.low) / 2

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads. It says if it was made from test bits."""
        return {
            "schema": SCHEMA,
            "question": self.question,
            "estimate": serialize.written_estimate(self.estimate),
            "how": list(self.how),
            "promise": self.promise,
            "checked": self.checked,
            "free": self.free,
            "cost": exact(self.cost),
            "spent": exact(self.spent),
            "total": exact(self.total),
            "receipt": self.receipt.in_numbers(),
            "label": serialize.written_label(self.label),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> OracleAnswer:
        """Return the answer that `to_json` wrote."""
        expect_schema(record, SCHEMA)
        with serialize.reading("answer of an oracle"):
            found = serialize.read_estimate(record["estimate"])
            value, low, high = (serialize.of_type(float, end) for end in (found.value, *found.interval))
            how = tuple(serialize.of_type(str, source) for source in serialize.list_in(record["how"]))
            if not how or not set(how) <= set(HOW):
                raise ValueError(f"{how!r:.60} does not name sources")
            return cls(
                question=serialize.of_type(str, record["question"]),
                value=value,
                low=low,
                high=high,
                confidence=found.confidence,
                how=how,
                cost=serialize.fraction(record["cost"]["exact"]),
                spent=serialize.fraction(record["spent"]["exact"]),
                total=serialize.fraction(record["total"]["exact"]),
                test_bits=found.test_bits,
                promise=_promise(record.get("promise", "every")),
                label=serialize.read_label(serialize.of_type(dict, record["label"])),
            )

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return f"OracleAnswer({self.question[:60]!r}, {render.number(self)}, {render.price(self)})"

    def _repr_html_(self) -> str:
        return render.answer_page(self)

    def __str__(self) -> str:
        self.expect_release("showing it")
        sure = (
            f"{_short(self.low)} to {_short(self.high)} with {float(self.confidence):.4g}, promise {self.promise}"
        )
        interval = sure if self.checked else "not checked"
        rest = render.used(self.spent, self.total)
        return f"{_short(self.value)} ({interval}), {render.price(self)}; {rest}"


def count(part: Part) -> tuple[float, float, float]:
    """Return the value and the interval of a count, in rows.

    >>> count(Part(3 * FINE, 2 * FINE, 5 * FINE, "paid"))
    (3.0, 2.0, 5.0)
    """
    if part.how == "unchecked":
        return part.value / FINE, -math.inf, math.inf
    return part.value / FINE, part.low / FINE, part.high / FINE


def total(counted: Part, summed: Part, slack: Fraction, term: Term) -> tuple[float, float, float]:
    """Return the value and the interval of the sum of a column: least·rows + (most − least)·(sum of shares)."""
    rows, share = count(counted), _share(counted, summed, slack)
    least, span = float(term.least), float(term.most - term.least)  # either may be negative
    if "unchecked" in (counted.how, summed.how):
        return least * rows[0] + span * share[0], -math.inf, math.inf
    ends, parts = [least * r for r in rows[1:]], [span * s for s in share[1:]]
    return least * rows[0] + span * share[0], min(ends) + min(parts), max(ends) + max(parts)


def mean(counted: Part, summed: Part, slack: Fraction, term: Term) -> tuple[float, float, float]:
    """Return the value and the interval of the average of a column, which always lies within its bounds."""
    rows, share = count(counted), _share(counted, summed, slack)

    def part(number: float, whole: float, otherwise: float) -> float:
        return max(0.0, min(1.0, number / whole)) if whole > 0 else otherwise

    unchecked = "unchecked" in (counted.how, summed.how)
    low = 0.0 if unchecked else part(share[1], rows[2], 0.0)
    high = 1.0 if unchecked else part(share[2], rows[1], 1.0)
    value = min(max(part(share[0], rows[0], 0.5), low), high)
    least, span = float(term.least), float(term.most - term.least)
    ends = sorted((least + span * low, least + span * high))
    return least + span * value, ends[0], ends[1]


def _share(counted: Part, summed: Part, slack: Fraction) -> tuple[float, float, float]:
    """Return the sum of shares, its interval widened by the rounding to grains: `slack` for each counted row."""
    value, low, high = count(summed)
    if "unchecked" in (counted.how, summed.how):
        return value, -math.inf, math.inf
    rounding = float(slack) * max(count(counted)[2], 0.0)
    return value, low - rounding, high + rounding


def _promise(written: object) -> str:
    if written not in ("each", "every"):
        raise ValueError(f"{written!r:.60} is not a promise")
    return str(written)


def _short(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"
