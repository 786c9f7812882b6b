"""Ask queries one at a time in a run of the sparse vector technique.

**A run has a state**: the noise of its threshold, and the number of positives left. Both are part of the proof, so
neither may be doubled. A run refuses to be pickled or copied, answers one thread at a time, and refuses to go on
in a forked process: parent and child would compare with the same secret threshold, and give all positives twice.
A monotonic run goes one way: its first query sets the direction of all, because a mixture needs the noise of a
general run. A run belongs to one table: every exact value it is asked about must come from that table.
Theory: docs/theory/sparse-vector.md.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn

from discreet import noise
from discreet.errors import BudgetExceeded, DiscreetError, Fix, SensitivityExceeded
from discreet.mechanisms.exact import Exact, added, with_mark
from discreet.mechanisms.sensitivity import Direction
from discreet.noise.random_bits import generation

if TYPE_CHECKING:
    from discreet.mechanisms.sparse_vector import NumericSparse, RestartingSparse, Sparse


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
        """The number of positive answers that are left."""
        return self._left

    @property
    def mechanism(self) -> Sparse:
        """The mechanism that started this run: its parameters are public."""
        return self._mechanism

    def lower(self, left: int) -> None:
        """Lower the number of positive answers that are left; it never rises.

        For the recorder of `audit.replay` only: a query that it answers from a tape must count like one that was
        asked.

        >>> from discreet.mechanisms import Sparse
        >>> run = Sparse(epsilon=1, threshold=1000, positives=3).start()
        >>> run.lower(2), run.lower(3), run.left
        (None, None, 2)
        """
        with self._lock:
            self._left = min(self._left, left)

    def ask(self, exact: Exact) -> Any:
        """Return whether the noisy query exceeds the noisy threshold."""
        self._mechanism._admit(exact, vector=False)
        self.expect_process()  # before the lock, which a fork may have copied while it was held
        with self._lock:
            self._refuse_if_over()
            self._refuse_other_direction(exact.sensitivity.monotonic)
            above: Any = added(exact, noise.discrete_laplace(self._scale)) >= self.__line
            self._left -= bool(above)
            return above

    def expect_process(self) -> None:
        """Refuse to go on in another process than the one that started this run."""
        if generation() != self._generation:  # process ids come again, generations do not
            raise DiscreetError(
                "This run was started by another process.", fix="Start a run in this process: mechanism.start()."
            )

    def _refuse_if_over(self) -> None:
        if not self._left:
            raise BudgetExceeded(
                f"This run has given all of its {self._mechanism.positives} positive answers.",
                fix="Start another run, at its own cost: mechanism.start().",
            )

    def _refuse_other_direction(self, direction: Direction | None) -> None:
        if not self._mechanism.monotonic:
            return
        self._direction = self._direction or direction
        if direction != self._direction:
            raise SensitivityExceeded(
                f'The queries of this monotonic run go "{self._direction}" when a person joins; '
                f'this one goes "{direction}".',
                fix=[Fix("monotonic", False), "Or ask this query in a run of its own."],
            )

    def __repr__(self) -> str:
        return f"<run with {self.left} positive{'' if self.left == 1 else 's'} left>"

    def __dir__(self) -> list[str]:
        return ["ask", "left"]  # what inspectors walk through

    def __single(self, *_: object) -> NoReturn:
        raise TypeError(
            "A run cannot be copied or pickled: it would give its positives twice. Try: mechanism.start()."
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


class RestartingRun:
    """Queries one at a time, with a new run of `AboveThreshold` after each positive answer.

    >>> from discreet.mechanisms import Sparse
    >>> run = Sparse.restarting(2, epsilon=1, delta="1e-6", threshold=1000).start()
    >>> run.ask(Exact(50, sensitivity=1)), run.ask(Exact(90_000, sensitivity=1)), run.left
    (False, True, 1)
    """

    __slots__ = ("_left", "_lock", "_mechanism", "_run")

    def __init__(self, mechanism: RestartingSparse):
        self._mechanism, self._left, self._lock = mechanism, mechanism.positives, Lock()
        self._run = mechanism.once.start()

    @property
    def left(self) -> int:
        """The number of positive answers that are left."""
        return self._left

    def ask(self, exact: Exact) -> Any:
        """Return whether the noisy query exceeds the noisy threshold of this run."""
        self._run.expect_process()  # before the lock, which a fork may have copied while it was held
        with self._lock:
            if not self._left:
                raise BudgetExceeded(
                    f"All of its {self._mechanism.positives} positive answers are given.",
                    fix="Start again, at its own cost: mechanism.start().",
                )
            above = self._run.ask(exact)
            if above:
                self._left -= 1
                self._run = self._mechanism.once.start() if self._left else self._run
            return above

    def __repr__(self) -> str:
        return f"<run with {self.left} positive{'' if self.left == 1 else 's'} left>"

    def __dir__(self) -> list[str]:
        return ["ask", "left"]  # what inspectors walk through

    def __single(self, *_: object) -> NoReturn:
        raise TypeError(
            "A run cannot be copied or pickled: it would give its positives twice. Try: mechanism.start()."
        )

    __copy__ = __deepcopy__ = __getstate__ = __reduce__ = __reduce_ex__ = __single
