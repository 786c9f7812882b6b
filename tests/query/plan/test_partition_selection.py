"""Test partition selection: its privacy loss by enumeration, and the partitions that it keeps."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import pytest

from discreet.audit.attacks import exact as enumeration
from discreet.audit.inputs.subject import Subject
from discreet.errors import ParameterError, SensitivityExceeded
from discreet.ledger import Budget
from discreet.mechanisms.exact import ExactByKey
from discreet.privacy import Approximate
from discreet.query import ir
from discreet.query.answer.execute import execute, prepare
from discreet.query.plan.partition_selection import Partition, Selection, marked, selection, sensitivity
from discreet.query.plan.plan import plan
from discreet.schema.metadata import UNIT
from tests.vault.sealed_rows import Described, aggregate, engine_with, key, question, term, text_key

BUDGET = Budget(40, "1e-4")


def upper_tail(variance: Fraction, m: int) -> Any:
    """P(Z > m) for discrete Gaussian noise, by summing the law with many digits."""
    v = mpmath.mpf(variance.numerator) / variance.denominator
    terms = int(60 * mpmath.sqrt(v)) + 60
    weight = [mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * v)) for x in range(terms)]
    total = weight[0] + 2 * mpmath.fsum(weight[1:])
    return mpmath.fsum(weight[m + 1 :]) / total


@pytest.mark.parametrize("rows_per_person", [1, 50])
@pytest.mark.parametrize("delta", ["1e-2", "1e-6", "1e-12"])
@pytest.mark.parametrize("rho", ["2", "0.1"])
def test_the_threshold_is_the_least_that_proves_delta(rows_per_person: int, delta: str, rho: str) -> None:
    unit = 4
    chosen = selection(rho, delta, rows_per_person, unit)
    limit = mpmath.mpf(delta) / rows_per_person
    above = chosen.threshold - unit  # the noise must exceed this to keep a partition of one person
    assert upper_tail(chosen.mechanism.variance, above) <= limit
    assert upper_tail(chosen.mechanism.variance, above - 1) > limit * (1 - mpmath.mpf("1e-8"))


Table = dict[str, int]
PAIRS: list[tuple[Table, Table]] = [  # one person more: at most two partitions, of presence at most 1 each
    ({}, {"new": 1}),
    ({}, {"new": 1, "newer": 1}),
    ({"old": 3}, {"old": 4, "new": 1}),
    ({"old": 3, "older": 1}, {"old": 4, "older": 2}),
    ({"old": 2}, {"old": 3}),
]


def kept(chosen: Selection, table: Table) -> Any:
    presence = ExactByKey({(value,): count for value, count in table.items()}, chosen.mechanism.sensitivity)
    return tuple(chosen.release(presence, most=10))


@pytest.mark.parametrize("rho", ["1/2", "2"])
@pytest.mark.parametrize("delta", ["1e-2", "1e-3"])
def test_partition_selection_loses_what_is_charged(rho: str, delta: str) -> None:
    chosen = selection(rho, delta, rows_per_person=2, unit=1)
    subject = Subject(name="partitions", release=lambda t: kept(chosen, t), loss=chosen.losses, pairs=PAIRS)
    verdict = enumeration.attack(subject, unexplored="1e-7")
    assert not verdict.caught, verdict.words


def test_a_threshold_one_lower_is_caught() -> None:
    """The attack finds a threshold that is too low: it keeps a partition of one person too often."""
    chosen = selection("2", "1e-2", rows_per_person=2, unit=1)
    low = Selection(chosen.mechanism, chosen.delta, chosen.threshold - 2)
    subject = Subject(name="too low", release=lambda t: kept(low, t), loss=chosen.losses, pairs=PAIRS)
    assert enumeration.attack(subject, unexplored="1e-7").caught


def test_a_selection_charges_its_noise_and_its_delta_once() -> None:
    chosen = selection("1/2", "1e-6", rows_per_person=3)
    assert chosen.losses == (chosen.mechanism.loss, Approximate(0, "1e-6"))
    with pytest.raises(ParameterError, match="must be below 1 and at least 1e-30"):
        selection("1/2", 0, rows_per_person=1)


def test_one_person_alone_in_a_thousand_partitions_touches_as_many_as_allowed() -> None:
    rows = [{"person": 0, "c2": f"secret {i}"} for i in range(1000)]
    with engine_with(rows, rows_per_person=2, c2="VARCHAR") as engine:
        found = engine.run(engine.rows.persons(where=marked(None), keys=[ir.sealed("c2")], cap=UNIT))
    presence = [int(x) for x in found.sums[:, 0]]
    assert len(presence) == 2
    assert all(0 < x <= UNIT for x in presence)
    # The law itself, in units small enough to enumerate: the chance that either is kept is within δ.
    chosen = selection("2", "1e-3", rows_per_person=2, unit=1)
    law = enumeration.law(lambda: kept(chosen, {"secret 1": 1, "secret 2": 1}), unexplored="1e-6")
    silence = law.chance(())[0]
    assert 1 - silence <= 1e-3 + 2e-6


def test_a_filter_does_not_let_a_person_touch_more_partitions() -> None:
    rows = [{"person": 0, "c0": 1, "c2": f"secret {i}"} for i in range(1000)]
    where = ir.compared("=", ir.sealed("c0"), ir.number(1))
    with engine_with(rows, rows_per_person=2, c2="VARCHAR") as engine:
        found = engine.run(engine.rows.persons(where=marked(where), keys=[ir.sealed("c2")], cap=UNIT))
    assert len(found.keys) == 2
    assert marked(where).sql() == "(c0 = 1) AND spot"


def test_the_strongest_partitions_are_kept_in_their_own_order() -> None:
    chosen = selection("2", "1e-6", rows_per_person=1)

    def strongest(partitions: list[Partition]) -> list[Partition]:
        presence = {partition: UNIT * 1000 * (i + 1) for i, partition in enumerate(partitions)}
        return chosen.release(ExactByKey(presence, sensitivity(1)), most=3)

    assert strongest([(name,) for name in "zyxwvu"]) == [("u",), ("v",), ("w",)]
    assert strongest([("b", None), (None, "a"), ("b", "a")]) == [("b", "a"), ("b", None), (None, "a")]
    assert strongest([]) == []


@pytest.mark.parametrize("presence", [{}, {("Oslo",): 1}])
def test_more_partitions_per_person_than_were_paid_for_are_refused_whatever_occurs(presence: Any) -> None:
    chosen = selection("2", "1e-6", rows_per_person=1)
    with pytest.raises(SensitivityExceeded, match="the mechanism was built for 1"):
        chosen.release(ExactByKey(presence, sensitivity(2)), most=3)


ROWS = [
    {"person": i, "c0": i % 5, "c1": i % 2, "c2": ["Oslo", "Bergen", None][i % 3] if i % 100 else f"rare {i}"}
    for i in range(6000)
]


def test_frequent_values_are_kept_and_their_numbers_measured_anew() -> None:
    with engine_with(ROWS, c2="VARCHAR") as engine:
        asked = question(aggregate("count"), aggregate("persons"), keys=[key("c1", 2), text_key()])
        made = plan(asked, Described(), epsilon=4, budget=BUDGET)
        answer = execute(prepare(made, engine.rows), engine)
    assert answer.keys == [(i, name) for name in ("Bergen", "Oslo", None) for i in (0, 1)]
    for group, low, high in zip(answer.keys, answer["count"].low, answer["count"].high, strict=True):
        expected = sum(1 for row in ROWS if (row["c1"], row["c2"]) == group)
        assert low - 30 <= expected <= high + 30  # ten margins more than the interval
    assert "Partition selection keeps the values of c2" in made.explanation


def test_a_filter_holds_for_the_selection_too() -> None:
    where = ir.compared("=", ir.sealed("c2"), ir.string("Oslo"))
    with engine_with(ROWS, c2="VARCHAR") as engine:
        asked = question(aggregate("count"), keys=[text_key()], where=where)
        answer = execute(prepare(plan(asked, Described(), epsilon=4, budget=BUDGET), engine.rows), engine)
    assert answer.keys == [("Oslo",)]


def test_values_on_rows_that_are_not_marked_are_never_kept() -> None:
    rows = [{"person": i, "c2": text} for i in range(4000) for text in ("first", "second")]
    with engine_with(rows, rows_per_person=1, c2="VARCHAR") as engine:
        asked = question(aggregate("count"), keys=[text_key()])
        answer = execute(prepare(plan(asked, Described(1), epsilon=4, budget=BUDGET), engine.rows), engine)
    assert answer.keys == [("first",)]


def test_no_frequent_value_gives_an_answer_without_groups() -> None:
    rows = [{"person": i, "c0": 1, "c2": f"rare {i}"} for i in range(300)]
    for table in (rows, []):
        with engine_with(table, c2="VARCHAR") as engine:
            kinds = ("count", "persons", "sum", "avg", "stddev")
            asked = [aggregate(kind, term(high=3)) for kind in kinds]
            asked.append(aggregate("quantile", term(high=3), "1/2"))
            made = plan(question(*asked, keys=[text_key()]), Described(), epsilon=1, budget=BUDGET)
            answer = execute(prepare(made, engine.rows), engine)
        assert answer.keys == []
        assert all(len(column.value) == 0 for column in answer.columns)


def test_more_partitions_than_expected_are_answered_at_the_same_cost() -> None:
    rows = [{"person": i, "c2": f"name {i % 1100}"} for i in range(1100 * 60)]
    with engine_with(rows, rows_per_person=1001, c2="VARCHAR") as engine:
        made = plan(question(aggregate("persons"), keys=[text_key()]), Described(1), epsilon=20, budget=BUDGET)
        few = plan(question(aggregate("persons"), keys=[text_key()]), Described(2000), epsilon=1, budget=BUDGET)
        assert len(execute(prepare(made, engine.rows), engine).keys) == 1100
    assert few.setting.groups == 10**6
    ((query, law),) = few.noises.items()
    assert law.sensitivity == query.sensitivity(2000, 10**6)


def test_thresholds_decrease_as_more_is_spent() -> None:
    needs = [selection(Fraction(rho), "1e-9", 2).needs for rho in ("0.001", "0.01", "0.1", "1")]
    assert all(more > less > 1 for more, less in pairwise(needs))
