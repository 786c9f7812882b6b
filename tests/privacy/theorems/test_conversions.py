"""Conversions are compared with 50-digit arithmetic: never too small, and equal to nine digits."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from discreet.errors import ParameterError
from discreet.privacy.theorems.conversions import (
    approximate_to_approximate,
    gdp_delta,
    gdp_to_approximate,
    gdp_to_zcdp,
    pure_to_approximate,
    pure_to_gdp,
    pure_to_renyi,
    pure_to_zcdp,
    renyi_delta,
    renyi_to_approximate,
    zcdp_delta,
    zcdp_to_approximate,
    zcdp_to_approximate_classical,
    zcdp_to_renyi,
)


def exactly(value: Fraction) -> mpf:
    return mpf(value.numerator) / value.denominator


@pytest.mark.parametrize("epsilon", ["1e-12", "1e-4", "0.1", "0.9999", "1", "3", "40", "599"])
def test_pure_to_zcdp_is_epsilon_times_tanh(epsilon: str) -> None:
    exact = mpf(epsilon) * mp.tanh(mpf(epsilon) / 2)
    ours = exactly(pure_to_zcdp(epsilon))
    assert exact <= ours <= exact * (1 + mpf(10) ** -12)


@pytest.mark.parametrize("epsilon", ["1e-18", "1e-4", "0.0009", "0.0011", "0.1", "1", "3", "40", "599"])
def test_pure_to_gdp_matches_the_kink_of_randomised_response(epsilon: str) -> None:
    exact = mp.findroot(
        lambda m: mp.log(mp.ncdf(-m / 2)) + mp.log1p(mp.exp(mpf(epsilon))), float(pure_to_gdp(epsilon))
    )
    assert exact <= mpf(pure_to_gdp(epsilon)) <= exact * (1 + mpf(10) ** -9)


def cks_log_delta(rho: mpf, epsilon: mpf, order: mpf) -> mpf:
    return (order - 1) * (order * rho - epsilon) + order * mp.log1p(-1 / order) - mp.log(order - 1)


def best_delta(rho: mpf, epsilon: mpf) -> mpf:
    """The infimum over orders, by ternary search on log(α − 1) of a function with one valley."""
    low, high = mpf(-80), mpf(80)
    for _ in range(400):
        left, right = (2 * low + high) / 3, (low + 2 * high) / 3
        if cks_log_delta(rho, epsilon, 1 + mp.exp(left)) < cks_log_delta(rho, epsilon, 1 + mp.exp(right)):
            high = right
        else:
            low = left
    return mp.exp(cks_log_delta(rho, epsilon, 1 + mp.exp(low)))


@pytest.mark.parametrize(
    ("rho", "epsilon"),
    [("0.1", "2"), ("1e-6", "0.01"), ("5", "30"), ("0.5", "0"), ("1000", "2000"), ("1e-12", "1e-9")],
)
def test_delta_of_zcdp_is_that_of_the_best_order(rho: str, epsilon: str) -> None:
    exact = min(mpf(1), best_delta(mpf(rho), mpf(epsilon)))
    ours = mpf(zcdp_delta(rho, epsilon))
    assert exact * (1 - mpf(10) ** -30) <= ours <= exact * (1 + mpf(10) ** -9)


@pytest.mark.parametrize("delta", ["0.5", "0.01", "1e-6", "1e-30", "1e-300", "4e-324", "1e-400"])
@pytest.mark.parametrize("rho", ["1e-9", "0.001", "0.5", "40"])
def test_epsilon_of_zcdp_inverts_its_delta(rho: str, delta: str) -> None:
    epsilon = zcdp_to_approximate(rho, delta)
    at, just_below = (best_delta(mpf(rho), mpf(epsilon) * factor) for factor in (1, 1 - mpf(10) ** -9))
    assert at <= mpf(delta)
    assert epsilon == 0 or just_below > mpf(delta)
    assert epsilon <= zcdp_to_approximate_classical(rho, delta)


def test_the_classical_bound_of_zcdp_is_its_formula() -> None:
    exact = mpf("0.1") + 2 * mp.sqrt(mpf("0.1") * mp.log(10**6))
    assert exact <= mpf(zcdp_to_approximate_classical("0.1", "1e-6")) <= exact * (1 + mpf(10) ** -13)


@pytest.mark.parametrize("mu", ["0.01", "1", "7"])
@pytest.mark.parametrize("delta", ["0.01", "1e-12", "1e-30"])
def test_epsilon_of_gdp_inverts_the_gaussian_profile(mu: str, delta: str) -> None:
    def profile(epsilon: mpf) -> mpf:
        m = mpf(mu)
        return mp.ncdf(-epsilon / m + m / 2) - mp.exp(epsilon) * mp.ncdf(-epsilon / m - m / 2)

    epsilon = gdp_to_approximate(mu, delta)
    assert profile(mpf(epsilon)) <= mpf(delta)
    assert epsilon == 0 or profile(mpf(epsilon) * (1 - mpf(10) ** -9)) > mpf(delta)
    assert gdp_delta(mu, epsilon) <= float(mpf(delta)) * (1 + 1e-9)


@settings(max_examples=50)
@given(st.floats(1e-3, 30), st.floats(0, 1))
def test_pure_to_approximate_inverts_the_profile_of_randomised_response(epsilon: float, delta: float) -> None:
    target = pure_to_approximate(epsilon, delta)
    profile = (mp.exp(mpf(epsilon)) - mp.exp(mpf(target))) / (1 + mp.exp(mpf(epsilon)))
    assert 0 <= target <= epsilon
    assert profile <= mpf(delta)
    assert target < 1e-9 or profile >= mpf(delta) - mpf(10) ** -9


def test_an_approximate_guarantee_moves_along_its_own_profile_only() -> None:
    assert approximate_to_approximate(1, "0.1", "0.05") == math.inf
    assert approximate_to_approximate(1, "0.1", "0.1") == 1
    assert approximate_to_approximate(1, 0, "0.2") == pure_to_approximate(1, "0.2")
    assert approximate_to_approximate(1, 1, 1) == 0


def test_a_fine_renyi_curve_is_as_good_as_zcdp_and_never_better() -> None:
    orders = 1 + np.geomspace(1e-3, 1e5, 4000)
    curve = zcdp_to_renyi("0.1", orders)
    for delta in ("0.1", "1e-6", "1e-300"):
        best = zcdp_to_approximate("0.1", delta)
        assert best <= renyi_to_approximate(orders, curve, delta) <= best * (1 + 1e-4)
    best = zcdp_delta("0.1", 2)
    assert best <= renyi_delta(orders, curve, 2) <= best * (1 + 1e-3)


def test_infinite_divergences_are_passed_over() -> None:
    orders, curve = np.array([2.0, 4.0]), np.array([1.0, math.inf])
    assert renyi_to_approximate(orders, curve, "1e-6") == renyi_to_approximate(orders[:1], curve[:1], "1e-6")
    assert renyi_delta(orders[1:], curve[1:], 1) == 1.0


def test_pure_to_renyi_tends_to_epsilon() -> None:
    curve = pure_to_renyi(1, np.array([1.0001, 1e9]))
    assert curve[0] == pytest.approx(math.tanh(0.5), rel=1e-3)
    assert curve[1] == pytest.approx(1, rel=1e-6)
    assert curve[1] <= 1


def test_gdp_to_zcdp_is_exact() -> None:
    assert gdp_to_zcdp("1/3") == Fraction(1, 18)


TO_EPSILON: list[Callable[[Fraction | int | str, Fraction | int | str], float]] = [
    pure_to_approximate,
    zcdp_to_approximate,
    zcdp_to_approximate_classical,
    gdp_to_approximate,
]
SIZES: list[Fraction | int | str] = [0, "1e-320", "1e-300", "1e-20", "1e-3", 1, 700, 10**9, 10**300, 10**400]
DELTAS: list[Fraction | int | str] = [2, 1, "0.999999", "0.5", "1e-6", "1e-300", "5e-324", "1e-400", 0]


@pytest.mark.parametrize("convert", TO_EPSILON)
def test_epsilons_are_never_negative_never_nan_and_monotone(convert: Callable[..., float]) -> None:
    table = np.array([[convert(size, delta) for delta in DELTAS] for size in SIZES])
    assert not np.isnan(table).any()
    assert (table >= 0).all()
    rows = table.copy()
    rows[np.isinf(rows)] = 1e308
    assert (rows[1:] >= rows[:-1] * (1 - 1e-9)).all(), "a weaker guarantee needs a larger ε"
    assert (rows[:, 1:] >= rows[:, :-1] * (1 - 1e-9)).all(), "a smaller δ needs a larger ε"
    assert (table[0] == 0).all(), "identical laws need no ε at any δ"
    assert (table[:, :2] == 0).all(), "δ of 1 allows everything"


@pytest.mark.parametrize(("convert", "sizes"), [(zcdp_delta, SIZES), (gdp_delta, [0, *SIZES[4:]])])
def test_deltas_are_probabilities_and_monotone(
    convert: Callable[..., float], sizes: list[Fraction | int | str]
) -> None:
    table = np.array([[convert(size, epsilon) for epsilon in (0, "1e-9", "0.1", 1, 50, 10**6)] for size in sizes])
    assert ((table >= 0) & (table <= 1)).all()
    assert (table[1:] >= table[:-1] * (1 - 1e-9)).all()
    assert (table[:, 1:] <= table[:, :-1] * (1 + 1e-9)).all()
    assert (table[0] == 0).all()


@pytest.mark.parametrize("convert", [*TO_EPSILON, zcdp_delta, gdp_delta])
def test_negative_parameters_are_refused(convert: Callable[..., float]) -> None:
    with pytest.raises(ParameterError, match=r"must not be below 0 \(found: -1\)"):
        convert(-1, "0.1")
    with pytest.raises(ParameterError, match="must not be below 0"):
        convert(1, "-0.1")
