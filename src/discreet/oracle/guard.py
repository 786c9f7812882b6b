"""The runs of an oracle's sentry: one for either side, begun when needed, over at their first alarm.

What a run costs is on the disk before anything is compared with its line, and so is the line: a run that was begun
before a restart goes on with the line that it had.
"""

from __future__ import annotations

from typing import Any

from discreet.oracle import threshold_test
from discreet.oracle.journal import Journal
from discreet.oracle.linear_query import GRAIN
from discreet.oracle.pricing import Prices, Terms
from discreet.oracle.threshold_test import Line, Run, Side, Watch

SIDES: tuple[Side, Side] = ("up", "down")


class Guard:
    """All runs of one oracle so far, of which the newest of either side may still go on."""

    def __init__(self, journal: Journal, terms: Terms, prices: Prices):
        self._journal, self._terms, self._prices = journal, terms, prices
        self._runs: dict[int, Run] = {}

    @property
    def runs(self) -> tuple[Run, ...]:
        """Every run, the oldest first."""
        return tuple(self._runs.values())

    @property
    def to_come(self) -> int:
        """How many runs are still to come: what they cost is not for payments."""
        return self._prices.runs - len(self._runs)

    def ready(self) -> dict[Side, Run] | None:
        """Return a run for either side, begun if need be; None if there is not enough left for them."""
        watch, price = self._prices.watch, self._prices.run
        if watch is None:
            return None
        newest = {run.side: run for run in self._runs.values()}
        missing = [side for side in SIDES if side not in newest or newest[side].over]
        if len(missing) > self.to_come or len(missing) * price > self._journal.left:
            return None
        return newest | {side: self._begun(watch, side) for side in missing}

    def resume(self, record: dict[str, Any]) -> None:
        """Go on with a run that was begun before. One that was drawn for another sentry is over."""
        drawn = Watch(
            record["epsilon"], record["threshold"], sensitivity=self._terms.moves * GRAIN, monotonic=True
        )
        run = Run(Line(drawn, int(record["line"])), record["side"], record["run"])
        run.over = drawn != self._prices.watch
        self._runs[run.number] = run

    def end(self, number: int) -> None:
        """A run that gave an alarm, or may have given one that somebody saw, is over."""
        self._runs[number].over = True

    def _begun(self, watch: Watch, side: Side) -> Run:
        """Draw a new line for a side, and set aside what it costs."""
        made = threshold_test.start(watch, side, len(self._runs))
        drawn = {"epsilon": str(watch.epsilon), "threshold": watch.threshold}
        self._journal.begin(
            "run", self._prices.run, side=side, run=made.number, line=int(made.line.height), **drawn
        )
        self._runs[made.number] = made
        return made
