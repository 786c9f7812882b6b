"""Inversion along a contour: never below the truth, never far above it, and each of its lemmas by itself."""

from __future__ import annotations

import math
from itertools import product

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import privacy
from discreet.privacy import Gaussian, GaussianDP, Laplace, PoissonSubsampled, Pure
from discreet.privacy.pld.atoms import Atoms, above, below, coarse_nodes
from discreet.privacy.pld.contour import Law, invert
from discreet.privacy.pld.contour_choice import inverted_delta, inverted_epsilon, saddle
from discreet.privacy.pld.dominating_pairs import Direction, reach
from discreet.privacy.pld.normal import gaussian_delta
from tests.privacy.pld.sampled_gaussians import one, two

# q, σ, releases, δ, direction, ε: by Gauss–Legendre quadrature of the densities and of the contour, at two
# abscissae that agree to six digits. No code is shared with the product.
REFERENCES = [
    ("1e-4", "1", 10**5, 1e-6, "remove", 0.156892),
    ("1e-4", "1", 10**5, 1e-6, "add", 0.152858),
    ("1e-4", "1", 10**5, 1e-10, "remove", 0.235460),
    ("1e-4", "0.8", 10**5, 1e-6, "remove", 0.243728),
    ("1e-4", "0.8", 10**5, 1e-10, "remove", 0.546889),
    ("1e-4", "0.8", 10**5, 1e-20, "remove", 3.22721),
    ("1e-3", "1", 10**5, 1e-6, "add", 1.80415),
    ("1e-5", "2", 10**6, 1e-10, "remove", 0.0277272),
    ("1e-2", "1", 10**4, 1e-10, "remove", 9.31614),
    ("0.5", "5", 10**3, 1e-6, "add", 19.1850),
]
LAST_DIGIT = 2e-5  # of a reference, relatively


def sampled(rate: str, sigma: str) -> privacy.Loss:
    return PoissonSubsampled(Gaussian(sigma), rate)


@pytest.mark.parametrize(("rate", "sigma", "count", "delta", "direction", "epsilon"), REFERENCES)
def test_epsilon_is_within_a_thousandth_of_the_reference_and_not_below(
    rate: str, sigma: str, count: int, delta: float, direction: Direction, epsilon: float
) -> None:
    counts = {sampled(rate, sigma): count}
    high, _ = inverted_epsilon(counts, delta, direction)
    low, _ = inverted_epsilon(counts, delta, direction, lower=True)
    assert low <= epsilon * (1 + LAST_DIGIT)
    assert epsilon * (1 - LAST_DIGIT) <= high <= 1.001 * epsilon
    assert high <= 1.002 * low


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(
    ("rate", "sigma", "epsilon"),
    [
        pytest.param("1e-5", "0.5", "4e-4", marks=pytest.mark.slow),
        ("1e-3", "1", "0.01"),
        ("0.1", "2", "0.05"),
        ("0.5", "0.8", 1),
    ],
)
def test_one_release_has_its_closed_form(rate: str, sigma: str, epsilon: str, direction: Direction) -> None:
    if direction == "add":
        epsilon = str(min(float(epsilon), -0.5 * math.log1p(-float(rate))))
    exact, counts = float(one(rate, sigma, direction, mp.mpf(epsilon))), {sampled(rate, sigma): 1}
    high, _ = inverted_delta(counts, float(epsilon), direction)
    low, _ = inverted_delta(counts, float(epsilon), direction, lower=True)
    assert low <= exact * (1 + 1e-12)
    assert exact * (1 - 1e-12) <= high <= 1.02 * exact


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(
    ("rate", "sigma", "delta"),
    [
        pytest.param("1e-5", "0.8", 1e-20, marks=pytest.mark.slow),
        ("1e-2", "1", 1e-10),
        pytest.param("1e-5", "0.5", 1e-6, marks=pytest.mark.slow),
        pytest.param("0.3", "2", 1e-3, marks=pytest.mark.slow),
        pytest.param("0.3", "0.6", 1e-20, marks=pytest.mark.slow),
    ],
)
def test_two_releases_have_the_delta_of_their_densities(
    rate: str, sigma: str, delta: float, direction: Direction
) -> None:
    high, _ = inverted_epsilon({sampled(rate, sigma): 2}, delta, direction)
    low, _ = inverted_epsilon({sampled(rate, sigma): 2}, delta, direction, lower=True)
    assert two(rate, sigma, direction, mp.mpf(high)) <= delta * (1 + 1e-12)
    assert two(rate, sigma, direction, mp.mpf(low)) >= delta * (1 - 1e-12)
    assert high <= 1.01 * low


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(("rate", "sigma"), [("1e-5", "1.3"), ("2.81e-5", "1.65"), ("1e-4", "3"), ("0.3", "0.6")])
def test_one_release_is_known_at_tiny_deltas(rate: str, sigma: str, direction: Direction) -> None:
    """No tilt serves where one rare loss decides: the inversion was off by up to 270 % here."""
    delta, counts = 1e-20, {sampled(rate, sigma): 1}
    (high, fine), (low, also) = (
        inverted_epsilon(counts, delta, direction, lower=lower) for lower in (False, True)
    )
    with mp.workdps(60):
        assert one(rate, sigma, direction, mp.mpf(high)) <= delta
        assert one(rate, sigma, direction, mp.mpf(low)) >= delta
    assert fine
    assert also
    assert high <= 1.005 * low


def test_three_releases_of_which_a_rare_loss_decides_lose_more_than_two() -> None:
    """Rare losses are conditioned on their number: a term without its number of ways would show."""
    high, _ = inverted_epsilon({sampled("1e-4", "1"): 3}, 1e-12, "remove")
    assert two("1e-4", "1", "remove", mp.mpf(high)) <= 0.7e-12


@pytest.mark.parametrize(
    ("rate", "sigma", "count", "delta"),
    [
        pytest.param("1e-5", "0.8", 100, 1e-20, marks=pytest.mark.slow),
        ("1e-3", "2", 100, 1e-20),
        pytest.param("1e-5", "0.5", 10, 1e-6, marks=pytest.mark.slow),
        ("1e-4", "1", 1000, 1e-10),
    ],
)
def test_plans_that_one_rare_loss_decides_are_known_to_one_percent(
    rate: str, sigma: str, count: int, delta: float
) -> None:
    low, high = privacy.epsilon_bounds([sampled(rate, sigma) * count], delta)
    assert low <= high <= 1.01 * low


def test_bounds_and_epsilon_agree() -> None:
    plan = [sampled("1e-4", "1") * 100_000]
    assert privacy.epsilon_bounds(plan, 1e-6)[1] == privacy.epsilon(plan, 1e-6)


def test_a_sample_of_everyone_is_the_loss_itself() -> None:
    plan = [sampled("1", "0.3") * 2]
    assert privacy.epsilon(plan, 1e-10) == pytest.approx(privacy.epsilon([Gaussian("0.3") * 2], 1e-10), rel=1e-4)
    assert privacy.epsilon(plan, 1e-10) >= privacy.epsilon_bounds([Gaussian("0.3") * 2], 1e-10)[0]


@pytest.mark.parametrize("delta", [1e-6, 1e-14])
def test_mixed_plans_lie_between_their_bounds_and_below_the_lattice(delta: float) -> None:
    plan = {sampled("1e-2", "1"): 1000, Laplace(scale=10): 50, GaussianDP("0.1"): 1}
    low, high = privacy.epsilon_bounds([loss * count for loss, count in plan.items()], delta)
    assert low <= high <= 1.001 * low


def test_a_gaussian_alone_is_inverted_to_its_closed_form() -> None:
    for mu, epsilon in [(0.5, 1.0), (1.0, 6.0), (0.1, 0.9)]:
        low, high = gaussian_delta(mu, epsilon)
        law = Law([], mu * mu)
        inversion = invert(law, saddle(law, epsilon=epsilon)[0], epsilon, 0.0)
        assert low <= inversion.upper(epsilon) <= high * 1.001
        assert inversion.lower(epsilon) <= high
        assert inversion.lower(epsilon) >= 0.999 * low


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.tuples(st.floats(-1, 1), st.floats(0.01, 1)), min_size=1, max_size=6),
    st.integers(1, 3),
    st.floats(0, 2),
    st.floats(0.5, 20),
)
def test_every_tilt_gives_bounds_around_a_finite_sum(
    points: list[tuple[float, float]], count: int, epsilon: float, theta: float
) -> None:
    # The sum of few atoms is enumerated. The added release is wide, so the lemma about it decides.
    x, mass = (np.array(column) for column in zip(*points, strict=True))
    mass = mass / mass.sum()
    total = mp.mpf(0)
    for picks in product(range(len(x)), repeat=count):
        loss = mp.fsum(mp.mpf(float(x[i])) for i in picks)
        if loss > epsilon:
            total += mp.fprod(mp.mpf(float(mass[i])) for i in picks) * -mp.expm1(epsilon - loss)
    added = 1e-3
    inversion = invert(Law([(Atoms(x, mass), count)], added), theta, epsilon, added)
    assert inversion.lower(epsilon) <= float(total) * (1 + 1e-12)
    assert inversion.upper(epsilon) >= float(total) * (1 - 1e-12)


@pytest.mark.parametrize("s", [1e-6, 1e-3, 0.1, 1, 3])
def test_the_lemma_of_the_added_release(s: float) -> None:
    # Without the release δ is at least δ with it, less s²·C times the density of its loss, wherever the loss is.
    size = mp.mpf(s)
    factor = 1 + size / 2 * mp.sqrt(mp.pi / 2) * mp.exp(size**2 / 8) * (1 + mp.erf(size / mp.sqrt(8)))
    for y in mp.linspace(-8, 8, 161):
        y = y * size
        without = -mp.expm1(-y) if y > 0 else mp.mpf(0)
        with_it = mp.ncdf(y / size + size / 2) - mp.exp(-y) * mp.ncdf(y / size - size / 2)
        density = mp.npdf((y + size**2 / 2) / size) / size
        assert without >= with_it - size**2 * factor * density - mp.mpf(10) ** -35


@pytest.mark.parametrize("direction", ["remove", "add"])
def test_atoms_above_dominate_and_atoms_below_are_dominated(direction: Direction) -> None:
    loss = sampled("1e-4", "0.8")
    nodes = coarse_nodes(loss, 1e-15, direction, number=40)
    for epsilon in (0.0, 1e-5, 1e-3, 0.05, 0.3):
        under, over = (
            float(atoms.mass @ np.maximum(-np.expm1(epsilon - atoms.x), 0.0)) + atoms.infinite
            for atoms in (below(loss, nodes, direction), above(loss, nodes, direction))
        )
        exact = float(one("1e-4", "0.8", direction, mp.mpf(epsilon)))
        assert under <= exact * (1 + 1e-9)
        assert exact * (1 - 1e-9) <= over


@pytest.mark.parametrize("loss", [PoissonSubsampled(Pure(2), "0.1"), Laplace(scale=2), Pure(1)])
def test_atoms_of_bounded_losses_keep_their_highest_loss(loss: privacy.Loss) -> None:
    # An edge that is off by a rounding must not push the atom at the top out to infinity, nor below itself.
    nodes = coarse_nodes(loss, 1e-15, "remove", number=40)
    atoms = above(loss, nodes, "remove")
    top = float(reach(loss, 1e-15, "remove")[1])
    assert atoms.infinite == 0
    assert atoms.x[atoms.mass > 0].max() >= top
    assert atoms.mass.sum() == pytest.approx(1, abs=1e-11)
