"""Check that the documentation names what exists, and that its site is whole: links, anchors, the API."""

from __future__ import annotations

import html.parser
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

import discreet
from tests.test_layers import LAYERS, SOURCE

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "tests", "bench")
MODULES = [path.relative_to(ROOT).as_posix() for name in FOLDERS for path in (ROOT / name).rglob("*.py")]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
    for link in links:
        assert "://" in link or (page.parent / link).exists(), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_module_that_is_named_exists(page: Path) -> None:
    for name in re.findall(r"`([\w/-]+\.py)`", page.read_text()):
        assert any(f"/{path}".endswith(f"/{name}") for path in MODULES), name


def test_every_package_is_on_the_page_of_the_architecture_in_the_order_of_the_layers() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    table = text.partition("| layer | responsibility |")[2].partition("\n\n")[0]
    listed = re.findall(r"^\| `(\w+)` \|", table, flags=re.M)
    assert listed == [layer for layer in LAYERS if layer in listed]
    assert {path.parent.name for path in SOURCE.glob("*/__init__.py")} <= set(listed)


# -- the site ---------------------------------------------------------------------------------------------------


class Reader(html.parser.HTMLParser):
    """Collects the anchors of a page, its links, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag in ("script", "img", "link", "iframe", "source"):
            self.loaded += [found[name] for name in ("src", "href") if name in found]


def read(page: Path) -> Reader:
    reader = Reader()
    reader.feed(page.read_text(encoding="utf-8"))
    return reader


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Reader]:
    """The pages of the site, built as `make docs` builds them."""
    folder = tmp_path_factory.mktemp("documentation")
    build = [sys.executable, f"{ROOT}/docs/theme/build.py", str(folder)]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {page: read(page) for page in (folder / "site").rglob("*.html") if page.name != "404.html"}
    assert len(pages) > len(PAGES) - 2  # the README of the package is not a page of its own
    return pages


@pytest.mark.slow
@pytest.mark.xdist_group("site")
def test_every_link_of_the_site_leads_to_a_page_and_to_an_anchor_on_it(site: dict[Path, Reader]) -> None:
    broken = []
    for page, found in site.items():
        for link in [*found.links, *found.loaded]:
            path, anchor = urldefrag(link)
            if re.match(r"[a-z]+:", link):
                continue
            target = (page.parent / unquote(path)).resolve() if path else page
            if not target.is_file() or (anchor and target in site and unquote(anchor) not in site[target].anchors):
                broken.append(f"{page.name}: {link}")
    assert broken == []


@pytest.mark.slow
@pytest.mark.xdist_group("site")
def test_no_page_loads_anything_from_another_host(site: dict[Path, Reader]) -> None:
    (root,) = (
        page.parent for page in site if page.name == "index.html" and (page.parent / "sitemap.xml").exists()
    )
    assert [link for found in site.values() for link in found.loaded if re.match(r"(https?:)?//", link)] == []
    for style in root.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?https?:", style.read_text(encoding="utf-8")), style.name


@pytest.mark.slow
@pytest.mark.xdist_group("site")
def test_every_public_name_is_in_the_reference(site: dict[Path, Reader]) -> None:
    anchors = set().union(*(found.anchors for found in site.values()))
    packages = [
        name for name in discreet.__all__ if name.islower() and name not in ("select", "where", "__version__")
    ]
    names = {f"discreet.{name}": name for name in discreet.__all__ if name not in ("__version__", *packages)}
    for package in packages:
        module = importlib.import_module(f"discreet.{package}")
        for name in getattr(module, "__all__", ()):
            public = getattr(module, name)
            # A name that is also a module's stands on its page under its full path.
            full = public.__name__ if inspect.ismodule(public) else f"{getattr(public, '__module__', '')}.{name}"
            names[f"discreet.{package}.{name}"] = full
    assert [name for name, full in names.items() if not {name, full} & anchors] == []


@pytest.mark.slow
@pytest.mark.xdist_group("site")
def test_no_example_became_a_quotation(site: dict[Path, Reader]) -> None:
    for page in site:
        if page.parent.name == "api":
            assert "<blockquote>" not in page.read_text(encoding="utf-8"), page.name
