"""The fit says how far rows are from the answers, and warns if that is too far."""

from __future__ import annotations

import numpy as np

from discreet.synth.marginals import Domain, Evidence, Measurement, estimate
from discreet.synth.rows.residual import Fit, fit_of
from discreet.synth.sample import sample
from tests.synth.tables import tied


def test_rows_that_follow_the_answers_are_near_and_rows_that_do_not_are_reported() -> None:
    domain, codes = tied(4000)
    model = estimate(
        Evidence(domain, tuple(Measurement(s, domain.count(codes, s).astype(float), 9.0) for s in domain.sets(2)))
    )
    rows = sample(model, 4000)
    near = fit_of(rows, model)
    assert not near.worse
    counted = [
        np.abs(domain.count(rows, s) / 4000 - model.marginal(s) / model.marginal(s).sum()).sum()
        for s in domain.sets(3)
    ]
    assert abs(near.distance - np.mean(counted)) < 1e-3
    apart = np.stack([np.roll(rows[:, c], 700 * c) for c in range(5)], axis=1)
    far = fit_of(apart, model)
    assert far.worse
    assert far.distance > 5 * near.distance
    assert "worse than the answers" in str(far)
    assert "worse" not in str(near)


def test_one_column_has_a_fit_too() -> None:
    model = estimate(Evidence(Domain(("a",), (3,)), (Measurement((0,), np.array([10.0, 30.0, 60.0]), 1.0),)))
    fit = fit_of(sample(model, 100), model)
    assert (fit.sets, fit.ways, fit.worse) == (1, 1, False)


def test_rows_are_worse_where_they_are_expected_to_be_half_as_much_again_off() -> None:
    """√(1 + 1.11²) is 1.494: rows at that distance were 1.06 and 1.21 times as far off as answers."""
    assert not Fit(300, 3, distance=0.111, expected=0.1, sampled=0.05).worse
    assert Fit(300, 3, distance=0.113, expected=0.1, sampled=0.05).worse
    assert not Fit(300, 3, distance=0.113, expected=0.05, sampled=0.12).worse
    assert not Fit(1, 1, distance=0.0, expected=0.0, sampled=0.0).worse
