"""Count the events of a stream by key: a private histogram at every moment, on one charge.

Claim. As of a `Counter`, for the counts of all keys at all ticks together. An event has one key, so it moves one
column of one key's strategy, and the columns of keys are orthogonal: the noise of each key is that of a single
counter. A person with k events changes most if all have the same key, which a `Counter` of the same unit covers
(`factorisations.units`). Keys are declared; an event with another key is counted nowhere, or under `other`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Code, Fix, ParameterError
from discreet.rational import Rational, shown, whole
from discreet.release.estimate import Estimate
from discreet.release.label import Noise
from discreet.stream.answer import StreamAnswer
from discreet.stream.counter import PAN, SECRET, Method, sums_for
from discreet.stream.factorisations.units import Unit, unit_of
from discreet.stream.session import Session, checked_counts
from discreet.stream.terms import Terms, checked_count, checked_horizon, terms_of


class Histogram(Session):
    """Count a stream by key, privately at every moment.

    Args:
        keys: The keys, which are public. The order is that of the answers.
        epsilon: The guarantee of everything that the histogram ever shows. Without `delta` it is pure.
        delta: The δ of that guarantee; 0 by default.
        rho: The zCDP loss instead of `epsilon`.
        horizon: The number of ticks; None, the default, for a stream without end.
        unit: What is protected: "event" by default, or `Person(events=8)`.
        each: The most that one event adds to a count; 1 by default.
        other: The key that counts events with a key that is not declared; None, the default, counts them nowhere.
        method: "auto" by default, as of a `Counter`.
        pan_private: Whether the state is private at every moment; not by default.
        confidence: The confidence of each interval; 0.95 by default.
        name: The name of the counts.
        path: A file for the state, which makes the histogram durable; none by default.
        terms: What a vault has paid; for `vault.stream` only.

    >>> pages = Histogram(["home", "cart"], epsilon=1, delta="1e-9", horizon=1440)
    >>> pages.add({"home": 31, "cart": 4})
    >>> pages.add(["home", "home", "unknown"])
    >>> pages.release().keys
    ('home', 'cart')
    """

    kind = "histogram"

    def __init__(
        self,
        keys: Sequence[str],
        *,
        epsilon: Rational | None = None,
        delta: Rational = 0,
        rho: Rational | None = None,
        horizon: int | None = None,
        unit: Unit = "event",
        each: int = 1,
        other: str | None = None,
        method: Method = "auto",
        pan_private: bool = False,
        confidence: Rational = "0.95",
        name: str = "count",
        path: str | Path | None = None,
        terms: Terms | None = None,
    ):
        self.keys, self.other = checked_keys(keys), other
        self._place = {key: place for place, key in enumerate(self.keys)}
        if other is not None and other not in self._place:
            raise ParameterError("`other` must be one of the keys.", found=shown(other), fix=Fix("other", None))
        agreed = terms or terms_of(epsilon, delta, rho, table=name)
        person, most = unit_of(unit), whole(each, "each")
        options: dict[str, Any] = {"unit": person, "each": most, "method": method, "pan_private": pan_private}
        self._sums = sums_for(agreed, checked_horizon(horizon), keys=len(self.keys), **options)
        self.pan_private = pan_private
        law, spread = self._sums.spread()
        noises = [Noise("the count of each key at each tick", law, spread, float(most * person.events))]
        label = agreed.label(person, noises, "counts of a stream by key", [PAN if pan_private else SECRET])
        super().__init__(name=name, label=label, confidence=confidence, path=path)
        facts = {"loss": str(agreed.loss), "horizon": self._sums.horizon, "unit": person.words, "each": most}
        self._open({**facts, "keys": list(self.keys), "method": method, "pan_private": pan_private})

    @property
    def tick(self) -> int:
        """The ticks so far: where a source has to go on."""
        return self._sums.tick

    @property
    def horizon(self) -> int | None:
        """The number of ticks that the histogram takes; None without an end."""
        return self._sums.horizon

    @property
    def loss(self) -> Any:
        """The privacy loss of everything that the histogram ever shows."""
        return self._sums.loss

    def add(self, events: Mapping[str, int] | Sequence[str]) -> None:
        """End a tick with these events: counts by key, or the key of each event."""
        counts = self._counted(events)
        with self._lock:
            self._expect_room(1)
            self._expect_process()
            self._sums.push(counts)

    def extend(self, counts: Any) -> None:
        """End many ticks at once: one row of counts per tick, one column per key."""
        exact = checked_counts(counts, len(self.keys))
        with self._lock:
            self._expect_room(len(exact))
            self._expect_process()
            self._sums.push_many(exact)

    @property
    def value(self) -> Estimate:
        """The private counts so far, one for each key, with their intervals."""
        return self.release().estimate

    def release(self) -> StreamAnswer:
        """Return the private counts so far, with their label and receipt."""
        with self._lock:
            self._before_showing()
            margin = float(self._sums.margins(np.array([self.tick]), self.alpha)[0])
            return self._answer(
                self._sums.value, np.full(len(self.keys), margin), (self.tick,), tuple(map(str, self.keys))
            )

    def refresh(self) -> None:
        """Renew the noise of the state, after a look at it that was announced."""
        sums: Any = self._sums
        if not self.pan_private:
            raise ParameterError("Only a pan-private state can be renewed.", fix=Fix("pan_private", True))
        with self._lock:
            self._expect_process()
            sums.refresh()
            self._save()

    def _counted(self, events: Mapping[str, int] | Sequence[str]) -> NDArray[np.int64]:
        if isinstance(events, str | bytes) or not isinstance(events, Iterable):
            raise ParameterError(
                "The events of a tick are counts by key, or the key of each event.",
                found=type(events).__name__,
                fix=f"Nothing was added. Write add([{self.keys[0]!r}]).",
            )
        counts = np.zeros(len(self.keys), np.int64)
        rest = None if self.other is None else self._place[self.other]
        pairs = events.items() if isinstance(events, Mapping) else ((key, 1) for key in events)
        for key, count in pairs:
            try:
                place = self._place.get(key, rest)
            except TypeError:  # a key that cannot be looked up is not declared
                place = rest
            if place is not None:
                counts[place] += checked_count(count)
        return counts

    def _marked(self) -> bool:
        return self._sums.test_bits

    def _state(self) -> dict[str, Any]:
        return self._sums.state()

    def _restore(self, state: dict[str, Any]) -> None:
        self._sums.restore(state)


def checked_keys(keys: Sequence[str]) -> tuple[str, ...]:
    """Return the declared keys, which are not empty and differ.

    >>> checked_keys(["home", "cart"])
    ('home', 'cart')
    """
    found = () if isinstance(keys, str) else tuple(keys)
    if not found or len(set(found)) != len(found):
        raise ParameterError(
            "The keys of a histogram are declared: a list of different names.",
            found=shown(keys),
            fix=Fix("keys", Code('["home", "cart"]')),
        )
    return found
