"""The pairs behind the losses: masses, symmetry, and that they dominate what they stand for."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import privacy
from discreet.errors import NotComposable
from discreet.privacy.pld.dominating_pairs import ACCURACY, Direction, cut, reach
from tests.privacy.pairs import EPSILONS, EXACT, LOSSES, discrete_gaussian_pmf

EDGES = np.concatenate(([-np.inf], np.linspace(-6, 6, 2401), [np.inf]))
DIRECTIONS: tuple[Direction, ...] = ("remove", "add")


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", LOSSES)
def test_both_laws_have_mass_one(name: str, direction: Direction) -> None:
    cells = cut(LOSSES[name], EDGES, direction)
    assert math.fsum(cells.p) + cells.infinite == pytest.approx(1, abs=1e-11)
    assert math.fsum(cells.q) == pytest.approx(1, abs=1e-11)
    assert (cells.p >= 0).all()
    assert (cells.q >= 0).all()


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", LOSSES)
def test_the_log_ratio_of_the_masses_lies_in_the_cell(name: str, direction: Direction) -> None:
    cells = cut(LOSSES[name], EDGES, direction)
    inner = slice(1, -1)
    p, q = cells.p[inner], cells.q[inner]
    held = (p > 1e-250) & (q > 1e-250)
    ratio = np.log(p[held] / q[held])
    left, right = EDGES[1:-2][held], EDGES[2:-1][held]
    assert (ratio >= left - 1e-9).all()
    assert (ratio <= right + 1e-9).all()


@pytest.mark.parametrize("name", EXACT)
def test_the_cells_have_the_profile_of_the_mechanism(name: str) -> None:
    # With an edge at ε the sum of (p − e^ε·q)₊ over cells is δ(ε) itself.
    for epsilon in EPSILONS.tolist():
        cells = cut(LOSSES[name], np.array([-np.inf, epsilon, np.inf]))
        delta = float(cells.p[1] - math.exp(epsilon) * cells.q[1])
        assert delta == pytest.approx(float(EXACT[name](epsilon)), abs=1e-11, rel=1e-8)


@pytest.mark.parametrize("shift", [1, 40, 2500])
def test_runs_of_integers_of_a_wide_discrete_gaussian_are_summed_right(shift: int) -> None:
    sigma = 2001
    edges = np.concatenate(([-np.inf], np.linspace(-4.97, 5.03, 31) * shift / sigma, [np.inf]))
    cells = cut(privacy.DiscreteGaussian(sigma**2, shift), edges)
    n = np.arange(-13 * sigma, 13 * sigma + shift)
    q = np.exp(-(n.astype(float) ** 2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi))
    loss = (2 * n - shift) * shift / (2 * sigma**2)
    witness = np.bincount(np.searchsorted(edges, loss) - 1, q, minlength=len(edges) - 1)
    big = witness > 1e-12
    assert np.abs(cells.q[big] / witness[big] - 1).max() < 1e-10


@pytest.mark.parametrize("z", [3.0, 12.0, 20.0, 37.0])
def test_runs_of_integers_keep_their_relative_accuracy_far_out(z: float) -> None:
    sigma = 2000
    cells = cut(privacy.DiscreteGaussian(sigma**2, sigma), np.array([-np.inf, z - 0.5, z - 0.45, np.inf]))
    # The loss of n is (2n − σ)/(2σ): the middle cell holds n/σ in (z, z + 0.05].
    members = range(math.floor(sigma * z) + 1, math.floor(sigma * (z + 0.05) + 1e-6) + 1)
    total = sigma * mp.sqrt(2 * mp.pi)  # to more than a hundred digits, by Poisson summation
    true = mp.fsum(mp.exp(-(mp.mpf(n) ** 2) / (2 * sigma**2)) for n in members) / total
    assert abs(cells.q[1] / true - 1) < ACCURACY


def test_a_small_discrete_gaussian_matches_fifty_digits() -> None:
    p, _ = discrete_gaussian_pmf(mp.mpf(2), 1)
    cells = cut(privacy.DiscreteGaussian(2), np.array([-np.inf, 0.0, 2.0, np.inf]))
    support = range(-(len(p) // 2), len(p) // 2 + 1)
    middle = mp.fsum(mass for n, mass in zip(support, p, strict=True) if 0 < (2 * n - 1) / 4 <= 2)
    assert abs(cells.p[1] / middle - 1) < ACCURACY


@given(
    st.lists(st.integers(-6, 6), min_size=2, max_size=6),
    st.lists(st.integers(-1, 1), min_size=6, max_size=6),
    st.floats(0.05, 3),
    st.floats(0, 3),
)
def test_no_exponential_mechanism_exceeds_the_bounded_range_profile(
    scores: list[int], moves: list[int], epsilon: float, at: float
) -> None:
    u = np.array(scores, dtype=float)
    v = u + np.array(moves[: len(scores)])
    p, q = (np.exp(epsilon * s / 2) / np.exp(epsilon * s / 2).sum() for s in (u, v))
    delta = np.maximum(p - math.exp(at) * q, 0).sum()
    bound = (math.exp(epsilon / 2) - math.exp(min(at, epsilon) / 2)) ** 2 / math.expm1(epsilon)
    assert delta <= bound + 1e-12


def test_the_bounded_range_profile_is_attained() -> None:
    # Two groups of candidates that move in opposite directions; the best split gives (tanh(ε/4)) at ε = 0.
    epsilon, ends = 1.0, []
    for top in np.linspace(0.01, 0.99, 99):
        odds = top / (1 - top) * math.exp(epsilon)
        ends.append(odds / (1 + odds) - top)
    assert max(ends) == pytest.approx(math.tanh(epsilon / 4), abs=1e-4)


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.1, 0.5])
def test_sampling_mixes_the_laws_as_the_theorem_says(epsilon: float) -> None:
    """The ratio of the laws, 1 − r + r·exp((2x − 1)/2σ²), rises: each integral is of tails beyond one point."""
    sigma, rate = mp.mpf("0.8"), mp.mpf("0.02")
    t = mp.exp(mp.mpf(epsilon))

    def where(ratio: mp.mpf) -> mp.mpf:
        return sigma**2 * mp.log((ratio - 1 + rate) / rate) + mp.mpf("0.5") if ratio > 1 - rate else -mp.inf

    def below(x: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
        plain = mp.ncdf(x, 0, sigma)
        return plain, (1 - rate) * plain + rate * mp.ncdf(x, 1, sigma)

    plain, mixed = below(where(t))
    remove = (1 - mixed) - t * (1 - plain)
    plain, mixed = below(where(1 / t))
    add = plain - t * mixed
    edges = np.array([-np.inf, epsilon, np.inf])
    for direction, true in (("remove", remove), ("add", add)):
        cells = cut(LOSSES["sampled gaussian"], edges, direction)  # type: ignore[arg-type]
        assert cells.p[1] - math.exp(epsilon) * cells.q[1] == pytest.approx(float(true), abs=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_less_than_the_tail_lies_outside_the_reach(name: str) -> None:
    for direction in DIRECTIONS:
        low, high = reach(LOSSES[name], 1e-9, direction)
        cells = cut(LOSSES[name], np.array([-np.inf, low - 1e-9, high + 1e-9, np.inf]), direction)
        assert cells.p[0] <= 1e-9
        assert cells.p[2] <= 1e-9


def test_a_bare_bound_has_no_pair() -> None:
    with pytest.raises(NotComposable, match="composes as a curve"):
        cut(privacy.ZeroConcentrated(1), EDGES)
