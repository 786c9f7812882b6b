"""The label of a synthetic table, from what is public about it: nothing here looks at data."""

from __future__ import annotations

import math
from collections.abc import Sequence

from discreet.ledger.costs import described
from discreet.mechanisms import Gaussian, Sensitivity
from discreet.query.bins import Axis
from discreet.release.label import Label, Noise
from discreet.release.receipt import Receipt
from discreet.schema.metadata import UNIT, TableMetadata

NOTE = (
    "Rows are drawn from a model of noisy marginals: no row is a person's. What several columns have in common "
    "beyond the marginals that were measured is filled in by the law of largest entropy, and may differ from the "
    "table."
)


def label(
    metadata: TableMetadata,
    axes: Sequence[Axis],
    noises: Sequence[Gaussian],
    bill: Receipt,
    impossible: Sequence[str],
    promise: str = "",
    sizes: Sequence[Gaussian] = (),
) -> Label:
    """Return the label of a synthetic table."""
    marginals = [noise for noise in noises if _entries(noise) == 1]
    scores = [noise for noise in noises if _entries(noise) > 1]
    left_out = [name for name in metadata.columns if name not in {axis.name for axis in axes}]
    notes = [NOTE]
    if promise:
        notes.append(f"By itself this release is differentially private with {promise}, as Gaussian DP has it.")
    if left_out:
        notes.append(f"Columns that are not part of it: {', '.join(left_out)}.")
    if sizes:
        notes.append("Rows of one id are drawn like rows of several: only how many a person has was measured.")
    if impossible:
        notes.append(f"Taken for impossible, and not checked: {'; '.join(impossible)}.")
    return Label(
        table=metadata.name,
        person=metadata.person,
        rows_per_person=metadata.rows_per_person,
        columns={axis.name: metadata.columns[axis.name] for axis in axes},
        noise=[
            *_noise(marginals, f"{len(marginals)} marginals, the noisiest"),
            *_noise(scores, f"{len(scores)} lists of distances, the noisiest"),
            *_noise(sizes, "how many persons have how many rows", unit=1),
        ],
        receipt=bill,
        version=metadata.version,
        sealed_at=metadata.sealed_at,
        engine=metadata.engine,
        product="a synthetic table",
        notes=notes,
    )


def _entries(noise: Gaussian) -> int:
    moved = noise.sensitivity
    return 1 if not isinstance(moved, Sensitivity) or moved.l1 == moved.each else 2


def _noise(noises: Sequence[Gaussian], on: str, unit: int = UNIT) -> list[Noise]:
    if not noises:
        return []
    widest = max(noises, key=lambda noise: noise.variance)
    moved = widest.sensitivity
    moves = moved.each if isinstance(moved, Sensitivity) and moved.each is not None else 0
    return [
        Noise(
            on=on,
            law="discrete Gaussian noise",
            spread=math.sqrt(widest.variance) / unit,
            sensitivity=moves / unit,
            loss="; ".join(described(widest.loss)),
        )
    ]
