"""Count what the service does, as Prometheus text: public facts only.

There are counters and no durations: how long a question took depends on the rows.
"""

from __future__ import annotations

import threading
from collections import Counter

_HELP = {
    "requests": "Requests by status.",
    "questions": "Questions by verb and status.",
    "refused_beside_question": "Requests refused because a question of the same analyst was running.",
    "refused_rate": "Requests refused because there were too many.",
    "door_catalogue_unknown": "Catalogue queries of database tools that were answered with no rows.",
    "workers_lost": "Worker processes that ended by themselves.",
}


class Metrics:
    """Counters, by name and labels.

    >>> metrics = Metrics()
    >>> metrics.count("requests", status="200")
    >>> print(metrics.text().splitlines()[2])
    discreet_requests_total{status="200"} 1
    """

    def __init__(self) -> None:
        """Start at zero."""
        self._counts: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
        self._lock = threading.Lock()

    def count(self, name: str, **labels: str) -> None:
        """Add one to a counter. Labels are few and fixed: never a name that a client chooses."""
        with self._lock:
            self._counts[name, tuple(sorted(labels.items()))] += 1

    def text(self) -> str:
        """Return all counters as Prometheus reads them."""
        with self._lock:
            counts = dict(self._counts)
        lines = []
        for name in sorted({name for name, _ in counts}):
            lines += [f"# HELP discreet_{name}_total {_HELP[name]}", f"# TYPE discreet_{name}_total counter"]
            for (one, labels), value in sorted(counts.items()):
                if one == name:
                    shown = ",".join(f'{key}="{text}"' for key, text in labels)
                    lines.append(f"discreet_{name}_total{'{' + shown + '}' if shown else ''} {value}")
        return "\n".join([*lines, ""])
