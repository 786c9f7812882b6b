"""Data that is given to one release after the other, and must be the same each time.

A mechanism that pops its rows leaves nothing for the next release: all later answers are of an empty table, on D
as on D2, and show nothing. To copy data before each of a million releases would cost more than most mechanisms; so
what is seen of the data is compared before, after the first releases, and at the end. Data that cannot change
costs nothing.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.audit.attacks.outcomes import glimpse
from discreet.errors import Code, Fix, ParameterError

_UNCHANGING = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    Fraction,
    Decimal,
    dt.date,
    dt.timedelta,
    np.generic,
)


class Unchanged:
    """Data, and what was seen of it at first.

    >>> rows = [1, 2]
    >>> kept = Unchanged(rows)
    >>> _ = rows.pop()
    >>> kept.check()
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: The mechanism changes its data, so the next release starts from another table.
    Try: mechanism=lambda data: mechanism(copy.deepcopy(data)).
    """

    def __init__(self, *data: Any):
        for one in data:
            if isinstance(one, Iterator):
                raise ParameterError(
                    "The data is an iterator, which the first release uses up.",
                    found=type(one).__name__,
                    fix=Fix("D", Code("list(data)"), note="and D2 in the same way"),
                )
        self._data = [one for one in data if not _is_fixed(one)]
        self._before = [_mark(one) for one in self._data]

    def check(self) -> None:
        """Refuse if the data is no longer what it was."""
        if [_mark(one) for one in self._data] != self._before:
            raise ParameterError(
                "The mechanism changes its data, so the next release starts from another table.",
                fix=Fix("mechanism", Code("lambda data: mechanism(copy.deepcopy(data))")),
            )


def _is_fixed(data: Any) -> bool:
    if isinstance(data, tuple | frozenset):
        return all(map(_is_fixed, data))
    return isinstance(data, _UNCHANGING)


def _mark(data: Any) -> int | None:
    """A number that is another one, but for luck, if anything has changed; None if nothing can be seen."""
    try:
        if isinstance(data, np.ndarray) and not data.dtype.hasobject:
            return hash((data.dtype.str, data.shape, data.tobytes()))
        return hash(glimpse(data))
    except Exception:  # data may be anything
        return None
