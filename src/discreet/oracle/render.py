"""Render an oracle and its answers for terminals and notebooks, with the digits that the intervals warrant.

An oracle or an answer that was made from test bits says so, and shows no number.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.release.released import TEST_BITS
from discreet.render import numbers
from discreet.render.html import fragment, framed
from discreet.render.terminal import plain

if TYPE_CHECKING:
    from discreet.oracle.answer import OracleAnswer
    from discreet.oracle.oracle import Oracle

_ORACLE = (
    "<p><b>{{ first }}</b></p>{% for line in rest %}<p>{{ line }}</p>{% endfor %}"
    '<table><thead><tr><th>column</th><th class="n">bins</th></tr></thead><tbody>'
    "{% for axis in axes %}<tr><td>{{ axis.name | plain }}</td>"
    '<td class="n">{{ "{:,}".format(axis.size) }}</td></tr>{% endfor %}</tbody></table>'
)
_ANSWER = (
    "<p><code>{{ question }}</code></p><p><b>{{ number }}</b>{{ sure }}</p>"
    '<p class="soft">{{ cost }}; {{ spent }}.</p>'
)
_TEST_ANSWER = '<p><code>{{ question }}</code></p><p class="test">{{ warning }}</p>'


def lines(oracle: Oracle) -> list[str]:
    """Return the columns of an oracle, the margin of its answers, and how much of its budget is used."""
    names = ", ".join(plain(axis.name) for axis in oracle.axes)
    if oracle.test_bits:
        return [f"An oracle over {names}.", TEST_BITS]
    return [
        f"An oracle over {names}.",
        f"Answers are within {width(oracle)}.",
        f"{used(oracle.spent, oracle.total)}.",
    ]


def width(oracle: Oracle) -> str:
    """Return the margin of an oracle's answers, and about how many rows there are if that was measured."""
    margin = f"{oracle.width:,.0f}" if oracle.width >= 1 else f"{oracle.width:.2g}"
    return f"{margin} rows" if math.isnan(oracle.rows) else f"{margin} of about {oracle.rows:,.0f} rows"


def page(oracle: Oracle) -> str:
    """Return an oracle in HTML, with its columns and their bins."""
    first, *rest = lines(oracle)
    return framed(fragment(_ORACLE, first=first, rest=rest, axes=oracle.axes))


def number(answer: OracleAnswer) -> str:
    """Return the number of an answer with its interval, or what there is instead of one."""
    if answer.test_bits:
        return TEST_BITS
    if not answer.checked:
        return f"{answer.value:,.4g} (not checked against the rows)"
    (shown,) = numbers.column([answer.value], [answer.low], [answer.high], "number")
    return f"{shown.value} {shown.rest}" if shown.rest.startswith("±") else f"{shown.value} ({shown.rest})"


def price(answer: OracleAnswer) -> str:
    """Return the cost of an answer, as a share of the oracle's budget."""
    return "free" if answer.free else f"cost {numbers.share(answer.cost, answer.total)}"


def used(spent: Fraction, total: Fraction) -> str:
    """Return how much of an oracle's budget is used.

    >>> used(Fraction(1, 4), Fraction(1, 2))
    "50 % of the oracle's budget is used"
    """
    return f"{numbers.share(spent, total)} of the oracle's budget is used"


def answer_page(answer: OracleAnswer) -> str:
    """Return an answer in HTML: the question, the number, and what was spent."""
    if answer.test_bits:
        return framed(fragment(_TEST_ANSWER, question=answer.question, warning=TEST_BITS))
    sure = f", with {numbers.percent(float(answer.confidence))} confidence" if answer.checked else ""
    cost = price(answer)
    spent = used(answer.spent, answer.total)
    return framed(
        fragment(
            _ANSWER,
            question=answer.question,
            number=number(answer),
            sure=sure,
            cost=f"{cost[0].upper()}{cost[1:]}",
            spent=spent,
        )
    )
