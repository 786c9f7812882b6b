"""Run work that an interrupt can stop: another thread does it while the caller's thread waits.

Python delivers a Ctrl-C to the main thread only between two Python instructions, so a thread that is inside an
engine receives nothing until the engine is done. A thread that waits for an Event receives it at once, stops the
engine, and raises the interrupt when the work has ended, so no work continues in the background.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

Done = TypeVar("Done")

_PAUSE = 0.1  # seconds


def started(work: Callable[[], None]) -> None:
    """Start some work in a thread of its own."""
    threading.Thread(target=work, daemon=True).start()


def waited_for(
    work: Callable[[], Done],
    *,
    stop: Callable[[], None],
    meanwhile: Callable[[], None] | None = None,
    begin: Callable[[Callable[[], None]], object] = started,
) -> Done:
    """Return what some work returns, or raise what it raises. An interrupt calls `stop` until the work has ended.

    Args:
        work: The work, done in another thread.
        stop: Tells the engine to stop.
        meanwhile: Called ten times a second while the work lasts; nothing by default.
        begin: Hands the work to another thread; a new one by default.

    >>> waited_for(lambda: 6 * 7, stop=lambda: None)
    42
    """
    done: list[Done] = []
    failures: list[BaseException] = []
    begun, called_off = threading.Event(), threading.Event()
    ended = threading.Event()  # after an interrupt in Thread.join, Python 3.11 treats the thread as dead

    def worker() -> None:
        begun.set()
        try:
            if not called_off.is_set():
                done.append(work())
        except BaseException as failure:
            failures.append(failure)
        finally:
            ended.set()

    try:
        begin(worker)
        # The wait has a timeout, because a library with its own signal handler can keep an endless wait asleep.
        while not ended.wait(_PAUSE):
            if meanwhile is not None:
                meanwhile()
    except BaseException:
        called_off.set()
        while begun.is_set() and not ended.is_set():
            stop()  # repeatedly, because the engine may not have begun when it is first told to stop
            ended.wait(_PAUSE)
        raise
    if failures:
        raise failures.pop()
    return done.pop()
