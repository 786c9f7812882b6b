"""Draw shape functions: one small picture for each column, all on one scale.

A number is a line over its range, a category has a bar for each value, and a missing value stands beside them in
grey. Effects have the same scale in all pictures, so that columns can be compared. In a notebook the pictures wrap
like words, so that they fit a phone.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import date
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import DiscreetError
from discreet.release.released import TEST_BITS
from discreet.render.charts import COLOURS, GREY, altair_module, house_style, palette
from discreet.render.html import fragment, framed, trusted

if TYPE_CHECKING:
    import altair

    from discreet.learn.shapes import Shape, Shapes

WIDTH, HEIGHT = 264, 150
_TITLE = (
    170  # pixels: panels are 204 wide or more, and a browser's letters up to a fifth wider than those measured
)
"""The size of one picture, without its axes: with them it fits a phone."""

_TITLE = 170  # pixels: a panel is 204 wide, and letters of a browser are up to a fifth wider than measured
_BESIDE = 52  # pixels for a missing value beside a line
_BAR = 22  # pixels for a bar
_PALE = "#b5b5b5"  # of missing values: often there are few, and then their effect is noise
_MOST = 24  # bars, and pictures in a page
_STYLE = "display:flex;flex-wrap:wrap;gap:8px 20px;background:white;max-width:64em"


def named(value: Any) -> str:
    """Return a knot or a category as text.

    >>> named(41.25), named(1000.0), named(True), named("Oslo")
    ('41.2', '1,000', 'true', 'Oslo')
    """
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() or abs(value) >= 1000 else f"{value:.3g}"
    return str(value)


def drawn(shapes: Shapes, columns: int) -> altair.TopLevelMixin:
    """Draw all shapes, so many side by side."""
    alt = altair_module()
    panels = [_panel(alt, shapes, shape) for shape in shapes]
    title = alt.TitleParams(shapes.title, subtitle=f"What each value adds to the {shapes.unit}")
    whole = alt.concat(*panels, columns=columns, spacing=24).properties(title=title)
    styled: altair.TopLevelMixin = house_style(whole)
    return styled


def page(shapes: Shapes) -> str:
    """Return the shapes for a notebook: pictures that wrap like words, or text where none can be drawn."""
    if shapes.test_bits:
        return framed(
            fragment('<p class="test">{{ warning }}</p><pre>{{ text }}</pre>', warning=TEST_BITS, text=str(shapes))
        )
    pictures = svgs(shapes)
    if not pictures:
        return framed(fragment("<pre>{{ text }}</pre>", text=str(shapes)))
    return framed(
        fragment(
            '<h4>{{ title }}</h4><p class="soft">What each value adds to the {{ unit }}.{{ more }}</p>'
            '<div style="{{ style }}">{% for one in pictures %}<div>{{ one }}</div>{% endfor %}</div>',
            title=shapes.title,
            unit=shapes.unit,
            more=f" The first {_MOST} of {len(shapes)} columns." if len(shapes) > _MOST else "",
            style=_STYLE,
            pictures=pictures,
        )
    )


def svgs(shapes: Shapes) -> list[Any]:
    """Return one picture for each column as SVG; none if the packages that draw are not installed."""
    try:
        alt = altair_module()
        panels = [house_style(_panel(alt, shapes, shape)) for shape in [*shapes][:_MOST]]
        return [trusted(_svg(panel.properties(padding=8))) for panel in panels]
    except (DiscreetError, ImportError, ValueError):  # altair says ValueError if vl-convert is not there
        return []


def _svg(chart: Any) -> str:
    written = io.StringIO()
    chart.save(written, format="svg")
    return written.getvalue()


def _panel(alt: ModuleType, shapes: Shapes, shape: Shape) -> Any:
    domain = _domain(shapes)
    several = len(shapes.scores) > 1
    colour: dict[str, Any] = {}
    if several:
        shown = shapes.scores[: len(COLOURS)]
        colour = {"color": alt.Color("score:N", scale=palette(shown), sort=None, title=None)}
    layers = (_bars if shape.categorical else _lines)(alt, shapes, shape, domain, colour)
    return alt.layer(*layers).properties(
        title=alt.TitleParams(shape.name, fontSize=14, offset=6, frame="group", limit=_TITLE)
    )


def _lines(
    alt: ModuleType, shapes: Shapes, shape: Shape, domain: list[float], colour: dict[str, Any]
) -> list[Any]:
    """Return the layers of a number or a date."""
    beside = WIDTH if shape.missing is None else WIDTH - _BESIDE
    time = isinstance(shape.values[0], date)
    rows = [
        {"value": value.isoformat() if time else value, "score": score, "effect": float(shape.effects[i, j])}
        for i, score in enumerate(shapes.scores[: len(COLOURS)])
        for j, value in enumerate(shape.values)
    ]
    across = alt.X(
        f"value:{'T' if time else 'Q'}",
        title=None,
        scale=alt.Scale(zero=False, nice=False, range=[0, beside]),
        axis=alt.Axis(tickCount=4, labelFlush=True, labelSeparation=6),
    )
    up = _effect(alt, alt.Y, domain)
    ink = {} if colour else {"color": COLOURS[0]}
    how = {"interpolate": "step-after"} if shape.steps else {"point": {"size": 18, **ink}}
    line = alt.Chart(alt.Data(values=rows)).mark_line(strokeWidth=2, **how, **ink)
    layers = [_zero(alt, "y"), line.encode(x=across, y=up, **colour)]
    if shape.missing is not None:
        place = beside + _BESIDE * 0.6
        alone = [
            {"score": score, "effect": float(shape.missing[i])}
            for i, score in enumerate(shapes.scores[: len(COLOURS)])
        ]
        grey = {} if colour else {"color": _PALE}
        point = alt.Chart(alt.Data(values=alone)).mark_point(filled=True, size=44, opacity=1, **grey)
        layers.append(point.encode(x=alt.value(place), y=up, **colour))
        word = alt.Chart(alt.Data(values=[{}])).mark_text(text="missing", fontSize=11, color=GREY, baseline="top")
        layers.append(word.encode(x=alt.value(place), y=alt.value(HEIGHT + 8)))
    return [layer.properties(width=WIDTH, height=HEIGHT) for layer in layers]


def _bars(alt: ModuleType, shapes: Shapes, shape: Shape, domain: list[float], colour: dict[str, Any]) -> list[Any]:
    """Return the layers of a category: the values of the largest effects, in the order of the schema."""
    order = sorted(range(len(shape.values)), key=lambda j: -float(abs(shape.effects[:, j]).max()))[:_MOST]
    rows = [
        {"value": named(shape.values[j]), "score": score, "effect": float(shape.effects[i, j]), "known": True}
        for j in sorted(order)
        for i, score in enumerate(shapes.scores[: len(COLOURS)])
    ]
    if shape.missing is not None:
        rows += [
            {"value": "missing", "score": score, "effect": float(shape.missing[i]), "known": False}
            for i, score in enumerate(shapes.scores[: len(COLOURS)])
        ]
    lines = len({row["value"] for row in rows})
    height = max(_BAR * lines * (1 if not colour else max(1, len(shapes.scores) // 2)), 44)
    if not colour:
        colour = {"color": alt.condition("datum.known", alt.value(COLOURS[0]), alt.value(_PALE))}
    else:
        colour = {**colour, "yOffset": alt.YOffset("score:N", sort=list(shapes.scores))}
    names = alt.Axis(labelLimit=110, ticks=False, domain=False)
    bars = (
        alt.Chart(alt.Data(values=rows))
        .mark_bar()
        .encode(
            y=alt.Y("value:N", sort=None, title=None, axis=names, scale=alt.Scale(paddingInner=0.3)),
            x=_effect(alt, alt.X, domain),
            **colour,
        )
    )
    return [layer.properties(width=WIDTH - 60, height=height) for layer in (bars, _zero(alt, "x"))]


def _effect(alt: ModuleType, channel: Any, domain: list[float]) -> Any:
    signs = "datum.value == 0 ? '0' : datum.label"
    axis = alt.Axis(tickCount=4, format="+,.2~f", labelExpr=signs)
    return channel("effect:Q", title=None, scale=alt.Scale(domain=domain, nice=True), axis=axis)


def _zero(alt: ModuleType, axis: str) -> Any:
    rule = alt.Chart(alt.Data(values=[{"effect": 0.0}])).mark_rule(color="#999999", strokeWidth=1)
    return rule.encode(**{axis: alt.Y("effect:Q") if axis == "y" else alt.X("effect:Q")})


def _domain(shapes: Shapes) -> list[float]:
    """Return the least and the largest effect of all columns, and zero."""
    found: list[float] = [0.0]
    for shape in shapes:
        both: Sequence[Any] = [shape.effects, *([] if shape.missing is None else [shape.missing])]
        found += [float(part.min()) for part in both] + [float(part.max()) for part in both]
    return [min(found), max(found)]
