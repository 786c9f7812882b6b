from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from discreet import noise
from discreet.errors import ParameterError

from .goodness import FALSE_ALARM


@pytest.mark.parametrize("n", [1, 2, 3, 10, 255, 256, 257, 1000])
def test_every_value_is_as_likely(n: int) -> None:
    counts = np.bincount(noise.uniform_below(n, 500_000), minlength=n)
    assert len(counts) == n
    assert n == 1 or stats.chisquare(counts).pvalue > FALSE_ALARM


@pytest.mark.parametrize("n", [3 * 2**30, 3 * 2**61, 2**63])
def test_a_large_range_has_no_bias_towards_its_start(n: int) -> None:
    # A remainder of 64-bit words would put 3/8 of all values, not 1/3, below 2^61·1 for n = 3·2^61.
    thirds = np.bincount(noise.uniform_below(n, 300_000) // (n // 3 + 1), minlength=3)
    assert stats.chisquare(thirds).pvalue > FALSE_ALARM


def test_a_range_beyond_int64_is_drawn_one_integer_at_a_time() -> None:
    n = 3 * 2**100
    drawn = [noise.uniform_below(n) for _ in range(3000)]
    assert all(0 <= x < n for x in drawn)
    assert stats.chisquare(np.bincount([3 * x // n for x in drawn])).pvalue > FALSE_ALARM
    with pytest.raises(ParameterError, match="Leave out size"):
        noise.uniform_below(n, 3)


@pytest.mark.parametrize("n", [0, -1, "1/2", "2.5"])
def test_a_range_that_is_no_count_is_refused(n: int | str) -> None:
    with pytest.raises(ParameterError, match="n must be"):
        noise.uniform_below(n)
