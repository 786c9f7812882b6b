"""Test plans: queries, charges, margins and refusals, all before any data is read."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import Fix, LawTooWide, ParameterError, QuestionRefused
from discreet.ledger import Budget, cost
from discreet.mechanisms import Gaussian, Laplace
from discreet.privacy import Approximate, DiscreteLaplace, Exponential, PermuteAndFlip, ZeroConcentrated
from discreet.query.plan import allocation
from discreet.query.plan.estimators import Linear
from discreet.query.plan.plan import Plan, plan
from discreet.query.question import Aggregate
from discreet.rational import Rational
from discreet.schema.metadata import UNIT
from tests.vault.sealed_rows import Described, aggregate, key, question, term, text_key

PURE, WITH_DELTA = Budget(10), Budget(10, "1e-6")
RHO = WITH_DELTA.rho_of(Fraction(1, 2))  # of the epsilon that questions are planned with
income = term("c0", high=5000, scale=100)

KINDS = {
    "count": aggregate("count"),
    "count_of": aggregate("count_of", income),
    "persons": aggregate("persons"),
    "sum": aggregate("sum", income),
    "avg": aggregate("avg", income),
    "variance": aggregate("variance", income),
    "stddev": aggregate("stddev", income),
    "median": aggregate("quantile", income, "1/2", name="median"),
}


def planned(*aggregates: Aggregate, budget: Budget = PURE, rows_per_person: int = 1, groups: int = 1) -> Plan:
    keys = (key("c1", groups),) if groups > 1 else ()
    return plan(question(*aggregates, keys=keys), Described(rows_per_person), epsilon="0.5", budget=budget)


some_aggregates = st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=5, unique=True)


@given(names=some_aggregates, rows_per_person=st.integers(1, 9), groups=st.sampled_from([1, 7]))
@settings(max_examples=40, deadline=None)
def test_a_pure_question_costs_exactly_its_epsilon(names: list[str], rows_per_person: int, groups: int) -> None:
    made = planned(*(KINDS[name] for name in names), rows_per_person=rows_per_person, groups=groups)
    assert cost(made.losses).epsilon == Fraction(1, 2)


@given(names=some_aggregates, rows_per_person=st.integers(1, 9), groups=st.sampled_from([1, 7]))
@settings(max_examples=40, deadline=None)
def test_a_question_with_delta_costs_the_rho_of_its_epsilon(
    names: list[str], rows_per_person: int, groups: int
) -> None:
    made = planned(
        *(KINDS[name] for name in names), budget=WITH_DELTA, rows_per_person=rows_per_person, groups=groups
    )
    spent = cost(made.losses)
    assert Fraction(99, 100) * RHO < spent.rho <= RHO  # quantiles round their share down
    assert spent.delta == 0
    if "median" not in names:
        assert spent.rho == RHO


def test_one_vector_over_all_groups_is_charged_once() -> None:
    for groups in (2, 1000):
        assert planned(KINDS["count"], groups=groups).losses == (DiscreteLaplace(2 * UNIT, UNIT),)
        made = planned(KINDS["count"], budget=WITH_DELTA, groups=groups)
        assert made.losses == (ZeroConcentrated(RHO),)


def test_aggregates_share_what_they_have_in_common() -> None:
    never_missing = term("c0", high=5000, nullable=False)
    made = planned(*(aggregate(kind, never_missing) for kind in ("count", "count_of", "sum", "avg")))
    assert [query.description for query in made.noises] == [
        "rows",
        "sum of values, from the middle of their bounds",
    ]
    assert len(planned(KINDS["variance"], KINDS["stddev"], KINDS["avg"]).noises) == 3


def test_a_sum_alone_is_measured_as_it_is_and_beside_an_average_from_its_parts() -> None:
    for budget in (PURE, WITH_DELTA):
        (alone,) = planned(KINDS["sum"], budget=budget).formulas
        assert len(alone.queries) == 1
        beside = planned(KINDS["sum"], KINDS["avg"], budget=budget)
        assert len(beside.noises) == 2
    (alone,) = planned(KINDS["sum"]).formulas
    assert isinstance(alone, Linear)
    assert alone.parts[0][0] == Fraction(100, UNIT)


def test_the_margin_of_a_sum_alone_is_less_than_from_its_parts() -> None:
    def margin(*aggregates: Aggregate) -> float:
        found = planned(*aggregates, budget=PURE).expected[0].margin
        assert found is not None
        return found

    assert margin(KINDS["sum"]) < margin(KINDS["sum"], KINDS["avg"])


@pytest.mark.parametrize("budget", [PURE, WITH_DELTA], ids=["pure", "with delta"])
def test_the_division_of_a_budget_is_the_best_on_a_grid(budget: Budget) -> None:
    from discreet.query.plan.estimators import importance

    made = planned(KINDS["count"], KINDS["persons"], KINDS["avg"], budget=budget, rows_per_person=4, groups=5)
    squares = list(importance(made.formulas, 4, 5, pure=budget.pure).values())
    spent = [cost(noise.loss).epsilon if budget.pure else cost(noise.loss).rho for noise in made.noises.values()]
    total = sum(part or 0 for part in spent)
    power = 2 if budget.pure else 1

    def error(shares: list[float]) -> float:
        return sum(s / share**power for s, share in zip(squares, shares, strict=True))

    grid = 30
    others = [
        [c / grid for c in cells] for cells in product(range(1, grid), repeat=len(squares)) if sum(cells) == grid
    ]
    assert error([float((part or 0) / total) for part in spent]) <= min(map(error, others)) * 1.001


def test_expected_margins_are_those_of_the_noise() -> None:
    made = planned(KINDS["count"], rows_per_person=3)
    assert made.expected[0].margin == Laplace(scale=6 * UNIT).error("0.95") / UNIT
    assert made.expected[0].margin == pytest.approx(6 * math.log(20), rel=1e-3)
    counted = planned(KINDS["count"], budget=WITH_DELTA)
    assert counted.expected[0].margin == pytest.approx(1.96 / math.sqrt(2 * RHO), rel=1e-2)
    depends = planned(KINDS["avg"], KINDS["median"])
    assert [expected.margin for expected in depends.expected] == [None, None]


def test_a_plan_explains_what_it_does() -> None:
    words = planned(*KINDS.values(), rows_per_person=2).explanation
    assert "discrete Laplace noise of scale" in words
    assert "permute-and-flip" in words
    assert "count: ± " in words
    assert "in a group of 1,000 rows" in words
    assert "Gaussian" in planned(KINDS["count"], budget=WITH_DELTA).explanation
    giant = planned(aggregate("sum", term(high=2**40)))
    assert "each value rounded to the nearest 65,536 first" in giant.explanation


def test_numbers_of_a_plan_are_written_as_people_read_them() -> None:
    pay = term(high=10**7)
    words = planned(aggregate("sum", pay), aggregate("avg", pay), aggregate("quantile", pay, "1/2")).explanation
    assert re.search(r"about ± \d{1,3}(,\d{3})+ in a group", words)
    assert re.search(r"noise of scale \d{1,3}(,\d{3})+\.", words)
    assert not re.search(r"\de[+-]\d", words)


def test_quantiles_are_chosen_by_what_the_ledger_adds_up() -> None:
    assert {type(loss) for loss in planned(KINDS["median"]).losses} == {PermuteAndFlip, DiscreteLaplace}
    assert {type(loss) for loss in planned(KINDS["median"], budget=WITH_DELTA).losses} == {
        Exponential,
        ZeroConcentrated,
    }


def test_the_smallest_budget_that_meets_a_margin_is_found() -> None:
    for budget, noise in ((PURE, Laplace.for_epsilon), (WITH_DELTA, lambda e: Gaussian.for_rho(e**2 / 2))):
        made = plan(question(KINDS["count"]), Described(), within=200, budget=budget)
        assert made.expected[0].margin is not None
        assert made.expected[0].margin <= 200
        spent = cost(made.losses)
        epsilon = spent.epsilon if budget.pure else Fraction(math.sqrt(2 * spent.rho)).limit_denominator(10**6)
        assert epsilon is not None
        assert noise(epsilon * Fraction(99, 100)).error("0.95") >= 200  # a hundredth less is not enough


def test_every_number_has_its_own_margin_if_it_is_given_one() -> None:
    asked = question(KINDS["count"], KINDS["sum"], KINDS["persons"], keys=[key()])
    margins: dict[str, Rational] = {"count": 50, "sum": 10**6, "persons": 30}
    made = plan(asked, Described(3), within=margins, budget=PURE)
    for expected in made.expected:
        assert expected.margin is not None
        assert expected.margin <= int(margins[expected.name])
    single = [(question(KINDS[name], keys=[key()]), margin) for name, margin in margins.items()]
    apart = [plan(one, Described(3), within=margin, budget=PURE) for one, margin in single]
    assert cost(made.losses).epsilon == sum(cost(one.losses).epsilon or 0 for one in apart)
    with pytest.raises(ParameterError, match=r"every number of the answer: count, sum, persons") as refused:
        plan(asked, Described(), within={"count": 5}, budget=PURE)
    (fix,) = refused.value.fixes
    assert fix == Fix("within", {"count": 5, "sum": 200, "persons": 200})


@pytest.mark.parametrize("name", ["avg", "variance", "stddev", "median"])
def test_a_margin_that_depends_on_the_data_is_refused_with_a_fix(name: str) -> None:
    with pytest.raises(QuestionRefused, match=r'which is private.*epsilon="0\.1".*within="5%"'):
        plan(question(KINDS[name]), Described(), within=5, budget=PURE)
    with pytest.raises(QuestionRefused, match=r'which is private.*epsilon="0\.1"') as refused:
        plan(question(KINDS[name], keys=[key()]), Described(), within=5, budget=PURE)
    assert "5%" not in str(refused.value)  # a relative margin is for questions without groups


def test_the_margin_that_a_refusal_offers_is_planned() -> None:
    asked = question(aggregate("sum", term(high=2**40)))
    for budget in (PURE, WITH_DELTA):
        with pytest.raises(QuestionRefused, match="so small a margin") as refused:
            plan(asked, Described(), within="0.001", budget=budget)
        (fix,) = refused.value.fixes
        assert isinstance(fix, Fix)
        (expected,) = plan(asked, Described(), within=fix.value, budget=budget).expected
        assert expected.margin is not None
        assert expected.margin <= fix.value


def test_what_has_no_meaning_is_refused_before_anything_is_charged() -> None:
    asked = question(KINDS["count"])
    with pytest.raises(ParameterError, match="Give either what to spend"):
        plan(asked, Described(), budget=PURE)
    with pytest.raises(ParameterError, match="above 0"):
        plan(asked, Described(), epsilon=0, budget=PURE)
    for confidence in (1, 0, 1 - Fraction(1, 10**21)):
        with pytest.raises(ParameterError, match="confidence"):
            plan(asked, Described(), epsilon=1, confidence=confidence, budget=PURE)
    with pytest.raises(QuestionRefused, match="relative margin cannot be previewed"):
        plan(asked, Described(), within="5%", budget=PURE)
    with pytest.raises(QuestionRefused, match="No epsilon below"):
        plan(question(aggregate("sum", term(high=2**40))), Described(), within="0.001", budget=PURE)
    with pytest.raises(LawTooWide, match="Spend more epsilon"):
        plan(question(aggregate("sum", term(high=2**40))), Described(), epsilon="1e-9", budget=PURE)
    with pytest.raises(QuestionRefused, match="at least one number"):
        plan(question(), Described(), epsilon=1, budget=PURE)


def test_too_many_groups_are_refused_by_name() -> None:
    keys = [key("c0", 2000), key("c1", 501)]
    with pytest.raises(QuestionRefused, match=r"1,002,000 groups \(2,000 c0 × 501 c1\)"):
        plan(question(KINDS["count"], keys=keys), Described(), epsilon=1, budget=PURE)
    with pytest.raises(QuestionRefused, match="quantile in each of 900,000 groups"):
        plan(question(KINDS["median"], keys=[key("c1", 900_000)]), Described(), epsilon=1, budget=PURE)


def test_open_keys_need_a_delta_and_are_charged_for_it() -> None:
    asked = question(KINDS["count"], keys=[text_key()])
    with pytest.raises(QuestionRefused, match=r"needs a budget with a delta.*as a category"):
        plan(asked, Described(), epsilon=1, budget=PURE)
    made = plan(asked, Described(3), epsilon=1, budget=WITH_DELTA)
    assert cost(made.losses).rho == WITH_DELTA.rho_of(Fraction(1))
    assert cost(made.losses).delta == WITH_DELTA.key_delta / 100
    assert (
        Approximate(0, "1e-9") in plan(asked, Described(), epsilon=1, budget=WITH_DELTA, keys_delta="1e-9").losses
    )
    reached = plan(asked, Described(), within=20, budget=WITH_DELTA)
    assert reached.expected[0].margin is not None
    assert reached.expected[0].margin <= 20


def test_single_levels_and_sums_of_nothing_are_planned_too() -> None:
    one = term(low=3, high=3, scale=5)
    for kind in ("sum", "avg", "variance", "stddev"):
        made = planned(aggregate(kind, one))
        assert len(made.losses) == 1
    assert planned(aggregate("sum", term(low=0, high=0))).expected[0].margin == 0
    assert planned(aggregate("quantile", one, "1/2")).rankings[0].cells == 1


def test_relative_importance_does_not_depend_on_the_unit_of_a_column() -> None:
    def shares(scale: int) -> list[Fraction | None]:
        made = planned(aggregate("count"), aggregate("sum", term(scale=scale)))
        return [cost(noise.loss).epsilon for noise in made.noises.values()]

    assert shares(1) == shares(10**6)
    assert allocation.shares([1.0, 1.0], pure=True) == [Fraction(1, 2)] * 2
