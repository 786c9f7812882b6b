"""Test Hadamard response: the transform, and the variance of the paper."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.local.protocols.frequency.hadamard import Hadamard, walsh_hadamard


@pytest.mark.parametrize("size", [1, 2, 8, 64])
def test_the_transform_is_the_matrix(size: int) -> None:
    x = np.arange(size)
    matrix = 1 - 2 * (np.bitwise_count(x[:, None] & x) % 2).astype(np.int64)
    values = (x * 7919) % 101
    np.testing.assert_array_equal(walsh_hadamard(values), matrix @ values)


@pytest.mark.parametrize("domain", [2, 7, 8, 1023, 1024])
def test_every_value_has_a_row_that_is_not_all_plus(domain: int) -> None:
    randomiser = Hadamard.for_epsilon(domain, 1)
    assert domain + 1 <= randomiser.outputs <= 2 * domain
    assert randomiser.variance(0) == pytest.approx(((math.e + 1) / (math.e - 1)) ** 2)
