"""The auditor's findings as one HTML file: no script, no font and no picture from elsewhere, in light and in dark.

Pictures are inline SVG, drawn by `discreet.plots` and turned into SVG by vl-convert (`discreet[plots]`). All that
comes from outside is escaped, and the page forbids scripts and connections to itself by a content policy, so that
it may be opened and passed on without a thought.
"""

from __future__ import annotations

import re
from html import escape
from types import ModuleType

import discreet
from discreet import plots
from discreet.audit.report.findings import Findings, Visit, confidence, delta, epsilons, summary
from discreet.audit.report.verdict import Report, Verdict
from discreet.errors import DiscreetError

_POINTS = 150  # more per attack only cover each other
_SIDE = 300  # pixels

_STYLE = """
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
.holds { color: var(--good); } .caught { color: var(--bad); font-weight: 700; }
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


def page(findings: Findings) -> str:
    """Return the findings as a page of HTML.

    >>> "nothing caught" in page(Findings())
    True
    """
    parts = [_summary(findings), _contents(findings)]
    parts += [_section(report, number) for number, report in enumerate(findings.reports)]
    if findings.visits:
        parts.append("<h2>Museum of broken mechanisms</h2>")
        parts += [_article(visit, number) for number, visit in enumerate(findings.visits)]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Privacy audit</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + f"\n<footer><small>discreet {discreet.__version__}</small></footer>\n</body>\n</html>\n"
    )


def require_pictures() -> ModuleType:
    """Return what turns charts into SVG, or say what to install.

    >>> require_pictures().__name__
    'vl_convert'
    """
    try:
        import altair  # noqa: F401
        import vl_convert
    except ImportError:
        raise DiscreetError(
            'The page needs altair and vl-convert. Install them with: pip install "discreet[plots]"'
        ) from None
    module: ModuleType = vl_convert
    return module


# -- mechanisms -------------------------------------------------------------------------------------------------


def _summary(findings: Findings) -> str:
    verdict = "caught" if findings.failed else "holds"
    return f'<h1>Privacy audit</h1>\n<p class="summary {verdict}">{escape(summary(findings))}</p>'


def _contents(findings: Findings) -> str:
    entries = [(f"subject-{i}", r.subject, _word(r.caught)) for i, r in enumerate(findings.reports)]
    entries += [
        (f"exhibit-{i}", v.exhibit.name, _word_in_the_museum(v.broken)) for i, v in enumerate(findings.visits)
    ]
    links = "\n".join(f'<li><a href="#{anchor}">{escape(name)}</a>: {word}</li>' for anchor, name, word in entries)
    return f"<nav><ul>\n{links}\n</ul></nav>" if len(entries) > 1 else ""


def _section(report: Report, number: int) -> str:
    words = "".join(
        f'<p class="words"><span class="caught">{escape(verdict.attack)}:</span> {escape(verdict.words)}</p>'
        for verdict in report.verdicts
        if verdict.caught
    )
    return (
        f'<section id="subject-{number}">\n<h2>{escape(report.subject)}: {_word(report.caught)}</h2>\n'
        f"<p>Claims <code>{escape(report.claim)}</code>.</p>\n"
        f"{_table(report.verdicts)}{words}{_figure(report, number)}\n</section>"
    )


def _table(verdicts: tuple[Verdict, ...]) -> str:
    head = "".join(f"<th>{name}</th>" for name in ("attack", "verdict"))
    head += "".join(
        f'<th class="number">{name}</th>' for name in ("claimed ε", "found ε ≥", "δ", "confidence", "seconds")
    )
    rows = "\n".join(map(_row, verdicts))
    return (
        f'<div class="scroll"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>\n'
    )


def _row(verdict: Verdict) -> str:
    numbers = (*epsilons(verdict), delta(verdict), confidence(verdict), f"{verdict.seconds:.1f}")
    cells = "".join(f'<td class="number">{escape(number)}</td>' for number in numbers)
    return f"<tr><td>{escape(verdict.attack)}</td><td>{_word(verdict.caught)}</td>{cells}</tr>"


def _word(caught: bool) -> str:
    return '<span class="caught">CAUGHT</span>' if caught else '<span class="holds">holds</span>'


# -- pictures ---------------------------------------------------------------------------------------------------


def _figure(report: Report, number: int) -> str:
    """What the attacks attained against what was declared; nothing where there is nothing to draw."""
    if report.declared is None:
        return ""
    attained = {v.attack: _thinned(v.attained) for v in report.verdicts if v.attained}
    spec = plots.tradeoff({"declared": report.declared}, attained).to_dict()
    spec |= {"background": None, "title": None, "width": _SIDE, "height": _SIDE, "padding": 4}
    svg: str = require_pictures().vegalite_to_svg(spec)
    # Clip paths are named by number in every picture, but names are shared by the whole page.
    svg = re.sub(r'(\bid="|url\(#)', rf"\g<1>picture{number}-", svg)
    below = " Points below the line, beyond what chance does, refute the claim." if attained else ""
    caption = f"Tests that tell two neighbours apart: what the claim allows, and what was reached.{below}"
    return f'\n<figure role="img" aria-label="{escape(caption)}">{svg}<figcaption>{caption}</figcaption></figure>'


def _thinned(points: tuple[tuple[float, float], ...]) -> list[tuple[float, float]]:
    ordered = sorted(set(points))
    return ordered[:: -(-len(ordered) // _POINTS)]


# -- the museum -------------------------------------------------------------------------------------------------


def _article(visit: Visit, number: int) -> str:
    exhibit, broken, mended = visit.exhibit, visit.broken, visit.mended
    entries = {
        "Story": escape(exhibit.story),
        "Sources": "<br>".join(map(escape, exhibit.sources)),
        f"Broken ({escape(broken.attack)})": f"{_word_in_the_museum(broken)}: {escape(broken.words)}",
        f"Mended ({escape(mended.attack)})": f"{_word(mended.caught)}: {escape(mended.words)}",
        "Ours": escape(exhibit.ours),
    }
    body = "\n".join(f"<dt>{term}</dt><dd>{text}</dd>" for term, text in entries.items())
    return (
        f'<article id="exhibit-{number}">\n<h3>{escape(exhibit.title)}</h3>\n'
        f"<code>{escape(exhibit.name)}</code>\n<dl>\n{body}\n</dl>\n</article>"
    )


def _word_in_the_museum(verdict: Verdict) -> str:
    if verdict.caught:
        return '<span class="holds">CAUGHT</span>'
    return '<span class="caught">NOT CAUGHT</span>'
