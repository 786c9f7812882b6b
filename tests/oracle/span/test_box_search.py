"""The search for the largest error over all boxes, against one that tries every box."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.oracle.span.box_search import LARGEST, largest_error, searched

Ends = list[tuple[int, int]]


def choices(size: int, ordered: bool) -> Ends:
    if ordered:
        return [(low, high) for low in range(size) for high in range(low + 1, size + 1)]
    return [*((low, low + 1) for low in range(size)), (0, size)]


def tried(table: NDArray[np.int64], ordered: list[bool]) -> int:
    """Return the largest |sum|, in Python's integers."""
    axes = [choices(size, kind) for size, kind in zip(table.shape, ordered, strict=True)]
    return max(abs(sum(table[tuple(slice(*ends) for ends in box)].ravel().tolist())) for box in product(*axes))


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_the_search_finds_what_trying_every_box_finds(axes: int) -> None:
    rng = np.random.default_rng(axes)
    for _ in range(40):
        shape = rng.integers(1, 6, axes)
        ordered = [bool(kind) for kind in rng.integers(0, 2, axes)]
        table = rng.integers(-50, 51, shape)
        assert largest_error(table, ordered) == tried(table, ordered)


def test_the_largest_tables_do_not_wrap_around() -> None:
    table = np.full((2, 2**19), 2 * LARGEST)
    assert largest_error(table, [True, True]) == 2 * LARGEST * 2**20
    assert largest_error(-table, [False, True]) == 2 * LARGEST * 2**20
    assert largest_error(np.array([2**62, -(2**62)]), [True]) == 2 * LARGEST


def test_one_person_moves_the_largest_error_by_no_more_than_their_rows_and_some_person_by_all_of_them() -> None:
    """The claim of a certificate: K rows, spread over cells in any way, and cells that are clamped."""
    rng, most, moved = np.random.default_rng(5), 7, 0
    for _ in range(300):
        ordered = [bool(kind) for kind in rng.integers(0, 2, 2)]
        rows = rng.integers(0, 30, (4, 3))
        rows[0, 0] = rng.choice([0, LARGEST - 3])
        predicted = rng.integers(0, 30, (4, 3))
        joins = rng.multinomial(most, rng.dirichlet(np.full(12, 0.1))).reshape(4, 3)
        before, after = (
            largest_error(np.minimum(counts, LARGEST) - predicted, ordered) for counts in (rows, rows + joins)
        )
        assert abs(after - before) <= most
        moved = max(moved, abs(after - before))
    assert moved == most


def test_the_number_of_sums_is_that_of_all_choices_but_on_the_longest_ordered_axis() -> None:
    assert searched([5, 4, 3], [True, False, True]) == 5 * 5 * 6
