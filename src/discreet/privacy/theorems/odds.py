"""Explain ε as odds: how much an attacker's belief about one person can change.

If a release is ε-DP, Bayes' rule multiplies the odds of any statement about one person by at most e^ε, whatever
else the attacker knows: prior p becomes at most e^ε·p/(1 − p + e^ε·p). An (ε, δ)-DP release behaves like an ε-DP
one except with probability δ, when no promise is made. Percentages are rounded up.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.privacy.parameters import nonnegative, probability
from discreet.privacy.rounding import float_above, float_below, upward
from discreet.rational import Rational


def posterior(epsilon: Rational, prior: Rational = Fraction(1, 2)) -> float:
    """Return the most that an attacker who believed `prior` can believe after an ε-DP release.

    >>> posterior(1)
    0.73105857863...
    """
    belief, loss = probability(prior, "prior"), nonnegative(epsilon, "epsilon")
    p = float_above(belief)
    if belief in (0, 1) or loss == 0:
        return p
    alpha = float_below(1 - belief) * math.exp(-float_above(loss))
    return min(1.0, upward(p / (p + alpha), 16))


def explain(epsilon: Rational, delta: Rational = 0) -> str:
    """Return what ε and δ mean for one person, in a sentence or two.

    >>> print(explain(1))
    An attacker who starts at even odds about one person ends at no more than 73.2 %.
    >>> print(explain("0.1", "1e-6"))
    An attacker who starts at even odds about one person ends at no more than 52.5 %.
    There is one exception, δ: with a chance of at most 1 in 1,000,000 nothing is promised.
    """
    tenths = math.ceil(posterior(epsilon) * 1000)
    sentence = f"An attacker who starts at even odds about one person ends at no more than {tenths / 10:g} %."
    chance = probability(delta, "delta")
    if chance == 0:
        return sentence
    rare = f"1 in {math.floor(1 / chance):,}"
    return f"{sentence}\nThere is one exception, δ: with a chance of at most {rare} nothing is promised."
