"""Draw the textbook's theorems: mistakes against their bound, and mechanisms side by side.

Altair is imported only when a picture is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.oracle.textbook.comparison import Point
from discreet.oracle.textbook.multiplicative_weights import Floats, regret_at
from discreet.oracle.textbook.multiplicative_weights import mistakes as most_mistakes
from discreet.oracle.textbook.online_release import OnlineRelease
from discreet.render.charts import COLOURS, GREY, altair_module, decades, house_style, palette

if TYPE_CHECKING:
    import altair

_WIDTH, _HEIGHT = 540, 340
_LEAST, _MOST = 1e-7, 10.0  # what is worth drawing of a share or an ε
_INK = "#444444"


def mistakes(release: OnlineRelease, alpha: float) -> altair.LayerChart:
    """Draw what the mistakes of a run add up to, between what they cost at least and what regret allows at most.

    >>> release = OnlineRelease([7, 1, 1, 1], alpha="0.1")
    >>> for _ in range(50):
    ...     answer = release.ask([1, 0, 0, 0])
    >>> mistakes(release, alpha=0.1).to_dict()["title"]["text"]
    'Mistakes of multiplicative weights'
    """
    if not release.mistakes:
        raise ParameterError("There is nothing to draw: no query was a mistake. Ask some that are.")
    alt, cells = altair_module(), release.hypothesis.size
    most = most_mistakes(cells, str(alpha))
    across = alt.Scale(domain=[0, most * 1.02], nice=False)
    x = alt.X("mistakes:Q", title="mistakes", scale=across, axis=alt.Axis(format="~s", tickCount=6))
    up = alt.Scale(domain=[0, alpha * most * 1.12], nice=False)
    y = alt.Y("errors:Q", title="their errors, added up", scale=up)
    found, allowed, costs = "this run", "what regret allows", "each costs α at least"
    legend = alt.Legend(title=None, orient="top-left", labelFontSize=13, symbolStrokeWidth=3, offset=12)
    colour = alt.Color("line:N", scale=palette([found, allowed, costs]), sort=None, legend=legend)
    bounds = [{"mistakes": t, "errors": alpha * t, "line": costs} for t in (0, most)]
    bounds += [{"mistakes": t, "errors": regret_at(cells, t, alpha / 2), "line": allowed} for t in (0, most)]
    sums = [0.0, *accumulate(release.errors)]
    some = [*range(0, len(sums), max(1, len(sums) // 200)), len(sums) - 1]
    run = [{"mistakes": t, "errors": sums[t], "line": found} for t in some]
    layers = [
        alt.Chart(alt.Data(values=run)).mark_line(strokeWidth=6, opacity=0.7, clip=True),
        alt.Chart(alt.Data(values=bounds)).mark_line(strokeWidth=2.5),
    ]
    layers = [layer.encode(x=x, y=y, color=colour) for layer in layers]
    ours = {"mistakes": most, "errors": alpha * most, "words": f"4·ln N/α² = {most:,}"}
    notes = {
        "mistakes": most / 4,
        "errors": alpha * most / 4,
        "words": f"ln N/α² = {most // 4:,}, as in the notes",
    }
    for place, text in (
        (ours, {"align": "right", "dx": -4, "dy": -16}),
        (notes, {"align": "left", "dx": 12, "dy": 12}),
    ):
        point = alt.Chart(alt.Data(values=[place])).encode(x=x, y=y)
        layers.append(point.mark_point(filled=True, size=70, color=_INK, opacity=1))
        layers.append(point.mark_text(fontSize=13, color=_INK, **text).encode(text="words:N"))
    subtitle = f"{cells:,} cells, α = {alpha:g}: {release.mistakes:,} mistakes"
    title = {"text": "Mistakes of multiplicative weights", "subtitle": subtitle}
    chart: altair.LayerChart = alt.layer(*layers).properties(title=title, width=_WIDTH, height=_HEIGHT)
    return house_style(chart)


def regret(history: Mapping[str, Floats], experts: int, rate: float) -> altair.LayerChart:
    """Draw the regret after every round, of the weights and of the draws, below what the theorem allows.

    Args:
        history: The sums of expected losses, of incurred losses, and those of the best expert, after every round.
        experts: The number of experts.
        rate: The learning rate.

    >>> import numpy as np
    >>> sums = np.array([0.5, 1.0])
    >>> drawn = regret({"expected": sums, "incurred": 2 * sums, "best": 0 * sums}, experts=2, rate=0.5)
    >>> len(drawn.to_dict()["layer"])
    2
    """
    rounds = len(history["best"])
    if not rounds:
        raise ParameterError("There is nothing to draw: no round has ended. Incur some losses.")
    alt = altair_module()
    allowed, expected, drawn = "what the theorem allows", "the weights", "the experts that were drawn"
    some = sorted({*range(0, rounds, max(1, rounds // 300)), rounds - 1})
    lines = {
        allowed: [regret_at(experts, t + 1, rate) for t in some],
        expected: (history["expected"] - history["best"])[some].tolist(),
        drawn: (history["incurred"] - history["best"])[some].tolist(),
    }
    rows = [
        {"round": t + 1, "regret": value, "line": name}
        for name, values in lines.items()
        for t, value in zip(some, values, strict=True)
    ]
    x = alt.X("round:Q", title="rounds", scale=alt.Scale(domain=[0, rounds], nice=False))
    y = alt.Y("regret:Q", title="loss beyond that of the best expert")
    legend = alt.Legend(
        title=None, orient="top-left", labelFontSize=13, symbolStrokeWidth=3, offset=12, labelLimit=260
    )
    colour = alt.Color("line:N", scale=palette([*lines]), sort=None, legend=legend)
    chart = alt.Chart(alt.Data(values=rows)).mark_line(strokeWidth=2.5).encode(x=x, y=y, color=colour)
    zero = alt.Chart(alt.Data(values=[{"regret": 0}])).mark_rule(color=GREY, strokeDash=[2, 3]).encode(y=y)
    subtitle = f"{experts:,} experts, learning rate {rate:.3g}"
    title = {"text": "Regret of multiplicative weights", "subtitle": subtitle}
    layers: altair.LayerChart = alt.layer(zero, chart).properties(title=title, width=_WIDTH, height=_HEIGHT)
    return house_style(layers)


def comparison(points: Sequence[Point], subtitle: str = "") -> altair.VConcatChart:
    """Draw errors against the number of queries, promised and measured, and below it the ε that was spent.

    >>> drawn = comparison([Point("Laplace", 1, 0.1, 0.05, 1.0), Point("Laplace", 10, 1.2, 0.4, 1.0)])
    >>> [len(panel["layer"]) for panel in drawn.to_dict()["vconcat"]]
    [4, 1]
    """
    if not points:
        raise ParameterError("There is nothing to draw: compare some mechanisms first.")
    alt, names = altair_module(), list(dict.fromkeys(point.mechanism for point in points))
    if len(names) > len(COLOURS):
        raise ParameterError(f"{len(COLOURS)} mechanisms can be told apart in one picture, not {len(names)}.")
    last = max(2, *(point.queries for point in points))
    ticks = alt.Axis(format="~s", values=decades(1, last))
    x = alt.X("queries:Q", title="queries", axis=ticks, scale=alt.Scale(type="log", domain=[1, last], nice=False))
    legend = alt.Legend(
        title=None, orient="top", labelFontSize=13, symbolStrokeWidth=3, labelLimit=260, columnPadding=28
    )
    colour = alt.Color("mechanism:N", scale=palette(names), sort=None, legend=legend)
    title = {"text": "Many queries, few of them paid", "subtitle": subtitle}
    panels: altair.VConcatChart = alt.vconcat(
        _errors(alt, points, x, colour), _spent(alt, points, x, colour), spacing=18
    )
    return house_style(panels.properties(title=title))


def _errors(alt: Any, points: Sequence[Point], x: Any, colour: Any) -> Any:
    seen = [point.promised for point in points if 0 < point.promised < _MOST]
    y = _logarithmic(
        alt, "promised:Q", "largest error, as a share of the rows", [*seen, *_positive(points, "measured")]
    )
    rows = [
        {"mechanism": p.mechanism, "queries": p.queries, "promised": min(p.promised, 1e9), "measured": p.measured}
        for p in points
    ]
    chart = alt.Chart(alt.Data(values=rows))
    promised = chart.mark_line(strokeWidth=1.8, strokeDash=[6, 4], clip=True).encode(x=x, y=y, color=colour)
    found = chart.transform_filter("datum.measured > 0").transform_calculate(promised="datum.measured")
    measured = found.mark_line(strokeWidth=2.5, point={"size": 46, "filled": True}, clip=True)
    one = alt.Chart(alt.Data(values=[{"queries": 1, "promised": 1}]))
    words = one.mark_text(
        text="above 1 nothing is promised; dashed: the theorem, solid: measured",
        align="left",
        dx=6,
        dy=-8,
        color=GREY,
        fontSize=12,
    )
    layers = alt.layer(
        promised,
        measured.encode(x=x, y=y, color=colour),
        one.mark_rule(color=GREY, strokeDash=[2, 3]).encode(y=y),
        words.encode(x=x, y=y),
    )
    return layers.properties(width=_WIDTH, height=_HEIGHT)


def _spent(alt: Any, points: Sequence[Point], x: Any, colour: Any) -> Any:
    rows = [
        {"mechanism": point.mechanism, "queries": point.queries, "spent": point.spent}
        for point in points
        if point.spent  # on a logarithmic axis nothing has no place
    ]
    y = _logarithmic(alt, "spent:Q", "ε spent, or needed to be as good", _positive(points, "spent"))
    lines = alt.Chart(alt.Data(values=rows)).mark_line(
        strokeWidth=2.5, point={"size": 46, "filled": True}, clip=True
    )
    return alt.layer(lines.encode(x=x, y=y, color=colour)).properties(width=_WIDTH, height=200)


def _positive(points: Sequence[Point], name: str) -> list[float]:
    return [value for point in points if (value := getattr(point, name))]


def _logarithmic(alt: Any, name: str, title: str, values: list[float]) -> Any:
    low, high = max(_LEAST, min(values, default=1.0) / 1.5), max(3.0, min(_MOST, 1.5 * max(values, default=1.0)))
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    return alt.Y(name, title=title, scale=scale, axis=alt.Axis(format="~g", values=decades(low, high)))
