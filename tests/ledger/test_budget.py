"""A budget keeps what it promises: its ρ, converted at half of its δ, gives its ε and hardly less."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import privacy
from discreet.errors import ParameterError
from discreet.ledger import Budget, cost
from discreet.privacy.theorems.calibration import largest


def witness(rho: Fraction, delta: Fraction) -> mpmath.mpf:
    """ε of ρ-zCDP at δ in 96 digits, at the best order: the bound of Canonne, Kamath and Steinke (2020)."""
    r, log_odds = (
        mpmath.mpf(rho.numerator) / rho.denominator,
        mpmath.log(delta.denominator) - mpmath.log(delta.numerator),
    )

    def epsilon(excess: mpmath.mpf) -> mpmath.mpf:
        order = 1 + excess
        return r * order + mpmath.log1p(-1 / order) + (log_odds - mpmath.log(order)) / excess

    low, high = mpmath.mpf(10) ** -30, mpmath.mpf(10) ** 30
    for _ in range(90):  # golden section on the logarithm: ε falls and then rises
        span = mpmath.log(high / low)
        left, right = low * mpmath.exp(span * 0.382), low * mpmath.exp(span * 0.618)
        low, high = (low, right) if epsilon(left) < epsilon(right) else (left, high)
    return max(mpmath.mpf(0), epsilon(low))


@settings(max_examples=15, deadline=None)
@given(
    st.fractions(Fraction(1, 1000), 20, max_denominator=1000), st.integers(3, 40).map(lambda n: Fraction(1, 10**n))
)
def test_its_rho_gives_its_epsilon_and_hardly_less(epsilon: Fraction, delta: Fraction) -> None:
    rho = Budget(epsilon, delta).rho
    assert rho is not None
    assert witness(rho, delta / 2) <= mpmath.mpf(epsilon.numerator) / epsilon.denominator
    assert witness(rho * (1 + Fraction(1, 10**8)), delta / 2) > mpmath.mpf(epsilon.numerator) / epsilon.denominator


@settings(max_examples=8, deadline=None)
@given(st.integers(1, 4), st.lists(st.integers(0, 3), min_size=1, max_size=6), st.sampled_from(["1e-6", "1e-9"]))
def test_whatever_fits_is_private_at_the_budget_by_a_plans_accounting(
    epsilon: int, kinds: list[int], delta: str
) -> None:
    # A plan composes the whole curves of losses that are fixed in advance, so it is an independent witness here.
    budget = Budget(epsilon, delta)
    assert budget.rho is not None
    share, keys = budget.rho / len(kinds), budget.key_delta / len(kinds)
    pure = largest(lambda e: cost(privacy.Pure(e)).rho <= share)
    menu = [
        privacy.Gaussian(sigma=largest(lambda s: s * s * 2 * share <= 1) + Fraction(1, 10**6)),
        privacy.Pure(pure),
        privacy.Approximate(pure, keys),
        privacy.Laplace(scale=1 / pure),
    ]
    losses = [menu[kind] for kind in kinds]
    total = cost(losses)
    assert total.rho <= budget.rho
    assert total.delta <= budget.key_delta
    assert privacy.delta(losses, epsilon=budget.epsilon) <= budget.delta


def test_a_larger_budget_has_more_room() -> None:
    totals = [Budget(epsilon, "1e-9").rho or 0 for epsilon in ("0.001", "0.1", 1, 10, 1000, 10**6)]
    assert totals == sorted(set(totals))
    assert (Budget(1, "1e-12").rho or 0) < (Budget(1, "1e-6").rho or 0)


@pytest.mark.parametrize("epsilon", [0, "1e-200", "1e250"])
def test_extreme_budgets_have_a_rho(epsilon: str) -> None:
    rho = Budget(epsilon, "1e-9").rho
    assert rho is not None
    assert rho >= 0


def test_without_delta_epsilon_adds_up_and_there_is_no_rho() -> None:
    assert Budget(1).pure
    assert Budget(1).rho is None
    assert Budget("1/3").epsilon == Fraction(1, 3)


@pytest.mark.parametrize("wrong", [{"epsilon": -1}, {"epsilon": 1, "delta": 1}, {"epsilon": 1, "delta": -1}])
def test_meaningless_budgets_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ParameterError):
        Budget(**wrong)


def test_numbers_that_no_entry_should_carry_are_refused() -> None:
    with pytest.raises(ParameterError, match="at most 300 digits"):
        Budget("1e-400")


def test_a_budget_without_epsilon_is_told_how_to_be_written() -> None:
    with pytest.raises(ParameterError, match=r"epsilon is missing\. Try: epsilon=2\."):
        Budget()
    with pytest.raises(ParameterError, match=r"must not be below 0 \(found: -1\)"):
        Budget(-1)


def test_a_float_is_the_decimal_that_was_written() -> None:
    assert Budget(0.3).epsilon == Fraction("0.3")
    assert Budget(1, 1e-9).delta == Fraction("1e-9")


def test_it_reads_as_one_says_it() -> None:
    assert str(Budget(2)) == "ε = 2"
    assert str(Budget("0.5", "1e-9")) == "ε = 0.5 at δ = 1e-9"
