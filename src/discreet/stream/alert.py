"""Raise an alarm when a stream passes a threshold: the sparse vector technique over time.

Mechanism. At every tick the exact count, of the last `window` ticks or of all, is compared with the threshold,
both with noise. The noise of the threshold is drawn once for each alarm, that of the count at every tick. The
first count above it raises an alarm, with how far above it was; then the next run begins. This is
`kernel.threshold_test`, which the oracle uses too.

Claim. Everything that an `Alert` ever shows, the quiet ticks included and however many there are, is ε-DP for
`alerts` alarms: each run is (ε/alerts)-DP, and they compose. An event adds at most `each` to the count of every
tick, and never lowers one, so the queries are monotonic with sensitivity each·k for a unit of k events. Theory:
docs/theory/sparse-vector.md and docs/theory/continual-observation.md.

Intervals. The count of an alarm is told up to ν − ρ, and of many comparisons the one that raises an alarm was
chosen by its ν. So half of α is divided among all ticks, 6/(π²t²) of it for tick t, for a ν that is too large, and
the other half is for ρ, which is drawn once in a run.

The state holds exact counts and the noisy threshold. A durable alert writes a run's threshold before anything is
compared with it, and an alarm before it is shown: so a run never gives two alarms. Counts since the last write are
lost with the process; ticks that were quiet may then be compared again, which costs nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

from discreet.errors import BudgetExceeded, Fix, ParameterError
from discreet.kernel import threshold_test
from discreet.kernel.threshold_test import NoisyThreshold, Run, Watch
from discreet.mechanisms import Exact, Sensitivity
from discreet.privacy.losses import Pure
from discreet.rational import Rational, positive, whole
from discreet.release.label import Noise
from discreet.stream.answer import StreamAnswer
from discreet.stream.factorisations.units import Unit, unit_of
from discreet.stream.session import Session
from discreet.stream.terms import Terms, checked_count, terms_of


class Alert(Session):
    """Raise an alarm when the count of a stream passes a threshold.

    Args:
        threshold: The count that raises an alarm.
        epsilon: The guarantee of everything that is ever shown: pure ε.
        alerts: The number of alarms that it may raise; 1 by default. Noise grows with it.
        window: The number of ticks that are counted; None, the default, counts all ticks since the last alarm.
        unit: What is protected: "event" by default, or `Person(events=8)`.
        each: The most that one event adds to a count; 1 by default.
        confidence: The confidence of the interval of an alarm's count; 0.95 by default.
        name: The name of the count.
        path: A file for the state, which makes the alert durable; none by default.
        terms: What a vault has paid; for `vault.stream` only.

    >>> alert = Alert(500, epsilon=1, window=60)
    >>> [alert.add(count) is not None for count in (3, 2, 4, 900)]
    [False, False, False, True]
    >>> alert.left
    0
    """

    kind = "alert"

    def __init__(
        self,
        threshold: int,
        *,
        epsilon: Rational | None = None,
        alerts: int = 1,
        window: int | None = None,
        unit: Unit = "event",
        each: int = 1,
        confidence: Rational = "0.95",
        name: str = "count",
        path: str | Path | None = None,
        terms: Terms | None = None,
    ):
        person, self.alerts = unit_of(unit), whole(alerts, "alerts")
        agreed = terms or terms_of(positive(epsilon or 0, "epsilon"), 0, None, table=name)
        if not isinstance(agreed.loss, Pure):
            raise ParameterError("An alert spends pure epsilon.", fix=Fix("epsilon", 1))
        self._loss, self._sensitivity = agreed.loss, whole(each, "each") * person.events
        self.window = None if window is None else whole(window, "window")
        self._watch = Watch(
            epsilon=agreed.loss.epsilon / self.alerts,
            threshold=whole(threshold, "threshold"),
            sensitivity=self._sensitivity,
            monotonic=True,
        )
        self._counts: deque[int] = deque(maxlen=self.window)
        self._sum, self._tick, self._given = 0, 0, 0
        law, spread = "geometric noise in a threshold test", float(self._watch.query_scale)
        noises = [Noise("the count at each tick", law, spread, float(self._sensitivity))]
        label = agreed.label(person, noises, "alarms of a stream", ["The state holds exact counts."])
        super().__init__(name=name, label=label, confidence=confidence, path=path)
        self._run: Run | None = threshold_test.start(self._watch, "up", 0)
        facts = {"loss": str(agreed.loss), "alerts": self.alerts, "window": self.window, "each": each}
        self._open({**facts, "unit": person.words, "threshold": self._watch.threshold})

    @property
    def tick(self) -> int:
        """The ticks so far: where a source has to go on."""
        return self._tick

    @property
    def left(self) -> int:
        """The alarms that it may still raise."""
        return self.alerts - self._given

    @property
    def loss(self) -> Pure:
        """The privacy loss of everything that is ever shown."""
        return self._loss

    def add(self, count: int = 1) -> StreamAnswer | None:
        """End a tick in which `count` events happened. Return the alarm, if it raises one."""
        exact = checked_count(count)
        with self._lock:
            self._expect_process()
            self._expect_same_bits()
            if self._run is None:
                raise BudgetExceeded(
                    f"This alert has raised all of its {self.alerts} alarms.",
                    fix=[Fix("alerts", 2 * self.alerts, note="another alert, at its own cost")],
                )
            self._take(exact)
            exactly = Exact(self._sum, Sensitivity(entries=1, each=self._sensitivity, monotonic="up"))
            gap = self._run.gap(exactly)
            return None if gap is None else self._alarm(int(gap))

    def extend(self, counts: Iterable[int]) -> list[StreamAnswer]:
        """End many ticks, one after the other, up to the last alarm, and return the alarms that they raise."""
        exact, found = [checked_count(count) for count in counts], list[StreamAnswer]()
        for count in exact:
            if not self.left:
                break
            alarm = self.add(count)
            found += [] if alarm is None else [alarm]
        return found

    def _take(self, count: int) -> None:
        if self._counts.maxlen is not None:
            self._sum -= self._counts[0] if len(self._counts) == self._counts.maxlen else 0
            self._counts.append(count)
        self._sum += count
        self._tick += 1

    def _alarm(self, gap: int) -> StreamAnswer:
        """Begin the next run, put it on the disk, and return the alarm with its count."""
        value = float(self._watch.threshold + gap)
        share = self.alpha / 2 * Fraction(6, 10) / self._tick**2  # 6/π² is a little more than 0.6
        below = threshold_test.overshoot(self._watch, share)
        above = threshold_test.undershoot(self._watch, self.alpha / 2)
        self._given += 1
        self._run = threshold_test.start(self._watch, "up", self._given) if self.left else None
        if self.window is None:
            self._sum = 0
        self._saved = -1
        self._before_showing()
        estimate = self._estimate([value], [max(0.0, value - below)], [value + above])
        return StreamAnswer(estimate, (self._tick,), label=self.label)

    def _state(self) -> dict[str, Any]:
        line = None if self._run is None else int(self._run.threshold.value)
        counts = {"sum": self._sum, "counts": list(self._counts), "tick": self._tick, "given": self._given}
        return {**counts, "line": line}

    def _restore(self, state: dict[str, Any]) -> None:
        self._sum, self._tick, self._given = int(state["sum"]), int(state["tick"]), int(state["given"])
        self._counts = deque(state["counts"], maxlen=self.window)
        line = cast(int | None, state["line"])
        self._run = None if line is None else Run(NoisyThreshold(self._watch, line), "up", self._given)
