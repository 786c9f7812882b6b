"""Residuals are exact integers, and one person changes them by as much as is declared, and no more."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest

from discreet.mechanisms.exact import LIMIT
from discreet.oracle.span.residuals import residual, sensitivity
from discreet.oracle.span.strategy import Strategy, strategy

SETS = [
    [strategy(2, 0)],
    [strategy(4, 4)],
    [strategy(5, 4)],
    [strategy(2, 0), strategy(2, 0)],
    [strategy(3, 3), strategy(2, 0)],
    [strategy(2, 0), strategy(3, 0), strategy(2, 2)],
]


def shape(strategies: list[Strategy]) -> list[int]:
    return [chosen.matrix.shape[1] for chosen in strategies]


@pytest.mark.parametrize("strategies", SETS, ids=lambda some: str(shape(some)))
@pytest.mark.parametrize("contribution", [1, 3])
def test_no_person_changes_a_residual_by_more_than_its_sensitivity_and_some_person_does_by_just_so_much(
    strategies: list[Strategy], contribution: int
) -> None:
    """Every way to divide at most `contribution` units of weight among all cells is tried: exact integers."""
    cells = int(np.prod(shape(strategies)))
    largest = 0
    for weight in range(contribution + 1):
        for places in combinations_with_replacement(range(cells), weight):
            joined = np.bincount(np.array(places, int), minlength=cells).reshape(shape(strategies))
            moved = residual(joined, strategies)
            largest = max(largest, sum(int(entry) ** 2 for entry in moved.ravel()))
    assert largest == sensitivity(contribution, strategies).l2_squared


@pytest.mark.parametrize("strategies", SETS, ids=lambda some: str(shape(some)))
def test_a_residual_is_the_product_of_integers(strategies: list[Strategy]) -> None:
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 2**40, shape(strategies))
    whole = np.ones((1, 1), object)
    for chosen in strategies:
        whole = np.kron(whole, chosen.matrix.astype(object))
    exact = whole @ counts.ravel().astype(object)
    assert residual(counts, strategies).ravel().tolist() == exact.tolist()


def test_what_leaves_int64_is_clamped_and_never_wraps_around() -> None:
    """A product that wrapped around would jump by 2⁶⁴ when one person joins."""
    strategies = [strategy(100, 100), strategy(16, 16), strategy(16, 16)]
    counts = np.zeros((100, 16, 16), np.int64)
    entries = [int(chosen.matrix[place, place]) for chosen, place in zip(strategies, (50, 8, 8), strict=True)]
    for many in (2**40, 2**48, 2**52, 2**55, 2**62):
        counts[50, 8, 8] = many
        found = residual(counts, strategies)
        assert np.abs(found).max() <= LIMIT
        assert found[50, 8, 8] == min(min(many, 2**55) * entries[0] * entries[1] * entries[2], LIMIT)
        more = counts.copy()
        more[50, 8, 8] += 4096
        moved = residual(more, strategies).astype(object) - found.astype(object)
        assert sum(int(entry) ** 2 for entry in moved.ravel()) <= (sensitivity(4096, strategies).l2_squared or 0)
