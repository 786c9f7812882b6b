"""Offer linear regression with scikit-learn's face, from moments that the engine adds up.

Claim. A fitted model is (ε, δ)-differentially private, or ε-DP, for adding or removing one person with all of
their rows. Two vectors of exact integers are released with noise, the moments of the features and those with the
target (`discreet.learn.statistics.design` bounds how much a person moves them), and perhaps a count that chooses
the features. Everything else is computed from them. Ranges and categories are declared; the number of released
entries is public. Theory: docs/theory/linear-regression.md.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from discreet.engines.examples import WHOLE, Examples
from discreet.errors import Code, Fix, ParameterError
from discreet.learn.estimator import Columns, PrivateEstimator
from discreet.learn.feature_map import SCALE, FeatureMap
from discreet.learn.methods.problem import Count, MapChoice, Problem, feature_maps
from discreet.learn.price import Price
from discreet.learn.shapes import Shapes, additive, knots
from discreet.learn.statistics.design import Design, is_number, present
from discreet.learn.statistics.least_squares import solved
from discreet.learn.statistics.moments import moments, weight
from discreet.learn.statistics.noisy_sums import NoisySums, amounts, divided, loss_of, moved
from discreet.learn.statistics.scaled_column import ScaledColumn
from discreet.learn.training import Progress, State, Task, Training
from discreet.mechanisms import Sensitivity
from discreet.rational import Rational, rational, shown
from discreet.release.estimate import Estimate
from discreet.schema import Boolean, Column, Integer, Real

Floats = NDArray[np.float64]

GRID = 24
"""Coefficients are written as multiples of 2⁻²⁴."""

MOST = 2000
"""The most features: their moments are a matrix, which is decomposed."""

_SHARES = {"features": 0.5, "target": 0.5}
_COUNT = 0.01  # of the price, if a count chooses between two maps
_NORMAL = 1.959963984540054  # 95 % of a normal law lie within so many deviations
APPROXIMATE = (
    "approximate: a normal approximation of noise and sample, about the coefficients of the regularised regression"
)


class _LinearModel(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """What both regressions share."""

    target_column: Column | None
    feature_map: MapChoice

    @property
    def strength(self) -> float | None:
        """How much λ is wanted, as a multiple of its usual size; None for as little as the noise allows."""
        raise NotImplementedError

    def outcome(self) -> Column:
        """Return the declaration of the target."""
        if self.target_column is None:
            raise ParameterError(
                "The target must be declared: its range is public, and not read off the data.",
                fix=Fix("target_column", Code("dp.Real(0, 500_000, step=100)")),
            )
        return self.target_column

    def plan(self, task: Task, price: Price) -> Training:
        """Return what would be done for a price. It reads no row, and may refuse."""
        if not isinstance(task.outcome, Integer | Real | Boolean):
            raise ParameterError(
                f"A regression predicts a number, and {task.target!r} is none.",
                found=type(task.outcome).__name__,
                fix="Use LogisticRegression, or seal the target as an Integer or a Real.",
            )
        factor = self.strength
        if factor is not None and not 0 <= factor < 1e6:
            raise ParameterError(
                "regularisation is a multiple of the usual one, from 0 to a million.",
                found=shown(factor),
                fix=Fix("regularisation", 1),
            )
        maps = tuple(one for one in feature_maps(task, self.feature_map) if one.size <= MOST)
        if not maps:
            raise ParameterError(
                f"A regression has at most {MOST:,} features.",
                found=f"{feature_maps(task, self.feature_map)[-1].size:,}",
                fix="Leave out columns of many categories.",
            )
        return _Regression(Problem(task, None, maps), price, factor).training()

    def restore(self, state: State) -> None:
        """Set `coef_`, `intercept_` and `feature_map_` from a released model."""
        self.feature_map_ = FeatureMap.from_json(state["map"])
        self._design = Design(self.feature_map_, self.task_.outcome)
        target = self._design.target
        worth = SCALE * float(target.unit)  # of 1 in units of the model
        theta = np.array(state["theta"], float) * 2.0**-GRID * worth
        self.coef_, self.intercept_ = theta[:-1], float(theta[-1] + float(target.middle))
        self._deviations = np.array(state["deviations"], float) * worth

    def predict(self, X: Any) -> Floats:
        """Return the expected target of each row, within the declared range."""
        self._expect_fitted()
        features = self._design.features(self._codes(X))
        found: Floats = features[:, :-1] @ self.coef_ + self.intercept_
        column = self.task_.outcome
        low, high = (float(column.offset + column.scale * code) for code in (0, (column.levels or 1) - 1))
        return np.clip(found, low, high)

    def shapes(self) -> Shapes:
        """Return what each value of each column adds to the prediction: post-processing, which costs nothing."""
        self._expect_fitted()

        def score(codes: dict[str, Any]) -> Floats:
            found: Floats = self._design.features(codes)[:, :-1] @ self.coef_ + self.intercept_
            return found

        places = {block.name: knots(block) for block in self.feature_map_.blocks}
        return additive(self, self.task_.target, score, places)

    @property
    def coefficients_(self) -> dict[str, Estimate]:
        """The coefficients by feature, with approximate 95 % intervals for noise and sample.

        That of a linear number is the change of the target for one unit of the column; that of any other feature
        is the change of the target where the feature is 1.
        """
        self._expect_fitted()
        found = {}
        values = [*self.coef_, self.intercept_]
        for name, value, deviation, unit in zip(
            self.feature_map_.names, values, self._deviations, self._units, strict=True
        ):
            ends = sorted([(value - _NORMAL * deviation) / unit, (value + _NORMAL * deviation) / unit])
            found[name] = Estimate(
                name,
                values=[value / unit],
                low=[ends[0]],
                high=[ends[1]],
                note=APPROXIMATE,
                kind="coefficient",
                test_bits=self.test_bits,
                basis="normal approximation",
            )
        return found

    @property
    def _units(self) -> list[float]:
        """What 1 of each feature is worth, in units of its column."""
        units = [1.0] * self.feature_map_.size
        for block in self.feature_map_.blocks:
            if is_number(block):
                units[block.start] = SCALE * float(ScaledColumn(block.column).unit)
                if block.missing:
                    units[block.start + 1] = SCALE / present(block)
        return units


class LinearRegression(_LinearModel):
    """Least squares, that remembers no person: regularised only as far as the noise makes it necessary.

    Args:
        epsilon: The ε of `fit(X, y)`; a vault gives its own.
        delta: The δ of `fit(X, y)`; 0 for pure differential privacy.
        columns: The declared columns of `fit(X, y)`; a vault has its own.
        target_column: The declaration of the target of `fit(X, y)`, such as `dp.Real(0, 100, step=1)`.
        feature_map: "linear" by default, so that a coefficient is the change for one unit; or "hats", or "auto".

    >>> import numpy as np, discreet as dp
    >>> age = np.arange(20_000) % 100
    >>> columns = {"age": dp.Integer(0, 99)}
    >>> model = LinearRegression(epsilon=1, delta="1e-6", columns=columns, target_column=dp.Integer(0, 300))
    >>> bool(abs(model.fit({"age": age}, 2 * age + 50).predict({"age": [50]})[0] - 150) < 5)
    True
    """

    def __init__(
        self,
        *,
        epsilon: Rational | None = None,
        delta: Rational = 0,
        columns: Columns | None = None,
        target_column: Column | None = None,
        feature_map: MapChoice = "linear",
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.columns = columns
        self.target_column = target_column
        self.feature_map = feature_map

    @property
    def strength(self) -> float | None:
        """Nothing more than the noise asks for."""
        return None


class Ridge(_LinearModel):
    """Ridge regression, that remembers no person: for predictions.

    Args:
        epsilon: The ε of `fit(X, y)`; a vault gives its own.
        delta: The δ of `fit(X, y)`; 0 for pure differential privacy.
        columns: The declared columns of `fit(X, y)`; a vault has its own.
        target_column: The declaration of the target of `fit(X, y)`, such as `dp.Real(0, 100, step=1)`.
        feature_map: "auto" by default: hats, or linear features where a noisy count says that rows are few.
        regularisation: λ as a multiple of its usual size, which follows from the noise; 1 by default.

    >>> import numpy as np, discreet as dp
    >>> age = np.arange(20_000) % 100
    >>> columns = {"age": dp.Integer(0, 99)}
    >>> model = Ridge(epsilon=1, delta="1e-6", columns=columns, target_column=dp.Integer(0, 100))
    >>> bool(abs(model.fit({"age": age}, abs(age - 50)).predict({"age": [50]})[0]) < 10)
    True
    """

    def __init__(
        self,
        *,
        epsilon: Rational | None = None,
        delta: Rational = 0,
        columns: Columns | None = None,
        target_column: Column | None = None,
        feature_map: MapChoice = "auto",
        regularisation: float = 1.0,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.columns = columns
        self.target_column = target_column
        self.feature_map = feature_map
        self.regularisation = regularisation

    @property
    def strength(self) -> float | None:
        """The factor that was asked for."""
        return float(rational(self.regularisation, "regularisation", floats="exact"))


class _Regression:
    """What a regression does for a price.

    Args:
        problem: The task, and the maps between which a count chooses.
        price: What it may cost.
        factor: λ as a multiple of its usual size; None for as little as the noise allows.
    """

    def __init__(self, problem: Problem, price: Price, factor: float | None):
        self.problem, self.price, self.factor = problem, price, factor
        several = len(problem.maps) > 1
        self.amounts = amounts(price, {**_SHARES, **({"count": _COUNT} if several else {})})
        self.designs = {one.kind: Design(one, problem.task.outcome) for one in problem.maps}

    @cached_property
    def count(self) -> Count | None:
        """The count that chooses the map, if there is a choice."""
        amount = self.amounts.get("count", Fraction(0))
        if not amount:
            return None
        return Count.pure(amount) if self.price.pure else Count.gaussian(amount)

    def counted(self, examples: Examples) -> tuple[float | None, bool]:
        """Return the noisy number of persons, if it is needed, and whether its noise was predictable."""
        if self.count is None:
            return None, False
        found, marked = self._persons(self.count).released([weight(examples)])
        return float(found[0]) / WHOLE, marked

    def _persons(self, count: Count) -> NoisySums:
        return NoisySums("persons", Sensitivity(entries=1, each=WHOLE), count.mechanism)

    def sums(self, design: Design) -> tuple[NoisySums, NoisySums]:
        """Return the noise on the moments of the features, and on those with the target."""
        features = moved(len(design.pairs), l1=design.l1, l2_squared=design.l2_squared)
        target = moved(len(design.target_pairs), l1=design.target_l1, l2_squared=design.target_l2_squared)
        return (
            NoisySums.of("moments of the features", features, self.price, self.amounts["features"]),
            NoisySums.of("moments with the target", target, self.price, self.amounts["target"]),
        )

    def training(self) -> Training:
        """Return the training, with the noise of the map that needs most."""
        planned = [self.sums(design) for design in self.designs.values()]
        widest = max(planned, key=lambda both: both[0].deviation)
        told = [one.told(SCALE**2) for one in widest]
        losses = [loss_of(self.price, self.amounts[name]) for name in _SHARES]
        notes = ["Coefficients are those of a regularised fit; predictions stay within the declared range."]
        if self.count is not None:
            losses.append(self.count.mechanism.loss)
            law = f"discrete {'Laplace' if self.price.pure else 'Gaussian'} noise"
            told.append(self._persons(self.count).told(WHOLE))
            notes.append(f"A noisy number of persons ({law}) chose between hat functions and linear features.")
        return Training(losses, self.run, told, "Least squares from noisy moments.", notes)

    def run(self, examples: Examples, progress: Progress) -> State:
        """Add up, release, and solve."""
        persons, tested = self.counted(examples)
        design = self.designs[self.problem.chosen(persons, self.price.strength).kind]
        progress("adding up moments", 0.1)
        exact = moments(
            examples,
            design,
            self.problem.task.target,
            lambda done: progress("adding up moments", 0.1 + 0.8 * done),
        )
        found = []
        for pairs, noisy in zip((design.pairs, design.target_pairs), self.sums(design), strict=True):
            i, j = np.array(pairs).T
            values, marked = noisy.released(divided(exact[i, j], WHOLE))
            found.append((values / SCALE**2, noisy.deviation / SCALE**2))
            tested = tested or marked
        del exact
        progress("solving", 0.95)
        (values, spread), (products, target_spread) = found
        noisy_moments = design.matrix(values, products)
        solution = solved(noisy_moments, spread=spread, target_spread=target_spread, factor=self.factor)
        return {
            "theta": np.rint(solution.theta * 2.0**GRID).astype(np.int64).tolist(),
            "deviations": solution.deviations.tolist(),
            "grid": GRID,
            "map": design.feature_map.as_json(),
            "count": float(noisy_moments[design.size - 1, design.size - 1]),
            "facts": {
                "Features": f"{design.size:,} {design.feature_map.kind}, with an intercept",
                "Regularisation": f"λ = {solution.lam:.6g} rows",
            },
            "test_bits": bool(tested),
        }
