"""Test two steps: laws by enumeration, both losses, and a thousand reports on one value."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.audit.attacks.exact import law
from discreet.errors import ParameterError
from discreet.local.primitives.randomness import FRESH, SCALE, Keyed
from discreet.local.protocols.frequency.two_step_grr import TwoStepGRR
from discreet.local.protocols.frequency.two_step_unary import TwoStepUnary
from discreet.local.protocols.longitudinal import Longitudinal
from discreet.local.protocols.protocol import Randomiser
from discreet.local.protocols.registry import of

BOTH = [TwoStepGRR, TwoStepUnary]


def worst(laws: list[dict[bytes, Fraction]]) -> float:
    ratios = (p[y] / q[y] for p, q in itertools.permutations(laws, 2) for y in p)
    return math.log(max(ratios))


@pytest.mark.parametrize("kind", BOTH)
@settings(max_examples=20, deadline=None)
@given(domain=st.integers(2, 5), each=st.integers(1, 30), more=st.integers(1, 30))
def test_one_report_costs_what_is_said_by_its_law(kind: Any, domain: int, each: int, more: int) -> None:
    twice = kind.for_losses(domain, lifetime=Fraction(each + more, 10), each=Fraction(each, 10))
    laws = [twice.law(value) for value in range(domain)]
    assert all(sum(chances.values()) == 1 for chances in laws)
    assert worst(laws) - 1e-11 <= float(twice.loss.epsilon) <= worst(laws) + 1e-11
    assert float(twice.loss.epsilon) <= each / 10 + 1e-12
    assert float(twice.loss.epsilon) == pytest.approx(each / 10, abs=1e-6)


@pytest.mark.parametrize("kind", BOTH)
def test_the_law_is_that_of_the_bytes_that_are_made(kind: Any) -> None:
    twice = kind.for_losses(2, lifetime=2, each=1)
    for value in range(2):
        made = law(partial(one_report, twice, value))
        for report, chance in twice.law(value).items():
            low, high = made.chance(report)
            assert low - 1e-12 <= float(chance) <= high + made.unexplored + 1e-12


def one_report(twice: Randomiser, value: int) -> bytes:
    return twice.encode(np.array([value])).tobytes()


@pytest.mark.parametrize("kind", BOTH)
def test_all_reports_on_one_value_cost_the_lifetime_by_the_law_of_the_permanent_answer(kind: Any) -> None:
    twice = kind.for_losses(3, lifetime=2, each=1)
    always = _permanent_only(twice)
    assert worst([always.law(value) for value in range(3)]) == pytest.approx(
        float(twice.lifetime.epsilon), abs=1e-11
    )


def _permanent_only(twice: Any) -> Randomiser:
    """The first step as a protocol of its own."""
    if isinstance(twice, TwoStepGRR):
        return of("grr", {"domain": twice.domain, "keep": twice.keep})
    return of("sue", {"domain": twice.domain, "keep": twice.one})


@pytest.mark.parametrize("kind", BOTH)
def test_the_permanent_answer_is_the_same_as_often_as_it_is_asked_for(kind: Any) -> None:
    twice = kind.for_losses(50, lifetime=2, each=1)
    assert isinstance(twice, Longitudinal)
    answers = {twice.permanent(np.array([7]), Keyed(b"secret", b"c")).tobytes() for _ in range(20)}
    assert len(answers) == 1
    fresh = {twice.instant(twice.permanent(np.array([7]), Keyed(b"secret", b"c"))).tobytes() for _ in range(20)}
    assert len(fresh) > 1, "20 equal fresh answers have a probability below 1e-6"


@pytest.mark.parametrize("kind", BOTH)
def test_estimates_are_unbiased_by_the_law(kind: Any) -> None:
    twice = kind.for_losses(3, lifetime=2, each=1)
    for value in range(3):
        expected = np.zeros(3)
        for report, chance in twice.law(value).items():
            state = twice.state()
            twice.add(state, np.frombuffer(report, np.uint8).reshape(1, -1))
            expected += float(chance) * twice.estimate(state, 1).values
        np.testing.assert_allclose(expected, np.eye(3)[value], atol=1e-9)


@pytest.mark.parametrize("kind", BOTH)
def test_the_registry_makes_it_again(kind: Any) -> None:
    twice = kind.for_losses(9, lifetime=2, each=1)
    assert of(twice.name, twice.parameters()) == twice


@pytest.mark.parametrize("kind", BOTH)
def test_one_report_cannot_cost_more_than_all(kind: Any) -> None:
    with pytest.raises(ParameterError, match=r"less than all reports together \(found: 2 is not below 1"):
        kind.for_losses(4, lifetime=1, each=2)


def test_chances_that_say_nothing_are_refused() -> None:
    with pytest.raises(ParameterError, match="say nothing"):
        TwoStepGRR(4, SCALE // 4, SCALE // 2)
    assert TwoStepUnary.for_epsilon(4, 1).encode(np.array([0]), FRESH).shape == (1, 1)
