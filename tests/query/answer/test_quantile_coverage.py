"""The intervals of quantiles, asked of a vault, hold as often as stated, and hardly more where they can."""

from __future__ import annotations

import itertools
import tempfile
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
import pytest
from scipy import stats

from discreet.ledger import Budget
from discreet.schema import Category, Integer
from discreet.vault.vault import Vault

GROUPS = 2000
BUDGETS = {"pure": (Budget(1000), 2), "with delta": (Budget(1000, "1e-6"), 2)}


def asked(folder: Any, values: Any, high: int, what: str, kind: str) -> Any:
    """Return the release of a question by group, of a table with one row of values for each group."""
    groups, rows = values.shape
    table = pyarrow.table(
        {"g": np.repeat(np.arange(groups), rows), "x": values.ravel(), "who": np.arange(groups * rows)}
    )
    budget, epsilon = BUDGETS[kind]
    with Vault.seal(
        table,
        to=f"{tempfile.mkdtemp(dir=folder)}/t.vault",
        person="who",
        columns={"g": Category(list(range(groups))), "x": Integer(0, high)},
        budget=budget,
    ) as vault:
        return vault.ask(f"select g, {what} from t where g is not null group by g", epsilon=epsilon)


def missed(release: Any, name: str, first: Any, last: Any) -> int:
    low, high = np.array(release[name].low), np.array(release[name].high)
    return int(np.count_nonzero((low > first) | (high < last)))


@pytest.mark.parametrize(("kind", "least"), [("pure", 0.04), ("with delta", 0.04)])
def test_beside_a_gap_one_interval_in_twenty_misses(tmp_path: Any, kind: str, least: float) -> None:
    """Half of the rows are below a gap and half above, so every code in it is a median.

    Both ends err at their margins then, and nothing else helps them: the law is used up. `least` is the share of
    misses that must occur. False alarm below 1e-6.
    """
    values = np.tile(np.repeat([20, 60], 30), (GROUPS, 1))
    found = missed(asked(tmp_path, values, 99, "median(x) as m", kind), "m", 20, 60)
    assert found <= stats.binom.isf(1e-7, GROUPS, 0.05)
    assert found >= stats.binom.ppf(1e-7, GROUPS, least)


@pytest.mark.parametrize("kind", ["pure", "with delta"])
def test_three_quantiles_of_smooth_data_hold_and_are_in_order(tmp_path: Any, kind: str) -> None:
    """False alarm below 1e-6, if every interval holds with probability 0.95 at least."""
    groups, rows = 500, 200
    values = np.sort(np.random.default_rng(8).integers(0, 1000, (groups, rows)), axis=1)
    release = asked(tmp_path, values, 999, "quantile(x, [0.25, 0.5, 0.9]) as q", kind)
    numbers = []
    for p, rank in (("0.25", 50), ("0.5", 100), ("0.9", 180)):
        name = f"q_{p}"
        assert missed(release, name, values[:, rank - 1], values[:, rank]) <= stats.binom.isf(1e-7, groups, 0.05)
        answer = release[name]
        numbers.append([answer.low, [np.nan if v is None else v for v in answer.values], answer.high])
    for smaller, larger in itertools.pairwise(numbers):
        for one, other in zip(smaller, larger, strict=True):
            pairs = np.array([one, other], float)
            assert np.all(pairs[0] <= pairs[1], where=~np.isnan(pairs).any(axis=0))
    width = np.mean(np.array(numbers[1][2]) - np.array(numbers[1][0]))
    assert width < 450 if kind == "pure" else width < 400  # of a thousand codes, for 200 rows


def test_several_quantiles_are_one_charge_and_cost_what_one_costs(tmp_path: Any) -> None:
    values = np.tile(np.arange(100), (2, 1))
    together = asked(tmp_path, values, 99, "min(x), quantile(x, [0.25, 0.5, 0.75]), max(x)", "with delta")
    alone = asked(tmp_path, values, 99, "median(x)", "pure")
    assert together.receipt.balances[0].charges == 1
    assert alone.receipt.balances[0].charges == 1
    assert together.receipt.cost.rho == pytest.approx(float(Budget(1000, "1e-6").rho_of(Fraction(2))), rel=0.01)
