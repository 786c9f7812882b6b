"""Bound exp(−x) between two integers, with arithmetic that keeps such bounds true.

An interval `(lo, hi)` at precision p stands for a real v with lo ≤ 2^p·v ≤ hi. Every operation rounds `lo` down
and `hi` up, so a result is true by construction: no count of rounding errors is needed, only widths that are
small enough to be useful. Arguments are exact fractions, however long.

**exp_minus.** Let y = x/2^k < 1/2. All terms of e^y = Σ yⁿ/n! are positive: the sum of terms rounded down is a
lower bound. Terms rounded up, plus the last of them once more, are an upper bound, because each further term is
at most half the one before. Then e^(−y) = 1/e^y, and k squarings give e^(−x). For x ≥ p, 0 < e^(−x) < 2^(−x) ≤
2^(−p) needs no sum.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate, repeat
from typing import TypeAlias

Interval: TypeAlias = tuple[int, int]
"""Integers below and above 2^p times a real number."""


def shift_up(value: int, places: int) -> int:
    """Return `value`/2^`places`, rounded up (`>>` rounds down)."""
    return -(-value >> places)


def divide_up(value: int, divisor: int) -> int:
    """Return `value`/`divisor`, rounded up (`//` rounds down)."""
    return -(-value // divisor)


def fraction(x: Fraction, precision: int) -> Interval:
    """Return bounds of `x` itself.

    >>> fraction(Fraction(1, 3), 4)
    (5, 6)
    """
    scaled = x.numerator << precision
    return scaled // x.denominator, divide_up(scaled, x.denominator)


def plus(a: Interval, b: Interval) -> Interval:
    """Return bounds of the sum of two numbers."""
    return a[0] + b[0], a[1] + b[1]


def times(a: Interval, b: Interval, precision: int) -> Interval:
    """Return bounds of the product of two non-negative numbers."""
    return a[0] * b[0] >> precision, shift_up(a[1] * b[1], precision)


def over(a: Interval, b: Interval, precision: int) -> Interval:
    """Return bounds of the quotient of a non-negative number by a positive one."""
    return (a[0] << precision) // b[1], divide_up(a[1] << precision, b[0])


def coarser(a: Interval, places: int) -> Interval:
    """Return bounds of the same number with `places` fewer bits."""
    return a[0] >> places, shift_up(a[1], places)


def powers(base: Interval, count: int, precision: int) -> list[Interval]:
    """Return bounds of the powers 0 … `count` of a number.

    >>> powers((8, 8), 3, 4)  # of 1/2
    [(16, 16), (8, 8), (4, 4), (2, 2)]
    """
    one = (1 << precision, 1 << precision)
    return list(accumulate(repeat(base, count), lambda power, b: times(power, b, precision), initial=one))


def powers_below(base: int, count: int, precision: int) -> list[int]:
    """Return lower bounds of the powers 0 … `count` of a number in [0, 1], from a lower bound of it.

    If the number is at most `base` + e, its k-th power is at most k·(e + 1) above the k-th bound: a·b − A·B =
    a·(b − B) + B·(a − A) is at most the sum of both errors for a and B in [0, 1], and rounding down adds one.

    >>> powers_below(8, 3, 4)  # of 1/2
    [16, 8, 4, 2]
    """
    power = 1 << precision
    return [power, *[power := power * base >> precision for _ in range(count)]]


def shares_below(
    parts: list[int], error: int, whole: Interval, precision: int, places: int
) -> tuple[list[int], int]:
    """Return lower bounds of `part`/`whole` with `places` fewer bits, and how far above them the shares may be.

    Each part is a lower bound of a number that is at most `error` above it, and at most the whole. With whole in
    [W, V], part/whole is at most part/V + (V − W)/W + error/W, as part ≤ V.

    >>> shares_below([5, 10], 0, (20, 20), 6, 0)  # of 64
    ([15, 31], 2)
    """
    low, high = whole
    inverse = (1 << 2 * precision) // high
    # The inverse was rounded down by less than one, which the largest part multiplies; a whole may be above 1.
    above = divide_up(high - low + error << precision, low) + shift_up(high, precision)
    shift = precision + places
    return [part * inverse >> shift for part in parts], shift_up(above, places) + 1


def exp_minus(x: Fraction, precision: int) -> Interval:
    """Return bounds of 2^`precision`·exp(−x) for a rational x ≥ 0; they differ by at most 2.

    >>> exp_minus(Fraction(1), 20)  # 2^20/e = 385749.3
    (385749, 385750)
    """
    if x == 0:
        return 1 << precision, 1 << precision
    if x >= precision:
        return 0, 1
    halvings = int(2 * x).bit_length()
    # A squaring at most doubles an absolute error; 16 more bits outweigh the rounding of the few hundred terms.
    guard = halvings + 16
    working = precision + guard
    power = over((1 << working, 1 << working), _exp_below_half(x / (1 << halvings), working), working)
    for _ in range(halvings):
        power = times(power, power, working)
    return coarser(power, guard)


def _exp_below_half(y: Fraction, precision: int) -> Interval:
    argument = fraction(y, precision)
    term = total = (1 << precision, 1 << precision)
    order = 0
    while term[1] > 1:
        order += 1
        lo, hi = times(term, argument, precision)
        term = lo // order, divide_up(hi, order)
        total = total[0] + term[0], total[1] + term[1]
    return total[0], total[1] + term[1]
