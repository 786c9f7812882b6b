"""The page stands alone, runs nothing, and shows what was found as it was found."""

from __future__ import annotations

import builtins
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from discreet.audit.museum.exhibit import Exhibit
from discreet.audit.report.findings import Findings, Visit
from discreet.audit.report.html import page, require_pictures
from discreet.audit.report.verdict import Report, Verdict
from discreet.errors import DiscreetError
from discreet.privacy.tradeoff_curve import pure

EVIL = "<script>alert(1)</script>\"'&"
CURVE = pure(1)
POINTS = tuple((alarm / 1000, 1 - alarm / 1000) for alarm in range(1001))
HOLDS = Verdict(attack="exact", caught=False, words="Well.", claimed=1.0, found=0.9, attained=POINTS)
CAUGHT = Verdict(attack=EVIL, caught=True, words=EVIL, claimed=1.0, found=2.0, attained=((0.1, 0.2),))
VOID = {"meta", "br"}


class Reader(HTMLParser):
    """Collects tags, attributes and text, and fails on tags that are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def report(subject: str, *verdicts: Verdict, drawn: bool = True) -> Report:
    return Report(subject=subject, claim=EVIL, verdicts=verdicts, declared=CURVE if drawn else None)


def exhibit(text: str) -> Exhibit:
    return Exhibit(
        name=text, title=text, story=text, sources=(text,), broken=lambda: CAUGHT, mended=lambda: HOLDS, ours=text
    )


def test_nothing_from_outside_becomes_markup() -> None:
    visit = Visit(exhibit=exhibit(EVIL), broken=CAUGHT, mended=HOLDS)
    reader = Reader(page(Findings(reports=(report(EVIL, CAUGHT),), visits=(visit,))))
    assert "script" not in reader.tags
    assert reader.text.count(EVIL) >= 8


def test_the_page_needs_nothing_from_elsewhere_and_forbids_it() -> None:
    text = page(Findings(reports=(report("mine", HOLDS),)))
    reader = Reader(text)
    assert not {"script", "link", "img", "iframe", "object"} & set(reader.tags)
    assert not [
        value for name, value in reader.attributes if name in ("src", "href") and value and value[0] != "#"
    ]
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    assert "default-src 'none'" in text
    assert "prefers-color-scheme: dark" in text


def test_a_report_has_its_claim_its_table_and_its_picture() -> None:
    reader = Reader(page(Findings(reports=(report("mine", HOLDS, CAUGHT),), seconds=3)))
    assert reader.tags.count("svg") == 1
    for part in (
        "mine",
        "CAUGHT",
        "holds",
        "found ε ≥",
        "0.9",
        "declared",
        "1 mechanism, 2 attacks, 1 CAUGHT, 3.0 s.",
    ):
        assert part in reader.text


def test_points_that_would_cover_each_other_are_not_all_drawn() -> None:
    few = page(Findings(reports=(report("mine", HOLDS),)))
    assert 50 < few.count('aria-roledescription="point"') <= 150


def test_pictures_of_one_page_do_not_share_names() -> None:
    text = page(Findings(reports=(report("one", HOLDS), report("two", HOLDS))))
    names = re.findall(r'\bid="([^"]*)"', text)
    assert len(names) == len(set(names))
    used = set(re.findall(r"url\(#([^)]*)\)", text))
    assert used <= set(names)
    assert {name.partition("-")[0] for name in used} == {"picture0", "picture1"}


def test_what_declares_no_curve_has_no_picture() -> None:
    assert "<svg" not in page(Findings(reports=(report("mine", HOLDS, drawn=False),)))


def test_the_museum_has_every_story() -> None:
    visit = Visit(exhibit=exhibit("Once upon a time"), broken=HOLDS, mended=HOLDS)
    text = Reader(page(Findings(visits=(visit,)))).text
    assert text.count("Once upon a time") == 5  # name, title, story, source, and what we do
    assert "NOT CAUGHT" in text


def test_without_vl_convert_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "vl_convert":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DiscreetError, match=r'pip install "discreet\[plots\]"'):
        require_pictures()
