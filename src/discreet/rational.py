"""Parse what people write into exact rationals.

Scales, sensitivities and budgets are exact fractions. Integers, fractions and decimal strings are taken at the
value that they state. No float equals 1/10, so for a float there are two readings:

    decimal   the shortest decimal that is this float: 0.1 is 1/10. For what people write: epsilon, delta, within.
    exact     the value that the float really has: 0.1 is 3602879701896397/36028797018963968. For scales of noise,
              and for what was computed.

Either is safe, because the guarantee is computed from the same fraction as the noise. The two differ by less than
one part in 10¹⁵.
"""

from __future__ import annotations

import builtins
import math
import sys
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import SupportsIndex, TypeAlias, overload

from discreet.errors import Fix, InexactFloat, ParameterError

Rational: TypeAlias = int | Fraction | Decimal | str | float | SupportsIndex
"""The types that are accepted as an exact number."""

_LONGEST = 4000  # characters of a number
_EXPONENT = 4  # digits of its exponent


def rational(value: Rational, name: str, *, floats: str = "decimal", stacklevel: int = 3) -> Fraction:
    """Return `value` as the fraction it is.

    Args:
        value: An integer, a Fraction, a Decimal, a decimal string, or a float.
        name: The name of the parameter, for messages.
        floats: "decimal" reads a float as the shortest decimal that is this float, with a note for people who type
            it, and is the default. "exact" takes its exact value in silence, and "warn" with a warning.
        stacklevel: How many calls above the warning its cause is; 3 by default.

    >>> rational("0.1", "scale"), rational(3, "scale"), rational(0.1, "epsilon")
    (Fraction(1, 10), Fraction(3, 1), Fraction(1, 10))
    """
    if isinstance(value, bool):
        raise ParameterError(f"{name} must be a number.", found=value)
    if isinstance(value, Fraction):
        return value
    if isinstance(value, float | Decimal) and not math.isfinite(value):
        raise ParameterError(f"{name} must be finite.", found=value)
    if isinstance(value, Decimal):
        return Fraction(value)
    if isinstance(value, float):
        exact = Fraction(value)
        if floats == "decimal" and exact.denominator != 1:
            return _decimal(value, name)
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
            f"{name} must be an integer, a Fraction or a decimal string.", found=type(value).__name__
        ) from None


_noted: set[str] = set()


def _decimal(value: float, name: str) -> Fraction:
    """Return the shortest decimal that is this float. Tell it once, where a person types at a prompt."""
    text = float.__repr__(value)  # not that of a subclass, such as numpy's
    if name not in _noted and hasattr(builtins, "__IPYTHON__") | hasattr(sys, "ps1"):
        _noted.add(name)
        print(f"Note: {name}={text} is read as the decimal {text}, exactly.")
    return Fraction(text)


def _parsed(text: str, name: str) -> Fraction:
    _, _, exponent = text.lower().partition("e")
    if len(text) > _LONGEST or len(exponent.lstrip("+-0")) > _EXPONENT:  # such a number could fill the memory
        raise ParameterError(
            f"{name} has more than {_LONGEST:,} characters, or more than {_EXPONENT} digits in its exponent."
        )
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ParameterError(
            f"{name} is not a number.",
            found=repr(text),
            fix='Write a decimal or a fraction, such as "0.1" or "1/10".',
        ) from None


def positive(value: Rational, name: str, *, floats: str = "decimal", stacklevel: int = 4) -> Fraction:
    """Return `value` as a fraction above zero. The parameters are those of `rational`.

    >>> positive("2.5", "scale")
    Fraction(5, 2)
    """
    exact = rational(value, name, floats=floats, stacklevel=stacklevel)
    if exact <= 0:
        raise ParameterError(f"{name} must be above 0.", found=shown(value))
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
        raise ParameterError(f"{name} must be a whole number, {least} or more.", found=shown(value))
    return int(exact)


def root_below(square: Fraction) -> Fraction:
    """Return the root, rounded down to about four digits.

    >>> root_below(Fraction(2))
    Fraction(707, 500)
    """
    grid = 1000
    while square * grid**2 < 10**6:
        grid *= 10
    return Fraction(math.isqrt(int(square * grid**2)), grid)


def shown(value: object) -> str:
    """Return `value` for a message. Python does not print integers of more than a few thousand digits.

    >>> shown("abc"), shown(10**5000)
    ("'abc'", 'a number of thousands of digits')
    """
    try:
        return repr(value)
    except ValueError:
        return "a number of thousands of digits"


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
        example: Rational | None = None,
    ):
        """Take the bounds of the field.

        Args:
            above: The value must be above this; no such bound by default.
            least: The smallest value; 0 by default.
            most: The largest value; unbounded by default.
            default: The value of a field that is not given; the field is required by default.
            floats: How a float is read, as for `rational`; "exact" by default.
            example: A value that works. The error for a missing value shows it as the fix.
        """
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
            if self.default is None and self.example is not None:
                return _ABSENT
            if self.default is None:
                raise AttributeError(self.name)  # so that dataclasses see no default
            return Fraction(self.default)
        value: Fraction = record.__dict__[self.name]
        return value

    def __set__(self, record: object, value: Rational) -> None:
        if value is _ABSENT:
            raise ParameterError(f"{self.name} is missing.", fix=Fix(self.name, self.example))
        exact = rational(value, self.name, floats=self.floats, stacklevel=4)
        if self.above is not None and exact <= self.above:
            raise ParameterError(f"{self.name} must be above {self.above}.", found=shown(value))
        if exact < self.least:
            raise ParameterError(f"{self.name} must not be below {self.least}.", found=shown(value))
        if self.most is not None and exact > self.most:
            raise ParameterError(f"{self.name} must not be above {self.most}.", found=shown(value))
        record.__dict__[self.name] = exact
