"""What an oracle's budget is divided into, and what its steps cost: fixed by public facts and the noisy total.

Sums are integers in units of 1/(UNIT·GRAIN) rows, and one person moves each by at most Δ = K·UNIT·GRAIN. Of ρ

    a little    is for the number of rows, which `within` is a share of,
    some        for one-way marginals, and for all two-way marginals at once: they make most answers free,
    two fifths  for runs of the sentry, of which each alarm uses up one,
    the rest    for payments: single answers, and whole marginals where the hypothesis failed.

**Doubt.** An answer that goes by the sentry can be wrong in three ways, which share the doubt β: it is free and
wrong (FREE·β), there was an alarm and the payment misses (PAID·β), or the gap that answers instead does (GAP·β).
Lines outlive the questions that they pass: whoever asks where the hypothesis is just too far off ends the runs of
low lines and keeps those of high ones. So what a comparison may miss is divided by the number of runs: whichever
of R lines is in use, the chance that it lets a wrong answer pass is at most R times that of one
(docs/theory/oracle.md).

**Sentry.** A free answer is right within `width` if the comparison was not wrong by more than the slack s, which
has a chance of at most FREE·β/R: T = width − s. The noise b of a comparison has P(ν ≥ x) = e^{−x/b}, so of Q
answers fewer than one raises a false alarm if it is off by less than T − b·(ln Q + 1/2). Hypotheses are off by
some part of the width, so this is to be ROOM·width, with as many runs as allow it: few strong ones rather than
many that give alarms at what is good enough.
**Payment.** Gaussian noise that is within `width` but for PAID·β. A run costs as much as some hundred payments,
so whoever trusts the hypothesis must have reason to: see discreet.oracle.oracle.

**Never of use.** Prices fall as the width grows, and a share of the rows is at most that of MOST_ROWS. So what
could answer nothing about that many rows never can, which is known before anything is charged. Whether the rows
that there are suffice is not: their number is private until it is measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from discreet.errors import LawTooWide, ParameterError
from discreet.ledger.costs import cost
from discreet.mechanisms import Gaussian, Sensitivity, tails
from discreet.oracle.linear_query import GRAIN
from discreet.oracle.threshold_test import Watch, gap_radius, slack
from discreet.query.plan.plan import LEAST_DOUBT
from discreet.rational import Rational, positive, rational, whole
from discreet.schema.metadata import UNIT

FINE = UNIT * GRAIN
"""One row, in the units that sums are counted in."""

MOST_ROWS = 2**37
"""Rows that an oracle is for: sums of twice as many would leave the ±2⁶² of exact values."""

WHOLE = 8
"""A whole marginal costs as much as so many payments."""

SHARES = {
    "pairs": {"total": Fraction(1, 100), "singles": Fraction(3, 100), "pairs": Fraction(48, 100)},
    "singles": {"total": Fraction(1, 100), "singles": Fraction(9, 100), "pairs": Fraction(0)},
    "nothing": {"total": Fraction(2, 100), "singles": Fraction(0), "pairs": Fraction(0)},
}
"""What is measured at the start, and with which part of ρ."""

MOST_RUNS = 1000
"""Runs of the sentry: whoever has more alarms than that needs another hypothesis."""

SENTRY = Fraction(40, 100)
"""The part of ρ that is for runs of the sentry."""

ROOM = 0.1
"""The part of the width that a hypothesis may be off by."""

FREE, PAID, GAP = Fraction(80, 100), Fraction(17, 100), Fraction(3, 100)
"""How the doubt is divided among the ways to be wrong."""


@dataclass(frozen=True)
class Terms:
    """What was agreed when an oracle was made. `within` below 1 is a share of the rows, else so many rows."""

    rho: Fraction
    within: Fraction
    confidence: Fraction
    queries: int
    start: str
    rows_per_person: int

    def __post_init__(self) -> None:
        if self.start not in SHARES:
            raise ParameterError(f"an oracle starts with one of {', '.join(SHARES)}, not {self.start!r}.")

    @property
    def alpha(self) -> Fraction:
        """The chance that an answer is outside its interval."""
        return tails.alpha(self.confidence)

    @property
    def moves(self) -> int:
        """How far one person moves a marginal, in units of weight."""
        return self.rows_per_person * UNIT

    def part(self, of: str, among: int = 1) -> Fraction:
        """Return the ρ of one measurement of the start, of which there are `among`."""
        return self.rho * SHARES[self.start][of] / among

    def marginal(self, rho: Fraction) -> Gaussian:
        """Return the noise of a whole marginal: one person moves it by K·UNIT, in l1 and so in l2."""
        return Gaussian.for_rho(rho, Sensitivity(l1=self.moves, each=self.moves))


def terms(
    *,
    rho: Fraction,
    within: Rational,
    confidence: Rational,
    queries: int,
    start: str,
    rows_per_person: int,
) -> Terms:
    """Return the terms of an oracle, from what was written.

    >>> said = {"within": "1%", "confidence": "0.95", "queries": 100, "start": "pairs"}
    >>> terms(rho=Fraction(1), rows_per_person=1, **said).within
    Fraction(1, 100)
    """
    share = isinstance(within, str) and within.strip().endswith("%")
    width = rational(within.strip()[:-1], "within") / 100 if share and isinstance(within, str) else None
    exact = positive(within if width is None else width, "within", floats="exact")
    if exact > MOST_ROWS:
        raise ParameterError(
            f'within is a share of the rows, such as "0.01", or so many, {MOST_ROWS} at most, not {within!r}.'
        )
    alpha = tails.alpha(confidence)
    if alpha < LEAST_DOUBT:  # it is divided among runs, and each part must still be one that tails can tell
        raise ParameterError(f'confidence leaves a doubt of 1e-20 at least: "0.95", not {confidence!r}.')
    return Terms(rho, exact, 1 - alpha, whole(queries, "queries"), start, rows_per_person)


@dataclass(frozen=True)
class Prices:
    """What the steps of an oracle cost and how wide their answers are, once the number of rows is known."""

    width: int
    watch: Watch | None
    runs: int
    run: Fraction
    reach: int
    payment: Gaussian | None
    single: Fraction

    @property
    def marginal(self) -> Fraction:
        """What a whole marginal costs."""
        return WHOLE * self.single

    def answers(self, agreed: Terms) -> bool:
        """Whether anything could be answered with what the start leaves: by the sentry, or by a payment."""
        left = agreed.rho * (1 - sum(SHARES[agreed.start].values()))
        return self.watch is not None or (self.payment is not None and self.single <= left)


def prices(agreed: Terms, rows: float) -> Prices:
    """Return what steps cost for a table of about so many rows.

    >>> agreed = terms(rho=Fraction(1, 70), within="0.01", confidence="0.95", queries=10_000, start="pairs",
    ...                rows_per_person=1)
    >>> found = prices(agreed, 50_000)
    >>> found.runs, round(found.width / FINE), round(float(agreed.rho / found.single))
    (3, 500, 1029)
    """
    share = agreed.within if agreed.within >= 1 else agreed.within * Fraction(min(max(rows, 1.0), MOST_ROWS))
    width = max(1, math.floor(share * FINE))
    runs = _runs(agreed, width)
    watch = _watch(agreed, width, runs) if runs >= 2 else None  # one for either side at least
    payment, single = _payment(agreed, width)
    if watch is None:
        return Prices(width, None, 0, Fraction(0), 0, payment, single)
    reach = gap_radius(watch, GAP * agreed.alpha / runs)
    return Prices(width, watch, runs, cost(watch.loss).rho, reach, payment, single)


@lru_cache(maxsize=64)
def narrowest(agreed: Terms) -> int | None:
    """Return about how many rows wide an answer must be for this ρ to pay for one; None if none is wide enough.

    >>> narrowest(terms(rho=Fraction(1, 200), within="0.01", confidence="0.95", queries=100, start="pairs",
    ...                 rows_per_person=1))
    64
    """
    widths = (2**i for i in range(MOST_ROWS.bit_length()))
    return next((w for w in widths if prices(replace(agreed, within=Fraction(w)), 0.0).answers(agreed)), None)


def _runs(agreed: Terms, width: int) -> int:
    """How many runs of the sentry there are: as many as leave room for the errors of a hypothesis, or else two."""
    low, high = 0, 1
    while high <= MOST_RUNS and _room(agreed, width, high) >= ROOM * width:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _room(agreed, width, middle) >= ROOM * width else (low, middle)
    if low < 2:
        return 2 if _room(agreed, width, 2) >= 0 else 0
    return min(low, MOST_RUNS)


def _room(agreed: Terms, width: int, runs: int) -> float:
    """How wrong a hypothesis may be without an alarm, in most of all comparisons, if there are so many runs.

    More of them have less ε each, and have to be surer. There is none where noise would leave int64.
    """
    trial = _unset(agreed, runs)
    if trial is None:
        return -math.inf
    comparisons = float(trial.query_scale) * (math.log(agreed.queries) + 0.5)
    return width - comparisons - slack(trial, FREE * agreed.alpha / runs)


def _epsilon(agreed: Terms, runs: int) -> Fraction:
    """The ε of each of so many runs: together they are within their part of ρ, for a run of ε is ε²/2-zCDP."""
    return _short(Fraction(math.sqrt(2 * float(agreed.rho * SENTRY) / runs)) * Fraction(9999, 10_000))


def _unset(agreed: Terms, runs: int) -> Watch | None:
    """The sentry of so many runs before its line is drawn; None if its noise would leave int64."""
    try:
        return Watch(_epsilon(agreed, runs), threshold=0, sensitivity=agreed.moves * GRAIN, monotonic=True)
    except LawTooWide:
        return None


def _watch(agreed: Terms, width: int, runs: int) -> Watch | None:
    """The sentry of so many runs; None if its line would be at nothing."""
    trial = _unset(agreed, runs)
    if trial is None:
        return None
    threshold = width - slack(trial, FREE * agreed.alpha / runs)
    return replace(trial, threshold=threshold) if threshold > 0 else None


def _payment(agreed: Terms, width: int) -> tuple[Gaussian | None, Fraction]:
    """Noise that is within `width`, None if all of ρ could not pay for it; and what it costs."""
    moves = agreed.moves * GRAIN
    alpha = PAID * agreed.alpha
    quantile = -NormalDist().inv_cdf(float(alpha) / 2)  # 1 − doubt/2 would be 1 where the doubt is tiny
    deviation = Fraction(width) / Fraction(quantile)
    rho = Fraction(0)
    for shrink in (Fraction(999, 1000), Fraction(9, 10), Fraction(1, 2)):
        variance = max(_short((deviation * shrink) ** 2), Fraction(1, 10**6))
        variance = min(variance, Fraction(tails.WIDEST**2))  # wider is cheaper, and is not drawn
        rho = Fraction(moves**2) / (2 * variance)
        if rho > agreed.rho:
            break
        payment = Gaussian(variance, moves)
        if payment.error(1 - alpha) <= width:
            return payment, rho
    return None, rho


def _short(x: Fraction) -> Fraction:
    """Four digits or more of a positive number, as a fraction with few."""
    if x <= 0:
        return Fraction(0)
    step = Fraction(10) ** (math.floor(math.log10(x)) - 5)
    return Fraction(math.ceil(x / step)) * step
