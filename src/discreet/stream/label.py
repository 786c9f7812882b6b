"""Label what a stream releases: whom it protects, and what a stream does otherwise than a sealed table.

Nothing is scaled down in a stream. The number of events of one person is a promise of its source, which
`stream.bounded` makes a fact.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from discreet.release.label import Facts, Label

ALL_EVENTS = 2**31
"""As many events as a person of `Distinct` may cause: any number."""


@dataclass(frozen=True)
class StreamLabel(Label):
    """The label of everything that a stream releases."""

    @property
    def unit(self) -> str:
        """The unit of privacy."""
        if self.person is None:
            return "one event"
        return f"one person: {self._events}"

    @property
    def neighbours(self) -> str:
        """The pairs of streams that must not be told apart."""
        whose = "one event" if self.person is None else f"{self._events} of one person"
        return f"two streams, one of which lacks {whose}"

    @property
    def contribution(self) -> str:
        """The most that one person adds."""
        if self.person is None:
            return "every event counts in full, and is protected by itself"
        if self.rows_per_person >= ALL_EVENTS:
            return "a person may cause any number of events"
        return (
            f"{self._events} of one person are protected: a promise of the source, which is not checked here; "
            "nothing is scaled down or left out"
        )

    @property
    def facts(self) -> Facts:
        """All facts, under headings."""
        found = super().facts
        del found["Means"]["Groups"]
        found["Means"]["Published without noise"] = "the number of ticks, and when they ended"
        found["Means"]["Timing"] = (
            "The time of a draw of noise does not depend on the value drawn. The time at which events arrive is "
            "not hidden."
        )
        found["Means"]["Trust"] = "central: the process that counts sees the events; analysts see releases only"
        found["Bounds"] = {"Not in the intervals": "Intervals cover the noise only, not events that were missed."}
        found["Origin"] = {"Stream": self.table, **{k: v for k, v in found["Origin"].items() if k != "Table"}}
        return found

    @property
    def _events(self) -> str:
        return "all events" if self.rows_per_person >= ALL_EVENTS else f"at most {self.rows_per_person:,} events"


def restored(label: Label) -> StreamLabel:
    """Return the label of a stream from the plain label that was read from JSON."""
    held: dict[str, Any] = {field.name: getattr(label, field.name) for field in fields(Label)}
    return StreamLabel(**held)
