"""The cost of a question is the sum of its losses, and a loss that does not add up is refused."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import privacy
from discreet.errors import NotComposable, ParameterError
from discreet.ledger import Cost, cost
from discreet.privacy.loss_measures import pure_epsilon, zcdp_rho

EPSILONS = st.fractions(Fraction(1, 1000), 3, max_denominator=1000)
LOSSES = st.one_of(
    EPSILONS.map(privacy.Pure),
    EPSILONS.map(privacy.Exponential),
    EPSILONS.map(lambda e: privacy.Laplace(scale=1 / e)),
    EPSILONS.map(lambda e: privacy.DiscreteLaplace(scale=1 / e)),
    EPSILONS.map(lambda e: privacy.PoissonSubsampled(privacy.Pure(e), "0.1")),
)


@given(st.lists(LOSSES, min_size=1, max_size=5))
def test_pure_losses_add_up_in_epsilon_and_in_rho(losses: list[privacy.Loss]) -> None:
    total = cost(losses)
    assert total.epsilon == sum(pure_epsilon(loss) or 0 for loss in losses)
    assert total.rho == sum(zcdp_rho(loss) or 0 for loss in losses)
    assert total.delta == 0


@given(LOSSES, st.integers(0, 7))
def test_repetitions_cost_so_many_times(loss: privacy.Loss, count: int) -> None:
    assert cost(loss * count) == cost([loss] * count if count else privacy.Pure(0))


def test_gaussian_noise_has_a_rho_and_no_epsilon() -> None:
    assert cost(privacy.DiscreteGaussian(variance=50) * 3) == Cost(None, Fraction(3, 100), Fraction(0))


@given(EPSILONS, st.integers(1, 5))
def test_selected_keys_cost_the_rho_of_their_epsilon_and_their_delta(epsilon: Fraction, count: int) -> None:
    total = cost(privacy.Approximate(epsilon, "1e-9") * count)
    assert total == Cost(None, count * cost(privacy.Pure(epsilon)).rho, count * Fraction(1, 10**9))
    assert total.rho <= count * epsilon**2 / 2


def test_selected_keys_on_a_sample_are_amplified() -> None:
    sampled = cost(privacy.PoissonSubsampled(privacy.Approximate(1, "1e-6"), "0.01"))
    assert sampled.delta == Fraction(1, 10**8)
    assert sampled.rho < cost(privacy.Pure("0.018")).rho


@pytest.mark.parametrize(
    ("loss", "reason"),
    [
        (privacy.Renyi((2,), (1,)), "a Rényi curve known at some orders"),
        (privacy.PoissonSubsampled(privacy.Renyi((2,), (1,)), "0.1"), "a Rényi curve known at some orders"),
        (1.5, r"\(found: float\)"),
        ("Pure(1)", r"\(found: str\)"),
    ],
)
def test_what_does_not_add_up_is_refused_with_the_reason(loss: privacy.Loss, reason: str) -> None:
    with pytest.raises(NotComposable, match=reason):
        cost([loss])


def test_no_loss_is_no_charge() -> None:
    with pytest.raises(ParameterError, match="at least one loss"):
        cost([])


def test_odd_denominators_round_up_instead_of_growing_for_ever() -> None:
    total, exact = cost(privacy.Pure(0)), Fraction(0)
    for n in range(1, 400):
        step = Fraction(1, 2**61 + 2 * n + 1)
        total, exact = total + cost(privacy.Pure(step)), exact + step
    assert total.epsilon is not None
    assert total.epsilon.denominator < 2**2048
    assert exact < total.epsilon < exact + Fraction(1, 10**290)
