"""Select the partitions of string keys that are frequent enough to be kept in the answer.

A string column may hold any value, and the presence of a value is itself a fact about the person who wrote it. A
partition is one combination of values of the string keys. Sealing marks at most K rows of every person (the sealed
column `spot`); only marked rows are read here. The presence of a partition is Σ over persons of min(U, their
weight in it). Gaussian noise is added to each presence, and the partitions above a threshold T are kept. So one
person touches at most K partitions, and changes the presence of each by at most U.

Claim. The kept partitions, and the noisy presence of each, are no easier to tell apart on neighbours than a pair
that is the composition of (i) K entries that move by U under this noise, of ρ = K·U²/(2·variance), and (ii) an
event of probability δ = K·P(Z > T − U) that gives everything away. Proof: let D′ be D with one more person, and
call a partition new if it is theirs alone, so that it does not occur in D. Each has presence at most U in D′,
hence is kept with probability at most P(U + Z > T) = P(Z > T − U), and there are at most K. Let E be the event
that none of them is kept: P(not E) ≤ δ. The noise on the others is independent of E. Given E, what is seen on D′
is a function of noise on the partitions that occur in D, as it is on D itself, where at most K of them differ, by
at most U each. So the answer on D′ is drawn as follows: with probability P(E) from a law that (i) cannot tell from
that on D, else from any law. The answer on D needs no coin. The coin is (ii). ∎

Hence the two losses, charged together once: that of the Gaussian, and `Approximate(0, δ)`. This is δ-approximate
ρ-zCDP, and it is what a ledger with a δ adds up. A ledger without δ cannot be charged for (ii): at every
threshold, a partition of one person has a positive probability to be kept. T is an integer such that P(Z > T − U)
≤ δ/K for the discrete law itself, rounded up (`tails.gaussian_bound`, where P(|Z| > m) = 2·P(Z > m)).

The kept partitions are then used like declared values, and the numbers are measured anew on all rows. The presence
itself is not released: it was used to select, so it is biased upwards. Theory: docs/theory/keys.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from discreet.errors import Fix, ParameterError
from discreet.mechanisms import Exact, Gaussian, Sensitivity, tails
from discreet.mechanisms.exact import ExactByKey, admit, opened
from discreet.privacy.losses import Approximate, Loss
from discreet.query import ir
from discreet.rational import Rational, rational
from discreet.schema.metadata import UNIT

if TYPE_CHECKING:
    from discreet.engines.nodes import Expression

Partition: TypeAlias = tuple[str | None, ...]
"""One combination of values of the string keys; None is a missing value."""


@dataclass(frozen=True)
class Selection:
    """A partition selection: Gaussian noise on the presence of partitions, and a threshold.

    >>> chosen = selection("0.005", "1e-9", rows_per_person=1)
    >>> round(chosen.threshold / UNIT, 1)
    61.0
    >>> chosen.losses[1]
    Approximate(epsilon=Fraction(0, 1), delta=Fraction(1, 1000000000))
    """

    mechanism: Gaussian
    delta: Fraction
    threshold: int

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses to charge, once for all partitions."""
        return self.mechanism.loss, Approximate(0, self.delta)

    @property
    def needs(self) -> float:
        """The number of persons in a partition that is kept with probability one half."""
        return self.threshold / UNIT

    def release(self, presence: ExactByKey, most: int) -> list[Partition]:
        """Return the partitions whose noisy presence is above the threshold, in their own order.

        Args:
            presence: The weight of the persons in each partition that occurs on marked rows.
            most: The largest number of partitions to return; those with the largest noisy presence are preferred.

        >>> few = selection("1/2", "1e-6", rows_per_person=1)
        >>> towns = {("Oslo",): 900 * UNIT, ("Bergen",): 800 * UNIT, ("Foula",): UNIT}
        >>> few.release(ExactByKey(towns, sensitivity(1)), most=10)
        [('Bergen',), ('Oslo',)]
        """
        bound = cast(Sensitivity, self.mechanism.sensitivity)
        admit(presence, by_key=True, entries=cast(int, bound.entries), each=cast(int, bound.each))
        found = cast(dict[Partition, int], opened(presence))
        if not found:
            return []
        # They are sorted first: the engine's order may depend on rows, and ties are broken by order.
        partitions = sorted(found, key=lambda partition: [(part is None, part or "") for part in partition])
        noisy: Any = self.mechanism.release(Exact([found[p] for p in partitions], presence.sensitivity))
        kept = np.flatnonzero(noisy > self.threshold)
        strongest = kept[np.argsort(-noisy[kept], kind="stable")][:most]
        return [partitions[int(i)] for i in sorted(strongest)]


def sensitivity(rows_per_person: int, unit: int = UNIT) -> Sensitivity:
    """Return how much one person changes the presence of partitions: at most K of them, by at most U each.

    >>> sensitivity(rows_per_person=3).l1
    12288
    """
    return Sensitivity(entries=rows_per_person, each=unit)


def selection(rho: Rational, delta: Rational, rows_per_person: int, unit: int = UNIT) -> Selection:
    """Return the selection that costs ρ and δ, with the least threshold that proves δ.

    Args:
        rho: The ρ that it costs.
        delta: The δ that it costs, from 1e-30 to below 1.
        rows_per_person: The largest number of partitions that one person touches.
        unit: The weight of one row, U by default.

    >>> selection("1/2", "1e-6", rows_per_person=3).mechanism.loss
    Repeated(loss=DiscreteGaussian(variance=Fraction(50331648, 1), sensitivity=4096), count=3)
    """
    exact = rational(delta, "delta")
    if not Fraction(1, 10**30) <= exact < 1:
        raise ParameterError(
            "The delta of partition selection must be below 1 and at least 1e-30.",
            found=delta,
            fix=Fix("delta", "1e-9"),
        )
    mechanism = Gaussian.for_rho(rho, sensitivity(rows_per_person, unit))
    tail = tails.gaussian_bound(mechanism.variance, min(Fraction(1), 2 * exact / rows_per_person))
    return Selection(mechanism, exact, unit + tail)


def marked(where: Expression | None) -> Expression:
    """Return the condition that a row meets the filter and is one of the marked rows of its person.

    >>> marked(None).sql()
    'spot'
    """
    mark = ir.sealed("spot")
    return mark if where is None else ir.both(where, mark)
