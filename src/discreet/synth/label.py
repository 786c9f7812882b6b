"""Make the label of a synthetic table from public facts: nothing here reads data."""

from __future__ import annotations

import math
from collections.abc import Sequence

from discreet.ledger.costs import described
from discreet.mechanisms import Exponential, Gaussian, Sensitivity
from discreet.query.bins import Axis
from discreet.release.label import Label, Noise
from discreet.release.receipt import Receipt
from discreet.schema.metadata import UNIT, TableMetadata

NOTE = (
    "Rows are drawn from a model of noisy counts: no row is a person's. Relations between columns that were not "
    "measured together are the simplest that fit, and may differ from the sealed rows."
)


def label(
    metadata: TableMetadata,
    axes: Sequence[Axis],
    noises: Sequence[Gaussian],
    receipt: Receipt,
    impossible: Sequence[str],
    sizes: Sequence[Gaussian] = (),
    choices: Sequence[Exponential] = (),
) -> Label:
    """Return the label of a synthetic table.

    Args:
        metadata: The metadata of the vault.
        axes: The columns of the synthetic table.
        noises: The noise of all measurements.
        receipt: What was charged.
        impossible: Conditions that the curator declared impossible.
        sizes: The noise of the number of rows per person, if it was measured.
        choices: The mechanisms that picked pairs, if pairs were picked.
    """
    marginals = [noise for noise in noises if _entries(noise) == 1]
    scores = [noise for noise in noises if _entries(noise) > 1]
    left_out = [name for name in metadata.columns if name not in {axis.name for axis in axes}]
    notes = [NOTE]
    if receipt.proven is not None:
        notes.append(
            f"By itself this release is differentially private with {receipt.proven}, accounted as Gaussian DP."
        )
    if left_out:
        notes.append(f"Columns that are not part of it: {', '.join(left_out)}.")
    if sizes:
        notes.append("Rows of one id are drawn independently: only the number of rows per person was measured.")
    if impossible:
        notes.append(f"Declared impossible, and not checked: {'; '.join(impossible)}.")
    return Label(
        table=metadata.name,
        person=metadata.person,
        rows_per_person=metadata.rows_per_person,
        columns={axis.name: metadata.columns[axis.name] for axis in axes},
        noise=[
            *_noise(marginals, f"{len(marginals)} marginals, the noisiest"),
            *_noise(scores, f"{len(scores)} lists of distances, the noisiest"),
            *_choice(choices),
            *_noise(sizes, "the number of persons by their number of rows", unit=1),
        ],
        receipt=receipt,
        version=metadata.version,
        sealed_at=metadata.sealed_at,
        engine=metadata.engine,
        product="a synthetic table",
        notes=notes,
    )


def _entries(noise: Gaussian) -> int:
    sensitivity = noise.sensitivity
    return 1 if not isinstance(sensitivity, Sensitivity) or sensitivity.l1 == sensitivity.each else 2


def _choice(choices: Sequence[Exponential]) -> list[Noise]:
    return [
        Noise(
            on=f"{len(choices)} choices of a pair",
            law="exponential mechanism",
            spread=float(choice.scale) / UNIT,
            sensitivity=choice.sensitivity / UNIT,
            loss="; ".join(described(choice.loss)),
        )
        for choice in choices[:1]  # all of them are alike
    ]


def _noise(noises: Sequence[Gaussian], on: str, unit: int = UNIT) -> list[Noise]:
    if not noises:
        return []
    widest = max(noises, key=lambda noise: noise.variance)
    declared = widest.sensitivity
    each = declared.each if isinstance(declared, Sensitivity) and declared.each is not None else 0
    return [
        Noise(
            on=on,
            law="discrete Gaussian noise",
            spread=math.sqrt(widest.variance) / unit,
            sensitivity=each / unit,
            loss="; ".join(described(widest.loss)),
        )
    ]
