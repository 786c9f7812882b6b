"""Interval arithmetic on arrays: what is known of a number when each of its parts is known to lie in an interval.

Every operation returns a superset of what is possible: if x lies in X and y in Y, then x ∘ y lies in X ∘ Y, and so
in its float ends, which are moved outwards by a relative 2⁻⁵⁰ wherever floats may have rounded (each operation
here rounds at most three times, by 2⁻⁵³ each). So a statement "with probability 0.95 all parts lie in their
intervals" carries over to the result, without an independence or an approximation.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_EXACT = 2.0**53  # integers below this are floats
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
    def around(cls, values: NDArray[np.int64], radius: int) -> Interval:
        """Return values ± radius."""
        middle = values.astype(np.float64)
        size = np.abs(middle) + float(radius)
        margin = np.where(size < _EXACT, 0.0, size * _OUT)
        return cls(middle - float(radius) - margin, middle + float(radius) + margin)

    @classmethod
    def between(cls, low: Fraction, high: Fraction, like: Floats) -> Interval:
        """Return the same interval everywhere, as long as another array.

        Its ends are the nearest floats: rounding is monotone, so the float of a number between is between them.

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

    def plus(self, shift: Fraction) -> Interval:
        """Return the interval moved by a number.

        >>> Interval.around(np.array([0]), 1).plus(Fraction(2)).low.round(9).tolist()
        [1.0]
        """
        moved = Interval(self.low + float(shift), self.high + float(shift))
        return moved._out(abs(float(shift))) if shift else self

    def widened(self, by: Fraction) -> Interval:
        """Return the interval with that much more on both sides.

        >>> Interval.around(np.array([0]), 1).widened(Fraction(0)).high.tolist()
        [1.0]
        """
        return Interval(self.low - float(by), self.high + float(by))._out(float(by)) if by else self

    def squared(self) -> Interval:
        """Return what the squares can be.

        >>> Interval(np.array([-2.0]), np.array([1.0])).squared().high.round(9).tolist()
        [4.0]
        """
        smaller, larger = np.minimum(self.low**2, self.high**2), np.maximum(self.low**2, self.high**2)
        return Interval(np.where((self.low <= 0) & (self.high >= 0), 0.0, smaller), larger)._out()

    def root(self) -> Interval:
        """Return what the roots can be of numbers that are not below 0."""
        return Interval(*(np.sqrt(np.maximum(end, 0.0)) for end in (self.low, self.high)))._out()

    def over(self, divisor: Interval, possible: Interval) -> Interval:
        """Return what the ratio can be, for a divisor above 0 with which it lies in `possible`.

        Where the divisor's interval reaches 0 the ratio may be as large as it likes in whichever direction the
        numerator allows. Where nothing is left that is possible, all that is possible is returned: an event that
        the noise has outdone says nothing.

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
        """Return the interval where it has its ends in order, and all that is possible where it is empty.

        >>> Interval(np.array([3.0]), np.array([2.0])).or_else(Interval.around(np.array([0]), 9)).high.tolist()
        [9.0]
        """
        empty = self.low > self.high
        return Interval(np.where(empty, possible.low, self.low), np.where(empty, possible.high, self.high))

    def within(self, possible: Interval) -> Interval:
        """Return what two intervals have in common; its ends are in the wrong order if there is nothing."""
        return Interval(np.maximum(self.low, possible.low), np.minimum(self.high, possible.high))

    def above(self, least: float) -> Interval:
        """Return the interval with both ends raised to a number that nothing is below.

        >>> Interval.around(np.array([0]), 1).above(0.0).low.tolist()
        [0.0]
        """
        return Interval(np.maximum(self.low, least), np.maximum(self.high, least))

    def clip(self, values: Floats) -> Floats:
        """Return the nearest numbers inside."""
        return np.minimum(np.maximum(values, self.low), self.high)

    def _out(self, size: float = 0.0) -> Interval:
        """Move the ends outwards by what floats may have rounded away, of these or of a summand of some size."""
        wide = np.maximum(np.abs(self.low), np.abs(self.high)) + size
        return Interval(self.low - wide * _OUT, self.high + wide * _OUT)


def _power_of_two(factor: Fraction) -> bool:
    return 1 in (abs(factor.numerator), factor.denominator) and all(
        part & (part - 1) == 0 for part in (abs(factor.numerator), factor.denominator)
    )
