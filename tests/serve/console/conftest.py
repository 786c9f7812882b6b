"""One Chromium for the tests of pages, driven by Playwright, which reaches this machine and no other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest

from tests.serve.conftest import PASSWORD, Running
from tests.servers.browser import chromium

_OPTIONS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]
PATIENCE = 60_000  # milliseconds, where other tests run at the same time


_UNNAMED = """() => {
  const roles = "[role=img], [role=region], progress";
  const parts = `input:not([type=hidden], [hidden]), select, textarea, button, a, ${roles}`;
  const named = (e) => e.labels?.length || e.ariaLabel || e.ariaLabelledByElements?.length || e.textContent.trim();
  const bare = [...document.querySelectorAll(parts)].filter((e) => !named(e)).map((e) => e.outerHTML);
  const levels = [...document.querySelectorAll("h1, h2, h3, h4")].map((e) => Number(e.tagName[1]));
  const skipped = levels.filter((level, i) => i && level > levels[i - 1] + 1).map((level) => "skips to h" + level);
  return [...bare, ...skipped];
}"""


_AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
_WIDTH = ["scrollable-region-focusable", "target-size", "region", "link-in-text-block"]
_SERIOUS = """async (rules) => {
  const { violations } = await axe.run(document, rules ? { runOnly: { type: "rule", values: rules } } : {});
  const serious = violations.filter(({ impact }) => ["serious", "critical", "moderate"].includes(impact));
  const told = ({ id, impact, nodes }) => nodes.map(({ html }) => `${impact} ${id}: ${html.slice(0, 200)}`);
  return serious.flatMap(told);
}"""


@dataclass
class Visit:
    """A browser window of its own: its page, what it sent, and what it complained about."""

    address: str
    context: Any
    page: Any
    requests: list[tuple[str, str, bytes]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @property
    def posted(self) -> list[tuple[str, bytes, dict[str, str]]]:
        """The last part of the path, the body and the headers of what was posted."""
        made = zip(self.requests, self.headers, strict=True)
        return [
            (url.rpartition("/")[2], body, headers) for (method, url, body), headers in made if method == "POST"
        ]

    def go(self, path: str) -> Any:
        return self.page.goto(self.address + path)

    def sign_in(self, name: str) -> None:
        self.go("/login")
        self.page.get_by_label("Name").fill(name)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(f"{self.address}/")

    def unnamed(self) -> list[str]:
        """Return the controls, pictures and regions that a screen reader could not name, and skipped headings."""
        return list(self.page.evaluate(_UNNAMED))

    def barriers(self) -> list[str]:
        """Return what axe-core finds on this page that is serious, at both widths, in the light and in the dark.

        All rules run once. In the other three forms, what depends on colours and widths runs again.
        """
        if not self.page.evaluate("typeof axe === 'object'"):
            self.page.evaluate(_AXE.read_text())  # by the debugger: the page's policy stays as strict as it is
        before, found = dict(self.page.viewport_size), set[str]()
        forms = [(1280, "light"), (1280, "dark"), (320, "light"), (320, "dark")]
        for i, (width, scheme) in enumerate(forms):
            self.page.set_viewport_size({"width": width, "height": 800})
            self.page.emulate_media(color_scheme=scheme)
            said = self.page.evaluate(
                _SERIOUS, None if i == 0 else ["color-contrast", *_WIDTH[: 4 * (width == 320)]]
            )
            found |= {f"{width} px, {scheme}: {each}" for each in said}
        self.page.set_viewport_size(before)
        self.page.emulate_media(color_scheme="null")
        return sorted(found)

    def fits(self) -> bool:
        """Return whether nothing is wider than the window."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    command = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=command, args=_OPTIONS)
        yield started
        started.close()


@contextmanager
def windows(browser: Any, running: Running) -> Iterator[Any]:
    """Return a function that opens a window. At the end no window may have complained about the policy."""
    made: list[Visit] = []

    def opened(width: int = 1000, **options: Any) -> Visit:
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        found = Visit(running.address, context, page)
        page.on("request", lambda r: found.requests.append((r.method, r.url, r.post_data_buffer or b"")))
        page.on("request", lambda r: found.headers.append(r.headers))
        page.on("console", lambda m: found.complaints.append(m.text))
        page.on("pageerror", lambda e: found.complaints.append(str(e)))
        made.append(found)
        return found

    yield opened
    for one in made:
        one.context.close()
    said = [text for one in made for text in one.complaints]
    assert [text for text in said if "status of 4" not in text] == []


@pytest.fixture
def visit(browser: Any, running: Running) -> Iterator[Any]:
    """Return a function that opens a window on the service of a test module."""
    with windows(browser, running) as opened:
        yield opened
