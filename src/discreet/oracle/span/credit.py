"""Price the threshold test of an oracle with a span, and foresee its alarms.

A span answers what it measured. What it answers too vaguely, such as a set of many levels, may still be predicted
well by a table that is fitted to it, and a threshold test says whether it is. The test has RUNS runs: one for
either side, which the plan sets aside, and one after an alarm, on credit. An alarm costs a whole run, as much as
some hundred payments, so a test is only worth its price if predictions hardly ever raise one. Of Q comparisons
fewer than one raises a false alarm if predictions are off by less than T − b·(ln Q + 1/2), b the noise of a
comparison (`discreet.oracle.pricing`). This distance is to be ROOMY of the margin: then the cheapest such runs are
taken. Where no runs have so much room, the dearest are the best.

**Bypass.** A prediction has the noise of what the table was fitted to, and its variance is known in closed form
(`discreet.oracle.span.span.Span.predicted_deviation`). If the error of a prediction were normal with this
deviation, `alarm` is how likely it raises an alarm. The questions for which this is the most likely are paid for
(`discreet.oracle.span.prediction`), as long as that leaves enough for all runs. Everything here follows from the
terms of the oracle, the form of a question, and what was released.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist

from discreet.kernel.threshold_test import Watch, gap_margin, slack
from discreet.ledger.costs import cost
from discreet.oracle.pricing import ROOM, THRESHOLD_TEST, Terms, untuned

RUNS = 3
"""The most runs: one for either side, and one after an alarm."""

AT_ONCE = 2
"""The runs that the plan sets aside: one for either side."""

FREE, GAP = Fraction(35, 100), Fraction(2, 100)
"""The parts of alpha for the test: that it lets a wrong answer pass, and that a gap which answers misses."""

ROOMY = 0.25
"""The part of the margin that a hypothesis may be off by without alarms, if the budget allows such runs."""

SHARES = (5, 10, 15, 20, 25, 30, 40)
"""The shares of the budget that all runs together may take, in percent."""

PAYMENTS = Fraction(10, 100)
"""The share of the budget that a span and all runs leave for payments, at least."""


def shares(agreed: Terms, margin: int) -> Iterator[Fraction]:
    """Yield the shares of the budget that all runs of a test may take, the best first.

    >>> from discreet.oracle.pricing import FINE, terms
    >>> agreed = terms(rho=Fraction(1, 70), within=600, confidence="0.95", queries=10_000, start="span",
    ...                rows_per_person=1)
    >>> [str(share) for share in shares(agreed, 600 * FINE)], [str(share) for share in shares(agreed, 2000 * FINE)]
    (['2/5', '3/10'], ['1/20'])
    """
    rooms = {Fraction(percent, 100): _room(agreed, margin, Fraction(percent, 100)) for percent in SHARES}
    roomy = [share for share, room in rooms.items() if room >= ROOMY * margin]
    enough = [share for share, room in rooms.items() if room >= ROOM * margin]
    yield from sorted((share for share in enough if share <= min(roomy, default=Fraction(1))), reverse=True)


def at_once(share: Fraction) -> Fraction:
    """Return the share of the budget of the first runs, if all runs take `share`."""
    return share * AT_ONCE / RUNS


def credit_test(agreed: Terms, margin: int, share: Fraction) -> tuple[Watch, Fraction, int] | None:
    """Return the test whose runs take a share of the budget together, the ρ of a run, and the gap's margin."""
    left = agreed.rho - agreed.for_total  # what a plan divides
    trial = untuned(replace(agreed, rho=left * share / THRESHOLD_TEST), RUNS) if share else None
    if trial is None or (threshold := margin - slack(trial, FREE * agreed.alpha / RUNS)) <= 0:
        return None
    watch = replace(trial, threshold=threshold)
    return watch, cost(watch.loss).rho, gap_margin(watch, GAP * agreed.alpha / RUNS)


def _room(agreed: Terms, margin: int, share: Fraction) -> float:
    """Return how wrong a hypothesis may be without an alarm, in most comparisons, if runs take so much."""
    found = credit_test(agreed, margin, share)
    if found is None:
        return -math.inf
    return found[0].threshold - float(found[0].query_scale) * (math.log(agreed.queries) + 0.5)


def alarm(watch: Watch, deviation: float) -> float:
    """Return how likely an error raises an alarm on either side, if it is normal with this deviation.

    An error e below T raises one with probability b/(b + c)·exp(−(T − e)/b), b and c the scales of the noise of
    the comparison and of the threshold; one above T is taken to raise one.

    >>> watch = Watch(epsilon=1, threshold=400, sensitivity=20, monotonic=True)
    >>> [float(f"{alarm(watch, deviation):.2g}") for deviation in (1.0, 50.0, 100.0, 200.0)]
    [1.5e-05, 3.9e-05, 0.00065, 0.058]
    """
    if deviation <= 0:
        return 0.0
    threshold, scale = float(watch.threshold), float(watch.query_scale)
    normal, ratio = NormalDist(), deviation / scale
    beyond = normal.cdf(-threshold / deviation)
    inside = normal.cdf(threshold / deviation - ratio)
    smaller = math.exp(ratio**2 / 2 - threshold / scale + math.log(inside)) if inside else 0.0
    return min(1.0, 2 * (beyond + scale / (scale + float(watch.threshold_scale)) * smaller))
