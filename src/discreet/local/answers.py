"""What a server says after counting: each value with its share, an interval, and what liars could have done.

A frequency is off for two reasons: the noise of honest devices, which the interval covers, and devices that lie.
A single report, honest or not, moves an estimate by `influence`/n at most, and a fraction γ of liars moves it by
γ·influence: this is printed beside the interval and is no part of it. Tested in tests/local/test_aggregator.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

from discreet.errors import ParameterError
from discreet.local.descriptor import Collection
from discreet.local.estimates import Estimate
from discreet.rational import Rational, rational

_SHOWN = 20  # values of a table


@dataclass(frozen=True)
class Answer:
    """An estimate with the labels of its collection."""

    collection: Collection
    estimate: Estimate
    rejected: Mapping[str, int] = field(default_factory=dict)
    repeated: int = 0

    @property
    def labels(self) -> list[str]:
        """What each number of the estimate is about."""
        count = len(self.estimate.values)
        if self.collection.labels is not None and len(self.collection.labels) == count:
            return list(self.collection.labels)
        return ["mean"] if count == 1 else [str(place) for place in range(count)]

    def consistent(self) -> Answer:
        """Return the nearest distribution: nothing below zero, all adding up to one. It is biased, and says so."""
        return Answer(self.collection, self.estimate.consistent(), self.rejected, self.repeated)

    def liars(self, fraction: Rational = "0.01") -> float:
        """Return by how much this fraction of lying devices can move one number at most."""
        share = rational(fraction, "fraction", floats="exact")
        if not 0 <= share <= 1:
            raise ParameterError(f"a fraction of the devices is from 0 to 1, not {fraction!r}.")
        return float(share) * float(self.collection.randomiser.influence)

    def rows(self, confidence: Rational = "0.95") -> list[tuple[str, float, float, float]]:
        """Return label, share, and the ends of its interval, the largest share first."""
        low, high = self.estimate.interval(confidence)
        found = zip(self.labels, self.estimate.values.tolist(), low.tolist(), high.tolist(), strict=True)
        return sorted(found, key=lambda row: -row[1])

    def _title(self) -> str:
        refused = sum(self.rejected.values())
        parts = [f"{self.collection.name}: {self.estimate.n:,} reports", self.estimate.kind]
        parts += [f"{refused:,} refused"] * bool(refused) + [f"{self.repeated:,} counted twice"] * bool(
            self.repeated
        )
        return ", ".join(parts)

    def _notes(self) -> list[str]:
        lies = f"1 % of devices lying could move a number by {self.liars('0.01'):.4f}, beyond these intervals."
        return [lies, *self.collection.guarantee().split("\n")]

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(label) for label, *_ in rows[:_SHOWN])
        lines = [f"{label:<{width}}  {share:8.4f}  ({low:.4f} to {high:.4f})" for label, share, low, high in rows]
        more = [f"… and {len(rows) - _SHOWN} more"] * (len(rows) > _SHOWN)
        return "\n".join([self._title(), *lines[:_SHOWN], *more, *self._notes()])

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td>{escape(label)}</td><td>{share:.4f}</td><td>{low:.4f} to {high:.4f}</td></tr>"
            for label, share, low, high in self.rows()[:_SHOWN]
        )
        notes = "".join(f"<p>{escape(note)}</p>" for note in self._notes())
        head = "<tr><th>value</th><th>share</th><th>95 % interval</th></tr>"
        return f"<p>{escape(self._title())}</p><table>{head}{cells}</table>{notes}"
