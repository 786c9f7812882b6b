"""Interrupt a draw between two lines: by a signal handler that draws as well, or by a fork."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

Result = TypeVar("Result")

python_fork: Callable[[], int] = os.fork
_fork: Callable[[], int] = ctypes.PyDLL(None).fork
_LONG = 1e6  # seconds: no thread asks for the interpreter's lock while it is this


def raw_fork() -> int:
    """A fork that runs none of Python's hooks.

    If another thread has asked for the interpreter's lock, the child would hand it over to that thread, which it
    does not have, and wait for ever. So no thread asks meanwhile.
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(_LONG)
    try:
        for _ in range(20):
            time.sleep(0.001)  # a thread that has asked already gets it
        return _fork()
    finally:
        sys.setswitchinterval(interval)


def at_every_line(interruption: Callable[[], Any], draw: Callable[[], Result]) -> Result:
    """Run `draw`, and `interruption` before each line of ours, where a signal handler might run."""

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_globals["__name__"].startswith("discreet."):
            return None
        if event == "line":
            interruption()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return draw()
    finally:
        sys.settrace(before)


def lines_of(draw: Callable[[], Any]) -> int:
    """How many lines of ours `draw` runs: its work, as far as Python decides about it."""
    lines: list[None] = []
    at_every_line(lambda: lines.append(None), draw)
    return len(lines)


def in_child(draw: Callable[[], list[int]], fork: Callable[[], int] = python_fork) -> list[int]:
    """What `draw` returns in a forked process."""
    receive, send = os.pipe()
    if (child := fork()) == 0:
        _report(draw, send)
    return _heard(child, receive, send)


def forked_midway(
    draw: Callable[[], list[int]], line: int, fork: Callable[[], int]
) -> tuple[list[int], list[int]]:
    """What `draw` returns in the parent and in a child forked off before the given line of it."""
    receive, send = os.pipe()
    lines: list[None] = []
    children: list[int] = []

    def interruption() -> None:
        lines.append(None)
        if len(lines) == line:
            children.append(fork())

    drawn = at_every_line(interruption, draw)
    if children == [0]:
        _report(lambda: drawn, send)
    return drawn, _heard(children[0], receive, send)


def _report(draw: Callable[[], list[int]], send: int) -> None:
    signal.alarm(30)  # a child that hangs on an inherited lock dies
    try:
        os.write(send, repr(draw()).encode())
    finally:
        os._exit(0)  # whatever happened: one process is enough to run the tests


def _heard(child: int, receive: int, send: int) -> list[int]:
    os.close(send)
    with os.fdopen(receive) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return [int(number) for number in said.strip("[]").split(",")]
