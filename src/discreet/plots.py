"""Pictures of guarantees: ε against the number of releases, and trade-off curves.

Altair is imported only when a picture is asked for, so that `import discreet` stays light.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from discreet.errors import DiscreetError, ParameterError
from discreet.privacy.composition import basic, drv_advanced, notes_advanced, optimal, zcdp
from discreet.privacy.conversions import pure_to_zcdp
from discreet.privacy.curves import TradeOff
from discreet.rational import Rational

if TYPE_CHECKING:
    import altair

Points: TypeAlias = Sequence[tuple[float, float]]
"""(false alarms, misses) of some tests."""

# Okabe and Ito's palette, which the colour-blind can tell apart too.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_GREY = "#777777"
_WIDTH, _HEIGHT, _SQUARE, _LINE = 540, 380, 400, 16  # pixels; _LINE is the height of a label


def composition(epsilon: Rational, delta: Rational, up_to: int = 1000) -> altair.LayerChart:
    """Draw the total ε of up to `up_to` releases, each ε-DP, by every composition theorem.

    >>> composition("0.1", "1e-6", up_to=100).to_dict()["layer"][0]["mark"]["type"]
    'line'
    """
    if up_to < 2:
        raise ParameterError(f"up_to={up_to!r} leaves nothing to draw: it must be 2 or more.")
    rho = pure_to_zcdp(epsilon)
    theorems: dict[str, Callable[[int], float]] = {
        "basic": lambda k: basic(epsilon, k),
        "lecture notes": lambda k: notes_advanced(epsilon, k, delta),
        "Dwork–Rothblum–Vadhan": lambda k: drv_advanced(epsilon, k, delta),
        "zCDP": lambda k: zcdp(rho, k, delta),
        "optimal": lambda k: optimal(epsilon, 0, k, delta),
    }
    counts = np.unique(np.geomspace(1, up_to, 60).round().astype(int)).tolist()
    totals = {name: [total(k) for k in counts] for name, total in theorems.items()}
    return _composition_chart(
        counts, totals, f"{up_to:,} releases at ε = {epsilon} each", f"total ε, at δ = {delta}"
    )


def tradeoff(curves: Mapping[str, TradeOff], attained: Mapping[str, Points] | None = None) -> altair.LayerChart:
    """Draw trade-off curves beside blind guessing: the closer to it, the more private.

    `attained` has what tests reached, (false alarms, misses) each, drawn as points: one below the curve that was
    promised breaks the promise.

    >>> from discreet.privacy.curves import pure
    >>> tradeoff({"ε = 1": pure(1)}).to_dict()["layer"][0]["mark"]["type"]
    'line'
    >>> tradeoff({"declared": pure(1)}, {"found": [(0.1, 0.6)]}).to_dict()["layer"][-1]["mark"]["type"]
    'point'
    """
    points = attained or {}
    names = [*curves, *points]
    if not curves or len(names) > len(_COLOURS):
        raise ParameterError(f"One to {len(_COLOURS)} curves can be told apart in one picture, not {len(names)}.")
    if len(set(names)) < len(names):
        raise ParameterError(f"Curves and points need names of their own, not {', '.join(names)}.")
    alt = _altair()
    rows = [
        {"false alarms": alarm, "misses": miss, "curve": name}
        for name, curve in curves.items()
        for alarm, miss in zip(curve.alpha.tolist(), curve.beta.tolist(), strict=True)
    ]
    percent = alt.Axis(format="%", tickCount=5)
    x = alt.X("false alarms:Q", title="false alarms of a test", axis=percent, scale=alt.Scale(domain=[0, 1]))
    y = alt.Y("misses:Q", title="its misses, at least", axis=percent, scale=alt.Scale(domain=[0, 1]))
    # The corner above the diagonal is always empty: the legend goes there.
    legend = alt.Legend(title=None, orient="top-right", labelFontSize=13, symbolStrokeWidth=3, offset=12)
    colour = alt.Color("curve:N", legend=legend, scale=_palette(alt, names), sort=None)
    lines = alt.Chart(alt.Data(values=rows)).mark_line(strokeWidth=2.5, clip=True).encode(x=x, y=y, color=colour)
    ends = alt.Data(values=[{"false alarms": t, "misses": 1 - t} for t in (0, 1)])
    blind = alt.Chart(ends).mark_line(color=_GREY, strokeDash=[5, 4], strokeWidth=1.5).encode(x=x, y=y)
    middle = alt.Chart(alt.Data(values=[{"false alarms": 0.5, "misses": 0.5}]))
    name = middle.mark_text(text="blind guess", angle=45, dy=-9, color=_GREY, fontSize=13).encode(x=x, y=y)
    layers = [lines, blind, name]
    if points:
        dots = [
            {"false alarms": alarm, "misses": miss, "curve": name}
            for name, pairs in points.items()
            for alarm, miss in pairs
        ]
        marks = alt.Chart(alt.Data(values=dots)).mark_point(filled=True, size=36, opacity=0.8, clip=True)
        layers.append(marks.encode(x=x, y=y, color=colour))
    return _styled(alt.layer(*layers), "Can a release tell whether you are in?", _SQUARE, _SQUARE)


def _composition_chart(
    counts: list[int], totals: dict[str, list[float]], title: str, axis: str
) -> altair.LayerChart:
    alt = _altair()
    finite = {name: [v for v in values if 0 < v < math.inf] for name, values in totals.items()}
    if not all(finite.values()):
        raise ParameterError(
            "A total ε of 0 or infinity cannot be drawn: choose 0 < epsilon < 700 and 0 < delta < 1."
        )
    bottom, top = min(map(min, finite.values())), max(map(max, finite.values()))
    rows = [
        {"releases": k, "total": value, "theorem": name}
        for name, values in totals.items()
        for k, value in zip(counts, values, strict=True)
        if 0 < value < math.inf
    ]
    heights = _apart({name: values[-1] for name, values in finite.items()}, (top / bottom) ** (_LINE / _HEIGHT))
    labels = [{"releases": counts[-1], "total": v, "theorem": name} for name, v in heights.items()]
    across = alt.Scale(type="log", domain=[1, counts[-1]], nice=False)
    x = alt.X(
        "releases:Q",
        title="number of releases",
        scale=across,
        axis=alt.Axis(format="~s", values=_decades(1, counts[-1])),
    )
    up = alt.Scale(type="log", domain=[bottom, top], nice=False)
    y = alt.Y("total:Q", title=axis, scale=up, axis=alt.Axis(format="~g", values=_decades(bottom, top)))
    colour = alt.Color("theorem:N", legend=None, scale=_palette(alt, list(totals)[::-1]))
    lines = alt.Chart(alt.Data(values=rows)).mark_line(strokeWidth=2.5).encode(x=x, y=y, color=colour)
    names = alt.Chart(alt.Data(values=labels)).mark_text(align="left", dx=8, fontSize=13)
    return _styled(
        alt.layer(lines, names.encode(x=x, y=y, color=colour, text="theorem:N")), title, _WIDTH, _HEIGHT
    )


def _apart(heights: dict[str, float], ratio: float) -> dict[str, float]:
    """Move labels on a log axis so that each is at least `ratio` above the next one below it."""
    placed: dict[str, float] = {}
    floor = 0.0
    for name in sorted(heights, key=heights.__getitem__):
        placed[name] = max(heights[name], floor)
        floor = placed[name] * ratio
    return placed


def _decades(low: float, high: float) -> list[float]:
    return [10.0**n for n in range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)]


def _palette(alt: ModuleType, names: list[str]) -> altair.Scale:
    scale: altair.Scale = alt.Scale(domain=names, range=list(_COLOURS[: len(names)]))
    return scale


def _styled(chart: altair.LayerChart, title: str, width: int, height: int) -> altair.LayerChart:
    styled: altair.LayerChart = (
        chart.properties(title=title, width=width, height=height, padding=12, background="white")
        .configure_view(stroke=None)
        .configure_title(anchor="start", fontSize=17, fontWeight=600, offset=14)
        .configure_axis(labelFontSize=12, titleFontSize=13, titleFontWeight="normal", gridColor="#e8e8e8")
    )
    return styled


def _altair() -> ModuleType:
    try:
        import altair
    except ImportError:
        raise DiscreetError('Pictures need altair. Install it with: pip install "discreet[plots]"') from None
    return altair
