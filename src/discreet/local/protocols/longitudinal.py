"""Define protocols of two steps, of which a device draws the first one once and for all.

The cost of one report is its `loss`, and the cost of all reports on one value together is its `lifetime`: the loss
of the first step alone, because reports are drawn from its answer. Three protocols have two steps: `two_step_grr`,
`two_step_unary` and `rappor`.
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
    """A randomiser of two steps, of which the first may be drawn once and for all.

    It lists only what these have beyond `Randomiser`, because isinstance looks at every member that is listed.
    """

    @property
    def lifetime(self) -> Pure:
        """The cost of all reports on one value together, rounded up."""
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
        """Return the number of the case of a value on this device: all values of a case have one answer."""
        ...


@runtime_checkable
class Cohorted(Protocol):
    """A randomiser whose devices belong to cohorts, such as RAPPOR. Its `permanent` also takes `cohorts`."""

    def cohort(self, size: int, draws: Draws) -> Values:
        """Return the cohorts of devices."""
        ...


def ordered(lifetime: Rational, each: Rational) -> tuple[Fraction, Fraction]:
    """Return the two losses, or refuse a report that does not cost less than all reports together.

    >>> ordered("2", "1")
    (Fraction(2, 1), Fraction(1, 1))
    """
    always, once = budget(lifetime), budget(each)
    if not once < always:
        raise ParameterError(
            "One report must cost less than all reports together.",
            found=f"{each} is not below {lifetime}",
            fix="Lower the cost of one report, or raise that of all together.",
        )
    return always, once
