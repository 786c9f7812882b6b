"""Clopper–Pearson bounds against exact binomial tails, and against mpmath where counts are large."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit.attacks.clopper_pearson import MARGIN, lower, upper
from discreet.errors import ParameterError

ALPHAS = (0.3, 0.05, 5e-4, 5e-7, 1e-12)
INWARDS = 1 + 3 * Fraction(MARGIN)


def at_least(k: int, n: int, p: Fraction) -> Fraction:
    """P(K ≥ k) for a binomial K, exactly."""
    return sum((math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k, n + 1)), Fraction(0))


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_at_each_bound_the_exact_tail_is_at_most_alpha_and_a_little_further_in_it_is_not(
    n: int, alpha: float
) -> None:
    counts = np.arange(n + 1)
    for k, low, high in zip(counts.tolist(), lower(counts, n, alpha), upper(counts, n, alpha), strict=True):
        below, above = Fraction(float(low)), Fraction(float(high))
        assert 0 <= below < above <= 1
        if k > 0:
            assert at_least(k, n, below) <= Fraction(alpha) < at_least(k, n, below * INWARDS)
        if k < n:
            assert 1 - at_least(k + 1, n, above) <= Fraction(alpha) < 1 - at_least(k + 1, n, above / INWARDS)


def beta_tail(a: int, b: int, x: mpmath.mpf) -> mpmath.mpf:
    """P(Beta(a, b) < x) for x below its mean, by the continued fraction (DLMF 8.17.22), in forty digits."""
    last, now = (mpmath.mpf(0), mpmath.mpf(1)), (mpmath.mpf(1), mpmath.mpf(1))
    for m in range(1, 100_000):
        j = m // 2
        term = (
            j * (b - j) * x / ((a + m - 1) * (a + m))
            if m % 2 == 0
            else -(a + j) * (a + b + j) * x / ((a + m - 1) * (a + m))
        )
        last, now = now, (now[0] + term * last[0], now[1] + term * last[1])
        if m > 10 and abs(now[0] / now[1] - last[0] / last[1]) < mpmath.mpf(10) ** -20 * abs(now[0] / now[1]):
            break
    front = a * mpmath.log(x) + b * mpmath.log1p(-x) - mpmath.log(a)
    front -= mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b)
    return mpmath.exp(front) * now[0] / now[1]


@pytest.mark.parametrize("alpha", [0.05, 5e-7])
@pytest.mark.parametrize(
    ("k", "n"), [(1, 10**7), (137, 10**5), (21_000, 5 * 10**6), (5 * 10**6, 10**7), (10**7 - 1, 10**7)]
)
def test_they_hold_for_large_counts_by_mpmath(k: int, n: int, alpha: float) -> None:
    with mpmath.workdps(40):
        low, high = mpmath.mpf(float(lower(k, n, alpha))), mpmath.mpf(float(upper(k, n, alpha)))
        assert beta_tail(k, n - k + 1, low) <= alpha < beta_tail(k, n - k + 1, low * mpmath.mpf(float(INWARDS)))
        if high < 1:
            inwards = high / mpmath.mpf(float(INWARDS))
            assert beta_tail(n - k, k + 1, 1 - high) <= alpha < beta_tail(n - k, k + 1, 1 - inwards)


def test_no_success_still_leaves_room_above_and_all_successes_room_below() -> None:
    assert lower(0, 1000, 0.001) == 0
    assert upper(1000, 1000, 0.001) == 1
    assert math.isclose(float(upper(0, 1000, 0.001)), 1 - 0.001 ** (1 / 1000), rel_tol=1e-8)
    assert math.isclose(float(lower(1000, 1000, 0.001)), 0.001 ** (1 / 1000), rel_tol=1e-8)


@given(st.integers(1, 10**6), st.data())
def test_more_successes_never_lower_a_bound_and_more_certainty_never_narrows_them(
    n: int, data: st.DataObject
) -> None:
    k = np.sort(np.array(data.draw(st.lists(st.integers(0, n), min_size=1, max_size=20))))
    for bound in (lower, upper):
        assert np.all(np.diff(bound(k, n, 1e-3)) >= 0)
    assert np.all(lower(k, n, 1e-6) <= lower(k, n, 1e-3))
    assert np.all(upper(k, n, 1e-6) >= upper(k, n, 1e-3))
    assert np.all((lower(k, n, 1e-3) <= k / n) & (k / n <= upper(k, n, 1e-3)))


@pytest.mark.parametrize(
    ("k", "n", "alpha", "says"),
    [
        (3, 2, 0.1, "between 0 and n=2"),
        (-1, 2, 0.1, "between"),
        (0, 0, 0.1, "1 or more"),
        (1, 2, 1, "alpha"),
        (0.5, 2, 0.1, "integers"),
    ],
)
def test_what_has_no_meaning_is_refused(k: float, n: int, alpha: float, says: str) -> None:
    for bound in (lower, upper):
        with pytest.raises(ParameterError, match=says):
            bound(k, n, alpha)
