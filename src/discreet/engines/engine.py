"""Define the contract of an engine: exact sums of integers, by group.

Claims. Every number that leaves an engine is an exact integer of any size: sums do not wrap, are not rounded and
never pass through a float. No value in a row makes an engine raise: groups without rows are absent, an empty sum
is 0, and arithmetic is computed in a type that holds every value its operands can take
(`discreet.engines.sql_writer`). An engine may run out of memory, space or time, and whether it does depends on how
many rows a question reads. It then raises `DatabaseUnavailable` with a message of our own, which repeats no more
of the engine's message than its error code. The result is private until a mechanism has added noise, so the repr
of `Groups` shows nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from discreet.engines.examples import Examples
    from discreet.engines.statement import Rows, Selection, Statement

GroupKey: TypeAlias = tuple[int | str | None, ...]
"""The codes of one group, one for each key expression; None for a missing code."""


@dataclass(frozen=True, repr=False, eq=False)
class Groups:
    """Exact sums by group: `sums[i, j]` is the j-th sum of the group `keys[i]`, in no particular order.

    The array has dtype int64 if every sum fits, and holds Python integers (dtype object) if one does not. Keys and
    sums are both private: which groups exist says as much about people as their sums.

    >>> import numpy as np
    >>> Groups(keys=[(0,), (3,)], sums=np.array([[5], [7]]))
    <exact groups, sealed>
    """

    keys: list[GroupKey]
    sums: NDArray[Any]

    def __repr__(self) -> str:
        return "<exact groups, sealed>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Exact groups are sealed and cannot be pickled or copied. Release them with noise.")


class Engine(Protocol):
    """A backend that holds sealed rows and adds them up."""

    @property
    def rows(self) -> Rows:
        """The rows, for writing statements. It is read before a charge: rows that cannot be queried raise here."""
        ...

    def run(self, statement: Statement) -> Groups:
        """Return the exact totals of a statement about `rows`."""
        ...

    def examples(self, selection: Selection) -> Examples:
        """Return the rows of a selection, for a learner that adds up what it computes from them."""
        ...

    def fingerprint(self) -> str:
        """Return the fingerprint that the sealed rows carry; empty if they carry none."""
        ...

    def close(self) -> None:
        """Close connections and files."""
        ...


def joined(keys: Sequence[Sequence[Any]], totals: Sequence[NDArray[Any]], size: int) -> Groups:
    """Return groups from columns of keys and columns of totals, each of them `size` long."""
    narrow = all(column.dtype == np.int64 for column in totals)
    sums = np.empty((size, len(totals)), np.int64 if narrow else object)
    for j, column in enumerate(totals):
        sums[:, j] = column if narrow else column.tolist()  # Python's integers, not numpy's
    return Groups(list(zip(*keys, strict=True)) if keys else [()] * size, sums)


def wide(rows: list[tuple[Any, ...]], keys: int) -> Groups:
    """Return groups of Python integers, from rows that hold keys and then totals."""
    sums = np.empty((len(rows), len(rows[0]) - keys if rows else 0), object)
    for i, row in enumerate(rows):
        sums[i] = row[keys:]
    return Groups([tuple(row[:keys]) for row in rows], sums)


def combined(found: Groups, combinations: Sequence[Sequence[tuple[int, int]]]) -> Groups:
    """Return combinations of the sums of each group. Each coefficient comes with the place of its sum.

    >>> combined(Groups([()], np.array([[5, 7]])), [[(2, 0), (-1, 1)], [(1, 1)]]).sums.tolist()
    [[3, 7]]
    """
    sums = np.empty((len(found.keys), len(combinations)), object)
    for i, row in enumerate(found.sums.tolist()):  # Python's integers, of any size
        sums[i] = [sum(number * row[place] for number, place in parts) for parts in combinations]
    narrow = all(-(2**63) <= value < 2**63 for value in sums.flat)
    return Groups(found.keys, sums.astype(np.int64) if narrow else sums)
