"""Make collections for the tests of the system."""

from __future__ import annotations

from datetime import date
from typing import Any

from discreet.local.collection.collection import Collection

WINDOW = ("2026-01-01", "2026-12-31")
MAY = date(2026, 5, 1)
COLOURS = ["red", "green", "blue", "something else"]


def colours(**changes: Any) -> Collection:
    """Return the survey of colours, with some changes."""
    usual: dict[str, Any] = {"domain": COLOURS, "window": WINDOW, "minimum_cohort": 10}
    if "protocol" not in changes:
        usual |= {"protocol": "grr", "epsilon": "1"}
    return Collection.design("colours", **(usual | changes))
