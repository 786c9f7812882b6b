"""Fragments are escaped and keep their look: in JupyterLab too, whose rules for tables and lists are strong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from jinja2 import UndefinedError

from discreet.ledger import Account, Balance, Budget, render
from discreet.render import html
from tests.servers.browser import Browser, Server
from tests.vault.releases import by_city, label

# The rules of JupyterLab 4 for HTML in an output (packages/rendermime and packages/outputarea, style/base.css).
JUPYTERLAB = """
.jp-RenderedHTMLCommon table { border-collapse: collapse; border-spacing: 0; border: none; table-layout: fixed;
  margin-left: auto; margin-bottom: 1em; margin-right: auto; }
.jp-RenderedHTMLCommon td, .jp-RenderedHTMLCommon th, .jp-RenderedHTMLCommon tr { vertical-align: middle;
  padding: 0.5em; line-height: normal; white-space: normal; max-width: none; border: none; }
:not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon td, :not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon th,
:not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon tr { text-align: right; }
.jp-RenderedHTMLCommon p { text-align: left; margin: 0; margin-bottom: 1em; }
.jp-OutputArea-output.jp-RenderedHTMLCommon table { margin-left: 0; margin-right: 0; }
.jp-OutputArea-output dl, .jp-OutputArea-output dt, .jp-OutputArea-output dd { display: block; }
.jp-OutputArea-output dl { width: 100%; overflow: hidden; padding: 0; margin: 0; }
.jp-OutputArea-output dt { font-weight: bold; float: left; width: 20%; padding: 0; margin: 0; }
.jp-OutputArea-output dd { float: left; width: 80%; padding: 0; margin: 0; }
"""


def test_values_are_escaped_and_fragments_are_not() -> None:
    inner = html.fragment("<i>{{ text }}</i>", text="<script>")
    assert html.fragment("<b>{{ inner }}{{ text }}</b>", inner=inner, text='"&') == (
        "<b><i>&lt;script&gt;</i>&#34;&amp;</b>"
    )


def test_attributes_cannot_be_left() -> None:
    assert html.fragment('<p title="{{ text }}"></p>', text='" onclick="x') == (
        '<p title="&#34; onclick=&#34;x"></p>'
    )


def test_a_value_that_is_missing_is_an_error_not_a_blank() -> None:
    with pytest.raises(UndefinedError):
        html.fragment("<p>{{ text }}</p>")


def test_a_value_is_never_taken_for_a_template() -> None:
    assert html.fragment("<p>{{ text }}</p>", text="{{ 7 * 7 }}") == "<p>{{ 7 * 7 }}</p>"


def test_a_page_forbids_scripts_and_connections() -> None:
    page = html.document("a < b", html.fragment("<p></p>"))
    assert "default-src 'none'" in page
    assert "<title>a &lt; b</title>" in page
    assert not re.search(r"https?://", page)


def specificity(selector: str) -> tuple[int, int, int]:
    """Return ids, classes and elements of a selector; that of :is and :not is that of their strongest argument."""
    rest, inner = selector, (0, 0, 0)
    for arguments in re.findall(r":(?:is|not)\(([^)]*)\)", selector):
        strongest = max(specificity(argument) for argument in arguments.split(","))
        inner = tuple(map(sum, zip(inner, strongest, strict=True)))  # type: ignore[assignment]
    rest = re.sub(r":(?:is|not)\([^)]*\)", "", rest)
    found = (
        len(re.findall(r"#[\w-]+", rest)),
        len(re.findall(r"\.[\w-]+", rest)),
        len(re.findall(r"(?:^|[\s>+~])[a-z]\w*", rest)),
    )
    return tuple(map(sum, zip(found, inner, strict=True)))  # type: ignore[return-value]


def selectors(sheet: str) -> list[str]:
    blocks = re.findall(r"([^{}]+)\{[^{}]*\}", sheet)
    parts = [re.split(r",(?![^()]*\))", block) for block in blocks]
    return [part.strip() for block in parts for part in block]


def test_every_selector_of_ours_outranks_every_one_of_jupyterlab() -> None:
    weakest = min(map(specificity, selectors(html.stylesheet())))
    strongest = max(map(specificity, selectors(JUPYTERLAB)))
    assert strongest == (0, 2, 1)
    assert weakest > strongest


# -- in a browser -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Show a fragment as an output of JupyterLab, and return what a script finds there."""
    server, browser = Server(), Browser(tmp_path_factory.mktemp("browser"))

    def shown(fragment: str, script: str) -> Any:
        page = (
            f'<style>{JUPYTERLAB}</style><div class="jp-RenderedHTMLCommon jp-OutputArea-output">{fragment}</div>'
        )
        start = "document.body.innerHTML = page; const style = (e) => getComputedStyle(e);"
        return browser.tab(server.origin).run(f"{start}\n{script}", page=page)

    yield shown
    browser.stopped()
    server.stopped()


@pytest.mark.xdist_group("browser")
def test_in_jupyterlab_text_is_on_the_left_and_numbers_on_the_right(lab: Any) -> None:
    script = """
      const cells = [...document.querySelectorAll("tbody td")];
      const number = cells.filter((cell) => cell.classList.contains("n"));
      const text = cells.filter((cell) => !cell.classList.contains("n"));
      return [text, number].map((all) => [...new Set(all.map((cell) => style(cell).textAlign))]);"""
    assert lab(by_city()._repr_html_(), script) == [["left"], ["right"]]


@pytest.mark.xdist_group("browser")
def test_in_jupyterlab_a_term_of_the_label_has_room_for_its_words(lab: Any) -> None:
    script = """
      document.body.style.width = "900px";
      const term = [...document.querySelectorAll("dt")].find((e) => e.textContent === "All releases together");
      const fact = term.nextElementSibling;
      const [a, b] = [term.getBoundingClientRect(), fact.getBoundingClientRect()];
      return [style(term).float, a.width > 120, b.left > a.right, Math.abs(a.top - b.top) < 2];"""
    assert lab(label()._repr_html_(), script) == ["none", True, True, True]


@pytest.mark.xdist_group("browser")
def test_without_the_weight_of_an_id_jupyterlab_would_win(lab: Any) -> None:
    weak = by_city()._repr_html_().replace(html.SCOPE, ".discreet")
    script = 'return style(document.querySelector("tbody td")).textAlign;'
    assert lab(weak, script) == "right"


@pytest.mark.xdist_group("browser")
def test_the_ledger_has_the_look_of_the_house_too(lab: Any) -> None:
    page = html.framed(render.page("people.ledger", [Balance(Account(), Budget(2))]))
    assert lab(page, 'return style(document.querySelector("tbody td")).textAlign;') == "left"
