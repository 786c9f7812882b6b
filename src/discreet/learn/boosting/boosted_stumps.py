"""Offer boosted stumps with scikit-learn's face: a vote of rules that the exponential mechanism chose.

Claim. A fitted model, with the noisy margins inside it, is (ε, δ)-differentially private, or ε-DP, for adding or
removing one person with all of their rows, as its label says. T rounds of ε₀ (`smooth_boosting`) and a histogram
of ρ′ or ε′ (`noisy_margins`) are (T·ε₀²/8 + ρ′)-zCDP and (T·ε₀ + ε′)-DP, however each step depends on the ones
before. ρ is chosen such that zCDP implies (ε, δ)-DP: the exponential mechanism is not Gaussian DP, so the
tighter conversion of Gaussian noise is not used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.examples import WHOLE, Examples
from discreet.errors import Fix, ParameterError
from discreet.kernel.gaussian_budget import Unit
from discreet.learn.boosting.boosted import _Boosted, noise_told
from discreet.learn.boosting.cells import placed
from discreet.learn.boosting.rules import Rules
from discreet.learn.boosting.smooth_boosting import SmoothBoosting, Vote
from discreet.learn.estimator import Columns
from discreet.learn.price import Price
from discreet.learn.training import Progress, State, Task, Training
from discreet.mechanisms import Gaussian, Laplace
from discreet.privacy.losses import Loss, describe
from discreet.privacy.theorems.calibration import rho_for
from discreet.rational import Rational, rational, shown, whole
from discreet.release.label import Noise

Floats = NDArray[np.float64]


class BoostedStumps(_Boosted):
    """A vote of rules that look at one column each, chosen one by one by the exponential mechanism.

    Args:
        epsilon: The ε of `fit(X, y)`; a vault gives its own.
        delta: The δ of `fit(X, y)`; 0 for pure differential privacy.
        columns: The declared columns of `fit(X, y)`; a vault has its own.
        classes: The declared classes of `fit(X, y)`, the second being the positive one.
        rounds: How many rules are chosen; 100 by default.
        step: How far each rule moves the log-odds; 0.15 by default.
        bins: The most cells of a number; 32 by default.
        certificate_share: The share of the budget for noisy margins; 0.03 by default, 0 for none.

    >>> import numpy as np, discreet as dp
    >>> age = np.arange(4000) % 100
    >>> model = BoostedStumps(epsilon=1, delta="1e-6", columns={"age": dp.Integer(0, 99)}, classes=[0, 1])
    >>> model.fit({"age": age}, (age >= 50).astype(int)).predict({"age": [5, 95]}).tolist()
    [0, 1]
    >>> model.certificate().private
    True
    """

    def __init__(
        self,
        *,
        epsilon: Rational | None = None,
        delta: Rational = 0,
        columns: Columns | None = None,
        classes: Sequence[Any] | None = None,
        rounds: int = 100,
        step: float = 0.15,
        bins: int = 32,
        certificate_share: Rational = "0.03",
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.columns = columns
        self.classes = classes
        self.rounds = rounds
        self.step = step
        self.bins = bins
        self.certificate_share = certificate_share

    def plan(self, task: Task, price: Price) -> Training:
        """Return what would be done for a price. It reads no row, and may refuse."""
        cells, rounds, share = self._cells(task), whole(self.rounds, "rounds"), self._share()
        if not 0 < rational(self.step, "step", floats="exact") <= 1:
            raise ParameterError(
                "step must be above 0 and at most 1.", found=shown(self.step), fix=Fix("step", 0.15)
            )
        last: Gaussian | Laplace | None = None
        if price.pure:
            epsilon = price.epsilon * (1 - share) / rounds
            last = Laplace.for_epsilon(price.epsilon * share, WHOLE) if share else None
        else:
            rho = concentrated(price)
            epsilon = root_below(8 * rho * (1 - share) / rounds)
            last = Unit(WHOLE).marginal(rho * share) if share else None
        boosting = SmoothBoosting(Rules(cells), epsilon, rounds, float(self.step))
        choice = boosting.mechanism

        def run(examples: Examples, tell: Progress) -> State:
            rows = placed(examples, cells, task)
            vote, tested = boosting.run(rows, tell)
            kept, marked = self._noisy(rows, last, cells, vote.of, float(rounds))
            used = len(set(vote.chosen))
            facts = {"Vote": f"{rounds} rules, {used} of them different, of {boosting.rules.hypotheses:,}"}
            state = {"cells": cells.as_json(), "chosen": list(vote.chosen), "step": boosting.step}
            return {**state, "margins": kept, "facts": facts, "test_bits": bool(tested or marked)}

        losses: list[Loss] = [choice.loss * rounds, *([] if last is None else [last.loss])]
        law = f"exponential mechanism, {rounds} times"
        chosen = Noise("choice of a rule", law, None, 1, describe(choice.loss))
        return Training(
            losses, run, [chosen, *noise_told(last)], f"Smooth boosting of {rounds} rules, step {self.step}."
        )

    def restore(self, state: State) -> None:
        """Set `vote_`, `rules_`, `cells_`, `classes_` and `noisy_margins_` from a released model."""
        self._restored(state)
        self.vote_ = Vote(self.rules_, tuple(map(int, state["chosen"])))
        self.step_ = float(state["step"])

    def _scores(self, cells: NDArray[np.integer]) -> Floats:
        found: Floats = self.step_ * self.vote_.of(cells).astype(np.float64)
        return found

    def _voters(self) -> list[tuple[int, float]]:
        return [(rule, float(sign)) for rule, sign in map(self.rules_.chosen, self.vote_.chosen)]


def concentrated(price: Price) -> Fraction:
    """Return the ρ that exponential mechanisms may spend: they are zCDP, and not Gaussian DP.

    >>> concentrated(Price.alone(1, "1e-5")) < (Price.alone(1, "1e-5").rho or 0)
    True
    """
    if not price.proves:
        return price.rho or Fraction(0)
    rho = rho_for(price.epsilon, price.delta)
    return rho if price.most is None else min(rho, price.most)


def root_below(square: Fraction) -> Fraction:
    """Return a square root, rounded down to twelve places.

    >>> root_below(Fraction(2)) ** 2 <= 2
    True
    """
    return Fraction(math.isqrt(math.floor(square * 10**24)), 10**12)
