"""Count the last ticks of a stream: a private sliding window, without end, on one charge.

Mechanism. Ticks are cut into blocks as long as the window. Each block has running sums of its own (`toeplitz`).
The window that ends in a block is the end of the block before, its total less its running sum at the same place,
and the beginning of the current one.

Claim. As of a `Counter`, for the values at all ticks together, however many there are: an event is in one block,
so all blocks together cost what one costs. The error depends on the window only: about √2 times that of a counter
with the window as its horizon. The last block's running sums are kept, which are released numbers and no secret.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.rational import Rational, whole
from discreet.release.estimate import Estimate
from discreet.release.label import Noise
from discreet.stream.answer import StreamAnswer
from discreet.stream.counter import SECRET
from discreet.stream.factorisations.toeplitz import ToeplitzSums
from discreet.stream.factorisations.units import Unit, unit_of
from discreet.stream.session import Session, checked_counts
from discreet.stream.terms import Terms, checked_count, terms_of


class Windowed(Session):
    """Count the last `window` ticks of a stream, privately at every moment.

    Args:
        window: The number of ticks, such as the minutes of an hour.
        epsilon: The guarantee of everything that is ever shown. It needs a `delta`.
        delta: The δ of that guarantee.
        rho: The zCDP loss instead of `epsilon`.
        unit: What is protected: "event" by default, or `Person(events=8)`.
        each: The most that one event adds to a count; 1 by default.
        confidence: The confidence of each interval; 0.95 by default.
        name: The name of the count.
        path: A file for the state, which makes the window durable; none by default.
        terms: What a vault has paid; for `vault.stream` only.

    >>> hour = Windowed(60, epsilon=1, delta="1e-9")
    >>> answer = hour.extend([10] * 300)
    >>> abs(answer.estimate.values[-1] - 600) < 200
    True
    """

    kind = "window"

    def __init__(
        self,
        window: int,
        *,
        epsilon: Rational | None = None,
        delta: Rational = 0,
        rho: Rational | None = None,
        unit: Unit = "event",
        each: int = 1,
        confidence: Rational = "0.95",
        name: str = "count",
        path: str | Path | None = None,
        terms: Terms | None = None,
    ):
        agreed = terms or terms_of(epsilon, delta, rho, table=name)
        person, most, self.window = unit_of(unit), whole(each, "each"), whole(window, "window")
        self._rho, self._unit, self._each = agreed.rho, person, most
        self._current, self._blocks = self._make(), 0
        self._before: NDArray[np.float64] = np.zeros(self.window + 1)  # running sums of the block before
        self._now: list[float] = [0.0]
        self._seen_marks = False
        law, spread = self._current.spread()
        noises = [Noise("the count of the window at each tick", law, 1.5 * spread, float(most * person.events))]
        label = agreed.label(person, noises, "a sliding count of a stream", [SECRET])
        super().__init__(name=name, label=label, confidence=confidence, path=path)
        self._open({"loss": str(agreed.loss), "window": self.window, "unit": person.words, "each": most})

    @property
    def tick(self) -> int:
        """The ticks so far: where a source has to go on."""
        return self._blocks * self.window + self._current.tick

    @property
    def loss(self) -> Any:
        """The privacy loss of everything that is ever shown."""
        return self._current.loss

    def add(self, count: int = 1) -> None:
        """End a tick in which `count` events happened."""
        exact = checked_count(count)
        with self._lock:
            self._expect_process()
            self._advance()
            self._current.push(exact)
            self._now.append(self._current.value)

    def extend(self, counts: Sequence[int] | NDArray[Any]) -> StreamAnswer:
        """End many ticks at once, and return the private count of the window after each of them."""
        exact = checked_counts(counts, None)
        with self._lock:
            self._expect_process()
            first, values, margins = self.tick, list[Any](), list[Any]()
            while len(exact):
                self._advance()
                start = self._current.tick
                now = min(len(exact), self.window - start)
                sums = self._current.push_many(exact[:now])
                self._now.extend(sums.tolist())
                places = np.arange(start + 1, start + now + 1)
                values.append(sums + self._before[-1] - self._before[places])
                margins.append(self._margins(places))
                exact = exact[now:]
            self._before_showing()
            ticks = tuple(range(first + 1, self.tick + 1))
            if not ticks:
                return self._answer([], [], ())
            return self._answer(np.concatenate(values), np.concatenate(margins), ticks)

    @property
    def value(self) -> Estimate:
        """The private count of the last ticks, with its interval."""
        return self.release().estimate

    def release(self) -> StreamAnswer:
        """Return the private count of the last ticks, with its label and receipt."""
        with self._lock:
            self._before_showing()
            place = self._current.tick
            value = self._current.value + self._before[-1] - self._before[place]
            return self._answer(value, self._margins(np.array([place])), (self.tick,))

    def _margins(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the margins: the noises of the two blocks are independent."""
        margins = self._current.margins(places, self.alpha) ** 2
        if self._blocks:
            margins = margins + self._current.later_margins(places, self.alpha) ** 2
        found: NDArray[np.float64] = np.sqrt(margins)
        return found

    def _make(self) -> ToeplitzSums:
        return ToeplitzSums(self._rho, self.window, unit=self._unit, each=self._each)

    def _advance(self) -> None:
        if self._current.tick < self.window:
            return
        self._marked()
        self._before, self._now = np.array(self._now), [0.0]
        self._current, self._blocks = self._make(), self._blocks + 1

    def _marked(self) -> bool:
        self._seen_marks = self._seen_marks or self._current.test_bits
        return self._seen_marks

    def _state(self) -> dict[str, Any]:
        sums = {"before": self._before.tolist(), "now": self._now, "blocks": self._blocks}
        return {**sums, "current": self._current.state()}

    def _restore(self, state: dict[str, Any]) -> None:
        self._before, self._now = np.array(state["before"]), list(state["now"])
        self._blocks = int(state["blocks"])
        self._current.restore(state["current"])
