"""Pictures of guarantees: ε against the number of releases, and trade-off curves. Pictures of answers: intervals.

Altair is imported only when a picture is asked for, so that `import discreet` stays light.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from discreet.errors import DiscreetError, ParameterError
from discreet.privacy.theorems.composition import basic, drv_advanced, notes_advanced, optimal, zcdp
from discreet.privacy.theorems.conversions import pure_to_zcdp
from discreet.privacy.tradeoff_curve import TradeOff
from discreet.rational import Rational

if TYPE_CHECKING:
    import altair

Points: TypeAlias = Sequence[tuple[float, float]]
"""(false alarms, misses) of some tests."""

# Okabe and Ito's palette, which the colour-blind can tell apart too.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_GREY = "#777777"
_WIDTH, _HEIGHT, _SQUARE, _LINE = 540, 380, 400, 16  # pixels; _LINE is the height of a label
_MOST_NAMES, _MOST_POINTS = 60, 5000  # groups in a picture
_NULL = 56  # pixels beside an axis of numbers or dates: null is a group, and has no place on it
_TICK = 90  # pixels per label of a number: of more labels every other one is hidden, and zero may be among them


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

    >>> from discreet.privacy.tradeoff_curve import pure
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


class Estimated(NamedTuple):
    """One number per group with the ends of its interval; None where there is no answer.

    `from_zero` is for counts and sums, whose bars start at zero. On the axes "date" and "datetime" numbers are
    days and microseconds since 1970-01-01.
    """

    name: str
    values: Sequence[float | None]
    low: Sequence[float | None]
    high: Sequence[float | None]
    from_zero: bool = False
    axis: str = "number"


def intervals(
    keys: Mapping[str, Sequence[Any]], estimates: Sequence[Estimated], title: str = "", subtitle: str = ""
) -> altair.TopLevelMixin:
    """Draw numbers with their intervals, one picture for each of the estimates below the other.

    The first key is an axis: a line over dates, points over numbers, and bars or points for names, of which the
    first sixty groups are drawn. A null stands beside dates and numbers, and among names. The next key that has
    six values at most is told by colour. The others have panels.

    >>> counts = Estimated("count(*)", [12, 40], [8, 36], [16, 44], from_zero=True)
    >>> intervals({"city": ["Bergen", "Oslo"]}, [counts]).to_dict()["vconcat"][0]["layer"][0]["mark"]["type"]
    'bar'
    """
    alt, groups = _altair(), max((len(estimate.values) for estimate in estimates), default=0)
    if not groups:
        raise ParameterError("There is no number to draw: the release has no group.")
    names = list(keys)
    over = "" if not names else "time" if _are(keys[names[0]], date) else _axis_of(keys[names[0]])
    shown = min(groups, _MOST_NAMES if over == "name" else _MOST_POINTS)
    more = f", the first {shown} of {groups:,} groups" if shown < groups else ""
    panels = [_panel(alt, keys, estimate, over, shown) for estimate in estimates]
    whole: altair.TopLevelMixin = (
        alt.vconcat(*panels)
        .properties(title=alt.TitleParams(title, subtitle=subtitle + more), padding=12, background="white")
        .resolve_scale(color="independent")
        .configure_view(stroke=None)
        .configure_title(anchor="start", fontSize=17, fontWeight=600, offset=14, subtitleFontSize=13)
        .configure_axis(labelFontSize=12, titleFontSize=13, titleFontWeight="normal", gridColor="#e8e8e8")
        .configure_header(labelFontSize=12, title=None)
        .configure_legend(labelFontSize=12, titleFontSize=13, titleFontWeight="normal")
    )
    return whole


def _panel(
    alt: ModuleType, keys: Mapping[str, Sequence[Any]], estimate: Estimated, over: str, shown: int
) -> altair.TopLevelMixin:
    names = list(keys)
    told = [name for name in names[1:] if len(set(keys[name][:shown])) <= len(_COLOURS)][:1]
    apart = [name for name in names[1:] if name not in told]
    scale = {"date": 86_400_000.0, "datetime": 0.001}.get(estimate.axis, 1.0)  # pictures count milliseconds
    rows = []
    for i in range(shown):
        value, low, high = estimate.values[i], estimate.low[i], estimate.high[i]
        if value is None or low is None or high is None or not math.isfinite(high - low):
            continue
        rows.append(
            {
                "key": _drawn(keys[names[0]][i], over) if names else "",
                "colour": _named(keys[told[0]][i]) if told else "",
                "panel": ", ".join(_named(keys[name][i]) for name in apart),
                "value": value * scale,
                "low": low * scale,
                "high": high * scale,
            }
        )
    colours = list(dict.fromkeys(str(row["colour"]) for row in rows))
    height = {"time": 260, "number": 260, "": 70}.get(over)
    if height is None:
        lines = len({(row["key"], row["colour"]) for row in rows})
        height = max(60, 22 * lines if not told else 15 * lines)
    width = _WIDTH if not apart else _WIDTH // 2
    beside = width - _NULL if any(row["key"] is None for row in rows) else width
    for row in rows:
        if row["key"] is None:  # where it stands, in pixels: one colour right of the other
            step = _NULL / (len(colours) + 2)
            row["beside"] = beside + step * (1.5 + colours.index(str(row["colour"])))
    layers = _marks(alt, estimate, over, names[0] if names else "", told, colours, width, beside)
    if beside < width:
        layers.append(_null(alt, beside, height))
    chart = alt.layer(*layers, data=alt.Data(values=rows)).properties(width=width, height=height)
    panel: altair.TopLevelMixin = (
        chart.facet(facet=alt.Facet("panel:N", sort=None, title=None), columns=2) if apart else chart
    )
    return panel


def _marks(
    alt: ModuleType,
    estimate: Estimated,
    over: str,
    name: str,
    told: list[str],
    colours: list[str],
    width: int,
    beside: int,
) -> list[altair.Chart]:
    """The layers of a panel. Keys lie on the first `beside` pixels of its width, and null on the rest."""
    kind = "Q" if estimate.axis == "number" else "T"
    zero = alt.Scale(zero=estimate.from_zero and bool(over), nice=True)
    across = over not in ("time", "number")  # numbers go to the right, and keys down
    number, end = (alt.X, alt.X2) if across else (alt.Y, alt.Y2)
    ticks = alt.Axis(tickCount=width // _TICK) if across and kind == "Q" else alt.Undefined
    value = number(f"value:{kind}", title=estimate.name, scale=zero, axis=ticks)
    low, high = number(f"low:{kind}", title=estimate.name, scale=zero, axis=ticks), end("high")
    part = {} if beside == width else {"range": [0, beside]}
    days = alt.Axis(labelSeparation=6)
    place = {
        "time": lambda: {"x": alt.X("key:T", title=name, scale=alt.Scale(**part), axis=days)},
        "number": lambda: {"x": alt.X("key:Q", title=name, scale=alt.Scale(zero=False, **part))},
        "name": lambda: {"y": alt.Y("key:N", title=name, sort=None)},
        "": lambda: {"y": alt.Y("key:N", title=None, axis=None)},
    }[over]()
    if told:
        palette, legend = _palette(alt, colours), alt.Legend(symbolOpacity=1)
        place["color"] = alt.Color("colour:N", title=told[0], scale=palette, sort=None, legend=legend)
        if over == "name":
            place["yOffset"] = alt.YOffset("colour:N", sort=colours)
    fixed: dict[str, Any] = {} if told else {"color": _COLOURS[0]}
    axis = "x" if across else "y"
    main, ends = {axis: value, **place}, {axis: low, f"{axis}2": high, **place}
    if over == "name" and estimate.from_zero:
        ink = {name: where for name, where in ends.items() if name != "color"}
        bars = alt.Chart().mark_bar(opacity=0.6, **fixed).encode(**main)
        return [bars, alt.Chart().mark_rule(strokeWidth=1.6, color="#222222").encode(**ink)]

    def pointed(chart: altair.Chart, where: dict[str, Any]) -> list[altair.Chart]:
        rules = chart.mark_rule(strokeWidth=2.2 if across else 1.4, opacity=0.75, **fixed)
        points = chart.mark_point(filled=True, size=48 if across else 36, opacity=1, **fixed)
        return [rules.encode(**ends | where), points.encode(**main | where)]

    chart = alt.Chart() if beside == width else alt.Chart().transform_filter("datum.key !== null")
    if over == "time":
        band = chart.mark_area(opacity=0.22, **fixed).encode(**ends)
        line = chart.mark_line(strokeWidth=2, point={"size": 24, **fixed}, **fixed).encode(**main)
        layers = [band, line]
    else:
        layers = pointed(chart, {})
    if beside < width:
        alone = alt.Chart().transform_filter("datum.key === null")
        layers += pointed(alone, {"x": alt.X("beside:Q", scale=None, axis=None)})
    return layers


def _null(alt: ModuleType, beside: int, height: int) -> altair.Chart:
    """The word below what stands beside the axis."""
    word = alt.Chart(alt.Data(values=[{}])).mark_text(text="null", fontSize=12, baseline="top")
    named: altair.Chart = word.encode(x=alt.value(beside + _NULL // 2), y=alt.value(height + 7))
    return named


def _are(values: Sequence[Any], kind: type | tuple[type, ...]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(value, kind) and not isinstance(value, bool) for value in known)


def _axis_of(values: Sequence[Any]) -> str:
    many = len(set(values) - {None}) > 12  # a few numbers are names: the months of a year
    return "number" if many and _are(values, (int, float)) else "name"


def _drawn(key: Any, over: str) -> Any:
    if key is None:
        return None if over != "name" else "null"
    return key.isoformat() if over == "time" else key if over == "number" else _named(key)


def _named(key: Any) -> str:
    if isinstance(key, bool) or key is None:
        return "null" if key is None else str(key).lower()
    return key.isoformat(" ") if isinstance(key, datetime) else str(key)


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
