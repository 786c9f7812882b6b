"""Compute with arrays of intervals: bound a number whose parts are known to lie in intervals.

Every operation returns a superset of the possible results: if x lies in X and y in Y, then x ∘ y lies in X ∘ Y.
The float ends are moved outwards by a relative 2⁻⁵⁰ wherever floats may have rounded (each operation here rounds
at most three times, by 2⁻⁵³ each). So a statement "with probability 0.95 all parts lie in their intervals" carries
over to the result, without an assumption of independence and without an approximation.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_EXACT = 2.0**53  # every integer below this is exactly a float
_OUT = 2.0**-50


@dataclass(frozen=True)
class Interval:
    """Arrays of lower and upper ends.

    >>> Interval.around(np.array([10]), 3) * Fraction(1, 2)
    Interval(low=array([3.5]), high=array([6.5]))
    """

    low: Floats
    high: Floats

    @classmethod
    def around(cls, values: NDArray[np.int64], margin: int) -> Interval:
        """Return values ± margin."""
        middle = values.astype(np.float64)
        size = np.abs(middle) + float(margin)
        rounding = np.where(size < _EXACT, 0.0, size * _OUT)
        return cls(middle - float(margin) - rounding, middle + float(margin) + rounding)

    @classmethod
    def between(cls, low: Fraction, high: Fraction, like: Floats) -> Interval:
        """Return the same interval everywhere, in the shape of another array.

        Its ends are the nearest floats. Rounding is monotone, so a number between them is also between as a float.

        >>> Interval.between(Fraction(0), Fraction(1), np.zeros(2)).high.tolist()
        [1.0, 1.0]
        """
        return cls(*(np.full_like(like, float(end), np.float64) for end in (low, high)))

    @property
    def middle(self) -> Floats:
        """Half-way between the ends."""
        return self.low + (self.high - self.low) / 2

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)._out()

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.low - other.high, self.high - other.low)._out()

    def __mul__(self, factor: Fraction) -> Interval:
        ends = self.low * float(factor), self.high * float(factor)
        product = Interval(*(ends if factor >= 0 else ends[::-1]))
        return product if _power_of_two(factor) else product._out()

    def times(self, other: Interval) -> Interval:
        """Return the interval of the products.

        >>> both = Interval(np.array([-2.0]), np.array([1.0])).times(Interval(np.array([3.0]), np.array([4.0])))
        >>> both.low.round(9).tolist(), both.high.round(9).tolist()
        ([-8.0], [4.0])
        """
        corners = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(np.minimum.reduce(corners), np.maximum.reduce(corners))._out()

    def plus(self, shift: Fraction) -> Interval:
        """Return the interval shifted by a number.

        >>> Interval.around(np.array([0]), 1).plus(Fraction(2)).low.round(9).tolist()
        [1.0]
        """
        moved = Interval(self.low + float(shift), self.high + float(shift))
        return moved._out(abs(float(shift))) if shift else self

    def widened(self, by: Fraction) -> Interval:
        """Return the interval extended by an amount on both sides.

        >>> Interval.around(np.array([0]), 1).widened(Fraction(0)).high.tolist()
        [1.0]
        """
        return Interval(self.low - float(by), self.high + float(by))._out(float(by)) if by else self

    def squared(self) -> Interval:
        """Return the interval of the squares.

        >>> Interval(np.array([-2.0]), np.array([1.0])).squared().high.round(9).tolist()
        [4.0]
        """
        smaller, larger = np.minimum(self.low**2, self.high**2), np.maximum(self.low**2, self.high**2)
        return Interval(np.where((self.low <= 0) & (self.high >= 0), 0.0, smaller), larger)._out()

    def root(self) -> Interval:
        """Return the interval of the roots, of numbers that are not negative."""
        return Interval(*(np.sqrt(np.maximum(end, 0.0)) for end in (self.low, self.high)))._out()

    def over(self, divisor: Interval, possible: Interval) -> Interval:
        """Return the interval of the ratio, for a positive divisor and a ratio known to lie in `possible`.

        If the divisor's interval contains 0, the ratio is unbounded in each direction that the numerator allows.
        If nothing possible is left, `possible` is returned: the noise was larger than its margin, so nothing is
        known.

        >>> count, everything = Interval.around(np.array([10, 1]), 2), Interval.around(np.zeros(2, np.int64), 9)
        >>> ratio = Interval.around(np.array([20, 20]), 4).over(count, everything)
        >>> ratio.low.round(6).tolist(), ratio.high.round(6).tolist()
        ([1.333333, 5.333333], [3.0, 9.0])
        """
        positive, n = divisor.low > 0, np.where(divisor.high > 0, divisor.high, 1.0)
        least = np.where(positive, divisor.low, 1.0)
        low = np.where(self.low >= 0, self.low / n, np.where(positive, self.low / least, possible.low))
        high = np.where(self.high <= 0, self.high / n, np.where(positive, self.high / least, possible.high))
        inside = Interval(low, high)._out().within(possible)
        none = divisor.high <= 0
        shown = Interval(np.where(none, possible.low, inside.low), np.where(none, possible.high, inside.high))
        return shown.or_else(possible)

    def or_else(self, possible: Interval) -> Interval:
        """Return the interval, or `possible` where the interval is empty (its ends are in the wrong order).

        >>> Interval(np.array([3.0]), np.array([2.0])).or_else(Interval.around(np.array([0]), 9)).high.tolist()
        [9.0]
        """
        empty = self.low > self.high
        return Interval(np.where(empty, possible.low, self.low), np.where(empty, possible.high, self.high))

    def within(self, possible: Interval) -> Interval:
        """Return the intersection of two intervals; its ends are in the wrong order if it is empty."""
        return Interval(np.maximum(self.low, possible.low), np.minimum(self.high, possible.high))

    def above(self, least: float) -> Interval:
        """Return the interval with both ends raised to a lower bound.

        >>> Interval.around(np.array([0]), 1).above(0.0).low.tolist()
        [0.0]
        """
        return Interval(np.maximum(self.low, least), np.maximum(self.high, least))

    def clip(self, values: Floats) -> Floats:
        """Return the nearest numbers inside the interval."""
        return np.minimum(np.maximum(values, self.low), self.high)

    def _out(self, size: float = 0.0) -> Interval:
        """Move the ends outwards by the largest rounding error, of the ends or of a summand of this size."""
        wide = np.maximum(np.abs(self.low), np.abs(self.high)) + size
        return Interval(self.low - wide * _OUT, self.high + wide * _OUT)


def _power_of_two(factor: Fraction) -> bool:
    return 1 in (abs(factor.numerator), factor.denominator) and all(
        part & (part - 1) == 0 for part in (abs(factor.numerator), factor.denominator)
    )
