"""Define what a stream releases: numbers with their intervals, the ticks they are of, a label and a receipt.

{"schema": "discreet stream answer 1", "ticks": [1440], "keys": [], "estimate": {…}, "receipt": {…}, "label": {…}}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.release import serialize
from discreet.release.estimate import Estimate
from discreet.release.label import Label
from discreet.release.receipt import Receipt
from discreet.release.released import Guarded, expect_schema
from discreet.render import numbers
from discreet.stream.label import restored

if TYPE_CHECKING:
    import altair

SCHEMA = "discreet stream answer 1"
"""The version of the JSON of an answer: the only one that is written and read."""


@dataclass(frozen=True)
class StreamAnswer(Guarded):
    """Numbers of a stream at one tick or at several, with one label for the whole stream.

    The guarantee in the label is that of everything that the stream ever releases, at all ticks together. So an
    answer costs nothing of its own.

    Args:
        estimate: The numbers with their intervals: one for each tick, or one for each key.
        ticks: The ticks that the numbers are of: one for each number, or one for all.
        keys: The keys that the numbers are of; empty for a single count.
        label: The facts about the stream.
    """

    estimate: Estimate
    ticks: tuple[int, ...]
    keys: tuple[str, ...] = ()
    label: Label = field(kw_only=True, repr=False, compare=False)

    @property
    def receipt(self) -> Receipt:
        """The charge of the whole stream."""
        return self.label.receipt

    @property
    def test_bits(self) -> bool:
        """Whether the noise was predictable."""
        return self.estimate.test_bits

    @property
    def value(self) -> float | None:
        """The number, of an answer that has only one."""
        return self.estimate.value

    @property
    def margin(self) -> float | None:
        """The margin of error of the only number."""
        return self.estimate.margin

    def plot(self, title: str = "") -> altair.LayerChart:
        """Draw the numbers over the ticks, with the band of their intervals."""
        from discreet.stream.plots import curve

        return curve(self, title=title)

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return {
            "schema": SCHEMA,
            "ticks": list(self.ticks),
            "keys": list(self.keys),
            "estimate": serialize.written_estimate(self.estimate),
            "receipt": self.receipt.in_numbers(),
            "label": serialize.written_label(self.label),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> StreamAnswer:
        """Return the answer that `to_json` wrote."""
        expect_schema(record, SCHEMA)
        with serialize.reading("answer of a stream"):
            return cls(
                estimate=serialize.read_estimate(record["estimate"]),
                ticks=tuple(serialize.of_type(int, tick) for tick in serialize.list_in(record["ticks"])),
                keys=tuple(serialize.of_type(str, key) for key in serialize.list_in(record["keys"])),
                label=restored(serialize.read_label(serialize.of_type(dict, record["label"]))),
            )

    def __str__(self) -> str:
        self.expect_release("showing it")
        sure = f"{float(100 * self.estimate.confidence):.4g} %"
        if not self.ticks:
            return f"{self.estimate.name}: no ticks"
        shown = [f"{self.estimate.name} at tick {self.ticks[-1]:,}, intervals of {sure}"]
        names = self.keys or tuple(f"tick {tick:,}" for tick in self.ticks)
        rows = zip(names, self.estimate.values, self.estimate.low, self.estimate.high, strict=True)
        for name, value, low, high in list(rows)[-20:]:
            ends = "no interval" if low is None or high is None else f"{_short(low)} to {_short(high)}"
            shown.append(f"  {name}: {'no answer' if value is None else _short(value)} ({ends})")
        return "\n".join(shown)


def _short(number: float) -> str:
    return numbers.number(number) if abs(number) < 1000 else f"{number:,.0f}"
