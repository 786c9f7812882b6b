"""Composition theorems are compared with the enumeration of all outcomes, and with each other."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from discreet.errors import ParameterError
from discreet.privacy.theorems.composition import (
    advanced,
    basic,
    drv_advanced,
    heterogeneous_basic,
    notes_advanced,
    optimal,
    optimal_delta,
    zcdp,
)
from discreet.privacy.theorems.conversions import pure_to_zcdp

ADVANCED = [notes_advanced, drv_advanced, advanced]


def enumerated_delta(odds: Fraction, delta0: Fraction, k: int, target: Fraction) -> Fraction:
    """δ at e^ε = target of k-fold randomised response with failure δ₀, over all 4^k outcomes, in fractions.

    One release has four outcomes: certainly the first table, each of two answers, certainly the second table.
    """
    p = (delta0, (1 - delta0) * odds / (1 + odds), (1 - delta0) / (1 + odds), Fraction(0))
    q = p[::-1]
    total = Fraction(0)
    for outcome in itertools.product(range(4), repeat=k):
        first, second = (math.prod((law[i] for i in outcome), start=Fraction(1)) for law in (p, q))
        total += max(Fraction(0), first - target * second)
    return total


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("delta0", [Fraction(0), Fraction(1, 100)])
@pytest.mark.parametrize("target", [Fraction(1), Fraction(7, 5), Fraction(2), Fraction(11, 2)])
def test_the_optimal_delta_is_that_of_all_outcomes(k: int, delta0: Fraction, target: Fraction) -> None:
    exact = enumerated_delta(Fraction(2), delta0, k, target)
    epsilon, at = (Fraction(math.log(x)) for x in (2, target))
    ours = optimal_delta(epsilon, delta0, k, at)
    assert float(exact) * (1 - 1e-12) - 1e-15 <= ours <= float(exact) * (1 + 1e-11) + 1e-13


def product_delta(epsilon: mpf, k: int, target: mpf) -> mpf:
    share = 1 / (1 + mp.exp(-epsilon))
    return mp.fsum(
        mp.binomial(k, i)
        * share**i
        * (1 - share) ** (k - i)
        * max(mpf(0), -mp.expm1(target - (2 * i - k) * epsilon))
        for i in range(k + 1)
    )


@pytest.mark.parametrize(
    ("epsilon", "k", "delta"),
    [("0.1", 30, "1e-6"), ("0.01", 400, "1e-12"), ("1", 50, "1e-30"), ("5", 4, "0.01"), ("3", 300, "1e-9")],
)
def test_the_optimal_epsilon_is_the_least_that_meets_delta(epsilon: str, k: int, delta: str) -> None:
    ours = optimal(epsilon, 0, k, delta)
    assert product_delta(mpf(epsilon), k, mpf(ours)) <= mpf(delta)
    assert product_delta(mpf(epsilon), k, mpf(ours) * (1 - mpf(10) ** -9)) > mpf(delta)


def test_known_values() -> None:
    assert basic("0.01", 100) == 1
    assert drv_advanced("0.01", 100, "1e-6") == pytest.approx(0.5357, abs=5e-5)
    assert optimal("0.01", 0, 100, "1e-6") == pytest.approx(0.39226, abs=5e-6)
    assert basic("0.01", 10_000) == 100
    assert drv_advanced("0.01", 10_000, "1e-6") == pytest.approx(6.2615, abs=5e-5)
    assert optimal("0.01", 0, 10_000, "1e-6") == pytest.approx(4.88552, abs=5e-6)


def test_a_million_releases_are_composed_exactly() -> None:
    """For so many small losses the sum is Gaussian: μ = ε₀·√k, up to the lattice and the third moment."""
    ours = optimal("0.001", 0, 10**6, "1e-6")
    assert ours == pytest.approx(4.88655, rel=3e-4)


@pytest.mark.parametrize("bound", ADVANCED)
@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "1", "3.3", "10"])
@pytest.mark.parametrize("k", [1, 10, 1000])
def test_every_theorem_holds_even_where_its_proof_does_not(
    bound: Callable[[str, int, str], float], epsilon: str, k: int
) -> None:
    for delta in ("0.1", "1e-6", "1e-30"):
        assert bound(epsilon, k, delta) >= optimal(epsilon, 0, k, delta)


def test_the_step_in_the_notes_holds_up_to_three_point_two_one() -> None:
    def step_holds(x: float) -> bool:
        return math.expm1(x) - x <= 2 * x * x

    assert all(step_holds(i / 1000) for i in range(1, 3213))
    assert not step_holds(3.22)


@pytest.mark.parametrize("epsilon", ["0.01", "0.3", "2"])
def test_the_theorems_improve_on_each_other(epsilon: str) -> None:
    k, delta = 2000, "1e-6"
    best, conc = optimal(epsilon, 0, k, delta), zcdp(pure_to_zcdp(epsilon), k, delta)
    assert best < conc < advanced(epsilon, k, delta) < drv_advanced(epsilon, k, delta)
    assert advanced(epsilon, k, delta) < notes_advanced(epsilon, k, delta)


@pytest.mark.parametrize(
    ("bound", "mean"),
    [
        (notes_advanced, lambda e: 2 * e * e),
        (drv_advanced, lambda e: e * mp.expm1(e)),
        (advanced, lambda e: e * mp.tanh(e / 2)),
    ],
)
def test_the_advanced_bounds_are_their_formulas_rounded_up(
    bound: Callable[[str, int, str], float], mean: Callable[[mpf], mpf]
) -> None:
    e, k, delta = mpf("0.37"), 77, mpf("1e-9")
    exact = e * mp.sqrt(2 * k * mp.log(1 / delta)) + k * mean(e)
    assert exact <= mpf(bound("0.37", 77, "1e-9")) <= exact * (1 + mpf(10) ** -13)


@settings(max_examples=30, deadline=None)
@given(st.floats(1e-3, 3), st.integers(1, 200), st.floats(1e-12, 0.5))
def test_optimal_is_never_above_basic_and_grows_with_k(epsilon: float, k: int, delta: float) -> None:
    here, more = optimal(epsilon, 0, k, delta), optimal(epsilon, 0, k + 2, delta)
    assert 0 <= here <= basic(epsilon, k)
    assert here <= more * (1 + 1e-9)


@pytest.mark.parametrize(
    ("epsilon", "delta0", "k", "delta", "expected"),
    [
        (1, 0, 0, "1e-6", 0.0),
        (0, 0, 5, 0, 0.0),
        (1, 0, 5, 1, 0.0),
        (1, 0, 5, 0, 5.0),
        (1, 0, 5, "1e-400", 5.0),
        (1, "0.5", 2, "0.7", math.inf),
        (1, 1, 1, "0.5", math.inf),
        (10**400, 0, 1, "0.5", math.inf),
        (0, "0.1", 2, "0.2", 0.0),
    ],
)
def test_the_optimum_at_its_ends(epsilon: int, delta0: str, k: int, delta: str, expected: float) -> None:
    assert optimal(epsilon, delta0, k, delta) == expected


def test_a_smaller_failure_than_the_releases_have_is_impossible() -> None:
    spent = 1 - (1 - 1e-6) ** 100
    assert optimal("0.1", "1e-6", 100, spent * 0.999) == math.inf
    assert optimal("0.1", "1e-6", 100, spent * 1.001) < basic("0.1", 100)


def test_releases_that_differ_add_up_exactly() -> None:
    assert heterogeneous_basic(["0.1"] * 10) == 1
    assert heterogeneous_basic([]) == 0


@pytest.mark.parametrize("bound", ADVANCED)
def test_advanced_bounds_at_their_ends(bound: Callable[..., float]) -> None:
    assert bound(0, 10, "1e-6") == 0
    assert bound("0.1", 0, "1e-6") == 0
    assert bound("0.1", 10, 0) == math.inf


@pytest.mark.parametrize("k", [-1, 1.5])
def test_a_number_of_releases_is_whole(k: float) -> None:
    with pytest.raises(ParameterError, match="k must be a whole number"):
        basic(1, k)  # type: ignore[arg-type]


@pytest.mark.parametrize("theorem", [advanced, notes_advanced, drv_advanced])
def test_a_delta_above_1_is_refused(theorem: Callable[..., float]) -> None:
    assert theorem("0.1", 10, 1) > 0
    with pytest.raises(ParameterError, match="delta must not be above 1"):
        theorem("0.1", 10, "1.5")


@pytest.mark.parametrize("epsilon", ["0.1", "1", "1/3", "20"])
def test_one_release_at_its_own_epsilon_needs_no_delta(epsilon: str) -> None:
    assert optimal_delta(epsilon, 0, 1, epsilon) == 0
    assert optimal_delta(epsilon, 0, 7, 7 * Fraction(epsilon)) == 0
    assert optimal_delta(epsilon, "1e-6", 1, epsilon) == pytest.approx(1e-6, rel=1e-9, abs=0)
    below = Fraction(epsilon) * Fraction(99, 100)
    assert optimal_delta(epsilon, 0, 1, below) > 0
