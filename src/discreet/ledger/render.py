"""Render the ledger as a table, for terminals and notebooks: what each account spent, and what is left."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.ledger.balance import Balance
from discreet.render import numbers, terminal
from discreet.render.html import fragment, framed

_COLUMNS = ("", "budget", "spent", "share", "left", "fits a question of", "questions")
_PAGE = (
    "<table><caption>{{ title }}</caption>"
    "<thead><tr>{% for name in columns %}<th>{{ name }}</th>{% endfor %}</tr></thead><tbody>"
    "{% for line in lines %}<tr>{% for cell in line %}<td>{{ cell | plain }}</td>{% endfor %}</tr>{% endfor %}"
    "</tbody></table>"
)


def rows(balances: Sequence[Balance]) -> list[tuple[str, ...]]:
    """Return one row of texts for each account."""
    return [_row(balance) for balance in balances]


def text(title: str, balances: Sequence[Balance]) -> str:
    """Return the table in plain text.

    >>> from discreet.ledger import Account, Budget
    >>> print(text("people.ledger", [Balance(Account(), Budget(2))]))
    people.ledger
                     budget  spent  share  left   fits a question of  questions
    the whole vault  ε = 2   ε = 0  0 %    ε = 2  ε ≤ 2               0
    """
    return "\n".join([title, *terminal.table([_COLUMNS, *rows(balances)])])


def page(title: str, balances: Sequence[Balance]) -> str:
    """Return the table as a fragment of HTML.

    >>> page("a <b>", []).startswith("<table><caption>a &lt;b&gt;</caption>")
    True
    """
    return fragment(_PAGE, title=title, columns=_COLUMNS, lines=rows(balances))


def notebook(title: str, balances: Sequence[Balance]) -> str:
    """Return what a notebook shows of a ledger: the table in the house style."""
    return framed(page(title, balances))


def _row(balance: Balance) -> tuple[str, ...]:
    unit, total, remaining = balance.unit, balance.total, balance.remaining
    spent, count = f"{unit} = {numbers.spent(balance.used)}", str(balance.charges)
    if balance.room is None or total is None or remaining is None:
        return (str(balance.account), "–", spent, "–", "–", "–", count)
    return (
        str(balance.account),
        str(balance.budget),
        spent,
        numbers.share(balance.used, total),
        f"{unit} = {numbers.left(remaining)}",
        f"ε ≤ {numbers.left(balance.room.epsilon)}",
        count,
    )
