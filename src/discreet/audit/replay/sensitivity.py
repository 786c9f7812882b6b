"""Compare how much a value changed between two neighbouring tables with its declared sensitivity.

The distance is computed in integers and fractions, so an excess of one unit in the last place is an excess, and
not a rounding error of the auditor. Let d = v′ − v. The norms of `Sensitivity` (‖d‖₀, ‖d‖∞, ‖d‖₁, ‖d‖₂²) are
compared, with the sign that a monotonic value promises, or the one norm of a `Bound`. NaN equals NaN and an
infinity equals itself; the distance from one of them to any other value is infinite. A key that occurs in only one
of two values by key (`ExactByKey`) counts as 0 in the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from discreet.audit.attacks.outcomes import glimpse
from discreet.errors import Fix, ParameterError
from discreet.mechanisms import Sensitivity

Norm: TypeAlias = Literal["l1", "l2"]
Number: TypeAlias = int | Fraction | float
"""Exact, or an infinity."""


@dataclass(frozen=True)
class Bound:
    """The sensitivity that was declared to a primitive: how much one person changes its value, in one norm.

    >>> Bound(3, norm="l2").limit
    Fraction(9, 1)
    """

    sensitivity: Any
    norm: Norm = "l1"

    def __post_init__(self) -> None:
        if self.norm not in get_args(Norm):
            raise ParameterError('norm must be "l1" or "l2".', found=self.norm, fix=Fix("norm", "l2"))

    @property
    def limit(self) -> Number:
        """The largest norm allowed, squared for l2; -1 (nothing is allowed) if the sensitivity is not a number."""
        try:
            limit = Fraction(self.sensitivity.item() if hasattr(self.sensitivity, "item") else self.sensitivity)
        except OverflowError:  # an infinity
            return math.inf if self.sensitivity > 0 else -1
        except (TypeError, ValueError):
            return -1
        return limit if self.norm == "l1" or limit < 0 else limit**2


@dataclass(frozen=True)
class Excess:
    """A norm in which a value changed by more than declared, or a change in the wrong direction."""

    norm: str
    declared: Any
    measured: Any
    ratio: float

    def __str__(self) -> str:
        if self.norm == "monotonic":
            return f'goes {self.measured} although "{self.declared}" was declared'
        declared, measured = _shown(self.declared), _shown(self.measured)
        if declared == measured:
            measured = f"{declared} + {_shown(self.measured - Fraction(self.declared))}"
        return f"changes by {measured} ({self.norm}), but the declared sensitivity is {declared}"


def shape(value: Any) -> tuple[int, ...]:
    """Return the shape of a value, as numpy does: () for a single number.

    >>> shape([[1.5, 2.0]]), shape(7)
    ((1, 2), ())
    """
    found: tuple[int, ...] = _array(value).shape
    return found


def differences(before: Any, after: Any) -> list[Number]:
    """Return after − before for every entry that changed, exactly.

    >>> differences([1.0, math.nan, 2.0], [1.5, math.nan, math.inf])
    [Fraction(1, 2), inf]
    >>> differences({"Oslo": 9}, {"Oslo": 9, "Foula": 1})
    [1]
    """
    if isinstance(before, dict) and isinstance(after, dict):
        keys = list(before | after)
        before, after = ([counts.get(key, 0) for key in keys] for counts in (before, after))
    first, second = _array(before), _array(after)
    try:
        with np.errstate(all="ignore"):
            changed = np.not_equal(first, second)
    except Exception:  # some entries cannot be compared
        changed = np.ones(first.shape, bool)
    pairs = zip(first[changed].tolist(), second[changed].tolist(), strict=True)
    return [d for d in (_difference(a, b) for a, b in pairs) if d != 0]


def excesses(declared: Sensitivity | Bound, changes: list[Number], *, joins: bool) -> Iterator[Excess]:
    """Yield where the changes exceed the declared sensitivity; `joins` if a person joins, and does not leave.

    >>> [str(excess) for excess in excesses(Sensitivity(entries=1, each=5), [2, 2], joins=True)]
    ['changes by 2 (entries), but the declared sensitivity is 1']
    >>> [str(excess) for excess in excesses(Bound(1), [Fraction(3, 2)], joins=True)]
    ['changes by 1.5 (l1), but the declared sensitivity is 1']
    """
    sizes: list[Number] = [d if d > 0 else -d for d in changes]
    squares: list[Number] = [d**2 for d in sizes]
    if isinstance(declared, Bound):
        measured = _total(sizes) if declared.norm == "l1" else _total(squares)
        if changes and not measured <= declared.limit:
            yield _excess_of(declared, measured)
        return
    norms: dict[str, Number] = {
        "entries": len(sizes),
        "each": max(sizes, default=0),
        "l1": _total(sizes),
        "l2_squared": _total(squares),
    }
    for norm, measured in norms.items():
        limit = getattr(declared, norm)
        if limit is not None and measured > limit:
            ratio = _ratio(measured, limit)
            yield Excess(norm, limit, measured, math.sqrt(ratio) if norm == "l2_squared" else ratio)
    if declared.monotonic:
        sign = 1 if (declared.monotonic == "up") == joins else -1
        if any(sign * d < 0 for d in changes):
            yield Excess("monotonic", declared.monotonic, {"up": "down", "down": "up"}[declared.monotonic], 1.0)


def _excess_of(declared: Bound, measured: Number) -> Excess:
    ratio = _ratio(measured, declared.limit)
    if declared.norm == "l1":
        return Excess("l1", declared.sensitivity, measured, ratio)
    distance = math.sqrt(measured) if measured < 10**300 else math.inf
    return Excess("l2", declared.sensitivity, distance, math.sqrt(ratio))


def _difference(before: Any, after: Any) -> Number:
    first, second = exactly(before), exactly(after)
    if first is None or second is None:
        return 0 if glimpse(before) == glimpse(after) else math.inf  # not numbers: equal, or infinitely far apart
    if math.isnan(first) or math.isnan(second):
        return 0 if math.isnan(first) and math.isnan(second) else math.inf
    if math.isinf(first) or math.isinf(second):
        return 0 if first == second else math.inf if second > first else -math.inf
    exact = Fraction(second) - Fraction(first)
    return exact.numerator if exact.denominator == 1 else exact


def exactly(number: Any) -> Number | None:
    """Return a number of any type without rounding: a fraction, an infinity or NaN; None for other values.

    >>> exactly(Decimal("0.1")), exactly(np.longdouble(0.5)), exactly("0.1")
    (Fraction(1, 10), Fraction(1, 2), None)
    """
    if isinstance(number, int | float | Fraction):
        return number
    if not isinstance(number, Decimal | np.floating | np.integer | np.bool_):
        return None
    if isinstance(number, np.integer | np.bool_):
        return int(number)
    try:
        return Fraction(*map(int, number.as_integer_ratio()))
    except OverflowError:  # an infinity
        return math.inf if number > 0 else -math.inf
    except ValueError:
        return math.nan


def _array(value: Any) -> np.ndarray[Any, np.dtype[Any]]:
    try:
        array = np.asarray(value)
    except ValueError:  # ragged
        array = np.asarray(None)
    if array.dtype.kind in "biuf" and array.dtype.itemsize <= 8:
        return array
    return np.asarray(value, dtype=object)  # integers beyond int64, nulls, strings


def _total(sizes: list[Number]) -> Number:
    return math.inf if any(math.isinf(d) for d in sizes) else sum(sizes)


def _ratio(measured: Number, limit: Number) -> float:
    if limit <= 0 or math.isinf(measured):
        return math.inf
    quotient = Fraction(measured) / Fraction(limit)
    return float(quotient) if quotient < Fraction(10) ** 300 else math.inf


def _shown(number: Any) -> str:
    if isinstance(number, float) or (isinstance(number, Fraction) and abs(number) < 10**300):
        return f"{float(number):.6g}"
    return str(number)
