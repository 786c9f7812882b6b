"""Draw guarantees: ε against the number of releases, and trade-off curves.

Altair is imported only when a picture is drawn, so that `import discreet` stays light.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from discreet.errors import Fix, ParameterError
from discreet.privacy.theorems.composition import basic, drv_advanced, notes_advanced, optimal, zcdp
from discreet.privacy.theorems.conversions import pure_to_zcdp
from discreet.privacy.tradeoff_curve import TradeOff
from discreet.rational import Rational
from discreet.render import charts

if TYPE_CHECKING:
    import altair

Points: TypeAlias = Sequence[tuple[float, float]]
"""(false alarms, misses) of some tests."""

_SQUARE, _LINE = 400, 16  # pixels; _LINE is the height of a label


def composition(epsilon: Rational, delta: Rational, up_to: int = 1000) -> altair.LayerChart:
    """Draw the total ε of many releases, each ε-DP, by every composition theorem.

    Args:
        epsilon: The ε of each release.
        delta: The δ at which the total ε is drawn.
        up_to: The largest number of releases; 1000 by default.

    >>> composition("0.1", "1e-6", up_to=100).to_dict()["layer"][0]["mark"]["type"]
    'line'
    """
    if up_to < 2:
        raise ParameterError(
            "A picture of composition needs 2 or more releases to draw.", found=up_to, fix=Fix("up_to", 100)
        )
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

    Args:
        curves: The curves by name.
        attained: What tests reached, (false alarms, misses) each, drawn as points. A point below the curve that
            was promised breaks the promise. None by default.

    >>> from discreet.privacy.tradeoff_curve import pure
    >>> tradeoff({"ε = 1": pure(1)}).to_dict()["layer"][0]["mark"]["type"]
    'line'
    >>> tradeoff({"declared": pure(1)}, {"found": [(0.1, 0.6)]}).to_dict()["layer"][-1]["mark"]["type"]
    'point'
    """
    points = attained or {}
    names = [*curves, *points]
    if not curves or len(names) > len(charts.COLOURS):
        raise ParameterError(f"One picture holds 1 to {len(charts.COLOURS)} curves.", found=len(names))
    if len(set(names)) < len(names):
        raise ParameterError("Two curves or points have the same name.", found=", ".join(names))
    alt = charts.altair_module()
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
    colour = alt.Color("curve:N", legend=legend, scale=charts.palette(names), sort=None)
    lines = alt.Chart(alt.Data(values=rows)).mark_line(strokeWidth=2.5, clip=True).encode(x=x, y=y, color=colour)
    ends = alt.Data(values=[{"false alarms": t, "misses": 1 - t} for t in (0, 1)])
    blind = alt.Chart(ends).mark_line(color=charts.GREY, strokeDash=[5, 4], strokeWidth=1.5).encode(x=x, y=y)
    middle = alt.Chart(alt.Data(values=[{"false alarms": 0.5, "misses": 0.5}]))
    name = middle.mark_text(text="blind guess", angle=45, dy=-9, color=charts.GREY, fontSize=13).encode(x=x, y=y)
    layers = [lines, blind, name]
    if points:
        dots = [
            {"false alarms": alarm, "misses": miss, "curve": name}
            for name, pairs in points.items()
            for alarm, miss in pairs
        ]
        marks = alt.Chart(alt.Data(values=dots)).mark_point(filled=True, size=36, opacity=0.8, clip=True)
        layers.append(marks.encode(x=x, y=y, color=colour))
    chart: altair.LayerChart = alt.layer(*layers)
    title = "Can a release tell whether you are in?"
    return charts.house_style(chart.properties(title=title, width=_SQUARE, height=_SQUARE))


def _composition_chart(
    counts: list[int], totals: dict[str, list[float]], title: str, axis: str
) -> altair.LayerChart:
    alt = charts.altair_module()
    finite = {name: [v for v in values if 0 < v < math.inf] for name, values in totals.items()}
    if not all(finite.values()):
        raise ParameterError(
            "A total ε of 0 or infinity cannot be drawn. ε must lie between 0 and 700, and δ between 0 and 1.",
            fix=[Fix("epsilon", "0.1"), Fix("delta", "1e-6")],
        )
    bottom, top = min(map(min, finite.values())), max(map(max, finite.values()))
    rows = [
        {"releases": k, "total": value, "theorem": name}
        for name, values in totals.items()
        for k, value in zip(counts, values, strict=True)
        if 0 < value < math.inf
    ]
    heights = _apart(
        {name: values[-1] for name, values in finite.items()}, (top / bottom) ** (_LINE / charts.HEIGHT)
    )
    labels = [{"releases": counts[-1], "total": v, "theorem": name} for name, v in heights.items()]
    across = alt.Scale(type="log", domain=[1, counts[-1]], nice=False)
    x = alt.X(
        "releases:Q",
        title="number of releases",
        scale=across,
        axis=alt.Axis(format="~s", values=charts.decades(1, counts[-1])),
    )
    up = alt.Scale(type="log", domain=[bottom, top], nice=False)
    y = alt.Y("total:Q", title=axis, scale=up, axis=alt.Axis(format="~g", values=charts.decades(bottom, top)))
    colour = alt.Color("theorem:N", legend=None, scale=charts.palette(list(totals)[::-1]))
    lines = alt.Chart(alt.Data(values=rows)).mark_line(strokeWidth=2.5).encode(x=x, y=y, color=colour)
    names = alt.Chart(alt.Data(values=labels)).mark_text(align="left", dx=8, fontSize=13)
    chart: altair.LayerChart = alt.layer(lines, names.encode(x=x, y=y, color=colour, text="theorem:N"))
    # Names stand right of the lines: a reader's font may be wider than the one that measured them.
    styled = charts.house_style(chart.properties(title=title, width=charts.WIDTH, height=charts.HEIGHT))
    return styled.properties(padding={"left": 12, "top": 12, "bottom": 12, "right": 40})


def _apart(heights: dict[str, float], ratio: float) -> dict[str, float]:
    """Move labels on a log axis so that each is at least `ratio` above the next one below it."""
    placed: dict[str, float] = {}
    floor = 0.0
    for name in sorted(heights, key=heights.__getitem__):
        placed[name] = max(heights[name], floor)
        floor = placed[name] * ratio
    return placed
