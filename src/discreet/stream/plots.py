"""Draw a stream: the private curve with its band, and the true one beside it where that may be shown.

Altair is imported only when a picture is drawn.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.render.charts import COLOURS, GREY, altair_module, house_style

if TYPE_CHECKING:
    import altair

    from discreet.stream.answer import StreamAnswer

Numbers: TypeAlias = Sequence[float] | NDArray[Any]

_MOST = 1500  # points of a line: more than a screen has
WIDTH, HEIGHT = 640, 240


def curve(
    answer: StreamAnswer,
    *,
    truth: Numbers | None = None,
    title: str = "",
    subtitle: str = "",
    tick: str = "tick",
    unit: float = 1.0,
) -> altair.LayerChart:
    """Draw a private curve with its band.

    Args:
        answer: The numbers of many ticks.
        truth: The true numbers, of made-up data; none by default.
        title: The title; the name of the count by default.
        subtitle: The line below it; by default the confidence and the guarantee.
        tick: What a tick is, for the axis.
        unit: How many ticks one unit of the axis has, such as 60 for hours of minutes.

    >>> from discreet.stream import Counter
    >>> answer = Counter(epsilon=1, delta="1e-9", horizon=100).extend([5] * 100)
    >>> len(curve(answer, truth=range(5, 505, 5)).to_dict()["layer"])
    3
    """
    answer.expect_release("drawing it")
    if len(answer.ticks) < 2 or answer.keys:
        raise ParameterError("A curve needs the numbers of many ticks.", fix="Draw what extend(…) returned.")
    text = {"text": title or answer.estimate.name, "subtitle": subtitle or f"{answer.receipt.promise}"}
    return house_style(_layers(answer, truth, tick, unit).properties(title={**text, "subtitleColor": GREY}))


def _layers(answer: StreamAnswer, truth: Numbers | None, tick: str, unit: float) -> altair.LayerChart:
    alt = altair_module()
    some = np.unique(np.linspace(0, len(answer.ticks) - 1, _MOST).astype(int))
    x = alt.X("at:Q", title=tick, axis=alt.Axis(tickCount=8, grid=False), scale=alt.Scale(nice=False))
    most = max((abs(value or 0) for value in answer.estimate.values), default=0.0)
    short = "~s" if most >= 10**6 else ",.0f"
    y = alt.Y("value:Q", title=answer.estimate.name, axis=alt.Axis(tickCount=6, format=short))
    sure = f"{float(100 * answer.estimate.confidence):.4g} %"
    names = ["true", f"private, with its interval of {sure}"]
    shown = names if truth is not None else names[1:]
    scale = alt.Scale(domain=shown, range=[COLOURS[1], COLOURS[0]][-len(shown) :])
    colour = alt.Color(
        "line:N", scale=scale, legend=alt.Legend(title=None, orient="top-left", offset=8, labelLimit=300)
    )
    numbers = answer.estimate
    rows: list[dict[str, Any]] = [
        {"at": answer.ticks[i] / unit, "value": numbers.values[i], "low": numbers.low[i], "high": numbers.high[i]}
        for i in some
    ]
    private = alt.Chart(_data([{**row, "line": names[1]} for row in rows]))
    low = alt.Y("low:Q", title=numbers.name)
    layers = [private.mark_area(opacity=0.25, color=COLOURS[0], clip=True).encode(x=x, y=low, y2="high:Q")]
    if truth is not None:
        exact = [{"at": answer.ticks[i] / unit, "value": float(truth[i]), "line": names[0]} for i in some]
        layers.append(alt.Chart(_data(exact)).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour))
    layers.append(private.mark_line(strokeWidth=1.4).encode(x=x, y=y, color=colour))
    chart: altair.LayerChart = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)
    return chart


def a_day(
    total: StreamAnswer, true_total: Numbers, tree: StreamAnswer, hour: StreamAnswer, true_hour: Numbers
) -> altair.VConcatChart:
    """Draw a day: the running total, its error beside that of a binary tree, and the last hour.

    Args:
        total: The private running total of every minute.
        true_total: The true one, of made-up data.
        tree: The running total by a binary tree of the same guarantee.
        hour: The private count of the last hour at every minute.
        true_hour: The true one.
    """
    alt = altair_module()
    words = f"Private as a whole, all 1,440 values of a curve together: {total.receipt.promise}"
    panels = [
        _layers(total, true_total, "", 60.0).properties(height=200),
        _errors(total, tree, true_total).properties(height=170),
        _layers(hour, true_hour, "hour of the day", 60.0).properties(height=200),
    ]
    title = alt.TitleParams("A day of visits, counted every minute", subtitle=words, subtitleColor=GREY)
    chart: altair.VConcatChart = alt.vconcat(*panels).properties(title=title).resolve_scale(color="independent")
    return house_style(chart)


def _errors(ours: StreamAnswer, tree: StreamAnswer, truth: Numbers) -> altair.LayerChart:
    """Draw private less true, and the bands in which it stays."""
    alt = altair_module()
    x = alt.X("at:Q", title="", axis=alt.Axis(tickCount=8, grid=False), scale=alt.Scale(nice=False))
    names = ["ours", "binary tree (best estimate)"]
    legend = alt.Legend(title=None, orient="top", offset=2, labelLimit=300, direction="horizontal")
    colour = alt.Color("line:N", scale=alt.Scale(domain=names, range=[COLOURS[0], GREY]), legend=legend)
    y = alt.Y("error:Q", title="error of the total")
    layers = []
    for answer, name in ((tree, names[1]), (ours, names[0])):
        numbers = zip(answer.ticks, answer.estimate.values, answer.estimate.margins, truth, strict=True)
        rows = [
            {
                "at": tick / 60,
                "error": (value or 0) - float(true),
                "low": -(margin or 0),
                "high": margin,
                "line": name,
            }
            for tick, value, margin, true in numbers
        ]
        data = alt.Chart(_data(rows))
        fill = COLOURS[0] if answer is ours else GREY
        band = data.mark_area(opacity=0.28 if answer is ours else 0.16, color=fill)
        layers.append(band.encode(x=x, y=alt.Y("low:Q", title="error of the total"), y2="high:Q"))
        layers.append(data.mark_line(strokeWidth=1.2).encode(x=x, y=y, color=colour))
    chart: altair.LayerChart = alt.layer(*layers).properties(width=WIDTH)
    return chart


def _data(rows: Sequence[dict[str, Any]]) -> altair.InlineData:
    """Return rows as CSV: a long list of records takes altair seconds to validate."""
    alt, text = altair_module(), io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    data: altair.InlineData = alt.InlineData(values=text.getvalue(), format=alt.CsvDataFormat(type="csv"))
    return data
