"""Softmax: an index drawn exactly, also where the first bits do not settle it."""

from __future__ import annotations

import time
from collections import Counter
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from discreet import noise
from discreet.errors import ParameterError
from discreet.mechanisms import Exponential
from discreet.noise.random_bits import system_bits
from discreet.noise.softmax import pick, weights
from tests.mechanisms.output_laws import FALSE_ALARM, exponential, p_value_of


@pytest.mark.parametrize("bits", [2, 5, 62])
def test_a_choice_settled_with_more_bits_has_the_same_law(bits: int) -> None:
    """With two first bits nearly every choice is settled by intervals; with 62 practically none."""
    gaps = np.array([3, 0, 1, 0, 700])
    law = exponential(Exponential(1), [-g for g in gaps.tolist()])
    counts = Counter(pick(gaps, Fraction(2), system_bits(), word_bits=bits) for _ in range(3_000))
    assert p_value_of(counts, law) > FALSE_ALARM


def test_a_choice_settled_with_more_bits_among_many_takes_no_more_than_moments() -> None:
    """Twelve first bits are too few for 10⁵ shares. All gaps differ: none can be bounded together with another."""
    start = time.process_time()
    assert 0 <= pick(np.arange(100_000), Fraction(10**6), system_bits(), word_bits=12) < 100_000
    assert time.process_time() - start < 3  # bounds of every weight by its own series would take six


@pytest.mark.parametrize("scale", [Fraction(1, 50), Fraction(7, 3), Fraction(10**6), Fraction(10**17, 3)])
def test_weights_are_as_good_as_the_proof_needs(scale: Fraction) -> None:
    gaps = np.unique(np.array([0, 1, 2, 255, 256, 10**6, 2**40 + 3, 2**62, 2**63 - 2], np.int64))
    for gap, weight in zip(gaps.tolist(), weights(gaps, scale), strict=True):
        truth = mpmath.exp(-mpmath.mpf(gap) * scale.denominator / scale.numerator)
        assert abs(mpmath.mpf(float(weight)) - truth) <= truth * mpmath.mpf(2) ** -48 + mpmath.mpf(2) ** -149


def test_test_bits_leave_their_mark_on_an_index() -> None:
    with noise.deterministic(5):
        assert noise.is_test_noise(noise.softmax(np.array([0, 1, 2])))
    assert type(noise.softmax(np.array([0, 1, 2]))) is int


@pytest.mark.parametrize(
    "bad", [[0, 1], np.array([1, 2]), np.array([]), np.array([[0]]), np.array([-1, 0]), np.array([0.0])]
)
def test_what_are_no_gaps_is_refused(bad: Any) -> None:
    with pytest.raises(ParameterError, match="gaps"):
        noise.softmax(bad)
