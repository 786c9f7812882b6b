"""The bounds behind objective perturbation against slow witnesses: brute force, an ordinary ODE solver."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.stats import norm

from discreet.privacy.pld.normal import gaussian_delta
from discreet.privacy.theorems.learning import closed_forms, flow, joint_bound, loss_law


@pytest.mark.parametrize(("shift", "determinant"), [(0.03, 0.2), (0.27, 1.0), (0.27, 3.0), (1.5, 4.0), (2.0, 0.5)])
@pytest.mark.parametrize("saturates", [True, False])
def test_the_joint_bound_is_the_largest_loss_over_all_slopes(
    shift: float, determinant: float, saturates: bool
) -> None:
    s = np.linspace(0, 1, 2001)
    q = s * (1 - s) if saturates else np.ones_like(s)
    u = loss_law.nodes()[1:]
    law = joint_bound.loss_law(shift, determinant, saturates)
    for i in range(0, len(u), 997):
        brute = float((np.log1p(determinant * q) + s * shift * u[i] + s * s * shift * shift / 2).max())
        assert brute <= law.losses[i] <= brute + 1e-6 * (1 + abs(brute))
    assert float(law.masses.sum()) == pytest.approx(1, rel=1e-9)


def speed(x: float, bend: float, saturates: bool) -> float:
    """v at z = −x by numerical integration."""
    if x <= 0:
        return 1.0
    rho = (lambda u: max(bend - u, 0) ** 2 / (4 * bend)) if saturates else (lambda u: bend)
    top = max(x, bend) if saturates else x + 12
    excess = quad(lambda u: rho(u) * math.exp((x * x - u * u) / 2), x, top)[0]
    return float(min(1 + excess, math.exp(x * x / 2)))


@pytest.mark.parametrize(("time", "bend", "saturates"), [(0.25, 4.0, True), (1.0, 2.0, True), (0.3, 0.6, False)])
def test_the_flow_is_that_of_an_ode_solver(time: float, bend: float, saturates: bool) -> None:
    starts = np.linspace(-6, 3, 61)
    adding, removing = flow.loss_laws(time, bend, saturates)
    for law, sign in ((adding, 1.0), (removing, -1.0)):

        def derivative(_: float, z: np.ndarray, sign: float = sign) -> list[float]:
            return [speed(-sign * value, bend, saturates) for value in z.tolist()]

        ends = solve_ivp(derivative, (0, time), starts, rtol=1e-8, atol=1e-10).y[:, -1]
        for epsilon in (-0.3, 0.2, 0.5, 1.0):
            slow = float((norm.cdf(ends) - math.exp(epsilon) * norm.cdf(starts)).max())
            fast = law.delta(epsilon)
            assert fast >= slow - 1e-9
            fine = 0.03 if epsilon > 0 else 0.2  # the witness tries few starts
            assert slow <= 0 or fast <= slow * (1 + fine) + 1e-4


def test_the_largest_speed_bounds_every_speed_and_is_nearly_one_of_them() -> None:
    for bend, saturates in ((0.5, True), (3.0, True), (12.0, True), (0.4, False), (3.0, False)):
        speeds = [speed(x, bend, saturates) for x in np.linspace(0.01, 4, 400)]
        assert max(speeds) <= flow.largest_speed(bend, saturates) <= max(speeds) * 1.01


def test_a_flow_without_curvature_is_the_gaussian_mechanism() -> None:
    for law in flow.loss_laws(0.5, 1e-9, saturates=True):
        for epsilon in (0.1, 1.0, 3.0):
            exact = gaussian_delta(0.5, epsilon)[0]
            assert exact <= law.delta(epsilon) <= 1.001 * exact


def test_composition_is_that_of_gaussians_where_both_are_gaussian() -> None:
    law = flow.loss_laws(0.3, 1e-9, saturates=True)[0]
    for epsilon in (0.1, 1.0, 2.0):
        exact = gaussian_delta(0.5, epsilon)[0]
        assert exact <= law.delta(epsilon, 0.4) <= 1.002 * exact


@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 6.0])
def test_the_profile_by_chords_is_just_above_the_exact_one(mu: float) -> None:
    x = np.array([-5.0, -1.0, -0.1, 0.0, 0.1, 0.7, 2.0, 6.0]) * mu
    exact = norm.cdf(mu / 2 - x / mu) - np.exp(x) * norm.cdf(-mu / 2 - x / mu)
    bound = loss_law.profile(x, mu)
    assert (bound >= exact - 1e-15).all()
    assert (bound <= exact * (1 + 1e-3) + 1e-12).all()


def test_the_mean_excess_is_an_integral() -> None:
    for c in (0.0, 0.5, 3.0, 8.0):
        exact = quad(lambda u, c=c: (u - c) * norm.pdf(u), c, c + 12)[0]
        assert exact * (1 - 1e-7) <= closed_forms.mean_excess(c) <= exact * (1 + 1e-7)
