"""The auditor on the private methods of a holdout: they keep their claim, and half of it is found out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.audit.attacks import exact
from discreet.audit.battery import check_mechanism
from discreet.audit.blackbox import blackbox
from discreet.audit.museum.holdouts import FORGETFUL_RUN
from discreet.audit.shipped.validity import EPSILON, PAIRS, compared, holdouts
from discreet.privacy.losses import Pure, ZeroConcentrated


@pytest.mark.parametrize("name", sorted(holdouts()))
def test_the_private_methods_keep_their_claim(name: str) -> None:
    assert not check_mechanism(holdouts()[name], samples=2_000).caught


def test_thresholdout_loses_nearly_what_one_run_may_and_no_more_than_all() -> None:
    """Exactly: an alarm of one side costs ε₀ for the row that left, and ε₀ for the one that came."""
    subject = holdouts()["Thresholdout(epsilon=16, overfits=1)"]
    assert not exact.attack(subject, unexplored="2e-3").caught
    assert exact.attack(replace(subject, loss=Pure("1/2")), unexplored="2e-3").caught


def test_the_auditor_has_the_power_to_see_gaussian_answers_with_too_little_noise() -> None:
    subject = holdouts()["GaussianNoise(rows=4, queries=2)"]
    claimed = subject.loss
    assert isinstance(claimed, ZeroConcentrated)
    weaker = replace(subject, loss=ZeroConcentrated(claimed.rho / 100))
    assert blackbox.attack(weaker, samples=15_000).caught


def test_the_pairs_differ_in_one_row() -> None:
    assert all(abs(a - b) <= 1 for one, other in PAIRS for a, b in zip(one, other, strict=True))
    assert compared((3, 3)) is not None
    assert EPSILON > 0


def test_a_holdout_that_forgets_is_caught_and_one_that_remembers_is_not() -> None:
    assert FORGETFUL_RUN.broken().caught
    assert not FORGETFUL_RUN.mended().caught
