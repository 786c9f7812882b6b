"""Test Apple's sketches: the loss from the bytes, estimates unbiased over hashes, their variance."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet import noise
from discreet.errors import ParameterError
from discreet.local.primitives.hash_family import fingerprints, of_codes, places, rows
from discreet.local.primitives.randomness import SCALE
from discreet.local.protocols.strings.count_mean_sketch import CMS, HCMS, Sketch
from discreet.local.server.estimate import Estimate, Floats
from tests.local.protocols.exactly import (
    estimates_of,
    reports_are_well_kept,
    the_code_has_the_law,
    the_loss_is_the_worst_ratio,
)

SKETCHES: list[type[CMS] | type[HCMS]] = [CMS, HCMS]


@pytest.mark.parametrize("kind", SKETCHES)
@pytest.mark.parametrize("epsilon", ["1", "4"])
def test_the_loss_is_what_the_bytes_show(kind: type[CMS], epsilon: str) -> None:
    sketch = kind.for_epsilon(5, epsilon, rows=2, columns=4)
    the_loss_is_the_worst_ratio(sketch, range(5))
    the_code_has_the_law(sketch, (0, 4))
    assert float(epsilon) - 1e-9 < sketch.loss.epsilon <= Fraction(epsilon)
    reports_are_well_kept(sketch, np.arange(5))


@pytest.mark.parametrize("kind", SKETCHES)
def test_one_report_says_on_average_where_its_item_is_in_the_rows(kind: type[CMS]) -> None:
    """Exactly, for the hashes at hand: m/(m − 1)·(share of rows that send both to one place − 1/m)."""
    sketch = kind.for_epsilon(6, 1, rows=3, columns=4)
    where = places(rows(0, 3)[:, None, :], of_codes(6)[None, :, :], 4)
    for value in range(6):
        mean = sum(float(p) * estimates_of(sketch, seen) for seen, p in sketch.law(value).items())
        together = (where == where[:, [value]]).mean(0)
        assert mean == pytest.approx(4 / 3 * (together - 1 / 4), abs=1e-9)


def estimated(sketch: Sketch, values: np.ndarray, seed: int) -> Estimate:
    with noise.deterministic(seed):
        reports = sketch.encode(values)
    state = sketch.state()
    sketch.add(state, reports)
    return sketch.estimate(state, len(values))


@pytest.mark.parametrize("kind", SKETCHES)
def test_errors_over_many_hashes_are_those_stated(kind: type[CMS]) -> None:
    """40 seeds × 50 values: the mean of z² is 1 within 6/√1000 or so; collisions within a seed are shared."""
    weights = 1 / np.arange(1, 51) ** 1.1
    values = np.repeat(np.arange(50), np.rint(4000 * weights / weights.sum()).astype(np.int64))
    truth = np.bincount(values, minlength=50) / len(values)
    z: list[Floats] = []
    for seed in range(40):
        found = estimated(kind.for_epsilon(50, 2, rows=8, columns=32, seed=seed), values, seed)
        z.append((found.values - truth) / found.standard_errors)
    assert np.mean(np.square(z)) == pytest.approx(1, abs=0.2)
    assert abs(np.mean(z)) < 6 / np.sqrt(2000)


@pytest.mark.parametrize("kind", SKETCHES)
def test_collisions_are_part_of_the_stated_error(kind: type[CMS]) -> None:
    """All hold one value, in a sketch of one row: noise alone would claim a tenth of the error that there is."""
    sketch = kind.for_epsilon(30, 8, rows=1, columns=8, seed=3)
    found = estimated(sketch, np.zeros(20_000, np.int64), 1)
    assert np.abs(found.values[1:]).max() > 0.1
    assert np.abs(found.values[1:] / found.standard_errors[1:]).max() < 5


@pytest.mark.parametrize("kind", SKETCHES)
def test_collisions_are_read_off_the_sketch(kind: type[CMS]) -> None:
    """200 values, hardly any noise: S is n + n(n − 1)Σf²/k. Six deviations of the mean of 8 are 12 %."""
    values, n, m = np.arange(20_000) % 200, 20_000, 64
    sketches = [kind.for_epsilon(200, 20, rows=2, columns=m, seed=seed) for seed in range(8)]
    stated = np.mean([estimated(sketch, values, 1).standard_errors for sketch in sketches])
    together = n + n * (n - 1) / 200 / 2
    noisy = 0 if kind is CMS else 1 - 1 / 200 - (1 - 1 / 200) / m
    wanted = m / (m - 1) * np.sqrt((noisy + (1 / m) * (1 - 1 / m) * together / n) / n)
    assert stated == pytest.approx(wanted, rel=0.12)


def test_items_that_nobody_listed_are_counted_too() -> None:
    """6 standard errors: false alarm below 2e-9 each."""
    sketch = HCMS.for_epsilon(2, 4, rows=64, columns=256)
    items = fingerprints([b"wombat", b"quokka", b"numbat"])
    with noise.deterministic(2):
        reports = sketch.encode_items(items[np.repeat([0, 1], [30_000, 10_000])])
    state = sketch.state()
    sketch.add(state, reports)
    found = sketch.frequencies(state, 40_000, items)
    assert (np.abs(found.values - [0.75, 0.25, 0]) < 6 * found.standard_errors).all()
    assert found.standard_errors.max() < 0.02
    assert "hashes" in found.kind


@pytest.mark.parametrize("kind", SKETCHES)
def test_influence_is_the_widest_that_two_reports_differ(kind: type[CMS]) -> None:
    sketch = kind.for_epsilon(3, 1, rows=1, columns=4)
    seen = np.array([estimates_of(sketch, payload) for payload in sketch.law(0)])
    assert sketch.influence == pytest.approx(np.ptp(seen, axis=0).max())


def test_rows_that_do_not_exist_and_bits_beyond_are_no_reports() -> None:
    cms, hcms = CMS.for_epsilon(3, 1, rows=3, columns=4), HCMS.for_epsilon(3, 1, rows=3, columns=4)
    assert cms.valid(np.array([[2, 0, 15], [3, 0, 15], [0, 0, 16]], np.uint8)).tolist() == [True, False, False]
    assert hcms.valid(np.array([[23], [24]], np.uint8)).tolist() == [True, False]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"rows": 0}, "rows"),
        ({"columns": 1}, "columns"),
        ({"flip": 0}, "flip"),
        ({"seed": 2**63}, "seed"),
        ({"columns": 6}, "power of two"),
    ],
)
def test_sketches_without_sense_are_refused(wrong: dict[str, int], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        HCMS(**{"domain": 4, "rows": 2, "columns": 8, "flip": SCALE // 4, "seed": 0, **wrong})


def test_a_law_that_cannot_be_listed_is_refused() -> None:
    with pytest.raises(ParameterError, match="too long"):
        CMS.for_epsilon(4, 1).law(0)
