"""The bounded posterior: exact losses, density ratios of neighbours, and the law of what is drawn."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp

from discreet import noise
from discreet.engines.examples import WHOLE, MemoryExamples
from discreet.errors import ParameterError
from discreet.learn import LinearSVC, LogisticRegression
from discreet.learn.feature_map import SCALE
from discreet.learn.methods import plan
from discreet.learn.methods.bounded_posterior import RADIUS, UNIT, BoundedPosterior, losses_at, precision, table
from discreet.learn.methods.envelope import Shells
from discreet.learn.methods.gradients import FEATURES, SIGNS
from discreet.learn.methods.grid_envelope import ERROR, GRID, GridEnvelope
from discreet.learn.methods.margin_losses import Logistic
from discreet.learn.methods.problem import Problem, feature_maps
from discreet.learn.price import Price
from discreet.learn.training import Task, silent
from discreet.ledger.costs import cost
from discreet.schema import Boolean, Category, Column, Integer

Floats = NDArray[np.float64]
COLUMNS: dict[str, Column] = {"age": Integer(0, 110), "city": Category(["Bergen", "Oslo"])}
LOSSES = [Logistic(), Logistic(0.5, shift=1.0)]


def rows(features: Floats, signs: Floats, weights: Floats | None = None) -> MemoryExamples:
    codes: dict[str, NDArray[np.integer]] = {
        FEATURES: np.trunc(features * SCALE).astype(np.int16),
        SIGNS: signs.astype(np.int8),
    }
    given = np.ones(len(signs)) if weights is None else weights
    return MemoryExamples(codes, np.floor(given * WHOLE).astype(np.int16))


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_are_those_of_the_formula_and_within_their_bound(loss: Logistic) -> None:
    knots = table(loss)
    margins = np.random.default_rng(0).uniform(-RADIUS, RADIUS, 5000)
    whole = np.rint(margins * 2.0 ** (GRID + 12)).astype(np.int64)
    found = losses_at(whole, knots)
    exact = loss.width * (
        np.logaddexp(0, (loss.shift - margins) / loss.width) - np.logaddexp(0, (loss.shift - RADIUS) / loss.width)
    )
    assert np.abs(found / 2**UNIT - exact).max() < 1e-6
    beyond = losses_at(np.array([-(2**62), -RADIUS << (GRID + 12), RADIUS << (GRID + 12), 2**61]), knots)
    assert beyond.tolist() == [knots[0], knots[0], 0, 0]
    assert found.min() >= 0
    assert found.max() <= knots[0]


def points_of(size: int, seed: int) -> NDArray[np.int64]:
    """Points of the grid in the ball, its edge among them."""
    random = np.random.default_rng(seed)
    made = random.normal(size=(60, size))
    made *= (RADIUS * random.choice([0.0, 0.1, 0.5, 1.0], 60) / np.linalg.norm(made, axis=1))[:, None]
    return np.trunc(made * 2.0**GRID).astype(np.int64)


@pytest.mark.parametrize("seed", range(10))
def test_a_person_changes_no_log_density_by_more_than_epsilon(seed: int) -> None:
    """The largest ratio of the unnormalised densities is at least that of the densities, in either direction."""
    random = np.random.default_rng(seed)
    size, many = int(random.integers(1, 4)), int(random.integers(0, 6))
    features = random.normal(size=(many + 3, size))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    signs = random.choice([-1.0, 1.0], many + 3)
    m = int(random.integers(1, 4))
    shares = np.concatenate([np.ones(many), np.full(m, 1 / m), np.zeros(3 - m)])
    loss, epsilon = LOSSES[seed % 2], Fraction(3, 2)
    with_, without = (
        BoundedPosterior(rows(features, signs, given), loss, size, epsilon, Fraction(1, 8))
        for given in (shares, np.where(np.arange(many + 3) < many, shares, 0.0))
    )
    at = points_of(size, seed)
    moved = [one - other for one, other in zip(with_.exponents(at), without.exponents(at), strict=True)]
    assert min(moved) >= 0
    assert max(moved) <= epsilon


def test_epsilon_is_reached_so_a_larger_temperature_would_be_caught() -> None:
    ends = np.array([[-RADIUS << GRID], [RADIUS << GRID]])
    one = BoundedPosterior(rows(np.ones((1, 1)), np.ones(1)), Logistic(), 1, Fraction(1), Fraction(1, 8))
    low, high = one.exponents(ends)
    assert low - high == 1


def law(posterior: BoundedPosterior, axis: Floats) -> Floats:
    """Return the law of one coefficient on cells around an axis, from its exact exponents."""
    points = np.rint(axis * 2.0**GRID).astype(np.int64)
    logs = np.array([-float(one) for one in posterior.exponents(points[:, None])])
    return np.asarray(np.exp(logs - logsumexp(logs)), np.float64)


def distance(drawn: Floats, axis: Floats, masses: Floats) -> float:
    place = np.interp(np.sort(drawn), axis + (axis[1] - axis[0]) / 2, np.cumsum(masses))
    ranks = np.arange(len(drawn) + 1) / len(drawn)
    return float(max((ranks[1:] - place).max(), (place - ranks[:-1]).max()))


@pytest.mark.parametrize("case", ["few rows", "the edge of the ball", "no rows"])
def test_draws_have_the_law_of_the_posterior(case: str) -> None:
    """By Kolmogorov's distance; a right sampler fails once in ten million times (Massart's inequality)."""
    draws, axis = 300, np.linspace(-RADIUS, RADIUS, 8001)
    features, signs = {
        "few rows": (np.array([1.0, 1.0, -0.5, 0.25]), np.array([1.0, 1.0, 1.0, -1.0])),
        "the edge of the ball": (np.ones(200), np.ones(200)),
        "no rows": (np.zeros(0), np.zeros(0)),
    }[case]
    made = BoundedPosterior(rows(features[:, None], signs), Logistic(), 1, Fraction(8), Fraction(1, 50))
    drawn = np.array([made.draw(silent)[0][0] for _ in range(draws)]) * 2.0**-GRID
    limit = math.sqrt(math.log(2 / 1e-7) / (2 * draws))
    assert np.abs(drawn).max() <= RADIUS
    assert distance(drawn, axis, law(made, axis)) < limit
    other = BoundedPosterior(made.examples, made.loss, 1, Fraction(8), Fraction(4))
    assert distance(drawn, axis, law(other, axis)) > limit, "another prior is seen"


def test_the_envelope_is_never_below_the_target_and_says_the_chance_of_its_proposals() -> None:
    random = np.random.default_rng(3)
    features = random.normal(size=(300, 3))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    made = BoundedPosterior(rows(features, np.sign(features[:, 0])), Logistic(), 3, Fraction(2), Fraction(1, 10))
    seen: list[Fraction] = []
    kept: list[GridEnvelope] = []
    real = GridEnvelope.draw

    def spied(self: GridEnvelope, exponent):  # type: ignore[no-untyped-def]
        kept.append(self)
        points, _ = self._proposals(600)
        above = self._mixture(points) - self.ceiling
        seen.extend(
            one - Fraction(level) for one, level in zip(exponent(points + self.centre), above, strict=True)
        )
        return real(self, exponent)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GridEnvelope, "draw", spied)
        made.draw(silent)
    assert len(seen) > 50
    assert min(seen) > 0
    # Every Gaussian of the envelope recognises its own draws: their exponents are those of the steps it drew.
    gaussian = kept[0].gaussians[0]
    with noise.deterministic(1):
        points, _ = gaussian.drawn(2000)
    standard = 2 * (gaussian.exponents(points) - gaussian.norm)
    # A chi-square variable of 3 degrees, 2,000 times: the mean is off by 0.33 once in 10⁹.
    assert abs(standard.mean() - 3) < 0.33


@pytest.mark.parametrize("count", [0, 1, 200])
def test_hardly_a_row_gives_a_model_of_the_same_shape_within_the_price(count: int) -> None:
    task = Task(COLUMNS, "ill", Boolean())
    price = Price.alone(1)
    training = plan("posterior_sampling", Problem(task, Logistic(), feature_maps(task, "linear")), price)
    assert cost(training.losses).epsilon == 1
    random = np.random.default_rng(1)
    codes = {name: random.integers(-1, column.levels or 1, count) for name, column in COLUMNS.items()}
    held = MemoryExamples({**codes, "ill": random.integers(-1, 2, count)}, np.full(count, WHOLE, np.int16))
    state = training.run(held, silent)
    assert sum(one * one for one in state["theta"]) <= (RADIUS << GRID) ** 2
    temperature = float(state["facts"]["Temperature"].split()[-1])
    assert temperature * RADIUS == pytest.approx(0.99 - 4 * float(ERROR), rel=1e-5)


def test_batches_do_not_change_the_draw() -> None:
    random = np.random.default_rng(2)
    features = random.normal(size=(50, 2))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    whole = rows(features, np.sign(features[:, 1]))
    drawn = []
    for size in (8192, 7):
        held = MemoryExamples(whole.codes, whole.weights, size)
        with noise.deterministic(5):
            found, tested = BoundedPosterior(held, Logistic(), 2, Fraction(1), Fraction(1, 8)).draw(silent)
        drawn.append(found.tolist())
        assert tested
    assert drawn[0] == drawn[1]


def test_a_model_learns_and_says_what_bounds_it() -> None:
    age = np.arange(4000) % 100
    model = LogisticRegression(
        epsilon=4,
        columns={"age": Integer(0, 99)},
        classes=[0, 1],
        method="posterior_sampling",
        feature_map="linear",
    ).fit({"age": age}, (age >= 50).astype(int))
    assert model.predict({"age": [5, 95]}).tolist() == [0, 1]
    assert any("norm of at most 8" in note for note in model.label.notes)
    assert any("time of a fit" in note for note in model.label.notes)


def test_the_prior_is_narrower_for_many_features_and_too_many_are_refused() -> None:
    assert precision(100, Fraction(1), 1e5, Logistic()) > 4 * precision(5, Fraction(1), 1e5, Logistic())
    wide = Task({"place": Category([str(i) for i in range(5000)])}, "ill", Boolean())
    with pytest.raises(ParameterError, match="too many"):
        plan("posterior_sampling", Problem(wide, Logistic(), feature_maps(wide, "auto")), Price.alone(1))
    task = Task(COLUMNS, "ill", Boolean())
    with pytest.raises(ParameterError, match="or more"):
        plan("posterior_sampling", Problem(task, Logistic(), feature_maps(task, "auto")), Price.alone("0.0001"))
    assert LinearSVC(method="posterior_sampling").plan(task, Price.alone(1)).method.endswith("smooth hinge.")


def test_a_direction_that_many_rows_speak_for_makes_no_other_one_wider() -> None:
    """Precisions above 2¹⁶ are lowered to it, one by one: all lowered at once, 10⁷ rows were never accepted."""
    shells = Shells(np.array([0.0, np.inf]), np.array([[2.0**20, 4.0]]), np.zeros(1), np.zeros(1))
    made = GridEnvelope.of(np.zeros(2, np.int64), RADIUS << GRID, shells, np.eye(2), 1.0, 0.0)
    [gaussian] = made.gaussians
    assert gaussian.widths == [math.ceil(math.sqrt(1.001) * 2.0**16 / one * (1 + 5e-10)) for one in (2.0**8, 2.0)]
