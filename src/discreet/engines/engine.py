"""What an engine does: sums of integers by group, exactly.

Claims. Every number that leaves an engine is an exact integer, whatever its size: sums do not wrap, are not
rounded and never pass through a float. No value in a row makes an engine raise: absent groups are absent, an empty
sum is 0, and arithmetic is carried out in a type that holds every value its operands can take
(`discreet.engines.sql_writer`). An engine may run out of memory, space or time, and whether it does depends on how
many rows a question meets. It says so in words of ours (`DatabaseUnavailable`), and repeats no more of its own
message than the code of what went wrong. What comes back is private until a mechanism has added noise, so `Groups`
shows nothing of itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from discreet.engines.statement import Rows, Statement

GroupKey: TypeAlias = tuple[int | str | None, ...]
"""The codes of one group, one for each key expression; None where the code is missing."""


@dataclass(frozen=True, repr=False, eq=False)
class Groups:
    """Exact sums by group: `sums[i, j]` is the j-th sum of the group `keys[i]`, in no particular order.

    The array is of int64 if every sum fits, and of Python integers (dtype object) if one does not. Keys and sums
    are both private: which groups exist is as much about people as what they add up to.

    >>> import numpy as np
    >>> Groups(keys=[(0,), (3,)], sums=np.array([[5], [7]]))
    <exact groups, sealed>
    """

    keys: list[GroupKey]
    sums: NDArray[Any]

    def __repr__(self) -> str:
        return "<exact groups, sealed>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Exact groups are sealed: they are neither pickled nor copied. Release them with noise.")


class Engine(Protocol):
    """Whoever holds sealed rows and can add them up."""

    @property
    def rows(self) -> Rows:
        """The rows, as statements name them. Looked at before a charge: rows that cannot be asked say so here."""
        ...

    def run(self, statement: Statement) -> Groups:
        """Return the exact totals of a statement about `rows`."""
        ...

    def mark(self) -> str:
        """Return what the sealed rows say they were sealed as; empty if they say nothing."""
        ...

    def close(self) -> None:
        """Let go of the rows."""
        ...


def joined(keys: Sequence[Sequence[Any]], totals: Sequence[NDArray[Any]], size: int) -> Groups:
    """Return groups from columns of keys and columns of totals, each of them `size` long."""
    narrow = all(column.dtype == np.int64 for column in totals)
    sums = np.empty((size, len(totals)), np.int64 if narrow else object)
    for j, column in enumerate(totals):
        sums[:, j] = column if narrow else column.tolist()  # no numpy integers among Python's
    return Groups(list(zip(*keys, strict=True)) if keys else [()] * size, sums)


def wide(rows: list[tuple[Any, ...]], keys: int) -> Groups:
    """Return groups of Python integers, from rows that hold keys and then totals."""
    sums = np.empty((len(rows), len(rows[0]) - keys if rows else 0), object)
    for i, row in enumerate(rows):
        sums[i] = row[keys:]
    return Groups([tuple(row[:keys]) for row in rows], sums)
