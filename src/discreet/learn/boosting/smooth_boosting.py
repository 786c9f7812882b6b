"""Boost rules privately: smooth weights, and one exponential mechanism in every round.

After t rounds the vote is f(x) = step·Σ signs·rules. A row has the weight q = ⌊QUANTUM·min(1, e^{−y·f(x)})⌋, and
the next rule is chosen by the exponential mechanism with the score Σ w·q·y·h(x) over H: both signs of every
rule.

Claim. Neighbours differ by one person, with all of their rows. The weights w of one person add up to at most
WHOLE and q is at most QUANTUM, so one person moves every score by at most Δ = WHOLE·QUANTUM: q depends on the
row itself and on rules that were released, and on no other row, because the weights are not normalised. A round
is an exponential mechanism of ε₀, hence ε₀²/8-zCDP, and T rounds are T·ε₀²/8-zCDP, however each depends on the
ones before (and T·ε₀-DP, which is what a pure budget pays). Scores are exact integers. The cap at 1 makes the
boosting smooth: no row has more than QUANTUM, as in Servedio 2003 and in the private boosting of Bun, Carmosino
and Sorrell 2020, whose projection onto bounded densities is not needed here.

The rounds descend the loss with the slope −min(1, e^{−m}) in the margin m, whose best f(x) is the log-odds of y:
1/(1 + e^{−f(x)}) estimates a probability. Theory: docs/theory/boosting.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.engines.examples import WHOLE, Batch, Examples
from discreet.learn.boosting.cells import CELLS, SIGNS, histogram
from discreet.learn.boosting.rules import Rules
from discreet.mechanisms import Exact, Exponential, Sensitivity

Integers = NDArray[np.int64]

QUANTUM = 4096
"""The weight of a row that the vote has wrong, before that of its person."""

DELTA = WHOLE * QUANTUM
"""The most that one person moves a score."""


@dataclass(frozen=True)
class Vote:
    """Rules that were chosen, with their signs, in order. Everything in it is public."""

    rules: Rules
    chosen: tuple[int, ...] = ()
    """Indices into H."""

    @cached_property
    def tally(self) -> Integers:
        """The sum of the votes in each cell: added up over the columns, it is the vote of a row."""
        total = np.zeros(self.rules.cells.size, np.int64)
        for index in self.chosen:
            rule, sign = self.rules.chosen(index)
            total += sign * self.rules.votes[rule]
        return total

    def of(self, cells: NDArray[np.integer]) -> Integers:
        """Return Σ signs·rules for rows, given their cells: integers from −T to T."""
        found: Integers = self.tally[cells].sum(axis=1)
        return found

    def and_then(self, index: int) -> Vote:
        """Return the vote with one more hypothesis."""
        return Vote(self.rules, (*self.chosen, index))

    @property
    def weights(self) -> list[int]:
        """How often each distinct hypothesis was chosen."""
        return list(Counter(self.chosen).values())


@dataclass(frozen=True)
class SmoothBoosting:
    """Rounds of private boosting.

    Args:
        rules: The rules.
        epsilon: ε₀, the ε of the exponential mechanism of one round.
        rounds: T, how many rules are chosen.
        step: How far each rule moves the vote.
    """

    rules: Rules
    epsilon: Fraction
    rounds: int
    step: float

    @property
    def mechanism(self) -> Exponential:
        """The choice of one round."""
        return Exponential(self.epsilon, DELTA)

    @cached_property
    def smooth(self) -> Integers:
        """⌊QUANTUM·min(1, e^{−step·k})⌋ for k = 0 … T. Rows with a vote below 0 have the weight of k = 0."""
        return np.array([math.floor(QUANTUM * math.exp(-self.step * k)) for k in range(self.rounds + 1)], np.int64)

    def sums(self, vote: Vote) -> Callable[[Batch], list[NDArray[np.float64]]]:
        """Return what adds up Σ w·q·y over the rows of each cell."""

        def part(batch: Batch) -> list[NDArray[np.float64]]:
            cells, signs = batch.codes[CELLS], batch.codes[SIGNS].astype(np.int64)
            right = np.clip(signs * vote.of(cells), 0, self.rounds)
            weighed = self.smooth[right] * batch.weights.astype(np.int64) * signs
            return [histogram(cells, weighed, self.rules.cells.size)]

        return part

    def round(self, examples: Examples, vote: Vote) -> tuple[Vote, bool]:
        """Return the vote with the next rule, and whether it was chosen by predictable bits."""
        [found] = examples.total(self.sums(vote))
        index = self.mechanism.release(Exact(self.rules.scores(found), Sensitivity(each=DELTA)))
        return vote.and_then(int(index)), noise.is_test_noise(index)

    def run(self, examples: Examples, tell: Callable[[str, float], None]) -> tuple[Vote, bool]:
        """Return the vote after all rounds, on rows made by `placed`."""
        vote, tested = Vote(self.rules), False
        for count in range(self.rounds):
            tell("boosting", count / self.rounds)
            vote, marked = self.round(examples, vote)
            tested |= marked
        return vote, tested
