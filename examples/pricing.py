"""Set a price without learning what any single buyer would pay. Writes out/pricing.html and out/pricing.png."""

from __future__ import annotations

from pathlib import Path

import altair as alt
import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import Exact, Exponential, Sensitivity
from discreet.render import charts

PRICES = np.arange(1, 101)
BUYERS = 1_000
CHOICES = 2_000
BUDGETS = ("0.1", "1")


def limits() -> NDArray[np.int64]:
    """What each made-up buyer would pay at most: quantiles of a bell around 45, with a few who would pay a lot."""
    rank = (np.arange(BUYERS) + 0.5) / BUYERS
    return np.array(np.clip(np.rint(45 + 12 * np.log(rank / (1 - rank))), 1, 100), dtype=np.int64)


def revenue(would_pay: NDArray[np.int64]) -> NDArray[np.int64]:
    """At price p everyone buys who would pay p or more."""
    return np.array([price * np.count_nonzero(would_pay >= price) for price in PRICES])


def mechanism(epsilon: str) -> Exponential:
    """A buyer moves the revenue at any price by at most the highest price, and one who joins only upwards."""
    return Exponential(epsilon, sensitivity=int(PRICES.max()), monotonic=True)


def choices(scores: NDArray[np.int64], epsilon: str) -> NDArray[np.int64]:
    """How often each price is set if one tried over and over: to see the law, never to be released like this."""
    exact = Exact(scores, Sensitivity(each=int(PRICES.max()), monotonic="up"))
    release = mechanism(epsilon).release
    return np.bincount([release(exact) for _ in range(CHOICES)], minlength=len(PRICES))


def chart(scores: NDArray[np.int64]) -> alt.VConcatChart:
    curve = [{"price": int(p), "revenue": int(u)} for p, u in zip(PRICES, scores, strict=True)]
    floors, chosen = [], []
    for epsilon in BUDGETS:
        floor = int(scores.max()) - mechanism(epsilon).error("0.95", candidates=len(PRICES))
        floors.append({"revenue": floor, "budget": f"ε = {epsilon}"})
        for price, times in zip(PRICES, choices(scores, epsilon), strict=True):
            chosen.append({"price": int(price), "share": times / CHOICES, "budget": f"ε = {epsilon}"})

    across = alt.X("price:Q", title="price", scale=alt.Scale(domain=[0, 101], nice=False, padding=0))
    colour = alt.Color(
        "budget:N",
        title=None,
        scale=charts.palette([f"ε = {e}" for e in BUDGETS]),
        legend=alt.Legend(orient="top"),
    )
    earned = alt.Y("revenue:Q", title="revenue", axis=alt.Axis(format=",d"))
    share = alt.Y("share:Q", title="how often it is set", axis=alt.Axis(format="%"), stack=None)
    line = (
        alt.Chart(alt.InlineData(values=curve)).mark_line(color=charts.GREY, strokeWidth=2).encode(across, earned)
    )
    rules = (
        alt.Chart(alt.InlineData(values=floors)).mark_rule(strokeDash=[6, 4], strokeWidth=2).encode(earned, colour)
    )
    bars = alt.Chart(alt.InlineData(values=chosen)).mark_bar(opacity=0.7, width=4).encode(across, share, colour)
    title = alt.Title(
        "A price set by the exponential mechanism",
        subtitle="Dashed: at least 95 % of choices earn this much, whatever the scores",
    )
    whole = alt.vconcat(
        alt.layer(line, rules).properties(width=charts.WIDTH, height=240),
        bars.properties(width=charts.WIDTH, height=160),
    ).properties(title=title)
    return charts.house_style(whole)


def main() -> None:
    out = Path("out")
    out.mkdir(exist_ok=True)
    picture = chart(revenue(limits()))
    picture.save(out / "pricing.html", inline=True)
    picture.save(out / "pricing.png", scale_factor=2)
    print("out/pricing.html and out/pricing.png show the revenue at every price, and the prices set privately.")


if __name__ == "__main__":
    main()
