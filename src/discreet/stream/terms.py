"""Read what a stream may spend, whom it protects, and how it is labelled.

`epsilon` without `delta` is pure: noise is Laplace noise. With `delta`, or with `rho`, it is Gaussian noise. As in
a vault, `epsilon=e, delta=d` says that everything the stream ever releases is (e, d)-differentially private.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import Fix, ParameterError
from discreet.ledger.account import Account
from discreet.ledger.balance import Balance
from discreet.ledger.budget import Budget
from discreet.ledger.costs import cost, described
from discreet.privacy.losses import Pure, ZeroConcentrated
from discreet.privacy.theorems.conversions import zcdp_to_approximate
from discreet.rational import Rational, positive, rational, shown, whole
from discreet.release.label import Noise
from discreet.release.receipt import Receipt
from discreet.stream.factorisations.units import Person
from discreet.stream.label import ALL_EVENTS, StreamLabel

MOST = 2**31 - 1
"""The largest count of one tick."""

_DELTA = Fraction(1, 10**9)


@dataclass(frozen=True)
class Terms:
    """What a stream spends in all, and who paid for it.

    Args:
        loss: The privacy loss of everything that the stream releases.
        receipt: The charge, and the accounts after it.
        table: The name of the stream in its label.
        person: The column of persons of the vault that paid; None without a vault.
    """

    loss: Pure | ZeroConcentrated
    receipt: Receipt
    table: str = "a stream"
    person: str | None = None

    @property
    def pure(self) -> bool:
        """Whether noise must be Laplace noise."""
        return isinstance(self.loss, Pure)

    @property
    def rho(self) -> Fraction:
        """The ρ of Gaussian noise."""
        if isinstance(self.loss, Pure):
            raise ParameterError("This needs Gaussian noise, and so a delta.", fix=Fix("delta", "1e-9"))
        return Fraction(self.loss.rho)

    def label(self, unit: Person, noises: Sequence[Noise], product: str, notes: Sequence[str]) -> StreamLabel:
        """Return the label of everything that the stream releases."""
        whom = "all events of one person" if unit.events >= ALL_EVENTS else unit.words
        return StreamLabel(
            table=self.table,
            person=(self.person or "person") if unit.events > 1 else None,
            rows_per_person=unit.events,
            columns={},
            noise=noises,
            receipt=self.receipt,
            engine="stream",
            product=product,
            notes=[f"Protected: {whom}.", *notes],
        )


def terms_of(epsilon: Rational | None, delta: Rational, rho: Rational | None, *, table: str = "a stream") -> Terms:
    """Return the terms of a stream that no vault pays for.

    Args:
        epsilon: The guarantee of everything that the stream releases.
        delta: The δ of that guarantee; 0 makes it pure.
        rho: The zCDP loss instead of `epsilon`.
        table: The name of the stream in its label.

    >>> terms_of(1, 0, None).loss, terms_of(None, 0, "0.005").loss
    (Pure(epsilon=Fraction(1, 1)), ZeroConcentrated(rho=Fraction(1, 200)))
    """
    if (epsilon is None) == (rho is None):
        raise ParameterError("A stream needs either epsilon or rho.", fix=[Fix("epsilon", 1), Fix("rho", "0.005")])
    loss: Pure | ZeroConcentrated
    if rho is not None:
        loss = ZeroConcentrated(positive(rho, "rho"))
        small = rational(delta, "delta") or _DELTA
        budget = Budget(Fraction(zcdp_to_approximate(Fraction(loss.rho), small / 2)), small)
    else:
        budget = Budget(positive(epsilon or 0, "epsilon"), rational(delta, "delta"))
        loss = Pure(budget.epsilon) if budget.pure else ZeroConcentrated(budget.rho_of(budget.epsilon))
    spent = cost(loss)
    balance = Balance(Account(), budget).granted(budget).charged(spent)
    return Terms(loss, Receipt(cost=spent, losses=described(loss), balances=[balance]), table)


def checked_horizon(horizon: Any) -> int | None:
    """Return the number of ticks, None for a stream without end.

    >>> checked_horizon(1440), checked_horizon(None)
    (1440, None)
    """
    return None if horizon is None else whole(horizon, "horizon")


def checked_count(count: Any) -> int:
    """Return the count of a tick, which is a whole number from 0 to 2³¹ − 1.

    >>> checked_count(3.0)
    3
    >>> checked_count(-1)
    Traceback (most recent call last):
    discreet.errors.ParameterError: The count of a tick must be a whole number from 0 to 2147483647 (found: -1).
    Nothing was added. Count what happened in this tick, and add that.
    """
    try:
        number = int(count)
        fits = number == count and 0 <= number <= MOST and not isinstance(count, bool | str | bytes)
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise ParameterError(
            f"The count of a tick must be a whole number from 0 to {MOST}.",
            found=shown(count),
            fix="Nothing was added. Count what happened in this tick, and add that.",
        )
    return number
