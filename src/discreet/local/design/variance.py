"""Compare the accuracy of the protocols with each other and with the optimum.

n·Var on average over the domain, from the exact probabilities of each protocol. The optimum is that of Ye and Barg
(2018): no ε-private protocol has a sum of squared errors below

    min_w (d − 1)²·(w·e^ε + d − w)²/(d·w(d − w)(e^ε − 1)²)/n

for uniform frequencies of a population that is itself drawn, which adds (1 − 1/d)/n; that part is taken off here.
For a large domain it is d·4e^ε/(e^ε − 1)².
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.local.design.choose import CANDIDATES
from discreet.local.protocols import registry
from discreet.local.protocols.frequency.frequency_oracle import domain_of
from discreet.rational import Rational, rational
from discreet.render.charts import altair_module, house_style

if TYPE_CHECKING:
    import altair

_EPSILONS = ("0.25", "0.35", "0.5", "0.7", "1", "1.4", "2", "2.8", "4", "5", "6")
# Okabe and Ito's palette, which colour-blind readers can distinguish too.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")


def optimum(domain: int, epsilon: Rational) -> float:
    """Return the least n·Var, on average over the domain, that any protocol can have.

    >>> round(optimum(1000, 1), 3)
    3.674
    """
    d, e = domain_of(domain), math.exp(rational(epsilon, "epsilon"))
    near = int(d / (e + 1))
    sizes = {min(max(w, 1), d - 1) for w in range(near - 1, near + 3)}
    least = min((d - 1) ** 2 * (w * e + d - w) ** 2 / (d * w * (d - w) * (e - 1) ** 2) for w in sizes)
    return (least - (1 - 1 / d)) / d


def variances(
    domain: int, epsilons: Sequence[Rational] = _EPSILONS, protocols: Sequence[str] = CANDIDATES
) -> dict[str, list[float]]:
    """Return n·Var on average over the domain, for each protocol at each ε.

    >>> [round(v, 2) for v in variances(1024, ["1", "2"], ["projective"])["projective"]]
    [3.69, 0.72]
    """
    kinds = {name: registry.kind(name) for name in protocols}
    return {name: [made.for_epsilon(domain, e).variance() for e in epsilons] for name, made in kinds.items()}


def picture(
    domain: int, epsilons: Sequence[Rational] = _EPSILONS, more: Mapping[str, Sequence[float]] | None = None
) -> altair.VConcatChart:
    """Draw n·Var against ε for all protocols, and below it the ratio to the optimum.

    `more` adds curves of other protocols, by name: their n·Var at each ε.

    >>> picture(100, ["1", "2"]).to_dict()["vconcat"][0]["mark"]["type"]
    'line'
    """
    alt, curves = altair_module(), variances(domain, epsilons) | dict(more or {})
    if len(curves) > len(_COLOURS):
        raise ParameterError(
            f"A picture can show at most {len(_COLOURS)} curves.",
            found=f"{len(curves)} curves",
            fix="Draw several pictures.",
        )
    rows: list[dict[str, Any]] = []
    for name, curve in curves.items():
        for epsilon, value in zip(epsilons, curve, strict=True):
            x = float(rational(epsilon, "epsilon"))
            rows.append({"ε": x, "protocol": name, "n·Var": value, "ratio": value / optimum(domain, epsilon)})
    order = sorted(curves, key=lambda name: -curves[name][0])
    palette = alt.Scale(domain=order, range=list(_COLOURS[: len(order)]))
    legend = alt.Legend(title=None, labelFontSize=13, symbolStrokeWidth=3)
    colour = alt.Color("protocol:N", scale=palette, sort=None, legend=legend)
    dash = alt.StrokeDash("protocol:N", sort=order, legend=None)
    x = alt.X(
        "ε:Q",
        title="ε of one report",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(values=[0.25, 0.5, 1, 2, 4]),
    )
    base = alt.Chart(alt.Data(values=rows)).mark_line(strokeWidth=2.5, clip=True)
    log, near = alt.Scale(type="log"), alt.Scale(domain=[0.98, 1.5])
    above = base.encode(
        x=x, y=alt.Y("n·Var:Q", title="n·Var of a frequency", scale=log), color=colour, strokeDash=dash
    )
    below = base.encode(
        x=x, y=alt.Y("ratio:Q", title="times the optimum", scale=near), color=colour, strokeDash=dash
    )
    title = f"Variance of {domain:,} frequencies, estimated from reports of devices"
    chart: altair.VConcatChart = alt.vconcat(
        above.properties(width=540, height=300), below.properties(width=540, height=180)
    ).properties(title=title)
    return house_style(chart)
