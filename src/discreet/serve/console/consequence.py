"""Turn a budget into its consequence: so many counts with such a margin, and what it means for one person.

The counts are asked one after the other, each for an equal share, about rows that one person can change by one.

* Without δ each of k counts has ε/k and Laplace noise of scale k/ε, whose margin at confidence 1 − α is
  k·ln(1/α)/ε, in continuous approximation.
* With δ each has ρ/k and Gaussian noise of variance k/(2ρ); its margin is z·√(k/(2ρ)) with z the normal quantile.
  `Budget.rho` says which ρ a budget (ε, δ) has.

These are public formulas: no row is read, and nothing about a table is known here but how many rows of one person
count. The engine's own discrete noise decides in the end, and every preview states its margin exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from discreet.errors import ParameterError
from discreet.ledger import Budget
from discreet.privacy.theorems.conversions import zcdp_to_approximate
from discreet.privacy.theorems.odds import explain
from discreet.render import svg
from discreet.render.numbers import decimal, number

CONFIDENCE = 0.95
_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
_SIZES = (100, 1_000, 10_000)


@dataclass(frozen=True)
class Consequence:
    """A budget, and what it buys.

    Args:
        counts: How many counts.
        margin: The margin of error of each.
        epsilon: The ε of the budget, rounded up to three digits.
        delta: Its δ.
    """

    counts: int
    margin: float
    epsilon: Fraction
    delta: Fraction

    @property
    def sentence(self) -> str:
        """What analysts can do with it."""
        many = "1 count" if self.counts == 1 else f"{self.counts:,} counts"
        return f"{many} at ± {number(self.margin, 3)}, each with {CONFIDENCE:.0%} confidence.".replace("%", " %")

    @property
    def meaning(self) -> list[str]:
        """What it means for one person, one sentence each."""
        return explain(self.epsilon, self.delta).splitlines()

    @property
    def picture(self) -> str:
        """The margin beside true counts of three sizes, each in percent of itself."""
        rows = []
        for size in _SIZES:
            part = 100 * self.margin / size
            label = f"{size:,} ± {number(part, 2)} %" if part <= 150 else f"{size:,}: noise only"
            shown = min(part, 150.0)
            rows.append(svg.Bar(label, 100.0, 100 - shown, 100 + shown))
        return svg.bars(rows, f"A margin of {number(self.margin, 3)} beside counts of 100, 1,000 and 10,000")


def of(counts: int, margin: float, delta: Fraction, rows_per_person: int = 1) -> Consequence:
    """Return the budget that buys so many counts with this margin.

    >>> of(40, 200, Fraction(0)).sentence
    '40 counts at ± 200, each with 95 % confidence.'
    >>> float(of(40, 200, Fraction(0)).epsilon), float(of(40, 200, Fraction(1, 10**9)).epsilon)
    (0.6, 0.352)
    """
    if not (1 <= counts <= 10**6 and 0 < margin <= 10**9 and math.isfinite(margin)):
        raise ParameterError("Choose 1 to 1,000,000 counts, and a margin above 0.", found=f"{counts}, {margin:g}")
    scaled = margin / rows_per_person
    if delta:
        rho = Fraction(counts * _Z**2 / (2 * scaled**2))
        epsilon = Fraction(zcdp_to_approximate(rho, delta / 2))
    else:
        epsilon = Fraction(counts * math.log(1 / (1 - CONFIDENCE)) / scaled)
    return Consequence(counts, margin, Fraction(decimal(epsilon, "ROUND_CEILING", 3)), delta)


def margin_of(budget: Budget, counts: int) -> float:
    """Return the margin that each of so many counts would have under a budget.

    >>> round(margin_of(Budget("0.6"), 40))
    200
    """
    if budget.rho is None:
        return counts * math.log(1 / (1 - CONFIDENCE)) / float(budget.epsilon)
    return _Z * math.sqrt(counts / (2 * float(budget.rho)))
