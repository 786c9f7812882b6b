"""A run of the sparse vector technique: the one thing here that has a state.

A run holds the noise of its threshold and counts its positives. Both are part of the proof, so neither may be
doubled: a run refuses to be pickled or copied, answers one thread at a time, and refuses to go on in a forked
process, where parent and child would compare with the same secret line and each give all the positives. A
monotonic run goes one way: the direction of its first query is that of all, for a mixture would need the noise of
a general one. It belongs to one table: every exact value it is asked about must come from the same one.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn

from discreet import noise
from discreet.errors import BudgetExceeded, DiscreetError, SensitivityExceeded
from discreet.mechanisms.exact import Exact, added, with_mark
from discreet.mechanisms.sensitivity import Direction
from discreet.noise.random_bits import generation

if TYPE_CHECKING:
    from discreet.mechanisms.sparse_vector import NumericSparse, Sparse


class Run:
    """Queries one at a time, each chosen after the answers before it.

    >>> from discreet.mechanisms import AboveThreshold
    >>> run = AboveThreshold(epsilon=1, threshold=1000).start()
    >>> run
    <run with 1 positive left>
    >>> run.ask(Exact(50, sensitivity=1))
    False
    """

    __slots__ = ("__line", "_direction", "_generation", "_left", "_lock", "_mechanism", "_scale")

    def __init__(self, mechanism: Sparse):
        self._left = mechanism.positives
        self._mechanism, self._lock, self._generation = mechanism, Lock(), generation()
        self._scale = mechanism.query_scale
        self._direction: Direction | None = None
        self.__line = mechanism.threshold + noise.discrete_laplace(mechanism.threshold_scale)

    @property
    def left(self) -> int:
        """How many positive answers it may still give."""
        return self._left

    def ask(self, exact: Exact) -> Any:
        """Whether the query exceeds the threshold, as far as may be said."""
        self._mechanism._admit(exact, vector=False)
        self._refuse_elsewhere()  # before the lock, which a fork may have copied while it was held
        with self._lock:
            self._refuse_if_over()
            self._refuse_other_direction(exact.sensitivity.monotonic)
            above: Any = added(exact, noise.discrete_laplace(self._scale)) >= self.__line
            self._left -= bool(above)
            return above

    def _refuse_elsewhere(self) -> None:
        if generation() != self._generation:  # process ids come again, generations do not
            raise DiscreetError(
                "This run was started by another process. Start one here: run = mechanism.start()."
            )

    def _refuse_if_over(self) -> None:
        if not self._left:
            raise BudgetExceeded(
                f"This run has given all of its {self._mechanism.positives} positive answers. "
                "Start another, at its own cost: run = mechanism.start()."
            )

    def _refuse_other_direction(self, direction: Direction | None) -> None:
        if not self._mechanism.monotonic:
            return
        self._direction = self._direction or direction
        if direction != self._direction:
            raise SensitivityExceeded(
                f'The queries of this monotonic run go "{self._direction}" when a person joins, and this one goes '
                f'"{direction}". Ask it in a run of its own, or build the mechanism with monotonic=False.'
            )

    def __repr__(self) -> str:
        return f"<run with {self.left} positive{'' if self.left == 1 else 's'} left>"

    def __dir__(self) -> list[str]:
        return ["ask", "left"]  # what inspectors walk through

    def __single(self, *_: object) -> NoReturn:
        raise TypeError(
            "A run cannot be copied or pickled: it would give its positives twice. Write mechanism.start()."
        )

    __copy__ = __deepcopy__ = __getstate__ = __reduce__ = __reduce_ex__ = __single


class NumericRun(Run):
    """Queries one at a time; those above the threshold are answered with a number.

    >>> from discreet.mechanisms import NumericSparse
    >>> run = NumericSparse(epsilon=1, threshold=1000).start()
    >>> run.ask(Exact(50, sensitivity=1)) is None
    True
    """

    __slots__ = ()

    _mechanism: NumericSparse

    def ask(self, exact: Exact) -> Any:
        """Return the value with fresh noise if it exceeds the threshold, else None."""
        above = super().ask(exact)
        if not above:
            return None
        return with_mark(added(exact, noise.discrete_laplace(self._mechanism.number_scale)), of=above)
