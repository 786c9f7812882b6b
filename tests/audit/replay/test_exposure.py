"""The releases about a person are compared with what was declared, and with what was charged."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.audit.replay.replay import findings, replay
from discreet.errors import BudgetExceeded
from discreet.mechanisms import (
    Exact,
    Gaussian,
)
from discreet.privacy import DiscreteLaplace, PoissonSubsampled, Pure, Session, ZeroConcentrated
from tests.audit.computations import (
    CITIES,
    ONE,
    PEOPLE,
    VISITS,
    Rows,
    caught,
    count_in_bath,
    first_threshold_passed,
    histogram,
    noisy_mean,
    passes,
    with_noise,
)


def test_a_loss_that_covers_what_was_released_passes() -> None:
    passes(noisy_mean, limit=20, loss=[Pure(1), Pure(2)])
    passes(histogram, limit=20, loss=Gaussian(variance=4).loss)
    passes(histogram, limit=20, loss=ZeroConcentrated("1/8"))
    passes(first_threshold_passed, limit=20, loss=Pure(1))
    passes(lambda rows: with_noise(len(rows), sensitivity=1, epsilon=2), limit=20, loss=Pure(2))


def test_a_loss_that_was_exceeded_is_caught() -> None:
    verdict = replay(lambda rows: [count_in_bath(rows), count_in_bath(rows)], PEOPLE, loss=Pure(1))
    assert verdict.caught
    assert (verdict.claimed, verdict.found, verdict.delta) == (1.0, 2.0, 0.0)
    assert "the releases about this person cost ε = 2 at δ = 0 (2 × DiscreteLaplace(" in verdict.words


def test_a_gaussian_that_costs_more_than_declared_is_caught() -> None:
    caught(histogram, loss=Gaussian(variance=5).loss)
    caught(histogram, loss=Pure(1))


def test_the_epsilon_of_a_primitive_counts() -> None:
    caught(lambda rows: with_noise(len(rows), sensitivity=1, epsilon=2), loss=Pure(1))


def test_disjoint_parts_cost_once_and_parts_that_share_a_person_do_not() -> None:
    def by_city(rows: Rows) -> Any:
        return [ONE.release(Exact(sum(row["city"] == c for row in rows), sensitivity=1)) for c in CITIES]

    def in_each_part(rows: Rows) -> Any:
        parts = ({row["id"] for row in rows if ((row["cost"] or 0) > 15) is large} for large in (True, False))
        return [ONE.release(Exact(len(part), sensitivity=1)) for part in parts]

    passes(by_city, loss=Pure(1))
    passes(in_each_part, VISITS, loss=Pure(1))
    assert "the releases about this person cost ε = 2" in caught(in_each_part, VISITS, person="id", loss=Pure(1))


def test_a_session_that_is_charged_too_little_is_caught() -> None:
    def underpaid(rows: Rows) -> Any:
        Session(Pure(1)).charge(Pure("1/2"))
        return count_in_bath(rows)

    def paid(rows: Rows) -> Any:
        Session(Pure(1)).charge(ONE.loss)  # type: ignore[arg-type]
        return count_in_bath(rows)

    passes(paid, limit=20, loss=Pure(1))
    assert "but 0.5 was charged" in caught(underpaid)
    assert any("the session" in finding.words for finding in findings(paid, PEOPLE, limit=5, loss=Pure("9/10")))


def test_a_charge_that_depends_on_the_data_is_caught() -> None:
    def by_size(rows: Rows) -> None:
        Session(Pure(100)).charge(Pure(len(rows)))

    assert "call 1 (Session.charge) has other parameters: loss=Pure" in caught(by_size)


def test_a_charge_that_was_refused_covers_nothing() -> None:
    def unpaid(rows: Rows) -> Any:
        with pytest.raises(BudgetExceeded):
            Session(Pure("1/2")).charge(Pure(1))
        return count_in_bath(rows)

    assert "but 0 was charged" in caught(unpaid)


def test_a_loss_of_a_secret_sample_is_compared_as_that_of_the_whole_table() -> None:
    passes(count_in_bath, limit=20, loss=PoissonSubsampled(DiscreteLaplace(1), "1/10"))
