"""Make the label and the receipt of an answer: what is guaranteed to a device, and what it spent at most.

No ledger of a vault is involved: every device charges itself. So the budget is that of one device for all of its
reports to the collection, the charge is the most that one device spent on the reports that were counted, and what
is left is known to the device only.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.ledger.budget import Budget
from discreet.ledger.costs import cost, described
from discreet.local.collection.canonical_json import decimal_above
from discreet.local.collection.collection import Collection
from discreet.local.collection.guarantee import promised
from discreet.privacy.losses import Pure
from discreet.release.label import Label, Noise
from discreet.release.receipt import Receipt


def receipt(collection: Collection, reports: int) -> Receipt:
    """Return what one device spent at most, if so many of its reports were counted.

    >>> from discreet.local.collection.policy import Policy
    >>> survey = Collection.design(
    ...     "colours", domain=["red", "green"], epsilon="0.5", longitudinal=Policy(reports=4),
    ...     window=("2026-01-01", "2026-12-31"),
    ... )
    >>> [receipt(survey, reports).spent for reports in (1, 4)], receipt(survey, 1).in_numbers()["left"]
    (['ε = 0.5', 'ε = 2'], None)
    """
    loss = Pure(Fraction(_spent(collection, reports)))
    lifetime = Budget(Fraction(collection.lifetime))
    return Receipt(cost=cost(loss), losses=described(loss), balances=(), lifetime=lifetime)


def label(collection: Collection, reports: int) -> Label:
    """Return the label of an answer that counted up to so many reports of one device."""
    randomiser = collection.randomiser
    shuffled = promised(collection, n=collection.minimum_cohort).sentences[2]
    return Label(
        table=collection.name,
        person=None,
        rows_per_person=reports,
        columns={},
        noise=[Noise(on="every report", law=f"the protocol {randomiser.name}", loss=f"ε = {collection.epsilon}")],
        receipt=receipt(collection, reports),
        engine="",
        product="an answer of a local collection",
        notes=[
            *collection.guarantee().split("\n"),
            shuffled,
            f"The identity of the collection is {collection.id.hex()}.",
        ],
        model="local",
    )


def _spent(collection: Collection, reports: int) -> str:
    """Return the ε of so many reports of a device, as a decimal that is rounded up.

    Reports that repeat a permanent answer are not independent of each other, so more than one of them count as a
    whole life.
    """
    if reports == 1:
        return collection.epsilon
    if collection.policy.policy == "none":
        return decimal_above(reports * collection.randomiser.loss.epsilon)
    return collection.lifetime
