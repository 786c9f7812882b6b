"""Progress is shown on a terminal, with the name of what is done."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator

import pytest
import rich.console

from discreet.cli.progress import one_by_one, stages

Shown = Callable[[], str]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shown]:
    """A terminal of 100 columns instead of stderr, and what was written to it."""
    written = io.StringIO()
    console = rich.console.Console

    def made(**_: object) -> rich.console.Console:
        return console(file=written, force_terminal=True, width=100, color_system=None)

    monkeypatch.setattr(rich.console, "Console", made)
    return lambda: re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.getvalue())  # type: ignore[return-value]


def test_a_stage_is_named_beside_its_bar(terminal: Shown) -> None:
    with stages() as told:
        assert told is not None
        told("weighing rows", 0.5)
    assert "weighing rows" in terminal()


def test_a_job_and_its_step_are_named_beside_the_bar(terminal: Shown) -> None:
    assert [*one_by_one([("Laplace(scale=1)", lambda say: say("exact"))])] == [None]
    assert "exact: Laplace(scale=1)" in terminal()
