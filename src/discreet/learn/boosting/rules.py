"""List the hypotheses of private boosting: rules that look at one column, fixed by the public schema.

    a number     the value is in cell c or above, for every c but the first
    a category   the value is in cell c; of two cells, one is enough
    missing      the value is missing, where the schema allows it
    constant     always

A rule says +1 where it holds and −1 elsewhere. H has every rule with both signs. A vote of rules is a function
of the cells alone: one integer for each cell, which are added up over the columns. A missing number is below all
cuts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.learn.boosting.cells import Block, Cells

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Rule:
    """One rule: where it holds, as places of cells, and in words."""

    block: int
    """The column it looks at."""
    first: int
    """It holds from this cell on, counted from the first cell of the column …"""
    last: int
    """… up to this one."""
    words: str


@dataclass(frozen=True)
class Rules:
    """All rules over some cells.

    >>> from discreet.schema import Boolean, Integer
    >>> rules = Rules(Cells({"age": Integer(0, 2, missing=0), "ill": Boolean(missing=False)}))
    >>> [rule.words for rule in rules.all], rules.hypotheses
    (['always', 'age from 1', 'age from 2', 'ill True'], 8)
    >>> rules.votes.tolist()
    [[1, 1, 1, 0, 0], [-1, 1, 1, 0, 0], [-1, -1, 1, 0, 0], [0, 0, 0, -1, 1]]
    """

    cells: Cells

    @cached_property
    def all(self) -> tuple[Rule, ...]:
        """The rules, the constant one first."""
        blocks = self.cells.blocks
        found = [Rule(0, 0, blocks[0].size - 1, "always")]
        for place, block in enumerate(blocks):
            found += [Rule(place, *cells) for cells in _of(block)]
        return tuple(found)

    @property
    def hypotheses(self) -> int:
        """|H|: every rule with both signs."""
        return 2 * len(self.all)

    @cached_property
    def votes(self) -> Integers:
        """The vote of each rule in each cell of its column, and 0 in the cells of others."""
        table = np.zeros((len(self.all), self.cells.size), np.int64)
        for row, rule in zip(table, self.all, strict=True):
            block = self.cells.blocks[rule.block]
            row[block.cells] = -1
            row[block.start + rule.first : block.start + rule.last + 1] = 1
        return table

    def scores(self, histogram: NDArray[Any]) -> list[int]:
        """Return Σ v·h(x) for every hypothesis of H, from the sums of v over the cells: first h, then −h.

        >>> from discreet.schema import Boolean
        >>> Rules(Cells({"ill": Boolean(missing=False)})).scores(np.array([2, 5]))
        [7, 3, -7, -3]
        """
        # A total above 2⁶³ comes as Python's integers, and is added up as such.
        kind = object if histogram.dtype == object else np.int64
        products: NDArray[Any] = self.votes.astype(kind) @ histogram.astype(kind)
        listed = [int(score) for score in products]
        return [*listed, *(-score for score in listed)]

    def chosen(self, index: int) -> tuple[int, int]:
        """Return the rule and the sign of a hypothesis."""
        count = len(self.all)
        return (index, 1) if index < count else (index - count, -1)


def _of(block: Block) -> list[tuple[int, int, str]]:
    """Return where the rules of one column hold, and their words."""
    last = block.width - 1
    if block.ordered:
        found = [(cell, last, f"{block.name} from {_low(block, cell)}") for cell in range(1, block.width)]
    elif block.size == 2:
        return [(1, 1, block.named(1))]
    else:
        found = [(cell, cell, block.named(cell)) for cell in range(block.width)] if block.size > 1 else []
    if block.missing:
        found.append((block.width, block.width, block.named(block.width)))
    return found


def _low(block: Block, cell: int) -> str:
    return block.named(cell).removeprefix(f"{block.name} ").partition(" to ")[0]
