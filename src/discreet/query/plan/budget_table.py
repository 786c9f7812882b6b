"""Compare the two kinds of budget: how accurate are 1, 10, 100 or 1000 equal counts that share it?

A budget without δ is divided as ε, and each count has Laplace noise. One with δ is divided as ρ, and each count
has Gaussian noise. The margin of n counts grows as n without δ, and as √n with it: few questions are more accurate
without δ, many with it. Nothing here depends on the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import LawTooWide
from discreet.ledger.budget import Budget
from discreet.mechanisms import tails
from discreet.query.plan.calibration import Setting, noise
from discreet.query.plan.error_bounds import margin_of_sum
from discreet.query.plan.linear_queries import rows
from discreet.rational import Rational
from discreet.schema.metadata import UNIT

COUNTS = (1, 10, 100, 1000)
"""How many questions are compared."""

DELTA = Fraction(1, 10**9)
"""The δ of the other kind, for a budget that has none."""


@dataclass(frozen=True)
class Row:
    """The margins of so many equal counts; None if no noise so large can be drawn.

    Args:
        counts: The number of questions that share the budget.
        margin: The margin of each under the budget.
        other: The margin of each under the other kind of budget, of the same ε.
    """

    counts: int
    margin: float | None
    other: float | None

    @property
    def other_is_better(self) -> bool:
        """Whether the other kind gives the smaller margin."""
        return self.other is not None and (self.margin is None or self.other < self.margin)


def other_kind(budget: Budget) -> Budget:
    """Return the budget of the same ε with a δ if it has none, and without δ if it has one.

    >>> print(other_kind(Budget(2)), other_kind(Budget(2, "1e-6")), sep="; ")
    ε = 2 at δ = 1e-9; ε = 2
    """
    return Budget(budget.epsilon, DELTA if budget.pure else 0)


def budget_table(
    budget: Budget, rows_per_person: int = 1, confidence: Rational = "0.95", counts: Sequence[int] = COUNTS
) -> list[Row]:
    """Return how accurate so many equal counts are under a budget, and under the other kind.

    Args:
        budget: The budget of the vault.
        rows_per_person: The number of rows of one person that count in full.
        confidence: The confidence of each interval, 0.95 by default.
        counts: How many questions share the budget, for each row of the table.

    >>> for row in budget_table(Budget(2, "1e-9")):
    ...     print(f"{row.counts:>5} counts: ± {row.margin:.3g} with δ, ± {row.other:.3g} without")
        1 counts: ± 5.96 with δ, ± 1.5 without
       10 counts: ± 18.8 with δ, ± 15 without
      100 counts: ± 59.6 with δ, ± 150 without
     1000 counts: ± 188 with δ, ± 1.5e+03 without
    """
    alpha, other = tails.alpha(confidence), other_kind(budget)
    return [
        Row(count, *(_margin(kind, count, rows_per_person, alpha) for kind in (budget, other))) for count in counts
    ]


def _margin(budget: Budget, counts: int, rows_per_person: int, alpha: Fraction) -> float | None:
    setting = Setting(rows_per_person, groups=1, expected_groups=1, pure=budget.pure, alpha=alpha)
    each = (budget.epsilon if budget.rho is None else budget.rho) / counts
    if not each:
        return None
    measured = rows()
    try:
        return margin_of_sum([(measured.unit / UNIT, noise(measured, each, setting))], alpha)
    except LawTooWide:
        return None
