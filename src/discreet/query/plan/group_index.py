"""The groups of an answer: every combination of declared keys, whether anybody is in it or not.

Which groups exist is not read off the data. A row's place among the declared ones is one integer, computed in the
engine: with keys of n₁, n₂, … values (the missing one last) it is (k₁·n₂ + k₂)·n₃ + …. A row whose place is NULL
or outside takes part in nothing. Texts come first, and only those that were selected
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

from discreet.errors import QuestionRefused
from discreet.mechanisms.exact import LIMIT, Integers
from discreet.query.question import Key

if TYPE_CHECKING:
    from discreet.engines.engine import GroupKey
    from discreet.engines.nodes import Expression
    from discreet.query.plan.partition_selection import Text

MOST = 10**6
"""How many groups an answer has, at most."""

MOST_NAMES = 10**5
"""How many texts are named, at most."""


@dataclass(frozen=True)
class Cells:
    """The declared keys of a question, and the open ones."""

    keys: tuple[Key, ...]

    def __post_init__(self) -> None:
        if self.declared > MOST:
            sizes = " × ".join(f"{key.groups:,} {key.name}" for key in self._declared)
            raise QuestionRefused(
                f"The answer would have {self.declared:,} groups ({sizes}), and at most {MOST:,} are given. "
                "Group by fewer or coarser keys, or filter them first: where city in (…)."
            )

    @property
    def open(self) -> tuple[Key, ...]:
        """The keys whose groups are found with budget."""
        return tuple(key for key in self.keys if key.values is None)

    @property
    def declared(self) -> int:
        """How many combinations of the declared keys there are; 1 without keys."""
        return prod(key.groups or 0 for key in self._declared)

    @property
    def most_names(self) -> int:
        """How many texts may be named, so that the groups do not become too many."""
        return min(MOST_NAMES, max(1, MOST // self.declared))

    def trees(self) -> list[Expression]:
        """Return by what an engine groups: the texts, then the place among the declared keys."""
        from discreet.engines import nodes
        from discreet.query import ir as trees

        place: Expression | None = None
        for key in self._declared:
            code, size = key.code, len(key.values or ())
            if key.missing and len(self._declared) > 1:  # engines group a column by itself faster, NULL and all
                code = trees.case([(trees.is_null(code), trees.number(size))], code)
            place = code if place is None else trees.binary(nodes.Add, trees.times(place, key.groups or 0), code)
        return [*(key.code for key in self.open), *([] if place is None else [place])]

    def places(self, found: Sequence[GroupKey], names: Sequence[Text] | None) -> Integers:
        """Return the place of every group that an engine found among all groups; −1 for none."""
        texts, width = len(self.open), len(self._declared)
        inner: list[Any] = [key[texts] for key in found] if width else [0] * len(found)
        alone = width == 1 and self._declared[0].missing  # then NULL is left as it is, and has the last place
        last, most = (self.declared - 1, self.declared - 1) if alone else (-1, self.declared)
        place = np.fromiter((last if k is None else k if 0 <= k < most else -1 for k in inner), np.int64)
        if not texts:
            return place
        numbers = {name: number for number, name in enumerate(names or ())}
        outer = np.fromiter((numbers.get(cast("Text", key[:texts]), -1) for key in found), np.int64)
        return np.where((place < 0) | (outer < 0), -1, outer * self.declared + place)

    def tuples(self, names: Sequence[Text] | None) -> list[tuple[Any, ...]]:
        """Return the keys of every group, in the order of the question."""
        values = [[*(key.values or ()), *([None] if key.missing else [])] for key in self._declared]
        every = [(*name, *rest) for name in ([()] if names is None else names) for rest in product(*values)]
        order = [*self.open, *self._declared]
        where = [next(i for i, key in enumerate(order) if key is wanted) for wanted in self.keys]
        return [tuple(row[i] for i in where) for row in every]

    @property
    def _declared(self) -> tuple[Key, ...]:
        return tuple(key for key in self.keys if key.values is not None)


def dense(values: NDArray[Any], places: Integers, groups: int) -> Integers:
    """Return one integer per group, 0 where the engine found none; beyond 2⁶² it is clamped, as `Exact` does.

    >>> dense(np.array([5, 7], object), np.array([2, -1]), 3).tolist()
    [0, 0, 5]
    """
    whole = np.zeros(groups, np.int64)
    inside = places >= 0
    # A place occurs once, as engines group by it: this writes no entry twice.
    whole[places[inside]] = np.clip(values[inside], -LIMIT, LIMIT).astype(np.int64)
    return whole
