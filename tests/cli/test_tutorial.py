"""The tutorials, typed as they stand: same commands, same words, other noise."""

from __future__ import annotations

import doctest
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.local.collection.signing import opened
from tests.cli.desk import run

PAGES = Path(__file__).parents[2] / "docs" / "tutorials"
FILES = {"toml": "trips.toml", "sql": "questions.sql"}
"""What a page shows as a file, and the name that it gives it."""


def blocks(page: str) -> Iterator[tuple[str, str]]:
    text = (PAGES / page).read_text(encoding="utf-8")
    for found in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        yield found[1], found[2]


def commands(block: str) -> Iterator[tuple[list[str], str | None, str]]:
    """Each command of a block: its arguments, the file that it reads from stdin, and what it prints."""
    for typed in block.removeprefix("$ ").split("\n$ "):
        command, _, expected = typed.partition("\n")
        words, _, file = command.partition(" < ")
        yield shlex.split(words)[1:], file or None, expected


def shape(text: str) -> str:
    """Words without their numbers, and without how far they stand apart."""
    return " ".join(re.sub(r"-?\d[\d,.:-]*", "#", text).split())


@pytest.mark.parametrize(
    ("page", "count"),
    [
        ("first-answer.md", 12),
        ("university-survey.md", 5),
        pytest.param("many-questions.md", 3, marks=pytest.mark.slow),
    ],
)
def test_what_a_tutorial_shows_is_what_happens(
    page: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    typed = 0
    for language, block in blocks(page):
        if language == "python" and not block.startswith(">>>"):  # examples are run as doctests
            exec(compile(block, "the tutorial", "exec"), {})
        elif language in FILES:
            Path(FILES[language]).write_text(block, encoding="utf-8")
        elif language == "console":
            for command, file, expected in commands(block):
                result = run(*command, typed=Path(file).read_text(encoding="utf-8") if file else None)
                typed += 1
                assert (result.exit_code == 0) is not expected.startswith("discreet: "), result.output
                for part in map(shape, re.split("^…$", expected, flags=re.MULTILINE)):
                    assert part in shape(result.output), command
    assert typed == count


def test_the_survey_of_the_terminal_is_the_survey_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (PAGES / "university-survey.md").read_text(encoding="utf-8")
    told: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(page.partition("## 4.")[0]):
        exec(compile(example.source, "the tutorial", "single"), told)
    (design, *_) = (
        words
        for kind, block in blocks("university-survey.md")
        if kind == "console"
        for words, *_ in commands(block)
    )
    monkeypatch.chdir(tmp_path)
    assert run(*design).exit_code == 0
    signed, public = Path("cheating.json").read_bytes(), bytes.fromhex(Path("cheating.pub").read_text())
    assert opened(signed, public, today=told["date"](2026, 10, 1)) == told["cheating"]
