"""A question as the ledger knows it: parsed, with its price, about the rows of one sealing.

The ledger answers a text that it has seen before from its record. So two questions must have the same text exactly
if the same answer serves both: names of outputs, order and limits are left out of it, and the price, the
confidence and the rows are part of it. Rows are known by the mark of their sealing: a vault that was put back from
a copy, and sealed anew, gives one version number to two tables, and its ledger may remember answers about both.
"""

from __future__ import annotations

from typing import Any

from discreet.errors import ParameterError, QuestionRefused
from discreet.mechanisms import tails
from discreet.query.plan import relative_accuracy as widths
from discreet.query.question import Question
from discreet.rational import Rational, positive, rational
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
    epsilon: Rational | None,
    within: Any,
    confidence: Rational,
    delta: Rational | None,
) -> str:
    """Return a question with what was to be paid for it: asked for more, it is another one."""
    names = [aggregate.name for aggregate in asked.aggregates]
    paid = (
        f"within {widths.written(within, names)}" if epsilon is None else f"epsilon {positive(epsilon, 'epsilon')}"
    )
    extra = "" if delta is None else f", delta {rational(delta, 'delta', floats='exact')}"
    return f"{asked.text} [{paid}, confidence {1 - tails.alpha(confidence)}{extra}]"
