"""Plan an oracle before its charge: which part of its budget a span takes, and how many answers to expect.

Let N be the number of answers within the margin that Gaussian noise pays for with the whole budget, one by one. A
span that takes a share s leaves (1 − s)·N payments. Of the questions of the public law
(`discreet.oracle.span.design`) a part φ is free, because the closed form of their variance says so; the others are
paid for. So about (1 − s)·N/(1 − φ) questions are answered before the first refusal.

* **Floor.** Whatever is asked, at least ⌊(1 − s)·N⌋ questions are answered. No oracle that measures first can
  promise N for all streams: it has spent s, and a stream may be about what it did not measure.
* **Test.** The law knows ranges and single levels. Analysts also ask for sets of levels, which a span answers
  less well, and which a table that is fitted to it may still predict well. Where a span and two runs of a
  threshold test on predictions (`discreet.oracle.span.credit`) promise enough together, the plan takes both: s is
  then the share of both, and the floor is what is left. The plan counts no answer that such a test would give,
  for whether predictions are good depends on the rows: if both runs are lost at once, the promise still stands.
* **Credit.** A further run and a whole marginal after an alarm are bought on credit: after k answers no more than
  s·ρ + k·(price of a payment) is spent, so the floor survives all alarms.
* **Certificate.** Where the search for the largest error is quick, one number that bounds all errors of a fitted
  table (`discreet.oracle.span.certificate`) may be bought on the same credit.
* **Careful.** Under "each" a span keeps a part of alpha back, because questions may follow free answers. Where a
  plan is expected to answer AFFORDS times the questions that are to be asked, it keeps two fifths, else one.
* **Margin.** The law is a guess. A span is taken only where it is expected to answer MARGIN·N questions; otherwise
  s = 0, and every answer is paid for. That is always allowed.

A plan is made of public facts alone: columns, budget, margin and promise. If the margin is a share of the rows,
the plan waits for their noisy number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.ledger.costs import cost
from discreet.mechanisms import Gaussian, tails
from discreet.oracle.pricing import FINE, Terms, payment_within
from discreet.oracle.span import credit
from discreet.oracle.span.certificate_price import certified_sets, certifier
from discreet.oracle.span.confidence import CAREFUL, FOLLOWED, box_weight, quantile, split
from discreet.oracle.span.design import (
    Box,
    Column,
    Columns,
    Design,
    columns_of,
    design,
    divided,
    questions,
    variance,
)
from discreet.oracle.span.residuals import sensitivity
from discreet.query.bins import Axis
from discreet.render import numbers

MARGIN = 1.5
"""What a span must promise, in answers that plain payments give."""

SAMPLE = 600
"""The questions of the law on which a plan is tried."""

AFFORDED = Fraction(1, 10)
"""The most of the budget that a certificate may cost."""

COVERED = 0.995
"""The expected share of free answers from which no threshold test is worth its part of alpha."""

AFFORDS = 3
"""The expected answers, in questions that are to be asked, from which a span keeps more of alpha back."""

SHARES = (2, 5, *range(10, 100, 5), 98)
"""The shares of the budget that are tried, in percent."""

PROMISES = {
    "each": (
        "each: an interval holds with its confidence for a question that was chosen without looking at free "
        "answers of this oracle."
    ),
    "every": (
        "every: each interval holds with its confidence however its question was chosen, even by an analyst who "
        "knows the rows."
    ),
}
"""What the interval of an answer promises, in one sentence."""


@dataclass(frozen=True)
class OraclePlan:
    """What an oracle will do with its budget, from public facts alone. `vault.plan_oracle` makes it.

    Args:
        promise: "each" or "every": what the intervals promise.
        margin: The largest margin of error of an answer, in rows.
        share: The share of the budget that a span and the first runs of a test take; 0 if every answer is paid
            for.
        most: The most columns of a question that the span answers.
        free: The expected share of free answers.
        floor: The number of answers that are given whatever is asked.
        plain: The number of answers that could be paid for one by one, without a span.
        expected: The expected number of answers before the first refusal.
        test: The share of the budget of a threshold test: of its first runs, which are in `share`, and of one
            more, which is bought from what free answers saved. It is 0 without a test.
        certificate: Whether a certificate of a fitted table is bought on credit, where it is foreseen to fit.
        kept: The part of alpha that the span keeps back under "each", for questions that follow free answers.
    """

    promise: str
    margin: float
    share: Fraction
    most: int
    free: float
    floor: int
    plain: int
    expected: float
    test: Fraction = Fraction(0)
    certificate: bool = False
    kept: Fraction = FOLLOWED

    @property
    def span(self) -> Fraction:
        """The share of the budget that the span takes."""
        return self.share - credit.at_once(self.test)

    def __str__(self) -> str:
        first = f"Within {numbers.number(self.margin)} rows, {self.plain:,} answers can be paid for one by one."
        if not self.share:
            second = "No span is expected to do better: every answer is paid for."
        else:
            more = "more" if self.expected > 10**6 else f"about {self.expected:,.0f}"
            more = "more than 1,000,000" if more == "more" else more
            second = (
                f"The oracle measures first, with {numbers.percent(float(self.span))} of its budget, and answers "
                f"questions on up to {self.most} columns from that: {100 * self.free:.3g} % of them free, "
                f"{more} before the first refusal is expected, and at least {self.floor:,} whatever is asked."
            )
            if self.test:
                second += (
                    f" With {100 * float(self.share - self.span):.2g} % of its budget it also tests "
                    "predictions of what it measured too vaguely, such as sets of many levels."
                )
            if self.certificate:
                second += (
                    " From what free answers save it may buy a certificate: one number that bounds all errors of "
                    "a fitted table."
                )
        return "\n".join([first, second, f"Promise {PROMISES[self.promise]}"])

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return {**self.__dict__, "share": str(self.share), "test": str(self.test), "kept": str(self.kept)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> OraclePlan:
        """Return the plan that `as_json` wrote."""
        fractions = {name: Fraction(record[name]) for name in ("share", "test", "kept") if name in record}
        return cls(
            **{**record, **fractions}
        )  # oracles that were made earlier keep a fifth back, and do not say so


def plan(axes: Sequence[Axis], agreed: Terms, margin: int) -> OraclePlan:
    """Return the plan of an oracle for a margin in units of 1/FINE rows. It reads no row.

    >>> from discreet.oracle.pricing import terms
    >>> agreed = terms(rho=Fraction(1, 70), within=500, confidence="0.95", queries=10_000, start="span",
    ...                rows_per_person=1, promise="each")
    >>> axes = [Axis(f"a{i}", f"c{i}", 2, False, (0, 1)) for i in range(6)]
    >>> found = plan(axes, agreed, 500 * FINE)
    >>> found.plain, found.share, found.most, found.free
    (1859, Fraction(1, 50), 4, 1.0)
    """
    left = agreed.rho - agreed.for_total
    plain = _payments(agreed, margin, left)
    nothing = OraclePlan(agreed.promise, margin / FINE, Fraction(0), 0, 0.0, int(plain), int(plain), plain)
    columns = columns_of(axes)
    if agreed.span == 0 or not columns or plain < 1:
        return nothing
    if agreed.promise == "each":
        careful = _planned(replace(nothing, kept=CAREFUL), columns, agreed, margin, Fraction(0))
        if careful.share and careful.expected >= AFFORDS * agreed.queries:
            return careful
    found = _planned(nothing, columns, agreed, margin, Fraction(0))
    return _tested(found, columns, agreed, margin)


def _planned(
    nothing: OraclePlan, columns: tuple[Column, ...], agreed: Terms, margin: int, test: Fraction
) -> OraclePlan:
    """Return the plan that promises the most beside a test of this share, or `nothing` if none promises enough."""
    left, runs = agreed.rho - agreed.for_total, credit.at_once(test)
    expensive = _payments(agreed, margin, left, span=True, test=bool(test))
    best, limit = nothing, MARGIN * nothing.plain
    for most in (1, 2, 3, 4):
        made = _design(columns, most)
        if made is None:
            continue
        certificate = not test and _certifiable(columns, agreed, margin, most, left)
        width = _widths(made, agreed, left, certificate, bool(test), nothing.kept)
        for span in _shares(agreed):
            share = span + runs
            if test and span + test > 1 - credit.PAYMENTS:
                continue
            free = float((width / math.sqrt(span) <= margin / FINE).mean())
            expected = (1 - float(share)) * expensive / max(1 - free, 1 / SAMPLE)
            better = expected > max(best.expected, limit) or (
                agreed.span is not None and not test and free > best.free
            )
            whole = most == 4 and free > 0.99 and expected > max(limit, agreed.queries) and best.most < 4
            if (whole if most == 4 else better) and _drawable(made, agreed, span * left):
                best = replace(
                    nothing,
                    share=share,
                    most=most,
                    free=free,
                    floor=int((1 - share) * Fraction(expensive)),
                    expected=expected,
                    test=test,
                    certificate=certificate and free < COVERED,
                )
    return best


def _tested(found: OraclePlan, columns: tuple[Column, ...], agreed: Terms, margin: int) -> OraclePlan:
    """Return a plan with a threshold test instead of this one, if it leaves questions to pay for, and a test fits.

    Beside a test payments have a smaller part of alpha and cost more, and the span has less of the budget. The
    plan must still promise MARGIN times what plain payments do, from the span and payments alone.
    """
    if found.promise != "every" or not found.share or found.free >= COVERED:
        return found
    nothing = replace(
        found, share=Fraction(0), most=0, free=0.0, floor=found.plain, expected=found.plain, certificate=False
    )
    plans = (_planned(nothing, columns, agreed, margin, share) for share in credit.shares(agreed, margin))
    return next((plan for plan in plans if plan.share), found)


def _certifiable(columns: Sequence[Column], agreed: Terms, margin: int, most: int, left: Fraction) -> bool:
    """Return whether a certificate is worth its part of alpha: its search is quick, and its cost is small."""
    if agreed.promise != "every" or most < 2:
        return False
    sizes, ordered = [column.size for column in columns], [column.ordered > 0 for column in columns]
    return bool(certified_sets(sizes, ordered)) and cost(certifier(agreed, margin)[0].loss).rho <= AFFORDED * left


def variances(made: Design, rho: Fraction, contribution: int) -> dict[Columns, int]:
    """Return the variance of the noise of every set, in its own integer units: together at most ρ-zCDP."""
    return {
        columns: math.ceil(contribution**2 * Fraction(noise) / (2 * rho)) for columns, noise in made.noise.items()
    }


def noise(made: Design, columns: Columns, variance: int, contribution: int) -> Gaussian:
    """Return the noise of a residual."""
    return Gaussian(variance, sensitivity(contribution, [made.columns[i].strategy for i in columns]))


def _payments(agreed: Terms, margin: int, left: Fraction, *, span: bool = False, test: bool = False) -> float:
    """Return how many answers ρ pays for: alone, beside a span, or beside a span and a test."""
    found, single = payment_within(agreed, margin, split(agreed.alpha, span, agreed.promise, test=test)[1])
    return 0.0 if found is None else float(left / single)


def _shares(agreed: Terms) -> list[Fraction]:
    return [Fraction(share, 100) for share in SHARES] if agreed.span is None else [agreed.span]


@lru_cache(maxsize=16)
def _designs(columns: tuple[Column, ...], most: int) -> Design | None:
    return design(columns, most)


def _design(columns: tuple[Column, ...], most: int) -> Design | None:
    """Return the design of sets of up to so many columns; None if it is too large, or has too few columns."""
    return _designs(columns, most) if most <= len(columns) else None


def _widths(
    made: Design, agreed: Terms, rho: Fraction, certificate: bool, test: bool, kept: Fraction
) -> NDArray[np.float64]:
    """Return the margins of the questions of the law, in rows, if the span had all of ρ."""
    variances = made.variances(float(rho), agreed.rows_per_person)
    shapes = [(column.size, column.ordered) for column in made.columns]
    alpha = float(split(agreed.alpha, True, agreed.promise, test, certificate, kept)[0])
    found = []
    for box in questions(made.columns, SAMPLE, max(made.most, 3)):
        deviation = math.inf if divided(box) else math.sqrt(variance(_factors(made, box), variances))
        weight = 1.0 if agreed.promise == "each" else box_weight(shapes, box, made.most)
        found.append(quantile(alpha * weight) * deviation if weight else math.inf)
    return np.array(found)


def _factors(made: Design, box: Box) -> list[dict[Columns, float]]:
    found = []
    for place, low, high in box:
        mean, spread = made.columns[place].box(low, high)
        found.append({(): mean, (place,): spread})
    return found


def _drawable(made: Design, agreed: Terms, rho: Fraction) -> bool:
    """Return whether the noise of every set can be drawn."""
    return max(variances(made, rho, agreed.sensitivity).values()) <= tails.WIDEST**2
