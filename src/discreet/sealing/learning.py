"""Learn the bounds of columns from the rows, while they are sealed, and charge the ledger for it.

Claim. Let K be rows_per_person. The weights of one person add up to at most K·UNIT, and each row has one bin
(`discreet.schema.learned`), which depends on its value alone. So adding or removing a person changes the vector of
weights by at most K·UNIT in l1 and l2 norm. With discrete Laplace noise of scale K·UNIT/ε on every bin the vector
is ε-differentially private; with discrete Gaussian noise of variance (K·UNIT)²/2ρ it is ρ-zCDP. The bounds, and
the rows that are clamped to them, follow from the noisy vector and from what is charged for later. Theory and
proof: docs/theory/learned-bounds.md.

The charge is the first entry of the ledger after its opening, and goes through `kernel.spend`, like every other.
The ledger appears together with the vault, or not at all: if sealing stops in between, no bounds have been seen
outside of this process, and the next sealing draws new noise.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.engines import nodes, sql_writer
from discreet.engines.statement import Rows
from discreet.errors import ParameterError
from discreet.kernel import Payer, SealedTable
from discreet.kernel.amount import amount_of
from discreet.kernel.payer import strictest_budget
from discreet.kernel.spend import Job, Ready, spend
from discreet.mechanisms import Exact, Gaussian, Laplace, Sensitivity
from discreet.schema import Column, Learned, from_json
from discreet.schema.metadata import ROWS, UNIT, TableMetadata

if TYPE_CHECKING:
    from discreet.ledger.charge import Standing
    from discreet.sealing.backends import Backend

Declared = Mapping[str, Column | Learned]
"""Columns as the curator declares them."""

_NEAR = "0.95"  # that one bin beside those that count does not exceed a lower threshold by noise alone
_CONFIDENCE = "0.999999"  # that no empty bin of a column exceeds the threshold: one would make the bounds absurd


def provisional(columns: Declared) -> dict[str, Column]:
    """Return columns in which those to be learned have bounds that are replaced later."""
    return {
        name: column.resolved([0] * column.bins, 0, "") if isinstance(column, Learned) else column
        for name, column in columns.items()
    }


def to_learn(columns: Declared | None) -> dict[str, Learned]:
    """Return the columns whose bounds are to be learned."""
    return {name: column for name, column in (columns or {}).items() if isinstance(column, Learned)}


def refuse_strict(columns: Declared | None, strict: bool) -> None:
    """Refuse to learn in a vault in which only accounts may spend: there is none before it is sealed."""
    if strict and (names := list(to_learn(columns))):
        raise ParameterError(
            "Bounds are learned before any analyst has an account, so a strict vault cannot learn them.",
            found=", ".join(map(repr, names)),
            fix="Seal it without strict, or declare the bounds of these columns.",
        )


@dataclass(frozen=True)
class Learner:
    """What learns the bounds of columns: their declarations, and who pays.

    Args:
        columns: The columns to learn, by name.
        payer: Returns the ledger that is charged, when it is needed.
    """

    columns: Mapping[str, Learned]
    payer: Callable[[], Payer]

    def learn(self, backend: Backend, metadata: TableMetadata, weighed: Mapping[str, str]) -> TableMetadata:
        """Return the metadata with learned bounds, after the ledger is charged.

        Args:
            backend: The engine that holds the rows.
            metadata: The metadata, with provisional bounds.
            weighed: For each column to learn, SQL for its kept values `v` and their weights `w`.
        """
        found, payer = dict(metadata.columns), self.payer()
        for name, column in self.columns.items():
            found[name] = self._learned(backend, payer, metadata, name, column, weighed[name])
        return replace(metadata, columns=found)

    def _learned(
        self, backend: Backend, payer: Payer, metadata: TableMetadata, name: str, column: Learned, weighed: str
    ) -> Column:
        table = SealedTable(
            metadata,
            payer,
            metadata.name,
            open_engine=lambda _: _Unsealed(),  # type: ignore[arg-type, return-value]
            newest_metadata=lambda: metadata,
        )
        value = sql_writer.sql(column.bin(nodes.Column("v")), backend.dialect, limits=None)
        query = (
            f"SELECT bin, SUM(w) FROM (SELECT {value} AS bin, w FROM {weighed} WHERE v IS NOT NULL) AS binned "
            "GROUP BY bin"
        )

        def prepare(ready: Ready) -> Job[Column]:
            pure = strictest_budget(ready.balances).pure
            amount = amount_of(ready.balances, epsilon=column.epsilon, spend=column.spend, pure=pure)
            mechanism = noise_for(amount, metadata.rows_per_person, pure=pure)

            def run(_: Any) -> Column:
                weights = np.zeros(column.bins, np.int64)
                for place, weight in backend.answer(query):
                    weights[int(place) + column.most] = int(weight)
                return learned(column, weights.tolist(), mechanism)

            return Job(mechanism.loss, run, _written)

        return spend(
            table, [f"bounds of column {name}, sealed {metadata.sealed_at}"], read=_recorded, prepare=prepare
        )


def noise_for(amount: Fraction, rows_per_person: int, *, pure: bool, unit: int = UNIT) -> Laplace | Gaussian:
    """Return the mechanism for the weights of the bins of one column.

    Args:
        amount: The ε to spend, or the ρ.
        rows_per_person: How many rows of a person count in full.
        pure: Whether the amount is an ε.
        unit: The weight of a row that counts in full.

    >>> noise_for(Fraction(1, 10), 8, pure=True).scale
    Fraction(327680, 1)
    """
    whole = rows_per_person * unit
    if pure:
        return Laplace.for_epsilon(amount, whole)
    return Gaussian.for_rho(amount, Sensitivity(l1=whole))


def noisy_weights(weights: Sequence[int], mechanism: Laplace | Gaussian) -> list[int]:
    """Release the weights of bins, of which one person changes at most rows_per_person rows together."""
    bound = mechanism.sensitivity
    whole = bound if isinstance(bound, int) else bound.l1
    return [int(weight) for weight in np.asarray(mechanism.release(Exact(list(weights), Sensitivity(l1=whole))))]


def learned(column: Learned, weights: Sequence[int], mechanism: Laplace | Gaussian) -> Column:
    """Release the weights of the bins with noise, and return the column with the bounds that follow.

    Args:
        column: The declaration.
        weights: The weights of its bins, from the lowest to the highest.
        mechanism: The noise.
    """
    threshold = mechanism.error(_CONFIDENCE, dimension=column.bins)
    near = mechanism.error(_NEAR)
    return column.resolved(noisy_weights(weights, mechanism), threshold, column.price, near)


class _Unsealed:
    """The rows that are being sealed. `kernel.spend` asks whether they can be read, and they can."""

    rows = Rows(ROWS)


def _written(column: Column) -> str:
    return json.dumps({"product": "learned bounds", "column": column.as_json()}, ensure_ascii=False)


def _recorded(standing: Standing) -> Column:
    return from_json(json.loads(standing.answer or "{}")["column"])
