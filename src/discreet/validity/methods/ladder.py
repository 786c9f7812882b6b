"""Climb a ladder: tell the best score so far, and change it only if a model is clearly better (Blum, Hardt 2015).

Let η be the step of a grid, and R the best loss so far, a multiple of η. A model whose loss on the holdout is
below R − η becomes the best, and R becomes its loss, rounded. Any other model gets R as its answer.

Claim. With Hoeffding's or Chernoff's width at the share of β that the history of improvements has
(`theorems.transcript`), the least loss on the population of all models so far lies in [low(R − η), high(R +
η/2)], and so does that of the best one. Proof: the best one has a loss on the holdout within η/2 of R. A model
that did not improve had a loss of at least R′ − η for an earlier R′ ≥ R; one that did was within η/2 of an R′ ≥
R. The ends are monotone in the mean on the holdout, and the share never grows. ∎
"""

from __future__ import annotations

import math

from discreet.validity.methods.method import ROUNDING, Method, Reply, Terms, Total
from discreet.validity.theorems.concentration import chernoff_high, chernoff_low
from discreet.validity.theorems.sample_size import ladder_steps
from discreet.validity.theorems.transcript import log_share

_NOTE = "No better than the best so far, by a step or more: this is the best so far."


class Ladder(Method):
    """The Ladder, with a certificate that depends on how often the best score changed."""

    name, title = "ladder", "the best score so far"

    def __init__(self, terms: Terms):
        super().__init__(terms)
        self._steps = ladder_steps(terms.rows)
        self._best: int | None = None
        self._worst = 0.0

    def width(self, more: int = 0) -> float:
        """Return the half-width of the next answer."""
        return self.hoeffding(self._log_failures(more)) + 1 / self._steps + ROUNDING

    def reply(self, total: Total, guess: float | None) -> Reply:
        """Return the score of the best model so far."""
        mean = self.mean(total)
        loss = 1 - mean if self.terms.greater_is_better else mean
        better = self._best is None or loss * self._steps < self._best - 1
        level = round(loss * self._steps) if better else self._best or 0
        rows, log_failures, step = self.terms.rows, self._log_failures(), 1 / self._steps
        low = chernoff_low(max(0.0, (level - 1) * step), rows, log_failures)
        high = chernoff_high(min(1.0, (level + 0.5) * step), rows, log_failures)
        value, note, facts = level * step, "" if better else _NOTE, {"level": level, "better": better}
        if not self.terms.greater_is_better:
            return Reply.within(value, low, high, "holdout", note, **facts)
        return Reply.within(1 - value, 1 - high, 1 - low + ROUNDING, "holdout", note, **facts)

    def take(self, reply: Reply) -> None:
        """Count an answer, and whether it is a new best."""
        self._worst = self._log_failures()
        self.asked += 1
        self.failures += bool(reply.facts["better"])
        self._best = int(reply.facts["level"])

    def _log_failures(self, more: int = 0) -> float:
        share = log_share(
            self.asked + more + 1,
            self.failures,
            values=self._steps + 1,
            refusals=self.refused,
            falling=True,
            planned=self.terms.queries,
        )
        return max(self._worst, math.log(2 / self.terms.beta) - share)
