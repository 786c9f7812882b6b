"""Price the answers of a statistical-query oracle: the noise on each, and what all of them cost together.

One person changes the sum behind an answer by at most Δ = K·UNIT·GRAIN, so an answer with discrete Laplace noise
of scale t costs ε = Δ/t, and one with discrete Gaussian noise of variance v costs ρ = Δ²/(2v). Queries may be
chosen from earlier answers: ε and ρ are filters (docs/theory/session.md), so M answers that each cost a share 1/M
of the amount are private at the amount as a whole, however they are chosen. Without a declared number of rows one
more measurement pays for a private count.

The margin is the least a such that all M noises together stay within ±a with the confidence, from the law of the
noise. A tolerance τ of N declared rows asks for a ≤ τ·N·UNIT·GRAIN: for Laplace noise the scale t = (a +
½)/ln(1/β′) suffices, since P(|Z| > a) = e^{−(a+1)/t}·2/(1 + e^{−1/t}) ≤ e^{−(a+½)/t}; for Gaussian noise the
largest variance is searched for, and checked. Here β′ is what each noise may fail with.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from discreet.errors import Fix, ParameterError
from discreet.learn.statistical_queries.query import GRAIN
from discreet.mechanisms import Gaussian, Laplace, tails
from discreet.privacy.losses import Loss
from discreet.privacy.theorems.calibration import largest
from discreet.rational import Rational, positive, shown
from discreet.schema.metadata import UNIT

WHOLE = UNIT * GRAIN
"""What one whole row of value 1 adds to a sum."""


@dataclass(frozen=True)
class Price:
    """The noise of every answer, and the amount that all together cost: an ε if it is pure, else a ρ.

    >>> price = for_amount(Fraction(1), True, weight=UNIT, queries=10, rows=1000)
    >>> price.mechanism.scale / WHOLE, round(price.margin / WHOLE)
    (Fraction(10, 1), 53)
    """

    mechanism: Laplace | Gaussian
    amount: Fraction
    pure: bool
    queries: int
    rows: int | None
    confidence: Fraction

    @property
    def measurements(self) -> int:
        """The number of noisy sums that are paid for: the answers, and a count if no number is declared."""
        return self.queries + (self.rows is None)

    @property
    def losses(self) -> Loss:
        """What all measurements cost."""
        return self.mechanism.loss * self.measurements

    @cached_property
    def margin(self) -> int:
        """The bound on all noises together, at the confidence, in units of 1/WHOLE rows."""
        return self.mechanism.error(self.confidence, dimension=self.measurements)


def for_amount(
    amount: Fraction,
    pure: bool,
    *,
    weight: int,
    queries: int,
    rows: int | None = None,
    confidence: Rational = "0.95",
) -> Price:
    """Return the noise that an amount buys.

    Args:
        amount: The ε (pure) or ρ of all answers together.
        pure: Whether the amount is an ε.
        weight: The most that the rows of one person weigh.
        queries: The number of answers.
        rows: The declared number of rows; None if a private count divides.
        confidence: The confidence of all intervals together.
    """
    return _price(amount, pure, weight, queries, rows, 1 - tails.alpha(confidence))


@lru_cache(maxsize=64)  # the margin of a price takes a millisecond, and is kept with it
def _price(
    amount: Fraction, pure: bool, weight: int, queries: int, rows: int | None, confidence: Fraction
) -> Price:
    each, shares = weight * GRAIN, queries + (rows is None)
    mechanism = (
        Laplace(shares * each / amount, each)
        if pure
        else Gaussian(Fraction(shares * each**2) / (2 * amount), each)
    )
    return Price(mechanism, amount, pure, queries, rows, confidence)


def for_tolerance(
    tolerance: Rational, pure: bool, *, weight: int, queries: int, rows: int | None, confidence: Rational = "0.95"
) -> Price:
    """Return the least amount found with which all answers are within a tolerance of the share of the rows.

    Args:
        tolerance: The largest error of an answer.
        pure: Whether the noise must be pure.
        weight: The most that the rows of one person weigh.
        queries: The number of answers.
        rows: The declared number of rows, without which a tolerance has no cost.
        confidence: The confidence of all answers together.

    >>> price = for_tolerance("0.05", True, weight=UNIT, queries=100, rows=16589)
    >>> round(float(price.amount), 3), price.margin <= WHOLE * 16589 // 20
    (0.913, True)
    """
    if rows is None:
        raise ParameterError(
            "What a tolerance costs depends on the number of rows, which is private.",
            fix=[Fix("rows", 10_000, note="if the number is public"), Fix("epsilon", 1)],
        )
    allowed = positive(tolerance, "tolerance")
    if allowed >= 1:
        raise ParameterError("A tolerance must be below 1.", found=shown(tolerance), fix=Fix("tolerance", "0.05"))
    margin = math.floor(allowed * rows * WHOLE)
    chance = tails.alpha(confidence, queries)
    each = weight * GRAIN
    if pure:
        scale = Fraction(math.floor(1024 * (margin + Fraction(1, 2)) / -tails.log(chance)), 1024)
        amount = Fraction(queries * each) / scale
    else:
        variance = largest(lambda v: v <= tails.WIDEST**2 and tails.gaussian_bound(v, chance) <= margin)
        amount = Fraction(queries * each**2) / (2 * variance)
    return for_amount(amount, pure, weight=weight, queries=queries, rows=rows, confidence=confidence)
