"""Bins from the noisy one-way marginal."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.query.bins import Axis
from discreet.schema import Category, Integer, Real
from discreet.schema.metadata import TableMetadata
from discreet.synth.adaptive_bins import BINS, Cut, _equal, coarse, fine_axes
from discreet.synth.marginals import Measurement

PEOPLE = TableMetadata(
    "people",
    {"age": Integer(0, 110), "pay": Real(0, 100_000, 1), "sex": Category(["f", "m"], missing="f")},
    person="id",
)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=80), st.integers(1, 20))
def test_bins_begin_in_order_and_are_not_too_many(masses: list[float], count: int) -> None:
    starts = _equal(np.array(masses), count)
    assert starts[0] == 0
    assert starts == sorted(set(starts))
    assert len(starts) <= count


def test_numbers_of_many_levels_are_measured_finely_and_labels_as_they_are() -> None:
    fine = fine_axes(PEOPLE, ["age", "pay", "sex"], None)
    assert [len(axis.starts) for axis in fine] == [111, 512, 2]
    assert [axis.nullable for axis in fine] == [True, True, False]


def test_a_value_that_many_share_has_a_bin_of_its_own_and_sums_are_kept() -> None:
    fine = fine_axes(PEOPLE, ["pay"], None)[0]
    values = np.r_[5000.0, np.linspace(40, 0, 511), 300.0]
    axis, measured = coarse(fine, Measurement((0,), values, 25.0), PEOPLE, keep=False)
    assert isinstance(axis, Cut)
    assert axis.starts[:2] == (0, fine.starts[1])
    assert len(axis.starts) <= BINS
    assert np.isclose(measured.values.sum(), values.sum())
    assert measured.values[0] == 5000 and measured.values[-1] == 300  # noqa: PT018
    assert measured.each is not None
    assert measured.each[0] == 25.0
    assert np.isclose(measured.each.sum(), 25.0 * 513)
    assert np.isclose(measured.variance, measured.each.mean())


def test_means_over_a_bin_weigh_cells_by_their_mass() -> None:
    axis = Cut("x", "c0", 4, True, (0, 2), cells=(0, 1, 2, 3), masses=(3.0, 1.0, 0.0, 0.0))
    found = axis.averaged(np.array([0.0, 1.0, 1.0, 0.0, 7.0]), 0)
    assert np.allclose(found, [0.25, 0.5, 7.0], atol=1e-6)
    plain = Axis("x", "c0", 4, True, (0, 2))
    assert np.allclose(plain.averaged(np.array([0.0, 1.0, 1.0, 0.0, 7.0]), 0), [0.5, 0.5, 7.0])
