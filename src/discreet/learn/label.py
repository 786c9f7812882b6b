"""Make the label of a model from public facts: nothing here reads data."""

from __future__ import annotations

from fractions import Fraction

from discreet.learn.price import Price
from discreet.learn.training import Task, Training
from discreet.ledger.account import Account
from discreet.ledger.balance import Balance
from discreet.ledger.budget import Budget
from discreet.ledger.charge import Charge
from discreet.ledger.costs import Cost, cost, described
from discreet.privacy.losses import Pure
from discreet.release.label import Label
from discreet.release.receipt import Receipt
from discreet.schema.metadata import TableMetadata

ALONE = "There is no ledger: the guarantee is about this fit alone, and fits on the same people add up."


def vault_label(metadata: TableMetadata, task: Task, training: Training, price: Price, charge: Charge) -> Label:
    """Return the label of a model that a vault paid for.

    Args:
        metadata: The metadata of the vault.
        task: What was learnt from what.
        training: How it was learnt.
        price: What was asked for.
        charge: What was charged.
    """
    receipt = Receipt(charge.cost, tuple(described(training.losses)), charge.balances, proven=price.promise)
    return Label(
        table=metadata.name,
        person=metadata.person,
        rows_per_person=1,  # the rows of a person share the weight of one
        columns={**task.features, task.target: task.outcome},
        noise=training.noise,
        receipt=receipt,
        version=metadata.version,
        sealed_at=metadata.sealed_at,
        engine=metadata.engine,
        product="a model",
        notes=[training.method, *training.notes],
        arithmetic=training.arithmetic,
    )


def array_label(task: Task, training: Training, price: Price) -> Label:
    """Return the label of a model that was fitted to arrays, without a vault: each row is a person."""
    whole = Budget(price.epsilon, price.delta)
    account = Balance(Account(), whole).granted(whole)
    spent = cost(Pure(price.epsilon)) if price.pure else Cost(None, account.total or Fraction(0))  # all of it
    receipt = Receipt(spent, tuple(described(training.losses)), [account.charged(spent)], proven=price.promise)
    return Label(
        table="arrays",
        person=None,
        rows_per_person=1,
        columns={**task.features, task.target: task.outcome},
        noise=training.noise,
        receipt=receipt,
        engine="numpy",
        product="a model",
        notes=[training.method, *training.notes, ALONE],
        arithmetic=training.arithmetic,
    )
