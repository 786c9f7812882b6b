"""Divide an oracle's budget and fix the cost of its steps, from public facts and the noisy number of rows.

Sums are integers in units of 1/(UNIT·GRAIN) rows, each of sensitivity Δ = K·UNIT·GRAIN. Of ρ

    a little    is for the number of rows, which `within` is a share of,
    some        for one-way marginals, and for all two-way marginals at once: they make most answers free,
    two fifths  for runs of the threshold test, of which each alarm uses up one,
    the rest    for payments: single answers, and whole marginals where the hypothesis failed.

**Alpha.** An answer that goes through the threshold test can be wrong in three ways, which share α = 1 −
confidence: it is free and wrong (FREE·α), there was an alarm and the payment misses (PAID·α), or the gap that
answers instead misses (GAP·α). A noisy threshold is used for many questions. An attacker who asks where the
hypothesis is just too far off ends the runs of low thresholds and keeps those of high ones. So what a comparison
may miss is divided by the number of runs: whichever of R thresholds is in use, the probability that it lets a
wrong answer pass is at most R times that of one (docs/theory/oracle.md).

**Threshold test.** A free answer is right within the margin if the comparison was not wrong by more than the slack
s, which has probability at most FREE·α/R: T = margin − s. The noise b of a comparison has P(ν ≥ x) = e^{−x/b}, so
of Q answers fewer than one raises a false alarm if it is off by less than T − b·(ln Q + 1/2). Hypotheses are off
by some part of the margin, so this distance is to be ROOM·margin, with as many runs as allow it: few precise runs
are better than many that give alarms at predictions that are good enough.
**Payment.** Gaussian noise that is within the margin except with probability PAID·α. A run costs as much as about
a hundred payments, so the test is used only where the hypothesis is likely to pass: see discreet.oracle.oracle.

**Never of use.** Costs fall as the margin grows, and a share of the rows is at most that share of MOST_ROWS. So
terms that could answer nothing about that many rows never can, which is known before the charge. Whether the rows
that there are suffice is not known: their number is private until it is measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from discreet.errors import BudgetExceeded, Fix, LawTooWide, ParameterError
from discreet.kernel.journal import Journal
from discreet.kernel.threshold_test import Guard, Watch, gap_margin, slack
from discreet.ledger.costs import cost
from discreet.mechanisms import Gaussian, Sensitivity, tails
from discreet.oracle.linear_query import GRAIN
from discreet.query.plan.plan import LEAST_ALPHA
from discreet.rational import Rational, positive, rational, whole
from discreet.render import numbers
from discreet.schema.metadata import UNIT

FINE = UNIT * GRAIN
"""One row, in the units of sums."""

MOST_ROWS = 2**37
"""The most rows of an oracle: sums of twice as many would leave the ±2⁶² of exact values."""

WHOLE = 8
"""The cost of a whole marginal, in payments."""

SHARES = {
    "pairs": {"total": Fraction(1, 100), "singles": Fraction(3, 100), "pairs": Fraction(48, 100)},
    "singles": {"total": Fraction(1, 100), "singles": Fraction(9, 100), "pairs": Fraction(0)},
    "nothing": {"total": Fraction(2, 100), "singles": Fraction(0), "pairs": Fraction(0)},
    "span": {"total": Fraction(1, 200), "singles": Fraction(0), "pairs": Fraction(0)},
}
"""What is measured at the start, and the part of ρ for it."""

MOST_RUNS = 1000
"""The most runs of the threshold test: after more alarms than that, another hypothesis is needed."""

THRESHOLD_TEST = Fraction(40, 100)
"""The part of ρ for runs of the threshold test."""

ROOM = 0.1
"""The part of the margin that a hypothesis may be off by."""

FREE, PAID, GAP = Fraction(80, 100), Fraction(17, 100), Fraction(3, 100)
"""The parts of alpha for the three ways to be wrong."""


@dataclass(frozen=True)
class Terms:
    """The terms of an oracle. `within` below 1 is a share of the rows, else a number of rows.

    An oracle that starts with a span has a `promise`, "each" or "every", and perhaps a share of its budget that
    its span must have: `span`.
    """

    rho: Fraction
    within: Fraction
    confidence: Fraction
    queries: int
    start: str
    rows_per_person: int
    promise: str = "every"
    span: Fraction | None = None

    def __post_init__(self) -> None:
        if self.start not in SHARES:
            raise ParameterError(
                f"An oracle starts with one of {', '.join(SHARES)}.", found=self.start, fix=Fix("start", "pairs")
            )

    @property
    def alpha(self) -> Fraction:
        """The probability that an answer is outside its interval, at most."""
        return tails.alpha(self.confidence)

    @property
    def for_total(self) -> Fraction:
        """The ρ for the number of rows. A span whose margin is a number of rows does not need it."""
        return Fraction(0) if self.start == "span" and self.within >= 1 else self.part("total")

    @property
    def for_start(self) -> Fraction:
        """The ρ of all that is measured before the first question; of a span the number of rows alone."""
        return self.for_total + self.part("singles") + self.part("pairs")

    @property
    def sensitivity(self) -> int:
        """The sensitivity of a marginal, in units of weight."""
        return self.rows_per_person * UNIT

    def part(self, of: str, among: int = 1) -> Fraction:
        """Return the ρ of one measurement of the start. `among` is how many of its kind there are."""
        return self.rho * SHARES[self.start][of] / among

    def marginal(self, rho: Fraction) -> Gaussian:
        """Return the noise of a whole marginal, whose sensitivity is K·UNIT, in l1 and so in l2."""
        return Gaussian.for_rho(rho, Sensitivity(l1=self.sensitivity, each=self.sensitivity))


def terms(
    *,
    rho: Fraction,
    within: Rational,
    confidence: Rational,
    queries: int,
    start: str,
    rows_per_person: int,
    promise: str = "every",
    span: Rational | None = None,
) -> Terms:
    """Return the terms of an oracle, checked and exact.

    Args:
        rho: The charge.
        within: The margin of error: a share of the rows ("1%" or "0.01"), or from 1 on a number of rows.
        confidence: The probability that an answer is inside its interval.
        queries: About how many questions can be asked before good predictions raise false alarms.
        start: What is measured at the start: a key of SHARES.
        rows_per_person: The most rows of one person.
        promise: What intervals promise: "each" or "every"; an oracle without a span promises "every".
        span: The share of the budget that a span takes; by default what the plan finds.

    >>> given = {"within": "1%", "confidence": "0.95", "queries": 100, "start": "pairs"}
    >>> terms(rho=Fraction(1), rows_per_person=1, **given).within
    Fraction(1, 100)
    """
    percent = isinstance(within, str) and within.strip().endswith("%")
    share = rational(within.strip()[:-1], "within") / 100 if percent and isinstance(within, str) else None
    exact = positive(within if share is None else share, "within")
    if exact > MOST_ROWS:
        raise ParameterError(
            f"The margin is a share of the rows, or a number of rows up to {MOST_ROWS}.",
            found=within,
            fix=Fix("within", "0.01"),
        )
    alpha = tails.alpha(confidence)
    if alpha < LEAST_ALPHA:  # alpha is divided among runs, and the tails must still resolve each part
        raise ParameterError(
            "1 − confidence must be at least 1e-20.", found=confidence, fix=Fix("confidence", "0.95")
        )
    if promise not in ("each", "every") or (promise == "each" and start != "span"):
        raise ParameterError(
            'An oracle promises "each" or "every"; one without a span promises "every".',
            found=promise,
            fix=Fix("promise", "every"),
        )
    taken = None if span is None else rational(span, "span", floats="exact")
    if taken is not None and (not 0 <= taken < 1 or start != "span"):
        raise ParameterError(
            "A span takes a share of the budget, from 0 and below 1, of an oracle that starts with it.",
            found=span,
            fix=Fix("span", "0.5"),
        )
    return Terms(rho, exact, 1 - alpha, whole(queries, "queries"), start, rows_per_person, promise, taken)


@dataclass(frozen=True)
class Prices:
    """The costs of an oracle's steps and the margins of their answers, once the number of rows is known.

    `run` is the ρ of one run of the threshold test, and `single` that of one payment. `gap_margin` is the margin
    of an answer that comes from a gap. Margins are in units of 1/FINE rows.
    """

    margin: int
    watch: Watch | None
    runs: int
    run: Fraction
    gap_margin: int
    payment: Gaussian | None
    single: Fraction

    @property
    def marginal(self) -> Fraction:
        """The ρ of a whole marginal."""
        return WHOLE * self.single

    def answers(self, agreed: Terms) -> bool:
        """Return whether any question could be answered with what the start leaves: by a test, or by a payment."""
        left = agreed.rho - agreed.for_start
        return self.watch is not None or (self.payment is not None and self.single <= left)


def prices(agreed: Terms, rows: float) -> Prices:
    """Return the costs of the steps for a table of about so many rows.

    >>> agreed = terms(rho=Fraction(1, 70), within="0.01", confidence="0.95", queries=10_000, start="pairs",
    ...                rows_per_person=1)
    >>> found = prices(agreed, 50_000)
    >>> found.runs, round(found.margin / FINE), round(float(agreed.rho / found.single))
    (3, 500, 1029)
    """
    margin = margin_of(agreed, rows)
    if agreed.start == "span":
        return Prices(margin, None, 0, Fraction(0), 0, *payment_within(agreed, margin, agreed.alpha))
    runs = _runs(agreed, margin)
    watch = _watch(agreed, margin, runs) if runs >= 2 else None  # each side needs a run
    payment, single = _payment(agreed, margin)
    if watch is None:
        return Prices(margin, None, 0, Fraction(0), 0, payment, single)
    gap = gap_margin(watch, GAP * agreed.alpha / runs)
    return Prices(margin, watch, runs, cost(watch.loss).rho, gap, payment, single)


def margin_of(agreed: Terms, rows: float) -> int:
    """Return the margin of an oracle over about so many rows, in units of 1/FINE rows."""
    share = agreed.within if agreed.within >= 1 else agreed.within * Fraction(min(max(rows, 1.0), MOST_ROWS))
    return max(1, math.floor(share * FINE))


def guard(journal: Journal, agreed: Terms, known: Prices) -> Guard:
    """Return the threshold test of an oracle, before its first run."""
    sensitivity = agreed.sensitivity * GRAIN
    return Guard(journal, known.watch, runs=known.runs, cost=known.run, sensitivity=sensitivity)


@lru_cache(maxsize=64)
def narrowest(agreed: Terms) -> int | None:
    """Return the least margin, in rows, that this ρ can pay for, up to a factor of 2; None if there is none.

    >>> narrowest(terms(rho=Fraction(1, 200), within="0.01", confidence="0.95", queries=100, start="pairs",
    ...                 rows_per_person=1))
    64
    """
    margins = (2**i for i in range(MOST_ROWS.bit_length()))
    return next((m for m in margins if prices(replace(agreed, within=Fraction(m)), 0.0).answers(agreed)), None)


def used_up(agreed: Terms, known: Prices, left: Fraction) -> BudgetExceeded:
    """Return the error of a question that costs more than the oracle has left."""
    width = known.margin / FINE
    margin = f"{width:,.0f}" if width >= 1 else f"{width:.2g}"
    unchecked = Fix("unchecked", True, note="the prediction of the hypothesis, without an interval")
    another: Fix | str = "Or make another oracle."
    if not known.answers(agreed) and (least := narrowest(agreed)) is not None:
        another = Fix("within", least, call="vault.oracle", note="another oracle, at the same cost")
    return BudgetExceeded(
        f"An answer within {margin} rows costs {numbers.share(known.single, agreed.rho)} of the oracle's budget; "
        f"{numbers.share(agreed.rho - left, agreed.rho)} of it is used.",
        fix=[unchecked, another],
    )


def _runs(agreed: Terms, margin: int) -> int:
    """Return the number of runs: as many as leave room for the errors of a hypothesis, or else two."""
    low, high = 0, 1
    while high <= MOST_RUNS and _room(agreed, margin, high) >= ROOM * margin:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _room(agreed, margin, middle) >= ROOM * margin else (low, middle)
    if low < 2:
        return 2 if _room(agreed, margin, 2) >= 0 else 0
    return min(low, MOST_RUNS)


def _room(agreed: Terms, margin: int, runs: int) -> float:
    """Return how wrong a hypothesis may be without an alarm, in most comparisons, if there are so many runs.

    With more runs each has less ε and a smaller part of alpha. It is −∞ where noise would leave int64.
    """
    trial = untuned(agreed, runs)
    if trial is None:
        return -math.inf
    comparisons = float(trial.query_scale) * (math.log(agreed.queries) + 0.5)
    return margin - comparisons - slack(trial, FREE * agreed.alpha / runs)


def _epsilon(agreed: Terms, runs: int) -> Fraction:
    """Return the ε of each of so many runs. A run of ε is ε²/2-zCDP: together they are within their part of ρ."""
    return _short(Fraction(math.sqrt(2 * float(agreed.rho * THRESHOLD_TEST) / runs)) * Fraction(9999, 10_000))


def untuned(agreed: Terms, runs: int) -> Watch | None:
    """Return the test of so many runs before its threshold is set; None if its noise would leave int64.

    Together the runs cost THRESHOLD_TEST of ρ.
    """
    try:
        return Watch(_epsilon(agreed, runs), threshold=0, sensitivity=agreed.sensitivity * GRAIN, monotonic=True)
    except LawTooWide:
        return None


def _watch(agreed: Terms, margin: int, runs: int) -> Watch | None:
    """Return the test of so many runs; None if its threshold would not be above 0."""
    trial = untuned(agreed, runs)
    if trial is None:
        return None
    threshold = margin - slack(trial, FREE * agreed.alpha / runs)
    return replace(trial, threshold=threshold) if threshold > 0 else None


def payment_within(agreed: Terms, margin: int, alpha: Fraction) -> tuple[Gaussian | None, Fraction]:
    """Return the widest noise that is within the margin but for `alpha`, to a millionth; and its ρ.

    The noise is None if it costs more than all of ρ.

    >>> agreed = terms(rho=Fraction(1, 70), within=500, confidence="0.95", queries=10_000, start="pairs",
    ...                rows_per_person=1)
    >>> found, rho = payment_within(agreed, 500 * FINE, Fraction(1, 20))
    >>> found.error("0.95") <= 500 * FINE, int(agreed.rho / rho)
    (True, 1859)
    """
    sensitivity = agreed.sensitivity * GRAIN
    widest = Fraction(margin) ** 2 / Fraction(NormalDist().inv_cdf(float(alpha) / 2)) ** 2
    rho = Fraction(0)
    for shrink in (Fraction(1, 10**6), Fraction(1, 10**4), Fraction(1, 100), Fraction(1, 2)):
        variance = max(Fraction(math.floor(widest * (1 - shrink))), Fraction(1, 10**6))
        variance = min(variance, Fraction(tails.WIDEST**2))  # wider noise would be cheaper, but cannot be drawn
        rho = Fraction(sensitivity**2, 2) / variance
        if rho > agreed.rho:
            break
        found = Gaussian(variance, sensitivity)
        if found.error(1 - alpha) <= margin:
            return found, rho
    return None, rho


def _payment(agreed: Terms, margin: int) -> tuple[Gaussian | None, Fraction]:
    """Return noise that is within the margin, None if all of ρ does not suffice for it; and its ρ."""
    sensitivity = agreed.sensitivity * GRAIN
    alpha = PAID * agreed.alpha
    quantile = -NormalDist().inv_cdf(float(alpha) / 2)  # 1 − alpha/2 would be 1 where alpha is tiny
    deviation = Fraction(margin) / Fraction(quantile)
    rho = Fraction(0)
    for shrink in (Fraction(999, 1000), Fraction(9, 10), Fraction(1, 2)):
        variance = max(_short((deviation * shrink) ** 2), Fraction(1, 10**6))
        variance = min(variance, Fraction(tails.WIDEST**2))  # wider noise would be cheaper, but cannot be drawn
        rho = Fraction(sensitivity**2) / (2 * variance)
        if rho > agreed.rho:
            break
        payment = Gaussian(variance, sensitivity)
        if payment.error(1 - alpha) <= margin:
            return payment, rho
    return None, rho


def _short(x: Fraction) -> Fraction:
    """Return a positive number rounded up to six digits, as a short fraction."""
    if x <= 0:
        return Fraction(0)
    step = Fraction(10) ** (math.floor(math.log10(x)) - 5)
    return Fraction(math.ceil(x / step)) * step
