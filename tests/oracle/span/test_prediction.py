"""Predictions from a table and a span together, and the choice of questions that are paid for."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.oracle.span.prediction import DOUBT, SURE, TRUSTED, Blend, Pace


@pytest.mark.parametrize("off", [0.0, 40.0, 100.0, 300.0])
def test_the_weight_of_the_span_becomes_that_of_the_least_error(off: float) -> None:
    """Tables are off by `off`, the span by 100: the best weight is off²/(off² + 100²), and a mean beats both."""
    rng = np.random.default_rng(1)
    blend, errors = Blend(), []
    for _ in range(4000):
        table, value = rng.normal(5000, off), rng.normal(5000, 100)
        errors.append([blend.predict(table, value, 100.0) - 5000, table - 5000, value - 5000])
        blend.learn(table, value, 100.0)
    best = off**2 / (off**2 + 100**2)
    # One that is far off counts as nine, so the weight of a table that mostly is stays below the best.
    assert blend.weight == pytest.approx(best, abs=0.05 if off <= 100 else 0.15)
    mean, table_alone, span_alone = np.sqrt(np.mean(np.square(errors[1000:]), axis=0))
    assert mean <= 1.03 * min(table_alone, span_alone) + 5
    assert Blend().weight > 0


def test_a_table_that_is_far_off_is_moved_to_within_some_deviations_of_the_span() -> None:
    blend = Blend()
    assert blend.predict(0.0, 1000.0, 100.0) == 1000 - TRUSTED * 100
    assert blend.predict(9000.0, 1000.0, 100.0) == 1000 + TRUSTED * 100


def test_payments_last_until_the_last_question_and_go_to_the_riskiest() -> None:
    rng = np.random.default_rng(2)
    risks = 10.0 ** rng.uniform(-6, -1.5, 3000)
    pace, payments, paid = Pace(), 200, list[int]()
    for place, risk in enumerate(risks):
        chosen = pace.pays(float(risk), price=1 / 275, payments=payments - len(paid), to_come=3000 - place)
        paid += [place] if chosen else []
    assert 180 <= len(paid) <= payments
    assert max(paid) > 2800
    compared = np.delete(risks, paid)
    greedy = np.delete(risks, np.flatnonzero(risks > 1 / 275)[:payments])
    assert compared.sum() < 0.8 * greedy.sum()
    assert compared.sum() < 1.25 * np.sort(risks)[:-payments].sum()  # as if all were known beforehand
    assert len(pace) == 3000


def test_a_question_that_is_sure_to_raise_an_alarm_is_paid_for_at_once_and_a_safe_one_never() -> None:
    price = 1 / 275
    assert Pace().pays(1.01 * SURE * price, price=price, payments=1, to_come=10_000)
    assert not Pace().pays(0.99 * SURE * price, price=price, payments=1, to_come=10_000)
    assert not Pace().pays(1.0, price=price, payments=0.5, to_come=10_000)  # nothing is left beside the runs
    assert not Pace().pays(0.9 * DOUBT / 100, price=price, payments=1000, to_come=100)
    assert Pace().pays(1.1 * DOUBT / 100, price=price, payments=1000, to_come=100)
