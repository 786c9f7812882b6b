"""Let what depends on rows leave on ticks only: 1, 2, 4 … quanta after the request arrived.

The time of an answer then shows how long the computation took only to the next doubling: at most
log₂(deadline / quantum) + 2 values. The quantum is public and fixed, never learnt from the rows.

A tick alone is not enough: an analyst who sends a second request meanwhile measures how busy the server is. So
`questions` lets one request of an analyst run at a time, `workers` computes in other processes, and whatever ends
with a question (its reply, its place in the queue, its state for a poll) changes at its tick and not before.
"""

from __future__ import annotations

import asyncio


def tick(elapsed: float, quantum: float) -> float:
    """Return the first tick at or after so many seconds.

    >>> [tick(elapsed, 0.25) for elapsed in (0.0, 0.1, 0.25, 0.26, 0.9)]
    [0.25, 0.25, 0.25, 0.5, 1.0]
    """
    due = quantum
    while due < elapsed:
        due *= 2
    return due


def last_tick(elapsed: float, quantum: float) -> float:
    """Return the last tick at or before so many seconds; 0 before the first one.

    >>> [last_tick(elapsed, 0.25) for elapsed in (0.1, 0.25, 0.9, 1.0)]
    [0.0, 0.25, 0.5, 1.0]
    """
    found, due = 0.0, quantum
    while due <= elapsed:
        found, due = due, due * 2
    return found


async def until_tick(begun: float, quantum: float) -> None:
    """Wait for the next tick of a request that arrived at a time of the event loop."""
    loop = asyncio.get_running_loop()
    due = begun + tick(loop.time() - begun, quantum)
    # call_at may fire up to the clock's resolution early; an answer never leaves before its tick.
    while (left := due - loop.time()) > 0:
        await asyncio.sleep(left)
