"""Draw what Discreet costs and how far its errors are from their limits, from figures that benchmarks printed.

The figures stand in performance.json: `costs` by `make bench NAME=costs`, `synth` by `NAME=synth`, `stream` by
`NAME=stream`. A new run of a benchmark is copied there by hand, together with the tables of docs/performance.md.
`make pictures` saves the pictures with those of all other examples.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from discreet.render.charts import COLOURS, GREY, altair_module, decades, house_style, palette

FIGURES: dict[str, list[dict[str, Any]]] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))


def charts() -> dict[str, Any]:
    """The pictures of the page on performance, by name."""
    return {
        "performance-costs": costs(FIGURES["costs"]),
        "performance-synth": synth(FIGURES["synth"]),
        "performance-stream": stream(FIGURES["stream"]),
    }


def costs(figures: list[dict[str, Any]]) -> Any:
    """CPU time as a multiple of what no privacy would take: before, now, and the reach of each."""
    alt = altair_module()
    when = ["before", "now", "reach"]
    rows = [{"figure": each["figure"], "when": name, "ratio": each[name]} for each in figures for name in when]
    order = [each["figure"] for each in figures]
    y = alt.Y("figure:N", sort=order, title=None, axis=alt.Axis(labelLimit=280))
    scale = alt.Scale(type="log", domain=[0.3, 60], nice=False)
    x = alt.X("ratio:Q", scale=scale, title="CPU time, times that of the raw engine")
    link = (
        alt.Chart(alt.Data(values=figures))
        .mark_rule(color="#c8c8c8", strokeWidth=2)
        .encode(y=y, x=alt.X("before:Q", scale=scale), x2=alt.X2("now:Q"))
    )
    points = (
        alt.Chart(alt.Data(values=rows))
        .mark_point(filled=True, opacity=1, size=90)
        .encode(
            y=y,
            x=x.axis(values=[0.5, 1, 2, 5, 10, 20, 50], format="~g"),
            color=alt.Color("when:N", title=None, scale=_chosen(when, [GREY, COLOURS[0], COLOURS[1]])),
            shape=alt.Shape("when:N", title=None, scale=_chosen(when, ["circle", "circle", "diamond"])),
        )
    )
    one = alt.Chart(alt.Data(values=[{"at": 1}])).mark_rule(strokeDash=[4, 4], color=GREY).encode(x="at:Q")
    drawn = alt.layer(link, one, points).properties(
        width=420, height=34 * len(order), title="What privacy costs beside the raw engine"
    )
    return house_style(drawn)


def synth(figures: list[dict[str, Any]]) -> Any:
    """Errors of answers and rows of synthetic tables beside a bootstrap of the true rows, by table and ε."""
    alt = altair_module()
    kinds = ["answers", "rows", "bootstrap"]
    rows = [
        {"table": each["table"], "epsilon": f"ε = {each['epsilon']}", "kind": kind, "error": each[kind]}
        for each in figures
        for kind in kinds
    ]
    order = list(dict.fromkeys(each["table"] for each in figures))
    drawn = (
        alt.Chart(alt.Data(values=rows))
        .mark_point(filled=True, size=70, opacity=0.9)
        .encode(
            x=alt.X("error:Q", scale=alt.Scale(type="log", domain=[0.002, 1.5]), title="mean L1 error").axis(
                values=decades(0.002, 1.5), format="~g"
            ),
            y=alt.Y("table:N", sort=order, title=None),
            color=alt.Color("kind:N", title=None, scale=_chosen(kinds, [*COLOURS[:2], GREY])),
            shape=alt.Shape("kind:N", title=None, scale=_chosen(kinds, ["circle", "diamond", "square"])),
        )
        .properties(width=190, height=26 * len(order))
        .facet(column=alt.Column("epsilon:N", sort=["ε = 0.1", "ε = 1", "ε = 10"], title=None))
        .properties(title="Synthetic tables: errors beside a bootstrap of the true rows")
    )
    return house_style(drawn)


def stream(figures: list[dict[str, Any]]) -> Any:
    """By how much the error of a running count exceeds the least error of any factorisation."""
    alt = altair_module()
    kinds = {"tree": "binary tree", "from below": "tree from below", "square root": "square root"}
    kinds |= {"Discreet": "Discreet"}
    rows = [
        {"ticks": each["ticks"], "kind": name, "excess": 100 * (each[kind] / each["bound"] - 1)}
        for each in figures
        for kind, name in kinds.items()
    ]
    names = list(kinds.values())
    x = alt.X("ticks:Q", scale=alt.Scale(type="log"), title="ticks")
    y = alt.Y("excess:Q", scale=alt.Scale(type="log", domain=[1, 300], nice=False))
    drawn = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(point=True, strokeWidth=2)
        .encode(
            x=x.axis(values=decades(1e3, 1e6), format=","),
            y=y.title("root mean square error, % above its lower bound").axis(
                values=[1, 2, 5, 10, 20, 50, 100, 200], format="~g"
            ),
            color=alt.Color("kind:N", title=None, sort=names, scale=palette(names)),
        )
        .properties(width=460, height=300, title="A running count beside the least error possible")
    )
    return house_style(drawn)


def _chosen(names: list[str], values: list[str]) -> Any:
    return altair_module().Scale(domain=names, range=values)
