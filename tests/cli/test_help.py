"""Help wraps at every width, shows flags without a type, and has the exit statuses in a table."""

from __future__ import annotations

import re

import pytest

from tests.cli.desk import run

COMMANDS = [
    (),
    ("demo",),
    ("audit",),
    ("budget",),
    ("describe",),
    ("preview",),
    ("ask",),
    ("oracle",),
    ("synthesize",),
    ("ledger",),
    ("local",),
    ("local", "design"),
    ("local", "simulate"),
    ("local", "encode"),
    ("local", "aggregate"),
    ("local", "estimate"),
]


@pytest.mark.parametrize("width", [50, 80])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_fits_the_terminal_and_names_no_type_of_python(command: tuple[str, ...], width: int) -> None:
    shown = run(*command, "--help", COLUMNS=str(width)).stdout
    assert max(map(len, shown.splitlines())) <= width
    assert not re.search(r"<(bool|str|int|float|path|list)\b", shown)
    assert "Exit status:" not in shown


def test_exit_statuses_are_a_table_in_which_long_lines_wrap() -> None:
    wide = run("ask", "--help", COLUMNS="80").stdout.partition("Exit status")[2]
    assert [int(code) for code in re.findall(r"^│ +(\d+)  ", wide, re.MULTILINE)] == [
        0,
        1,
        2,
        3,
        4,
        5,
        70,
        75,
        130,
    ]
    narrow = run("ask", "--help", COLUMNS="50").stdout.partition("Exit status")[2]
    assert re.search(r"│   3  The budget is not sufficient\. Nothing +│\n│      was charged\.", narrow)
