"""Define what a ledger returns before and after a charge: Standing and Charge."""

from __future__ import annotations

from dataclasses import dataclass, field

from discreet.ledger.balance import Balance
from discreet.ledger.costs import Cost


@dataclass(frozen=True)
class Charge:
    """The receipt for a charged question, to be given to `record` with its answer.

    `balances` are those after the charge: of the whole, then of its analyst and of its purpose. `time` is that of
    the charge, before any row was read for it: a release bears it, because its own would tell how long rows took.
    """

    number: int
    hash: str
    question: str
    cost: Cost
    analyst: str | None
    purpose: str | None
    time: str = ""
    balances: tuple[Balance, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Standing:
    """The state of a ledger before a question: the recorded answer, if there is one, and the balances.

    They are of the whole, then of the analyst and of the purpose that were named.
    """

    answer: str | None
    balances: tuple[Balance, ...]
