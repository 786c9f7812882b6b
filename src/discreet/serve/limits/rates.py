"""Limit how many requests an account or an address sends in a minute.

A bucket holds a minute's worth of requests, and fills evenly. Which requests are counted depends on public facts.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from discreet.errors import Fix, TooManyRequests

_MOST = 10_000  # buckets that are kept: an attacker with many addresses must not fill the memory


class Rate:
    """A limit for each of many names.

    Args:
        per_minute: How many requests a name may send in a minute.
        clock: Seconds; a clock that does not go back by default.

    >>> rate = Rate(2, clock=lambda: 0.0)
    >>> rate.take("ana"), rate.take("ana"), rate.take("bo")
    (None, None, None)
    >>> rate.take("ana")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    discreet.errors.TooManyRequests: Too many requests in a minute (found: more than 2). Try: Retry-After=30 ...
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic):
        """Take the limit."""
        self._most, self._clock = per_minute, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> None:
        """Count one request, or refuse it."""
        now = self._clock()
        level, at = self._buckets.pop(name, (float(self._most), now))
        level = min(self._most, level + (now - at) * self._most / 60)
        self._buckets[name] = (level - 1 if level >= 1 else level, now)
        while len(self._buckets) > _MOST:
            self._buckets.popitem(last=False)
        if level < 1:
            wait = max(1, round((1 - level) * 60 / self._most))
            raise TooManyRequests(
                "Too many requests in a minute.",
                found=f"more than {self._most}",
                fix=Fix("Retry-After", wait, note="seconds"),
            )
