"""Write the text by which the ledger finds a recorded answer: the question, its cost, and the sealed rows.

The ledger returns a recorded answer for a text that it has seen before. So two questions have the same text if and
only if one answer serves both: names of outputs, order and limits are not part of it; the cost, the confidence and
the rows are. Rows are identified by the fingerprint of their sealing, because the version number is not enough: a
vault that was restored from a copy and sealed again gives one version number to two tables, and its ledger may
hold answers about both.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet.errors import Fix, ParameterError, QuestionRefused
from discreet.mechanisms import tails
from discreet.query import ir
from discreet.query.bounds import reachable_values
from discreet.query.builder import Ask
from discreet.query.plan import relative_accuracy
from discreet.query.plan.group_index import Cells
from discreet.query.question import Question
from discreet.rational import Rational, rational
from discreet.schema import describe
from discreet.schema.metadata import TableMetadata

_KEPT = 512  # questions
# What a text asks follows from public facts, and a question is frozen: a preview, the question and the same one
# again are parsed once.
_parsed: dict[tuple[str, str, str], Question] = {}
_DIGITS = 16  # of a fingerprint: two sealings agree in 64 bits with a probability of 10⁻¹⁹


def parsed(question: Any, metadata: TableMetadata) -> Question:
    """Return the question that SQL text, or one built with `dp.select`, asks."""
    from discreet.query.parse.select import parse

    text = question.sql(metadata.name) if isinstance(question, Ask) else question
    if not isinstance(text, str):
        raise ParameterError(
            "A question is SQL text, or made with dp.select.",
            found=type(question).__name__,
            fix=Fix("question", "select count(*) from people"),
        )
    place = (text, metadata.name, metadata.fingerprint)
    if (known := _parsed.get(place)) is not None:
        return known
    asked = parse(text, metadata)
    names = [*(key.name for key in asked.keys), *(aggregate.name for aggregate in asked.aggregates)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise QuestionRefused(
            f"{', '.join(twice)} is the name of two columns.", fix=f"Rename one: {twice[0]} as another."
        )
    _refuse_impossible(asked, metadata)
    if len(_parsed) >= _KEPT:
        _parsed.clear()
    _parsed[place] = asked
    return asked


def _refuse_impossible(asked: Question, metadata: TableMetadata) -> None:
    """Refuse a condition that no row within the declared bounds can meet: its count is known to be 0."""
    from discreet.query.parse.scope import column_term

    read = set() if asked.where is None else ir.columns_of(asked.where)
    for name, column in metadata.columns.items():
        sealed = metadata.sealed_name(name)
        if sealed not in read:
            continue
        left = reachable_values.narrowed(sealed, column_term(sealed, column), asked.where)
        if left.low > left.high:
            raise QuestionRefused(
                f"No row can meet the condition: {name} holds {describe.domain(column)}.",
                fix="Its count is 0, which is public. Ask within these bounds.",
            )


def text(metadata: TableMetadata, price: str) -> str:
    """Return the key of a question in the ledger. It includes the rows, so other rows have another key."""
    mark = metadata.fingerprint[:_DIGITS]
    return f"{metadata.name} version {metadata.version} ({mark}): {price}"


def words(key: str) -> str:
    """Return what a key of the ledger asks for, without the rows and the cost, for people to read.

    >>> words("trips version 1 (5861f96ee85aeda1): select count(*) from trips [rho 1/2, confidence 19/20]")
    'select count(*) from trips'
    """
    found = key.partition("): ")[2] or key
    return found.rpartition(" [")[0] or found


def price(
    asked: Question,
    amount: Fraction | None,
    pure: bool,
    within: Any,
    confidence: Rational,
    keys_delta: Rational | None,
) -> str:
    """Return a question with its cost: at another cost, or another margin, it is another question.

    Args:
        asked: The parsed question.
        amount: What it costs, in the unit that the ledger adds up; None if `within` decides that.
        pure: Whether the amount is an ε; otherwise it is a ρ.
        within: The margins of error that were asked for.
        confidence: The confidence of the intervals.
        keys_delta: The δ of partition selection. It is part of the question only if a key is selected.
    """
    names = [aggregate.name for aggregate in asked.aggregates]
    unit = "epsilon" if pure else "rho"
    cost = f"within {relative_accuracy.written(within, names)}" if amount is None else f"{unit} {amount}"
    selects = keys_delta is not None and bool(Cells(asked.keys).open)
    extra = f", delta {rational(keys_delta or 0, 'keys_delta', floats='exact')}" if selects else ""
    return f"{asked.text} [{cost}, confidence {1 - tails.alpha(confidence)}{extra}]"
