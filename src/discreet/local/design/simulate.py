"""Simulate a collection on a known population, before any device reports.

A population is a count for every value. Each of its members makes a real report, with the bits that devices use, a
real server counts the reports, and the answer is shown beside the truth. A share of members may be malicious: they
agree on a value, and send the reports that move its estimate furthest, of some hundred that they drew.

Nothing here needs protection, because the population is made up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import Fix, ParameterError
from discreet.local.collection.collection import Collection
from discreet.local.protocols.protocol import Payloads, Randomiser, Values
from discreet.local.server.aggregator import Aggregator
from discreet.local.server.answer import Answer
from discreet.local.server.estimate import Estimate, Floats
from discreet.rational import Rational, rational, whole
from discreet.render.charts import altair_module, house_style

if TYPE_CHECKING:
    import altair

SHAPES = ("zipf", "uniform", "geometric")
"""Populations that have a name."""

_TRIALS = 512  # reports from which a malicious device picks one
_SHOWN = 40  # the most values in a picture
_BLUE, _ORANGE, _GREY = "#0072b2", "#d55e00", "#777777"  # Okabe and Ito's palette


@dataclass(frozen=True)
class Simulation:
    """The truth beside the estimate of the collection; `malicious` is the number of malicious devices."""

    truth: Floats
    answer: Answer
    malicious: int = 0
    target: int | None = None

    @property
    def estimate(self) -> Estimate:
        """The unbiased estimate."""
        return self.answer.estimate

    @property
    def error(self) -> float:
        """The root mean squared error."""
        return float(np.sqrt(np.mean((self.estimate.values - self.truth) ** 2)))

    @property
    def expected_error(self) -> float:
        """The root mean squared error that the standard errors predict."""
        return float(np.sqrt(np.mean(self.estimate.standard_errors**2)))

    @property
    def consistent_error(self) -> float | None:
        """The root mean squared error of the consistent version, if there is one."""
        if len(self.truth) == 1:
            return None
        return float(np.sqrt(np.mean((self.estimate.consistent().values - self.truth) ** 2)))

    @property
    def favoured(self) -> str | None:
        """The label that malicious devices agreed on, if there were any."""
        labels = self.answer.labels
        return None if self.target is None else labels[self.target] if len(labels) > 1 else str(self.target)

    def covered(self, confidence: Rational = "0.95") -> float:
        """Return the share of values whose interval covers the truth."""
        low, high = self.estimate.interval(confidence)
        return float(np.mean((low <= self.truth) & (self.truth <= high)))

    def rows(self, confidence: Rational = "0.95") -> list[tuple[str, float, float, float, float]]:
        """Return label, truth, estimate and the ends of its interval, the most frequent in truth first."""
        low, high = self.estimate.interval(confidence)
        order = np.argsort(-self.truth, kind="stable").tolist()
        labels, values = self.answer.labels, self.estimate.values
        return [(labels[i], *(float(each[i]) for each in (self.truth, values, low, high))) for i in order]

    def plot(self, confidence: Rational = "0.95", most: int = _SHOWN) -> altair.LayerChart:
        """Draw estimates with their intervals over the truth, for the most frequent values."""
        return _picture(self, confidence, most)


def population(shape: str, domain: int, n: int) -> Values:
    """Return a count for each of the values, n in all: few common and many rare ("zipf"), equal, or halving.

    >>> population("uniform", 4, 10), population("geometric", 4, 15), population("zipf", 3, 11)
    (array([3, 3, 2, 2]), array([8, 4, 2, 1]), array([6, 3, 2]))
    """
    places = np.arange(1, whole(domain, "domain") + 1, dtype=np.float64)
    weights = {"zipf": 1 / places, "uniform": np.ones(domain), "geometric": 0.5**places}.get(shape)
    if weights is None:
        raise ParameterError(
            f"A population must be one of {', '.join(SHAPES)}.", found=repr(shape), fix=Fix("shape", "zipf")
        )
    exact = whole(n, "n") * weights / weights.sum()
    counts: Values = np.floor(exact).astype(np.int64)
    order = np.argsort(counts - exact, kind="stable")  # the largest remainders get what is left
    counts[order[: n - int(counts.sum())]] += 1
    return counts


def simulate(
    collection: Collection, counts: Sequence[int] | Values, *, malicious: Rational = 0, target: int | None = None
) -> Simulation:
    """Let a population report, and return the answer beside the truth.

    Args:
        collection: The collection.
        counts: How many members hold each value of the domain.
        malicious: The share of members that is malicious, from 0 to below 1; 0 by default.
        target: The value that malicious members favour; the rarest by default.

    >>> survey = Collection.design(
    ...     "colours", domain=["red", "green", "blue"], epsilon=1, window=("2026-01-01", "2026-12-31")
    ... )
    >>> from discreet import noise
    >>> with noise.deterministic(1):
    ...     rehearsed = simulate(survey, [5000, 3000, 2000])
    >>> rehearsed.truth, rehearsed.error < 0.05
    (array([0.5, 0.3, 0.2]), True)
    """
    randomiser, held = collection.randomiser, np.asarray(counts)
    if held.shape != (randomiser.domain,) or held.dtype.kind not in "iu" or held.min() < 0 or not held.sum():
        raise ParameterError(
            f"A population must have a count for each of the {randomiser.domain:,} values of "
            f"{collection.name!r}, and at least one member.",
            fix="Give one whole number for each value, 0 or more.",
        )
    n, share = int(held.sum()), rational(malicious, "malicious", floats="exact")
    if not 0 <= share < 1:
        raise ParameterError(
            "The share of malicious devices must be at least 0 and below 1.",
            found=repr(malicious),
            fix=Fix("malicious", "0.01"),
        )
    attackers = math.ceil(share * n)
    wanted = _wanted(randomiser, held, target) if attackers else None
    reports = randomiser.encode(np.repeat(np.arange(randomiser.domain), held))
    if wanted is not None:
        # malicious members are spread evenly over the population, so over all values
        places = np.floor(np.arange(attackers) * (n / attackers)).astype(np.int64)
        worst = _malicious_reports(randomiser, wanted)
        reports[places] = worst[np.arange(attackers) % len(worst)]
    server = Aggregator(collection, period=collection.window[0])  # one report of each device
    server.payloads(reports)
    answer = Answer(collection, randomiser.estimate(server.state, server.n))
    return Simulation(_truth(held, len(answer.estimate.values)), answer, attackers, wanted)


def _truth(held: Values, estimates: int) -> Floats:
    shares = held / held.sum()
    if estimates == len(held):
        return np.asarray(shares)
    if estimates == 1:  # a mean, as a share of the range
        return np.array([np.dot(shares, np.arange(len(held))) / (len(held) - 1)])
    raise ParameterError(
        "This protocol estimates neither its values nor their mean, so nothing can be compared.",
        fix="Simulate a protocol for frequencies or means.",
    )


def _wanted(randomiser: Randomiser, held: Values, target: int | None) -> int:
    """Return the value that malicious members agree on: the rarest by default."""
    wanted = int(np.argmin(held)) if target is None else target
    if not 0 <= wanted < randomiser.domain:
        raise ParameterError(
            f"The target must be a value from 0 to {randomiser.domain - 1}.",
            found=repr(target),
            fix=Fix("target", int(np.argmin(held))),
        )
    return wanted


def _malicious_reports(randomiser: Randomiser, wanted: int) -> Payloads:
    """Return the reports that move the estimate of a value furthest, of some that its holders might send."""
    drawn = np.unique(randomiser.encode(np.full(_TRIALS, wanted)), axis=0)
    moved = np.empty(len(drawn))
    for i, report in enumerate(drawn):
        state = randomiser.state()
        randomiser.add(state, report[None, :])
        values = randomiser.estimate(state, 1).values
        moved[i] = values[wanted if len(values) > 1 else 0]
    best: Payloads = drawn[moved >= moved.max() - 1e-9]
    return best


def _picture(simulated: Simulation, confidence: Rational, most: int) -> altair.LayerChart:
    alt = altair_module()
    kept, favoured = simulated.rows(confidence), simulated.favoured
    shown = [row for i, row in enumerate(kept) if i < most or row[0] == favoured]
    rows = [dict(zip(("value", "truth", "estimate", "low", "high"), row, strict=True)) for row in shown]
    data, names = alt.Data(values=rows), [row["value"] for row in rows]
    x = alt.X("value:N", sort=names, title=None, axis=alt.Axis(labelAngle=-45 if len(names) > 6 else 0))
    percent = alt.Axis(format="%", tickCount=6)
    y = alt.Y("low:Q", title="share of the population", axis=percent, scale=alt.Scale(zero=True))
    names_of = alt.Scale(domain=["truth", "estimate, with its interval"], range=[_ORANGE, _BLUE])
    # Above the picture: inside, it would lie over the most frequent values.
    legend = alt.Legend(
        title=None, orient="top", labelFontSize=13, symbolSize=120, symbolOpacity=1, labelLimit=0, columns=2
    )

    def of(what: str) -> Any:
        return alt.Color("what:N", scale=names_of, legend=legend), {"what": f"'{what}'"}

    estimated, estimate = of("estimate, with its interval")
    true, truth = of("truth")
    base = alt.Chart(data)
    zero = base.mark_rule(color=_GREY, strokeWidth=1).encode(y=alt.datum(0))
    bars = (
        base.transform_calculate(**estimate)
        .mark_rule(strokeWidth=2.5, opacity=0.55)
        .encode(x, y, y2="high:Q", color=estimated)
    )
    dots = (
        base.transform_calculate(**estimate)
        .mark_circle(size=60, opacity=1)
        .encode(x, y="estimate:Q", color=estimated)
    )
    ticks = (
        base.transform_calculate(**truth)
        .mark_tick(thickness=3, size=16, opacity=1)
        .encode(x, y="truth:Q", color=true)
    )
    collection, n = simulated.answer.collection, simulated.estimate.n
    attack = f", {simulated.malicious:,} of them malicious, in favour of {favoured}" if simulated.malicious else ""
    few = f"; the {most} most frequent of {len(simulated.truth):,}" if len(simulated.truth) > most else ""
    subtitle = [
        f"{n:,} devices{attack}, {collection.randomiser.name} at ε = {collection.epsilon} a report",
        f"Intervals of {float(rational(confidence, 'confidence')):.0%}{few}",
    ]
    width = min(760, max(300, 24 * len(names)))
    chart: altair.LayerChart = alt.layer(zero, bars, dots, ticks).properties(
        title=alt.Title(f"Simulation of {collection.name!r}", subtitle=subtitle), width=width, height=320
    )
    return house_style(chart)
