"""Answer the questions of NIST SP 800-226 from the facts of a label.

They follow the "Guidelines for Evaluating Differential Privacy Guarantees" (March 2025), in our own words.
Questions that only the curator can answer are marked as such.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from discreet.release.statements import ARITHMETIC, BIAS, TIMING, TRUST
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
        "pure differential privacy" if receipt.budget.pure else "(ε, δ)-differential privacy, accounted as zCDP"
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
            f"vault. {CURATOR}: why these",
        ),
        ("How large is δ, and is it far below one in the number of persons?", delta),
        ("What is the unit of privacy, and how are contributions bounded?", f"{label.unit}; {label.contribution}"),
        ("Which tables are neighbours?", f"{label.neighbours} (unbounded: added or removed)"),
        (
            "What is the whole budget, is it ever renewed, and do other releases share it?",
            f"{receipt.total}; {receipt.left}. It is never renewed automatically, and every release of this vault "
            f"is charged to it; {label.composition}. {CURATOR}: other releases from the same data outside of this "
            "vault",
        ),
    ]


def _algorithm(label: Label) -> list[tuple[str, str]]:
    noise = "; ".join(map(str, label.noise)) or "none"
    return [
        (
            "Which mechanisms are used, and are bounds and sensitivities fixed without looking at the data?",
            f"{noise}. Bounds were declared when the table was sealed, and sensitivities follow from them",
        ),
        ("Are groups fixed beforehand or selected privately?", label.grouping),
        (
            "How are averages and other ratios computed?",
            "from a noisy sum and a noisy count, both charged; their intervals take both noises into account",
        ),
        (
            "Was utility measured?",
            "every number has an interval from the law of its noise, which the plan states before any charge",
        ),
        (
            "What bias is there?",
            f"{BIAS} Counts below zero are not cut off. Small groups have the same noise as large ones, so a "
            f"larger relative error. {CURATOR}: bias of the data themselves",
        ),
        ("Learning: is tuning accounted for?", f"{NOT_APPLICABLE}: {label.product}"),
        ("Synthetic data: is the generator differentially private?", f"{NOT_APPLICABLE}: {label.product}"),
        (
            "Unstructured data: can the unit be defined?",
            f"{NOT_APPLICABLE}: a table, every row of which belongs to one unit",
        ),
    ]


def _surroundings(label: Label) -> list[tuple[str, str]]:
    return [
        ("Is floating-point arithmetic kept away from noise?", ARITHMETIC),
        ("What about timing and other side channels?", TIMING),
        (
            "What can a malicious analyst do?",
            "spend the budget: refusals depend on the text of a question and on the ledger, not on the rows; "
            "functions that may fail on a value are refused; the charge is on the disk before noise is drawn",
        ),
        ("Who has to be trusted?", TRUST),
        (
            "How are rows, logs and seeds secured?",
            f"{_files(label)}; exact values cannot be printed, so no log holds them; the generator is keyed by "
            f"the operating system, and cannot be seeded. {CURATOR}: who may log in",
        ),
        (
            "How exposed are the data where they are collected?",
            f"{CURATOR}: the sealed table is a copy, and the source stays as it was",
        ),
        (
            "What evidence is there for these claims?",
            f"{label.library} attacks its own mechanisms (discreet audit), and ledger.verify() checks the ledger",
        ),
    ]


def _files(label: Label) -> str:
    if label.engine == "duckdb":
        return "rows and ledger are in files that only their owner can read"
    return f"the rows are in {label.engine}, which has its own access rules"


def _sentence(text: str) -> str:
    first = text[:1].upper() if text[:1].isascii() else text[:1]  # ε stays small
    return first + text[1:] + ("" if text.endswith(".") else ".")
