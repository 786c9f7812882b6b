"""Draw what a plain and a guarded holdout report beside the truth, with the intervals of the guarded one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.render.charts import COLOURS, GREY, altair_module, house_style
from discreet.validity.experiments import Point

if TYPE_CHECKING:
    import altair

_LINES = {"on training rows": GREY, "as reported": COLOURS[1], "on fresh rows": COLOURS[0]}


def screening_chart(points: Sequence[Point], title: str, subtitle: str = "") -> altair.TopLevelMixin:
    """Draw the scores of classifiers with more and more features, one panel for each analyst.

    Args:
        points: What `experiments.screening` returned.
        title: The title.
        subtitle: The line below it; none by default.

    >>> drawn = screening_chart([Point(1, "plain holdout", 0.6, 0.6, 0.5)], "A").to_dict()
    >>> drawn["title"]["text"]
    'A'
    """
    alt = altair_module()
    rows: list[dict[str, Any]] = []
    for point in points:
        scores = (point.train, point.reported, point.fresh)
        for line, score in zip(_LINES, scores, strict=True):
            rows.append({"features": point.features, "analyst": point.analyst, "line": line, "score": 100 * score})
    bands = [
        {"features": p.features, "analyst": p.analyst, "low": 100 * p.low, "high": 100 * p.high}
        for p in points
        if p.low is not None and p.high is not None
    ]
    colour = alt.Color(
        "line:N",
        title=None,
        sort=list(_LINES),
        scale=alt.Scale(domain=list(_LINES), range=list(_LINES.values())),
        legend=alt.Legend(orient="top", symbolType="stroke", symbolStrokeWidth=3),
    )
    shown = [row["score"] for row in rows]
    low, high = min(40, 5 * math.floor(min(shown) / 5)), max(75, 5 * math.ceil(max(shown) / 5))
    panels, scale = [], alt.Scale(domain=[low, high])
    for analyst in dict.fromkeys(point.analyst for point in points):
        mine = alt.Data(values=[row for row in rows if row["analyst"] == analyst])
        lines = (
            alt.Chart(mine)
            .mark_line(strokeWidth=2.4, point={"size": 30})
            .encode(
                x=alt.X("features:Q", title="features in the classifier"),
                y=alt.Y("score:Q", title="accuracy, %", scale=scale),
                color=colour,
            )
        )
        kept = alt.Data(values=[band for band in bands if band["analyst"] == analyst])
        area = alt.Chart(kept).mark_area(opacity=0.16, color=COLOURS[1], clip=True)
        band = area.encode(x=alt.X("features:Q"), y=alt.Y("low:Q", scale=scale), y2=alt.Y2("high:Q"))
        panels.append(alt.layer(band, lines).properties(width=300, height=280, title=analyst))
    whole = alt.hconcat(*panels).properties(title=alt.TitleParams(title, subtitle=subtitle.splitlines()))
    drawn: altair.TopLevelMixin = house_style(whole)
    return drawn
