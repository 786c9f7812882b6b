"""Number the groups of an answer: every combination of declared keys, with or without rows.

The list of groups does not depend on the data. The engine computes the place of a row among the declared groups as
one integer: with keys of n₁, n₂, … values (the missing one last) it is (k₁·n₂ + k₂)·n₃ + …. A row whose place is
NULL or outside the declared groups is left out. String keys come first, and only the partitions that were selected
(discreet.query.plan.partition_selection).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from discreet.engines import nodes
from discreet.errors import QuestionRefused
from discreet.mechanisms.exact import LIMIT, Integers
from discreet.query import ir
from discreet.query.question import Key

if TYPE_CHECKING:
    from discreet.engines.engine import GroupKey
    from discreet.engines.nodes import Expression
    from discreet.query.plan.partition_selection import Partition

MOST = 10**6
"""The largest number of groups in an answer."""

MOST_PARTITIONS = 10**5
"""The largest number of partitions that are selected."""


@dataclass(frozen=True)
class Cells:
    """The keys of a question, declared or open (to be selected)."""

    keys: tuple[Key, ...]

    def __post_init__(self) -> None:
        if self.declared > MOST:
            sizes = " × ".join(f"{key.groups:,} {key.name}" for key in self._declared)
            raise QuestionRefused(
                f"The answer would have {self.declared:,} groups ({sizes}); at most {MOST:,} are possible.",
                fix=[
                    "Group by fewer or coarser keys.",
                    "Or filter them first, such as where city in ('Oslo', 'Bergen').",
                ],
            )

    @property
    def open(self) -> tuple[Key, ...]:
        """The keys whose values partition selection finds, with budget."""
        return tuple(key for key in self.keys if key.values is None)

    @property
    def declared(self) -> int:
        """The number of combinations of the declared keys; 1 without keys."""
        return prod(key.groups or 0 for key in self._declared)

    @property
    def most_partitions(self) -> int:
        """The largest number of partitions to select, so that the groups do not become too many."""
        return min(MOST_PARTITIONS, max(1, MOST // self.declared))

    def trees(self) -> list[Expression]:
        """Return by what an engine groups: the texts, then the place among the declared keys."""
        place: Expression | None = None
        for key in self._declared:
            code, size = key.code, len(key.values or ())
            if key.missing and len(self._declared) > 1:  # engines group faster by a bare column, NULL included
                code = ir.case([(ir.is_null(code), ir.number(size))], code)
            place = code if place is None else ir.binary(nodes.Add, ir.times(place, key.groups or 0), code)
        return [*(key.code for key in self.open), *([] if place is None else [place])]

    def places(self, found: Sequence[GroupKey], partitions: Sequence[Partition] | None) -> Integers:
        """Return the place of every group that an engine found among all groups; −1 for none."""
        opened, width = len(self.open), len(self._declared)
        inner: list[Any] = [key[opened] for key in found] if width else [0] * len(found)
        alone = width == 1 and self._declared[0].missing  # then `trees` keeps NULL, which has the last place
        last, most = (self.declared - 1, self.declared - 1) if alone else (-1, self.declared)
        place = _within(inner, most, last)
        if not opened:
            return place
        numbers = {partition: number for number, partition in enumerate(partitions or ())}
        outer = np.fromiter((numbers.get(cast("Partition", key[:opened]), -1) for key in found), np.int64)
        return np.where((place < 0) | (outer < 0), -1, outer * self.declared + place)

    def tuples(self, partitions: Sequence[Partition] | None) -> list[tuple[Any, ...]]:
        """Return the keys of every group, in the order of the question."""
        values = [[*(key.values or ()), *([None] if key.missing else [])] for key in self._declared]
        if partitions is None:
            every: list[tuple[Any, ...]] = list(product(*values))
        else:
            every = [(*partition, *rest) for partition in partitions for rest in product(*values)]
        order = [*self.open, *self._declared]
        where = [next(i for i, key in enumerate(order) if key is wanted) for wanted in self.keys]
        return every if where == sorted(where) else [tuple(row[i] for i in where) for row in every]

    @property
    def _declared(self) -> tuple[Key, ...]:
        return tuple(key for key in self.keys if key.values is not None)


def _within(places: Sequence[int | None], most: int, last: int) -> Integers:
    """Return places below `most`, `last` for NULL, and −1 for all others, however large."""
    try:
        found = np.array([-1 if place is None else place for place in places], np.int64)
    except OverflowError:
        return np.array([last if p is None else p if 0 <= p < most else -1 for p in places], np.int64)
    found[(found < 0) | (found >= most)] = -1
    if last >= 0:
        found[[place is None for place in places]] = last
    return found


def dense(values: NDArray[Any], places: Integers, groups: int) -> Integers:
    """Return one integer per group, 0 if the engine found none; values beyond 2⁶² are clamped, as `Exact` does.

    >>> dense(np.array([5, 7], object), np.array([2, -1]), 3).tolist()
    [0, 0, 5]
    """
    whole = np.zeros(groups, np.int64)
    inside = places >= 0
    # Engines group by the place, so it occurs once: this writes no entry twice.
    whole[places[inside]] = np.clip(values[inside], -LIMIT, LIMIT).astype(np.int64)
    return whole
