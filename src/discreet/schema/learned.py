"""Declare a numeric column whose bounds are learned from the rows when they are sealed, for a part of the budget.

The values of such a column fall into bins between powers of two, on both sides of zero:

    … [−4u, −2u) [−2u, −u)   (−u, u)   [u, 2u) [2u, 4u) …

with the unit u = 1 for whole numbers and u = step for others. The last bins are open, so that every number has a
bin. The bins are fixed before any row is read. `discreet.sealing.learning` releases how much weight lies in each,
with noise; `chosen` below turns these noisy weights into bounds, and is post-processing. It is total: whatever the
noise is, it returns bounds that can be sealed. Theory: docs/theory/learned-bounds.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, log10
from typing import TYPE_CHECKING, Any

from discreet.engines import nodes, sql_writer
from discreet.errors import Fix, ParameterError
from discreet.rational import rational
from discreet.schema import casts, notation
from discreet.schema.casts import Family, Step

if TYPE_CHECKING:
    from discreet.engines.nodes import Expression
    from discreet.schema.numeric import Integer, Real

SHARE = "5%"
"""The share of the budget that learning the bounds of one column costs by default."""

_WHOLE = 53  # bins on each side for whole numbers: a double holds every integer below 2^53
_GRID = 38  # bins on each side for multiples of a step: such bounds have at most 2^39 + 1 levels
_FREE = 60  # bins on each side if no step is given, from 2^-20 to 2^40
_SMALLEST = Fraction(1, 2**20)
_LEVELS = 2**14  # at least so many levels has a grid that is chosen with the bounds


@dataclass(frozen=True)
class Learned:
    """A numeric column whose bounds are learned: made by `Integer.learned` and `Real.learned`.

    Args:
        make: What the column becomes with bounds: `Integer` or `Real`.
        lo: The lower bound, if it is known.
        hi: The upper bound, if it is known.
        step: The width of the grid of a real column; chosen with the bounds by default.
        epsilon: The ε that learning the bounds guarantees by itself.
        spend: The share of the budget that it costs instead; 5% by default.
        tail: The share of the rows that may lie outside on each side; 0.1 % by default.
        outside: "clamp", by default, moves values outside to the nearer bound; "missing" makes them missing.
        decimal: The decimal mark in texts; a point by default.
        thousands: The mark between groups of three digits in texts; none by default.

    >>> from discreet.schema import Real
    >>> income = Real.learned(lo=0, step="0.01")
    >>> income.bins, income.bin_of(-3), income.bin_of(0.25)
    (77, -9, 5)
    """

    make: type[Integer] | type[Real]
    lo: Fraction | None = None
    hi: Fraction | None = None
    step: Fraction | None = None
    epsilon: Fraction | None = None
    spend: str | None = None
    tail: Fraction = Fraction(1, 1000)
    outside: str = "clamp"
    decimal: str | None = None
    thousands: str | None = None

    def __post_init__(self) -> None:
        for name in ("lo", "hi", "step"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else casts.exactly(value, name))
        object.__setattr__(self, "tail", rational(self.tail, "tail"))
        if self.epsilon is not None and self.spend is not None:
            raise ParameterError(
                "Bounds are learned for an epsilon or for a share of the budget, not both.",
                fix=[Fix("epsilon", None), Fix("spend", None)],
            )
        if self.epsilon is None and self.spend is None:
            object.__setattr__(self, "spend", SHARE)
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", rational(self.epsilon, "epsilon"))
        if not 0 <= self.tail < Fraction(1, 2):
            raise ParameterError(
                "The tail is a share of the rows below one half.", found=self.tail, fix=Fix("tail", "0.001")
            )
        if self.lo is not None and self.hi is not None:
            raise ParameterError(
                "Both bounds are known, so there is nothing to learn.", fix=[Fix("lo", None), Fix("hi", None)]
            )
        if self.step is not None and self.step <= 0:
            raise ParameterError(
                "The step must be above 0. It is the width of the grid.", found=self.step, fix=Fix("step", 1)
            )
        farthest = self.unit * 2 ** (self.most - 1)
        if any(bound is not None and abs(bound) > farthest for bound in (self.lo, self.hi)):
            raise ParameterError("The known bound is too far from zero for this step.", fix=Fix("step", 1))
        notation.check_marks(self.decimal, self.thousands)
        casts.check_outside(self.outside)
        self.resolved([0] * self.bins, 0, "")  # this refuses bounds that could not be sealed

    @property
    def kind(self) -> str:
        """The kind of the column in a question."""
        return "number"

    @property
    def whole(self) -> bool:
        """Whether its values are whole numbers."""
        return self.make.__name__ == "Integer"

    @property
    def unit(self) -> Fraction:
        """Where the first bin beside zero begins."""
        return Fraction(1) if self.whole else self.step or _SMALLEST

    @property
    def most(self) -> int:
        """The number of bins on each side of zero."""
        return _WHOLE if self.whole else _GRID if self.step else _FREE

    @property
    def bins(self) -> int:
        """The number of bins."""
        return 2 * self.most + 1

    @property
    def price(self) -> str:
        """What learning costs, in words."""
        if self.epsilon is not None:
            return f"ε = {float(self.epsilon):g}"
        return f"{str(self.spend).strip('% ')} % of the budget"

    def parsing(self, family: Family) -> tuple[Step, ...]:
        """Return the steps from a value of a source to a double; NULL or NaN if it is not a number."""
        return self.column(0, 1, "").parsing(family)

    def steps(self, family: Family) -> tuple[Step, ...]:
        """Return the steps from a value of a source to what is kept until the bounds are known."""
        return (*self.parsing(family), _number)

    def bin_of(self, value: float) -> int:
        """Return the bin of a number: 0 around zero, negative below it."""
        size, place = abs(value), 0
        while place < self.most and size >= float(self.unit * 2**place):
            place += 1
        return -place if value < 0 else place

    def bin(self, value: Expression) -> Expression:
        """Return the bin of a number that is kept, as an expression. It looks at that number alone."""
        size = nodes.Abs(value)
        tests = [nodes.Compare("<", size, casts.literal(float(self.unit * 2**k))) for k in range(self.most)]

        def side(sign: int) -> Expression:
            last = casts.literal(sign * self.most)
            return casts.choose([(test, casts.literal(sign * k)) for k, test in enumerate(tests)], last)

        return casts.choose([(nodes.Compare("<", value, casts.literal(0.0)), side(-1))], side(1))

    def place(self, value: Expression, column: Integer | Real) -> Expression:
        """Return the code of a number that is kept, as an expression."""
        return column.place(casts.rounded(value) if self.whole else value)

    def resolved(
        self, noisy: Sequence[int], threshold: int, price: str, near: int | None = None
    ) -> Integer | Real:
        """Return the column with bounds from the noisy weights of its bins, from the lowest bin to the highest.

        Args:
            noisy: The noisy weights.
            threshold: What noise alone does not exceed, with high probability: a bin counts if it is above.
            price: What was charged, in words, for the metadata.
            near: What the noise of one bin rarely exceeds: a bin beside one that counts is above it, and counts as
                well. By default the same as `threshold`.

        >>> from discreet.schema import Integer
        >>> age = Integer.learned()
        >>> weights = [0] * age.bins
        >>> weights[53 + 6] = weights[53 + 7] = 5000  # between 32 and 64, and between 64 and 128
        >>> age.resolved(weights, 900, "5 % of the budget")
        Integer(lo=32, hi=128, outside='clamp', missing=None, bounds_cost='5 % of the budget')
        """
        bins = chosen(noisy, threshold, self.tail, near)
        if bins is None:
            lo = self.lo if self.lo is not None else Fraction(0) if self.hi is None else self.hi - self.unit
            return self.column(lo, self.hi if self.hi is not None else lo + self.unit, f"{price}; none were found")
        low, high = (index - self.most for index in bins)
        lo = self.lo if self.lo is not None else self._edge(low, upper=False)
        hi = self.hi if self.hi is not None else self._edge(high, upper=True)
        if lo >= hi:  # the known bound lies beyond what was found
            lo, hi = (lo, lo + self.unit) if self.lo is not None else (hi - self.unit, hi)
        return self.column(lo, hi, price)

    def _edge(self, place: int, *, upper: bool) -> Fraction:
        """Return the lower or the upper end of a bin."""
        if place == 0:
            return self.unit if upper else Fraction(0)
        outer = upper is (place > 0)
        size = self.unit * Fraction(2 ** (abs(place) - (0 if outer else 1)))
        return size if place > 0 else -size

    def column(self, lo: Fraction | int, hi: Fraction | int, price: str) -> Integer | Real:
        """Return the column with bounds."""
        declared: dict[str, Any] = {
            "outside": self.outside,
            "decimal": self.decimal,
            "thousands": self.thousands,
            "bounds_cost": price or None,
        }
        if self.whole:
            return self.make(int(lo), int(hi), **declared)
        step = self.step or Fraction(10) ** floor(log10(Fraction(hi - lo) / _LEVELS))
        return self.make(lo, hi, step=step, **declared)  # type: ignore[call-arg, arg-type]


def chosen(
    noisy: Sequence[int], threshold: int, tail: Fraction, near: int | None = None
) -> tuple[int, int] | None:
    """Return the first and the last bin to keep; None if no bin is above the threshold.

    A bin beside one that counts needs to be above `near` only: a mistake there makes the bounds twice as wide,
    while a mistake far away would make them absurd.

    Args:
        noisy: The noisy weights of the bins.
        threshold: What noise alone exceeds in no bin.
        tail: The share of the weight that may be left out on each side.
        near: What the noise of one bin rarely exceeds; the same as `threshold` by default.

    From each end, bins are left out while together they hold at most the share `tail` of what all bins above the
    threshold hold.

    >>> chosen([0, 3, 900, 5000, 4000, 2, 7], 100, Fraction(1, 1000))
    (2, 4)
    >>> chosen([0, 3, 900, 5000, 4000, 2, 7], 100, Fraction(1, 10))
    (3, 4)
    """
    kept = [i for i, weight in enumerate(noisy) if weight > threshold]
    if not kept:
        return None
    low, high, near = kept[0], kept[-1], threshold if near is None else near
    while low > 0 and noisy[low - 1] > near:
        low -= 1
    while high < len(noisy) - 1 and noisy[high + 1] > near:
        high += 1
    kept = [*range(low, kept[0]), *kept, *range(kept[-1] + 1, high + 1)]
    allowed = tail * sum(noisy[i] for i in kept)
    ends = []
    for order in (kept, kept[::-1]):
        left_out = 0
        for i in order:
            left_out += noisy[i]
            if left_out > allowed:
                ends.append(i)
                break
    return ends[0], ends[1]


def _number(value: Expression) -> Expression:
    """Return NULL instead of NaN."""
    return casts.choose([(sql_writer.function("IS_NAN", value), casts.nothing("DOUBLE"))], value)
