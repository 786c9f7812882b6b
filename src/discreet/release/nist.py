"""Answer the questions of NIST SP 800-226 from the facts of a label.

They follow the "Guidelines for Evaluating Differential Privacy Guarantees" (March 2025), in our own words.
Questions that only the curator can answer are marked as such.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from discreet.render import numbers

if TYPE_CHECKING:
    from discreet.release.label import Label

CURATOR = "For the curator to answer"
"""The start of every answer that software cannot give."""

NOT_APPLICABLE = "Not applicable"


class Item(NamedTuple):
    """One question with its answer."""

    number: int
    question: str
    answer: str

    def __str__(self) -> str:
        return f"{self.number}. {self.question}\n   {self.answer}"


def checklist(label: Label) -> tuple[Item, ...]:
    """Return the questions, answered as far as the label has facts."""
    pairs = [*_guarantee(label), *_algorithm(label), *_surroundings(label)]
    return tuple(Item(number, question, _sentence(answer)) for number, (question, answer) in enumerate(pairs, 1))


def _guarantee(label: Label) -> list[tuple[str, str]]:
    receipt = label.receipt
    variant = (
        "local differential privacy, pure"
        if label.local
        else "pure differential privacy"
        if receipt.budget.pure
        else "(ε, δ)-differential privacy, accounted as zCDP"
    )
    delta = (
        f"{NOT_APPLICABLE}: δ is 0"
        if receipt.budget.pure
        else f"δ = {numbers.spent(receipt.budget.delta)} in all: events with a smaller probability may break the "
        f"promise. {CURATOR}: that this is far below one in the number of persons, which a label does not state"
    )
    return [
        ("Which definition of differential privacy is used?", variant),
        (
            "How large is ε, how was it chosen, and over what does it hold?",
            f"{label.guarantee} for this release, {receipt.total} for everything that is ever asked of this "
            f"{'device in this collection' if label.local else 'vault'}. {CURATOR}: why these",
        ),
        ("How large is δ, and is it far below one in the number of persons?", delta),
        ("What is the unit of privacy, and how are contributions bounded?", f"{label.unit}; {label.contribution}"),
        (
            "Which tables are neighbours?",
            f"{label.neighbours} ({_kind(label)})",
        ),
        (
            "What is the whole budget, is it ever renewed, and do other releases share it?",
            f"{receipt.total}; {receipt.left}. It is never renewed automatically, and {_charged(label)}; "
            f"{label.composition}. {CURATOR}: other releases from the same data outside of this "
            f"{'collection' if label.local else 'vault'}",
        ),
    ]


def _algorithm(label: Label) -> list[tuple[str, str]]:
    noise = "; ".join(map(str, label.noise)) or "none"
    return [
        (
            "Which mechanisms are used, and are bounds and sensitivities fixed without looking at the data?",
            f"{noise}. {_bounds(label)}",
        ),
        ("Are groups fixed beforehand or selected privately?", label.grouping),
        (
            "How are averages and other ratios computed?",
            f"{NOT_APPLICABLE}: shares and means are estimated from reports"
            if label.local
            else "from a noisy sum and a noisy count, both charged; their intervals take both noises into account",
        ),
        (
            "Was utility measured?",
            f"every number has an interval from the law of its noise{_before(label)}",
        ),
        (
            "What bias is there?",
            f"{label.statements.bias} Counts below zero are not cut off. Small groups have the same noise as "
            f"large ones, so a larger relative error. {CURATOR}: bias of the data themselves",
        ),
        ("Learning: is tuning accounted for?", f"{NOT_APPLICABLE}: {label.product}"),
        ("Synthetic data: is the generator differentially private?", _synthetic(label)),
        (
            "Unstructured data: can the unit be defined?",
            f"{NOT_APPLICABLE}: {_structure(label)}",
        ),
    ]


def _surroundings(label: Label) -> list[tuple[str, str]]:
    return [
        ("Is floating-point arithmetic kept away from noise?", label.statements.arithmetic),
        ("What about timing and other side channels?", label.statements.timing),
        (
            "What can a malicious analyst do?",
            "see reports, as every recipient does: the guarantee of a device holds against all of them"
            if label.local
            else "spend the budget: refusals depend on the text of a question and on the ledger, not on the rows; "
            "functions that may fail on a value are refused; the charge is on the disk before noise is drawn",
        ),
        ("Who has to be trusted?", label.statements.trust),
        (
            "How are rows, logs and seeds secured?",
            f"{_files(label)}; {_logs(label)}; the generator is keyed by the operating system, and cannot be "
            f"seeded. {CURATOR}: who may log in",
        ),
        (
            "How exposed are the data where they are collected?",
            "not at all: values stay on the devices, and reports are randomised there"
            if label.local
            else f"{CURATOR}: the sealed table is a copy, and the source stays as it was",
        ),
        (
            "What evidence is there for these claims?",
            f"{label.library} attacks its own mechanisms (discreet audit)"
            + ("" if label.local else ", and ledger.verify() checks the ledger"),
        ),
    ]


def _charged(label: Label) -> str:
    if label.local:
        return "every device is charged for its reports"
    return "every release of this vault is charged to it"


def _kind(label: Label) -> str:
    return "bounded: replaced" if label.local else "unbounded: added or removed"


def _bounds(label: Label) -> str:
    if label.local:
        return "The domain was fixed before any report, and a report is as private whatever the value is"
    return "Bounds were declared when the table was sealed, and sensitivities follow from them"


def _before(label: Label) -> str:
    return "" if label.local else ", which the plan states before any charge"


def _synthetic(label: Label) -> str:
    if "synthetic" in label.product:
        return f"yes: it is made from noisy numbers only ({label.product})"
    return f"{NOT_APPLICABLE}: {label.product}"


def _structure(label: Label) -> str:
    if label.local:
        return "values of a domain, one per report"
    return "a table, every row of which belongs to one unit"


def _logs(label: Label) -> str:
    if label.local:
        return "a log of the server can hold randomised reports only"
    return "exact values cannot be printed, so no log holds them"


def _files(label: Label) -> str:
    if label.local:
        return "values and secrets stay on the devices"
    if label.engine == "duckdb":
        return "rows and ledger are in files that only their owner can read"
    return f"the rows are in {label.engine}, which has its own access rules"


def _sentence(text: str) -> str:
    first = text[:1].upper() if text[:1].isascii() else text[:1]  # ε stays small
    return first + text[1:] + ("" if text.endswith(".") else ".")
