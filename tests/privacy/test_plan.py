"""Plans against closed forms, exact enumeration and known values; bounds that are never on the wrong side."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Literal

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet import privacy
from discreet.errors import NotComposable, ParameterError
from discreet.privacy import Loss
from discreet.privacy.losses import describe
from tests.privacy.pairs import EXACT, LOSSES

NEIGHBOURS: tuple[Literal["add/remove"], Literal["replace"]] = ("add/remove", "replace")
SMALL_DELTAS = [1e-6, 1e-9, 1e-10, 1e-12, 1e-14, 1e-16, 1e-20, 1e-30]
SOME_DELTAS = [  # every other one; the rest is slow
    pytest.param(delta, marks=pytest.mark.slow if i % 2 else ()) for i, delta in enumerate(SMALL_DELTAS)
]

Law = list[tuple[mp.mpf, mp.mpf]]
"""Outcomes with their probabilities under P and under Q."""


def response(epsilon: str, categories: int = 2) -> Law:
    odds = mp.exp(mp.mpf(epsilon))
    total = odds + categories - 1
    return [
        (odds / total, 1 / total),
        (1 / total, odds / total),
        ((categories - 2) / total, (categories - 2) / total),
    ]


def discrete_laplace(scale: int, shift: int) -> Law:
    ratio = mp.exp(-1 / mp.mpf(scale))
    ends = (1 / (1 + ratio), ratio**shift / (1 + ratio))
    centre = (1 - ratio) / (1 + ratio)
    inner = [(centre * ratio ** (shift - n), centre * ratio**n) for n in range(1, shift)]
    return [ends, (ends[1], ends[0]), *inner]


def product(laws: list[Law]) -> Iterator[tuple[mp.mpf, mp.mpf]]:
    for outcome in itertools.product(*laws):
        yield mp.fprod(p for p, _ in outcome), mp.fprod(q for _, q in outcome)


def exact_delta(laws: list[Law], epsilon: float) -> mp.mpf:
    t = mp.exp(mp.mpf(epsilon))
    return mp.fsum(max(mp.mpf(0), p - t * q) for p, q in product(laws))


def optimal_composition(epsilon: str, k: int, at: float) -> mp.mpf:
    """Kairouz, Oh and Viswanath: k-fold randomised response, summed over the number of lies."""
    e = mp.mpf(epsilon)
    terms = (
        mp.binomial(k, lies) * (mp.exp((k - lies) * e) - mp.exp(mp.mpf(at) + lies * e)) for lies in range(k + 1)
    )
    return mp.fsum(max(mp.mpf(0), term) for term in terms) / (1 + mp.exp(e)) ** k


def assert_brackets(losses: list[Loss], laws: list[Law], epsilon: float, width: float) -> None:
    true = exact_delta(laws, epsilon)
    low, high = privacy.delta_bounds(losses, epsilon)
    assert low <= true <= high
    assert high <= float(true) * (1 + width) + 1e-12
    assert privacy.delta(losses, epsilon) >= true


# -- closed forms -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", SOME_DELTAS)
def test_many_gaussians_are_never_below_the_closed_form(delta: float) -> None:
    # dp-accounting 0.6.0 is below it from 1e-10 on. Sampling at rate 1 forces the lattice instead of the formula.
    by_formula = privacy.epsilon(privacy.Gaussian(sigma=100) * 10_000, delta)
    by_lattice = privacy.epsilon_bounds(privacy.PoissonSubsampled(privacy.Gaussian(sigma=100), 1) * 10_000, delta)

    def true(epsilon: float) -> mp.mpf:
        e = mp.mpf(epsilon)
        return mp.ncdf(0.5 - e) - mp.exp(e) * mp.ncdf(-0.5 - e)

    assert true(by_formula) <= delta
    assert true(by_lattice[1]) <= delta
    assert true(by_lattice[0]) >= delta
    assert by_formula <= by_lattice[1] <= by_formula * (1 + 5e-5)
    assert by_lattice[0] >= by_formula * 0.998


@pytest.mark.parametrize("delta", SOME_DELTAS)
def test_a_thousand_pure_steps_are_the_optimal_composition(delta: float) -> None:
    epsilon = privacy.epsilon(privacy.Pure("0.05") * 1000, delta)
    assert optimal_composition("0.05", 1000, epsilon) <= delta
    assert optimal_composition("0.05", 1000, epsilon - 1e-6) >= delta


@pytest.mark.parametrize("delta", SMALL_DELTAS)
def test_one_laplace_has_its_closed_form(delta: float) -> None:
    true = 2 + 2 * math.log1p(-delta)
    low, high = privacy.epsilon_bounds(privacy.Laplace(scale="0.5"), delta)
    assert low <= true <= high <= true + 1e-4
    assert high <= 2


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 1.7])
def test_two_laplace_releases_match_their_integral(epsilon: float) -> None:
    # Condition on the loss of the first release: an atom at each end, and the density e^((x−1)/2)/4 between.
    def one(at: mp.mpf) -> mp.mpf:
        if at >= 1:
            return mp.mpf(0)
        return 1 - mp.exp((at - 1) / 2) if at >= -1 else 1 - mp.exp(at)

    e = mp.mpf(epsilon)
    breaks = sorted({mp.mpf(-1), mp.mpf(1), *(x for x in (e - 1, e + 1) if -1 < x < 1)})
    between = mp.quad(lambda x: mp.exp((x - 1) / 2) / 4 * one(e - x), breaks)
    true = one(e - 1) / 2 + mp.exp(-1) / 2 * one(e + 1) + between
    low, high = privacy.delta_bounds(privacy.Laplace(1) * 2, epsilon)
    assert low <= true <= high <= true * 1.001


# -- exact enumeration ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.1, 2.5])
def test_seven_different_responses_match_enumeration(epsilon: float) -> None:
    sizes = ["0.1", "0.23", "0.37", "0.5", "0.71", "0.9", "1.3"]
    losses: list[Loss] = [privacy.Pure(size) for size in sizes]
    assert_brackets(losses, [response(size) for size in sizes], epsilon, width=0.01)


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.9])
def test_responses_with_many_categories_match_enumeration(epsilon: float) -> None:
    losses: list[Loss] = [privacy.RandomizedResponse(1, 4) * 3, privacy.RandomizedResponse("0.5", 3) * 2]
    assert_brackets(losses, [response("1", 4)] * 3 + [response("0.5", 3)] * 2, epsilon, width=0.01)


@pytest.mark.parametrize("epsilon", [0.0, 0.6, 1.5, 3.0])
def test_discrete_laplace_matches_enumeration(epsilon: float) -> None:
    losses: list[Loss] = [privacy.DiscreteLaplace(4, 3) * 3, privacy.DiscreteLaplace(7, 5)]
    laws = [discrete_laplace(4, 3)] * 3 + [discrete_laplace(7, 5)]
    assert_brackets(losses, laws, epsilon, width=0.01)


# -- known values -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("losses", "known"),
    [
        (privacy.Laplace(100) * 100, 0.391325),
        (privacy.Laplace(100) * 10_000, 4.876258),
        (privacy.Gaussian(100) * 100, 0.396857),
        (privacy.Pure("0.01") * 10_000, 4.88552),
        (privacy.PoissonSubsampled(privacy.Gaussian(1), "0.01") * 10_000, 6.907385),
    ],
)
def test_values_that_other_accountants_agree_on(losses: Loss, known: float) -> None:
    assert privacy.epsilon(losses, 1e-6) == pytest.approx(known, rel=1e-4)


# -- laws -------------------------------------------------------------------------------------------------------

plans = st.lists(
    st.tuples(st.sampled_from([*EXACT]), st.integers(1, 5)).map(lambda pair: LOSSES[pair[0]] * pair[1]),
    min_size=1,
    max_size=4,
)


@settings(max_examples=30, deadline=None)
@given(plans, plans, st.sampled_from([1e-3, 1e-6, 1e-12]))
def test_more_releases_cost_more_and_never_more_than_the_sum(a: list[Loss], b: list[Loss], delta: float) -> None:
    alone, together = privacy.epsilon(a, delta), privacy.epsilon([*a, *b], delta)
    assert together >= alone - 1e-4 * alone
    halves = privacy.epsilon(a, delta / 2) + privacy.epsilon(b, delta / 2)
    assert together <= halves * (1 + 1e-4)


@settings(max_examples=12, deadline=None)
@given(plans, st.sampled_from([1e-2, 1e-6, 1e-12]))
@example([LOSSES["pure"], LOSSES["pure"], privacy.DiscreteLaplace("5/2", 5) * 4], 1e-12)  # ε next to all there is
def test_epsilon_and_delta_are_inverse_to_each_other(losses: list[Loss], delta: float) -> None:
    epsilon = privacy.epsilon(losses, delta)
    low, high = privacy.delta_bounds(losses, epsilon)
    assert low <= delta * (1 + 1e-6)
    # Just below the largest loss there is, δ falls to 0, and its upper bound does so a step of the lattice later.
    top = privacy.epsilon(losses, 0)
    if top * (1 - 1e-9) <= epsilon <= top:
        high = privacy.delta_bounds(losses, top * (1 + 1e-4))[1]
    assert epsilon == 0 or high <= delta * 1.01 + 1e-11


@settings(max_examples=30, deadline=None)
@given(plans, st.sampled_from([1e-2, 1e-6, 1e-12]))
def test_the_bounds_are_in_order(losses: list[Loss], delta: float) -> None:
    low, high = privacy.epsilon_bounds(losses, delta)
    assert 0 <= low <= high
    assert privacy.epsilon(losses, delta) >= low


def test_the_order_of_losses_and_the_way_of_repeating_do_not_matter() -> None:
    a, b = privacy.Laplace(3), privacy.DiscreteGaussian(9)
    assert privacy.epsilon([a, b, a], 1e-6) == privacy.epsilon([b, a * 2], 1e-6)


def test_no_order_of_the_losses_changes_the_last_bit() -> None:
    # It would catch: a sum of floats in the order of the list, which differs in its last digit on some processors.
    plan: list[Loss] = [
        privacy.Laplace(3),
        privacy.Laplace("3.0000000000000000001"),  # the same float
        privacy.DiscreteGaussian(9),
        privacy.Gaussian(7),
        privacy.PoissonSubsampled(privacy.Gaussian(2), "0.1"),
        privacy.PoissonSubsampled(privacy.Laplace(2), "0.1"),
        privacy.RandomizedResponse(1, 5),
    ]
    orders = [plan, plan[::-1], plan[3:] + plan[:3]]
    assert len({privacy.epsilon(order, 1e-6) for order in orders}) == 1
    assert len({privacy.delta(order, 1) for order in orders[:2]}) == 1
    curves = [privacy.Renyi((2, 8), (1, 3)), privacy.Renyi((2, 9), (1, 3)), privacy.ZeroConcentrated("0.1")]
    assert privacy.epsilon(curves, 1e-6) == privacy.epsilon(curves[::-1], 1e-6)


def test_the_upper_bound_is_never_above_basic_or_renyi_composition() -> None:
    tiny: list[Loss] = [privacy.Pure("1e-9") * 3]
    assert privacy.epsilon(tiny, 1e-40) <= 3.000000001e-9
    huge = privacy.Pure(400) * 2
    assert privacy.epsilon(huge, 1e-6) <= 800
    plan: list[Loss] = [privacy.Laplace(scale) for scale in range(20, 60)]
    orders = 1 + np.geomspace(0.1, 200, 100)
    curve = np.sum([privacy.conversions.pure_to_renyi(1 / loss.scale, orders) for loss in plan], axis=0)  # type: ignore[attr-defined]
    assert privacy.epsilon(plan, 1e-9) <= privacy.conversions.renyi_to_approximate(orders, curve, 1e-9)


# -- sampling and neighbours ------------------------------------------------------------------------------------


def test_sampling_helps_and_its_ends_are_nothing_and_everything() -> None:
    base = privacy.Gaussian(2)
    whole = privacy.epsilon(base * 10, 1e-6)
    costs = [
        privacy.epsilon(privacy.PoissonSubsampled(base, rate) * 10, 1e-6) for rate in ("0", "0.01", "0.5", "1")
    ]
    assert costs[0] == 0
    assert costs == sorted(costs)
    assert whole <= costs[-1] <= whole * 1.0001


def test_replacing_a_person_costs_more_than_adding_one_but_no_more_than_the_way_over_both() -> None:
    loss = privacy.PoissonSubsampled(privacy.Gaussian(1), "0.05") * 20
    one, two = (privacy.epsilon(loss, 1e-5, neighbours=n) for n in NEIGHBOURS)
    assert one < two < 4 * one
    delta = privacy.delta(loss, two, neighbours="replace")
    assert delta <= 1e-5
    assert privacy.delta(loss, two / 2) * (1 + math.exp(two / 2)) >= delta


def test_replacement_makes_no_difference_to_losses_that_are_stated_for_it() -> None:
    loss = privacy.Laplace(5) * 5
    assert privacy.epsilon(loss, 1e-6, neighbours="replace") == privacy.epsilon(loss, 1e-6)


# -- ends of the range ------------------------------------------------------------------------------------------


def test_an_empty_or_free_plan_costs_nothing() -> None:
    assert privacy.epsilon([], 1e-6) == 0
    assert privacy.delta([], 0) == 0
    free: list[Loss] = [privacy.Pure(0) * 5, privacy.Gaussian(1, 0), privacy.Laplace(3) * 0]
    assert privacy.epsilon(free, 0) == 0


def test_at_delta_zero_only_pure_losses_have_an_epsilon() -> None:
    assert privacy.epsilon([privacy.Pure("0.5") * 2, privacy.Laplace(2)], 0) == 1.5
    assert privacy.epsilon(privacy.Gaussian(1), 0) == math.inf
    assert privacy.epsilon_bounds(privacy.Pure(1), 0) == (1, 1)


def test_a_delta_below_what_fails_has_no_epsilon() -> None:
    assert privacy.epsilon(privacy.Approximate(1, "1e-5"), 1e-6) == math.inf
    assert privacy.epsilon(privacy.Approximate(1, 1), 0.5) == math.inf
    assert privacy.delta(privacy.Approximate(1, 1), 5) == 1
    assert privacy.epsilon(privacy.Approximate(1, "1e-5") * 3, 3.1e-5) <= 3


def test_curves_and_bare_bounds_compose_with_everything() -> None:
    rho = privacy.ZeroConcentrated("0.05")
    alone = privacy.epsilon(rho * 2, 1e-6)
    assert alone == pytest.approx(privacy.conversions.zcdp_to_approximate("0.1", "1e-6"), rel=1e-3)
    mixed = privacy.epsilon([rho, privacy.Laplace(10), privacy.PoissonSubsampled(rho, "0.1")], 1e-6)
    assert 0 < mixed < math.inf
    curve = privacy.Renyi((2, 8, 32), ("0.1", "0.4", "1.6"))
    assert privacy.epsilon([curve, privacy.Gaussian(10)], 1e-6) < 3


@pytest.mark.parametrize("bad", [-0.1, 1.5, float("nan"), float("inf"), "much"])
def test_a_delta_that_is_no_probability_is_refused(bad: float) -> None:
    with pytest.raises(ParameterError, match="delta"):
        privacy.epsilon(privacy.Pure(1), bad)


def test_a_negative_epsilon_is_refused() -> None:
    with pytest.raises(ParameterError, match="epsilon must not be below 0"):
        privacy.delta(privacy.Pure(1), -1)


def test_what_is_no_loss_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"made of losses \(found: .*privacy\.Pure\(1\)"):
        privacy.epsilon([0.5], 1e-6)  # type: ignore[list-item]


EXTREMES: dict[str, Loss] = {
    "tiny": privacy.Pure(1e-12) * 5,
    "huge": privacy.Pure(2000) * 3,
    "a billion": privacy.Pure("0.00001") * 10**9,
    "hardly any noise": privacy.DiscreteGaussian("0.01") * 2,
    "far apart": privacy.DiscreteGaussian(1, 50) * 2,
    "astronomic": privacy.DiscreteGaussian(10**30, 10**10) * 2,
    "steep": privacy.DiscreteLaplace("0.001", 1) * 2,
    "wide steps": privacy.DiscreteLaplace(10**9, 10**8) * 70,
    "selection": privacy.Exponential(500) * 2,
    "rare sampling": privacy.PoissonSubsampled(privacy.Pure(3), "1e-9") * 100,
    "sampled, little noise": privacy.PoissonSubsampled(privacy.Gaussian("0.1"), "0.01") * 10,
}


@pytest.mark.parametrize("delta", [1e-100, 1e-6, 0.3])
@pytest.mark.parametrize("name", EXTREMES)
def test_extreme_parameters_give_ordered_finite_bounds(name: str, delta: float) -> None:
    low, high = privacy.epsilon_bounds(EXTREMES[name], delta)
    assert 0 <= low <= high < math.inf


# -- what went wrong once ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("losses", "epsilon", "true"),
    [
        (privacy.PoissonSubsampled(privacy.Gaussian("0.03"), "0.01"), 10, 0.00999),
        (privacy.PoissonSubsampled(privacy.Gaussian("0.04"), "0.01"), 10, 0.00999),
        (privacy.PoissonSubsampled(privacy.Pure(400), "0.01"), 10, 0.00999),
        (privacy.RandomizedResponse(400, 10**175), 10, 0.0496236),
    ],
)
def test_mass_far_above_the_middle_is_not_forgotten(losses: Loss, epsilon: int, true: float) -> None:
    assert privacy.delta(losses, epsilon) >= true


def test_wide_sums_of_pure_losses_are_not_below_optimal_composition() -> None:
    loss = Fraction(15203, 5000)
    optimal = privacy.composition.optimal(loss, 0, 4737, "0.3")
    assert privacy.epsilon(privacy.Pure(loss) * 4737, "0.3") >= optimal * (1 - 1e-9)


def test_numpy_integers_do_not_wrap() -> None:
    wide = privacy.DiscreteGaussian(10**9, np.int32(50_000))  # type: ignore[arg-type]
    assert privacy.epsilon(wide, "1e-6") == privacy.epsilon(privacy.DiscreteGaussian(10**9, 50_000), "1e-6")
    half = np.int64(2**32)
    twice = privacy.Repeated(privacy.Pure(1) * half, half)  # type: ignore[arg-type, operator]
    assert twice.count == 2**64
    assert type(twice.count) is int


def test_a_delta_too_small_for_a_double_is_not_reported_as_none() -> None:
    assert privacy.delta(privacy.Pure(1) * 3000, 2990) > 0
    assert privacy.delta(privacy.Approximate(1, Fraction(1, 10**330)), 2) > 0
    assert privacy.delta(privacy.DiscreteLaplace("9.3", 2) * 3, Fraction(5811096293381285, 2**53)) >= 2.6e-18


def test_a_delta_below_every_double_has_a_finite_epsilon() -> None:
    low, high = privacy.epsilon_bounds(privacy.Gaussian(1), Fraction(1, 10**400))
    assert low < 43 < high < 44


def test_the_lower_end_of_a_billion_gaussians_is_not_above_the_truth() -> None:
    sigma, shift, delta = Fraction(246880, 227), Fraction(946, 29), Fraction(121, 10**9)
    low, high = privacy.epsilon_bounds(privacy.Gaussian(sigma, shift) * 10**9, delta)
    mu = mp.sqrt(10**9) * mp.mpf(shift.numerator * 227) / (shift.denominator * 246880)

    def true(epsilon: float) -> mp.mpf:
        e = mp.mpf(epsilon)
        return mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)

    assert true(high) <= mp.mpf(121) / 10**9 <= true(low)


def test_sampling_all_of_the_table_is_no_looser_than_no_sampling() -> None:
    whole = privacy.PoissonSubsampled(privacy.Pure(1), 1) * 5
    assert privacy.epsilon(whole, 0.1) == pytest.approx(privacy.epsilon(privacy.Pure(1) * 5, 0.1), rel=1e-3)


def test_replacing_a_person_at_an_epsilon_that_protects_nobody_says_so() -> None:
    loss = privacy.PoissonSubsampled(privacy.Gaussian(1), "0.1") * 5
    assert privacy.delta(loss, 3000, neighbours="replace") == 1
    with pytest.raises(NotComposable, match="of moderate size"):
        privacy.epsilon(privacy.PoissonSubsampled(privacy.Gaussian("0.02"), "0.1"), 1e-6, neighbours="replace")


OUT_OF_RANGE: list[Loss] = [
    privacy.Approximate(0, "0.01"),
    privacy.Pure("1e-9") * 10**15,
    privacy.Pure("1e-9") * 2**64,
    privacy.Pure(35) * 10**9,
    privacy.PoissonSubsampled(privacy.Gaussian(1), 1 - Fraction(1, 10**20)),
    privacy.PoissonSubsampled(privacy.Gaussian(1), Fraction(1, 10**330)),
    *(kind(scale) for kind in (privacy.Laplace, privacy.Gaussian) for scale in (10**400, Fraction(1, 10**400))),
    *(privacy.DiscreteLaplace(scale) for scale in (10**400, Fraction(1, 10**400))),
    *(privacy.DiscreteGaussian(variance) for variance in (10**700, Fraction(1, 10**700))),
]


@pytest.mark.parametrize("loss", OUT_OF_RANGE, ids=lambda loss: describe(loss)[:40])
def test_parameters_beyond_doubles_have_bounds_too(loss: Loss) -> None:
    for plan in ([loss], [loss, privacy.Pure(1)]):
        low, high = privacy.epsilon_bounds(plan, "0.02")
        assert 0 <= low <= high
        assert 0 <= privacy.delta(plan, 3) <= 1


def test_the_trade_off_curve_of_one_gaussian_is_gaussian() -> None:
    curve = privacy.tradeoff(privacy.Gaussian(sigma=1))
    assert curve.advantage == pytest.approx(2 * float(mp.ncdf(0.5)) - 1, abs=1e-6)
    middle = int(np.argmin(np.abs(curve.alpha - 0.05)))
    true = float(mp.ncdf(mp.erfinv(1 - 2 * mp.mpf(float(curve.alpha[middle]))) * mp.sqrt(2) - 1))
    assert true * 0.99 <= curve.beta[middle] <= true + 1e-12
