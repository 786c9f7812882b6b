"""The one contract of all mechanisms.

A mechanism is a frozen record of its parameters. It says what a release costs (`loss`), makes one (`release`), and
says how far off it may be (`error`), before any data is seen: all three follow from the same parameters.
`tests/mechanisms/test_mechanism.py` holds every public mechanism to it.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from discreet.mechanisms.exact import Exact
from discreet.privacy.losses import Loss
from discreet.rational import Rational


@runtime_checkable
class Mechanism(Protocol):
    """What every mechanism offers.

    >>> from discreet.mechanisms import Laplace
    >>> isinstance(Laplace(scale=10), Mechanism)
    True
    """

    @property
    def loss(self) -> Loss:
        """What one release costs."""

    def release(self, exact: Exact) -> Any:
        """Open the exact value, and return what may be seen of it."""

    # Type checkers read `*_: Any, **size: Any` as whatever further parameters a mechanism has.
    def error(self, confidence: Rational = "0.95", *_: Any, **size: Any) -> int:
        """How far off a release is at most, with this confidence: from the law of the noise itself.

        `size` is what it depends on beside the parameters: the `dimension=` of a vector (1 if not said), or how
        many `candidates=` or `queries=` there are, which has to be said.
        """
