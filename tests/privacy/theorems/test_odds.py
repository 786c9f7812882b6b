"""ε as odds: Bayes' rule on the worst pair of laws, rounded up."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from discreet.errors import ParameterError
from discreet.privacy.theorems.odds import explain, posterior


@given(st.floats(0, 1000), st.fractions(min_value=0, max_value=1))
def test_the_posterior_is_bayes_rule_for_randomised_response(epsilon: float, prior: Fraction) -> None:
    with mp.workdps(40):
        p = mpf(prior.numerator) / prior.denominator
        exact = p / (p + (1 - p) * mp.exp(-mpf(epsilon)))
        assert exact <= mpf(posterior(epsilon, prior)) * (1 + mpf(10) ** -35)
        assert posterior(epsilon, prior) <= min(1.0, float(exact) * (1 + 1e-14))


@pytest.mark.parametrize(("prior", "after"), [(0, 0.0), (1, 1.0)])
def test_certainty_does_not_move(prior: int, after: float) -> None:
    assert posterior(5, prior) == after


def test_nothing_is_learnt_at_epsilon_zero() -> None:
    assert posterior(0, "0.25") == 0.25
    assert explain(0) == "An attacker who starts at even odds about one person ends at no more than 50 %."


def test_percentages_are_rounded_up() -> None:
    assert "73.2 %" in explain(1)  # 73.1058…
    assert "100 %" in explain(50)


def test_delta_is_a_chance_of_no_promise_rounded_up() -> None:
    assert "at most 1 in 1,000,000 nothing" in explain(1, "1e-6")
    assert "at most 1 in 3 nothing" in explain(1, "0.3")
    assert "δ" not in explain(1)


@pytest.mark.parametrize(("epsilon", "prior"), [(-1, "0.5"), (1, "1.5"), (math.inf, "0.5")])
def test_senseless_parameters_are_refused(epsilon: float, prior: str) -> None:
    with pytest.raises(ParameterError):
        posterior(epsilon, prior)
