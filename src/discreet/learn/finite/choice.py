"""Hold the hypothesis that was chosen, with the promise about its errors.

{"schema": "discreet choice 1", "condition": "age >= 40", "kind": "stumps", "hypotheses": 20,
 "estimate": {…}, "columns": {…}, "receipt": {…}, "label": {…}}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.learn.statistical_queries.rules import Booleans, Rule
from discreet.learn.statistical_queries.sample import Sample
from discreet.release import Estimate, Label, Receipt, serialize
from discreet.release.released import TEST_BITS, Guarded, expect_schema
from discreet.render import numbers
from discreet.schema import from_json
from discreet.schema.metadata import TableMetadata

SCHEMA = "discreet choice 1"
"""The version of the JSON of a choice: the only one that is written and read."""


@dataclass(frozen=True)
class Choice:
    """A hypothesis: the condition under which it predicts the positive label.

    `excess` bounds how many more errors it has than the best hypothesis of its class, in rows. It is a promise of
    the mechanism that was made before the rows were read, so it has an interval and no value.
    """

    condition: str
    hypotheses: int
    kind: str
    excess: Estimate
    metadata: TableMetadata = field(repr=False, compare=False)

    def predict(self, rows: Sample | Mapping[str, Any]) -> Booleans:
        """Return the prediction for public rows: a sample, or arrays with the columns of the table."""
        sample = rows if isinstance(rows, Sample) else Sample.of(rows, self.metadata.columns)
        return Rule(self.condition).predict(sample)

    def __str__(self) -> str:
        bound = self.excess.interval[1] or 0.0
        sure = f"{float(100 * self.excess.confidence):.4g} %"
        return (
            f"{self.condition}: at most {numbers.number(bound, 3)} errors more than the best of "
            f"{self.hypotheses:,} {self.kind} ({sure})"
        )


@dataclass(frozen=True)
class SealedChoice(Choice, Guarded):
    """A hypothesis that was chosen on the rows of a vault, with its label and its receipt."""

    label: Label = field(kw_only=True, repr=False, compare=False)
    free: bool = field(default=False, kw_only=True, compare=False)
    test_bits: bool = field(default=False, kw_only=True)

    @property
    def receipt(self) -> Receipt:
        """What was charged; nothing if the choice was recorded before."""
        return Receipt.free_of(self.label.receipt) if self.free else self.label.receipt

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads. It says if it was made from test bits."""
        return {
            "schema": SCHEMA,
            "condition": self.condition,
            "kind": self.kind,
            "hypotheses": self.hypotheses,
            "test_bits": self.test_bits,
            "estimate": serialize.written_estimate(self.excess),
            "columns": {name: column.as_json() for name, column in self.metadata.columns.items()},
            "receipt": self.receipt.in_numbers(),
            "label": serialize.written_label(self.label),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> SealedChoice:
        """Return the choice that `to_json` wrote."""
        expect_schema(record, SCHEMA)
        with serialize.reading("choice"):
            label = serialize.read_label(serialize.of_type(dict, record["label"]))
            columns = serialize.of_type(dict, record["columns"])
            return cls(
                condition=serialize.of_type(str, record["condition"]),
                kind=serialize.of_type(str, record["kind"]),
                hypotheses=serialize.integer(record["hypotheses"]),
                excess=serialize.read_estimate(serialize.of_type(dict, record["estimate"])),
                metadata=TableMetadata(
                    label.table, {name: from_json(column) for name, column in columns.items()}, person=None
                ),
                label=label,
                test_bits=serialize.of_type(bool, record["test_bits"]),
            )

    def __str__(self) -> str:
        told = super().__str__()
        cost = "free" if self.free else self.receipt.used
        return f"{told}\n{cost}; {self.receipt.remaining}" + (f"\n{TEST_BITS}" if self.test_bits else "")
