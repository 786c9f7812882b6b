"""Map integer codes to bounded integer factors, in Python and as an expression.

An affine map is ⌊(slope·code + start)/2^shift + ½⌋. `AffineMap.at` computes it for a number and `AffineMap.tree`
for a column. tests/query/plan/test_linear_queries.py compares the two on every code of small domains, in the
engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.engines.nodes import FloorDiv
from discreet.errors import QuestionRefused
from discreet.query import ir

if TYPE_CHECKING:
    from discreet.engines.nodes import Expression
    from discreet.query.question import Term

_LARGEST = 2**61  # bounds every integer inside a factor, because engines compute in int64


@dataclass(frozen=True)
class AffineMap:
    """The integer ⌊(slope·code + start)/2^shift + ½⌋ for codes in [low, high].

    >>> line = AffineMap(slope=2, start=-9, low=0, high=9)
    >>> line.at(0), line.at(9), line.bound
    (-9, 9, 9)
    """

    slope: int
    start: int
    low: int
    high: int
    shift: int = 0

    def __post_init__(self) -> None:
        if max(abs(self.slope * self.low), abs(self.slope * self.high)) + 2 * abs(self.start) > _LARGEST:
            raise QuestionRefused(
                f"Values from {self.low} to {self.high} steps, {self.slope} units each, are too fine to add up.",
                fix=["Declare a larger step for the column.", "Or round first, such as floor(x / 1000)."],
            )

    @property
    def bound(self) -> int:
        """The largest absolute value."""
        return max(abs(self.at(self.low)), abs(self.at(self.high)))

    def at(self, code: int) -> int:
        """Return the integer for one code."""
        return rounded(self.slope * code + self.start, self.shift)

    def tree(self, code: Expression) -> Expression:
        """Return the same integer as an expression, for a code in [low, high].

        Engines differ in how they divide negative numbers, so the dividend is made positive first: slope·code +
        start + half a step is at least min(at(low), at(high))·2^shift, and `lift` more steps make it positive.
        """
        if not self.shift:
            return ir.plus(ir.times(code, self.slope), self.start)
        lift = max(0, -self.at(self.low), -self.at(self.high)) + 1
        start = self.start + (1 << self.shift >> 1) + (lift << self.shift)
        return ir.plus(shifted(ir.plus(ir.times(code, self.slope), start), self.shift), -lift)

    def coarse(self, most: int) -> AffineMap:
        """Return the finest coarsening of this map whose absolute value is at most `most`."""
        shift = self.shift
        while rounded(self._largest, shift) > most:
            shift += 1
        return AffineMap(self.slope, self.start, self.low, self.high, shift)

    @property
    def _largest(self) -> int:
        return max(abs(self.slope * code + self.start) for code in (self.low, self.high))


def rounded(value: int, shift: int) -> int:
    """Return ⌊value/2^shift + ½⌋.

    >>> rounded(5, 1), rounded(-5, 1), rounded(7, 0)
    (3, -2, 7)
    """
    return (value + (1 << shift >> 1)) >> shift


def shifted(tree: Expression, shift: int) -> Expression:
    """Return ⌊tree/2^shift⌋ for a tree that is never negative: the caller proves it.

    >>> from discreet.query import ir
    >>> shifted(ir.sealed("c0"), 3).sql()
    'c0 // 8'
    """
    return ir.binary(FloorDiv, tree, ir.number(1 << shift)) if shift else tree


def centred(term: Term, most: int) -> tuple[AffineMap, Fraction]:
    """Return the factor code − centre of a term, and the value of one unit of it.

    >>> from discreet.query.question import Term
    >>> centred(Term(None, 0, 1), most=100)[0].bound, centred(Term(None, 0, 1), most=100)[1]
    (1, Fraction(1, 2))
    """
    width = term.high - term.low
    if width % 2 and width <= most:
        return AffineMap(2, -(term.low + term.high), term.low, term.high), term.scale / 2
    line = AffineMap(1, -((term.low + term.high) // 2), term.low, term.high).coarse(most)
    return line, term.scale * 2**line.shift


def signed(value: int) -> Expression:
    """Return an integer as an expression, which has no negative literals.

    >>> signed(-3).sql()
    '0 - 3'
    """
    return ir.plus(ir.number(max(value, 0)), min(value, 0))


def half_step(shift: int) -> Fraction:
    """Return the largest error of rounding to multiples of 2^shift.

    >>> half_step(0), half_step(3)
    (Fraction(0, 1), Fraction(4, 1))
    """
    return Fraction(1 << shift >> 1)
