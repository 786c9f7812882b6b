"""Amplification is compared with mechanisms on tiny tables, every sample enumerated with exact fractions.

The mechanism: the sum of the sampled bits, told through randomised response with probabilities in fractions, so
that e^ε is rational and nothing is rounded. Its own guarantee is e^ε = 3 for one person.
"""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from discreet.errors import NotComposable, ParameterError
from discreet.privacy.losses import Approximate, Gaussian, PoissonSubsampled, Pure
from discreet.privacy.theorems.subsampling import (
    amplified_epsilon,
    gaussian_delta,
    gaussian_epsilon,
    poisson,
    without_replacement,
)

Table = tuple[int, ...]
Law = tuple[Fraction, ...]
ODDS = 3  # e^ε of the mechanism itself


def answer(sample: Table) -> Law:
    """Is the sum of the sample odd? The truth with probability 3/4: one person changes odds by 3 at most."""
    truth = Fraction(ODDS, ODDS + 1)
    return (truth, 1 - truth) if sum(sample) % 2 else (1 - truth, truth)


def on_poisson_sample(table: Table, rate: Fraction) -> Law:
    def weighted() -> Iterator[tuple[Fraction, Law]]:
        for chosen in itertools.product((0, 1), repeat=len(table)):
            weight = math.prod((rate if c else 1 - rate for c in chosen), start=Fraction(1))
            yield weight, answer(tuple(x for x, c in zip(table, chosen, strict=True) if c))

    return mixture(weighted())


def on_fixed_sample(table: Table, size: int) -> Law:
    samples = list(itertools.combinations(table, size))
    return mixture((Fraction(1, len(samples)), answer(sample)) for sample in samples)


def mixture(parts: Iterator[tuple[Fraction, Law]]) -> Law:
    laws = list(parts)
    return tuple(sum((w * law[i] for w, law in laws), start=Fraction(0)) for i in range(2))


def worst_odds(p: Law, q: Law) -> Fraction:
    return max(max(a / b, b / a) for a, b in zip(p, q, strict=True))


BITS = st.lists(st.integers(0, 1), max_size=5).map(tuple)
RATES = st.fractions(min_value=Fraction(1, 50), max_value=1, max_denominator=50)


@given(BITS, st.integers(0, 1), RATES)
def test_a_poisson_sample_obeys_the_theorem_when_a_person_is_added(table: Table, bit: int, rate: Fraction) -> None:
    worst = worst_odds(on_poisson_sample(table, rate), on_poisson_sample((*table, bit), rate))
    assert worst <= 1 + rate * (ODDS - 1)


def test_the_theorem_for_poisson_samples_is_tight() -> None:
    rate = Fraction(1, 7)
    assert worst_odds(on_poisson_sample((), rate), on_poisson_sample((1,), rate)) == 1 + rate * (ODDS - 1)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=6).map(tuple), st.data())
def test_a_sample_without_replacement_obeys_the_theorem_when_a_person_is_replaced(
    table: Table, data: st.DataObject
) -> None:
    size = data.draw(st.integers(0, len(table)))
    changed = (1 - table[0], *table[1:])
    worst = worst_odds(on_fixed_sample(table, size), on_fixed_sample(changed, size))
    assert worst <= 1 + Fraction(size, len(table)) * (ODDS - 1)


def test_replacing_under_poisson_sampling_costs_more_than_the_theorem_for_adding() -> None:
    """The bug this would catch: the Poisson bound used for neighbours that replace a person."""
    rate = Fraction(1, 2)

    def parity_of_marks(table: Table) -> Law:
        def law(sample: Table) -> Law:
            mark = next((x for x in sample if x), 0)
            return {
                0: (Fraction(1, 2), Fraction(1, 2)),
                1: (Fraction(3, 4), Fraction(1, 4)),
                2: (Fraction(1, 4), Fraction(3, 4)),
            }[mark]

        return mixture((rate if chosen else 1 - rate, law(table if chosen else ())) for chosen in (0, 1))

    # Adding changes the odds by 2 at most before sampling, so by 1 + (2 − 1)/2 after it; replacing 1 by 2 by more.
    added = worst_odds(parity_of_marks((1,)), parity_of_marks(()))
    replaced = worst_odds(parity_of_marks((1,)), parity_of_marks((2,)))
    assert added <= 1 + rate * (2 - 1) < replaced


@given(st.fractions(min_value=0, max_value=900), st.fractions(min_value=0, max_value=1))
def test_the_amplified_epsilon_is_the_formula_rounded_up(epsilon: Fraction, rate: Fraction) -> None:
    with mp.workdps(450):
        e, q = (mpf(x.numerator) / x.denominator for x in (epsilon, rate))
        exact = mp.log1p(q * mp.expm1(e))
        ours = amplified_epsilon(epsilon, rate)
        bound = mpf(ours.numerator) / ours.denominator
        assert exact - mpf(10) ** -400 <= bound <= exact * (1 + mpf(10) ** -13) + mpf(10) ** -300
        assert ours <= epsilon


@pytest.mark.parametrize("rate", [0, 1])
def test_no_sample_costs_nothing_and_all_of_the_table_costs_the_same(rate: int) -> None:
    assert poisson(Approximate("0.7", "1e-5"), rate) == Approximate(
        rate * Fraction("0.7"), rate * Fraction("1e-5")
    )


def test_both_samplers_keep_the_kind_of_guarantee() -> None:
    assert isinstance(poisson(Pure(1), "0.1"), Pure)
    assert without_replacement(Approximate(1, "0.01"), sample=1, population=10).delta == Fraction(1, 1000)


@pytest.mark.parametrize(("sigma", "rate", "epsilon"), [(1, 0.125, 0.5), (2, 0.01, 0.01), (0.5, 0.5, 2.0)])
def test_gaussian_noise_on_a_poisson_sample_has_the_integral_as_delta(
    sigma: float, rate: float, epsilon: float
) -> None:
    def one_way(x: mpf) -> mpf:
        sampled = (1 - mpf(rate)) * mp.npdf(x, 0, sigma) + mpf(rate) * mp.npdf(x, 1, sigma)
        return max(mpf(0), sampled - mp.exp(epsilon) * mp.npdf(x, 0, sigma))

    def other_way(x: mpf) -> mpf:
        sampled = (1 - mpf(rate)) * mp.npdf(x, 0, sigma) + mpf(rate) * mp.npdf(x, 1, sigma)
        return max(mpf(0), mp.npdf(x, 0, sigma) - mp.exp(epsilon) * sampled)

    with mp.workdps(20):
        crossing = sigma**2 * mp.log1p(mp.expm1(epsilon) / rate) + mpf(1) / 2
        exact = mp.quad(one_way, [crossing, crossing + sigma, crossing + 12 * sigma, crossing + 40 * sigma])
        reverse = mp.quad(other_way, mp.linspace(-12 * sigma, 1, 60))
    ours = gaussian_delta(Gaussian(sigma), rate=rate, epsilon=epsilon)
    assert float(exact) * (1 - 1e-12) <= ours <= float(exact) * (1 + 1e-9)
    assert reverse <= exact


def test_epsilon_and_delta_of_a_sampled_gaussian_are_inverse() -> None:
    loss = Gaussian(sigma=1)
    epsilon = gaussian_epsilon(loss, rate="0.01", delta="1e-8")
    assert gaussian_delta(loss, rate="0.01", epsilon=epsilon) == pytest.approx(1e-8, rel=1e-9, abs=0)
    assert gaussian_delta(loss, rate="0.01", epsilon=epsilon) <= 1e-8 * (1 + 1e-12)


@pytest.mark.parametrize(("rate", "delta", "epsilon"), [("0.01", "0.01", 0.0), (0, 0, 0.0), ("0.5", 0, math.inf)])
def test_extreme_deltas_of_a_sampled_gaussian(rate: str, delta: str, epsilon: float) -> None:
    assert gaussian_epsilon(Gaussian(sigma=1), rate=rate, delta=delta) == epsilon


@pytest.mark.parametrize("epsilon", [0, 29, 31, 1000])
def test_delta_of_a_sampled_gaussian_falls_to_nothing(epsilon: int) -> None:
    assert 0 <= gaussian_delta(Gaussian(sigma=1), rate="0.1", epsilon=epsilon) <= 0.04


def test_what_cannot_be_amplified_is_refused_with_the_way_out() -> None:
    with pytest.raises(NotComposable, match=r"PoissonSubsampled\(loss, rate\)"):
        poisson(Gaussian(sigma=1), "0.1")  # type: ignore[type-var]


@pytest.mark.parametrize("rate", [-1, "1.5"])
def test_a_rate_is_a_probability(rate: int | str) -> None:
    with pytest.raises(ParameterError, match="rate"):
        poisson(Pure(1), rate)
    with pytest.raises(ParameterError, match="rate"):
        gaussian_delta(Gaussian(1), rate=rate, epsilon=1)


def test_a_sample_is_no_larger_than_the_table() -> None:
    with pytest.raises(ParameterError, match="sample=11, population=10"):
        without_replacement(Pure(1), sample=11, population=10)


@pytest.mark.parametrize("reused", [Pure(1) * 2, PoissonSubsampled(Pure(1), "0.5")], ids=str)
def test_one_sample_is_not_charged_as_if_it_were_drawn_afresh(reused: Pure) -> None:
    """k releases on the same sample lose far more than k amplified ones."""
    with pytest.raises(ParameterError, match=r"PoissonSubsampled\(loss, rate\) \* k"):
        PoissonSubsampled(reused, "0.1")


@pytest.mark.parametrize(("sample", "population"), [(2.5, 10), (2, 10.5), (-1, 10), (11, 10), ("two", 10), (0, 0)])
def test_a_sample_that_cannot_be_drawn_is_refused(sample: int, population: int) -> None:
    with pytest.raises(ParameterError):
        without_replacement(Pure(1), sample=sample, population=population)
