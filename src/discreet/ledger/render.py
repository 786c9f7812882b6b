"""The ledger as a table, for terminals and notebooks: who spent what, what is left."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Sequence

from discreet.ledger.balance import Balance
from discreet.render import amounts

_COLUMNS = ("", "budget", "spent", "share", "left", "fits a question of", "questions")


def rows(balances: Sequence[Balance]) -> list[tuple[str, ...]]:
    """Return one line of words for each account."""
    return [_row(balance) for balance in balances]


def text(title: str, balances: Sequence[Balance]) -> str:
    """Return the table in plain text.

    >>> from discreet.ledger import Account, Budget
    >>> print(text("people.ledger", [Balance(Account(), Budget(2))]))
    people.ledger
                     budget  spent  share  left   fits a question of  questions
    the whole vault  ε = 2   ε = 0  0 %    ε = 2  ε ≤ 2               0
    """
    lines = [_COLUMNS, *rows(balances)]
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    padded = (
        "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
    return "\n".join([title, *padded])


def page(title: str, balances: Sequence[Balance]) -> str:
    """Return the table in HTML.

    >>> page("a <b>", []).startswith("<table><caption>a &lt;b&gt;</caption>")
    True
    """
    head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>" for line in rows(balances)
    )
    caption = f"<caption>{html.escape(title)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _row(balance: Balance) -> tuple[str, ...]:
    unit, total, remaining = balance.unit, balance.total, balance.remaining
    spent, count = f"{unit} = {amounts.spent(balance.used)}", str(balance.charges)
    if balance.room is None or total is None or remaining is None:
        return (str(balance.account), "–", spent, "–", "–", "–", count)
    return (
        str(balance.account),
        str(balance.budget),
        spent,
        amounts.percent(balance.used, total),
        f"{unit} = {amounts.left(remaining)}",
        f"ε ≤ {amounts.left(balance.room.epsilon)}",
        count,
    )


def _width(cell: str) -> int:
    """Columns in a terminal: wide characters take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in cell
    )
