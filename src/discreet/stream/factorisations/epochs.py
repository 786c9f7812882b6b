"""Run running sums without a horizon, in epochs of growing length.

Each epoch is a mechanism of its own for the ticks in it; the sum so far is that of the finished epochs and of the
current one. An event is in one epoch, so all epochs together cost what one costs, and a person whose events are
spread over several costs no more than one who has all of them in one (`units`, `tree`: with k_e of k events in an
epoch, its part of the charge is at most k_e/k). An epoch is 64 times as long as the one before, six doublings at
once: the variance of an epoch's last value grows with the square of the logarithm of its length only, so many
short epochs would add up to more noise than a long one has too much. After 10⁶ ticks the variance is 1.9 times
that of a known horizon; with plain doubling it would be 4.4 times.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.losses import Loss
from discreet.stream.factorisations.blt import LONGEST
from discreet.stream.factorisations.running_sums import RunningSums

FIRST, GROWTH = 1024, 64
"""The ticks of the first epoch, and how many times longer each next one is."""


def length_of(epoch: int) -> int:
    """Return the ticks of an epoch.

    >>> [length_of(epoch) for epoch in range(5)]
    [1024, 65536, 4194304, 268435456, 1000000000]
    """
    return min(FIRST * int(GROWTH ** min(epoch, 10)), LONGEST)


class Epochs:
    """Running sums without a horizon.

    Args:
        make: Makes the mechanism of an epoch of this many ticks.

    >>> from discreet.stream.factorisations.toeplitz import ToeplitzSums
    >>> sums = Epochs(lambda ticks: ToeplitzSums(Fraction(50), ticks))
    >>> sums.push_many(np.ones(3000, np.int64)).shape, sums.epoch
    ((3000,), 1)
    """

    horizon = None

    def __init__(self, make: Callable[[int], RunningSums]):
        self._make, self.epoch, self._before = make, 0, 0
        self._current = make(length_of(0))
        self._finished: Any = 0.0
        self._refreshes, self._marked = 0, False
        self._others: dict[int, RunningSums] = {}

    @property
    def tick(self) -> int:
        """The ticks so far."""
        return self._before + self._current.tick

    @property
    def loss(self) -> Loss:
        """The privacy loss of all values together: that of one epoch."""
        return self._current.loss

    @property
    def test_bits(self) -> bool:
        """Whether noise was drawn from test bits."""
        return self._marked or self._current.test_bits

    @property
    def current(self) -> RunningSums:
        """The mechanism of the current epoch."""
        return self._current

    @property
    def value(self) -> Any:
        """The private sum so far."""
        return self._finished + self._current.value

    def push(self, count: Any) -> None:
        """Take the count of the next tick."""
        self._advance()
        self._current.push(count)

    def push_many(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Take the counts of many ticks, and return the value after each."""
        made = []
        while len(counts):
            self._advance()
            now = min(len(counts), length_of(self.epoch) - self._current.tick)
            made.append(self._finished + self._current.push_many(counts[:now]))
            counts = counts[now:]
        return np.concatenate(made) if made else self._current.push_many(counts)

    def margins(self, ticks: NDArray[np.int64], alpha: Fraction) -> NDArray[np.float64]:
        """Return the margin of error of a value at each of these ticks.

        The noises of epochs are independent, so squared margins add up. For Gaussian noise a margin is a multiple
        of a standard deviation. For Laplace noise it is min_s (ln(2/α) + ψ(s))/s with ψ(s)/s² not falling; with
        the minima s_i of the epochs and 1/s² = Σ 1/s_i², Jensen's inequality bounds that of the sum by √Σ.
        """
        ticks = np.atleast_1d(ticks)
        squares = np.zeros(len(ticks))
        start, epoch = 0, 0
        while start < ticks.max(initial=0):
            length = length_of(epoch)
            inside = np.clip(ticks - start, 0, length)
            sums = self._current if epoch == self.epoch else self._other(length)
            some, back = np.unique(inside, return_inverse=True)
            known = np.zeros(len(some))
            known[some > 0] = sums.margins(some[some > 0], alpha)
            squares += known[back] ** 2
            start, epoch = start + length, epoch + 1
        found: NDArray[np.float64] = np.sqrt(squares)
        return found

    def refresh(self) -> None:
        """Add noise to the current state, after a look at it that was announced."""
        current: Any = self._current
        current.refresh()
        self._refreshes += 1

    def spread(self) -> tuple[str, float]:
        """Return the law of the noise in words, and its standard deviation at the end of the current epoch."""
        return self._current.spread()

    def state(self) -> dict[str, Any]:
        """Return what `restore` takes."""
        finished = self._finished.tolist() if isinstance(self._finished, np.ndarray) else self._finished
        return {
            "epoch": self.epoch,
            "before": self._before,
            "refreshes": self._refreshes,
            "finished": finished,
            "current": self._current.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.epoch, self._before = int(state["epoch"]), int(state["before"])
        self._refreshes = int(state["refreshes"])
        self._finished = np.array(state["finished"]) if isinstance(state["finished"], list) else state["finished"]
        self._current = self._make(length_of(self.epoch))
        self._current.restore(state["current"])

    def _other(self, length: int) -> RunningSums:
        """Return a mechanism like that of another epoch, for its margins: they depend on no count."""
        sums: Any = self._others.setdefault(length, self._make(length))
        sums.refreshes = self._refreshes
        return cast(RunningSums, sums)

    def _advance(self) -> None:
        """Begin the next epoch where the current one is full."""
        if self._current.tick < length_of(self.epoch):
            return
        self._marked = self.test_bits
        self._finished = self._finished + self._current.value
        self._before += self._current.tick
        self.epoch += 1
        self._current = self._make(length_of(self.epoch))
