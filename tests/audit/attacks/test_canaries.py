"""The bound from one run holds for randomised response, where it is tight."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.audit.attacks.canaries import one_run


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_guesses_about_randomised_responses_show_nearly_their_epsilon(epsilon: float) -> None:
    right = np.random.default_rng(3).binomial(100_000, math.exp(epsilon) / (1 + math.exp(epsilon)))
    assert 0.9 * epsilon < one_run(int(right), 100_000) <= epsilon


def test_no_guess_shows_nothing_and_luck_shows_little() -> None:
    assert one_run(0, 0) == 0
    assert one_run(3, 3) == 0
    assert one_run(40, 40) < 1
