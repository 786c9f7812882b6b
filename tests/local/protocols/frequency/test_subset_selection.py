"""Test subset selection: the best size, and sets without an order."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.local.design.variance import optimum
from discreet.local.protocols.frequency.subset_selection import Subset


@pytest.mark.parametrize("domain", [2, 3, 10, 128, 1000])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3", "8"])
def test_no_protocol_has_a_smaller_error(domain: int, epsilon: str) -> None:
    assert Subset.for_epsilon(domain, epsilon).variance() == pytest.approx(optimum(domain, epsilon), rel=1e-6)


def test_the_size_is_the_best_of_all() -> None:
    best = Subset.for_epsilon(12, 1)
    others = (Subset(12, size, 2**64 * size * 2718 // (size * 2718 + (12 - size) * 1000)) for size in range(1, 12))
    assert best.variance() <= min(other.variance() for other in others) * 1.001


def test_members_that_are_not_the_true_one_are_equally_likely() -> None:
    """Counts of 99 others in 20,000 reports: within 6 standard deviations (false alarms below 1e-6)."""
    randomiser, n = Subset.for_epsilon(100, 1), 20_000
    state = randomiser.state()
    randomiser.add(state, randomiser.encode(np.full(n, 37)))
    q = float(randomiser.support[1])
    assert np.abs(np.delete(state, 37) - n * q).max() < 6 * np.sqrt(n * q * (1 - q))


@pytest.mark.parametrize("size", [0, 5, 6])
def test_a_set_of_nothing_or_of_everything_is_refused(size: int) -> None:
    with pytest.raises(ParameterError, match="size"):
        Subset(5, size, 2**63)
