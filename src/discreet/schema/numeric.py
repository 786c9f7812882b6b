"""Define numeric columns: whole numbers, and numbers on a grid.

An Integer's code is v − lo; values between integers are rounded to the nearest, halves upwards. A Real's code is
⌊(v − lo)/step + ½⌋, computed in doubles. Its grid is refused if it has more than 2⁴⁰ levels or if a bound is more
than 2⁴⁹ steps from zero, so that the quotient is right to an eighth of a step. Values within a quarter step of a
bound take the bound's code before anything is divided, so no rounding leaves the domain. NaN is missing, and
±∞ is outside.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines import nodes, sql_writer
from discreet.errors import Fix, ParameterError
from discreet.schema import casts, notation, validation
from discreet.schema.casts import Family, Step
from discreet.schema.learned import Learned

if TYPE_CHECKING:
    from discreet.engines.nodes import Expression

_LEVELS = 2**40
_STEPS_FROM_ZERO = 2**49
_OPTIONAL = ("decimal", "thousands", "bounds_cost")  # written only where they are given, as before there were any


@validation.like("dp.Integer(0, 110)")
@dataclass(frozen=True, repr=False)
class Integer:
    """Whole numbers from lo to hi.

    Args:
        lo: The smallest value.
        hi: The largest value.
        outside: "clamp", by default, moves values outside to the nearer bound; "missing" makes them missing.
        missing: The value that stands for a missing one; NULL by default.
        decimal: The decimal mark in texts, such as ","; by default a point, or a comma if thousands is a point.
        thousands: The mark between groups of three digits in texts, such as "."; none by default.
        bounds_cost: What the bounds cost, if they were learned from the rows; set by sealing alone.

    >>> age = Integer(0, 110)
    >>> age.levels, age.code(65), age.values([0, 110])
    (111, 65, [0, 110])
    """

    lo: int
    hi: int
    outside: str = field(default="clamp", kw_only=True)
    missing: int | None = field(default=None, kw_only=True)
    decimal: str | None = field(default=None, kw_only=True)
    thousands: str | None = field(default=None, kw_only=True)
    bounds_cost: str | None = field(default=None, kw_only=True)

    __repr__ = validation.shown

    def __post_init__(self) -> None:
        notation.check_marks(self.decimal, self.thousands)
        for name in ("lo", "hi"):
            bound = casts.exactly(getattr(self, name), name)
            if bound.denominator != 1:
                raise ParameterError(
                    f"The bound {name} of an Integer is not a whole number.",
                    found=getattr(self, name),
                    fix=[Fix(name, round(bound)), "For other numbers declare a real column, with a step."],
                )
            if abs(bound) >= casts.BEYOND:
                raise ParameterError(
                    f"The bound {name} of an Integer is beyond 2^62.",
                    found=getattr(self, name),
                    fix="Take a narrower range.",
                )
            object.__setattr__(self, name, int(bound))
        _check_order(self.lo, self.hi)
        if self.levels > casts.BEYOND:
            raise ParameterError(
                "An integer column has at most 2^62 values.", found=self.levels, fix="Take a narrower range."
            )
        casts.check_outside(self.outside)
        if self.missing is not None:
            code = casts.missing_code(self.code(self.missing), self.missing, self.levels)
            object.__setattr__(self, "missing", self.lo + code)

    @property
    def kind(self) -> str:
        """The kind of the column in a question."""
        return "number"

    @property
    def levels(self) -> int:
        """The number of codes."""
        return self.hi - self.lo + 1

    @property
    def scale(self) -> Fraction:
        """The value of one code step."""
        return Fraction(1)

    @property
    def offset(self) -> Fraction:
        """The value of code 0."""
        return Fraction(self.lo)

    @property
    def filling(self) -> int | None:
        """The code of a missing value, if one was declared for it."""
        return None if self.missing is None else self.missing - self.lo

    def code(self, literal: Any) -> int | Fraction | None:
        """Return where a number lies on the axis of codes, in or out of bounds; None if it is not a number."""
        value = casts.number(literal)
        return None if value is None else casts.whole_or_exact(value - self.lo)

    def values(self, codes: NDArray[np.int64] | list[int]) -> list[int]:
        """Return the values that codes stand for."""
        return [self.lo + int(code) for code in codes]

    def steps(self, family: Family) -> tuple[Step, ...]:
        """Return the steps from a value of a source to its code."""
        return (*self.reading(family), self._place)

    def parsing(self, family: Family) -> tuple[Step, ...]:
        """Return the steps from a value of a source to a double, which is not rounded yet."""
        before, family = _plain(family, self.decimal, self.thousands)
        return (*before, partial(casts.as_double, family=family))

    @classmethod
    def learned(cls, **declared: Any) -> Learned:
        """Return an integer column whose bounds are learned from the rows when they are sealed.

        Args:
            declared: What is known: `lo`, `hi`; what it may cost: `spend`, "5%" by default, or `epsilon`; `tail`,
                `outside`, `decimal` and `thousands`, as of `discreet.schema.learned.Learned`.

        >>> Integer.learned(lo=0, spend="2%").price
        '2 % of the budget'
        """
        return Learned(cls, **declared)

    def reading(self, family: Family) -> tuple[Step, ...]:
        """Return the steps from a value of a source to the integer nearest to it; NULL if it is not a number."""
        before, family = _plain(family, self.decimal, self.thousands)
        if family == "integer":
            return before
        if family == "float":
            return (*before, casts.rounded)
        if max(abs(self.lo), abs(self.hi)) < casts.EXACT:
            return (*before, partial(casts.as_double, family=family), casts.rounded)
        return (*before, partial(casts.rounded_exactly, family=family))

    def encode(self, source: Expression, family: Family = "other") -> Expression:
        """Return the code of a source's value, as an expression."""
        return casts.taken(self.steps(family), source)

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        declared = {"lo": self.lo, "hi": self.hi, "outside": self.outside, "missing": self.missing}
        return {"type": "integer", **declared, **validation.given(self, *_OPTIONAL)}

    def place(self, value: Expression) -> Expression:
        """Return the code of a number that has been read."""
        return self._place(value)

    def limits(self) -> tuple[Expression, Expression]:
        """Return the bounds, to compare a number with that has been read."""
        return casts.literal(self.lo), casts.literal(self.hi)

    def _place(self, value: Expression) -> Expression:
        bounded = casts.clamped(value, casts.literal(self.lo), casts.literal(self.hi), self.outside)
        code = nodes.Sub(sql_writer.cast(bounded, "BIGINT"), casts.literal(self.lo))
        return casts.filled(code, self.filling)


@validation.like("dp.Real(0, 500_000, step=100)")
@dataclass(frozen=True, repr=False)
class Real:
    """Numbers from lo to hi, rounded to the grid lo, lo + step, lo + 2·step …

    A float means the decimal that it is written as: 0.1 is one tenth.

    Args:
        lo: The smallest value.
        hi: The largest value.
        step: The width of the grid, in the unit of the values.
        outside: "clamp", by default, moves values outside to the nearer bound; "missing" makes them missing.
        missing: The value that stands for a missing one; NULL by default.
        decimal: The decimal mark in texts, such as ","; by default a point, or a comma if thousands is a point.
        thousands: The mark between groups of three digits in texts, such as "."; none by default.
        bounds_cost: What the bounds cost, if they were learned from the rows; set by sealing alone.

    >>> income = Real(0, 500_000, step=100)
    >>> income.levels, income.code(250), income.values([0, 3])
    (5001, Fraction(5, 2), [0.0, 300.0])
    >>> Real(0, 1, step=0.1).scale
    Fraction(1, 10)
    """

    lo: Fraction
    hi: Fraction
    step: Fraction
    outside: str = "clamp"
    missing: Fraction | None = None
    decimal: str | None = None
    thousands: str | None = None
    bounds_cost: str | None = None

    __repr__ = validation.shown

    def __init__(
        self,
        lo: Any,
        hi: Any,
        step: Any,
        *,
        outside: str = "clamp",
        missing: Any = None,
        decimal: str | None = None,
        thousands: str | None = None,
        bounds_cost: str | None = None,
    ):
        for name, value in (("lo", lo), ("hi", hi), ("step", step)):
            object.__setattr__(self, name, casts.exactly(value, name))
        notation.check_marks(decimal, thousands)
        for name, mark in (("decimal", decimal), ("thousands", thousands), ("bounds_cost", bounds_cost)):
            object.__setattr__(self, name, mark)
        object.__setattr__(self, "outside", outside)
        _check_order(lo, hi)
        if self.step <= 0:
            raise ParameterError(
                "The step must be above 0. It is the width of the grid.", found=step, fix=Fix("step", 1)
            )
        if max(abs(self.lo), abs(self.hi)) > 10**300 or self.step < Fraction(1, 10**300):
            raise ParameterError("The bounds and the step must lie between 1e-300 and 1e300, in absolute value.")
        if self.step > self.hi - self.lo and self.hi > self.lo:
            raise ParameterError("The step is wider than the whole range.", found=step, fix=self._coarser(100))
        if self.levels > _LEVELS:
            raise ParameterError(
                f"The step makes {Decimal(self.levels):.1e} levels. The largest number of levels is 2^40.",
                found=step,
                fix=self._coarser(10**6),
            )
        if max(abs(self.lo), abs(self.hi)) / self.step > _STEPS_FROM_ZERO:
            raise ParameterError(
                "The step is finer than floating-point numbers are at this distance from zero.",
                found=step,
                fix=self._coarser(10**6),
            )
        casts.check_outside(outside)
        exact = None if missing is None else casts.number(missing)
        if missing is not None:
            casts.missing_code(self.code(missing), missing, self.levels)
        object.__setattr__(self, "missing", exact)

    @property
    def kind(self) -> str:
        """The kind of the column in a question."""
        return "number"

    @property
    def levels(self) -> int:
        """The number of codes."""
        return floor((self.hi - self.lo) / self.step + Fraction(1, 2)) + 1

    @property
    def scale(self) -> Fraction:
        """The value of one code step."""
        return self.step

    @property
    def offset(self) -> Fraction:
        """The value of code 0."""
        return self.lo

    @property
    def filling(self) -> int | None:
        """The code of a missing value, if one was declared for it."""
        if self.missing is None:
            return None
        return casts.missing_code(self.code(self.missing), self.missing, self.levels)

    def code(self, literal: Any) -> int | Fraction | None:
        """Return where a number lies on the axis of codes, in or out of bounds; None if it is not a number."""
        value = casts.number(literal)
        return None if value is None else casts.whole_or_exact((value - self.lo) / self.step)

    def values(self, codes: NDArray[np.int64] | list[int]) -> list[float]:
        """Return the values that codes stand for, each the float nearest to it."""
        return [float(self.lo + self.step * int(code)) for code in codes]

    def steps(self, family: Family) -> tuple[Step, ...]:
        """Return the steps from a value of a source to its code."""
        return (*self.parsing(family), self._place)

    @classmethod
    def learned(cls, **declared: Any) -> Learned:
        """Return a real column whose bounds are learned from the rows when they are sealed.

        Args:
            declared: What is known: `lo`, `hi`, `step`; what it may cost: `spend`, "5%" by default, or `epsilon`;
                `tail`, `outside`, `decimal` and `thousands`, as of `discreet.schema.learned.Learned`.

        >>> Real.learned(lo=0, step="0.01", epsilon="0.1").price
        'ε = 0.1'
        """
        return Learned(cls, **declared)

    def parsing(self, family: Family) -> tuple[Step, ...]:
        """Return the steps from a value of a source to a double; NULL or NaN if it is not a number."""
        before, family = _plain(family, self.decimal, self.thousands)
        return (*before, partial(casts.as_double, family=family))

    def encode(self, source: Expression, family: Family = "other") -> Expression:
        """Return the code of a source's value, as an expression."""
        return casts.taken(self.steps(family), source)

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        written = {name: str(getattr(self, name)) for name in ("lo", "hi", "step")}
        missing = None if self.missing is None else str(self.missing)
        declared = {**written, "outside": self.outside, "missing": missing}
        return {"type": "real", **declared, **validation.given(self, *_OPTIONAL)}

    def place(self, value: Expression) -> Expression:
        """Return the code of a number that has been read."""
        return self._place(value)

    def limits(self) -> tuple[Expression, Expression]:
        """Return the bounds, to compare a number with that has been read."""
        return casts.literal(float(self.lo)), casts.literal(float(self.hi))

    def _coarser(self, levels: int) -> list[Fix | str]:
        """Return the fix for a step that does not fit: about this many levels, and right as a float."""
        width = self.hi - self.lo
        farthest = max(abs(self.lo), abs(self.hi)) / _STEPS_FROM_ZERO
        step = 10.0 ** ceil(log10(max(width / levels, farthest, Fraction(1, 10**300))))
        return [Fix("step", step), _FINE] if step <= width else [_FINE]

    def _place(self, value: Expression) -> Expression:
        top, quarter = self.levels - 1, self.step / 4
        from_lo = nodes.Sub(value, casts.literal(float(self.lo)))
        steps = nodes.Divide(from_lo, casts.literal(float(self.step)))
        nearest = nodes.Floor(nodes.Add(steps, casts.literal(0.5)))
        inside = sql_writer.cast(nearest, "BIGINT", gently=True, of="float")
        low = nodes.Compare("<=", value, casts.literal(float(self.lo + quarter)))
        high = nodes.Compare(">=", value, casts.literal(float(self.lo + top * self.step - quarter)))
        branches: list[nodes.Branch] = [(sql_writer.function("IS_NAN", value), nodes.Null())]
        if self.outside == "missing":
            below = nodes.Compare("<", value, casts.literal(float(self.lo)))
            above = nodes.Compare(">", value, casts.literal(float(self.hi)))
            branches += [(below, nodes.Null()), (above, nodes.Null())]
        code = casts.choose([*branches, (low, casts.literal(0)), (high, casts.literal(top))], inside)
        return casts.filled(code, self.filling)


_FINE = (
    "Take a wider step: the noise is coarser than a fine grid. For large whole numbers declare an integer column."
)


def _plain(family: Family, decimal: str | None, thousands: str | None) -> tuple[tuple[Step, ...], Family]:
    """Return the steps that rewrite texts in a declared notation, and the family of what they give."""
    if (decimal is None and thousands is None) or not notation.is_text(family):
        return (), family
    written = partial(notation.number, decimal=decimal, thousands=thousands)
    return (partial(notation.as_text, family=family), written), "text"


def _check_order(lo: Any, hi: Any) -> None:
    if casts.exactly(lo, "lo") > casts.exactly(hi, "hi"):
        raise ParameterError(
            f"The lower bound {lo} is above the upper bound {hi}.", fix="Write the smaller bound first."
        )
