"""An oracle and its answers to the eye, in terminals and notebooks: the digits that the intervals warrant.

Whoever made them from test bits sees that they did, and no number.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from discreet.release.label import plain
from discreet.release.render import TEST_BITS, framed
from discreet.render import amounts, numbers

if TYPE_CHECKING:
    from discreet.oracle.answer import OracleAnswer
    from discreet.oracle.oracle import Oracle


def lines(oracle: Oracle) -> list[str]:
    """Return what an oracle is about, how wide its answers are, and what is spent of it."""
    names = ", ".join(plain(axis.name) for axis in oracle.axes)
    if oracle.test_bits:
        return [f"An oracle over {names}.", TEST_BITS]
    width = f"{oracle.width:,.0f}" if oracle.width >= 1 else f"{oracle.width:.2g}"
    return [
        f"An oracle over {names}.",
        f"Answers are within {width} of about {oracle.rows:,.0f} rows.",
        f"ρ = {amounts.spent(oracle.spent)} of {amounts.left(oracle.total)} is spent.",
    ]


def page(oracle: Oracle) -> str:
    """Return an oracle in HTML, with its columns and their bins."""
    first, *rest = (escape(line) for line in lines(oracle))
    rows = "".join(
        f'<tr><td>{escape(plain(axis.name))}</td><td class="n">{axis.size:,}</td></tr>' for axis in oracle.axes
    )
    head = '<thead><tr><th>column</th><th class="n">bins</th></tr></thead>'
    said = "".join(f"<p>{line}</p>" for line in rest)
    return framed(f"<p><b>{first}</b></p>{said}<table>{head}<tbody>{rows}</tbody></table>")


def number(answer: OracleAnswer) -> str:
    """Return the number of an answer with its interval, or what there is instead of one."""
    if answer.test_bits:
        return TEST_BITS
    if not answer.checked:
        return f"{answer.value:,.4g}, which nobody checked"
    (shown,) = numbers.column([answer.value], [answer.low], [answer.high], "number")
    return f"{shown.value} {shown.rest}" if shown.rest.startswith("±") else f"{shown.value} ({shown.rest})"


def price(answer: OracleAnswer) -> str:
    """Return what an answer cost."""
    return "free" if answer.free else f"paid ρ = {amounts.spent(answer.cost)}"


def answer_page(answer: OracleAnswer) -> str:
    """Return an answer in HTML: the question, the number, and what was spent."""
    if answer.test_bits:
        return framed(f'<p><code>{escape(answer.question)}</code></p><p class="test">{escape(TEST_BITS)}</p>')
    sure = f", which holds with {numbers.percent(float(answer.confidence))}" if answer.checked else ""
    cost = price(answer)
    spent = f"ρ = {amounts.spent(answer.spent)} of {amounts.left(answer.total)} is spent of the oracle"
    return framed(
        f"<p><code>{escape(answer.question)}</code></p><p><b>{escape(number(answer))}</b>{sure}</p>"
        f'<p class="soft">{cost[0].upper()}{cost[1:]}; {spent}.</p>'
    )
