"""Offer boosted histograms with scikit-learn's face: an additive model that needs sums by group only.

Claim. A fitted model, with the noisy counts and margins inside it, is (ε, δ)-differentially private, or ε-DP,
for adding or removing one person with all of their rows, as its label says. With Gaussian noise all histograms
together (`cyclic_boosting`, `noisy_margins`) are ρ-zCDP and √(2ρ)-Gaussian DP, which is (ε, δ)-DP; with Laplace
noise their ε add up. Costs are fixed in advance, and each step may depend on the ones before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.examples import WHOLE, Examples
from discreet.errors import Fix, ParameterError
from discreet.kernel.gaussian_budget import Unit, spent
from discreet.learn.boosting.boosted import _Boosted, noise_told
from discreet.learn.boosting.cells import placed
from discreet.learn.boosting.cyclic_boosting import GRID, CyclicBoosting, Shapes
from discreet.learn.boosting.margins import Margins, margins
from discreet.learn.boosting.rule_weights import rule_weights
from discreet.learn.boosting.rules import Rules
from discreet.learn.estimator import Columns
from discreet.learn.price import Price
from discreet.learn.shape_charts import named
from discreet.learn.shapes import Shapes as ShapeFunctions
from discreet.learn.shapes import additive
from discreet.learn.training import Progress, State, Task, Training
from discreet.mechanisms import Gaussian, Laplace
from discreet.privacy.losses import Loss, ZeroConcentrated
from discreet.rational import Rational, rational, shown, whole

Floats = NDArray[np.float64]


class BoostedHistograms(_Boosted):
    """An additive model, boosted column after column on noisy histograms: it needs sums by group only.

    Args:
        epsilon: The ε of `fit(X, y)`; a vault gives its own.
        delta: The δ of `fit(X, y)`; 0 for pure differential privacy.
        columns: The declared columns of `fit(X, y)`; a vault has its own.
        classes: The declared classes of `fit(X, y)`, the second being the positive one.
        epochs: How often each column has its turn; 6 by default.
        rate: How much of a Newton step is taken; 0.7 by default.
        bins: The most cells of a number; 32 by default.
        count_share: The share of the budget for counts; 0.05 by default.
        certificate_share: The share of the budget for noisy margins; 0.03 by default, 0 for none.

    >>> import numpy as np, discreet as dp
    >>> age = np.arange(4000) % 100
    >>> model = BoostedHistograms(epsilon=1, delta="1e-6", columns={"age": dp.Integer(0, 99)}, classes=[0, 1])
    >>> model.fit({"age": age}, (age >= 50).astype(int)).predict({"age": [5, 95]}).tolist()
    [0, 1]
    """

    def __init__(
        self,
        *,
        epsilon: Rational | None = None,
        delta: Rational = 0,
        columns: Columns | None = None,
        classes: Sequence[Any] | None = None,
        epochs: int = 6,
        rate: float = 0.7,
        bins: int = 32,
        count_share: Rational = "0.05",
        certificate_share: Rational = "0.03",
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.columns = columns
        self.classes = classes
        self.epochs = epochs
        self.rate = rate
        self.bins = bins
        self.count_share = count_share
        self.certificate_share = certificate_share

    def plan(self, task: Task, price: Price) -> Training:
        """Return what would be done for a price. It reads no row, and may refuse."""
        cells, epochs, share = self._cells(task), whole(self.epochs, "epochs"), self._share()
        counted = rational(self.count_share, "count_share", floats="exact")
        if not 0 < counted < 1:
            found = shown(self.count_share)
            raise ParameterError(
                "count_share must lie between 0 and 1.", found=found, fix=Fix("count_share", "0.05")
            )
        if not 0 < rational(self.rate, "rate", floats="exact") <= 2:
            raise ParameterError(
                "rate must be above 0 and at most 2.", found=shown(self.rate), fix=Fix("rate", 0.7)
            )
        case = {"share": counted, "epochs": epochs, "rate": float(self.rate)}
        last: Gaussian | Laplace | None = None
        if price.rho is None:
            boosting = CyclicBoosting.laplace(cells, price.epsilon * (1 - share), **case)  # type: ignore[arg-type]
            last = Laplace.for_epsilon(price.epsilon * share, WHOLE) if share else None
        else:
            boosting = CyclicBoosting.gaussian(cells, price.rho * (1 - share), **case)  # type: ignore[arg-type]
            last = Unit(WHOLE).marginal(price.rho * share) if share else None

        def run(examples: Examples, tell: Progress) -> State:
            rows = placed(examples, cells, task)
            shapes, counts, tested = boosting.run(rows, tell)
            total = float(np.abs(rule_weights(Rules(cells), shapes.start / GRID, shapes.cells / GRID)).sum())
            kept, marked = self._noisy(rows, last, cells, shapes.scores, total)
            state = {"cells": cells.as_json(), "start": shapes.start, "shapes": shapes.cells.tolist()}
            facts = {"Shapes": f"{len(cells.blocks)} columns, {cells.size:,} cells, {epochs} epochs"}
            rounded = {"counts": [round(float(count), 3) for count in counts]}
            return {**state, **rounded, "margins": kept, "facts": facts, "test_bits": bool(tested or marked)}

        noises = [*boosting.mechanisms, *([] if last is None else [last])]
        method = f"Cyclic boosting of {len(cells.blocks)} columns on noisy histograms, {epochs} epochs."
        told = [
            *noise_told(boosting.counts, "rows in a cell"),
            *noise_told(boosting.residuals, "residuals in a cell"),
        ]
        return Training(_summed(noises), run, [*told, *noise_told(last)], method)

    def restore(self, state: State) -> None:
        """Set `shapes_`, `intercept_`, `cells_`, `classes_` and `noisy_margins_` from a released model."""
        self._restored(state)
        self.model_ = Shapes(int(state["start"]), np.array(state["shapes"], np.int64))
        self.intercept_ = self.model_.start / GRID
        self.shapes_ = {b.name: self.model_.cells[b.cells] / GRID for b in self.cells_.blocks}
        self._weights = rule_weights(self.rules_, self.intercept_, self.model_.cells / GRID)

    def shapes(self) -> ShapeFunctions:
        """Return what each value of each column adds to the log-odds. It is post-processing, and costs nothing."""
        self._expect_fitted()
        ends = {b.name: [(b.column.levels or 1) - 1] if b.ordered else [] for b in self.cells_.blocks}
        places = {b.name: [0, *b.edges, *ends[b.name]] for b in self.cells_.blocks}
        unit = f"log-odds of {named(self.classes_[-1])}"
        return additive(self, unit, lambda codes: self._scores(self.cells_.place(codes)), places, steps=True)

    def margins(self, X: Any, y: Any) -> Margins:
        """Return the margins by the whole vote, whose rules have no order. Not private, if the rows are not."""
        return margins(self, X, y, rounds=[len(self._voters())])

    def _scores(self, cells: NDArray[np.integer]) -> Floats:
        return self.model_.scores(cells)

    def _voters(self) -> list[tuple[int, float]]:
        return [(rule, weight) for rule, weight in enumerate(self._weights.tolist()) if weight]


def _summed(noises: Sequence[Gaussian | Laplace]) -> list[Loss]:
    """Return what is charged: one ρ for all Gaussian noise, or every Laplace noise by itself."""
    gaussian = [noise for noise in noises if isinstance(noise, Gaussian)]
    if gaussian:
        return [ZeroConcentrated(spent(gaussian))]
    counts: dict[Loss, int] = {}
    for noise in noises:
        counts[noise.loss] = counts.get(noise.loss, 0) + 1
    return [loss * count for loss, count in counts.items()]
