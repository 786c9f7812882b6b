"""Write structured logs: one JSON object per line, with public facts only.

A line has the names of accounts and vaults, verbs, statuses, and the fingerprint of a request. It has no text of a
query, no value, no argument and no text of an exception: these may hold what is private.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TextIO


class Log:
    """Writes events as lines of JSON.

    >>> import sys
    >>> Log(sys.stdout, stamp=lambda: "2026-01-01T00:00:00Z").note("started", workers=2)
    {"at": "2026-01-01T00:00:00Z", "event": "started", "workers": 2}
    """

    def __init__(self, to: TextIO | None = None, stamp: object = None):
        """Take the stream; stderr by default."""
        self._to = to
        self._stamp = stamp if callable(stamp) else _now

    def note(self, event: str, **facts: str | int | float | bool | None) -> None:
        """Write one event. The facts must be public."""
        line = json.dumps({"at": self._stamp(), "event": event, **facts})
        print(line, file=self._to or sys.stderr, flush=True)


def quiet() -> None:
    """Silence the loggers of libraries: their tracebacks quote exceptions, whose text may hold a value."""
    for name in ("litestar", "uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).handlers = []
        logging.getLogger(name).propagate = False
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
