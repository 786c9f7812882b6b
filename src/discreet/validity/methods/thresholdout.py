"""Confirm a guess by a private test, or release a noisy score: Thresholdout (Dwork et al. 2015).

The test is that of the kernel, which the oracle uses as well: two-sided, with one-sided exact integer noise, and
runs that survive a restart. Claim and calibration are in `theorems.sparse_answers`. A question whose outcome was
lost counts as an alarm of both runs that it was announced for.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.errors import Fix, ParameterError
from discreet.kernel.journal import Journal
from discreet.kernel.threshold_test import Guard, Run, Side
from discreet.ledger.costs import cost
from discreet.mechanisms import Exact, Sensitivity
from discreet.privacy.losses import Loss, Pure
from discreet.release.label import Noise
from discreet.validity.methods.method import Method, Reply, Terms, Total
from discreet.validity.theorems.sparse_answers import GRAIN, SparseAnswers, certified, thresholdout


class Thresholdout(Method):
    """Thresholdout, with a budget of overfits."""

    name, title, limited, private = (
        "thresholdout",
        "a guess if a private test confirms it, else a noisy score",
        True,
        True,
    )

    def __init__(self, terms: Terms):
        super().__init__(terms)
        self._found = _calibrated(terms.rows, terms.queries, terms.overfits, self.beta)
        self._cost = cost(self._found.watch.loss).rho
        self._guard: Guard | None = None

    @property
    def losses(self) -> Loss:
        """The ε of all runs together, where one row is replaced."""
        return Pure(self._found.epsilon)

    @property
    def noise(self) -> list[Noise]:
        """The noise of a comparison."""
        spread = float(self._found.watch.query_scale) / (GRAIN * self.terms.rows)
        return [Noise("checks of scores", "geometric noise in a threshold test", spread, 1 / self.terms.rows)]

    @property
    def rho(self) -> Fraction:
        """What all runs cost, which the journal keeps count of."""
        return self._found.runs * self._cost

    def width(self, more: int = 0) -> float:
        """Return the half-width of a guess that is confirmed."""
        return self._widths.width

    @property
    def _widths(self) -> SparseAnswers:
        """The widths now: a question that failed on the holdout makes them wider, as the noise is fixed."""
        if not self.errors:
            return self._found
        return certified(self.terms.rows, self.terms.queries, self._found, self.beta)

    def widened(self) -> float:
        """Return the half-width for one answer, and one overfit, more."""
        terms = self.terms
        overfits = terms.overfits + (self.failures + self.refused >= terms.overfits)
        return _calibrated(terms.rows, max(terms.queries, self.asked + 1), overfits, self.beta).width

    @property
    def exhausted(self) -> bool:
        """Whether all questions were asked, or all overfits are used up."""
        if super().exhausted:
            return True
        over = [] if self._guard is None else [run for run in self._guard.runs if run.over]
        return len(over) >= self._found.runs - 1

    def begin(self, journal: Journal) -> dict[str, Any]:
        """Begin the runs of the test that are missing, and announce which are used."""
        runs = self._tests(journal).ready()
        if runs is None:  # `exhausted` is asked first
            raise ParameterError("All runs of the threshold test are used up.", fix=Fix("overfits", 2))
        return {"runs": [run.number for run in runs.values()]}

    def reply(self, total: Total, guess: float | None) -> Reply:
        """Return the guess, if the test does not find it wrong, else a noisy mean."""
        if guess is None:
            raise ParameterError(
                "Thresholdout compares the holdout with a guess.", fix=Fix("guess", 0.7, note="the training score")
            )
        scale, guard = GRAIN * self.terms.rows, self._guard
        predicted, runs = round(guess * scale), None if guard is None else guard.ready()
        if runs is None:
            raise ParameterError("All runs of the threshold test are used up.", fix=Fix("overfits", 2))
        alarm = sides_compared(runs, total(None), predicted, GRAIN)
        if alarm is None:
            width = self._widths.width
            return Reply.within(guess, guess - width, guess + width, "training")
        side, corrected = alarm
        value, width = corrected / scale, self._widths.holdout_width
        return Reply.within(value, value - width, value + width, "holdout", over=runs[side].number)

    def take(self, reply: Reply) -> None:
        """Count an answer; one from the holdout ends its run."""
        super().take(reply)
        if "over" in reply.facts and self._guard is not None:
            self._guard.end(int(reply.facts["over"]))

    def refuse(
        self, questions: int = 1, announced: Mapping[str, Any] | None = None, *, error: bool = False
    ) -> None:
        """Count questions without an answer; their runs may have given an alarm."""
        super().refuse(questions, error=error)
        for number in (announced or {}).get("runs", ()):
            if self._guard is not None:
                self._guard.end(int(number))

    def resume(self, record: Mapping[str, Any]) -> None:
        """Go on with a run that was begun elsewhere."""
        if record.get("begin") == "run" and self._guard is not None:
            self._guard.resume(dict(record))

    def bind(self, journal: Journal) -> None:
        """Take the journal that keeps the runs."""
        self._tests(journal)

    def _tests(self, journal: Journal) -> Guard:
        if self._guard is None:
            found = self._found
            self._guard = Guard(journal, found.watch, runs=found.runs, cost=self._cost, sensitivity=GRAIN)
        return self._guard


def sides_compared(
    runs: Mapping[Side, Run], total: int, predicted: int, sensitivity: int
) -> tuple[Side, int] | None:
    """Compare a sum with a prediction, from above and from below; return the side of an alarm, and a noisy sum.

    Args:
        runs: A run for each side. The first alarm ends its run, and leaves the other side untested.
        total: The exact sum.
        predicted: What it is compared with: a public integer.
        sensitivity: What one row adds to the sum, at most.

    >>> from discreet.kernel.threshold_test import Watch, start
    >>> watch = Watch(epsilon=1, threshold=1000, monotonic=True)
    >>> sides_compared({"up": start(watch, "up", 0), "down": start(watch, "down", 1)}, 500, 500, 1) is None
    True
    """
    signs: dict[Side, int] = {"up": 1, "down": -1}
    for side, sign in signs.items():
        sealed = Exact(sign * (total - predicted), Sensitivity(entries=1, each=sensitivity, monotonic=side))
        gap = runs[side].gap(sealed)
        if gap is not None:
            return side, predicted + sign * (runs[side].mechanism.threshold + int(gap))
    return None


def _calibrated(rows: int, queries: int, overfits: int, beta: float) -> SparseAnswers:
    found = thresholdout(rows, queries, overfits, beta)
    if found is None:
        raise ParameterError(
            "Thresholdout needs more noise than can be drawn.",
            found=f"{rows:,} rows, {queries:,} queries, {overfits:,} overfits",
            fix=Fix("method", "guess_and_check"),
        )
    return found
