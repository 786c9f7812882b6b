"""Exact rationals from what people write.

Scales, sensitivities and budgets are exact fractions: `1/10` has no float, so a float can only be taken at the
value it really has. Integers, fractions and decimal strings mean what they say.
"""

from __future__ import annotations

import math
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import SupportsIndex, TypeAlias, overload

from discreet.errors import InexactFloat, ParameterError

Rational: TypeAlias = int | Fraction | Decimal | str | float | SupportsIndex
"""What is accepted where an exact number is wanted."""

_LONGEST = 4000  # characters of a number


def rational(value: Rational, name: str, *, floats: str = "warn", stacklevel: int = 3) -> Fraction:
    """Return `value` as the fraction it is. `floats="exact"` takes floats at their exact value in silence.

    >>> rational("0.1", "scale"), rational(3, "scale")
    (Fraction(1, 10), Fraction(3, 1))
    """
    if isinstance(value, bool):
        raise ParameterError(f"{name} must be a number, not {value!r}.")
    if isinstance(value, Fraction):
        return value
    if isinstance(value, float | Decimal) and not math.isfinite(value):
        raise ParameterError(f"{name} must be finite, not {value!r}.")
    if isinstance(value, Decimal):
        return Fraction(value)
    if isinstance(value, float):
        exact = Fraction(value)
        if floats == "warn" and exact.denominator != 1:
            warnings.warn(
                f"{name}={value!r} is the float {exact}. Write {name}={str(value)!r} for the decimal.",
                InexactFloat,
                stacklevel=stacklevel,
            )
        return exact
    if isinstance(value, str):
        return _parsed(value, name)
    try:
        return Fraction(value.__index__())
    except (AttributeError, TypeError):
        raise ParameterError(
            f"{name} must be an integer, a Fraction or a decimal string, not {type(value).__name__}."
        ) from None


def _parsed(text: str, name: str) -> Fraction:
    _, _, exponent = text.lower().partition("e")
    if len(text) > _LONGEST or len(exponent.lstrip("+-0")) > 4:  # would fill the memory, not the mind
        raise ParameterError(f"{name} is written with more digits than a number here may have.")
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ParameterError(
            f'{name}={text!r} is no number. Write a decimal or a fraction, such as "0.1" or "1/10".'
        ) from None


def positive(value: Rational, name: str, *, floats: str = "warn", stacklevel: int = 4) -> Fraction:
    """Return `value` as a fraction above zero.

    >>> positive("2.5", "scale")
    Fraction(5, 2)
    """
    exact = rational(value, name, floats=floats, stacklevel=stacklevel)
    if exact <= 0:
        raise ParameterError(f"{name} must be above 0, not {value!r}.")
    return exact


def whole(value: Rational, name: str, *, least: int = 1) -> int:
    """Return `value` as an integer, `least` or more.

    >>> whole(3, "positives")
    3
    """
    if type(value) is int and value >= least:
        return value
    exact = rational(value, name, floats="exact")
    if exact.denominator != 1 or exact < least:
        raise ParameterError(f"{name} must be a whole number, {least} or more, not {value!r}.")
    return int(exact)


class _Absent(Fraction):
    """Stands for a number that was not given."""

    def __repr__(self) -> str:
        return "<required>"


_ABSENT = _Absent(-1)


class Exactly:
    """A field that takes any rational and keeps the exact fraction, within bounds.

    Dataclasses let a descriptor convert what `__init__` is given; frozen ones set it once.
    """

    def __init__(
        self,
        *,
        above: int | None = None,
        least: int = 0,
        most: int | None = None,
        default: int | None = None,
        floats: str = "exact",
        example: str = "",
    ):
        """`example` shows how to give it: whoever leaves it out is told so, in place of Python's own words."""
        self.above, self.least, self.most, self.default, self.floats = above, least, most, default, floats
        self.example = example

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, record: None, owner: type) -> Fraction: ...
    @overload
    def __get__(self, record: object, owner: type) -> Fraction: ...
    def __get__(self, record: object | None, owner: type) -> Fraction:
        if record is None:
            if self.default is None and self.example:
                return _ABSENT
            if self.default is None:
                raise AttributeError(self.name)  # so that dataclasses see no default
            return Fraction(self.default)
        value: Fraction = record.__dict__[self.name]
        return value

    def __set__(self, record: object, value: Rational) -> None:
        if value is _ABSENT:
            raise ParameterError(f"{self.name} is missing. Write {self.example}.")
        exact = rational(value, self.name, floats=self.floats, stacklevel=4)
        if self.above is not None and exact <= self.above:
            raise ParameterError(f"{self.name} must be above {self.above}, not {value!r}.")
        if exact < self.least:
            raise ParameterError(f"{self.name} must not be below {self.least}, got {value!r}.")
        if self.most is not None and exact > self.most:
            raise ParameterError(f"{self.name} must not be above {self.most}, got {value!r}.")
        record.__dict__[self.name] = exact
