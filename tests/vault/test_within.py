"""A relative width, found step by step: what it costs, that it stops, and that it tells the truth when it does."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice

import pytest

from discreet.errors import ParameterError, QuestionRefused
from discreet.ledger import Budget, cost
from discreet.vault.execute import execute, prepare
from discreet.vault.question import Question
from discreet.vault.within import doubling, reached, share
from tests.vault.sealed_rows import Described, aggregate, engine_with, key, question, term

ROWS = [{"person": i, "c0": i % 11} for i in range(3000)]


@pytest.mark.parametrize("budget", [Budget(100), Budget(100, "1e-6")], ids=["pure", "with delta"])
def test_every_step_has_twice_the_epsilon_and_half_the_doubt(budget: Budget) -> None:
    steps = [
        step for step, _ in zip(doubling(*_asked("count"), within="5%", budget=budget), range(5), strict=False)
    ]
    assert [1 - step.confidence for step in steps] == [Fraction(1, 20) / 2 ** (i + 1) for i in range(5)]
    spent = [cost(step.losses) for step in steps]
    if budget.pure:
        assert [one.epsilon for one in spent] == [Fraction(2**i, 1000) for i in range(5)]
    else:
        assert [one.rho for one in spent] == [Fraction(4**i, 2 * 10**6) for i in range(5)]


@pytest.mark.parametrize("kind", ["count", "sum", "avg"])
@pytest.mark.parametrize("budget", [Budget(100), Budget(100, "1e-6")], ids=["pure", "with delta"])
def test_it_stops_and_the_answer_is_within_the_share(kind: str, budget: Budget) -> None:
    """False alarm: below 1e-6, with a confidence of 1 − 1e-7."""
    exact = {"count": 3000, "sum": sum(row["c0"] for row in ROWS), "avg": sum(row["c0"] for row in ROWS) / 3000}[
        kind
    ]
    sure = 1 - Fraction(1, 10**7)
    spent, last = Fraction(0), Fraction(0)
    with engine_with(ROWS) as engine:
        for step in doubling(*_asked(kind), within="10%", confidence=sure, budget=budget):
            price = cost(step.losses)
            last = price.rho if price.epsilon is None or not budget.pure else price.epsilon
            spent += last
            answer = execute(prepare(step, engine.rows), engine)
            if reached(answer, "10%"):
                break
    assert abs(answer[kind].value[0] - exact) <= 0.1 * exact
    assert spent < 2 * last
    assert last < 2


def test_an_answer_that_may_be_zero_is_not_good_enough() -> None:
    with engine_with([]) as engine:
        for step in islice(doubling(*_asked("count"), within="50%", budget=Budget(100)), 6):
            answer = execute(prepare(step, engine.rows), engine)
            assert not (reached(answer, "50%") and answer["count"].low[0] <= 0 <= answer["count"].high[0])


def test_what_cannot_be_had_is_refused() -> None:
    with pytest.raises(QuestionRefused, match="without groups"):
        doubling(question(aggregate("count"), keys=[key()]), Described(), within="5%", budget=Budget(1))
    for wrong in ("5", "0%", "100%", "-1%"):
        with pytest.raises(ParameterError, match=r"percent|between"):
            share(wrong)


def test_a_confidence_that_later_steps_cannot_give_is_refused_before_the_first() -> None:
    with pytest.raises(ParameterError, match="among steps"):
        doubling(*_asked("count"), within="5%", confidence=1 - Fraction(1, 10**15), budget=Budget(1))


def _asked(kind: str) -> tuple[Question, Described]:
    return question(aggregate(kind, term())), Described()
