"""Render HTML from templates that escape every value, in one stylesheet.

    fragment("<p>{{ text }}</p>", text=text)   a piece of a page: values are escaped, fragments are not
    framed(fragment)                           what a notebook shows: a fragment in the house style
    document("Title", fragment)                a whole page without scripts, fonts or pictures from elsewhere

A notebook brings its own rules for tables and lists. JupyterLab has, for example, the selector
`:not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon td`. It has the weight of two classes and one element, and would
outrank `.discreet td`. Every selector here therefore begins with `:is(.discreet, #discreet)`, which matches the
class and has the weight of an id.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from discreet.render.terminal import plain

if TYPE_CHECKING:
    from jinja2 import Environment, Template
    from markupsafe import Markup

SCOPE = ":is(.discreet, #discreet)"
"""Where the rules of a fragment apply, with the weight of an id."""

RULES: Mapping[str, str] = {
    "table": "border-collapse:collapse;table-layout:auto;margin:.4em 0",
    "caption": "text-align:left;opacity:.75;padding:.15em 0",
    "th, td": "text-align:left;vertical-align:baseline;padding:.15em .9em .15em 0;border:0;"
    "border-bottom:1px solid #8884;white-space:nowrap",
    "td.text": "white-space:normal;max-width:46em",
    ".n": "text-align:right;font-variant-numeric:tabular-nums",
    ".e": "opacity:.65;padding-right:1.6em",
    "p": "margin:.3em 0;max-width:46em",
    ".soft": "opacity:.75",
    ".test": "font-weight:700;color:#b3261e",
    "code": "white-space:pre-wrap",
    "h4": "margin:.8em 0 .2em",
    "dl": "display:grid;grid-template-columns:minmax(5em,1fr) minmax(0,4fr);gap:.15em 1em;margin:0;width:auto;"
    "max-width:56em",
    "dt, dd": "display:block;float:none;width:auto;margin:0;padding:0",
    "dt": "opacity:.65;font-weight:normal",
    "dd": "overflow-wrap:anywhere",
}
"""The stylesheet of everything that a notebook shows: selectors inside the scope, and their declarations."""

PAGE_STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #fff; --soft: #666; --line: #ddd; --good: #00694e;
  --bad: #b3261e; --shade: #f6f6f4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e9e9e6; --paper: #161616; --soft: #a3a3a0; --line: #3a3a3a;
  --good: #5fd3ae; --bad: #ff8a80; --shade: #1f1f1f; } }
body { color: var(--ink); background: var(--paper); font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto;
  max-width: 62rem; padding: 0 1.25rem; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; margin-bottom: .2rem; } h2 { font-size: 1.25rem; } section h2 { margin-top: 0; }
h3 { font-size: 1.05rem; margin: 0 0 .3rem; }
section, article, footer { border-top: 1px solid var(--line); padding-top: 1.2rem; margin-top: 1.6rem; }
code { font: .92em ui-monospace, monospace; } small, figcaption, dt { color: var(--soft); }
.holds { color: var(--good); } .caught { color: var(--bad); font-weight: 700; } .undecided { font-weight: 700; }
.summary { font-size: 1.1rem; font-weight: 600; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .9rem .3rem 0; vertical-align: top;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; white-space: nowrap; } .number { text-align: right; font-variant-numeric: tabular-nums; }
.words { background: var(--shade); padding: .6rem .9rem; white-space: pre-wrap; margin: .8rem 0 0; }
dl { margin: .8rem 0 0; } dd { margin: 0 0 .8rem; white-space: pre-wrap; }
figure { margin: 1rem 0 0; } figure svg { max-width: 100%; height: auto; display: block; }
@media (prefers-color-scheme: dark) { figure svg { filter: brightness(1.3); } }
nav ul { columns: 22rem; padding: 0; list-style: none; } nav li { break-inside: avoid; margin-bottom: .3rem; }
nav a { color: inherit; }
figure svg text { fill: currentColor; } figure svg .role-axis-grid line { stroke: var(--line); }
"""
"""The stylesheet of a whole page, in light and in dark."""

_DOCUMENT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>{{ style }}</style>
</head>
<body>
{{ body }}
</body>
</html>
"""


def fragment(template: str, /, **values: Any) -> Markup:
    """Fill a Jinja template. Every value is escaped, unless it is itself a fragment.

    Args:
        template: The template, which must be a constant of the program.
        values: The values by name. The filter `plain` writes control characters as escapes.

    >>> print(fragment("<p>{{ text }}</p>", text="1 < 2"))
    <p>1 &lt; 2</p>
    >>> print(fragment("<b>{{ inner }}</b>", inner=fragment("<i>{{ x }}</i>", x="&")))
    <b><i>&amp;</i></b>
    """
    return trusted(_template(template).render(values))


def trusted(html: str) -> Markup:
    """Mark text as HTML that is already escaped, such as a stylesheet or a drawn picture."""
    from markupsafe import Markup

    return Markup(html)  # only constants, and what fragment() escaped, come here


def framed(inner: str) -> str:
    """Return what a notebook shows: HTML that is already escaped, in the house style.

    >>> framed(fragment("<p>{{ x }}</p>", x="hello")).endswith("<p>hello</p></div>")
    True
    """
    # A table that is wider than a phone scrolls by itself; the page does not.
    return f'<style>{stylesheet()}</style><div class="discreet" style="overflow-x:auto">{inner}</div>'


@cache
def stylesheet() -> str:
    """Return the stylesheet of a fragment, each selector with the weight of an id."""
    return "".join(
        f"{','.join(f'{SCOPE} {part.strip()}' for part in selector.split(','))}{{{declarations}}}"
        for selector, declarations in RULES.items()
    )


def document(title: str, body: str) -> str:
    """Return a whole page. Its content policy forbids scripts and connections.

    Args:
        title: The title, as plain text.
        body: HTML that is already escaped.

    >>> "<title>a &lt; b</title>" in document("a < b", fragment("<p></p>"))
    True
    """
    return str(fragment(_DOCUMENT, title=title, style=trusted(PAGE_STYLE), body=trusted(body)))


@lru_cache(maxsize=64)
def _template(source: str) -> Template:
    return _environment().from_string(source)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, StrictUndefined

    made = Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    made.filters["plain"] = plain
    return made
