"""Make the label of a statistical-query oracle from its terms: nothing here reads data."""

from __future__ import annotations

import math

from discreet.learn.statistical_queries.pricing import WHOLE, Price
from discreet.ledger.costs import described
from discreet.mechanisms import Laplace
from discreet.release.label import Label, Noise
from discreet.release.receipt import Receipt
from discreet.schema.metadata import TableMetadata

NOTE = (
    "The guarantee is that of all answers together, however the queries are chosen. The charge was made when the "
    "oracle was opened; a query that a crash interrupts stays charged."
)


def label(metadata: TableMetadata, price: Price, receipt: Receipt) -> Label:
    """Return the label of all answers of an oracle over a vault."""
    mechanism = price.mechanism
    laplace = isinstance(mechanism, Laplace)
    spread = float(mechanism.scale) if isinstance(mechanism, Laplace) else math.sqrt(mechanism.variance)
    count = "a private count" if price.rows is None else f"{price.rows:,} rows, which the analyst declared"
    return Label(
        table=metadata.name,
        person=metadata.person,
        rows_per_person=metadata.rows_per_person,
        columns=metadata.columns,
        noise=[
            Noise(
                on=f"each of {price.measurements:,} sums",
                law="discrete Laplace noise" if laplace else "discrete Gaussian noise",
                spread=spread / WHOLE,
                sensitivity=float(metadata.rows_per_person),
                loss="; ".join(described(mechanism.loss)),
            )
        ],
        receipt=receipt,
        version=metadata.version,
        sealed_at=metadata.sealed_at,
        engine=metadata.engine,
        product="answers to statistical queries",
        notes=[NOTE, f"Means are sums divided by {count}."],
    )
