"""Check that the documentation names what exists: links lead to files, and each package is listed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_layers import LAYERS, SOURCE

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
    for link in links:
        assert "://" in link or (page.parent / link).exists(), link


def test_every_package_is_on_the_page_of_the_architecture_in_the_order_of_the_layers() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    table = text.partition("| layer | responsibility |")[2].partition("\n\n")[0]
    listed = re.findall(r"^\| `(\w+)` \|", table, flags=re.M)
    assert listed == [layer for layer in LAYERS if layer in listed]
    assert {path.parent.name for path in SOURCE.glob("*/__init__.py")} <= set(listed)
