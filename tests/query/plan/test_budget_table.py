"""The table at sealing tells which kind of budget fits: few counts are better without δ, many with it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.ledger import Budget
from discreet.query.plan.budget_table import budget_table


def test_below_about_seventeen_counts_a_budget_without_delta_is_better() -> None:
    rows = {row.counts: row for row in budget_table(Budget(2, "1e-9"), counts=range(1, 40))}
    better = [counts for counts, row in rows.items() if row.other_is_better]
    assert better == list(range(1, len(better) + 1))
    assert 15 <= len(better) <= 17
    assert rows[1].margin == pytest.approx(4 * (rows[1].other or 0), rel=0.02)


def test_both_kinds_show_the_same_numbers_from_either_side() -> None:
    with_delta, pure = budget_table(Budget(2, "1e-9"), 3), budget_table(Budget(2), 3)
    assert [(row.margin, row.other) for row in with_delta] == [(row.other, row.margin) for row in pure]


def test_a_budget_too_small_for_any_noise_shows_none() -> None:
    assert [row.margin for row in budget_table(Budget(Fraction(1, 10**40)), counts=[1])] == [None]
    assert [row.margin for row in budget_table(Budget(0), counts=[1])] == [None]
