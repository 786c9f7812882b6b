"""Refuse a mechanism that changes its data: every release must start from the same table.

A mechanism that pops its rows leaves nothing for the next release: all later answers are about an empty table, on
D as on D2, and show nothing. Copying the data before each of a million releases would take longer than most
mechanisms. So a fingerprint of the data is compared before, after the first releases, and at the end. Immutable
data needs no check.
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
    """Data, with its fingerprints at the start.

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
        self._before = [_fingerprint(one) for one in self._data]

    def check(self) -> None:
        """Refuse if the data has changed."""
        if [_fingerprint(one) for one in self._data] != self._before:
            raise ParameterError(
                "The mechanism changes its data, so the next release starts from another table.",
                fix=Fix("mechanism", Code("lambda data: mechanism(copy.deepcopy(data))")),
            )


def _is_fixed(data: Any) -> bool:
    if isinstance(data, tuple | frozenset):
        return all(map(_is_fixed, data))
    return isinstance(data, _UNCHANGING)


def _fingerprint(data: Any) -> int | None:
    """Return a hash of what is visible of the data; None if it has no visible form."""
    try:
        if isinstance(data, np.ndarray) and not data.dtype.hasobject:
            return hash((data.dtype.str, data.shape, data.tobytes()))
        return hash(glimpse(data))
    except Exception:  # data may be of any type
        return None
