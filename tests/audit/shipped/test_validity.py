"""The auditor on the private methods of a holdout: they keep their claim, and half of it is found out."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from discreet.audit.attacks import exact
from discreet.audit.attacks.draw_laws import weaker
from discreet.audit.battery import check_mechanism
from discreet.audit.blackbox import blackbox
from discreet.audit.inputs.subject import Subject
from discreet.audit.museum.holdouts import FORGETFUL_RUN
from discreet.audit.replay import transcript
from discreet.audit.report.verdict import Verdict
from discreet.audit.shipped.validity import AIMED, EPSILON, PAIRS, compared, holdouts
from discreet.privacy.losses import Pure, ZeroConcentrated
from discreet.validity.theorems.sparse_answers import thresholdout

RUN, OVERFIT = (holdouts()[f"Thresholdout({what})"] for what in ("epsilon=6.2, one run", "epsilon=8, one overfit"))


def attacked(subject: Subject) -> Verdict:
    """Return the verdict of the attack by pieces."""
    assert subject.attacks is not None
    return subject.attacks["piecewise"](subject)


def quick() -> list[Any]:
    """Return the names of the subjects; the overfit, whose attack by pieces takes a minute, is slow."""
    return [
        pytest.param(name, marks=[pytest.mark.slow] if "overfit" in name else []) for name in sorted(holdouts())
    ]


@pytest.mark.parametrize("name", quick())
def test_the_private_methods_keep_their_claim(name: str) -> None:
    assert not check_mechanism(holdouts()[name], samples=2_000).caught


def test_thresholdout_is_held_to_no_more_than_what_is_charged() -> None:
    """A run is charged 2ε₀ where a row is replaced, and one overfit is two runs."""
    calibrated = thresholdout(1000, 10, 1, 0.05)
    assert calibrated is not None
    run, overfit = (loss.epsilon for loss in (RUN.loss, OVERFIT.loss) if isinstance(loss, Pure))
    assert calibrated.epsilon == 2 * calibrated.runs * Fraction(str(calibrated.watch.epsilon))
    assert run <= 2 * EPSILON
    assert overfit <= 2 * calibrated.runs * EPSILON


@pytest.mark.parametrize(
    "subject",
    [pytest.param(RUN, id="one run"), pytest.param(OVERFIT, id="one overfit", marks=pytest.mark.slow)],
)
def test_thresholdout_loses_all_that_it_may_and_no_more(subject: Subject) -> None:
    verdict = attacked(subject)
    assert not verdict.caught
    assert not verdict.undecided
    assert verdict.found is not None
    assert verdict.claimed is not None
    assert verdict.found > 0.98 * verdict.claimed
    with weaker(Fraction("1.1")):
        assert attacked(subject).caught


def test_an_alarm_of_the_threshold_test_that_tells_its_number_keeps_the_claim() -> None:
    assert not exact.attack(OVERFIT, unexplored="2e-3").caught
    assert exact.attack(replace(OVERFIT, loss=Pure("1/2")), unexplored="2e-3").caught


def test_the_auditor_has_the_power_to_see_gaussian_answers_with_too_little_noise() -> None:
    subject = holdouts()["GaussianNoise(rows=4, queries=2)"]
    claimed = subject.loss
    assert isinstance(claimed, ZeroConcentrated)
    smaller = replace(subject, loss=ZeroConcentrated(claimed.rho / 100))
    assert blackbox.attack(smaller, samples=15_000).caught
    assert not transcript.attack(subject).caught
    assert transcript.attack(replace(subject, loss=ZeroConcentrated(claimed.rho / Fraction("1.02")))).caught


def test_the_pairs_differ_in_one_row() -> None:
    assert all(abs(a - b) <= 1 for one, other in [*PAIRS, AIMED] for a, b in zip(one, other, strict=True))
    assert compared((3, 3)) is not None
    assert EPSILON > 0


def test_a_holdout_that_forgets_is_caught_and_one_that_remembers_is_not() -> None:
    assert FORGETFUL_RUN.broken().caught
    assert not FORGETFUL_RUN.mended().caught
