"""The tutorial of the first answer, typed as it stands: same commands, same words, other noise."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.desk import run

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "first-answer.md"


def blocks() -> Iterator[tuple[str, str]]:
    for found in re.finditer(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        yield found[1], found[2]


def commands(block: str) -> Iterator[tuple[list[str], str]]:
    for typed in block.removeprefix("$ ").split("\n$ "):
        command, _, expected = typed.partition("\n")
        yield shlex.split(command)[1:], expected


def shape(text: str) -> str:
    """Words without their numbers, and without how far they stand apart."""
    return " ".join(re.sub(r"-?\d[\d,.:-]*", "#", text).split())


def test_what_the_tutorial_shows_is_what_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    typed = 0
    for language, block in blocks():
        if language == "python":
            exec(compile(block, "the tutorial", "exec"), {})
        elif language == "toml":
            Path("trips.toml").write_text(block, encoding="utf-8")
        elif language == "console":
            for command, expected in commands(block):
                result = run(*command)
                typed += 1
                assert (result.exit_code == 0) is not expected.startswith("discreet: "), result.output
                for part in map(shape, re.split("^…$", expected, flags=re.MULTILINE)):
                    assert part in shape(result.output), command
    assert typed == 11
