"""Count the events of a stream: the private total at every moment, on one charge.

Claim. Everything that a `Counter` ever shows, the values at all ticks together, is ε-DP, (ε, δ)-DP or ρ-zCDP as
asked, for neighbouring streams that differ in one event, or in all events of one person (`unit`). Counts may be
chosen after earlier values were seen. Mechanisms: `factorisations.toeplitz` (the default with δ) and
`factorisations.tree` (pure ε, and pan privacy). Theory: docs/theory/continual-observation.md.

With `pan_private=True` the claim covers one look at the whole memory or file too, at any moment that no one
announces, and any number that are announced by `refresh`. Theory: docs/theory/pan-privacy.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
from discreet.noise.random_bits import generation
from discreet.rational import Rational, shown, whole
from discreet.release.estimate import Estimate
from discreet.release.label import Noise
from discreet.stream.answer import StreamAnswer
from discreet.stream.factorisations.epochs import Epochs
from discreet.stream.factorisations.running_sums import RunningSums
from discreet.stream.factorisations.toeplitz import ToeplitzSums
from discreet.stream.factorisations.tree import TreeSums
from discreet.stream.factorisations.units import Person, Unit, unit_of
from discreet.stream.session import Session, checked_counts
from discreet.stream.terms import MOST, Terms, checked_count, checked_horizon, terms_of

Method = Literal["auto", "blt", "sqrt", "tree"]
METHODS = ("auto", "blt", "sqrt", "tree")

SECRET = "The state holds exact sums or noise: keep memory and file as secret as the events."
PAN = (
    "Pan-private: one unannounced look at the state is covered, and any number of looks that are each followed by "
    "refresh()."
)


def sums_for(
    terms: Terms,
    horizon: int | None,
    *,
    unit: Person,
    each: int,
    method: Method,
    pan_private: bool,
    keys: int | None = None,
    entries: int = 1,
) -> RunningSums:
    """Return the mechanism for running sums that fits these terms.

    Args:
        terms: What may be spent.
        horizon: The number of ticks; None without an end.
        unit: What is protected.
        each: The most that one event adds.
        method: "auto", "blt", "sqrt" or "tree".
        pan_private: Whether the state must be private.
        keys: The number of keys; None for one count.
        entries: The keys that one event changes.
    """
    if method not in METHODS:
        raise ParameterError(
            f"The method must be one of {', '.join(METHODS)}.", found=shown(method), fix=Fix("method", "auto")
        )
    if method in ("blt", "sqrt") and (terms.pure or pan_private):
        why = "pan privacy" if pan_private else "pure differential privacy, without delta,"
        raise ParameterError(f"For {why} there is the binary tree only.", found=method, fix=Fix("method", "tree"))
    tree = terms.pure or pan_private or method == "tree"

    def make(ticks: int) -> RunningSums:
        common: dict[str, Any] = {"keys": keys, "unit": unit, "each": each, "entries": entries}
        if tree:
            return TreeSums(terms.loss, ticks, pan_private=pan_private, **common)
        return ToeplitzSums(terms.rho, ticks, method="sqrt" if method == "sqrt" else "blt", **common)

    return Epochs(make) if horizon is None else make(horizon)


class Counter(Session):
    """Count a stream, privately at every moment.

    Args:
        epsilon: The guarantee of everything that the counter ever shows. Without `delta` it is pure.
        delta: The δ of that guarantee; 0 by default.
        rho: The zCDP loss instead of `epsilon`.
        horizon: The number of ticks, such as the minutes of a day; None, the default, for a stream without end.
        unit: What is protected: "event" by default, or `Person(events=8)`.
        each: The most that one event adds to a count; 1 by default.
        method: "auto" by default: "blt" with δ, "tree" without; "sqrt" for comparison.
        pan_private: Whether the state is private at every moment; not by default.
        confidence: The confidence of each interval; 0.95 by default.
        name: The name of the count.
        path: A file for the state, which makes the counter durable; none by default.
        terms: What a vault has paid; for `vault.stream` only.

    >>> counter = Counter(epsilon=1, delta="1e-9", horizon=1440)
    >>> for visits in (12, 9, 15):
    ...     counter.add(visits)
    >>> now = counter.value
    >>> now.name, now.margin < 60
    ('count', True)
    >>> counter
    <counter 'count', tick 3 of 1,440>
    """

    kind = "counter"

    def __init__(
        self,
        *,
        epsilon: Rational | None = None,
        delta: Rational = 0,
        rho: Rational | None = None,
        horizon: int | None = None,
        unit: Unit = "event",
        each: int = 1,
        method: Method = "auto",
        pan_private: bool = False,
        confidence: Rational = "0.95",
        name: str = "count",
        path: str | Path | None = None,
        terms: Terms | None = None,
    ):
        agreed = terms or terms_of(epsilon, delta, rho, table=name)
        person, most = unit_of(unit), whole(each, "each")
        self._sums = sums_for(
            agreed, checked_horizon(horizon), unit=person, each=most, method=method, pan_private=pan_private
        )
        self.pan_private, self._last = pan_private, self._sums.horizon
        law, spread = self._sums.spread()
        noises = [Noise("the count at each tick", law, spread, float(most * person.events))]
        label = agreed.label(person, noises, "a count of a stream", [PAN if pan_private else SECRET])
        super().__init__(name=name, label=label, confidence=confidence, path=path)
        self._open(
            {
                "loss": str(agreed.loss),
                "horizon": self._sums.horizon,
                "unit": person.words,
                "each": most,
                "method": method,
                "pan_private": pan_private,
            }
        )

    @property
    def tick(self) -> int:
        """The ticks so far: where a source has to go on."""
        return self._sums.tick

    @property
    def horizon(self) -> int | None:
        """The number of ticks that the counter takes; None without an end."""
        return self._sums.horizon

    @property
    def loss(self) -> Any:
        """The privacy loss of everything that the counter ever shows."""
        return self._sums.loss

    def add(self, count: int = 1) -> None:
        """End a tick in which `count` events happened."""
        if type(count) is not int or not 0 <= count <= MOST:
            count = checked_count(count)
        with self._lock:
            if self._sums.tick == self._last:
                self._expect_room(1)
            if generation() != self._generation:
                self._expect_process()
            self._sums.push(count)

    def extend(self, counts: Sequence[int] | NDArray[Any]) -> StreamAnswer:
        """End many ticks at once, and return the private total after each of them."""
        exact = checked_counts(counts, None)
        with self._lock:
            self._expect_room(len(exact))
            self._expect_process()
            first = self.tick
            values = self._sums.push_many(exact)
            self._before_showing()
            ticks = np.arange(first + 1, self.tick + 1)
            return self._answer(values, self._sums.margins(ticks, self.alpha), tuple(ticks.tolist()))

    @property
    def value(self) -> Estimate:
        """The private total so far, with its interval."""
        return self.release().estimate

    def release(self) -> StreamAnswer:
        """Return the private total so far, with its label and receipt."""
        with self._lock:
            self._before_showing()
            margin = self._sums.margins(np.array([self.tick]), self.alpha)
            return self._answer(self._sums.value, margin, (self.tick,))

    def refresh(self) -> None:
        """Renew the noise of the state, after a look at it that was announced."""
        sums: Any = self._sums
        if not self.pan_private:
            raise ParameterError("Only a pan-private state can be renewed.", fix=Fix("pan_private", True))
        with self._lock:
            self._expect_process()
            sums.refresh()
            self._save()

    def _marked(self) -> bool:
        return self._sums.test_bits

    def _state(self) -> dict[str, Any]:
        return self._sums.state()

    def _restore(self, state: dict[str, Any]) -> None:
        self._sums.restore(state)
