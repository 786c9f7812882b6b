"""Test unary encoding: reports as bitmaps, with the variances of the papers."""

from __future__ import annotations

import math

import pytest

from discreet.local.protocols.frequency.unary import OUE, SUE


@pytest.mark.parametrize("epsilon", [1, 2, 4])
def test_variances_are_those_of_the_papers(epsilon: int) -> None:
    e, half = math.exp(epsilon), math.exp(epsilon / 2)
    assert OUE.for_epsilon(50, epsilon).variance(0) == pytest.approx(4 * e / (e - 1) ** 2)
    assert SUE.for_epsilon(50, epsilon).variance(0) == pytest.approx(half / (half - 1) ** 2)


def test_the_bit_that_is_set_is_a_fair_coin_in_the_optimised_one() -> None:
    assert OUE.for_epsilon(50, 1).coins[0] == 2**63
