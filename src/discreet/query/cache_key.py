"""A question as the ledger knows it: parsed, with its price, about the rows of one sealing.

The ledger answers a text that it has seen before from its record. So two questions must have the same text exactly
if the same answer serves both: names of outputs, order and limits are left out of it, and the price, the
confidence and the rows are part of it. Rows are known by the mark of their sealing: a vault that was put back from
a copy, and sealed anew, gives one version number to two tables, and its ledger may remember answers about both.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet.errors import ParameterError, QuestionRefused
from discreet.mechanisms import tails
from discreet.query.plan import relative_accuracy as widths
from discreet.query.plan.group_index import Cells
from discreet.query.question import Question
from discreet.rational import Rational, rational
from discreet.schema import describe
from discreet.schema.metadata import TableMetadata

_DIGITS = 16  # of a mark: two sealings of one vault agree in 64 bits of a digest once in 10¹⁹


def parsed(question: Any, metadata: TableMetadata) -> Question:
    """Return what SQL, or a question made with `dp.select`, asks."""
    from discreet.query.builder import Ask
    from discreet.query.parse.select import parse

    text = question.sql(metadata.name) if isinstance(question, Ask) else question
    if not isinstance(text, str):
        raise ParameterError(
            f'A question is SQL text or made with dp.select("count(*)"), not {type(question).__name__}.'
        )
    asked = parse(text, metadata)
    names = [*(key.name for key in asked.keys), *(aggregate.name for aggregate in asked.aggregates)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise QuestionRefused(f"{', '.join(twice)} is the name of two columns. Rename one: … as another.")
    _refuse_impossible(asked, metadata)
    return asked


def _refuse_impossible(asked: Question, metadata: TableMetadata) -> None:
    """Refuse what nobody can meet by the declared bounds: these are public, and noise around 0 is not worth it."""
    from discreet.query import ir
    from discreet.query.bounds import reachable_values
    from discreet.query.parse.scope import column_term

    read = set() if asked.where is None else ir.columns_of(asked.where)
    for name, column in metadata.columns.items():
        sealed = metadata.sealed_name(name)
        if sealed not in read:
            continue
        left = reachable_values.narrowed(sealed, column_term(sealed, column), asked.where)
        if left.low > left.high:
            raise QuestionRefused(
                f"no row can meet the condition: {name} holds {describe.domain(column)}. So its count is 0, by "
                "what is declared and public. Ask within these bounds."
            )


def text(metadata: TableMetadata, price: str) -> str:
    """Return what the ledger knows a question by: it is another one when the rows are."""
    mark = metadata.fingerprint[:_DIGITS]
    return f"{metadata.name} version {metadata.version} ({mark}): {price}"


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
        asked: The question.
        amount: What it costs, in the unit that the ledger adds up; None if `within` decides that.
        pure: Whether the amount is an ε; otherwise it is a ρ.
        within: The largest margin of error, if there is no amount.
        confidence: The probability that an interval holds.
        keys_delta: The δ of partition selection. It is part of the question only if a key is selected.
    """
    names = [aggregate.name for aggregate in asked.aggregates]
    paid = (
        f"within {widths.written(within, names)}" if amount is None else f"{'epsilon' if pure else 'rho'} {amount}"
    )
    selects = keys_delta is not None and bool(Cells(asked.keys).open)
    extra = f", delta {rational(keys_delta or 0, 'keys_delta', floats='exact')}" if selects else ""
    return f"{asked.text} [{paid}, confidence {1 - tails.alpha(confidence)}{extra}]"
