"""Bound how much one person can change an exact value.

Let v and v′ be the integer vectors that two neighbouring tables give. A `Sensitivity` bounds d = v − v′ for all
such pairs, in the norms that mechanisms ask for: the number of entries that change ‖d‖₀, the largest change
‖d‖∞, their sum ‖d‖₁ and the sum of their squares ‖d‖₂². State the ones you know; the rest follow, because d has
integer entries:

    ‖d‖∞ ≤ ‖d‖₁,   ‖d‖∞² ≤ ‖d‖₂²,   ‖d‖₁ ≤ ‖d‖₀·‖d‖∞,   ‖d‖₁ ≤ ‖d‖₂²,   ‖d‖₂² ≤ ‖d‖₁·‖d‖∞,   ‖d‖₀ ≤ ‖d‖₁.

A direction is a statement about the sign of d as well: it is what lets selections and sparse runs take half the
noise, and only as long as everything that one proof covers moves the same way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from discreet.errors import Fix, ParameterError
from discreet.rational import shown, whole

_NORMS = ("entries", "each", "l1", "l2_squared")

Direction: TypeAlias = Literal["up", "down"]
"""The direction in which entries change when a person joins."""


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """How many entries one person changes, by how much each, their sum, and the sum of their squares.

    `monotonic` states more: "up" that a person who joins never lowers an entry, "down" that they never raise one.
    Counts go up when neighbours add or remove a person, and neither way when they replace one.

    >>> Sensitivity(entries=3, each=2)
    Sensitivity(entries=3, each=2, l1=6, l2_squared=12, monotonic=None)
    >>> Sensitivity(l2_squared=7).each
    2
    """

    entries: int | None = None
    each: int | None = None
    l1: int | None = None
    l2_squared: int | None = None
    monotonic: Direction | None = None

    def __post_init__(self) -> None:
        if self.monotonic is not None and self.monotonic not in get_args(Direction):
            raise ParameterError('monotonic must be "up", "down" or None.', found=shown(self.monotonic))
        stated = {name: getattr(self, name) for name in _NORMS}
        known = {name: whole(bound, name) for name, bound in stated.items() if bound is not None}
        if not known:
            raise ParameterError("A sensitivity must bound at least one norm.", fix=[Fix("each", 1), Fix("l1", 1)])
        entries, each, l1, l2 = map(known.get, _NORMS)
        each = _least((each, l1, None if l2 is None else math.isqrt(l2)))
        l1 = _least((l1, _product(entries, each), l2))
        l2 = _least((l2, _product(l1, each)))
        entries = _least((entries, l1))
        for name, bound in zip(_NORMS, (entries, each, l1, l2), strict=True):
            object.__setattr__(self, name, bound)

    @classmethod
    def of(cls, distance: Sensitivity | int) -> Sensitivity:
        """Read a plain integer as: one entry changes, by at most so much.

        >>> Sensitivity.of(5) == Sensitivity(entries=1, each=5)
        True
        """
        if isinstance(distance, Sensitivity):
            return distance
        return cls(entries=1, each=whole(distance, "sensitivity"))

    def among(self, size: int) -> Sensitivity:
        """Return what is known of a vector of `size` entries: no more of them can move.

        >>> Sensitivity(each=2).among(10).l1
        20
        """
        if self.entries is not None and self.entries <= size:
            return self  # nothing new is known, and what follows from it was found: most values come here
        return replace(self, entries=size)


def one_way(monotonic: object) -> bool:
    """Return a mechanism's flag: it was built for values that all move the same way, whichever that is.

    >>> one_way("up")
    Traceback (most recent call last):
    discreet.errors.ParameterError: The monotonic of a mechanism must be True or False (found: 'up').
    Try: monotonic=True. The direction belongs to the exact value: Sensitivity(each=1, monotonic="up").
    """
    if not isinstance(monotonic, bool):
        raise ParameterError(
            "The monotonic of a mechanism must be True or False.",
            found=shown(monotonic),
            fix=[
                Fix("monotonic", True),
                'The direction belongs to the exact value: Sensitivity(each=1, monotonic="up").',
            ],
        )
    return monotonic


def _least(bounds: Iterable[int | None]) -> int | None:
    return min((bound for bound in bounds if bound is not None), default=None)


def _product(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a * b
