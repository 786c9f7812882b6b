"""Draw a comparison: the distances of all marginals, the furthest by name, and marginals side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.render.charts import COLOURS, GREY, WIDTH, altair_module, house_style

if TYPE_CHECKING:
    import altair

    from discreet.synth.evaluate import Comparison, Shown

_NAMED = 30  # marginals that a picture names
_NAME = 320  # pixels for their names


def comparison(compared: Comparison) -> altair.TopLevelMixin:
    """Draw the distances, and the marginals that were looked at, one below the other."""
    alt = altair_module()
    rows = [
        {
            "columns": ", ".join(d.columns),
            "ways": f"{len(d.columns)}",
            "distance": max(d.value, 0),
            "low": max(d.value - 1.96 * d.deviation, 0),
            "high": max(d.value + 1.96 * d.deviation, 0),
            "how": d.how,
        }
        for d in compared.distances
    ]
    ticks = alt.Chart(alt.Data(values=rows), title="All of them", width=WIDTH, height=80).mark_tick(thickness=2)
    every = ticks.encode(**_seen(rows), y=alt.Y("ways:N", title="columns"))
    whole: altair.VConcatChart = alt.vconcat(
        every, _by_name(rows), *map(_side_by_side, compared.shown)
    ).properties(title=alt.TitleParams(compared.title, subtitle="0 is no difference, 2 is nothing in common"))
    return house_style(whole)


def _seen(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the encoding by which every mark shows its distance. Its legend is above, and not cut off."""
    alt, hows = altair_module(), list(dict.fromkeys(row["how"] for row in rows))
    scale = alt.Scale(domain=hows, range=list(COLOURS[: len(hows)]))
    legend = alt.Legend(orient="top", title=None, labelLimit=0, symbolOpacity=1) if len(hows) > 1 else None
    return {
        "x": alt.X("distance:Q", title="difference from the table", scale=alt.Scale(zero=True)),
        "color": alt.Color("how:N", scale=scale, legend=legend),
        "tooltip": ["columns:N", alt.Tooltip("distance:Q", format=".4f"), "how:N"],
    }


def _by_name(rows: Sequence[dict[str, Any]]) -> Any:
    """Draw the marginals that are furthest off, one line each, with their intervals where they have any."""
    alt = altair_module()
    worst = sorted(rows, key=lambda row: -float(row["distance"]))[:_NAMED]
    title = "By name" if len(worst) == len(rows) else f"The {len(worst)} furthest off, of {len(rows):,}"
    names = alt.Y("columns:N", title=None, sort=None, axis=alt.Axis(labelLimit=_NAME))
    base = alt.Chart(alt.Data(values=worst), title=title, width=WIDTH)
    seen = _seen(rows)
    ends = seen | {"x": alt.X("low:Q", title="difference from the table"), "x2": "high:Q"}
    points = base.mark_point(filled=True, opacity=1, size=48).encode(**seen, y=names)
    return base.mark_rule(opacity=0.6, strokeWidth=2).encode(**ends, y=names) + points


def _side_by_side(shown: Shown) -> Any:
    """Draw the cells of one marginal: rows that were measured over synthetic rows."""
    alt, noise = altair_module(), 1.96 * shown.deviation
    rows = [
        {"synthetic": float(s), "table": float(t), "low": float(t) - noise, "high": float(t) + noise}
        for s, t in zip(shown.synthetic.ravel()[:5000], shown.table.ravel()[:5000], strict=True)
    ]
    top = max(float(shown.synthetic.max()), float(shown.table.max()), 1.0)
    title = alt.TitleParams(" × ".join(shown.columns), subtitle="Each point is a cell; on the line both agree.")
    base = alt.Chart(alt.Data(values=rows), title=title, width=400, height=400)
    diagonal = alt.Chart(alt.Data(values=[{"at": 0.0}, {"at": top}])).mark_line(color=GREY)
    x = alt.X("synthetic:Q", title="rows in the synthetic table")
    bars = base.mark_rule(opacity=0.4, color=COLOURS[0]).encode(
        x=x, y=alt.Y("low:Q", title="rows measured in the vault, with noise"), y2="high:Q"
    )
    points = base.mark_point(size=16, color=COLOURS[0]).encode(x=x, y="table:Q")
    return diagonal.encode(x="at:Q", y="at:Q") + bars + points
