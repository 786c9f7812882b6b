"""Keep a sample to learn from: as many answers of each kind as fit into memory, evenly spaced among all.

Wide answers are never all in memory: whenever there are twice as many as wanted, every second one is dropped, and
from then on only every second (fourth, eighth, …) is taken.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.audit.blackbox.samples import Group, Outcomes, counted, joined

_ROWS, _CELLS = 2**19, 2**22  # most outcomes, and most numbers in them, to learn from
_LEAST = 32  # the least number of outcomes that is kept, however wide they are


@dataclass(eq=False)
class _Kept:
    groups: list[Group] = field(default_factory=list)
    rows: int = 0
    came: int = 0
    total: int = 0
    step: int = 1

    def add(self, group: Group) -> None:
        start = -self.came % self.step
        taken = group if self.step == 1 else group.at(np.arange(start, len(group), self.step))
        self.came, self.total = self.came + len(group), self.total + group.total
        self.groups, self.rows = [*self.groups, taken], self.rows + len(taken)
        while self.rows > 2 * _most(group):
            halved = joined(self.groups).at(np.arange(0, self.rows, 2))
            self.groups, self.rows, self.step = [halved], len(halved), 2 * self.step

    def thinned(self) -> Group:
        group = counted(joined(self.groups))
        return group.at(spread(len(group), _most(group)))


def gathered(parts: Iterable[Outcomes]) -> tuple[Outcomes, dict[Hashable, int]]:
    """Return a sample of the outcomes of each kind, and the total number of each kind.

    >>> from discreet.audit.blackbox.samples import seen
    >>> sample, totals = gathered([seen([1, 2]), seen([2, "a"])])
    >>> sample["int"].counts.tolist(), totals
    ([1, 2], {'int': 3, 'str': 1})
    """
    kinds: dict[Hashable, _Kept] = {}
    for part in parts:
        for kind, group in part.items():
            kinds.setdefault(kind, _Kept()).add(group)
    return {kind: kept.thinned() for kind, kept in kinds.items()}, {k: kept.total for k, kept in kinds.items()}


def spread(length: int, most: int) -> Any:
    """Return at most `most` row numbers, evenly spaced.

    >>> spread(10, 3).tolist()
    [0, 4, 9]
    """
    return slice(None) if length <= most else np.linspace(0, length - 1, most).astype(np.int64)


def _most(group: Group) -> int:
    return max(_LEAST, min(_ROWS, _CELLS // max(1, group.width)))
