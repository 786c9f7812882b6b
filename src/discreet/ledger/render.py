"""Render the ledger as a table, for terminals and notebooks: what each account used, and what is left.

Shares are those of the account's own budget. An account without one shows its share of the whole vault's budget.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.ledger.balance import Balance, share_left
from discreet.render import numbers, terminal
from discreet.render.html import fragment

_COLUMNS = ("", "budget", "used", "left", "questions")
_PAGE = (
    "<table><caption>{{ title }}</caption>"
    "<thead><tr>{% for name in columns %}<th>{{ name }}</th>{% endfor %}</tr></thead><tbody>"
    "{% for line in lines %}<tr>{% for cell in line %}<td>{{ cell | plain }}</td>{% endfor %}</tr>{% endfor %}"
    "</tbody></table>"
)


def rows(balances: Sequence[Balance]) -> list[tuple[str, ...]]:
    """Return one row of texts for each account. The balance of the whole vault comes first."""
    return [_row(balance, balances[0]) for balance in balances]


def text(title: str, balances: Sequence[Balance]) -> str:
    """Return the table in plain text.

    >>> from discreet.ledger import Account, Budget
    >>> print(text("people.ledger", [Balance(Account(), Budget(2))]))
    people.ledger
                     budget  used  left   questions
    the whole vault  ε = 2   0 %   100 %  0
    """
    return "\n".join([title, *terminal.table([_COLUMNS, *rows(balances)])])


def questions(count: int) -> str:
    """Return how many questions were paid for.

    >>> questions(1), questions(2)
    ('1 question', '2 questions')
    """
    return f"{count} question" + ("" if count == 1 else "s")


def page(title: str, balances: Sequence[Balance]) -> str:
    """Return the table as a fragment of HTML.

    >>> page("a <b>", []).startswith("<table><caption>a &lt;b&gt;</caption>")
    True
    """
    return fragment(_PAGE, title=title, columns=_COLUMNS, lines=rows(balances))


def _row(balance: Balance, vault: Balance) -> tuple[str, ...]:
    account, count = str(balance.account), str(balance.charges)
    if balance.budget is None or balance.total is None or balance.remaining is None:
        return (account, "–", _of_the_vault(balance, vault), "–", count)
    used, left = numbers.share(balance.used, balance.total), share_left(balance.remaining, balance.total)
    return (account, str(balance.budget), used, left, count)


def _of_the_vault(balance: Balance, vault: Balance) -> str:
    if not vault.total:
        return "–"
    used = balance.spent.rho if vault.unit == "ρ" else balance.spent.epsilon
    return "–" if used is None else f"{numbers.share(used, vault.total)} of the vault"
