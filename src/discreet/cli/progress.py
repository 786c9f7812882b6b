"""Show progress on stderr, if it is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeAlias, TypeVar

T = TypeVar("T")

Say: TypeAlias = Callable[[str], None]
"""Called with a word or two about the current step."""

_BESIDE = 48  # columns for the bar, the count and the time


def one_by_one(jobs: Sequence[tuple[str, Callable[[Say], T]]], *, quiet: bool = False) -> Iterator[T]:
    """Run named jobs one after the other, with a progress bar.

    >>> [*one_by_one([("first", lambda say: 1), ("second", lambda say: 2)])]
    [1, 2]
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = BarColumn(bar_width=20), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}")
    idle = quiet or not console.is_terminal
    room = max(8, console.width - _BESIDE)
    # The bar is drawn when a job reports, not by a thread: attacks on generators fork, and threads do not survive.
    with Progress(*columns, console=console, transient=True, auto_refresh=False, disable=idle) as bar:
        task = bar.add_task("", total=len(jobs))

        def draw(done: int, name: str, doing: str = "") -> None:
            text = f"{doing}: {name}" if doing else name
            short = text if len(text) <= room else f"{text[: room - 1]}…"
            bar.update(task, completed=done, description=escape(short), refresh=True)

        for done, (name, job) in enumerate(jobs):
            draw(done, name)
            yield job(partial(draw, done, name))


@contextmanager
def stages() -> Iterator[Callable[[str, float], None] | None]:
    """Give a function that shows a stage and the part of it that is done; None if stderr is not a terminal.

    >>> with stages() as told:
    ...     print(told)
    None
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = BarColumn(bar_width=20), TimeElapsedColumn(), TextColumn("{task.description}")
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda stage, part: bar.update(task, completed=part, description=stage, refresh=True)


@contextmanager
def waiting(doing: str) -> Iterator[None]:
    """Show that work is going on whose end is not known."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(doing):
        yield
