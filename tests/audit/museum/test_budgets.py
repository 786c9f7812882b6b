from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import pytest

from discreet.audit.museum.budgets import (
    DELTA,
    E_TO_EPSILON,
    FIRST,
    NATURAL_FILTER,
    RATE,
    REUSED_SAMPLE,
    ROUNDED_TO_ZERO,
    SPENT_TWICE,
    THEN,
    Atom,
    NaturalFilter,
    Step,
    betrayal,
    leaked,
    response,
    transcripts,
)
from discreet.errors import BudgetExceeded
from discreet.privacy import Pure
from tests.audit.museum.verdicts import verdicts


def by_all_events(atoms: list[Atom]) -> Fraction:
    """Return the largest P(S) − e^ε·Q(S) over every set S of transcripts, both ways: δ by its definition."""
    events = [event for size in range(len(atoms) + 1) for event in combinations(atoms, size)]
    return max(
        sum((atom[one] - E_TO_EPSILON * atom[1 - one] for atom in event), Fraction(0))
        for event in events
        for one in (0, 1)
    )


def product(one: Step, other: Step) -> list[Atom]:
    return [(p * a, q * b) for p, q in one.answers for a, b in other.answers]


@pytest.mark.parametrize("then", THEN)
def test_both_plans_are_within_the_budget_and_spend_it_exactly(then: Step) -> None:
    assert by_all_events(product(FIRST, then)) == DELTA


def test_the_adaptive_analyst_leaves_a_third_more_than_the_budget() -> None:
    atoms = list(transcripts(NaturalFilter))
    assert sum(p for p, _ in atoms) == sum(q for _, q in atoms) == 1
    assert by_all_events(atoms) == leaked(atoms) == Fraction(2, 225) == DELTA * Fraction(4, 3)


def test_it_does_not_matter_which_neighbour_comes_first() -> None:
    assert leaked([(q, p) for p, q in transcripts(NaturalFilter)]) == Fraction(2, 225)


def test_the_natural_filter_really_refuses_what_crosses_the_budget() -> None:
    natural = NaturalFilter()
    natural.charge(FIRST)
    before = natural.composed
    for step in (response(Fraction(103, 99), Pure(1)), betrayal(DELTA * Fraction(1001, 1000))):
        with pytest.raises(BudgetExceeded):
            natural.charge(step)
        assert natural.composed == before


def test_the_epsilon_that_the_natural_filter_loses_is_where_delta_is_the_budgets() -> None:
    verdict = NATURAL_FILTER.broken()
    assert verdict.claimed is not None
    assert verdict.found is not None
    assert verdict.claimed < verdict.found
    atoms = list(transcripts(NaturalFilter))
    assert float(leaked(atoms, Fraction(math.exp(verdict.found)))) == pytest.approx(float(DELTA), rel=1e-9)


def test_every_exhibit_is_caught_for_its_own_fault_only() -> None:
    assert "threads" in SPENT_TWICE.broken().words
    assert "charges of 2^-56 were still granted" in ROUNDED_TO_ZERO.broken().words
    assert not any(";" in exhibit.broken().words for exhibit in (SPENT_TWICE, ROUNDED_TO_ZERO))


@pytest.mark.xdist_group("reused sample")
def test_a_reused_sample_loses_what_the_theory_says_and_a_fresh_one_what_it_claims() -> None:
    broken, mended = verdicts(REUSED_SAMPLE)
    once = math.log1p(float(RATE) * math.expm1(1))
    # All but 1e-5 of the draws are enumerated, so that the loss is known to about three digits.
    assert broken.found == pytest.approx(math.log1p(float(RATE) * math.expm1(2)), rel=1e-3)
    assert mended.found == pytest.approx(2 * once, rel=1e-3)
    assert broken.claimed == mended.claimed == pytest.approx(2 * once, rel=1e-3)
