"""Covariances and correlations: exact sums, bounded per person, and intervals that hold."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.errors import QuestionRefused
from discreet.ledger import Budget, cost
from discreet.query import ir
from discreet.query.bounds import reachable_values
from discreet.query.parse.select import parse
from discreet.query.plan import linear_queries
from discreet.query.question import Term
from discreet.schema import Category, Integer, Real
from discreet.schema.metadata import UNIT
from discreet.vault.vault import Vault
from tests.query.parse.test_select import PEOPLE

ends = st.integers(0, 9)


def values_of(query: linear_queries.LinearQuery, x: Any, y: Any) -> Any:
    cells = {name: (part, np.zeros(len(part), bool)) for name, part in (("c0", x), ("c1", y))}
    cells["w"] = np.ones_like(x), np.zeros(len(x), bool)
    assert query.tree is not None
    found, missing = reachable_values.evaluated(query.tree, cells)
    return np.where(missing, 0, found)


@settings(deadline=None)
@given(low=ends, width=st.integers(0, 12), other=ends, height=st.integers(1, 12), fine=st.booleans())
def test_no_row_exceeds_the_bound_of_a_product_whatever_its_codes(
    low: int, width: int, other: int, height: int, fine: bool
) -> None:
    """Codes outside of their bounds, as of rows that were tampered with, count as the nearer end."""
    steps = 1 if fine else 2**22  # so wide that products are rounded
    x = Term(ir.sealed("c0"), low * steps, (low + width) * steps)
    y = Term(ir.sealed("c1"), other * steps, (other + height) * steps)
    query = linear_queries.product(x, y, rows_per_person=2)
    codes = np.arange(-2, 24) * steps
    grid = [part.ravel() for part in np.meshgrid(codes, codes)]
    found = values_of(query, *grid)
    assert np.abs(found).max() <= query.bound
    assert query.bound * 2 * UNIT <= linear_queries.MOST
    centres = [(term.low + term.high) / 2 for term in (x, y)]
    inside = [np.clip(part, term.low, term.high) for part, term in zip(grid, (x, y), strict=True)]
    wanted = (inside[0] - centres[0]) * (inside[1] - centres[1])
    off = np.abs(found * float(query.unit) - wanted)
    coarse = sum(float(linear_queries.deviation(t, 2).slack) * 12 * steps for t in (x, y))
    assert off.max() <= float(query.slack) + coarse + 1e-6


def test_the_bound_of_a_product_is_attained() -> None:
    x, y = Term(ir.sealed("c0"), 0, 10), Term(ir.sealed("c1"), 0, 7)
    query = linear_queries.product(x, y, rows_per_person=1)
    assert query.bound == 5 * 7  # 5 steps of 1, and 7 of a half
    corner = np.array([10]), np.array([7])
    assert values_of(query, *corner)[0] == query.bound


def test_rows_without_one_of_the_values_take_part_in_nothing() -> None:
    aggregate = parse("select covar_pop(age, income) from people", PEOPLE).aggregates[0]
    assert aggregate.other is not None
    assert aggregate.term is not None
    assert aggregate.term.code.sql() == "CASE WHEN NOT (c2 IS NULL) THEN c0 END"
    assert aggregate.other.code.sql() == "CASE WHEN NOT (c0 IS NULL) THEN c2 END"


GROUPS = 250


def sealed(folder: Any, budget: Budget) -> tuple[Vault, Any]:
    """Return a vault with a table of many groups, each with a covariance and a correlation of its own."""
    rng = np.random.default_rng(5)
    group = np.repeat(np.arange(GROUPS), 120)
    slope = rng.uniform(-1, 1, GROUPS)[group]
    x = rng.integers(0, 21, len(group))
    y = np.clip(10 + slope * (x - 10) + rng.normal(0, 3, len(group)), 0, 20).round(1)
    table = pyarrow.table({"g": group, "x": x, "y": y, "who": np.arange(len(group))})
    vault = Vault.seal(
        table,
        to=str(folder / "t.vault"),
        person="who",
        columns={"g": Category(list(range(GROUPS))), "x": Integer(0, 20), "y": Real(0, 20, "0.1")},
        budget=budget,
    )
    truth = {
        "covar": [np.cov(x[group == i], y[group == i], ddof=0)[0, 1] for i in range(GROUPS)],
        "corr": [np.corrcoef(x[group == i], y[group == i])[0, 1] for i in range(GROUPS)],
    }
    return vault, truth


@pytest.mark.parametrize("budget", [Budget(100), Budget(100, "1e-6")], ids=["pure", "with delta"])
def test_intervals_hold_as_often_as_stated_and_narrow_with_the_budget(tmp_path: Any, budget: Budget) -> None:
    """False alarm below 1e-6: each interval holds with probability 0.8 at least, in 250 independent groups."""
    vault, truth = sealed(tmp_path, budget)
    widths = []
    with vault:
        for epsilon in (2, 20):
            release = vault.ask(
                "select g, covar_pop(x, y) as covar, corr(x, y) as corr from t where g is not null group by g",
                epsilon=epsilon,
                confidence="0.8",
            )
            for name in ("covar", "corr"):
                low, high = np.array(release[name].low), np.array(release[name].high)
                missed = np.count_nonzero((low > np.array(truth[name])) | (high < np.array(truth[name])))
                assert missed <= stats.binom.isf(1e-7, GROUPS, 0.2)
                widths.append(np.mean(high - low))
                known = [value for value in release[name].values if value is not None]
                assert all(low.min() <= value <= high.max() for value in known)
    assert widths[2] < widths[0] / 2
    assert widths[3] < widths[1]


def test_a_correlation_of_nothing_is_unknown_and_a_covariance_with_a_constant_is_zero(tmp_path: Any) -> None:
    vault, _ = sealed(tmp_path, Budget(1000))
    with vault:
        nothing = vault.ask("select corr(x, y) from t where x < 0.5 and x > 0.2 or g is null", epsilon=1)
        assert nothing.value is None
        assert nothing["corr(x, y)"].unknown == (True,)
        assert nothing.interval == (-1.0, 1.0)
        constant = vault.ask("select covar_pop(x, 3) from t", epsilon=1)
        assert (constant.value, constant.error) == (0.0, 0.0)
        fine = vault.ask("select corr(x, x), covar_samp(x, 0.5 * y) from t", epsilon=900)
    assert fine["corr(x, x)"].high == (1.0,)
    assert fine["corr(x, x)"].low[0] == pytest.approx(1, abs=0.05)
    assert "divided by n, not n − 1" in str(fine)


def test_a_value_that_never_varies_has_no_correlation() -> None:
    with pytest.raises(QuestionRefused, match="always the same has no correlation"):
        parse("select corr(age, 3) from people", PEOPLE)
    with pytest.raises(QuestionRefused, match="needs a number, and this is a category"):
        parse("select corr(age, city) from people", PEOPLE)


def test_one_count_serves_both_values_and_is_shared_with_other_numbers(tmp_path: Any) -> None:
    from discreet.query.plan.plan import plan

    question = parse("select corr(age, income), covar_pop(age, income), count(*) from people", PEOPLE)
    made = plan(question, PEOPLE, epsilon=1, budget=Budget(2))
    assert len(made.noises) == 7  # both present, two deviations, the product, two squares, and all rows
    assert cost(made.losses).epsilon == Fraction(1)
