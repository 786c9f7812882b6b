"""Make collections, and servers that counted reports of them, for the tests of the system."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np

from discreet.local.collection.collection import Collection
from discreet.local.device.wire import batch, frames
from discreet.local.server.aggregator import Aggregator

WINDOW = ("2026-01-01", "2026-12-31")
MAY = date(2026, 5, 1)
COLOURS = ["red", "green", "blue", "something else"]


def colours(**changes: Any) -> Collection:
    """Return the survey of colours, with some changes."""
    usual: dict[str, Any] = {"domain": COLOURS, "window": WINDOW, "minimum_cohort": 10}
    if "protocol" not in changes:
        usual |= {"protocol": "grr", "epsilon": "1"}
    return Collection.design("colours", **(usual | changes))


SURVEY = colours()


def sent(n: int = 1000, collection: Collection = SURVEY, value: int = 0) -> bytes:
    """Return a batch of n reports on one value."""
    return batch(frames(collection, collection.randomiser.encode(np.full(n, value))))


def counted(*data: bytes, collection: Collection = SURVEY) -> Aggregator:
    """Return a server that counted these batches."""
    server = Aggregator(collection)
    for each in data:
        server.update(each)
    return server
