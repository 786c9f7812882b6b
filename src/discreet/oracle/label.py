"""Make the label of an oracle's answers from its terms: nothing here reads data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.ledger.balance import Balance
from discreet.ledger.costs import cost, described
from discreet.mechanisms import Gaussian
from discreet.oracle.pricing import FINE, Prices, Terms
from discreet.oracle.span.plan import PROMISES
from discreet.privacy.losses import ZeroConcentrated
from discreet.query.bins import Axis
from discreet.release.label import Label, Noise
from discreet.release.receipt import Receipt
from discreet.schema.metadata import UNIT

if TYPE_CHECKING:
    from discreet.schema.metadata import TableMetadata

WHOLE = "The guarantee is that of the whole oracle: of all its answers together, however the questions are chosen."
NOTE = f"{WHOLE} An answer that was checked is the prediction of a model which passed a threshold test."


def receipt(agreed: Terms, balances: Sequence[Balance]) -> Receipt:
    """Return the receipt of an oracle: its one charge, and the accounts when it was opened."""
    loss = ZeroConcentrated(agreed.rho)
    return Receipt(cost=cost(loss), losses=described(loss), balances=balances)


def label(
    metadata: TableMetadata,
    axes: Sequence[Axis],
    agreed: Terms,
    known: Prices,
    charge: Receipt,
    certificate: Gaussian | None = None,
) -> Label:
    """Return the label of every answer of an oracle.

    Args:
        metadata: The metadata of the vault.
        axes: The columns of the oracle.
        agreed: The terms of the oracle.
        known: The noise of its steps.
        charge: The receipt of the oracle.
        certificate: The noise of a certificate that it may buy, in units of 1/UNIT rows; None if it never does.
    """
    return Label(
        table=metadata.name,
        person=metadata.person,
        rows_per_person=metadata.rows_per_person,
        columns={axis.name: metadata.columns[axis.name] for axis in axes},
        noise=_noise(agreed, known, certificate),
        receipt=charge,
        version=metadata.version,
        sealed_at=metadata.sealed_at,
        engine=metadata.engine,
        product="an answer of an oracle",
        notes=[f"{WHOLE} Intervals promise {PROMISES[agreed.promise]}" if agreed.start == "span" else NOTE],
    )


def _noise(agreed: Terms, known: Prices, certificate: Gaussian | None) -> list[Noise]:
    rows = float(agreed.rows_per_person)
    first = "residuals of sets of columns" if agreed.start == "span" else "the number of rows, and marginals"
    found = [Noise(on=first, law="discrete Gaussian noise", sensitivity=rows)]
    if (payment := known.payment) is not None:
        spread = math.sqrt(payment.variance) / FINE
        loss = "; ".join(described(payment.loss))
        found.append(Noise("one answer that is charged", "discrete Gaussian noise", spread, rows, loss))
    if certificate is not None:
        spread, loss = math.sqrt(certificate.variance) / UNIT, "; ".join(described(certificate.loss))
        found.append(Noise("the largest error of a fitted table", "discrete Gaussian noise", spread, rows, loss))
    if (watch := known.watch) is not None:
        spread = float(watch.query_scale) / FINE
        loss = "; ".join(described(watch.loss))
        found.append(Noise("checks of the model", "geometric noise in a threshold test", spread, rows, loss))
    return found
