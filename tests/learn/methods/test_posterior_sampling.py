"""Posterior sampling: the law of the draw, the theorem behind its price, and what is refused."""

from __future__ import annotations

import json
import math

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from discreet import noise
from discreet.engines.examples import WHOLE, MemoryExamples
from discreet.errors import ParameterError
from discreet.learn import LinearSVC, LogisticRegression
from discreet.learn.feature_map import SCALE, FeatureMap
from discreet.learn.methods import plan
from discreet.learn.methods.envelope import Envelope, flatness
from discreet.learn.methods.gradients import FEATURES, SIGNS, Sums
from discreet.learn.methods.margin_losses import HuberHinge, Logistic
from discreet.learn.methods.posterior_sampling import Posterior, _mu, blurred, regularisation
from discreet.learn.methods.problem import Problem, feature_maps
from discreet.learn.price import Price
from discreet.learn.training import Task, silent
from discreet.ledger.costs import cost
from discreet.privacy.pld.normal import gaussian_delta
from discreet.schema import Boolean, Category, Column, Integer

Floats = NDArray[np.float64]

COLUMNS: dict[str, Column] = {"age": Integer(0, 110), "city": Category(["Bergen", "Oslo"])}
PRICE = Price.alone(1, "1e-6")


def signed_rows(features: Floats, signs: Floats, weights: Floats | None = None) -> MemoryExamples:
    codes: dict[str, NDArray[np.integer]] = {
        FEATURES: np.trunc(features * SCALE).astype(np.int16),
        SIGNS: signs.astype(np.int8),
    }
    given = np.ones(len(signs)) if weights is None else weights
    return MemoryExamples(codes, np.floor(given * WHOLE).astype(np.int16))


def density(features: Floats, signs: Floats, grid: Floats, k: float, lam: float, loss: Logistic) -> Floats:
    """Return the posterior of one coefficient, on a grid."""
    scores = (loss.shift - np.outer(grid, features * signs)) / loss.width
    exponent = k * (loss.width * np.logaddexp(0.0, scores).sum(axis=1) + lam / 2 * grid**2)
    raised = np.exp(exponent.min() - exponent)
    return np.asarray(raised / raised.sum())


def distance(drawn: Floats, grid: Floats, law: Floats) -> float:
    """Return the distance of Kolmogorov between draws and a law on a grid."""
    place = np.interp(np.sort(drawn), grid, np.cumsum(law))
    ranks = np.arange(len(drawn) + 1) / len(drawn)
    return float(max((ranks[1:] - place).max(), (place - ranks[:-1]).max()))


@pytest.mark.parametrize("loss", [Logistic(), Logistic(0.5, shift=1.0)])
def test_draws_have_the_law_of_the_posterior(loss: Logistic) -> None:
    """By Kolmogorov's distance; a right sampler fails once in ten million times (Massart's inequality)."""
    features, signs = np.array([1.0, 1.0, -0.5, 0.25]), np.array([1.0, 1.0, 1.0, -1.0])
    posterior = Posterior(signed_rows(features[:, None], signs), loss, 1, 2.0, 0.5)
    drawn = np.array([posterior.draw(silent)[0][0] for _ in range(700)])
    grid = np.linspace(-12, 12, 20001)
    limit = math.sqrt(math.log(2 / 1e-7) / (2 * 700))
    law, narrow = (density(features, signs, grid, k, 0.5, loss) for k in (2.0, 8.0))
    assert distance(drawn, grid, law) < limit
    # No draw decides this: were the draws of half the spread, the first line would fail in 99 of 100 runs.
    assert np.abs(np.cumsum(law - narrow)).max() > 1.5 * limit


@pytest.mark.parametrize("count", [0, 200])
def test_the_temperature_of_a_run_is_what_the_price_pays_for(count: int) -> None:
    """μ = √(k/λ), from the k and the λ that the model says of itself."""
    age, city = np.arange(count) % 111, np.arange(count) % 2
    rows = MemoryExamples({"age": age, "city": city, "ill": city}, np.full(count, WHOLE, np.int16))
    task = Task(COLUMNS, "ill", Boolean())
    training = plan("posterior_sampling", Problem(task, Logistic(), feature_maps(task, "linear")), PRICE)
    facts = training.run(rows, silent)["facts"]
    k, lam = (float(facts[name].split()[-1]) for name in ("Temperature", "Regularisation"))
    assert 0.9 * PRICE.mu < math.sqrt(k / lam) < PRICE.mu


def test_draws_have_the_law_of_the_posterior_where_the_envelope_is_far_above_it() -> None:
    """Narrow losses: most proposals are rejected, so a wrong exponent shows, such as one of the wrong sign."""
    loss, features, signs = Logistic(0.1, shift=1.0), np.array([1.0, 0.75]), np.ones(2)
    posterior = Posterior(signed_rows(features[:, None], signs), loss, 1, 2.0, 0.25)
    drawn = np.array([posterior.draw(silent)[0][0] for _ in range(400)])
    grid = np.linspace(-12, 12, 20001)
    limit = math.sqrt(math.log(2 / 1e-7) / (2 * 400))
    assert distance(drawn, grid, density(features, signs, grid, 2.0, 0.25, loss)) < limit


@pytest.mark.slow
def test_draws_in_two_dimensions_have_the_law_of_the_posterior() -> None:
    random = np.random.default_rng(3)
    features = random.normal(size=(30, 2)) * [1.0, 0.1]
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    signs = np.sign(features[:, 0])
    posterior = Posterior(signed_rows(features, signs), Logistic(), 2, 3.0, 0.3)
    drawn = np.array([posterior.draw(silent)[0] for _ in range(1500)])
    axis = np.linspace(-9, 9, 401)
    real = np.trunc(features * SCALE) / SCALE
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    exponent = 3 * (np.logaddexp(0, -(points @ real.T) * signs).sum(axis=1) + 0.15 * (points**2).sum(axis=1))
    law = np.exp(exponent.min() - exponent).reshape(401, 401)
    law /= law.sum()
    limit = math.sqrt(math.log(2 / 1e-7) / (2 * 1500)) + 0.5 * (axis[1] - axis[0])
    for i in (0, 1):
        assert distance(drawn[:, i], axis + (axis[1] - axis[0]) / 2, law.sum(axis=1 - i)) < limit


@pytest.mark.parametrize("size", [1, 3, 12])
def test_the_envelope_is_never_below_the_target(size: int) -> None:
    random = np.random.default_rng(size)
    features = random.normal(size=(200, size))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    theta, lam, scale = random.normal(size=size), 0.7, 1.5
    margins = features @ theta
    slopes = expit(-margins)
    values, basis = np.linalg.eigh((features * (slopes * (1 - slopes))[:, None]).T @ features)
    envelope = Envelope.of(np.maximum(values, 0.0), scale=scale, lam=lam)
    points, exponents, _ = envelope.proposals(3000)
    moved = (points @ basis.T) @ features.T
    divergence = (np.logaddexp(0, -margins - moved) - np.logaddexp(0, -margins) + slopes * moved).sum(axis=1)
    excess = scale * (divergence + lam / 2 * (points**2).sum(axis=1)) - exponents
    assert len(points) > 100
    assert excess.min() > -1e-9


def test_proposals_have_the_density_that_they_are_accepted_by() -> None:
    """By Kolmogorov's distance, once in ten million times off by chance; flat far out, where shells are tilted."""
    envelope = Envelope.of(np.array([400.0]), scale=1.0, lam=0.02)
    drawn = envelope.proposals(3000)[0][:, 0]
    grid = np.linspace(-80, 80, 64_001)
    exponents = envelope.exponents(grid[:, None])
    density = np.exp(exponents.min() - exponents)
    assert distance(drawn, grid, density / density.sum()) < math.sqrt(math.log(2 / 1e-7) / (2 * 3000))


def test_the_bound_on_the_loss_holds_for_every_move() -> None:
    margins, moves = (one.ravel() for one in np.meshgrid(np.linspace(-30, 30, 301), np.linspace(-20, 20, 801)))
    slopes = expit(-margins)
    exact = np.logaddexp(0, -margins - moves) - np.logaddexp(0, -margins) + slopes * moves
    bound = slopes * (1 - slopes) * moves**2 * flatness(np.abs(moves))
    assert (exact - bound).min() > -1e-13


@pytest.mark.parametrize("seed", range(30))
def test_neighbours_are_as_hard_to_tell_apart_as_the_theorem_says(seed: int) -> None:
    """δ(ε) of two posteriors, by quadrature, against that of N(0, 1) and N(μ, 1) with μ = √(k/λ)."""
    random = np.random.default_rng(seed)
    count, k, lam = int(random.integers(0, 6)), float(random.uniform(0.1, 3)), float(random.uniform(0.1, 5))
    features, signs = random.uniform(-1, 1, count + 1), random.choice([-1.0, 1.0], count + 1)
    features[-1] = random.choice([-1.0, 1.0])
    spread = 1 / math.sqrt(k * lam)
    grid = np.linspace(-12, 12, 40001) * spread + random.choice([0.0])
    first = density(features, signs, grid, k, lam, Logistic())
    second = density(features[:-1], signs[:-1], grid, k, lam, Logistic())
    for epsilon in (0.1, 0.5, 1.0):
        most = gaussian_delta(math.sqrt(k / lam), epsilon)[1]
        for one, other in ((first, second), (second, first)):
            assert np.maximum(one - math.exp(epsilon) * other, 0).sum() <= most * (1 + 1e-6) + 1e-9


def test_the_theorem_is_nearly_reached_so_half_the_spread_would_be_wrong() -> None:
    """A row that is far on the wrong side moves a posterior as a shift does."""
    k, lam = 1.0, 40.0
    grid = np.linspace(-3, 3, 40001)
    loss = Logistic(shift=40.0)  # so far from its corner, the loss is a line of slope 1
    first, second = (density(np.ones(n), np.ones(n), grid, k, lam, loss) for n in (1, 0))
    found = np.maximum(first - math.exp(0.1) * second, 0).sum()
    assert found > 0.95 * gaussian_delta(math.sqrt(k / lam), 0.1)[1]
    assert found > gaussian_delta(math.sqrt(k / lam) / 2, 0.1)[1], "a price for half of μ would be caught"


def test_what_is_charged_covers_floats_and_stays_within_the_price() -> None:
    task = Task(COLUMNS, "ill", Boolean())
    for epsilon in ("0.1", "1", "4"):
        price = Price.alone(epsilon, "1e-6")
        training = plan("posterior_sampling", Problem(task, Logistic(), feature_maps(task, "auto")), price)
        charged = cost(training.losses).rho
        assert charged <= (price.rho or 0) < charged * 1.001
        beside = charged * 0
        mu = _mu(price, beside, charged)
        assert 0.9 * float(charged) < mu**2 / 2 < float(charged)
        assert gaussian_delta(mu, float(epsilon))[1] < 1e-6


def test_a_blurred_pair_is_charged_enough() -> None:
    """The divergences of two Gaussians whose densities are off by a factor of e^{±c}, in the worst way."""
    rho, c = 0.02, 1e-3
    grid = np.linspace(-14, 14, 20001)
    first, second = -(grid**2) / 2, -((grid - math.sqrt(2 * rho)) ** 2) / 2
    away = np.where(first > second, c / 2, -c / 2)
    worse, better = (law - logsumexp(law) for law in (first + away, second - away))
    for order in (1.0001, 1.01, 1.3, 2.0, 10.0, 100.0):
        divergence = logsumexp(order * worse + (1 - order) * better) / (order - 1)
        assert divergence <= order * blurred(rho, c)
        if order < 1.1:
            assert divergence > rho * order, "without the rest it would be too little"


def examples(count: int, size: int = 8192) -> MemoryExamples:
    random = np.random.default_rng(1)
    codes = {name: random.integers(-1, column.levels or 1, count) for name, column in COLUMNS.items()}
    return MemoryExamples({**codes, "ill": random.integers(-1, 2, count)}, np.full(count, WHOLE, np.int16), size)


@pytest.mark.parametrize("count", [0, 1, 200])
def test_few_rows_or_none_give_a_model_of_the_same_shape(count: int) -> None:
    task = Task(COLUMNS, "ill", Boolean())
    training = plan("posterior_sampling", Problem(task, Logistic(), feature_maps(task, "auto")), PRICE)
    state = training.run(examples(count), silent)
    assert len(state["theta"]) == FeatureMap.from_json(state["map"]).size
    assert json.loads(json.dumps(state)) == state


def test_batches_do_not_change_the_model_and_test_bits_mark_it() -> None:
    task = Task(COLUMNS, "ill", Boolean())
    training = plan("posterior_sampling", Problem(task, Logistic(), feature_maps(task, "auto")), PRICE)
    made = []
    for size in (8192, 7):
        with noise.deterministic(4):
            made.append(training.run(examples(60, size), silent))
    assert np.abs(np.subtract(made[0]["theta"], made[1]["theta"])).max() <= 1
    assert made[0]["test_bits"]


def test_a_model_learns_and_its_label_names_the_channel_of_time() -> None:
    age = np.arange(4000) % 100
    model = LogisticRegression(
        epsilon=2, delta="1e-6", columns={"age": Integer(0, 99)}, classes=[0, 1], method="posterior_sampling"
    ).fit({"age": age}, (age >= 50).astype(int))
    assert model.predict({"age": [5, 95]}).tolist() == [0, 1]
    assert any("time of a fit" in note for note in model.label.notes)


def test_lambda_grows_with_the_number_of_features_so_that_the_sampler_ends() -> None:
    small, large = (regularisation(size, 0.25, 1e5, Logistic()) for size in (5, 300))
    assert small == pytest.approx(8)
    assert large > 2 * small


def test_what_has_no_exact_sampler_is_refused_from_public_facts() -> None:
    task = Task(COLUMNS, "ill", Boolean())
    maps = feature_maps(task, "auto")
    with pytest.raises(ParameterError, match="logistic"):
        plan("posterior_sampling", Problem(task, HuberHinge(), maps), PRICE)
    wide = Task({"place": Category([str(i) for i in range(5000)])}, "ill", Boolean())
    with pytest.raises(ParameterError, match="too many"):
        plan("posterior_sampling", Problem(wide, Logistic(), feature_maps(wide, "auto")), PRICE)
    assert LinearSVC(method="posterior_sampling").plan(task, PRICE).method.endswith("smooth hinge.")


@pytest.mark.parametrize("loss", [Logistic(), Logistic(0.25, shift=1.0), Logistic(4.0, shift=1.0)])
@pytest.mark.parametrize("length", [1.0, 30.0, 800.0])
def test_a_row_s_part_of_an_exponent_is_as_exact_as_is_paid_for(loss: Logistic, length: float) -> None:
    """Sums of floats lost 2⁻⁴² for each of many equal rows, sixteen times what the price of a draw covers."""
    with mpmath.workdps(50):  # the precision of other tests stays as it is
        generator = np.random.default_rng(int(length))
        row = np.trunc(SCALE * np.array([0.6, -0.48, 0.64])).astype(np.int16)
        across = np.cross(row / SCALE, generator.normal(size=3))
        # Far along the row, or across it, where large numbers cancel.
        for theta in (row / SCALE * length, across / np.linalg.norm(across) * length):
            steps = generator.normal(size=(4, 3))
            steps *= 6.0 / np.linalg.norm(steps, axis=1)[:, None]
            rows = np.repeat(row[None, :], 8192, axis=0) / SCALE
            examples = signed_rows(rows, np.full(len(rows), -1.0), np.full(len(rows), 0.75))
            found = Posterior(examples, loss, 3, 1.0, 8.0)._divergence(theta, steps)
            for step, value in zip(steps, found, strict=True):
                exact = len(rows) * mpmath.mpf("0.75") * _divergence(row, theta, step, loss)
                assert abs(mpmath.mpf(float(value)) - exact) < len(rows) * max(loss.width, 1.0) * 2.0**-46


def _divergence(row: NDArray[np.int16], theta: Floats, step: Floats, loss: Logistic) -> mpmath.mpf:
    """Return ℓ(m + a) − ℓ(m) − ℓ′(m)·a of one row of sign −1, with fifty digits."""

    def dot(vector: Floats) -> mpmath.mpf:
        return mpmath.fsum(int(x) * mpmath.mpf(float(v)) for x, v in zip(row, vector, strict=True)) / SCALE

    width = mpmath.mpf(loss.width)
    base, moved = (mpmath.mpf(loss.shift) + dot(theta)) / width, -dot(step) / width

    def softplus(x: mpmath.mpf) -> mpmath.mpf:
        return mpmath.log1p(mpmath.exp(x))

    return width * (softplus(base - moved) - softplus(base) + moved / (1 + mpmath.exp(-base)))


@pytest.mark.parametrize("length", [1.0, 30.0])
def test_persons_with_thousands_of_rows_have_exponents_as_exact_as_one_row(length: float) -> None:
    """Rounding each row to 2⁻⁵⁰, and its slope to 2⁻⁵², was off by 44 times what the price of a draw covers."""
    with mpmath.workdps(50):
        generator = np.random.default_rng(int(length))
        row = np.trunc(SCALE * np.array([0.6, -0.48, 0.64])).astype(np.int16)
        across = np.cross(row / SCALE, generator.normal(size=3))
        persons = 2
        count = persons * WHOLE
        rows = np.repeat(row[None, :], count, axis=0) / SCALE
        made = signed_rows(rows, np.full(count, -1.0), np.full(count, 1 / WHOLE))
        for theta in (row / SCALE * length, -row / SCALE, across / np.linalg.norm(across)):
            steps = generator.normal(size=(4, 3))
            steps *= 6.0 / np.linalg.norm(steps, axis=1)[:, None]
            found = Posterior(made, Logistic(), 3, 1.0, 8.0)._divergence(theta, steps)
            slope = Sums(made, Logistic(), 3).gradient(theta)
            for step, value in zip(steps, found, strict=True):
                along = mpmath.fsum(
                    mpmath.mpf(float(g)) * mpmath.mpf(float(v)) for g, v in zip(slope, step, strict=True)
                )
                exact = persons * (_divergence(row, theta, step, Logistic()) + _along(row, theta, step))
                assert abs(mpmath.mpf(float(value)) + along - exact) < persons * 2.0**-46


def _along(row: NDArray[np.int16], theta: Floats, step: Floats) -> mpmath.mpf:
    """Return ℓ′(m)·a of one row of sign −1 and the logistic loss, with fifty digits."""
    at, along = (
        mpmath.fsum(int(x) * mpmath.mpf(float(v)) for x, v in zip(row, vector, strict=True)) / SCALE
        for vector in (theta, step)
    )
    return along / (1 + mpmath.exp(-at))
