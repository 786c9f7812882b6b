"""Output perturbation, noisy gradient descent, posterior sampling, general losses: claims against exact laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi

from discreet.errors import ParameterError
from discreet.privacy.theorems.conversions import gdp_delta
from discreet.privacy.theorems.learning import LOGISTIC, general_losses, gradient_descent, posterior_sampling
from discreet.privacy.theorems.learning import output_perturbation as output
from discreet.privacy.theorems.learning.calibration import gaussian_mu
from tests.privacy.theorems.learning import exact_laws

# -- output perturbation ----------------------------------------------------------------------------------------


def test_the_minimiser_moves_by_its_sensitivity_and_no_more() -> None:
    rng, lam = np.random.default_rng(3), 2.0
    most = float(output.sensitivity(lam=2, K=3))
    for _ in range(50):
        data, person = exact_laws.random_rows(rng, 3, 2), exact_laws.random_rows(rng, 2, 2, 3.0)
        without, with_ = (
            exact_laws.minimisers(np.zeros((1, 2)), one, lam, LOGISTIC)[0] for one in (data, data + person)
        )
        assert np.linalg.norm(with_ - without) <= most
    # A force that holds θ at −20 makes the slope of the person 1.
    data, person = exact_laws.shifted(-40.0, weight=3.0)
    without, with_ = (
        exact_laws.minimisers(np.zeros((1, 1)), one, lam, LOGISTIC)[0] for one in (data, data + person)
    )
    assert np.linalg.norm(with_ - without) > 0.99 * most


def test_output_noise_is_calibrated_at_every_epsilon() -> None:
    for epsilon in ("0.1", 1, 20):
        sigma = output.sigma_for(epsilon, "1e-5", l2="0.01")
        assert gdp_delta(1 / (100 * sigma), epsilon) <= 1e-5 < gdp_delta(1 / (99 * sigma), epsilon)
    assert output.l1_sensitivity("0.01", 25) == pytest.approx(0.05)
    with pytest.raises(ParameterError, match="neighbours"):
        output.sensitivity(lam=1, neighbours="swap")  # type: ignore[arg-type]


def test_the_risk_of_output_noise_is_quadratic_in_sigma() -> None:
    """For a quadratic loss the bound is an equality at λ = 0; the notes' n·β·σ√d/2·√(2·ln(1/δ)) is below it."""
    n, beta, sigma, d = 100, 1, 3, 400
    exact = n * beta / 2 * d * sigma**2
    assert output.excess_risk(sigma=sigma, dimension=d, smoothness=n * beta, lam=0, norm_squared=1) == exact
    assert n * beta * sigma * math.sqrt(d) / 2 * math.sqrt(2 * math.log(1e5)) < exact / 10


# -- noisy gradient descent -------------------------------------------------------------------------------------


def test_gradients_compose_to_exactly_one_gaussian() -> None:
    sigma = gradient_descent.sigma_for_gdp("0.3", steps=50, K=2)
    assert sigma == pytest.approx(2 * math.sqrt(50) / 0.3)
    assert gradient_descent.gdp(sigma=sigma, steps=50, K=2) == pytest.approx(0.3)
    assert gradient_descent.sigma_for_gdp("0.3", steps=50, softmax=True) == pytest.approx(10 / 0.3)


def test_the_gradient_of_softmax_reaches_root_two() -> None:
    p = np.array([1 - 1e-9, 1e-9, 0.0])
    assert np.linalg.norm(p - np.array([0, 1, 0])) == pytest.approx(math.sqrt(2))


def test_the_risk_of_noisy_descent_holds_for_a_quadratic() -> None:
    """F = β/2·‖θ‖²: every θ_t is Gaussian, so the mean's expected loss is exact."""
    beta, eta, sigma, d, T, start = 2.0, 0.3, 1.5, 5, 40, 4.0
    keep = 1 - eta * beta
    coefficient = np.array([sum(keep ** (t - 1 - j) for t in range(j + 1, T + 1)) for j in range(T)]) / T
    mean = start * sum(keep**t for t in range(1, T + 1)) / T
    exact = beta / 2 * (mean**2 + d * (eta * sigma) ** 2 * float((coefficient**2).sum()))
    bound = gradient_descent.excess_risk(
        sigma="1.5", steps=T, step_size="0.3", smoothness=2, dimension=d, distance=4
    )
    assert exact <= float(bound)
    with pytest.raises(ParameterError, match="step_size"):
        gradient_descent.excess_risk(sigma=1, steps=1, step_size=1, smoothness=2, dimension=1, distance=1)


# -- posterior sampling -----------------------------------------------------------------------------------------

THETA = np.linspace(-60, 60, 240_001)


def gibbs(k: float, lam: float, data: list[tuple[float, float]]) -> np.ndarray:
    """The law of one sample on a fine grid: rows (x, weight) of logistic loss, and the regulariser inside k."""
    exponent = -k * lam / 2 * THETA**2
    for x, weight in data:
        exponent = exponent - k * weight * np.logaddexp(0, -x * THETA)
    law = np.exp(exponent - exponent.max())
    return np.asarray(law / law.sum())


@pytest.mark.parametrize(("k", "lam"), [(1.0, 16.0), (0.2, 1.0), (3.0, 0.5)])
def test_a_gibbs_sample_is_gaussian_dp(k: float, lam: float) -> None:
    mu = posterior_sampling.gdp(temperature=k, lam=lam)
    reached = 0.0
    for data in ([], [(1.0, 5.0)], [(-1.0, 40.0)], [(-1.0, 1e5)]):
        without, with_ = gibbs(k, lam, data), gibbs(k, lam, [*data, (1.0, 1.0)])
        for epsilon in (mu / 4, mu, 2 * mu):
            for p, q in ((without, with_), (with_, without)):
                exact = float(np.maximum(0, p - math.exp(epsilon) * q).sum())
                assert exact <= gdp_delta(mu, epsilon) * (1 + 1e-6) + 1e-12
                reached = max(reached, exact / gdp_delta(mu, epsilon))
    assert reached > 0.3


def test_a_bounded_loss_gives_pure_epsilon_and_reaches_it() -> None:
    """A loss of 0 or B over a wide prior: the ratio is e^{kB} on one side."""
    k, B, prior = 0.5, 2.0, np.array([1e-9, 1 - 1e-9])
    without, with_ = prior, prior * np.exp(-k * np.array([0.0, B]))
    with_ = with_ / with_.sum()
    largest = np.abs(np.log(with_ / without)).max()
    epsilon = float(posterior_sampling.pure_epsilon(temperature="0.5", bound=2))
    assert 0.999 * epsilon < largest <= epsilon
    swapped = prior * np.exp(-k * np.array([B, 0.0]))
    replaced = np.abs(np.log(with_ / (swapped / swapped.sum()))).max()
    limit = float(posterior_sampling.pure_epsilon(temperature="0.5", bound=2, neighbours="replace"))
    assert epsilon < replaced <= limit


def test_the_older_bound_allows_a_smaller_temperature() -> None:
    mu = gaussian_mu(1, "1e-5")
    new = float(posterior_sampling.temperature_for_gdp(mu, lam=16))
    assert posterior_sampling.minami_temperature(1, "1e-5", lam=16) < new / 5
    assert posterior_sampling.gdp(temperature=new, lam=16) == pytest.approx(mu)


# -- losses that are not of a margin ----------------------------------------------------------------------------


def radial_delta(epsilon: float, sigma: float, lam: float, d: int) -> float:
    """Exact δ of adding ℓ = √(1 + ‖θ‖²) to no data: a law of the radius alone.

    θ = −r·b/‖b‖ with ‖b‖ = λr + r/√(1 + r²) when the loss is there. Its Hessian is 1/√(1+r²) in d − 1 directions
    and (1+r²)^{−3/2} in one.
    """
    edge = chi.ppf(np.linspace(0, 1, 20001)[1:-1], d) * sigma  # ‖b‖ under the first law
    r = edge / lam
    for _ in range(200):
        value = lam * r + r / np.sqrt(1 + r * r) - edge
        r = r - value / (lam + (1 + r * r) ** -1.5)
    determinant = (d - 1) * np.log1p(1 / (lam * np.sqrt(1 + r * r))) + np.log1p((1 + r * r) ** -1.5 / lam)
    loss = determinant + ((lam * r) ** 2 - edge**2) / (2 * sigma**2)
    both = [loss]
    r = edge / lam  # without it
    determinant = (d - 1) * np.log1p(1 / (lam * np.sqrt(1 + r * r))) + np.log1p((1 + r * r) ** -1.5 / lam)
    both.append(((lam * r + r / np.sqrt(1 + r * r)) ** 2 - edge**2) / (2 * sigma**2) - determinant)
    return max(float(np.maximum(0, -np.expm1(np.minimum(epsilon - one, 0))).mean()) for one in both)


def test_the_norm_of_the_noise_grows_with_the_dimension() -> None:
    """The notes bound ‖b‖ by σ·√(2·ln(1/δ)), which almost every b exceeds in 400 dimensions."""
    assert chi.sf(math.sqrt(2 * math.log(1e5)), 400) > 1 - 1e-12
    assert general_losses.delta(1, sigma=6, lam=4000, smoothness=1, lipschitz=1, dimension=400) == 1


@pytest.mark.parametrize(("sigma", "lam", "d"), [(3, 30, 5), (6, 60, 20), (40, 4000, 100), (5, 400, 400)])
def test_a_loss_without_a_margin_stays_below_the_general_bound(sigma: int, lam: int, d: int) -> None:
    for epsilon in (0.5, 1.0, 2.0):
        bound = general_losses.delta(epsilon, sigma=sigma, lam=lam, smoothness=1, lipschitz=1, dimension=d)
        assert radial_delta(epsilon, sigma, lam, d) <= bound


def test_the_exact_law_of_a_radial_loss_is_no_empty_witness() -> None:
    assert radial_delta(0.1, 3, 3, 5) > 0.01


def test_the_determinant_of_a_full_rank_hessian_grows_with_the_dimension() -> None:
    one = general_losses.log_determinant(lam=10, smoothness=1)
    assert general_losses.log_determinant(lam=10, smoothness=1, rank=30) == pytest.approx(30 * one)


@pytest.mark.parametrize(("t", "d"), [(4.0, 3), (12.0, 100), (30.0, 400)])
def test_the_tail_of_a_norm_is_bounded(t: float, d: int) -> None:
    assert chi.sf(t, d) <= general_losses.chi_tail(t, d)
