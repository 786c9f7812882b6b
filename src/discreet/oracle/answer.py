"""Define the answer of an oracle: a number with its interval, its cost, and what the oracle has spent so far."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.errors import NotForRelease
from discreet.oracle import render
from discreet.oracle.pricing import FINE

if TYPE_CHECKING:
    from discreet.query.question import Term

HOW = {
    "checked": "from the hypothesis, which passed the threshold test",
    "alarm": "from the threshold test, which found the hypothesis wrong and measured by how much",
    "paid": "measured with noise of its own",
    "measured": "from a marginal that was measured for this question",
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

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return {"value": self.value, "low": self.low, "high": self.high, "how": self.how, "cost": str(self.cost)}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Part:
        """Return the part that `as_json` wrote."""
        return cls(**{**record, "cost": Fraction(record["cost"])})


@dataclass(frozen=True)
class OracleAnswer:
    """One answer: value and interval, its cost, and what the oracle has spent of its budget so far.

    `low` and `high` enclose the true value with probability `confidence`, whatever was asked before and however
    this question was chosen. An answer that was not checked has no interval.
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

    def expect_release(self, doing: str) -> None:
        """Refuse an action if this answer was made from test bits. `doing` names the action."""
        if self.test_bits:
            raise NotForRelease(
                f"This answer was made from test bits, so {doing} is not allowed.",
                fix="Ask without test bits, outside of noise.deterministic(…).",
            )

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return f"OracleAnswer({self.question[:60]!r}, {render.number(self)}, {render.price(self)})"

    def _repr_html_(self) -> str:
        return render.answer_page(self)

    def __str__(self) -> str:
        self.expect_release("showing it")
        sure = f"{_short(self.low)} to {_short(self.high)} with {float(self.confidence):.4g}"
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


def _short(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"
