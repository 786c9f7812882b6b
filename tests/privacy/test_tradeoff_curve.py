"""Trade-off curves, against the tests that attain them."""

import math

import numpy as np
import pytest
from mpmath import mp, mpf
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.privacy.pld import normal
from discreet.privacy.tradeoff_curve import TradeOff, from_profile, gaussian, pure

Floats = NDArray[np.float64]
ALARMS = np.linspace(0, 1, 41)


def gaussian_profile(mu: float) -> Floats:
    return np.vectorize(lambda epsilon: normal.gaussian_delta(mu, epsilon)[1])  # type: ignore[return-value]


def test_the_curve_of_pure_privacy_is_that_of_randomised_response() -> None:
    """Saying "yes" with probability t on a truthful yes and so on: the kink is at (1/(1 + e^ε), 1/(1 + e^ε))."""
    kink = 1 / (1 + math.e)
    curve = pure(1, np.array([0.0, kink / 2, kink, 0.5, 1.0]))
    assert curve.beta == pytest.approx([1, 1 - math.e * kink / 2, kink, 0.5 / math.e, 0], abs=1e-14)
    assert curve.advantage == pytest.approx(math.tanh(0.5), rel=1e-12)
    assert curve.advantage >= math.tanh(0.5)


@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
def test_the_curve_of_gaussian_noise_is_exact_and_rounded_down(mu: float) -> None:
    for alarm, missed in zip(ALARMS[1:-1], gaussian(mu, ALARMS).beta[1:-1], strict=True):
        exact = mp.ncdf(-mp.sqrt(2) * mp.erfinv(2 * mpf(float(alarm)) - 1) - mu)
        assert float(exact) * (1 - 1e-12) <= missed <= exact


@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
def test_a_profile_gives_the_curve_back_from_below(mu: float) -> None:
    exact, ours = gaussian(mu, ALARMS), from_profile(gaussian_profile(mu), ALARMS)  # type: ignore[arg-type]
    assert (ours.beta <= exact.beta + 1e-14).all()
    assert ours.beta == pytest.approx(exact.beta, abs=2e-3)
    assert ours.advantage == pytest.approx(exact.advantage, rel=1e-12)


def test_every_test_on_an_enumerated_law_lies_above_the_curve() -> None:
    """Three answers told through randomised response: all eight tests."""
    truth, lie = math.e / (math.e + 2), 1 / (math.e + 2)
    p, q = np.array([truth, lie, lie]), np.array([lie, truth, lie])
    rejections = np.array([[(i >> j) & 1 for j in range(3)] for i in range(8)])
    alarms, misses = rejections @ p, 1 - rejections @ q

    def profile(epsilons: Floats) -> Floats:
        return np.maximum(0, truth - np.exp(epsilons) * lie) + np.maximum(0, lie - np.exp(epsilons) * lie)

    curve = from_profile(profile, np.clip(alarms, 0, 1))
    assert (misses >= curve.beta - 1e-12).all()
    assert np.isclose(misses, curve.beta, atol=0.01).sum() >= 4  # the likelihood ratio tests touch it
    assert curve.advantage == pytest.approx(np.max(1 - alarms - misses), rel=1e-9)


def test_curves_fall_are_convex_and_stay_below_blind_guessing() -> None:
    for curve in (pure("0.7"), gaussian("0.7"), from_profile(gaussian_profile(0.7))):  # type: ignore[arg-type]
        assert (np.diff(curve.beta) <= 1e-15).all()
        assert (np.diff(curve.beta, 2) >= -1e-12).all()
        assert (curve.beta <= 1 - curve.alpha + 1e-15).all()


@pytest.mark.parametrize("curve", [pure(0), gaussian(0)], ids=["pure", "gaussian"])
def test_no_loss_is_blind_guessing(curve: TradeOff) -> None:
    assert curve.beta == pytest.approx(1 - curve.alpha, abs=1e-13)
    assert curve.advantage < 1e-12


@pytest.mark.parametrize("curve", [pure(10**400), gaussian(1000), from_profile(np.ones_like)])
def test_everything_revealed_is_no_misses_at_all(curve: TradeOff) -> None:
    assert (curve.beta[1:] < 1e-12).all()
    assert curve.advantage == 1


def test_an_alarm_rate_is_a_probability() -> None:
    with pytest.raises(ParameterError, match="between 0 and 1"):
        gaussian(1, np.array([1.5]))


@pytest.mark.parametrize("epsilon", [0, 1, 700, 800, 10**6])
def test_without_false_alarms_pure_privacy_misses_always(epsilon: int) -> None:
    """At α = 0 the steep line is 1 for every ε, also where e^ε is no float."""
    assert pure(epsilon, np.array([0.0])).beta == pytest.approx([1.0], abs=1e-12)
    assert (pure(epsilon).beta <= 1).all()
