"""Test randomised response: Warner's survey as in the lecture notes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.local.protocols.frequency.grr import GRR, warner


def test_the_students_of_the_notes_give_away_ln_11_9() -> None:
    survey = warner("0.55")
    assert float(survey.loss.epsilon) == pytest.approx(math.log(11 / 9), abs=2e-12)
    yes = np.array([[0], [1], [1], [1]], np.uint8)
    state = survey.state()
    survey.add(state, yes)
    assert survey.estimate(state, 4).values[1] == pytest.approx(10 * (0.75 - 0.45))


def test_the_variance_of_a_survey_is_warners() -> None:
    """e/(e − 1)², whatever is held, as p + q = 1."""
    survey, e = GRR.for_epsilon(2, 1), math.e
    assert survey.variance(0.3) == pytest.approx(e / (e - 1) ** 2)


@pytest.mark.parametrize(("domain", "stated"), [(128, 43.6), (1024, 347.0)])
def test_the_variance_grows_with_the_domain(domain: int, stated: float) -> None:
    assert GRR.for_epsilon(domain, 1).variance(0) == pytest.approx(stated, rel=2e-3)


@pytest.mark.parametrize("truth", [0, "0.5", 1, "0.3", "1.2"])
def test_a_survey_that_hides_nothing_or_all_is_refused(truth: str) -> None:
    with pytest.raises(ParameterError, match="above 1/2 and below 1"):
        warner(truth)
