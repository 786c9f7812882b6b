"""Predictions of a model: maximum entropy, measured triples, and typical errors."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.synth.marginals import Domain, Evidence, Measurement, estimate
from tests.synth.marginals.test_estimate import chain, distance, measured


def test_columns_independent_given_a_third_are_recovered_from_pairs() -> None:
    domain, codes = chain()
    model = estimate(measured(domain, codes, [(0, 1), (1, 2), (0, 2)], 5.0))
    assert distance(domain, codes, model.marginal((0, 1, 2)), (0, 1, 2)) < 0.07


def test_what_only_three_columns_show_is_known_if_they_were_measured_together() -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, (20_000, 3))
    codes[:, 2] = codes[:, 0] ^ codes[:, 1]
    domain = Domain(("a", "b", "c"), (2, 2, 2))
    pairs = domain.sets(2)
    assert (
        distance(domain, codes, estimate(measured(domain, codes, pairs, 20.0)).marginal((0, 1, 2)), (0, 1, 2))
        > 0.9
    )
    model = estimate(measured(domain, codes, [*pairs, (0, 1, 2)], 20.0))
    assert distance(domain, codes, model.marginal((0, 1, 2)), (0, 1, 2)) < 0.02


def test_larger_marginals_keep_measured_triples() -> None:
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 2, (20_000, 4))
    codes[:, 2] = codes[:, 0] ^ codes[:, 1]
    domain = Domain(("a", "b", "c", "d"), (2, 2, 2, 2))
    model = estimate(measured(domain, codes, [(0, 1, 2), (2, 3)], 20.0))
    assert distance(domain, codes, model.marginal((0, 1, 2, 3)), (0, 1, 2, 3)) < 0.05


def test_the_typical_error_is_of_the_size_of_the_error() -> None:
    domain, codes = chain()
    model = estimate(measured(domain, codes, [(0, 1), (1, 2), (2, 3)], 40.0))
    off = np.abs(model.marginal((0, 1)) - domain.count(codes, (0, 1)))
    typical = model.deviation((0, 1))
    assert off.mean() < 2 * typical.mean() + 1
    assert typical.max() <= 41


def test_a_marginal_of_too_many_cells_is_refused() -> None:
    domain = Domain(tuple("abc"), (1000, 1000, 1000))
    nothing = Evidence(domain, tuple(Measurement((c,), np.ones(1000), 1.0) for c in range(3)))
    with pytest.raises(ParameterError, match=r"1,000,000,000 cells.*Take fewer columns"):
        estimate(nothing).marginal((0, 1, 2))
