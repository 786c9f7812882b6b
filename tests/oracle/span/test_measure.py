"""Scans count columns together: every set once, few scans, and sums that are those of the whole table."""

from __future__ import annotations

import math
from itertools import chain, combinations

import numpy as np
import pytest

from discreet.mechanisms.exact import LIMIT
from discreet.oracle.exact_sums import _marginals
from discreet.oracle.span.design import Columns
from discreet.oracle.span.measure import MOST_TOGETHER, scans


def up_to(columns: int, most: int) -> list[Columns]:
    return [*chain.from_iterable(combinations(range(columns), k) for k in range(most + 1))]


@pytest.mark.parametrize(
    ("sizes", "most", "number"),
    [
        ([2] * 40, 3, 60),
        ([2] * 40, 2, 15),
        ([5] * 16 + [2] * 16 + [10], 2, 30),
        ([300, 200, 100], 3, 2),
        ([7], 1, 1),
    ],
)
def test_every_set_is_computed_from_one_of_few_scans(sizes: list[int], most: int, number: int) -> None:
    """A scan reads all rows. Forty yes-no columns took 2,600 when each was filled up with the same columns."""
    wanted = up_to(len(sizes), most)
    found = [*scans(sizes, wanted)]
    assert sorted(chain(*(sets for _, sets in found))) == sorted(wanted)
    assert not [*scans(sizes, [])]
    assert len(found) <= number
    for places, sets in found:
        assert all(set(columns) <= set(places) for columns in sets)
        assert math.prod(sizes[i] for i in places) <= MOST_TOGETHER or places in sets


def test_the_sets_of_a_scan_have_the_sums_of_the_whole_table_and_are_clamped_as_it_is() -> None:
    whole = np.random.default_rng(1).integers(0, 1000, (2, 3, 4, 2))
    whole[0, 0, 0, :] = LIMIT
    places = (1, 4, 6, 9)
    wanted = [tuple(places[axis] for axis in axes) for axes in up_to(4, 4)]
    found = dict(_marginals(whole, places, wanted))
    assert {*found} == {*wanted}
    exact = whole.astype(object)
    for columns, table in found.items():
        others = tuple(axis for axis, place in enumerate(places) if place not in columns)
        summed = np.array(exact.sum(axis=others) if others else exact, object)
        assert np.array_equal(table, np.array(np.minimum(summed, LIMIT), np.int64))
