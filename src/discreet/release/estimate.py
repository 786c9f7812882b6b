"""Hold numbers with their intervals: one aggregate of a release, a number per group.

An estimate converts numbers to Python's floats, which do not carry the mark of test bits; the estimate keeps the
mark for them. An estimate made inside `noise.deterministic` is marked whatever its numbers are, unless `test_bits`
is given.

An estimate with `bounds` knows what is possible at all, such as the declared bounds of an average. Where its
interval is as wide, nothing was learnt: the number is unknown, and is None in every face.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import Fix, ParameterError
from discreet.noise.testing import test_bits as bits_in_use

Numbers: TypeAlias = Sequence[float | None] | NDArray[Any]
AXES = ("number", "date", "datetime")
BASES = ("noise", "noise and model", "unchecked", "normal approximation", "population")
CONFIDENCE = Fraction(95, 100)
_ADDED_UP = ("count", "count_of", "persons", "sum")


@dataclass(frozen=True)
class Estimate:
    """One aggregate: a number per group with its interval; None where there is no answer, or where it is unknown.

    >>> counts = Estimate("count(*)", values=[1042.0], low=[1026], high=[1058])
    >>> counts.margins
    (16.0,)
    >>> counts.value, counts.margin, counts.interval
    (1042.0, 16.0, (1026.0, 1058.0))
    >>> means = Estimate("avg(x)", values=[41.2, 50], low=[38, 0], high=[44, 100], kind="avg", bounds=(0, 100))
    >>> means.unknown, means.values
    ((False, True), (41.2, None))
    """

    name: str
    values: tuple[float | None, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    note: str = ""
    kind: str = "count"
    axis: str = "number"
    test_bits: bool = False
    confidence: Fraction = CONFIDENCE
    basis: str = "noise"
    bounds: tuple[float, float] | None = None

    def __init__(
        self,
        name: str,
        values: Numbers,
        low: Numbers,
        high: Numbers,
        note: str = "",
        kind: str = "count",
        axis: str = "number",
        test_bits: bool | None = None,
        confidence: Fraction = CONFIDENCE,
        basis: str = "noise",
        bounds: tuple[float, float] | None = None,
    ):
        """Take lists or arrays.

        Args:
            name: The text of the aggregate, or the name that the question gave it.
            values: The numbers, one per group; None or NaN where there is no answer.
            low: The lower ends of their intervals.
            high: The upper ends of their intervals.
            note: What a reader should know about these numbers; nothing by default.
            kind: The kind of the question's aggregate; "count" by default.
            axis: What the numbers count: "number" by default, "date" for days since 1970-01-01, "datetime" for
                microseconds.
            test_bits: Whether the noise came from test bits; read off the numbers by default.
            confidence: The probability with which each interval holds by itself; 0.95 by default. A release sets
                it to its own.
            basis: What the intervals cover: "noise" by default, "noise and model", "unchecked", "normal
                approximation", or "population": noise, and the choice of the sample.
            bounds: The least and the largest number that is possible at all; not known by default.
        """
        given = {"values": values, "low": low, "high": high}
        if test_bits is None:
            test_bits = bits_in_use() is not None or any(map(noise.is_test_noise, given.values()))
        converted = {end: _numbers(numbers) for end, numbers in given.items()}
        texts = {"name": name, "note": note, "kind": kind, "axis": axis, "basis": basis}
        others = {"test_bits": test_bits, "confidence": Fraction(confidence), "bounds": _pair(bounds)}
        for field_, content in {**texts, **converted, **others}.items():
            object.__setattr__(self, field_, content)
        if not len(self.values) == len(self.low) == len(self.high):
            sizes = f"{len(self.values)} values, {len(self.low)} low, {len(self.high)} high"
            raise ParameterError(f"Every value of {self.name} needs an interval.", found=sizes)
        if any(self.unknown):
            known = zip(self.values, self.unknown, strict=True)
            object.__setattr__(self, "values", tuple(None if hidden else value for value, hidden in known))
        _expect(self.axis, "axis", AXES)
        _expect(self.basis, "basis", BASES)

    @property
    def unknown(self) -> tuple[bool, ...]:
        """Whether the interval of each number is all that is possible, so that nothing is known about it."""
        if self.bounds is None or self.bounds[0] == self.bounds[1]:
            return (False,) * len(self.low)
        least, most = self.bounds
        pairs = zip(self.low, self.high, strict=True)
        return tuple(low is not None and high is not None and low <= least and most <= high for low, high in pairs)

    @property
    def margins(self) -> tuple[float | None, ...]:
        """The margin of error of each number: half of the width of its interval."""
        pairs = zip(self.low, self.high, strict=True)
        return tuple(None if low is None or high is None else high / 2 - low / 2 for low, high in pairs)

    @property
    def error(self) -> tuple[float | None, ...]:
        """The margins, under their other name."""
        return self.margins

    @property
    def value(self) -> float | None:
        """The number, of an estimate that has only one."""
        return self._single(self.values)

    @property
    def margin(self) -> float | None:
        """The margin of error of the only number."""
        return self._single(self.margins)

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """The ends of the interval of the only number."""
        return self._single(self.low), self._single(self.high)

    @property
    def added_up(self) -> bool:
        """Whether it is a count or a sum: then zero is the natural start of an axis."""
        return self.kind in _ADDED_UP

    def _single(self, numbers: Sequence[float | None]) -> float | None:
        if len(self.values) != 1:
            raise ParameterError(
                f"{self.name} has one number per group, not a single one.",
                found=f"{len(self.values):,} groups",
                fix="Take .values, .low and .high.",
            )
        return numbers[0]


def _pair(bounds: tuple[float, float] | None) -> tuple[float, float] | None:
    if bounds is None:
        return None
    least, most = (float(end) for end in bounds)
    if not least <= most:
        raise ParameterError(
            "The bounds of an estimate are its least and its largest number.",
            found=f"{least} and {most}",
            fix=Fix("bounds", (0, 100)),
        )
    return least, most


def _expect(value: str, name: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ParameterError(
            f"The {name} of an estimate must be one of {', '.join(allowed)}.",
            found=value,
            fix=Fix(name, allowed[0]),
        )


def _numbers(numbers: Numbers) -> tuple[float | None, ...]:
    """Return Python's floats, without the mark of test bits; NaN becomes None."""
    array = np.asarray(numbers, np.float64)  # None becomes NaN
    if not np.isnan(array).any():
        return tuple(array.tolist())
    return tuple(None if number != number else number for number in array.tolist())
