"""One aggregate of a release: a number per group, and the ends of its interval.

Numbers become Python's floats here, and lose the mark of test bits; the answer keeps it for them. An answer made
inside `noise.deterministic` is marked whatever its numbers are, unless it is told otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import ParameterError
from discreet.noise.testing import test_bits as bits_in_use

if TYPE_CHECKING:
    from discreet.query.question import Aggregate

Numbers: TypeAlias = Sequence[float | None] | NDArray[Any]
AXES = ("number", "date", "datetime")
_ADDED_UP = ("count", "count_of", "persons", "sum")


@dataclass(frozen=True)
class Estimate:
    """One aggregate: a number per group with its interval; None where there is no answer.

    `kind` is that of the question's aggregate, and `axis` what the number counts: "date" is days since 1970-01-01,
    "datetime" microseconds.

    >>> Estimate("count(*)", values=[1042.0], low=[1026], high=[1058]).error
    (16.0,)
    """

    name: str
    values: tuple[float | None, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    note: str = ""
    kind: str = "count"
    axis: str = "number"
    test_bits: bool = False

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
    ):
        """Take lists or arrays, and their mark unless `test_bits` is said."""
        given = {"values": values, "low": low, "high": high}
        if test_bits is None:
            test_bits = bits_in_use() is not None or any(map(noise.is_test_noise, given.values()))
        converted = {end: _numbers(numbers) for end, numbers in given.items()}
        texts = {"name": name, "note": note, "kind": kind, "axis": axis}
        for field_, content in {**texts, **converted, "test_bits": test_bits}.items():
            object.__setattr__(self, field_, content)
        if not len(self.values) == len(self.low) == len(self.high):
            sizes = f"{len(self.values)} values, {len(self.low)} low, {len(self.high)} high"
            raise ParameterError(f"{self.name}: every value has an interval, not {sizes}.")
        if self.axis not in AXES:
            raise ParameterError(f"{self.name}: an axis is one of {', '.join(AXES)}, not {self.axis!r}.")

    @property
    def error(self) -> tuple[float | None, ...]:
        """Half of the width of each interval."""
        pairs = zip(self.low, self.high, strict=True)
        return tuple(None if low is None or high is None else high / 2 - low / 2 for low, high in pairs)

    @property
    def added_up(self) -> bool:
        """Whether it is a count or a sum, of which zero is none."""
        return self.kind in _ADDED_UP


def axis_of(aggregate: Aggregate) -> str:
    """Return what the numbers of an aggregate count: averages and quantiles of dates are dates."""
    kind = "number" if aggregate.term is None else aggregate.term.kind
    return kind if kind in AXES and aggregate.kind in ("avg", "quantile") else "number"


def _numbers(numbers: Numbers) -> tuple[float | None, ...]:
    """Python's floats: noise has lost its mark here, and what is no number is no answer."""
    array = np.asarray(numbers, np.float64)  # None becomes NaN
    if not np.isnan(array).any():
        return tuple(array.tolist())
    return tuple(None if number != number else number for number in array.tolist())
