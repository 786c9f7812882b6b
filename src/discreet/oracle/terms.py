"""What an oracle's budget is divided into, and what its steps cost: fixed by public facts and the noisy total.

Sums are integers in units of 1/(UNIT·GRAIN) rows, and one person moves each by at most Δ = K·UNIT·GRAIN. Of ρ

    a little    is for the number of rows, which `within` is a share of,
    some        for one-way marginals, and for all two-way marginals at once: they make most answers free,
    two fifths  for runs of the sentry, of which each alarm uses up one,
    the rest    for payments: single answers, and whole marginals where the hypothesis failed.

**Sentry.** A free answer is right within `width` if the comparison was not wrong by more than the slack s, which
has a chance of at most the doubt: T = width − s. The noise b of a comparison has P(ν > x) ≤ e^{−x/b}/2, so that
T ≈ b·(ln Q + 3/2) lets fewer than one of Q good answers raise a false alarm; hence b = width/(ln Q + 3/2 + s/b).
**Payment.** Gaussian noise that is within `width` at the wanted confidence. A run costs as much as a few hundred
payments, so whoever trusts the hypothesis must have reason to: see discreet.oracle.oracle.

Tested in tests/oracle/test_oracle_terms.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from discreet.errors import LawTooWide, ParameterError
from discreet.ledger.costs import cost
from discreet.mechanisms import Gaussian, Sensitivity, tails
from discreet.oracle.selection import GRAIN
from discreet.oracle.sentry import Watch, beyond_scales, gap_radius, slack
from discreet.rational import Rational, positive, rational, whole
from discreet.vault.description import UNIT

FINE = UNIT * GRAIN
"""One row, in the units that sums are counted in."""

WHOLE = 8
"""A whole marginal costs as much as so many payments."""

SHARES = {
    "pairs": {"total": Fraction(1, 100), "singles": Fraction(7, 100), "pairs": Fraction(44, 100)},
    "singles": {"total": Fraction(1, 100), "singles": Fraction(9, 100), "pairs": Fraction(0)},
    "nothing": {"total": Fraction(2, 100), "singles": Fraction(0), "pairs": Fraction(0)},
}
"""What is measured at the start, and with which part of ρ."""

SENTRY = Fraction(42, 100)
"""The part of ρ that is for runs of the sentry."""


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
    def doubt(self) -> Fraction:
        """The chance that an answer is outside its interval."""
        return tails.doubt(self.confidence)

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
    sure = 1 - tails.doubt(confidence)
    return Terms(rho, exact, sure, whole(queries, "queries"), start, rows_per_person)


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


def prices(agreed: Terms, rows: float) -> Prices:
    """Return what steps cost for a table of about so many rows.

    >>> agreed = terms(rho=Fraction(1, 70), within="0.01", confidence="0.95", queries=10_000, start="pairs",
    ...                rows_per_person=1)
    >>> found = prices(agreed, 50_000)
    >>> found.runs, round(found.width / FINE), round(float(agreed.rho / found.single))
    (5, 500, 1856)
    """
    share = agreed.within if agreed.within >= 1 else agreed.within * Fraction(max(rows, 1.0))
    width = max(1, math.floor(share * FINE))
    watch, run = _watch(agreed, width)
    runs = 0 if watch is None else math.floor(agreed.rho * SENTRY / run)
    if runs < 2:  # one for either side
        watch, runs = None, 0
    payment, single = _payment(agreed, width)
    reach = 0 if watch is None else gap_radius(watch, agreed.doubt)
    return Prices(width, watch, runs, run, reach, payment, single)


def _watch(agreed: Terms, width: int) -> tuple[Watch | None, Fraction]:
    """The sentry for answers within `width`, and what one of its runs costs."""
    moves = agreed.moves * GRAIN
    unit = Watch(1, threshold=0, monotonic=True)
    comparisons = float(unit.query_scale) * (math.log(agreed.queries) + 1.5)
    epsilon = _short(moves * Fraction(comparisons + beyond_scales(unit, float(agreed.doubt))) / width)
    if epsilon**2 / 2 > agreed.rho:  # what no oracle of this size can afford is not looked at further
        return None, epsilon**2 / 2
    try:
        trial = Watch(epsilon, threshold=0, sensitivity=moves, monotonic=True)
        threshold = width - slack(trial, agreed.doubt)
        watch = Watch(epsilon, threshold=threshold, sensitivity=moves, monotonic=True)
    except LawTooWide:
        return None, epsilon**2 / 2
    return (watch if threshold > 0 else None), cost(watch.loss).rho


def _payment(agreed: Terms, width: int) -> tuple[Gaussian | None, Fraction]:
    """Noise that is within `width`, and what it costs."""
    moves = agreed.moves * GRAIN
    quantile = NormalDist().inv_cdf(1 - float(agreed.doubt) / 2)
    deviation = Fraction(width) / Fraction(quantile)
    for shrink in (Fraction(999, 1000), Fraction(9, 10), Fraction(1, 2)):
        variance = _short((deviation * shrink) ** 2)
        rho = Fraction(moves**2) / (2 * variance) if variance else agreed.rho + 1
        if rho > agreed.rho:
            return None, agreed.rho + 1
        try:
            payment = Gaussian(variance, moves)
        except LawTooWide:
            return None, agreed.rho + 1
        if payment.error(agreed.confidence) <= width:
            return payment, rho
    return None, agreed.rho + 1


def _short(x: Fraction) -> Fraction:
    """Four digits or more of a positive number, as a fraction with few."""
    if x <= 0:
        return Fraction(0)
    step = Fraction(10) ** (math.floor(math.log10(x)) - 5)
    return Fraction(math.ceil(x / step)) * step
