"""Group privacy, against laws that move step by step."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import NotComposable, ParameterError
from discreet.privacy.loss_measures import renyi_divergence
from discreet.privacy.losses import (
    Approximate,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    GaussianDP,
    Laplace,
    Loss,
    PoissonSubsampled,
    Pure,
    Renyi,
    ZeroConcentrated,
)
from discreet.privacy.theorems.group import for_group


@pytest.mark.parametrize(
    ("loss", "together"),
    [
        (Pure("0.5"), Pure("1.5")),
        (Exponential("0.5"), Pure("1.5")),
        (ZeroConcentrated("0.1"), ZeroConcentrated("0.9")),
        (GaussianDP("0.5"), GaussianDP("1.5")),
        (Laplace(2), Laplace(2, 3)),
        (DiscreteLaplace(2), DiscreteLaplace(2, 3)),
        (Gaussian(2), Gaussian(2, 3)),
        (DiscreteGaussian(2), DiscreteGaussian(2, 3)),
        (Pure(1) * 2, Pure(3) * 2),
        (Approximate(0, "0.1"), Approximate(0, "0.3")),
    ],
    ids=lambda loss: type(loss).__name__,
)
def test_a_group_of_three(loss: Loss, together: Loss) -> None:
    assert for_group(loss, 3) == together


def test_a_group_of_one_is_the_person() -> None:
    for loss in (Pure(1), Approximate(1, "1e-6"), Renyi((2, 4), (1, 2)), GaussianDP(1)):
        assert for_group(loss, 1) == loss or isinstance(loss, Approximate)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_delta_of_a_group_is_the_sum_over_its_steps(size: int) -> None:
    loss = for_group(Approximate("0.3", "1e-6"), size)
    exact = 1e-6 * sum(math.exp(0.3 * j) for j in range(size))
    assert isinstance(loss, Approximate)
    assert loss.epsilon == size * Fraction("0.3")
    assert exact * (1 - 1e-12) <= float(loss.delta) <= exact * (1 + 1e-12)


def test_delta_of_a_large_group_is_no_more_than_one() -> None:
    assert for_group(Approximate(1, "1e-6"), 10_000) == Approximate(10_000, 1)


def test_delta_of_a_group_is_attained_by_laws_that_leak_a_little_more_at_each_step() -> None:
    odds, leak = Fraction(3, 2), Fraction(1, 100)
    mass = [Fraction(0)]  # of a telling outcome; it grows as fast as (ε, δ) allows
    for _ in range(3):
        mass.append(odds * mass[-1] + leak)
    assert all(1 - less <= odds * (1 - more) + leak for less, more in itertools.pairwise(mass))
    together = for_group(Approximate(math.log(odds), leak), 3)
    assert isinstance(together, Approximate)
    assert float(mass[3] - odds**3 * mass[0]) == pytest.approx(float(together.delta), rel=1e-12)


@pytest.mark.parametrize(("size", "doublings"), [(2, 1), (3, 2), (4, 2)])
def test_a_renyi_curve_of_a_group_bounds_a_gaussian_that_moves_farther(size: int, doublings: int) -> None:
    orders = (2, 4, 8, 16)
    alone = Renyi(orders, tuple(Fraction(a, 2) for a in orders))  # Gaussian noise, σ = 1
    together = for_group(alone, size)
    assert isinstance(together, Renyi)
    assert together.orders == tuple(Fraction(a, 2**doublings) for a in orders if a >= 2 ** (doublings + 1))
    exact = renyi_divergence(Gaussian(1, size), np.array([float(Fraction(str(a))) for a in together.orders]))
    assert all(float(Fraction(str(e))) >= d * (1 - 1e-12) for e, d in zip(together.epsilons, exact, strict=True))


def test_a_renyi_curve_that_is_too_short_is_refused() -> None:
    with pytest.raises(NotComposable, match=r"order of 16 or more \(found: the largest is 4\)"):
        for_group(Renyi((2, 4), (1, 2)), 5)


def test_a_sampled_gaussian_has_no_group_theorem() -> None:
    with pytest.raises(NotComposable, match="sensitivity of 2 people"):
        for_group(PoissonSubsampled(Gaussian(1), "0.1"), 2)


def test_a_group_with_an_epsilon_below_every_float_adds_its_deltas_at_most_twice() -> None:
    grouped = for_group(Approximate(Fraction(1, 10**400), "1e-6"), 5)
    assert isinstance(grouped, Approximate)
    assert Fraction(5, 10**6) <= grouped.delta <= Fraction(1, 10**5)


def test_an_empty_group_is_refused() -> None:
    with pytest.raises(ParameterError, match="size must be a whole number, 1 or more"):
        for_group(Pure(1), 0)
