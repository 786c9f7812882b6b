"""Test simulations: noise as theory predicts, and malicious reports within their bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import noise
from discreet.errors import ParameterError
from discreet.local.collection.collection import Collection
from discreet.local.design.poisoning import poisoning
from discreet.local.design.simulate import SHAPES, population, simulate
from tests.local.collections_of import WINDOW, colours


def of(size: int, **terms: Any) -> Collection:
    return Collection.design("numbers", domain=size, window=WINDOW, **({"epsilon": 1} | terms))


@given(st.sampled_from(SHAPES), st.integers(1, 300), st.integers(1, 10**6))
def test_a_population_has_as_many_as_it_should(shape: str, domain: int, n: int) -> None:
    counts = population(shape, domain, n)
    assert counts.sum() == n
    assert counts.min() >= 0
    assert (np.diff(counts) <= 1).all()


@pytest.mark.parametrize("protocol", [None, "grr", "olh", "oue", "hadamard"])
def test_errors_are_those_of_theory_and_intervals_hold(protocol: str | None) -> None:
    """The mean of 64 squared errors is within 0.4 and 2.2 of theory (fails once in 10⁷), and 64 intervals of 99 %
    leave out no more than 8 (once in 10⁶)."""
    with noise.deterministic(11):
        rehearsed = simulate(of(64, protocol=protocol), population("zipf", 64, 20_000))
    assert rehearsed.truth.sum() == pytest.approx(1)
    assert 0.4 < (rehearsed.error / rehearsed.expected_error) ** 2 < 2.2
    assert rehearsed.covered("0.99") >= 56 / 64
    assert rehearsed.consistent_error is not None
    assert rehearsed.consistent_error < rehearsed.error


def test_a_mean_is_rehearsed_as_a_share_of_its_range() -> None:
    with noise.deterministic(5):
        rehearsed = simulate(of(11, protocol="duchi"), [0] * 10 + [20_000])
    assert rehearsed.truth.tolist() == [1.0]
    assert abs(rehearsed.estimate.values[0] - 1) < 6 * rehearsed.estimate.standard_errors[0]
    assert rehearsed.consistent_error is None


@pytest.mark.parametrize("protocol", ["grr", "projective", "oue", "subset"])
def test_malicious_devices_move_what_they_agree_on_and_no_further_than_their_bound(protocol: str) -> None:
    survey, counts = of(20, protocol=protocol, epsilon=2), population("uniform", 20, 40_000)
    with noise.deterministic(8):
        lied = simulate(survey, counts, malicious="0.05", target=7)
    bound = poisoning(survey.randomiser, lied.estimate, "0.05")
    moved = lied.estimate.values[7] - 0.05
    noise_at_most = 6 * lied.estimate.standard_errors[7]
    assert lied.malicious == bound.malicious == 2000
    assert lied.favoured == "7"
    assert moved <= bound.shift + noise_at_most
    p, q = survey.randomiser.support  # type: ignore[attr-defined]
    gained = 0.05 * float((1 - q) / (p - q)) - 0.05 * 0.05  # from an unknown report to a certain one
    assert moved == pytest.approx(gained, abs=noise_at_most)


def test_a_picture_shows_truth_and_estimate_of_the_most_frequent() -> None:
    with noise.deterministic(2):
        drawn = simulate(of(60), population("zipf", 60, 1000), malicious="0.01").plot(most=10).to_dict()
    (rows,) = list(drawn["datasets"].values()) if "datasets" in drawn else [drawn["data"]["values"]]
    assert len(rows) == 11  # and the one that malicious devices agreed on
    assert {"truth", "estimate", "low", "high"} < set(rows[0])
    assert "10 of them malicious, in favour of 47" in drawn["title"]["subtitle"][0]


def test_populations_that_nobody_lives_in_are_refused() -> None:
    survey = colours()
    for counts in ([1, 2, 3], [0, 0, 0, 0], [5, -1, 3, 3], [0.5, 0.5, 1, 1]):
        with pytest.raises(ParameterError, match="count for each of the 4"):
            simulate(survey, counts)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="share of malicious devices must be"):
        simulate(survey, [1, 1, 1, 1], malicious=1)
    with pytest.raises(ParameterError, match="target"):
        simulate(survey, [1, 1, 1, 1], malicious="0.5", target=4)
    with pytest.raises(ParameterError, match="zipf"):
        population("normal", 3, 3)
