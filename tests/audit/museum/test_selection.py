"""Broken ways to choose a candidate are caught, by as much as theory says; the mended ones are not."""

from __future__ import annotations

import math

import pytest

from discreet import privacy
from discreet.audit.attacks import exact
from discreet.audit.inputs.subject import Subject
from discreet.audit.museum import selection
from discreet.audit.museum.selection import TIMES
from discreet.mechanisms import Exponential


def test_the_literal_exponential_mechanism_loses_nearly_twice_its_epsilon() -> None:
    found = selection.LITERAL_EXPONENTIAL.broken().found
    assert found == pytest.approx(math.log((1 + math.exp(4)) / (1 + math.exp(2))), abs=1e-4)


def test_five_flips_lose_five_epsilons_where_four_are_charged() -> None:
    """With probability 2⁻⁵ the worse of two tied candidates is chosen every time: δ(4.5) is most of that."""
    charged = privacy.Exponential(1) * TIMES
    verdict = selection.FLIP_AS_EXPONENTIAL.broken()
    assert verdict.found == pytest.approx(TIMES, abs=0.01)
    assert verdict.claimed == pytest.approx(privacy.epsilon(charged, verdict.delta))
    worse, lost = 1 / 2, math.exp(-1) / 2
    assert worse**TIMES - math.exp(4.5) * lost**TIMES > 1000 * privacy.delta(charged, "4.5")


def test_the_exponential_mechanism_itself_is_charged_rightly() -> None:
    """The flips were caught, not the accounting of bounded range."""
    honest = Subject(
        name="exponential mechanism",
        release=lambda scores: selection.repeatedly(scores, Exponential(epsilon=1)),
        loss=privacy.Exponential(1) * TIMES,
        pairs=[((0, 0), (1, -1)), ((0, 4), (1, 3)), ((0, 1), (1, 0))],
    )
    assert not exact.attack(honest).caught


def test_a_choice_by_exact_scores_reveals_the_neighbour() -> None:
    P = exact.law(lambda: selection.best_then_noise((3, 2))[0])
    Q = exact.law(lambda: selection.best_then_noise((2, 3))[0])
    assert P.chances.keys() == {0}
    assert Q.chances.keys() == {1}
