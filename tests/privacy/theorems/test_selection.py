"""The best of a random number of candidates, against laws that are added up exactly."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr

from discreet.errors import ParameterError
from discreet.privacy.pld.normal import gaussian_delta
from discreet.privacy.theorems.selection import Logarithmic, delta, dominated, lift, mu_alone, mu_within

Floats = NDArray[np.float64]


def best_of(law: Floats, number: Logarithmic) -> Floats:
    """Return the law of the best candidate, where candidates are in the order of their scores."""
    g = float(number.gamma)
    # f(b) − f(a) for f(x) = ln(1 − (1 − γ)x)/ln γ, by sums from the top, so that small chances keep their digits.
    at_least = np.cumsum(law[::-1])[::-1]
    return np.asarray(np.log1p(-(1 - g) * law / (g + (1 - g) * at_least)) / math.log(g))


def gaussian_pair(mu: float, cells: int = 20000) -> tuple[Floats, Floats]:
    edges = np.concatenate([[-np.inf], np.linspace(-12, 12 + mu, cells), [np.inf]])
    upper = edges[1:] > 0.5 * mu  # on either side of the middle, differences of small tails
    found = [
        np.where(upper, -np.diff(ndtr(-(edges - shift))), np.diff(ndtr(edges - shift))) for shift in (0.0, mu)
    ]
    return found[0], found[1]


def profile(first: Floats, second: Floats, epsilon: float) -> float:
    return float(np.maximum(first - math.exp(epsilon) * second, 0).sum())


@pytest.mark.parametrize("mean", [2, 10, 100])
@pytest.mark.parametrize("mu", [0.02, 0.2, 1.0])
def test_the_best_of_gaussian_candidates_is_within_both_bounds(mean: int, mu: float) -> None:
    number = Logarithmic.of_mean(mean)
    still, moved = (best_of(law, number) for law in gaussian_pair(mu))
    whole = mu
    while not dominated(mu, number, whole):
        whole *= 1.05
    for epsilon in (0.0, 0.1 * mu, mu, 2 * mu, 4 * mu, 8 * mu):
        for one, other in ((still, moved), (moved, still)):
            found = profile(one, other, epsilon)
            assert found <= delta(mu, number, epsilon) + 1e-12
            assert found <= gaussian_delta(whole, epsilon)[1] + 1e-12


def test_the_price_of_one_candidate_would_be_too_little() -> None:
    """The mistake of most searches: only the run that won is paid."""
    number, mu = Logarithmic.of_mean(10), 0.2
    still, moved = (best_of(law, number) for law in gaussian_pair(mu))
    assert profile(moved, still, 0.3) > 1.5 * gaussian_delta(mu, 0.3)[1]


@pytest.mark.parametrize("seed", range(20))
def test_the_best_of_pure_candidates_costs_twice_as_much_and_no_more(seed: int) -> None:
    random = np.random.default_rng(seed)
    number, epsilon = Logarithmic.of_mean(float(random.uniform(1.1, 50))), 0.7
    first = random.dirichlet(np.ones(6))
    second = first * np.exp(random.choice([-epsilon / 2, epsilon / 2], 6))
    one, other = best_of(first, number), best_of(second / second.sum(), number)
    assert np.abs(np.log(one / other)).max() <= 2 * epsilon + 1e-9


def test_twice_is_nearly_reached() -> None:
    """An outcome that is e^ε less likely, and beaten e^ε more often by one that is rare as well."""
    number, epsilon, rare = Logarithmic.of_mean(5000), 0.5, 0.01
    first = np.array([1 - 1.001 * rare, 0.001 * rare, rare])
    second = np.array([0.0, 0.001 * rare * math.exp(-epsilon), rare * math.exp(epsilon)])
    second[0] = 1 - second.sum()
    ratio = np.abs(np.log(best_of(first, number) / best_of(second, number)))
    assert 1.9 * epsilon < ratio.max() <= 2 * epsilon


@pytest.mark.parametrize("mean", [1.5, 3, 10, 500])
def test_a_law_has_the_mean_that_was_asked_for(mean: float) -> None:
    number = Logarithmic.of_mean(mean)
    g = float(number.gamma)
    k = np.arange(1, int(200 / g))
    chances = (1 - g) ** k / k / -math.log(g)
    assert (k * chances).sum() == pytest.approx(mean, rel=1e-2)
    assert (k * chances).sum() <= number.mean * (1 + 1e-12)
    ends, runs, beyond = number.chances()
    assert runs.sum() + beyond >= 1 - 1e-12
    assert ends[-1] >= 60 / g - 1


def test_candidates_are_priced_with_all_of_the_budget() -> None:
    number = Logarithmic.of_mean(10)
    alone = mu_alone(1, "1e-5", number)
    assert delta(alone, number, 1.0) <= 1e-5 < delta(1.01 * alone, number, 1.0)
    within = mu_within(0.25, number)
    assert dominated(within, number, 0.25)
    assert within > 0.25 / math.sqrt(10), "better than to pay for ten candidates"
    assert lift(0.1, number) < 0.1 * 2


def test_means_without_a_meaning_are_refused() -> None:
    for mean in (1, "0.5", 10**9):
        with pytest.raises(ParameterError):
            Logarithmic.of_mean(mean)


@pytest.mark.parametrize("mu", [1e-5, 1e-3, 0.1, 1.0])
@pytest.mark.parametrize("mean", [2, 10, 1000])
def test_the_lift_is_above_that_of_every_score_and_near_the_largest(mu: float, mean: int) -> None:
    """Cells of a fixed width made it too large for a small μ: no candidate was private enough at ε = 0.001."""
    number = Logarithmic.of_mean(mean)
    g, z = float(number.gamma), np.linspace(-8, 8, 4001)
    lifts = np.log1p((1 - g) * (ndtr(z + mu) - ndtr(z)) / (g + (1 - g) * ndtr(z)))
    assert float(lifts.max()) <= lift(mu, number) * (1 + 1e-9)
    assert lift(mu, number) < 1.02 * float(lifts.max())


def test_small_budgets_buy_a_search_and_smaller_ones_are_refused() -> None:
    number = Logarithmic.of_mean(10)
    assert mu_alone("0.001", "1e-9", number) > 1e-4
    with pytest.raises(ParameterError, match="No candidate is this private"):
        mu_alone("1e-13", "1e-9", number)
