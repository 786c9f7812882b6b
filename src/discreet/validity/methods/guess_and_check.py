"""Confirm a guess, or release a rounded score: Guess-and-Check (Rogers et al. 2020).

The analyst gives a guess, such as the score on training data. If Chernoff's interval around the holdout's mean
lies within g ± τ, the guess is released with that interval. If not, the holdout's mean is released, rounded to a
grid of about 1/√n, with the interval of every mean that rounds to it. An analyst who overfits learns this at the
cost of wider intervals afterwards: each surprise multiplies the histories that could have been
(`theorems.transcript`). A guess that is confirmed reveals nothing but that, and costs nearly nothing.

τ = w + √(ln(2k)/n), where w is Hoeffding's width of the present history, and the rest is what k pairs of honest
samples of n rows each differ by at most, about (Hoeffding again): honest guesses are hardly ever corrected. τ is
no wider than what is accepted, if an answer from the holdout is not.
"""

from __future__ import annotations

import math

from discreet.validity.methods.method import ROUNDING, Method, Reply, Terms, Total
from discreet.validity.theorems.concentration import chernoff_high, chernoff_low
from discreet.validity.theorems.sample_size import confirming, grid_values
from discreet.validity.theorems.transcript import log_share


class GuessAndCheck(Method):
    """Guess-and-Check."""

    name, title = "guess_and_check", "a guess if the holdout confirms it, else a rounded score"

    def __init__(self, terms: Terms):
        super().__init__(terms)
        self._values = grid_values(terms.rows)

    def width(self, more: int = 0) -> float:
        """Return the half-width of the next answer, if it comes from the holdout."""
        return self.hoeffding(self._log_failures(more)) + 0.5 / (self._values - 1) + ROUNDING

    def tolerance(self) -> float:
        """Return τ, the half-width of the next answer, if it is a guess that is confirmed."""
        full = self.hoeffding(self._log_failures()) + confirming(self.terms.rows, self.terms.queries)
        return min(full, max(self.terms.widest - ROUNDING, self.width()))

    def reply(self, total: Total, guess: float | None) -> Reply:
        """Return the guess if it is confirmed, else the rounded mean."""
        rows, mean, log_failures = self.terms.rows, self.mean(total), self._log_failures()
        if guess is not None:
            tolerance = self.tolerance()
            low, high = chernoff_low(mean, rows, log_failures), chernoff_high(mean, rows, log_failures)
            if guess - tolerance <= low and high <= guess + tolerance:
                return Reply.within(guess, guess - tolerance, guess + tolerance, "training")
        steps = self._values - 1
        rounded = round(mean * steps)
        low = chernoff_low(max(0.0, (rounded - 0.5) / steps), rows, log_failures)
        high = chernoff_high(min(1.0, (rounded + 0.5) / steps), rows, log_failures)
        return Reply.within(rounded / steps, low, high, "holdout")

    def _log_failures(self, more: int = 0) -> float:
        share = log_share(
            self.asked + more + 1,
            self.failures,
            values=self._values,
            refusals=self.refused,
            planned=self.terms.queries,
        )
        return math.log(2 / self.terms.beta) - share
