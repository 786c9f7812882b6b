"""Give every linear query its part of alpha, so that all answers of a span hold at once.

**every.** Each query q has a public weight p(q), and the weights of all queries add up to at most 1. An answer
with the margin z(q)·sd(q), where 2·Φ(−z(q)) = α₁·p(q), is outside its interval with probability α₁·p(q); so with
probability 1 − α₁ no answer that the span can ever give is outside (union bound). It does not matter who asks,
or what they know. A common question (a range, a point, few columns) has a large weight, and a strange one a
small one:

    p(q) = p(count or sum)·p(number of columns)·(1 / sets of so many columns)·Π p(levels chosen in column i)

**each.** A question that does not depend on the noise of the span has the margin z·sd with 2·Φ(−z) = α.

**Discrete noise.** The noise of an answer is Σ c_j·k_j, k_j discrete Gaussian of variance v_j. There are X_j ~
N(0, v_j − 9) with k_j = X_j + D_j, where D_j given X is subgaussian with variance 9, up to a factor 1 ± 10⁻⁷⁰ in
the law of k_j (docs/theory/objective-perturbation.md). So |Σ c_j·D_j| ≤ 20·3·‖c‖ but for a probability below
10⁻⁸⁶, and 3·‖c‖ ≤ 3·sd/σ, where σ is the least √v_j: the margin is (z + 60/σ)·sd, with z for α·(1 − 10⁻⁹).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.oracle.span import credit

COUNTS = 0.8
"""The weight of all counts; the others are sums."""

WEIGHTED = 0.5
"""The weight of a sum over all levels of its column, among sums over chosen levels."""

ROUNDING = 60.0
"""The margin of the difference between discrete and continuous noise, in units of sd/σ."""


def quantile(alpha: float) -> float:
    """Return the z with 2·Φ(−z) = alpha; ∞ where alpha is too small for that.

    >>> round(quantile(0.05), 4)
    1.96
    """
    half = alpha * (1 - 1e-9) / 2
    return -NormalDist().inv_cdf(half) if half > 1e-290 else math.inf


def levels_weight(size: int, ordered: int, chosen: NDArray[np.bool_]) -> float:
    """Return the weight of a choice of some levels of a column, not all. The weights of all choices are at most 1.

    >>> levels_weight(2, 0, np.array([True, False]))
    0.5
    >>> levels_weight(10, 10, np.arange(10) < 4) == 0.8 / 55
    True
    """
    count = int(np.count_nonzero(chosen))
    if count in (0, size):
        return 0.0
    if size == 2:
        return 0.5
    if is_box(size, ordered, chosen):
        return 0.8 / (ordered * (ordered + 1) / 2) if ordered > 2 else 0.7 / size
    common = 0.2 if ordered > 2 else 0.3
    return common / (size - 1) / math.comb(size, count)


def is_box(size: int, ordered: int, chosen: NDArray[np.bool_]) -> bool:
    """Return whether the levels are a range of an ordered column, or one level of another.

    >>> is_box(4, 3, np.array([True, True, False, False])), is_box(4, 3, np.array([False, False, True, True]))
    (True, False)
    """
    places = np.flatnonzero(chosen)
    if ordered <= 2:
        return len(places) == 1
    return 0 < len(places) < size and bool(places[-1] - places[0] + 1 == len(places) and places[-1] < ordered)


def columns_weight(columns: int, used: int, most: int) -> float:
    """Return the weight of one set of `used` columns among all sets of up to `most`.

    >>> sum(columns_weight(5, k, 3) * math.comb(5, k) for k in range(4))
    1.0
    """
    if used > most:
        return 0.0
    return 4.0**used / sum(4.0**k for k in range(most + 1)) / math.comb(columns, used)


def box_weight(columns: Sequence[tuple[int, int]], box: Sequence[tuple[int, int, int]], most: int) -> float:
    """Return the weight of a count over a box: ranges [low, high) of columns, each with its size and order."""
    weight = COUNTS * columns_weight(len(columns), len(box), most)
    for place, low, high in box:
        size, ordered = columns[place]
        at = np.arange(size)
        weight *= levels_weight(size, ordered, (at >= low) & (at < high))
    return weight


def split(
    alpha: Fraction,
    span: bool,
    promise: str,
    test: bool = False,
    certificate: bool = False,
    kept: Fraction | None = None,
) -> tuple[Fraction, Fraction]:
    """Return the alpha of the span and that of a payment.

    An analyst who knew that the span has failed would ask the span, and pay otherwise: an answer is wrong with
    probability at most the sum of both. Under "each" a question is answered by one of the two, which public facts
    decide; the span keeps a part back, by default a fifth, because questions in practice follow free answers.
    """
    if promise == "each":
        return alpha * (1 - (FOLLOWED if kept is None else kept)), alpha
    taken = certificate_alpha(alpha) if certificate else Fraction(0)  # of the span: payments cost the same
    if test:  # the threshold test has the rest
        return alpha * SPAN / 2 - taken, alpha * (1 - SPAN / 2 - credit.FREE - credit.GAP)
    return (alpha * SPAN - taken, alpha * (1 - SPAN)) if span else (Fraction(0), alpha)


def certificate_alpha(alpha: Fraction) -> Fraction:
    """Return the part of alpha for a certificate that bounds less than the largest error."""
    return alpha * CERTIFICATE


FOLLOWED = Fraction(1, 5)
"""The part of alpha that a span keeps back under "each".

An analyst who narrows what turned out large follows noise a little, most in small tables: with all of alpha about
94 % of such intervals held, and 95 % were promised.
"""

CAREFUL = Fraction(2, 5)
"""The part that it keeps back where the plan can afford that.

An analyst who always narrows the largest answer of all follows noise more: of 200 rows 94.2 % of such intervals
held with a fifth kept back, and 95.4 % with two fifths. The margin is then 5.7 % wider.
"""

SPAN = Fraction(1, 10)
"""The part of alpha for the failure of a whole span. Its margins change little with it, and payments much."""

CERTIFICATE = SPAN / 4
"""The part of alpha for a certificate, taken from the span's."""
