"""Draw margin distribution graphs, and errors over the rounds of boosting.

Altair is imported only when a picture is drawn. A picture that was computed from the rows themselves says so,
and so does the one that was paid for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from discreet.engines.examples import WHOLE
from discreet.errors import ParameterError
from discreet.render.charts import COLOURS, GREY, HEIGHT, WIDTH, altair_module, decades, house_style, palette

if TYPE_CHECKING:
    import altair

    from discreet.learn.boosting.margins import Margins
    from discreet.learn.boosting.noisy_margins import NoisyMargins

_POINTS = 400  # of a curve
_DASHES = ((2, 3), (9, 5), (1, 0), (5, 2, 1, 2), (12, 3), (3, 1))  # short, long, solid: as in the textbook


def margin_distribution(margins: Margins) -> altair.LayerChart:
    """Draw the share of the examples whose margin is at most θ, for every number of voters.

    >>> from discreet.learn.boosting.margins import Margins
    >>> drawn = margin_distribution(Margins("a vote", (5,), (np.array([-0.5, 0.5]),)))
    >>> drawn.to_dict()["title"]["subtitle"]
    'a vote, 2 examples. Not private: no noise was added.'
    """
    if len(margins.rounds) > len(_DASHES):
        raise ParameterError(f"One picture holds at most {len(_DASHES)} curves.", found=len(margins.rounds))
    alt = altair_module()
    names = [f"{count:,} {'voter' if count == 1 else 'voters'}" for count in margins.rounds]
    theta = np.linspace(-1, 1, _POINTS + 1)
    rows = [
        {"margin": float(at), "share": float(share), "after": name}
        for name, found in zip(names, margins.values, strict=True)
        for at, share in zip(theta, np.searchsorted(np.sort(found), theta, side="right") / found.size, strict=True)
    ]
    x = alt.X("margin:Q", title="margin θ", scale=alt.Scale(domain=[-1, 1], nice=False))
    percent = alt.Axis(format="%", tickCount=5)
    y = alt.Y("share:Q", title="examples with a margin of θ or less", axis=percent, scale=alt.Scale(domain=[0, 1]))
    legend = alt.Legend(title="after", orient="top-left", labelFontSize=13, symbolStrokeWidth=3, offset=12)
    colour = alt.Color("after:N", legend=legend, scale=palette(names), sort=None)
    dashes = [list(dash) for dash in _DASHES]
    shape = dashes[: len(names)] if len(names) != 1 else [[1, 0]]
    dash = alt.StrokeDash("after:N", scale=alt.Scale(domain=names, range=shape), legend=legend, sort=None)
    lines = alt.Chart(alt.Data(values=rows)).mark_line(strokeWidth=2.5, interpolate="step-after")
    middle = alt.Chart(alt.Data(values=[{"margin": 0}])).mark_rule(color=GREY, strokeDash=[5, 4])
    word = alt.Chart(alt.Data(values=[{"margin": 0, "share": 1}])).mark_text(
        text="right from here on", align="left", dx=6, dy=12, color=GREY, fontSize=12
    )
    chart: altair.LayerChart = alt.layer(
        lines.encode(x=x, y=y, color=colour, strokeDash=dash), middle.encode(x=x), word.encode(x=x, y=y)
    )
    size = f"{margins.last.size:,} examples"
    title = {
        "text": "Margin distribution",
        "subtitle": f"{margins.name}, {size}. Not private: no noise was added.",
    }
    return house_style(chart.properties(title=title, width=WIDTH, height=HEIGHT))


def noisy_distribution(margins: NoisyMargins) -> altair.LayerChart:
    """Draw a noisy margin distribution with the band that holds the exact one, with 95 % for all θ at once.

    >>> from fractions import Fraction
    >>> from discreet.learn.boosting.noisy_margins import BINS, NoisyMargins
    >>> made = NoisyMargins("a vote", (4096 * 100,) * BINS, "gaussian", Fraction(10**8))
    >>> noisy_distribution(made).to_dict()["title"]["subtitle"]
    'a vote. Private: noise was added, and paid for.'
    """
    alt = altair_module()
    below = np.cumsum(np.array(margins.counts, float)) / WHOLE
    total = max(1.0, float(below[-1]))
    slack = np.array([margins.slack(cells, 0.025) for cells in range(1, len(below) + 1)])
    values = [
        {"margin": float(at), "share": float(share), "low": float(low), "high": float(high)}
        for at, share, low, high in zip(
            margins.edges,
            np.clip(below / total, 0, 1),
            np.clip((below - slack) / total, 0, 1),
            np.clip((below + slack) / total, 0, 1),
            strict=True,
        )
    ]
    x = alt.X("margin:Q", title="margin θ", scale=alt.Scale(domain=[-1, 1], nice=False))
    percent, whole = alt.Axis(format="%", tickCount=5), alt.Scale(domain=[0, 1])
    y = alt.Y("share:Q", title="rows with a margin below θ", axis=percent, scale=whole)
    low = alt.Y("low:Q", title="rows with a margin below θ", axis=percent, scale=whole)
    base = alt.Chart(alt.Data(values=values))
    band = base.mark_area(opacity=0.22, color=COLOURS[0]).encode(x=x, y=low, y2=alt.Y2("high:Q"))
    line = base.mark_line(strokeWidth=2.5, color=COLOURS[0]).encode(x=x, y=y)
    chart: altair.LayerChart = alt.layer(band, line)
    subtitle = f"{margins.name}. Private: noise was added, and paid for."
    title = {"text": "Margin distribution", "subtitle": subtitle}
    return house_style(chart.properties(title=title, width=WIDTH, height=HEIGHT))


def errors_over_rounds(errors: Mapping[str, Sequence[float]]) -> altair.LayerChart:
    """Draw errors after each round, by name, such as "training" and "test", on a logarithmic axis of rounds.

    >>> errors_over_rounds({"training": [0.2, 0.1], "test": [0.2, 0.15]}).to_dict()["title"]["text"]
    'Error over the rounds of boosting'
    """
    alt, names = altair_module(), list(errors)
    last = max((len(values) for values in errors.values()), default=0)
    if last < 2:
        raise ParameterError("A picture of errors needs 2 or more rounds.", found=last)
    rows = [
        {"round": t, "error": float(values[t - 1]), "on": name}
        for name, values in errors.items()
        for t in np.unique(np.geomspace(1, len(values), _POINTS).round().astype(int)).tolist()
    ]
    across = alt.Scale(type="log", domain=[1, last], nice=False)
    x = alt.X("round:Q", title="rounds", scale=across, axis=alt.Axis(format="~s", values=decades(1, last)))
    y = alt.Y("error:Q", title="share of wrong answers", axis=alt.Axis(format=".1%", tickCount=5))
    legend = alt.Legend(title=None, orient="top-right", labelFontSize=13, symbolStrokeWidth=3, offset=12)
    colour = alt.Color("on:N", legend=legend, scale=palette(names), sort=None)
    lines = alt.Chart(alt.Data(values=rows)).mark_line(strokeWidth=2.5).encode(x=x, y=y, color=colour)
    chart: altair.LayerChart = alt.layer(lines)
    title = {"text": "Error over the rounds of boosting", "subtitle": "Not private: no noise was added."}
    return house_style(chart.properties(title=title, width=WIDTH, height=HEIGHT))
