"""Test local hashing: the exact probability of collisions, and the decoder."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.local.protocols.frequency.local_hashing import OLH, PRIME


@pytest.mark.parametrize("epsilon", ["0.5", "1", "3", "7"])
def test_supports_are_those_of_hashing_every_value(epsilon: str) -> None:
    randomiser = OLH.for_epsilon(300, epsilon)
    reports = randomiser.encode(np.arange(500) % 300)
    state = randomiser.state()
    randomiser.add(state, reports)
    a, b = (reports[:, at : at + 4].copy().view("<u4")[:, 0].astype(object) for at in (0, 4))
    y = sum(reports[:, 8 + i].astype(object) << 8 * i for i in range(reports.shape[1] - 8))
    expected = [int(((a * v + b) % PRIME * randomiser.buckets // PRIME == y).sum()) for v in range(300)]
    assert state.tolist() == expected


def test_buckets_are_as_many_as_the_paper_says() -> None:
    """e^ε + 1, which is 2.6, 3.7, 8.4 and 55.6, up or down."""
    assert [OLH.for_epsilon(1000, epsilon).buckets for epsilon in ("0.5", 1, 2, 4)] == [3, 4, 8, 55]
    assert OLH.for_epsilon(1000, 1).variance(0) == pytest.approx(3.692, abs=1e-3)


@pytest.mark.parametrize(("prime", "match"), [(4, "a prime number"), (2**31 + 11, "a prime number"), (3, "small")])
def test_a_modulus_that_does_not_mix_is_refused(prime: int, match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        OLH(5, 2, 2**63 + 1, prime=prime)
