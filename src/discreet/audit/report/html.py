"""Render the auditor's findings as one HTML file: no script, font or picture from elsewhere, in light and in dark.

Pictures are inline SVG, drawn by `discreet.plots` and converted to SVG by vl-convert (`discreet[plots]`). Every
value is escaped, and the content policy of the page forbids scripts and connections. The file can therefore be
opened and passed on safely.
"""

from __future__ import annotations

import re
from types import ModuleType
from typing import TYPE_CHECKING

import discreet
from discreet import plots
from discreet.audit.report.findings import Findings, Visit, confidence, delta, epsilons, factor, summary, word
from discreet.audit.report.verdict import Report, Verdict
from discreet.errors import DiscreetError
from discreet.render.html import document, fragment, trusted

if TYPE_CHECKING:
    from markupsafe import Markup

_CLASSES = {"CAUGHT": "caught", "undecided": "undecided", "holds": "holds"}
_POINTS = 150  # points per attack in a picture, because more only cover each other
_SIDE = 300  # pixels

_BODY = """<h1>Privacy audit</h1>
<p class="summary {{ verdict }}">{{ summary }}</p>
{% if entries | length > 1 %}<nav><ul>
{% for anchor, name, word in entries %}<li><a href="#{{ anchor }}">{{ name }}</a>: {{ word }}</li>
{% endfor %}</ul></nav>
{% endif %}{% for section in sections %}{{ section }}
{% endfor %}{{ powers }}{% if articles %}<h2>Museum of broken mechanisms</h2>
{% for article in articles %}{{ article }}
{% endfor %}{% endif %}<footer><small>discreet {{ version }}</small></footer>"""
_SECTION = """<section id="subject-{{ number }}">
<h2>{{ report.subject }}: {{ word }}</h2>
<p>Claims <code>{{ report.claim }}</code>.</p>
<div class="scroll"><table>
<thead><tr>{% for name in words %}<th>{{ name }}</th>{% endfor %}{% for name in numbers %}<th class="number">\
{{ name }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in rows %}<tr><td>{{ row.attack }}</td><td>{{ row.word }}</td>{% for number in row.numbers %}\
<td class="number">{{ number }}</td>{% endfor %}</tr>
{% endfor %}</tbody></table></div>
{% for verdict in report.verdicts if verdict.caught or verdict.undecided %}<p class="words">\
<span class="{{ "caught" if verdict.caught else "undecided" }}">{{ verdict.attack }}:</span> \
{{ verdict.words }}</p>{% endfor %}{{ figure }}
</section>"""
_POWERS = """<section>
<h2>Power</h2>
<p>The noise of each mechanism was weakened step by step until an attack caught it.</p>
<div class="scroll"><table>
<thead><tr><th>subject</th><th>attack</th><th>weakened</th><th class="number">caught from</th></tr></thead>
<tbody>
{% for power in powers %}<tr><td>{{ power.subject }}</td><td>{{ power.attack or "sampling only" }}</td>\
<td>{{ power.weakened or "–" }}</td><td class="number">{{ factor(power) }}</td></tr>
{% endfor %}</tbody></table></div>
</section>
"""
_FIGURE = """
<figure role="img" aria-label="{{ caption }}">{{ svg }}<figcaption>{{ caption }}</figcaption></figure>"""
_ARTICLE = """<article id="exhibit-{{ number }}">
<h3>{{ exhibit.title }}</h3>
<code>{{ exhibit.name }}</code>
<dl>
<dt>Story</dt><dd>{{ exhibit.story }}</dd>
<dt>Sources</dt><dd>{% for source in exhibit.sources %}{{ source }}{% if not loop.last %}<br>{% endif %}\
{% endfor %}</dd>
<dt>Broken ({{ broken.attack }})</dt><dd>{{ broken_word }}: {{ broken.words }}</dd>
<dt>Mended ({{ mended.attack }})</dt><dd>{{ mended_word }}: {{ mended.words }}</dd>
<dt>Ours</dt><dd>{{ exhibit.ours }}</dd>
</dl>
</article>"""


def page(findings: Findings) -> str:
    """Return the findings as a page of HTML.

    >>> "nothing caught" in page(Findings())
    True
    """
    entries = [(f"subject-{i}", r.subject, _word(r)) for i, r in enumerate(findings.reports)]
    entries += [
        (f"exhibit-{i}", v.exhibit.name, _word_in_the_museum(v.broken)) for i, v in enumerate(findings.visits)
    ]
    body = fragment(
        _BODY,
        verdict="caught" if findings.failed else "undecided" if findings.undecided else "holds",
        summary=summary(findings),
        entries=entries,
        sections=[_section(report, number) for number, report in enumerate(findings.reports)],
        articles=[_article(visit, number) for number, visit in enumerate(findings.visits)],
        powers=fragment(_POWERS, powers=findings.powers, factor=factor) if findings.powers else "",
        version=discreet.__version__,
    )
    return document("Privacy audit", body)


def require_pictures() -> ModuleType:
    """Return the module that converts charts to SVG, or say what to install.

    >>> require_pictures().__name__
    'vl_convert'
    """
    try:
        import altair  # noqa: F401
        import vl_convert
    except ImportError:
        raise DiscreetError(
            "The page needs altair and vl-convert, which are not installed.",
            fix='Install them with: pip install "discreet[plots]".',
        ) from None
    module: ModuleType = vl_convert
    return module


# -- mechanisms -------------------------------------------------------------------------------------------------


def _section(report: Report, number: int) -> Markup:
    rows = [
        {"attack": verdict.attack, "word": _word(verdict), "numbers": _numbers(verdict)}
        for verdict in report.verdicts
    ]
    return fragment(
        _SECTION,
        number=number,
        report=report,
        word=_word(report),
        words=("attack", "verdict"),
        numbers=("claimed ε", "found ε ≥", "δ", "confidence", "seconds"),
        rows=rows,
        figure=_figure(report, number),
    )


def _numbers(verdict: Verdict) -> tuple[str, ...]:
    return (*epsilons(verdict), delta(verdict), confidence(verdict), f"{verdict.seconds:.1f}")


def _word(thing: Verdict | Report) -> Markup:
    said = word(thing)
    return fragment('<span class="{{ kind }}">{{ said }}</span>', kind=_CLASSES[said], said=said)


# -- pictures ---------------------------------------------------------------------------------------------------


def _figure(report: Report, number: int) -> Markup:
    """Draw what the attacks attained against what was declared; nothing where there is nothing to draw."""
    if report.declared is None:
        return trusted("")
    attained = {v.attack: _thinned(v.attained) for v in report.verdicts if v.attained}
    spec = plots.tradeoff({"declared": report.declared}, attained).to_dict()
    spec |= {"background": None, "title": None, "width": _SIDE, "height": _SIDE, "padding": 4}
    svg: str = require_pictures().vegalite_to_svg(spec)
    # Every picture numbers its clip paths from zero, but the names are shared by the whole page.
    svg = re.sub(r'(\bid="|url\(#)', rf"\g<1>picture{number}-", svg)
    below = " Points below the line, beyond what chance does, refute the claim." if attained else ""
    caption = f"Tests that tell two neighbours apart: what the claim allows, and what was reached.{below}"
    return fragment(_FIGURE, caption=caption, svg=trusted(svg))


def _thinned(points: tuple[tuple[float, float], ...]) -> list[tuple[float, float]]:
    ordered = sorted(set(points))
    return ordered[:: -(-len(ordered) // _POINTS)]


# -- the museum -------------------------------------------------------------------------------------------------


def _article(visit: Visit, number: int) -> Markup:
    return fragment(
        _ARTICLE,
        number=number,
        exhibit=visit.exhibit,
        broken=visit.broken,
        mended=visit.mended,
        broken_word=_word_in_the_museum(visit.broken),
        mended_word=_word(visit.mended),
    )


def _word_in_the_museum(verdict: Verdict) -> Markup:
    """In the museum a broken mechanism must be caught: that is the good outcome."""
    if verdict.caught:
        return trusted('<span class="holds">CAUGHT</span>')
    return trusted('<span class="caught">NOT CAUGHT</span>')
