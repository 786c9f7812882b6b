"""Define the contract of all mechanisms.

A mechanism is a frozen record of its parameters. It states the cost of a release (`loss`), makes one
(`release`), and bounds its error (`error`), before any data is seen: all three follow from the same parameters.
`tests/mechanisms/test_mechanism.py` holds every public mechanism to it.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from discreet.mechanisms.exact import Exact
from discreet.privacy.losses import Loss
from discreet.rational import Rational


@runtime_checkable
class Mechanism(Protocol):
    """The interface of every mechanism.

    >>> from discreet.mechanisms import Laplace
    >>> isinstance(Laplace(scale=10), Mechanism)
    True
    """

    @property
    def loss(self) -> Loss:
        """The cost of one release."""

    def release(self, exact: Exact) -> Any:
        """Open the exact value, and return the private release."""

    # Type checkers read `*_: Any, **size: Any` as whatever further parameters a mechanism has.
    def error(self, confidence: Rational = "0.95", *_: Any, **size: Any) -> int:
        """Return the margin of error of a release at this confidence, from the law of the noise itself.

        `size` is what it depends on beside the parameters: the `dimension=` of a vector (1 by default), or the
        number of `candidates=` or `queries=`, which must be given.
        """
