"""Define the answer of a holdout: a score with an interval that stays valid, and where the score came from.

{"schema": "discreet holdout answer 1", "question": …, "estimate": {…}, "source": "training", "number": 3,
 "method": "guess_and_check", "private": false, "receipt": {…}, "label": {…}}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet.release import serialize
from discreet.release.estimate import Estimate
from discreet.release.label import Label
from discreet.release.receipt import Receipt
from discreet.release.released import TEST_BITS, Guarded, expect_schema
from discreet.render import numbers
from discreet.render.html import fragment, framed
from discreet.validity.label import HoldoutLabel, restored

SCHEMA = "discreet holdout answer 1"
"""The version of the JSON of an answer."""

SOURCES = {
    "training": "the value that was given, which the holdout confirms",
    "holdout": "the holdout itself",
}
"""Where the number of an answer comes from."""


@dataclass(frozen=True)
class HoldoutAnswer(Guarded):
    """One answer. With probability `confidence` the intervals of *all* answers of its holdout hold together.

    Args:
        question: What was asked.
        value: The score.
        low: The lower end of the interval for the score on the whole population.
        high: Its upper end.
        source: "training" or "holdout".
        number: Which answer of the holdout it is, from 1.
        method: The method of the holdout.
        confidence: The probability that all intervals so far hold.
        note: What a reader should know of this answer; nothing by default.
        test_bits: Whether the noise was predictable.
        label: Whom the answer protects, and by what means.
    """

    question: str
    value: float
    low: float
    high: float
    source: str
    number: int
    method: str
    confidence: Fraction
    note: str = ""
    test_bits: bool = False
    label: Label = field(kw_only=True, repr=False, compare=False)

    @property
    def receipt(self) -> Receipt:
        """What all answers of the holdout cost together."""
        return self.label.receipt

    @property
    def estimate(self) -> Estimate:
        """The number with its interval."""
        return Estimate(
            self.question,
            [self.value],
            [self.low],
            [self.high],
            note=self.note,
            kind="avg",
            test_bits=self.test_bits,
            confidence=self.confidence,
            basis="population",
        )

    @property
    def margin(self) -> float:
        """The margin of error: the longer side of the interval."""
        return max(self.high - self.value, self.value - self.low)

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return {
            "schema": SCHEMA,
            "question": self.question,
            "estimate": serialize.written_estimate(self.estimate),
            "source": self.source,
            "number": self.number,
            "method": self.method,
            "private": getattr(self.label, "private", True),
            "holdout": isinstance(self.label, HoldoutLabel),
            "receipt": self.receipt.in_numbers(),
            "label": serialize.written_label(self.label),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> HoldoutAnswer:
        """Return the answer that `to_json` wrote."""
        expect_schema(record, SCHEMA)
        with serialize.reading("answer of a holdout"):
            found = serialize.read_estimate(record["estimate"])
            value, low, high = (serialize.of_type(float, end) for end in (found.value, *found.interval))
            source, label = record["source"], serialize.read_label(serialize.of_type(dict, record["label"]))
            if source not in SOURCES:
                raise ValueError(f"{source!r:.60} is not a source")
            private = serialize.of_type(bool, record["private"])
            return cls(
                question=serialize.of_type(str, record["question"]),
                value=value,
                low=low,
                high=high,
                source=source,
                number=serialize.integer(record["number"]),
                method=serialize.of_type(str, record["method"]),
                confidence=found.confidence,
                note=found.note,
                test_bits=found.test_bits,
                label=restored(label, private) if serialize.of_type(bool, record["holdout"]) else label,
            )

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return f"HoldoutAnswer({self.question[:60]!r}, {self.shown}, from {self.source})"

    @property
    def shown(self) -> str:
        """The value with its interval, as text."""
        found = numbers.column([self.value], [self.low], [self.high], "number")[0]
        return f"{found.value} {found.rest}" if found.rest.startswith("±") else f"{found.value} ({found.rest})"

    def __str__(self) -> str:
        sure = f"all intervals so far hold with {float(self.confidence):.4g}"
        text = f"{self.question}: {self.shown}, from {SOURCES[self.source]}; {sure}."
        warning = f"{TEST_BITS}\n" if self.test_bits else ""
        return warning + text + (f" {self.note}" if self.note else "")

    def _repr_html_(self) -> str:
        return framed(fragment("<p>{{ text }}</p>", text=str(self)))
