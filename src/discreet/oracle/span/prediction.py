"""Predict what a span answers too vaguely, and choose which predictions are too risky to be compared.

**A mean of two.** For one question a fitted table gives h and the span gives y. Both have the noise of the parts
on up to two columns. y has more noise, of the parts on three columns and more, whose deviation s is known; h has
an error of deviation τ, what the table does not know about three columns. Given both, the best estimate is
h + w·(y − h) with w = τ²/(τ² + s²). (y − h)²/s² has the mean 1/(1 − w), so w is learned from the questions so far,
as in an estimate of James and Stein. If the mean is more than TRUSTED·s from y it is moved to there: the table is
wrong about these columns.

**Who is paid for.** An alarm costs a run, as much as some hundred payments, and the last one costs all that the
span does not answer. So payments go to the questions that are the most likely to raise one, as many of them as
can be paid for until the last question: a question is paid for if it is among the riskiest f/m of those so far, f
the payments that are left beside the runs to come, m the questions to come that need a payment or a comparison.

All of this is computed from the form of questions, from released numbers and from past outcomes, so it costs no
privacy; and the bound on wrong free answers holds for every prediction and every rule (docs/theory/oracle.md).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from fractions import Fraction

TRUSTED = 2.5
"""How many deviations a prediction may be away from what was measured."""

WEIGHT, PRIOR = 0.15, 100
"""The first weight of the span in a prediction, and the number of questions that it counts for."""

MOST = 9.0
"""The most that one question counts, (y − h)²/s²: a few that the table is wrong about say little of the others."""

SURE = 10
"""The expected cost of an alarm, in payments, from which a question is paid for at once."""

FREQUENT = Fraction(1, 50)
"""The frequency of alarms above which predictions are not trusted, and all is paid for.

At the price of a run, one alarm in some 275, an early alarm by noise would take all payments of an oracle.
"""

DOUBT = 0.1
"""The expected number of alarms below which comparisons need no payments: if all to come had this risk."""


class Blend:
    """The mean of what a fitted table and a span say, with a weight that is learned.

    >>> blend = Blend()
    >>> round(blend.predict(1000.0, 1100.0, 100.0))
    1015
    >>> for _ in range(1000):
    ...     blend.learn(1000.0, 1200.0, 100.0)
    >>> round(blend.predict(1000.0, 1100.0, 100.0))
    1073
    """

    def __init__(self) -> None:
        self._count, self._apart = float(PRIOR), PRIOR / (1 - WEIGHT)

    @property
    def weight(self) -> float:
        """The weight of the span's answer."""
        return max(0.0, 1 - self._count / self._apart)

    def learn(self, table: float, value: float, deviation: float) -> None:
        """Learn from a question how far table and span are apart, in deviations of the span's vague parts."""
        self._count += 1
        self._apart += min(((value - table) / deviation) ** 2, MOST)

    def predict(self, table: float, value: float, deviation: float) -> float:
        """Return the prediction from what table and span say."""
        mean = table + self.weight * (value - table)
        return min(max(mean, value - TRUSTED * deviation), value + TRUSTED * deviation)


class Pace:
    """The foreseen alarms of the questions so far, and which are too risky to be compared.

    >>> pace = Pace()
    >>> [pace.pays(risk / 1000, price=1 / 300, payments=20, to_come=100) for risk in (2, 3, 1, 3, 9, 2, 40)]
    [False, False, False, False, True, False, True]
    """

    def __init__(self) -> None:
        self._risks: list[float] = []

    def __len__(self) -> int:
        return len(self._risks)

    def pays(self, risk: float, *, price: float, payments: float, to_come: float) -> bool:
        """Return whether a question is paid for, and remember its risk.

        Args:
            risk: How likely a comparison is foreseen to raise an alarm.
            price: The cost of a payment, in runs.
            payments: How many can be paid for, beside the runs to come.
            to_come: How many questions to come are expected to need a payment or a comparison.
        """
        insort(self._risks, risk)
        if payments < 1:
            return False
        as_risky = len(self._risks) - bisect_left(self._risks, risk)
        affordable = as_risky * to_come <= payments * len(self._risks)
        return risk > SURE * price or (risk * to_come > DOUBT and affordable)
