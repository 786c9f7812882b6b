"""Laplace and Gaussian: the declared loss against the exact laws, and releases against the same laws."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.mechanisms import Exact, Gaussian, Laplace, Sensitivity
from discreet.privacy import losses, plan
from tests.mechanisms.output_laws import (
    FALSE_ALARM,
    gaussian,
    hockey_stick,
    laplace,
    log_ratios,
    p_value,
    p_value_of,
    product,
    shifted,
)

EPSILONS = [Fraction(k, 10) for k in range(0, 31, 3)]


@pytest.mark.parametrize(("scale", "sensitivity"), [(1, 1), ("3/2", 2), (4, 3), ("1/3", 1)])
def test_laplace_loses_exactly_sensitivity_over_scale_and_no_more(scale: str, sensitivity: int) -> None:
    mechanism = Laplace(scale, sensitivity)
    law = laplace(mechanism.scale)
    inside = {x: p for x, p in law.items() if x + sensitivity in law}
    for P, Q in [(inside, shifted(law, sensitivity)), (inside, shifted(law, -sensitivity))]:
        worst = max(log_ratios({x: p for x, p in P.items() if x in Q}, Q))
        assert worst == pytest.approx(float(sensitivity / mechanism.scale), abs=1e-12)


@pytest.mark.parametrize(("scale", "sensitivity"), [(1, 1), (3, 2), ("1/2", 1)])
def test_the_profile_of_laplace_is_that_of_its_declared_loss(scale: str, sensitivity: int) -> None:
    mechanism = Laplace(scale, sensitivity)
    law = laplace(mechanism.scale)
    for epsilon in EPSILONS:
        truth = float(hockey_stick(law, shifted(law, sensitivity), epsilon))
        assert truth - 1e-12 <= plan.delta(mechanism.loss, epsilon) <= truth + 1e-4


@pytest.mark.parametrize("moves", [(2, 1), (1, 2), (3, 0), (-2, 1), (1, 1, 1), (1, -1, 1)])
def test_no_vector_of_moves_is_easier_to_see_than_one_move_of_the_same_l1_norm(moves: tuple[int, ...]) -> None:
    one = laplace(Fraction(1), reach=20 if len(moves) < 3 else 8)
    together = product(*(one for _ in moves))
    moved = product(*(shifted(one, d) for d in moves))
    scalar = laplace(Fraction(1))
    for epsilon in [Fraction(k, 4) for k in range(-12, 13, 2)]:
        cut_off = 2e-3 if len(moves) > 2 else 1e-8  # what lies outside of the cube
        bound = hockey_stick(scalar, shifted(scalar, 3), epsilon)
        assert hockey_stick(together, moved, epsilon) <= bound + cut_off * max(1.0, math.exp(epsilon))


@pytest.mark.parametrize(("variance", "entries", "each"), [(1, 1, 1), (4, 1, 3), (2, 2, 1)])
def test_the_profile_of_the_gaussian_is_that_of_its_declared_loss(variance: int, entries: int, each: int) -> None:
    mechanism = Gaussian(variance, Sensitivity(entries=entries, each=each))
    one = gaussian(mechanism.variance, reach=9)
    P, Q = product(*[one] * entries), product(*[shifted(one, each)] * entries)
    for epsilon in EPSILONS:
        truth = float(hockey_stick(P, Q, epsilon))
        assert truth - 1e-12 <= plan.delta(mechanism.loss, epsilon) <= truth + 2e-3


@pytest.mark.parametrize("moves", [*itertools.product(range(-2, 3), repeat=2)])
def test_smaller_moves_are_harder_to_see(moves: tuple[int, int]) -> None:
    """Entries that move by less than the sensitivity says, or the other way, never beat the declared loss."""
    one = gaussian(Fraction(2), reach=6)
    P, Q = product(one, one), product(*(shifted(one, d) for d in moves))
    worst = product(shifted(one, 2), shifted(one, 2))
    for epsilon in (0.0, 0.7, 2.0):
        assert hockey_stick(P, Q, epsilon) <= hockey_stick(P, worst, epsilon) + mpmath.mpf("1e-7")


@pytest.mark.parametrize("moves", [(1, 2), (2, 1), (0, 2), (1, 1)])
def test_the_zcdp_of_a_general_l2_sensitivity_bounds_every_renyi_divergence(moves: tuple[int, int]) -> None:
    mechanism = Gaussian(3, Sensitivity(l2_squared=5))
    assert mechanism.loss == losses.ZeroConcentrated(Fraction(5, 6))
    one = gaussian(mechanism.variance)
    for order in (1.5, 2, 4):
        divergence = 0.0
        for move in moves:
            other = shifted(one, move)
            power = mpmath.fsum(p**order * other[x] ** (1 - order) for x, p in one.items() if x in other)
            divergence += float(mpmath.log(power) / (order - 1))
        assert divergence <= order * 5 / 6 + 1e-9


@pytest.mark.parametrize(
    ("epsilon", "delta", "sensitivity"),
    [(1, "1e-6", 1), ("0.1", "1e-9", 4), (4, "1e-5", 1), (1, "1e-6", Sensitivity(entries=4, each=2))],
)
def test_a_calibrated_gaussian_keeps_its_budget_and_wastes_little(
    epsilon: str, delta: str, sensitivity: Sensitivity | int
) -> None:
    mechanism = Gaussian.for_budget(epsilon, delta, sensitivity)
    assert plan.delta(mechanism.loss, epsilon) <= float(Fraction(delta))
    less = Gaussian(mechanism.variance * Fraction(99, 100), sensitivity)
    assert plan.delta(less.loss, epsilon) > float(Fraction(delta))


def test_the_law_of_a_calibrated_gaussian_keeps_the_budget_by_enumeration() -> None:
    mechanism = Gaussian.for_budget(epsilon=1, delta="1e-5", sensitivity=2)
    law = gaussian(mechanism.variance)
    assert hockey_stick(law, shifted(law, 2), 1) <= mpmath.mpf("1e-5")


@pytest.mark.parametrize("epsilon", [1001, 10**400])
def test_an_epsilon_without_protection_is_refused(epsilon: int) -> None:
    with pytest.raises(ParameterError, match="gives no protection"):
        Gaussian.for_budget(epsilon, "1e-6")


def test_calibration_to_a_general_l2_sensitivity_goes_through_zcdp() -> None:
    mechanism = Gaussian.for_budget(1, "1e-6", Sensitivity(l2_squared=7))
    assert isinstance(mechanism.loss, losses.ZeroConcentrated)
    assert plan.delta(mechanism.loss, 1) <= 1e-6


def test_the_classical_calibration_breaks_its_promise_at_large_epsilon() -> None:
    """Note 003 uses σ = √(2·ln(1.25/δ))·Δ/ε at any ε; its proof needs ε < 1. At ε = 20 the noise is too small."""
    epsilon, delta = 20, Fraction(1, 1000)
    classical = Gaussian(Fraction(2 * math.log(1.25 / float(delta))) * 40**2 / epsilon**2, sensitivity=40)
    law = gaussian(classical.variance)
    assert hockey_stick(law, shifted(law, 40), epsilon) > float(delta)


def test_rho_is_met_exactly() -> None:
    mechanism = Gaussian.for_rho("0.02", Sensitivity(l2_squared=6))
    assert mechanism.loss == losses.ZeroConcentrated("0.02")
    assert Gaussian.for_rho("1/8", 3).variance == 36


@pytest.mark.parametrize("scale", [1, "3/2", 5])
def test_laplace_releases_follow_the_law(scale: str) -> None:
    """Fails if the scale is halved, the sensitivity ignored, or a rounded float Laplace takes its place."""
    mechanism = Laplace.for_epsilon(1 / Fraction(scale))
    vector = mechanism.release(Exact([7] * 200_000, Sensitivity(entries=1, each=1)))
    assert p_value_of(Counter((np.asarray(vector) - 7).tolist()), laplace(Fraction(scale))) > FALSE_ALARM
    assert p_value(lambda: mechanism.release(Exact(0, 1)), 4_000, laplace(Fraction(scale))) > FALSE_ALARM


def test_laplace_scales_its_noise_with_the_sensitivity() -> None:
    mechanism = Laplace.for_epsilon("1/2", sensitivity=3)
    vector = mechanism.release(Exact(np.zeros(50_000, np.int64), 3))
    assert p_value_of(Counter(np.asarray(vector).tolist()), laplace(Fraction(6))) > FALSE_ALARM


@pytest.mark.parametrize("variance", ["1/2", 2, 9])
def test_gaussian_releases_follow_the_law(variance: str) -> None:
    """Fails if the variance is halved or a rounded float normal takes its place."""
    mechanism = Gaussian(variance)
    law = gaussian(Fraction(variance))
    vector = mechanism.release(Exact([7] * 200_000, 1))
    assert p_value_of(Counter((np.asarray(vector) - 7).tolist()), law) > FALSE_ALARM
    assert p_value(lambda: mechanism.release(Exact(0, 1)), 4_000, law) > FALSE_ALARM


def test_the_test_above_would_notice_rounded_floats() -> None:
    rng = np.random.default_rng(1)
    rounded = np.rint(rng.normal(0, math.sqrt(0.5), 200_000)).astype(int)
    assert p_value_of(Counter(rounded.tolist()), gaussian(Fraction(1, 2))) < FALSE_ALARM
    rounded = np.rint(rng.laplace(0, 1, 200_000)).astype(int)
    assert p_value_of(Counter(rounded.tolist()), laplace(Fraction(1))) < FALSE_ALARM


@pytest.mark.parametrize("mechanism", [Laplace(2, 2), Gaussian(4, Sensitivity(entries=2, each=1))])
def test_entries_of_one_release_have_independent_noise(mechanism: Laplace | Gaussian) -> None:
    """One draw for all entries would let differences of entries through."""
    exact = Exact([0, 0], Sensitivity(entries=2, each=1))
    one = laplace(Fraction(2)) if isinstance(mechanism, Laplace) else gaussian(Fraction(4))
    near = {x: p for x, p in one.items() if abs(x) <= 12}
    law = product(near, near)
    draws = Counter(tuple(np.asarray(mechanism.release(exact)).tolist()) for _ in range(8_000))
    assert p_value_of(draws, law) > FALSE_ALARM
