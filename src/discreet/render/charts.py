"""Draw pictures in one style: the palette, the axes, and numbers with their intervals.

Altair is imported only when a picture is drawn, so that `import discreet` stays light.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import partial
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from discreet.errors import DiscreetError, ParameterError

if TYPE_CHECKING:
    import altair

Chart = TypeVar("Chart")

# Okabe and Ito's palette, because colour-blind readers can tell its colours apart too.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
GREY = "#777777"
WIDTH, HEIGHT = 540, 380
"""The size of a picture, in pixels."""

_MOST_NAMES, _MOST_POINTS = 60, 5000  # groups in a picture
_NULL = 56  # pixels beside an axis of numbers or dates, because null is a group without a place on it
_TICK = 90  # pixels per label of a number: Vega hides every other one of more labels, and zero may be among them


# -- the style --------------------------------------------------------------------------------------------------


def altair_module() -> ModuleType:
    """Import altair, or say how to install it."""
    try:
        import altair
    except ImportError:
        raise DiscreetError(
            "Pictures need altair, which is not installed.", fix='Install it with: pip install "discreet[plots]".'
        ) from None
    return altair


def house_style(chart: Chart) -> Chart:
    """Return a chart with the fonts, the grid and the background that all pictures share.

    >>> house_style(altair_module().Chart().mark_line()).to_dict()["config"]["title"]["anchor"]
    'start'
    """
    drawn: Any = chart
    styled: Chart = (
        drawn.properties(padding=12, background="white")
        .configure_view(stroke=None)
        .configure_title(anchor="start", fontSize=17, fontWeight=600, offset=14, subtitleFontSize=13)
        .configure_axis(labelFontSize=12, titleFontSize=13, titleFontWeight="normal", gridColor="#e8e8e8")
        .configure_header(labelFontSize=12, title=None)
        .configure_legend(labelFontSize=12, titleFontSize=13, titleFontWeight="normal")
    )
    # Altair stores attributes as parts of the specification; this one is for notebooks, and no part of it.
    object.__setattr__(styled, "_repr_mimebundle_", partial(_notebook, styled))
    return styled


def _notebook(chart: Any, **asked: Any) -> Any:
    """Return a chart as a notebook shows it: as SVG, which needs no network.

    Altair's default is a page that loads scripts from another host. A machine without a network shows an error
    instead, and others tell that host who reads the notebook. A renderer that the analyst chose is respected.
    """
    alt = altair_module()
    if alt.renderers.active != "default" or find_spec("vl_convert") is None:
        return type(chart)._repr_mimebundle_(chart, **asked)
    written = io.StringIO()
    chart.save(written, format="svg")
    return {"image/svg+xml": written.getvalue(), "text/plain": "<chart>"}


def palette(names: Sequence[str]) -> altair.Scale:
    """Return the scale that gives each name a colour, in this order."""
    scale: altair.Scale = altair_module().Scale(domain=list(names), range=list(COLOURS[: len(names)]))
    return scale


def decades(low: float, high: float) -> list[float]:
    """Return the powers of ten between two numbers: the ticks of a logarithmic axis.

    >>> decades(0.5, 200)
    [1.0, 10.0, 100.0]
    """
    return [10.0**n for n in range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)]


# -- intervals --------------------------------------------------------------------------------------------------


class Estimated(NamedTuple):
    """One number per group with the ends of its interval; None where there is no answer.

    A number without a value that has an interval is unknown: anything in the interval is possible.

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
    """Draw numbers with their intervals, one picture per estimate, one below the other.

    The first key is an axis: a line over dates, points over numbers, and bars or points for names, of which the
    first sixty groups are drawn. A null stands beside dates and numbers, and among names. The next key with at
    most six values has colours. The other keys have panels.

    Args:
        keys: The columns of keys by name, one value per group.
        estimates: The numbers to draw, one per group each.
        title: The title of the picture; none by default.
        subtitle: The line below the title; none by default.

    >>> counts = Estimated("count(*)", [12, 40], [8, 36], [16, 44], from_zero=True)
    >>> intervals({"city": ["Bergen", "Oslo"]}, [counts]).to_dict()["vconcat"][0]["layer"][0]["mark"]["type"]
    'bar'
    """
    alt, groups = altair_module(), max((len(estimate.values) for estimate in estimates), default=0)
    if not groups:
        raise ParameterError("There is no number to draw, because the release has no group.")
    names = list(keys)
    over = "" if not names else "time" if _are(keys[names[0]], date) else _axis_of(keys[names[0]])
    shown = min(groups, _MOST_NAMES if over == "name" else _MOST_POINTS)
    more = f", the first {shown} of {groups:,} groups" if shown < groups else ""
    panels = [_panel(alt, keys, estimate, over, shown) for estimate in estimates]
    whole: altair.VConcatChart = (
        alt.vconcat(*panels)
        .properties(title=alt.TitleParams(title, subtitle=subtitle + more))
        .resolve_scale(color="independent")
    )
    return house_style(whole)


def _panel(
    alt: ModuleType, keys: Mapping[str, Sequence[Any]], estimate: Estimated, over: str, shown: int
) -> altair.TopLevelMixin:
    names = list(keys)
    told = [name for name in names[1:] if len(set(keys[name][:shown])) <= len(COLOURS)][:1]
    apart = [name for name in names[1:] if name not in told]
    scale = {"date": 86_400_000.0, "datetime": 0.001}.get(estimate.axis, 1.0)  # because Vega counts milliseconds
    rows = []
    for i in range(shown):
        value, low, high = estimate.values[i], estimate.low[i], estimate.high[i]
        if low is None or high is None or not math.isfinite(high - low):
            continue
        rows.append(
            {
                "key": _drawn(keys[names[0]][i], over) if names else "",
                "colour": _named(keys[told[0]][i]) if told else "",
                "panel": ", ".join(_named(keys[name][i]) for name in apart),
                "value": None if value is None else value * scale,
                "middle": (low + high) / 2 * scale,
                "low": low * scale,
                "high": high * scale,
            }
        )
    colours = list(dict.fromkeys(str(row["colour"]) for row in rows))
    height = {"time": 260, "number": 260, "": 70}.get(over)
    if height is None:
        lines = len({(row["key"], row["colour"]) for row in rows})
        height = max(60, 22 * lines if not told else 15 * lines)
    width = WIDTH if not apart else WIDTH // 2
    beside = width - _NULL if any(row["key"] is None for row in rows) else width
    for row in rows:
        if row["key"] is None:  # its place in pixels: the colours stand side by side
            step = _NULL / (len(colours) + 2)
            row["beside"] = beside + step * (1.5 + colours.index(str(row["colour"])))
    title = _fitting(names[0], height) if names and over == "name" else names[0] if names else ""
    layers = _marks(alt, estimate, over, title, told, colours, width, beside)
    if beside < width:
        layers.append(_null(alt, beside, height))
    if any(row["value"] is None for row in rows):
        layers.append(_unknown(alt, estimate, over, title))

    def drawn(title: str, some: list[dict[str, Any]]) -> altair.LayerChart:
        layered: altair.LayerChart = alt.layer(*layers, data=alt.Data(values=some))
        named = {"title": alt.TitleParams(title, fontSize=13, anchor="middle", offset=6)} if apart else {}
        return layered.properties(width=width, height=height, **named)

    if not apart:
        return drawn("", rows)
    # Charts of their own, and not facets: below a row that is not full, facets leave an axis without a chart.
    names_of_panels = dict.fromkeys(str(row["panel"]) for row in rows)
    panels = [drawn(name, [row for row in rows if row["panel"] == name]) for name in names_of_panels]
    beside_each_other: altair.ConcatChart = alt.concat(*panels, columns=2).resolve_scale(x="shared", y="shared")
    return beside_each_other


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
    """Return the layers of a panel. Keys lie on the first `beside` pixels of its width, and null on the rest."""
    kind = "Q" if estimate.axis == "number" else "T"
    zero = alt.Scale(zero=estimate.from_zero and bool(over), nice=True)
    across = over not in ("time", "number")  # then numbers go to the right, and keys down
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
        hues, legend = palette(colours), alt.Legend(symbolOpacity=1)
        place["color"] = alt.Color("colour:N", title=told[0], scale=hues, sort=None, legend=legend)
        if over == "name":
            place["yOffset"] = alt.YOffset("colour:N", sort=colours)
    fixed: dict[str, Any] = {} if told else {"color": COLOURS[0]}
    axis = "x" if across else "y"
    main, ends = {axis: value, **place}, {axis: low, f"{axis}2": high, **place}
    if over == "name" and estimate.from_zero:
        ink = {name: where for name, where in ends.items() if name != "color"}
        bars = alt.Chart().mark_bar(opacity=0.6, **fixed).encode(**main)
        return [bars, alt.Chart().mark_rule(strokeWidth=1.6, color="#222222").encode(**ink)]

    def pointed(chart: altair.Chart, where: dict[str, Any]) -> list[altair.Chart]:
        faint = alt.condition("datum.value === null", alt.value(0.25), alt.value(0.75))
        rules = chart.mark_rule(strokeWidth=2.2 if across else 1.4, **fixed).encode(opacity=faint)
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


def _unknown(alt: ModuleType, estimate: Estimated, over: str, name: str) -> altair.Chart:
    """Return the word "unknown" in the middle of the intervals that have no value."""
    number = f"middle:{'Q' if estimate.axis == 'number' else 'T'}"
    key = {"time": "key:T", "number": "key:Q"}.get(over, "key:N")
    where = {"x": alt.X(key, title=name), "y": alt.Y(number, title=estimate.name)}
    if over not in ("time", "number"):
        axis = None if not name else alt.Undefined
        where = {
            "x": alt.X(number, title=estimate.name),
            "y": alt.Y(key, title=name or None, sort=None, axis=axis),
        }
    word = alt.Chart().transform_filter("datum.value === null && datum.key !== null")
    shown: altair.Chart = word.mark_text(text="unknown", fontSize=11, dy=-8, color=GREY).encode(**where)
    return shown


def _fitting(name: str, height: int) -> str:
    """Return the title of an axis that goes upwards: one much longer than the axis would run into the next panel.

    >>> _fitting("district", 60), _fitting("the district of the hospital", 60)
    ('district', 'the district…')
    """
    most = (height + 40) // 8  # a letter of 13 pixels is 8 wide or less
    return name if len(name) <= most + 1 else f"{name[:most].rstrip()}…"


def _null(alt: ModuleType, beside: int, height: int) -> altair.Chart:
    """Return the word "null" below the points that stand beside the axis."""
    word = alt.Chart(alt.Data(values=[{}])).mark_text(text="null", fontSize=12, baseline="top")
    named: altair.Chart = word.encode(x=alt.value(beside + _NULL // 2), y=alt.value(height + 7))
    return named


def _are(values: Sequence[Any], kind: type | tuple[type, ...]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(value, kind) and not isinstance(value, bool) for value in known)


def _axis_of(values: Sequence[Any]) -> str:
    many = len(set(values) - {None}) > 12  # few numbers are names, such as the months of a year
    return "number" if many and _are(values, (int, float)) else "name"


def _drawn(key: Any, over: str) -> Any:
    if key is None:
        return None if over != "name" else "null"
    return key.isoformat() if over == "time" else key if over == "number" else _named(key)


def _named(key: Any) -> str:
    if isinstance(key, bool) or key is None:
        return "null" if key is None else str(key).lower()
    return key.isoformat(" ") if isinstance(key, datetime) else str(key)
