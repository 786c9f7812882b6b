"""The terminal shows everything in its column, at any usual width, and the verdicts in full."""

from __future__ import annotations

import io
import math
import re

import pytest
from rich.console import Console

from discreet.audit.museum.exhibit import Exhibit
from discreet.audit.report.findings import Findings, Visit
from discreet.audit.report.terminal import show
from discreet.audit.report.verdict import Report, Verdict

CLAIM = "DiscreteLaplace(scale=10, sensitivity=1)"
HOLDS = Verdict(attack="exact", caught=False, words="All is well.", claimed=1.0, found=0.98765, seconds=0.31)
CAUGHT = Verdict(
    attack="black box",
    caught=True,
    words="An answer below −3 came 1,204 times of 200,000 on the one table, and never on [bold]the other[/bold].",
    claimed=1.0,
    found=math.inf,
    delta=1e-6,
    confidence=0.999999,
    seconds=12.5,
)
WORDS_ONLY = Verdict(attack="randomness", caught=False, words="Every process draws its own.")
HONEST = Report(subject="Laplace(scale=10)", claim=CLAIM, verdicts=(HOLDS, WORDS_ONLY))
BROKEN = Report(subject="Mine", claim=CLAIM, verdicts=(CAUGHT,))
EXHIBIT = Exhibit(
    name="sparse-vector-3",
    title="The answer reuses the noise of the comparison",
    story="A variant was published, and used.",
    sources=("Lyu, Su and Li 2017, algorithm 3", "opendp #2911"),
    broken=lambda: CAUGHT,
    mended=lambda: HOLDS,
    ours="Fresh noise for every answer.",
)


def shown(findings: Findings, width: int = 80, *, quiet: bool = False, stories: bool = False) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    show(findings, console, quiet=quiet, stories=stories)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("width", [80, 100, 120, 140, 200])
def test_nothing_is_cut_off(width: int) -> None:
    text = shown(Findings(reports=(HONEST, BROKEN)), width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    for part in ("attack", "verdict", "claimed ε", "found ε ≥", "δ", "confidence", "seconds"):
        assert part in text
    for part in ("Laplace(scale=10)", "0.9876", "certain", "0.3", "CAUGHT", "∞", "1e-06", "0.999999", "12.5"):
        assert part in text


@pytest.mark.parametrize(
    ("width", "headings"),
    [
        (73, ["attack", "verdict", "claimed ε", "found ε ≥", "δ", "confidence", "seconds"]),
        (60, ["attack", "verdict", "claimed ε", "found ε ≥", "δ"]),
        (40, ["attack", "verdict", "claimed ε"]),
        (5, ["attac"]),
    ],
)
def test_a_narrow_terminal_shows_fewer_columns_and_cuts_none(width: int, headings: list[str]) -> None:
    text = shown(Findings(reports=(HONEST,)), width)
    assert re.split(r"\s{2,}", text.splitlines()[0].strip()) == headings or width == 5
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text or width == 5
    assert ("holds" in text) == (width > 5)


@pytest.mark.parametrize("width", [80, 140])
def test_numbers_stand_below_their_headings(width: int) -> None:
    lines = shown(Findings(reports=(HONEST, BROKEN)), width).splitlines()
    heading = next(line for line in lines if "found ε ≥" in line)
    for number in ("0.9876", "∞"):
        row = next(line for line in lines if number in line)
        assert row.index(number) + len(number) == heading.index("found ε ≥") + len("found ε ≥")


def test_a_caught_claim_is_described_in_full_and_one_that_holds_is_not() -> None:
    text = flat(shown(Findings(reports=(HONEST, BROKEN))))
    assert flat(CAUGHT.words) in text
    assert HOLDS.words not in text
    assert text.endswith("2 mechanisms, 3 attacks, 1 CAUGHT, 0.0 s.")


def test_quiet_is_silent_unless_something_was_caught() -> None:
    assert shown(Findings(reports=(HONEST,)), quiet=True) == ""
    text = flat(shown(Findings(reports=(HONEST, BROKEN)), quiet=True))
    assert text.startswith("Mine, black box: CAUGHT")
    assert "Laplace" not in text


def test_a_subject_that_no_attack_fits_is_shown_as_such() -> None:
    unattacked = Report(subject="Odd", claim="Pure(epsilon=1)", verdicts=())
    assert "none fits" in shown(Findings(reports=(unattacked,)))
    assert "none fits" in shown(Findings(reports=(unattacked,)), 160)


@pytest.mark.parametrize("width", [80, 120])
def test_the_museum_is_a_table_with_what_the_auditor_says(width: int) -> None:
    text = shown(Findings(visits=(Visit(exhibit=EXHIBIT, broken=CAUGHT, mended=HOLDS),)), width)
    assert max(map(len, text.splitlines())) <= width
    for part in (
        "sparse-vector-3",
        "CAUGHT",
        "black box",
        "holds",
        "1 exhibit, every one caught, none once mended",
    ):
        assert part in text
    assert EXHIBIT.story not in text


def test_an_exhibit_that_escapes_and_a_mended_one_that_is_caught_are_described_below_the_table() -> None:
    text = flat(shown(Findings(visits=(Visit(exhibit=EXHIBIT, broken=HOLDS, mended=CAUGHT),))))
    assert "sparse-vector-3, exact: NOT CAUGHT All is well." in text
    assert f"sparse-vector-3, mended, black box: CAUGHT {flat(CAUGHT.words)}" in text


def test_one_exhibit_is_printed_with_its_story_its_sources_and_our_solution() -> None:
    text = flat(shown(Findings(visits=(Visit(exhibit=EXHIBIT, broken=CAUGHT, mended=HOLDS),)), stories=True))
    for part in (EXHIBIT.title, EXHIBIT.story, *EXHIBIT.sources, EXHIBIT.ours, flat(CAUGHT.words), HOLDS.words):
        assert part in text
