"""The lattice dominates: its profile is never below the pair's, and equal to it at the nodes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.privacy.pld.dominating_pairs import Direction, cut, reach
from discreet.privacy.pld.lattice import Lattice, discretise
from tests.privacy.pairs import EPSILONS, EXACT, LOSSES


def profile(lattice: Lattice, epsilon: float) -> float:
    return lattice.infinite + float(lattice.mass @ np.maximum(-np.expm1(epsilon - lattice.losses), 0.0))


def on_lattice(name: str, step: float, direction: Direction = "remove") -> Lattice:
    return discretise(LOSSES[name], step, reach(LOSSES[name], 1e-30, direction), direction)


@pytest.mark.parametrize("step", [0.3, 0.017, 0.001])
@pytest.mark.parametrize("name", EXACT)
def test_the_lattice_is_never_below_the_mechanism(name: str, step: float) -> None:
    lattice = on_lattice(name, step)
    for epsilon in EPSILONS.tolist():
        assert profile(lattice, epsilon) >= float(EXACT[name](epsilon)) * (1 - 1e-12)


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("name", LOSSES)
def test_the_lattice_is_exact_at_its_nodes(name: str, direction: Direction) -> None:
    lattice = on_lattice(name, 0.01, direction)
    for node in (0, 7, 40):
        epsilon = node * 0.01
        cells = cut(LOSSES[name], np.array([-np.inf, epsilon, np.inf]), direction)
        true = cells.infinite + float(cells.p[1] - math.exp(epsilon) * cells.q[1])
        assert profile(lattice, epsilon) == pytest.approx(true, abs=1e-9)


@pytest.mark.parametrize("name", LOSSES)
def test_no_mass_is_lost_and_nothing_moves_far(name: str) -> None:
    lattice = on_lattice(name, 0.01)
    assert math.fsum(lattice.mass) + lattice.infinite == pytest.approx(1, abs=1e-11)
    assert lattice.moved < 1e-29
    assert 0 <= lattice.spread <= 0.2501


def test_atoms_on_nodes_add_no_variance() -> None:
    assert on_lattice("pure", 0.7 / 7).spread < 1e-8
    assert on_lattice("pure", 0.7 / 7.5).spread > 0.2
