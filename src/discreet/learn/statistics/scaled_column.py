"""Scale the codes of a declared column to integers within ±4096, the same in SQL and in numpy.

    q = code // step,   x = (2q − last)·factor,   last·factor ≤ 4096

The step makes at most 4,097 values of a column with more, and the factor is the largest that keeps x within ±4096.
So x is a polynomial of q with public coefficients, and an engine adds up products of it exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.engines.nodes import Column as Name
from discreet.engines.nodes import Expression, FloorDiv, Int, Mul, Sub
from discreet.learn.feature_map import SCALE
from discreet.schema import Column


@dataclass(frozen=True)
class ScaledColumn:
    """A column with codes from 0, as integers around 0.

    Args:
        column: Its declaration.

    >>> from discreet.schema import Integer
    >>> age = ScaledColumn(Integer(0, 110))
    >>> age.most, age.numbers(np.array([0, 55, 110])).tolist()
    (4070, [-4070, 0, 4070])
    """

    column: Column

    @property
    def step(self) -> int:
        """The codes that become one value."""
        return max(1, -(-self._top // SCALE))

    @property
    def last(self) -> int:
        """The largest value before it is centred."""
        return self._top // self.step

    @property
    def factor(self) -> int:
        """The factor that makes use of the range."""
        return SCALE // max(self.last, 1)

    @property
    def most(self) -> int:
        """The bound: numbers lie within ±most."""
        return self.last * self.factor

    @property
    def unit(self) -> Fraction:
        """What one unit of a number is worth, in the units of the column."""
        return Fraction(self.column.scale) * self.step / (2 * self.factor)

    @property
    def middle(self) -> Fraction:
        """The value of the number 0, in the units of the column: the middle of the codes that share a value."""
        return Fraction(self.column.offset) + Fraction(self.column.scale) * Fraction(
            self.last * self.step + self.step - 1, 2
        )

    def places(self, codes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the values before they are centred; codes of missing values stay below 0."""
        return np.floor_divide(np.asarray(codes, np.int64), self.step)

    def numbers(self, codes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the numbers, 0 where a value is missing."""
        centred = (2 * self.places(codes) - self.last) * self.factor
        return np.where(np.asarray(codes) < 0, 0, centred)

    def centred(self, sealed: str) -> Expression:
        """Return 2q − last as an expression over a sealed column: the numbers without their factor."""
        place = FloorDiv(Name(sealed), Int(self.step)) if self.step > 1 else Name(sealed)
        return Sub(Mul(Int(2), place), Int(self.last))

    @property
    def _top(self) -> int:
        return (self.column.levels or 1) - 1
