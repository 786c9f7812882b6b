"""Test bitmaps: one set has one string of bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.local.primitives.bitmaps import blocks, count_bits, pack_bits, tidy


@given(st.lists(st.lists(st.booleans(), min_size=13, max_size=13), min_size=1, max_size=600))
def test_bits_are_counted_as_they_were_packed(rows: list[list[bool]]) -> None:
    bits = np.array(rows)
    packed = pack_bits(bits)
    assert packed.shape == (len(rows), 2)
    assert tidy(packed, 13).all()
    np.testing.assert_array_equal(count_bits(packed, 13), bits.sum(0))


def test_sums_of_many_bits_do_not_overflow() -> None:
    assert count_bits(np.full((1000, 1), 255, np.uint8), 8).tolist() == [1000] * 8


@pytest.mark.parametrize(("last", "fits"), [(0b11111, True), (0b100000, False), (0xFF, False)])
def test_bits_beyond_the_domain_are_seen(last: int, fits: bool) -> None:
    assert tidy(np.array([[0, last]], np.uint8), 13).tolist() == [fits]
    assert tidy(np.array([[0, last]], np.uint8), 16).all()


def test_blocks_are_all_rows_and_none_is_empty() -> None:
    assert [(s.start, s.stop) for s in blocks(10, 3, cells=12)] == [(0, 4), (4, 8), (8, 10)]
    assert [(s.start, s.stop) for s in blocks(2, 100, cells=12)] == [(0, 1), (1, 2)]
