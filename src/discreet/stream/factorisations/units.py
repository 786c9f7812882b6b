"""Bound what one person or one event can change in a strategy.

An event falls into one tick j and adds at most `each` to its count; it moves the strategy's vector by at most
each·S_j·C_j, a multiple of column j, whose norm is at most each·S (`toeplitz`). A person with k events moves it by
a sum of k columns. They may be the same column, so the norm is k·S, and not less, unless events keep apart.

**Events apart.** If any two events of a person are at least b ticks apart, the columns differ. C has positive,
log-convex coefficients, so for two columns with lag l, of which the later one has m ticks left,

    ⟨C_i, C_j⟩/(‖C_i‖·‖C_j‖) = (Σ_{k<m} c_k·c_{k+l}/Σ_{k<m} c_k²)·(‖c‖_m/‖c‖_{m+l})

rises with m: the first factor is an average of ratios c_{k+l}/c_k, which do not fall with k; in the second,
‖c‖²_{m+l}/‖c‖²_m = 1 + Σ_{m≤k<m+l} c_k²/Σ_{k<m} c_k² falls. So the largest is g(l), at m = n − l, it falls with l,
and k events change the vector by at most S·√f(k), with

    f(k) = k + 2·Σ_{l=1}^{k−1} (k − l)·min(1, g(l·b) + r),

where r covers what rounding adds to a product of columns. f is convex and f(0) = 0, so f(k_e) ≤ (k_e/k)·f(k): a
person whose k events are spread over epochs or keys, k_e in each, costs at most Σ k_e/k = 1 times what is charged,
also where epochs have noise of their own. Theory: docs/theory/continual-observation.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Code, Fix, ParameterError
from discreet.rational import shown, whole


@dataclass(frozen=True)
class Person:
    """The privacy unit of a stream in which a person causes at most `events` events.

    Args:
        events: The most events of one person in the whole stream.
        apart: The fewest ticks between two of them; 0 by default, which allows all of them in one tick.

    >>> Person(events=8)
    Person(events=8, apart=0)
    """

    events: int
    apart: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", whole(self.events, "events"))
        object.__setattr__(self, "apart", whole(self.apart, "apart", least=0))

    @property
    def words(self) -> str:
        """The unit as text."""
        if self.events == 1:
            return "one event"
        apart = f", at least {self.apart:,} ticks apart" if self.apart else ""
        return f"one person, who causes at most {self.events:,} events{apart}"


EVENT = Person(events=1)
"""One event alone is protected."""

Unit: TypeAlias = Person | Literal["event"]
"""What is protected: a `Person`, or "event"."""


def unit_of(given: Unit) -> Person:
    """Return the unit that a caller named.

    >>> unit_of("event")
    Person(events=1, apart=0)
    """
    if isinstance(given, Person):
        return given
    if given != "event":
        raise ParameterError(
            "The unit of a stream is an event or a person with a bound.",
            found=shown(given),
            fix=[Fix("unit", "event"), Fix("unit", Code("Person(events=8)"))],
        )
    return EVENT


class Columns(Protocol):
    """The columns of a strategy, as far as sensitivity needs them."""

    def norm_squared(self, count: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return an upper bound of Σ_{k<m} c_k²."""

    def total(self, count: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return an upper bound of Σ_{k<m} c_k."""

    def lagged(self, lag: int, count: int) -> float:
        """Return an upper bound of Σ_{k<m} c_k·c_{k+lag}."""


def columns_squared(columns: Columns, unit: Person, *, horizon: int, grid: int, rounding: float) -> Fraction:
    """Return f(k): the squared sensitivity of a unit, in units of grid². It is rounded up.

    Args:
        columns: The strategy.
        unit: The person.
        horizon: The number of ticks.
        grid: S, the norm of a column.
        rounding: The largest discrepancy of a rounded entry.

    >>> from discreet.stream.factorisations.blt import BLT
    >>> bound = {"horizon": 1000, "grid": 2**20, "rounding": 1.1}
    >>> float(columns_squared(BLT.for_horizon(1000), Person(8), **bound))
    64.0
    >>> round(float(columns_squared(BLT.for_horizon(1000), Person(8, apart=100), **bound)), 1)
    22.4
    """
    count = unit.events
    if count == 1 or not unit.apart:
        return Fraction(count**2)
    extra = 2 * rounding * float(columns.total(np.array([float(horizon)]))[0]) / grid
    extra += horizon * (rounding / grid) ** 2
    whole_norm = math.sqrt(float(columns.norm_squared(np.array([float(horizon)]))[0]))
    bound = float(count)
    for step in range(1, count):
        lag = step * unit.apart
        if lag >= horizon:  # two events further apart than the stream is long are not both in it
            break
        left = horizon - lag
        # Below the product stands a norm that is not raised: the true one is at least this one less 10⁻⁹.
        shorter = math.sqrt(float(columns.norm_squared(np.array([float(left)]))[0]))
        cosine = columns.lagged(lag, left) / (shorter * whole_norm) * (1 + 4e-9)
        bound += 2 * (count - step) * min(1.0, cosine + extra)
    return Fraction(min(float(count**2), bound * (1 + 1e-9)))
