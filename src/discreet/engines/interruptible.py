"""Work that an interrupt can stop: another thread does it, and the caller's only waits.

Python tells the main thread of a Ctrl-C only between two of its own instructions, so a thread that is inside of an
engine hears nothing until the engine is done. One that waits for an Event hears it at once, has the engine stop,
and lets the interrupt go on when the work has ended: nothing runs on behind it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

Done = TypeVar("Done")

_PAUSE = 0.1  # seconds


def started(work: Callable[[], None]) -> None:
    """Begin some work in a thread of its own."""
    threading.Thread(target=work, daemon=True).start()


def waited_for(
    work: Callable[[], Done],
    *,
    stop: Callable[[], None],
    meanwhile: Callable[[], None] | None = None,
    begin: Callable[[Callable[[], None]], object] = started,
) -> Done:
    """Return what some work returns, or raise what it raises. An interrupt calls `stop` until the work has ended.

    `meanwhile` is called ten times a second while it lasts. `begin` hands the work to another thread.

    >>> waited_for(lambda: 6 * 7, stop=lambda: None)
    42
    """
    done: list[Done] = []
    failures: list[BaseException] = []
    begun, called_off = threading.Event(), threading.Event()
    ended = threading.Event()  # an interrupt in Thread.join would have Python 3.11 take the thread for dead

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
        # Never without an end: a library that handles signals itself can keep an endless wait from hearing them.
        while not ended.wait(_PAUSE):
            if meanwhile is not None:
                meanwhile()
    except BaseException:
        called_off.set()
        while begun.is_set() and not ended.is_set():
            stop()  # more than once: the engine may not have begun when it is first told to
            ended.wait(_PAUSE)
        raise
    if failures:
        raise failures.pop()
    return done.pop()
