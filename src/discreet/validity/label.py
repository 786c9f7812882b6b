"""Label the answers of a holdout: what is promised about the population, and about the persons in the rows.

A holdout of plain arrays has no ledger. Thresholdout and Gaussian answers are differentially private, and their
label says how much, for all answers together. The other methods are not: their label says that there is no such
guarantee, and their receipt states (0, 1)-DP, which is true of everything and promises nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from discreet.ledger.account import Account
from discreet.ledger.balance import Balance
from discreet.ledger.budget import Budget
from discreet.ledger.costs import NOTHING, cost, described
from discreet.privacy.losses import Approximate, Loss, Pure
from discreet.privacy.theorems.conversions import zcdp_to_approximate
from discreet.release.label import Facts, Label, Noise
from discreet.release.receipt import Promise, Receipt

DELTA = Fraction(1, 10**9)
"""The δ at which the label of Gaussian answers states their ε."""

NONE = "none: answers of this method are valid for the population, but they are not differentially private"


@dataclass(frozen=True)
class HoldoutLabel(Label):
    """The label of an answer from a holdout of plain arrays. Its `private` says whether persons are protected."""

    private: bool = False

    @property
    def neighbours(self) -> str:
        """The pairs of tables that must not be told apart."""
        return "two tables of the same size that differ in one row"

    @property
    def guarantee(self) -> str:
        """The guarantee of all answers of this holdout together."""
        return super().guarantee if self.private else NONE

    @property
    def facts(self) -> Facts:
        """All facts, under headings."""
        found = super().facts
        if self.private:
            return found
        found["Privacy"] = {"This release": NONE, "Unit": self.unit}
        found["Means"]["Published without noise"] = "scores of the holdout, rounded where the method rounds"
        return found


def holdout_label(
    method: str, notes: Sequence[str], *, losses: Loss | None = None, noise: Sequence[Noise] = ()
) -> HoldoutLabel:
    """Return the label of the answers of a holdout without a vault.

    Args:
        method: The method, in words.
        notes: What a reader of an answer needs to know.
        losses: The privacy loss of all answers together; None if the method is not private.
        noise: The noise of the method.

    >>> holdout_label("the Ladder", []).private
    False
    """
    private = losses is not None
    return HoldoutLabel(
        table="holdout",
        person=None,
        rows_per_person=1,
        columns={},
        noise=noise,
        receipt=_private_receipt(losses) if losses is not None else _open_receipt(),
        engine="numpy",
        product="a score on a reusable holdout",
        notes=[method, *notes],
        private=private,
    )


def restored(label: Label, private: bool) -> HoldoutLabel:
    """Return the label of a holdout from the plain label that was read from JSON."""
    held: dict[str, Any] = {field.name: getattr(label, field.name) for field in fields(Label)}
    return HoldoutLabel(**held, private=private)


def _open_receipt() -> Receipt:
    return Receipt(NOTHING, (), [Balance(Account(), Budget(0))], proven=Promise(Fraction(0), Fraction(1)))


def _private_receipt(losses: Loss) -> Receipt:
    charged = cost(losses)
    if charged.epsilon is not None:
        whole, alone = Budget(charged.epsilon), Pure(charged.epsilon)
        promise = Promise(charged.epsilon, Fraction(0))
        after = Balance(Account(), whole).granted(whole).charged(cost(alone))
    else:
        epsilon = Fraction(zcdp_to_approximate(charged.rho, DELTA))
        whole, promise = Budget(epsilon, DELTA), Promise(epsilon, DELTA)
        after = Balance(Account(), whole).granted(whole).charged(cost(Approximate(epsilon, DELTA)))
    return Receipt(charged, tuple(described(losses)), [after], proven=promise)
