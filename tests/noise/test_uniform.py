from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy import stats

from discreet import noise
from discreet.errors import ParameterError
from discreet.noise.uniform import integer_below
from tests.noise.goodness import FALSE_ALARM
from tests.noise.interruptions import lines_of
from tests.noise.scripted import Scripted


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
    with pytest.raises(ParameterError, match="Try: size=None"):
        noise.uniform_below(n, 3)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 6, 7, 8, 11])
def test_every_value_comes_from_as_many_words(n: int) -> None:
    width = 6 if n < 8 else 9  # words of 3 bits: as many as n takes, and one more
    values = []
    for word in range(2**width):
        script = Scripted([word, 2**width - 1])  # the last word of all is never rejected
        value = integer_below(n, script, word_bits=3)
        values += [value] * len(script.integers)  # empty if the first word was rejected
    assert np.bincount(values).tolist() == [2**width // n] * n


def test_the_bits_and_the_work_of_a_single_draw_do_not_tell_n() -> None:
    """Nor whether this n was drawn before: it may be the number of candidates that are left."""
    bounds = [1, 2, 3, 1000, 12_345_678_901, 2**62 + 1, 2**63, 1000, 3]

    def next_after(n: int) -> int:
        with noise.deterministic(1):
            noise.uniform_below(n)
            return int(noise.uniform_below(2**63))

    assert len({next_after(n) for n in bounds}) == 1
    assert len({lines_of(partial(noise.uniform_below, n)) for n in bounds}) == 1


def test_an_array_takes_no_notice_of_an_n_seen_before() -> None:
    noise.uniform_below(100, 1)
    assert len({lines_of(partial(noise.uniform_below, n, 1)) for n in (100, 101, 102, 101)}) == 1


@pytest.mark.parametrize("n", [0, -1, "1/2", "2.5"])
def test_a_range_that_is_no_count_is_refused(n: int | str) -> None:
    with pytest.raises(ParameterError, match="n must be"):
        noise.uniform_below(n)
