"""Evidence: measurements joined by weighted least squares."""

from __future__ import annotations

import numpy as np

from discreet.synth.marginals import Domain, Evidence, Measurement

DOMAIN = Domain(("a", "b", "c"), (2, 3, 4))


def test_measurements_of_one_marginal_are_joined_by_the_inverse_of_their_variance() -> None:
    once = Measurement((0,), np.array([10.0, 20.0]), 1.0)
    again = Measurement((0,), np.array([14.0, 24.0]), 3.0)
    joined = Evidence(DOMAIN, (once, again)).about((0,))
    assert np.allclose(joined.values, [11.0, 21.0])
    assert abs(joined.variance - 0.75) < 1e-12


def test_a_larger_marginal_says_less_about_a_smaller_one() -> None:
    pair = Measurement((0, 1), np.ones((2, 3)), 2.0)
    assert Evidence(DOMAIN, (pair,)).about((0,)).variance == 6.0
    assert Evidence(DOMAIN, (pair,)).about((1,)).variance == 4.0
    assert Evidence(DOMAIN, (pair,)).total().variance == 12.0
    assert Evidence(DOMAIN, (pair,)).about((2,)).variance == float("inf")


def test_gathering_gives_the_same_as_asking_for_every_set() -> None:
    rng = np.random.default_rng(0)
    measured = [
        Measurement(c, rng.random(DOMAIN.shape(c)), 1.0 + len(c)) for c in ((0, 1, 2), (0, 1), (1,), (1, 2))
    ]
    evidence = Evidence(DOMAIN, tuple(measured))
    for size in (1, 2, 3):
        for columns, found in evidence.gathered(size).items():
            asked = evidence.about(columns)
            assert np.allclose(found.values, asked.values)
            assert np.isclose(found.variance, asked.variance)
    assert evidence.sets(2) == [(0, 1), (0, 2), (1, 2)]
    assert evidence.about((0, 1), exactly=True).variance == 3.0


def test_the_combined_estimate_has_its_stated_variance() -> None:
    """The mean square of 4,000 numbers is within 25 % of the variance except with probability below 1e-9."""
    rng = np.random.default_rng(1)
    draws = []
    for _ in range(2000):
        pair = Measurement((0, 1), rng.normal(0, 3.0, (2, 3)), 9.0)
        single = Measurement((0,), rng.normal(0, 2.0, 2), 4.0)
        joined = Evidence(DOMAIN, (pair, single)).about((0,))
        draws.append(joined.values)
    assert abs(np.square(draws).mean() / joined.variance - 1) < 0.25


def test_bins_of_unequal_width_are_weighted_by_their_precision() -> None:
    """With the harmonic mean for both bins their sum would have a variance of 4 instead of 100."""
    wide = Measurement((0,), np.array([10.0, 40.0]), 50.0, np.array([1.0, 99.0]))
    pair = Measurement((0, 1), np.ones((2, 3)), 3.0)
    evidence = Evidence(DOMAIN, (wide, pair))
    single, total = evidence.about((0,)), evidence.total()
    assert np.allclose(single.variances, [1 / (1 + 1 / 9), 1 / (1 / 99 + 1 / 9)])
    assert np.allclose(single.values, [(10 + 3 / 9) / (1 + 1 / 9), (40 / 99 + 3 / 9) / (1 / 99 + 1 / 9)])
    assert np.isclose(total.variance, 1 / (1 / 100 + 1 / 18))
    assert np.isclose(float(total.values), (50 / 100 + 6 / 18) / (1 / 100 + 1 / 18))
    assert Evidence(DOMAIN, (wide,)).total().variance == 100.0
    (gathered,) = (m for columns, m in evidence.gathered(1).items() if columns == (0,))
    assert np.allclose(gathered.variances, single.variances)
    assert np.allclose(gathered.values, single.values)
