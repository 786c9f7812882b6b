"""Noisy margins: what one person moves, how often the slack fails, and certificates that say what they are."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.examples import WHOLE, Batch
from discreet.kernel.gaussian_budget import Unit
from discreet.learn.boosting.cells import CELLS
from discreet.learn.boosting.certificate import Certificate
from discreet.learn.boosting.noisy_margins import BINS, NoisyMargins, released
from discreet.mechanisms import Gaussian, Laplace
from discreet.noise.testing import scripted
from tests.learn.boosting.people import PERSONS, ROWS, SMALL, Row, examples

TABLE = np.random.default_rng(0).uniform(-1.5, 1.5, SMALL.size)


def margin(batch: Batch) -> Any:
    return TABLE[batch.codes[CELLS]].sum(axis=1) / 2


def exact(persons: list[list[Row]]) -> Any:
    with scripted(lambda _: 0):
        counts, _ = released(examples(persons), Laplace(1, WHOLE), margin)
    return np.array(counts)


@settings(max_examples=60, deadline=None)
@given(PERSONS, st.lists(ROWS, min_size=1, max_size=5))
def test_one_person_moves_the_histogram_by_one_person_at_most(others: list[list[Row]], person: list[Row]) -> None:
    assert np.abs(exact([*others, person]) - exact(others)).sum() <= WHOLE


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_the_slack_covers_the_noise(law: str) -> None:
    """At alpha = 1e-10, for every edge at once: 400 runs have a false alarm in 4e-8 of all cases."""
    persons: list[list[Row]] = [[(i % 8, i % 3, i % 2)] for i in range(300)]
    truth = np.cumsum(exact(persons)) / WHOLE
    rows = examples(persons)
    mechanism: Gaussian | Laplace = Unit(WHOLE).marginal(Fraction(1, 10))
    if law == "laplace":
        mechanism = Laplace.for_epsilon(1, WHOLE)
    spread = mechanism.variance if isinstance(mechanism, Gaussian) else mechanism.scale
    for _ in range(200):
        noisy = NoisyMargins("test", tuple(released(rows, mechanism, margin)[0]), law, spread)
        assert np.all(noisy.shares(1e-10) >= truth / 300 - 1e-12)
        assert noisy.persons(1e-10) <= 300


def test_without_noise_the_shares_are_those_of_the_rows() -> None:
    persons: list[list[Row]] = [[(i % 8, i % 3, i % 2)] for i in range(300)]
    noisy = NoisyMargins("test", tuple(exact(persons).tolist()), "gaussian", Fraction(1))
    rows = margin_of(persons)
    below = np.array([(rows < edge).mean() for edge in noisy.edges[:-1]])
    assert noisy.shares(0.05)[:-1] == pytest.approx(below, abs=1e-2)
    assert noisy.persons(0.05) in (299, 300)


def margin_of(persons: list[list[Row]]) -> Any:
    table = np.array([row for person in persons for row in person])
    cells = SMALL.place({"age": table[:, 0], "kind": table[:, 1]})
    return TABLE[cells].sum(axis=1) / 2


def test_bounds_from_few_persons_say_that_they_are_vacuous() -> None:
    tiny = NoisyMargins("test", (0,) * BINS, "gaussian", Fraction(10**12))
    [bound] = tiny.bounds(100)
    assert bound.vacuous
    assert "noise hides" in str(bound)
    assert "vacuous" in str(Certificate((bound,), private=True, about="a vote"))


def test_many_persons_with_large_margins_have_a_certificate() -> None:
    counts = (0,) * (BINS - 4) + (WHOLE * 50_000,) * 4
    bounds = NoisyMargins("test", counts, "gaussian", Fraction(WHOLE**2 * 100)).bounds(100, weights=[1, 2, 3])
    assert all(bound.value < 0.1 for bound in bounds)
    assert bounds[0].value < bounds[1].value
    assert all(bound.alpha == pytest.approx(0.05) for bound in bounds)


def test_noisy_margins_and_certificates_say_whether_they_may_leave() -> None:
    made = NoisyMargins("a vote", (WHOLE * 10,) * BINS, "laplace", Fraction(WHOLE))
    assert made.private
    assert "private, and paid for" in str(made)
    assert "Private" in made.plot().to_dict()["title"]["subtitle"]
    bounds = made.bounds(10)
    assert "Private:" in str(Certificate(bounds, private=True, about="it"))
    raw = Certificate(bounds, private=False, about="it")
    assert "Not private" in str(raw)
    assert 'class="test">Not private' in raw._repr_html_()
