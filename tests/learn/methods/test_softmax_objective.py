"""Noise in the softmax objective: exact derivatives, density ratios of neighbours, prices and refusals."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression as Plain

from discreet import noise
from discreet.engines.examples import WHOLE, MemoryExamples
from discreet.errors import ParameterError
from discreet.learn import LogisticRegression, methods
from discreet.learn.feature_map import SCALE, FeatureMap
from discreet.learn.methods.gradients import FEATURES
from discreet.learn.methods.problem import Problem, feature_maps
from discreet.learn.methods.softmax import CODES, labelled
from discreet.learn.methods.softmax_objective import LARGEST, SoftmaxObjective, _moved
from discreet.learn.price import Price
from discreet.learn.training import Task, Training, silent
from discreet.ledger.costs import cost
from discreet.noise.testing import scripted
from discreet.privacy.pld.normal import gaussian_delta
from discreet.privacy.theorems.learning import softmax
from discreet.schema import Category, Column, Integer

Floats = NDArray[np.float64]
COLUMNS: dict[str, Column] = {"age": Integer(0, 110), "city": Category(["a", "b"])}
KINDS = Category(["x", "y", "z"])
PURE, PROVEN = Price.alone(1), Price.alone(1, "1e-5")
ROUNDING = 1e-3  # curvatures are rounded to 15 bits: a few rows move a log-determinant by less


def training(price: Price, factor: float | None = None, kind: str = "linear") -> Training:
    task = Task(COLUMNS, "kind", KINDS, several=True)
    return methods.plan("objective_perturbation", Problem(task, None, feature_maps(task, kind), factor), price)  # type: ignore[arg-type]


def people(random: np.random.Generator, count: int, weights: list[int] | None = None) -> MemoryExamples:
    codes = {
        "age": random.choice([-1, 0, 55, 110], count),
        "city": random.choice([-1, 0, 1], count),
        "kind": random.choice([-1, 0, 1, 2, 2], count),
    }
    return MemoryExamples(codes, np.array([WHOLE] * count if weights is None else weights, np.int64))


def together(one: MemoryExamples, two: MemoryExamples) -> MemoryExamples:
    codes = {name: np.concatenate([one.codes[name], two.codes[name]]) for name in one.codes}
    return MemoryExamples(codes, np.concatenate([one.weights, two.weights]))


def objective(rows: MemoryExamples) -> SoftmaxObjective:
    features = FeatureMap(COLUMNS, "linear")
    return SoftmaxObjective(labelled(rows, features, "kind"), 3, features.size)


def told(made: Training) -> tuple[float, float]:
    """Return λ and the spread of the noise in the objective, as a fit says them of itself."""
    facts = made.run(people(np.random.default_rng(0), 3), silent)["facts"]
    return float(facts["Regularisation"].split()[-1]), made.noise[0].spread or 0.0


def pairs(trials: int) -> list[tuple[SoftmaxObjective, SoftmaxObjective, Floats]]:
    """Return random tables without and with a person of up to three rows, and points."""
    random, found = np.random.default_rng(4), []
    for _ in range(trials):
        table, m = people(random, int(random.integers(0, 5))), int(random.integers(1, 4))
        person = people(random, m, [WHOLE // m] * m)
        without, with_ = objective(table), objective(together(table, person))
        found += [(without, with_, random.normal(size=3 * without.size) * one) for one in (0.0, 0.3, 3.0, 30.0)]
    return found


def noise_and_determinant(sums: SoftmaxObjective, theta: Floats, lam: float) -> tuple[Floats, float]:
    hessian = sums.hessian(theta) + lam * np.eye(len(theta))
    return -sums.gradient(theta) - lam * theta, float(np.linalg.slogdet(hessian)[1])


def largest_ratio(lam: float, scale: float) -> float:
    worst = 0.0
    for without, with_, theta in pairs(30):
        b, determinant = noise_and_determinant(without, theta, lam)
        other, larger = noise_and_determinant(with_, theta, lam)
        worst = max(worst, abs(larger - determinant + float(np.abs(b).sum() - np.abs(other).sum()) / scale))
    return worst


@pytest.mark.parametrize("factor", [2.0, 10.0])
def test_pure_minimisers_of_neighbours_are_as_close_as_promised(factor: float) -> None:
    lam, scale = told(training(PURE, factor))
    epsilon = 0.995
    assert 0.5 * epsilon < largest_ratio(lam, scale) <= epsilon + ROUNDING
    assert largest_ratio(lam, scale / 2.5) > epsilon, "less noise is caught"


def test_a_determinant_that_is_not_paid_for_is_caught() -> None:
    """At a small λ, noise for the gradient alone is too little: a row bends the objective in several ways."""
    assert largest_ratio(0.25, 2 * FeatureMap(COLUMNS, "linear").l1) > 1.0


def test_gaussian_minimisers_lose_no_more_than_the_score_bound_along_the_way() -> None:
    """d/dt ln p_t ≤ κ(W)/… at every weight t of one row: here the mean over t of what is lost at a point."""
    lam, sigma = told(training(PROVEN))
    random, features, nearest = np.random.default_rng(2), FeatureMap(COLUMNS, "linear"), -math.inf
    for _ in range(15):
        person = people(random, 1)
        y = int(person.codes["kind"][0])
        if y < 0:
            continue
        x = features.rows({name: person.codes[name] for name in COLUMNS})[0] / SCALE
        without, theta = (
            objective(people(random, 3)),
            random.normal(size=3 * features.size) * random.choice([0.1, 3]),
        )
        t = 0.5
        halved = objective(together_with(without, person, t))
        b, low = noise_and_determinant(halved, theta, lam)
        nudged = objective(together_with(without, person, t + 0.125))
        other, high = noise_and_determinant(nudged, theta, lam)
        rate = (high - low + float(b @ b - other @ other) / (2 * sigma**2)) / 0.125
        scores = theta.reshape(3, -1) @ x
        p = np.exp(scores - scores.max())
        s = 1 - p[y] / p.sum()
        V = b.reshape(3, -1) @ x / (np.linalg.norm(x) * sigma)
        W = max(V[c] for c in range(3) if c != y) - V[y]
        # The finite step of t changes b by up to 0.125·√2 on the way: a second-order term of that square over σ².
        bound = (2 * s - 1.5 * s * s) / lam + s * W / sigma + 0.125 * 2 / sigma**2
        assert rate <= bound + ROUNDING * 8
        nearest = max(nearest, rate - bound)
    assert nearest > -0.5


def together_with(sums: SoftmaxObjective, person: MemoryExamples, share: float) -> MemoryExamples:
    features = FeatureMap(COLUMNS, "linear")
    made = labelled(MemoryExamples(person.codes, np.array([int(WHOLE * share)])), features, "kind")
    one, two = sums.examples, made
    assert isinstance(one, MemoryExamples)
    assert isinstance(two, MemoryExamples)
    codes = {name: np.concatenate([one.codes[name], two.codes[name]]) for name in one.codes}
    return _Held(codes, np.concatenate([one.weights, two.weights]))


class _Held(MemoryExamples):
    """Rows that are labelled already."""

    def derived(self, function, width, share=1.0):  # type: ignore[no-untyped-def]
        return self


def test_the_charge_is_the_price_and_a_release_alone_keeps_its_promise() -> None:
    assert cost(training(PURE).losses).epsilon == 1
    assert cost(training(PURE, kind="auto").losses).epsilon == 1
    made = training(PROVEN, kind="auto")
    lam, sigma = told(made)
    beside = math.sqrt(2 * float(PROVEN.rho or 0) * (1 / 100 + 1 / 2500))
    assert softmax.delta(1, classes=3, sigma=sigma, lam=lam, gaussian_mu=beside) <= 1e-5 * 1.0001
    assert softmax.delta(1, classes=3, sigma=sigma * 0.98, lam=lam, gaussian_mu=beside) > 1e-5
    # In a ledger the Gaussian DP parameter counts, which is above what (ε, δ) alone would need.
    mu = math.sqrt(2 * float(cost(made.losses).rho))
    assert mu > softmax.gdp(classes=3, sigma=sigma, lam=lam)
    assert gaussian_delta(mu, 1.0)[1] > 1e-5


def test_a_ledger_is_charged_no_more_than_it_has() -> None:
    rho = PROVEN.rho or Fraction(1)
    price = Price(Fraction(1), Fraction(1, 10**5), rho, most=rho)
    assert cost(training(price).losses).rho <= rho


def test_the_gradient_is_exact_however_large_coefficients_are() -> None:
    random = np.random.default_rng(0)
    codes = {
        FEATURES: np.trunc(SCALE * random.dirichlet(np.ones(4), 3)).astype(np.int64),
        CODES: np.array([0, 1, 2]),
    }
    sums = SoftmaxObjective(MemoryExamples(codes, np.full(3, WHOLE)), 3, 4)
    for length in (1.0, 1e4, 1e8):
        theta = np.rint(random.normal(size=12) * length * 2.0**20) / 2.0**20
        found = sums.gradient(theta)
        with mpmath.workdps(60):
            exact = [mpmath.mpf(0)] * 12
            for x, y in zip(codes[FEATURES].tolist(), (0, 1, 2), strict=True):
                z = [
                    mpmath.fsum(mpmath.mpf(float(theta[4 * c + i])) * x[i] / SCALE for i in range(4))
                    for c in range(3)
                ]
                raised = [mpmath.exp(one - max(z)) for one in z]
                for c in range(3):
                    residual = raised[c] / mpmath.fsum(raised) - (c == y)
                    for i in range(4):
                        exact[4 * c + i] += residual * x[i] / SCALE
            off = max(abs(float(one - mpmath.mpf(float(two)))) for one, two in zip(exact, found, strict=True))
        assert off < 3 * (2 * 3 + 16) * 2.0**-53


def test_rounding_leaves_the_hessian_at_or_above_zero() -> None:
    """Many rows with curvatures near the unit of rounding: a matrix below 0 would stop the solver at times."""
    random = np.random.default_rng(5)
    features = np.trunc(SCALE * random.normal(size=(3000, 3)) / 6).astype(np.int64)
    features[np.linalg.norm(features, axis=1) > SCALE] = 0
    held = MemoryExamples({FEATURES: features, CODES: random.integers(0, 4, 3000)}, np.full(3000, WHOLE))
    sums = SoftmaxObjective(held, 4, 3)
    for length in (0.0, 1.0, 12.0, 40.0):
        theta = random.normal(size=12) * length
        hessian = sums.hessian(theta)
        assert np.linalg.eigvalsh(hessian).min() > -1e-9 * (1 + np.abs(hessian).max())
        step = 1e-5 * random.normal(size=12)
        slope = (sums.gradient(theta + step) - sums.gradient(theta - step)) / 2
        assert np.allclose(hessian @ step, slope, atol=3000 * 2.0**-14 * 1e-5 * 4)


def test_the_coefficients_are_those_of_the_minimum() -> None:
    """Without noise, which a script takes away: scikit-learn finds the same, to the tolerance of both."""
    held = people(np.random.default_rng(1), 400)
    with scripted(lambda _: 0):
        state = training(PURE).run(held, silent)
    lam = float(state["facts"]["Regularisation"].split()[-1])
    known, features = held.codes["kind"] >= 0, FeatureMap(COLUMNS, "linear")
    x = features.rows({name: held.codes[name] for name in COLUMNS})[known] / SCALE
    plain = Plain(C=1 / lam, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(x, held.codes["kind"][known])
    assert np.allclose(np.array(state["theta"]) * 2.0**-24, plain.coef_, atol=1e-4)


@pytest.mark.parametrize("price", [PURE, PROVEN], ids=["pure", "gaussian"])
@pytest.mark.parametrize("count", [0, 1, 30])
def test_few_rows_or_none_give_a_model_of_the_same_shape_in_any_batches(price: Price, count: int) -> None:
    held, made = people(np.random.default_rng(1), count), []
    for size in (8192, 1):
        with noise.deterministic(4):
            made.append(training(price, kind="auto").run(MemoryExamples(held.codes, held.weights, size), silent))
    assert made[0] == made[1]
    assert made[0]["test_bits"]
    assert np.array(made[0]["theta"]).shape == (3, FeatureMap.from_json(made[0]["map"]).size)


def test_output_noise_pays_for_the_solver_and_for_rounding() -> None:
    """The solver stops at 2⁻²⁰, and 2³⁰ rows of three classes are off by 22·2⁻²³ in floats: on either table."""
    left = 2.0**-20 + 2.0**30 * (2 * 3 + 16) * 2.0**-53
    assert _moved(3, 5, Fraction(2), Fraction(0), pure=False) >= 2 * left / 2 * 2**24 + math.sqrt(15)
    assert _moved(3, 5, Fraction(2), Fraction(0), pure=True) >= 2 * left / 2 * 2**24 * math.sqrt(15) + 15


def test_several_classes_are_pure_by_default_if_there_is_no_delta() -> None:
    age = np.arange(6000) % 99
    model = LogisticRegression(epsilon=5, columns={"age": Integer(0, 98)}, classes=[0, 1, 2], feature_map="linear")
    model.fit({"age": age}, age // 33)
    assert model.label.notes[0] == "Objective perturbation with Laplace noise, softmax loss."
    assert model.predict({"age": [2, 96]}).tolist() == [0, 2]
    assert model.predict_proba({"age": [50]}).shape == (1, 3)


def test_too_many_coefficients_and_intervals_are_refused_with_a_way_out() -> None:
    wide = Task({"place": Category([str(i) for i in range(LARGEST)])}, "kind", KINDS)
    with pytest.raises(ParameterError, match="too many") as refused:
        methods.plan("auto", Problem(wide, None, feature_maps(wide, "auto")), PURE)
    assert "gradient_descent" not in str(refused.value), "which is not pure"
    with pytest.raises(ParameterError, match="gradient_descent"):
        methods.plan("objective_perturbation", Problem(wide, None, feature_maps(wide, "auto")), PROVEN)
    task = Task(COLUMNS, "kind", KINDS)
    with pytest.raises(ParameterError, match="two classes"):
        methods.plan("auto", Problem(task, None, feature_maps(task, "auto"), intervals=True), PROVEN)
