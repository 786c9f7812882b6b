"""Define a local protocol: a randomiser that a device runs, and an estimator that a server runs.

A randomiser with its parameters is a frozen record of integers. It turns a value of a public domain into a report:
a few bytes, of a length that does not depend on the value, whose law is known exactly. A server counts reports in
a state, an array of integers that is the sum of the states of any parts. Estimates need nothing but the state.

Claim of each. For all values u, v and every string of bytes y, P[report(u) = y] ≤ e^ε·P[report(v) = y], with the
ε of `loss`: the worst ratio of the law with the integer probabilities that are really used, rounded up. Only the
device has to be trusted for this.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.local.primitives.randomness import FRESH, Draws
from discreet.local.server.estimate import Estimate
from discreet.privacy import Pure

Values = NDArray[np.int64]
Payloads = NDArray[np.uint8]
"""Reports, one in each row."""
Coded = NDArray[Any]
"""Values as a protocol takes them: places in a domain (`Values`), or where values cannot be listed, the symbols of
words or the fingerprints of texts, one in each row (`domains`)."""


@runtime_checkable
class Randomiser(Protocol):
    """One protocol with its parameters."""

    name: ClassVar[str]

    @property
    def domain(self) -> int:
        """The number of values: 0 … domain − 1. It is 0 if they cannot be listed."""
        ...

    @property
    def loss(self) -> Pure:
        """The cost of one report for its device, rounded up."""
        ...

    @property
    def payload_bytes(self) -> int:
        """The length of every report in bytes."""
        ...

    @property
    def influence(self) -> float:
        """The largest shift of one estimated frequency by one malicious report, times the number of reports."""
        ...

    def parameters(self) -> dict[str, int]:
        """Return the parameters from which `registry.of(name, parameters)` builds it."""
        ...

    def encode(self, values: Coded, draws: Draws = FRESH) -> Payloads:
        """Return a report for each value."""
        ...

    def law(self, value: Any) -> dict[bytes, Fraction]:
        """Return the probability of every report on a value: for small domains."""
        ...

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        """Return which of these are reports that an honest device could have made."""
        ...

    def state(self) -> Values:
        """Return the state of no reports."""
        ...

    def add(self, state: Values, payloads: Payloads) -> None:
        """Count valid reports into a state."""
        ...

    def estimate(self, state: Values, n: int) -> Estimate:
        """Return unbiased frequencies with their standard errors, from the state of n reports."""
        ...


def checked(values: Values, domain: int) -> Values:
    """Return values as integers, or refuse those outside the domain before anything is drawn.

    >>> checked([0, 3], domain=4)
    array([0, 3])
    """
    found = np.asarray(values)
    if found.size == 0:
        return np.zeros(0, np.int64)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise ParameterError(
            f"Values must be one row of whole numbers from 0 to {domain - 1}.",
            found=f"{found.dtype} of shape {found.shape}",
        )
    if int(found.min()) < 0 or int(found.max()) >= domain:
        raise ParameterError(
            f"Values must be from 0 to {domain - 1}.", fix="Give each value as its place in the domain."
        )
    return found.astype(np.int64)
