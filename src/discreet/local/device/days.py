"""Days as numbers: how many after 1970-01-01, in two bytes of a frame."""

from __future__ import annotations

from datetime import date

from discreet.errors import ParameterError

_EPOCH = date(1970, 1, 1).toordinal()


def day_number(day: date) -> int:
    """Return how many days after 1970-01-01 a day is.

    >>> day_number(date(2026, 1, 1))
    20454
    """
    number = day.toordinal() - _EPOCH
    if not 0 <= number < 2**16:
        raise ParameterError(f"a frame has room for the days from 1970-01-01 to 2149-06-06, not for {day}.")
    return number
