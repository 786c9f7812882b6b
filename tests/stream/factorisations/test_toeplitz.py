"""Sensitivity with its rounding, by enumeration; error against dense matrices; the law of small counters."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.stream.factorisations.blt import BLT, LONGEST
from discreet.stream.factorisations.constants import binary_tree, blt, lower_bound, square_root
from discreet.stream.factorisations.correlated_noise import Buffered, Convolved, Filter
from discreet.stream.factorisations.square_root import SquareRoot
from discreet.stream.factorisations.toeplitz import Scales, ToeplitzSums, grid_for
from discreet.stream.factorisations.units import Person, columns_squared


def draws_behind(maker: Filter, noise: tuple[int, ...]) -> list[int]:
    """Return z_t = n_t + f_t(n₁, …, n_{t−1}): what must have been drawn for this noise."""
    found = []
    for wanted in noise:
        state = maker.state()
        past = -maker.apply([0])[0]
        maker.restore(state)
        assert maker.apply([wanted + past]) == [wanted]
        found.append(wanted + past)
    return found


def strategy_of(method: str, horizon: int) -> Any:
    return BLT.for_horizon(horizon) if method == "blt" else SquareRoot.for_horizon(horizon)


def made(method: str, horizon: int) -> Filter:
    strategy = strategy_of(method, horizon)
    return Buffered(strategy, 0) if method == "blt" else Convolved(strategy, 0)


@pytest.mark.parametrize("method", ["blt", "sqrt"])
@pytest.mark.parametrize("grid", [12, 16, 64])
def test_one_event_moves_the_draws_by_no_more_than_the_grid_whatever_was_released(method: str, grid: int) -> None:
    """All noise sequences of four ticks within ±2, and many long ones: it fails if S_t forgets the rounding."""
    rng, worst = np.random.default_rng(1), 0.0
    for horizon, sequences in (
        (4, itertools.product(range(-2, 3), repeat=4)),
        (30, (tuple(row) for row in rng.integers(-5 * grid, 5 * grid, (60, 30)).tolist())),
    ):
        scales = Scales(strategy_of(method, horizon), horizon, grid=grid, rounding=made(method, horizon).rounding)
        each = scales.at(0, horizon)
        assert each.min() >= 1
        for noise in sequences:
            before = draws_behind(made(method, horizon), noise)
            for tick in range(horizon):
                moved = list(noise)
                moved[tick] += int(each[tick])
                after = draws_behind(made(method, horizon), tuple(moved))
                change = sum((a - b) ** 2 for a, b in zip(after, before, strict=True))
                worst = max(worst, change / grid**2)
                assert change <= grid**2
    assert worst > 0.5  # the bound is not a vacuous one


def test_without_the_rounding_in_the_scales_the_bound_would_fail() -> None:
    """The same enumeration catches scales that were computed for exact arithmetic."""
    horizon, grid = 30, 16
    each = Scales(BLT.for_horizon(horizon), horizon, grid=grid, rounding=0.0).at(0, horizon)
    rng, worst = np.random.default_rng(2), 0
    for noise in rng.integers(-80, 80, (40, horizon)).tolist():
        before = draws_behind(made("blt", horizon), tuple(noise))
        for tick in range(horizon):
            moved = [*noise[:tick], noise[tick] + int(each[tick]), *noise[tick + 1 :]]
            after = draws_behind(made("blt", horizon), tuple(moved))
            worst = max(worst, sum((a - b) ** 2 for a, b in zip(after, before, strict=True)))
    assert worst > grid**2


@pytest.mark.parametrize("horizon", [1, 2, 3, 7, 64, 1000, 10**6, LONGEST])
def test_every_column_has_the_norm_of_the_grid_and_scales_rise(horizon: int) -> None:
    strategy, grid = BLT.for_horizon(horizon), grid_for(horizon)
    rounding = Buffered(strategy, 0).rounding
    assert rounding < 1.07
    scales = Scales(strategy, horizon, grid=grid, rounding=rounding)
    assert (np.diff(scales.scales) > 0).all()
    assert scales.starts[0] == 0
    assert scales.ends[-1] == horizon
    left = (horizon - scales.starts).astype(float)
    scale = scales.scales.astype(float)
    rounded = 2 * rounding * scale * strategy.total(left) + left * rounding**2
    bound = scale**2 * strategy.norm_squared(left) + np.where(left > 1, rounded, 0)
    assert (bound <= grid**2 * (1 + 1e-8)).all()
    assert (bound >= grid**2 * 0.98).all()


@pytest.mark.parametrize("horizon", [100, 1000])
def test_the_closed_forms_are_those_of_the_coefficients(horizon: int) -> None:
    strategy = BLT.for_horizon(horizon)
    c = strategy.coefficients(horizon)
    assert np.allclose(strategy.norm_squared(np.arange(1.0, horizon + 1)), np.cumsum(c**2), rtol=3e-9)
    assert (strategy.norm_squared(np.arange(1.0, horizon + 1)) >= np.cumsum(c**2)).all()
    assert np.allclose(strategy.total(np.arange(1.0, horizon + 1)), np.cumsum(c), rtol=3e-9)
    values, weights = strategy.response
    assert (values > 0).all()
    dense = np.cumsum(np.linalg.inv(toeplitz(c))[:, 0])
    assert np.allclose((weights * values ** np.arange(horizon)[:, None]).sum(1), dense, atol=1e-9)
    assert (c[2:] * c[:-2] >= c[1:-1] ** 2 * (1 - 1e-12)).all()  # log-convex, as `units` needs


def toeplitz(c: NDArray[np.float64]) -> NDArray[np.float64]:
    i = np.arange(len(c))
    return np.tril(c[np.abs(i[:, None] - i)])


@pytest.mark.parametrize("horizon", [20, 256, 700])
def test_margins_are_those_of_the_dense_matrix(horizon: int) -> None:
    sums = ToeplitzSums(Fraction(1, 2), horizon)
    c = BLT.for_horizon(horizon).coefficients(horizon)
    scales = Scales(BLT.for_horizon(horizon), horizon, grid=sums.grid, rounding=made("blt", horizon).rounding)
    released = np.cumsum(np.linalg.inv(toeplitz(c)) / scales.at(0, horizon)[:, None], axis=0)
    exact = np.sqrt((released**2).sum(1) * float(sums.variance))
    alpha = Fraction(math.erfc(1 / math.sqrt(2)))
    stated = sums.margins(np.arange(1, horizon + 1), alpha)
    assert (stated >= exact * (1 - 1e-9)).all()
    assert (stated <= exact * 1.03 + 0.01).all()
    later = np.sqrt(((released[-1] - released) ** 2).sum(1) * float(sums.variance))
    assert (sums.later_margins(np.arange(1, horizon + 1), alpha) >= later * (1 - 1e-6)).all()


def test_error_constants_are_those_of_the_closed_forms() -> None:
    assert [round(square_root(10**k).largest, 3) for k in (3, 5)] == [3.265, 4.731]
    assert [round(lower_bound(10**k), 3) for k in (3, 4, 5, 6)] == [2.902, 3.634, 4.367, 5.100]
    assert binary_tree(10**6).largest == pytest.approx(19.494, abs=1e-3)
    assert binary_tree(10**6, from_below=True).largest == pytest.approx(14.355, abs=1e-3)
    ours = blt(10**6)
    assert ours.mean <= 1.02 * lower_bound(10**6)
    assert binary_tree(10**6).largest ** 2 >= 10 * ours.largest**2


@pytest.mark.parametrize("rho", [Fraction(1, 50), Fraction(2)])
def test_noise_is_that_of_a_gaussian_mechanism_of_this_rho(rho: Fraction) -> None:
    """One tick is a single count, whose noise has the variance 1/(2ρ); 40,000 keys know it to 0.7 %."""
    sums = ToeplitzSums(rho, 1, keys=40_000)
    assert sums.variance * 2 * rho == sums.sensitivity_squared == sums.grid**2
    noise = sums.push_many(np.full((1, 40_000), 5))[0] - 5
    assert noise.var() == pytest.approx(float(1 / (2 * rho)), rel=0.045)
    each = ToeplitzSums(rho, 100, unit=Person(3), each=2, entries=5)
    assert each.sensitivity_squared == each.grid**2 * 9 * 4 * 5


def test_noise_has_the_variance_that_margins_state() -> None:
    """20,000 independent keys: the sample variance has a standard deviation of 1 %; six of them are 2e-9."""
    keys, horizon = 20_000, 60
    sums = ToeplitzSums(Fraction(1, 2), horizon, keys=keys)
    values = sums.push_many(np.full((horizon, keys), 3))
    alpha = Fraction(math.erfc(1 / math.sqrt(2)))
    stated = sums.margins(np.arange(1, horizon + 1), alpha)
    noise = values - 3 * np.arange(1, horizon + 1)[:, None]
    ratio = noise.var(1) / stated**2
    assert (ratio < 1.06).all()
    assert (ratio > 0.86).all()
    assert np.abs(noise.mean(1) / stated).max() < 6 / math.sqrt(keys)
    inside = (np.abs(noise) <= sums.margins(np.arange(1, horizon + 1), Fraction(1, 20))[:, None]).mean(1)
    assert (inside > 0.95 - 6 * math.sqrt(0.05 * 0.95 / keys)).all()


@pytest.mark.parametrize("method", ["blt", "sqrt"])
def test_one_at_a_time_many_at_once_and_keys_are_the_same_arithmetic(method: Any) -> None:
    from discreet import noise

    counts = np.arange(50) % 7
    with noise.deterministic(5):
        one = ToeplitzSums(Fraction(2), 50, method=method)
        values = []
        for count in counts.tolist():
            one.push(count)
            values.append(one.value)
    with noise.deterministic(5):
        many = ToeplitzSums(Fraction(2), 50, method=method).push_many(counts)
    with noise.deterministic(5):
        key = ToeplitzSums(Fraction(2), 50, method=method, keys=1).push_many(counts[:, None])
    assert np.allclose(values, many, rtol=1e-12)
    assert np.allclose(many, key[:, 0], rtol=1e-12)


def test_noise_too_wide_for_int64_goes_on_in_integers_of_any_size() -> None:
    sums = ToeplitzSums(Fraction(1, 10**12), 1000, keys=2)
    values = sums.push_many(np.ones((1000, 2), np.int64))
    assert np.isfinite(values).all()
    assert np.abs(values[-1]).max() < 60 * sums.spread()[1]


@pytest.mark.parametrize(("events", "apart"), [(2, 1), (3, 5), (4, 20)])
def test_events_apart_change_no_more_than_their_bound(events: int, apart: int) -> None:
    """All places of events in a horizon of 90 ticks, in exact arithmetic; the worst comes near the bound."""
    horizon = 90
    strategy, rounding = BLT.for_horizon(horizon), made("blt", horizon).rounding
    grid = grid_for(horizon)
    scales = Scales(strategy, horizon, grid=grid, rounding=rounding).at(0, horizon) / grid
    columns = toeplitz(strategy.coefficients(horizon)) * scales
    gram = columns.T @ columns
    worst = 0.0
    first = itertools.combinations(range(horizon - (events - 1) * (apart - 1)), events)
    for some in itertools.islice(first, 60_000):
        places = [place + i * (apart - 1) for i, place in enumerate(some)]
        worst = max(worst, float(gram[np.ix_(places, places)].sum()))
    bound = columns_squared(strategy, Person(events, apart), horizon=horizon, grid=grid, rounding=rounding)
    assert worst <= bound < events**2
    assert worst > 0.95 * float(bound)
