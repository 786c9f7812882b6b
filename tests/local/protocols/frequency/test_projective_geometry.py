"""Test projective geometry response: the choice of the space, and the distance to the optimum."""

from __future__ import annotations

import time

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.local.design.variance import optimum
from discreet.local.protocols.frequency.projective_geometry import Projective


@pytest.mark.parametrize("domain", [1024, 10**5, 10**6])
@pytest.mark.parametrize(
    ("epsilon", "within"), [("0.25", 1.025), ("0.5", 1.015), ("1", 1.006), ("2", 1.01), ("3", 1.07)]
)
def test_it_comes_near_the_optimum(domain: int, epsilon: str, within: float) -> None:
    assert 1 <= Projective.for_epsilon(domain, epsilon).variance() / optimum(domain, epsilon) < within


def test_powers_of_primes_are_worth_their_tables() -> None:
    found = [Projective.for_epsilon(1024, epsilon) for epsilon in ("0.5", "1", "2", "4")]
    assert [(each.order, each.dimension, each.bits) for each in found] == [
        (3, 7, 11),
        (4, 6, 11),
        (8, 5, 13),
        (47, 3, 12),
    ]


def test_the_seven_points_of_the_fano_plane_are_an_optimal_protocol() -> None:
    protocol = Projective.for_epsilon(7, "0.25")
    assert (protocol.order, protocol.dimension, protocol.outputs) == (2, 3, 7)
    assert protocol.variance() == pytest.approx(optimum(7, "0.25"))


def test_a_million_values_are_decoded_in_seconds() -> None:
    """Measure processor time against a tenth of the stated speed, so that a slow machine passes too."""
    protocol, n = Projective.for_epsilon(10**6, 1), 200_000
    held = np.full(n, 765_432)
    state = protocol.state()
    protocol.add(state, protocol.encode(held))
    start = time.process_time()
    found = protocol.estimate(state, n)
    assert time.process_time() - start < 10
    assert int(found.values.argmax()) == 765_432
    assert abs(found.values[765_432] - 1) < 6 * found.standard_errors[765_432]


@pytest.mark.parametrize(("order", "dimension"), [(6, 3), (2, 1), (2, 3), (1, 5), (2, 40), (1024, 4)])
def test_a_space_that_does_not_exist_or_does_not_fit_is_refused(order: int, dimension: int) -> None:
    with pytest.raises(ParameterError, match=r"order|dimension"):
        Projective(8, order, dimension, 2**63)
