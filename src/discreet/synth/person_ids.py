"""Measure how many rows persons have, and give ids to the persons of a synthetic table.

Measured is the number of persons with 1, 2 … K rows; persons with more count among the last (in a vault they weigh
K rows as well). A person is in exactly one of these cells, so the vector has sensitivity 1, in l1 and l2. Rows
without a person are one person together. The ids are post-processing: rows are assigned at random until the sizes
are as measured. **What the rows of one person have in common is not kept**: two rows of one id are drawn like rows
of two persons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import Fix, ParameterError
from discreet.kernel.gaussian_budget import Unit
from discreet.mechanisms import Exact, Gaussian
from discreet.query.plan.group_index import dense
from discreet.synth.sample import Stream

if TYPE_CHECKING:
    from discreet.engines.engine import Engine
    from discreet.schema.metadata import TableMetadata

SHARE = 0.02
"""The share of ρ for the numbers of rows per person."""

MOST = 1024
"""The most rows per person, where these numbers are measured."""

_PERSON = Unit(1)


@dataclass(frozen=True)
class Sizes:
    """The noisy numbers of persons with 1, 2 … rows."""

    counts: tuple[int, ...]
    noise: Gaussian
    test_bits: bool = False


def check(metadata: TableMetadata) -> None:
    """Refuse ids where they have no meaning, before the charge."""
    if metadata.person is None:
        raise ParameterError(
            "Every row of this vault is a person of its own: there are no ids.", fix=Fix("persons", False)
        )
    if metadata.rows_per_person > MOST:
        raise ParameterError(
            f"Persons with ids have at most {MOST:,} rows each.",
            found=f"{metadata.rows_per_person:,} rows per person",
            fix=Fix("rows_per_person", MOST, call="Vault.seal"),
        )


def measured(engine: Engine, metadata: TableMetadata, rho: Fraction) -> Sizes:
    """Measure the number of persons by their number of rows."""
    most = metadata.rows_per_person
    found = engine.run(engine.rows.sizes(most))
    places = np.array([int(size or 0) - 1 for (size,) in found.keys], np.int64)
    mechanism = _PERSON.marginal(rho)
    noisy = mechanism.release(Exact(dense(found.sums[:, 0], places, most), _PERSON.sensitivity))
    return Sizes(tuple(map(int, np.asarray(noisy))), mechanism, noise.is_test_noise(noisy))


def ids(counts: Sequence[int], rows: int, *, seed: int) -> NDArray[np.int64]:
    """Return a person for each of so many rows: 0, 1, 2 …, with sizes in the proportions of `counts`.

    >>> found = ids([10, 0, 30], 100, seed=1)
    >>> np.bincount(np.bincount(found))[1:].tolist()
    [10, 0, 30]
    """
    stream, likely = Stream(seed + 2), consistent(counts)
    sizes = np.arange(1, len(likely) + 1)
    persons = likely * rows / float(likely @ sizes)
    whole = np.floor(persons + stream.uniform(len(persons))).astype(
        np.int64
    )  # so the expected number of each size is right
    each = np.repeat(sizes, whole)
    each = each[np.argsort(stream.uniform(len(each)), kind="stable")]
    given = np.repeat(np.arange(len(each)), each)[:rows]
    more = np.arange(rows - len(given)) + len(each)  # rows that rounding left over are persons of one row
    return np.concatenate([given, more])[np.argsort(stream.uniform(rows), kind="stable")]


def consistent(counts: Sequence[int]) -> NDArray[np.float64]:
    """Return the nearest counts that are not below zero and add up to the same, or to one person of one row.

    >>> consistent([6, -2, 3]).tolist()
    [5.0, 0.0, 2.0]
    """
    noisy = np.asarray(counts, np.float64)
    total = float(noisy.sum())
    if total < 1:
        return np.asarray(np.eye(1, len(noisy))[0], np.float64)
    falling = np.sort(noisy)[::-1]
    levels = (np.cumsum(falling) - total) / np.arange(1, len(falling) + 1)
    level = levels[np.flatnonzero(falling > levels)[-1]]
    return np.asarray(np.maximum(noisy - level, 0.0))
