"""ρ for (ε, δ): what is returned has passed the certified conversion, and hardly more would."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import privacy
from discreet.errors import ParameterError
from discreet.ledger import Budget
from discreet.privacy.theorems.conversions import zcdp_to_approximate

EPSILONS = st.fractions(Fraction(1, 1000), 1000, max_denominator=1000)
DELTAS = st.integers(2, 40).map(lambda n: Fraction(1, 10**n))


@settings(max_examples=40, deadline=None)
@given(EPSILONS, DELTAS)
def test_the_conversion_of_rho_gives_epsilon_and_hardly_less(epsilon: Fraction, delta: Fraction) -> None:
    rho = privacy.rho_for(epsilon, delta)
    assert rho > 0
    assert Fraction(zcdp_to_approximate(rho, delta)) <= epsilon
    assert Fraction(zcdp_to_approximate(rho * (1 + Fraction(1, 10**8)), delta)) > epsilon


@settings(max_examples=40, deadline=None)
@given(EPSILONS, DELTAS, st.integers(2, 1000))
def test_more_epsilon_or_more_delta_never_gives_less_rho(epsilon: Fraction, delta: Fraction, n: int) -> None:
    rho = privacy.rho_for(epsilon, delta)
    assert privacy.rho_for(epsilon * (1 + Fraction(1, n)), delta) >= rho
    assert privacy.rho_for(epsilon, min(Fraction(99, 100), delta * (1 + Fraction(1, n)))) >= rho


@settings(max_examples=20, deadline=None)
@given(EPSILONS, DELTAS)
def test_it_is_the_rho_of_a_budget_at_half_its_delta(epsilon: Fraction, delta: Fraction) -> None:
    budget = Budget(epsilon, delta)
    assert privacy.rho_for(budget.epsilon, budget.delta / 2) == budget.rho


@pytest.mark.parametrize("epsilon", ["1e-100", "1e-9", 10**6])
@pytest.mark.parametrize("delta", ["1e-300", "0.999999"])
def test_extreme_parameters_keep_the_promise(epsilon: str | int, delta: str) -> None:
    assert zcdp_to_approximate(privacy.rho_for(epsilon, delta), delta) <= Fraction(epsilon)


@pytest.mark.parametrize(
    ("epsilon", "delta", "problem"),
    [
        (10**6 + 1, "1e-9", "An epsilon above 1,000,000 gives no protection."),
        ("1e-200", "1e-300", "This epsilon is too small: at this delta it allows no ρ above 0."),
        (0, "1e-9", "epsilon must be above 0."),
        (1, 0, "delta must be above 0."),
        (1, 1, "delta must be below 1."),
    ],
)
def test_what_has_no_rho_is_refused_in_one_sentence(epsilon: str | int, delta: str | int, problem: str) -> None:
    with pytest.raises(ParameterError) as refused:
        privacy.rho_for(epsilon, delta)
    assert refused.value.problem == problem
