"""Preview a question: its cost, and the margins of error of its answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any

from discreet.ledger import Cost
from discreet.query.answer.estimates import axis_of
from discreet.query.plan.explain import Expected
from discreet.query.question import Question
from discreet.release import frames
from discreet.release.receipt import Receipt
from discreet.release.released import expect_schema
from discreet.release.serialize import list_in, of_type, read_receipt, reading, written_receipt
from discreet.render import numbers
from discreet.render.html import framed
from discreet.schema.identifiers import identifiers

if TYPE_CHECKING:
    import pyarrow

SCHEMA = "discreet preview 1"


@dataclass(frozen=True)
class AnswerColumn:
    """A column of the table of an answer.

    Args:
        name: Its name.
        kind: What it holds: boolean, integer, real, text, date or datetime.
        part: "key"; "value" of an aggregate; "low" or "high", an end of its interval.
    """

    name: str
    kind: str
    part: str


@dataclass(frozen=True)
class Preview:
    """The cost of a question and the margins of its answer. It reads no data and spends no budget."""

    question: str
    expected: tuple[Expected, ...]
    plan: str
    receipt: Receipt
    """The cost, and the accounts as they are now: nothing was charged."""
    affordable: bool
    recorded: bool
    """Whether the same question was answered before: then it is free."""
    columns: tuple[AnswerColumn, ...] = ()
    """The columns of the table of the answer."""

    @property
    def schema(self) -> pyarrow.Schema:
        """The Arrow schema of the answer, from public facts: names and types are known before anything is paid."""
        return frames.schema((column.name, column.kind) for column in self.columns)

    @property
    def cost(self) -> Cost:
        """The amounts that would be charged."""
        return self.receipt.cost

    @property
    def unit(self) -> str:
        """The amount that the ledger adds up: ε, or ρ if its budget has a δ."""
        return self.receipt.whole.unit

    @property
    def price(self) -> str:
        """The cost, in the amount that the ledger adds up."""
        return self.receipt.spent

    @property
    def verdict(self) -> str:
        """The cost as a share of the budget, and whether it can be paid."""
        if self.recorded:
            return f"Answered before, so it is free; {self.receipt.remaining}."
        enough = "" if self.affordable else ": not enough"
        return f"This would use {self.receipt.used}; {self.receipt.remaining}{enough}."

    def to_json(self) -> dict[str, Any]:
        """Return the preview for a program: the command line and the service write the same."""
        receipt = {**self.receipt.in_numbers(), **written_receipt(self.receipt)}
        amounts = {name: _above(getattr(self.cost, name)) for name in ("epsilon", "rho", "delta")}
        return {
            "schema": SCHEMA,
            "question": self.question,
            "expected": [
                {"name": one.name, "margin": _number(one.margin), "words": one.words} for one in self.expected
            ],
            "cost": {**amounts, **self.receipt.in_numbers()},
            "left": receipt["left"],
            "receipt": receipt,
            "verdict": self.verdict,
            "affordable": self.affordable,
            "free": self.recorded,
            "plan": self.plan,
            "columns": [{"name": one.name, "type": one.kind, "part": one.part} for one in self.columns],
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Preview:
        """Return the preview that `to_json` wrote."""
        expect_schema(record, SCHEMA)
        with reading("preview"):
            return cls(
                question=of_type(str, record["question"]),
                expected=tuple(
                    Expected(one["name"], None if one["margin"] is None else float(one["margin"]), one["words"])
                    for one in list_in(record["expected"])
                ),
                plan=of_type(str, record["plan"]),
                receipt=read_receipt(of_type(dict, record["receipt"])),
                affordable=of_type(bool, record["affordable"]),
                recorded=of_type(bool, record["free"]),
                columns=tuple(
                    AnswerColumn(*(of_type(str, one[part]) for part in ("name", "type", "part")))
                    for one in list_in(record.get("columns", []))
                ),
            )

    def __repr__(self) -> str:
        price = "answered before: free" if self.recorded else self.receipt.used
        return f"Preview({self.question[:60]!r}, {price})"

    def __str__(self) -> str:
        return "\n".join([self.plan, self.verdict])

    def _repr_html_(self) -> str:
        widths = "".join(
            f"<dt>{escape(number.name)}</dt><dd>{escape(number.words.removeprefix(f'{number.name}: '))}</dd>"
            for number in self.expected
        )
        plan = "".join(f"<p>{escape(line)}</p>" for line in self.plan.splitlines())
        return framed(
            f"<p><code>{escape(self.question)}</code></p><dl>{widths}</dl><p>{escape(self.verdict)}</p>"
            f"<details><summary>Plan</summary>{plan}</details>"
        )


def columns_of(question: Question) -> tuple[AnswerColumn, ...]:
    """Return the columns of the table of an answer. They follow from the question and the declared columns."""
    kinds = {
        key.name: "text" if key.values is None else frames.kind(key.name, key.values) for key in question.keys
    }
    axes = {aggregate.name: frames.kind_of(axis_of(aggregate)) for aggregate in question.aggregates}
    named = identifiers([*kinds, *axes])
    laid_out = frames.layout(question.columns, kinds.keys(), named)
    return tuple(AnswerColumn(column, kinds.get(name) or axes[name], part) for column, name, part in laid_out)


def _above(amount: Fraction | None) -> float | None:
    """Return an amount rounded up to six digits."""
    return None if amount is None else float(numbers.spent(amount))


def _number(margin: float | None) -> float | str | None:
    """Return a margin for JSON, which has no infinite numbers."""
    if margin is None or math.isfinite(margin):
        return margin
    return str(margin)
