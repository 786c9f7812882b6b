"""Protocols of two steps, of which a device draws the first one once and for all.

What one report costs is its `loss`, and what all reports on one value cost together is its `lifetime`: the loss of
the first step alone, because reports are drawn from its answer. Two of them are in `twostep`, RAPPOR is a third.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol, runtime_checkable

from discreet.errors import ParameterError
from discreet.local.primitives.fixed_point import budget
from discreet.local.primitives.randomness import FRESH, Draws
from discreet.local.protocols.protocol import Coded, Payloads, Values
from discreet.privacy import Pure
from discreet.rational import Rational


@runtime_checkable
class Longitudinal(Protocol):
    """A randomiser of two steps, of which the first may be drawn once for all.

    It names what these have beyond the contract alone: whoever asks looks at everything that is named.
    """

    @property
    def lifetime(self) -> Pure:
        """What all reports on one value cost together, rounded up."""
        ...

    def permanent(self, values: Coded, draws: Draws) -> Payloads:
        """Return the permanent answer to each value."""
        ...

    def instant(self, answers: Payloads, draws: Draws = FRESH) -> Payloads:
        """Return a report of each permanent answer."""
        ...


@runtime_checkable
class Remembering(Protocol):
    """A randomiser with an answer of its own for a whole life, such as 1BitMean with α-point rounding."""

    def remembered(self, value: int, key: bytes, context: bytes) -> Payloads:
        """Return the report that a device with this key always makes of this value."""
        ...

    def case(self, value: int, key: bytes, context: bytes) -> int:
        """Return which of this device's cases the value is: all values of a case have one answer."""
        ...


@runtime_checkable
class Cohorted(Protocol):
    """A randomiser whose devices belong to cohorts, such as RAPPOR. Its `permanent` also takes `cohorts`."""

    def cohort(self, size: int, draws: Draws) -> Values:
        """Return the cohorts of devices."""
        ...


def ordered(lifetime: Rational, each: Rational) -> tuple[Fraction, Fraction]:
    """Return the two losses, or refuse a single report that costs no less than all together.

    >>> ordered("2", "1")
    (Fraction(2, 1), Fraction(1, 1))
    """
    always, once = budget(lifetime), budget(each)
    if not once < always:
        raise ParameterError(f"one report costs less than all together: {each} is not below {lifetime}.")
    return always, once
