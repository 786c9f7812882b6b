"""Bounds that are learned: what they cost, that they are private, and what is found in odd tables.

Where bounds are compared, a test fails by chance with a probability of at most 10⁻⁶ for each column that is
learned: that of the threshold which no empty bin exceeds. Bins that hold rows are hundreds of scales of the noise
above it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit.attacks import exact
from discreet.audit.inputs.subject import Subject
from discreet.audit.replay.diff import departures, distances
from discreet.audit.replay.replay import findings
from discreet.audit.replay.traces import again, record
from discreet.audit.shipped.learned_bounds import learned_bounds
from discreet.errors import BudgetExceeded, ParameterError
from discreet.ledger import Budget
from discreet.privacy.losses import Pure
from discreet.schema import Column, Integer, Learned, Real, Text, from_json
from discreet.schema.learned import chosen
from discreet.sealing.learning import noise_for, noisy_weights
from discreet.vault.vault import Vault
from tests.vault.sealed_tables import scratch, sealed

Declared = dict[str, Column | Learned]


def people(values: Sequence[Any], rows: int = 1) -> pa.Table:
    return pa.table({"who": [i // rows for i in range(len(values))], "v": values})


FOUR = Budget(4)


def vault_of(table: pa.Table, folder: Path, column: Learned, budget: Budget = FOUR, **more: Any) -> Vault:
    columns: Declared = {"v": column}
    return Vault.seal(table, to=folder / "t.vault", person="who", columns=columns, budget=budget, **more)


@pytest.mark.parametrize("budget", [Budget(4), Budget(4, "1e-9")], ids=["pure", "with delta"])
def test_bounds_are_the_powers_of_two_around_the_values_and_are_charged_first(
    tmp_path: Path, budget: Budget
) -> None:
    values = [30 + i % 60 for i in range(4000)]
    with vault_of(people(values), tmp_path, Integer.learned(spend="20%", tail="0.02"), budget) as vault:
        column = vault.metadata.columns["v"]
        assert column == Integer(16, 128, bounds_cost="20 % of the budget")
        balance = vault.ledger.balance()
        assert balance.total is not None
        assert balance.remaining == balance.total * Fraction(4, 5)
        kinds = [entry.kind for entry in vault.ledger.entries()]
        assert kinds == ["opening", "charge", "release"]
        assert (
            "bounds of column v"
            in next(e for e in vault.ledger.entries() if e.kind == "charge").content["question"]
        )
        label = vault.ask("select avg(v) from t", epsilon=1).label
        assert "bounds learned from the rows, for 20 % of the budget" in label.facts["Bounds"]["v"]
        vault.ledger.verify()
    assert {row["c0"] for row in sealed(tmp_path / "t.vault")} == {v - 16 for v in values}


def test_both_signs_a_known_bound_and_the_step_are_learned(tmp_path: Path) -> None:
    values = [(-1) ** i * (0.5 + i % 7) for i in range(3000)]
    with vault_of(people(values), tmp_path, Real.learned(spend="20%", step="0.5", tail="0.02")) as vault:
        assert vault.metadata.columns["v"] == Real(-8, 8, "0.5", bounds_cost="20 % of the budget")
    known = Real.learned(lo=0, epsilon=1, tail="0.02")
    with scratch() as folder, vault_of(people([abs(v) for v in values]), folder, known) as vault:
        column = vault.metadata.columns["v"]
        assert isinstance(column, Real)
        assert column == Real(0, 8, Fraction(1, 10_000), bounds_cost="ε = 1")


@pytest.mark.parametrize(
    "values",
    [[], [None] * 500, [float("nan")] * 500, ["many"] * 3, [7.0], [1.0, -1.0, float("inf")]],
    ids=["no rows", "all missing", "nan", "texts", "one row", "few rows"],
)
def test_where_nothing_is_found_the_vault_is_sealed_and_says_so(tmp_path: Path, values: list[Any]) -> None:
    kind = pa.string() if values[:1] == ["many"] else pa.float64()
    table = pa.table({"who": pa.array(range(len(values)), pa.int64()), "v": pa.array(values, kind)})
    with vault_of(table, tmp_path, Real.learned(lo=0, spend="1%", step=1), anyway=True) as vault:
        assert vault.metadata.columns["v"] == Real(0, 1, 1, bounds_cost="1 % of the budget; none were found")


def test_a_heavy_tail_is_cut_off_and_counted_for_the_curator(tmp_path: Path) -> None:
    values = [float(1 + i % 100) for i in range(20_000)] + [1e12] * 3
    with vault_of(people(values), tmp_path, Real.learned(lo=0, spend="25%", step=1)) as vault:
        assert vault.metadata.columns["v"] == Real(0, 128, 1, bounds_cost="25 % of the budget")
        assert vault.sealing_report is not None
        assert vault.sealing_report.columns["v"].above == 3


@pytest.mark.parametrize("subject", learned_bounds(), ids=lambda subject: subject.name)
def test_the_release_keeps_its_claim_exactly(subject: Subject) -> None:
    assert not exact.attack(subject).caught


def test_a_release_that_forgets_rows_per_person_is_caught() -> None:
    forgetful = noise_for(Fraction(2), 1, pure=True, unit=1)
    subject = Subject(
        name="forgetful",
        release=lambda weights: noisy_weights(weights, forgetful),
        loss=Pure(2),
        pairs=[([3, 0, 1], [5, 0, 1])],
    )
    assert exact.attack(subject).caught


ROWS: list[dict[str, Any]] = [{"who": i // 2, "v": 1.5 * i} for i in range(8)]


def learning(budget: Budget) -> Any:
    """A computation on rows: seal them, learn, and return all that is seen."""

    def computation(rows: list[dict[str, Any]]) -> Any:
        texts = {
            name: pa.array([None if row.get(name) is None else repr(row[name]) for row in rows], pa.string())
            for name in ("who", "v")
        }
        with scratch() as folder:
            column = Real.learned(spend="50%", step="0.5")
            with vault_of(pa.table(texts), folder, column, budget, rows_per_person=2, anyway=True) as vault:
                return [str(vault.metadata.columns["v"]), vault.ledger.balance().remaining]

    return computation


@pytest.mark.parametrize("budget", [Budget(10), Budget(10, "1e-6")], ids=["pure", "with delta"])
def test_a_person_with_many_rows_changes_what_is_released_by_no_more_than_is_declared(budget: Budget) -> None:
    """The person who leaves has six rows, of which two count, in one bin or in several."""
    computation = learning(budget)
    for values in ([3.0] * 6, [0.0, 1.0, -5.0, 100.0, 1e9, -1e300], ["x", None, 2.0, 2.0, 2.0, 2.0]):
        first = record(computation, [*ROWS, *({"who": 9, "v": value} for value in values)], seed=1)
        assert len(first.tape.calls) == 1  # the bounds follow from one release with noise
        second = again(computation, ROWS, first.tape)
        found = [*departures(first, second, "without 9"), *distances(first, second, "without 9", joins=False)]
        assert not found, found[0].words


def test_sealing_and_learning_are_private_on_hostile_tables() -> None:
    found = findings(learning(Budget(10)), ROWS, person="who", limit=1)
    assert not found, found[0].words


@given(st.floats(allow_nan=False))
def test_every_number_has_one_bin_and_the_bounds_of_that_bin_hold_it(value: float) -> None:
    column = Real.learned(step="0.25")
    place = column.bin_of(value)
    assert -column.most <= place <= column.most
    weights = [0] * column.bins
    weights[place + column.most] = 1000
    found = column.resolved(weights, 10, "")
    if abs(place) < column.most:
        assert float(found.lo) - 0.25 <= value <= float(found.hi)


@given(st.lists(st.integers(-(2**62), 2**62), min_size=7, max_size=7), st.integers(0, 10**6))
def test_whatever_the_noise_is_the_bounds_can_be_sealed(some: list[int], threshold: int) -> None:
    noisy = some * 11
    for column in (Real.learned(step="0.01"), Real.learned(lo=-5, step=1), Real.learned(hi=0, step=1)):
        found = column.resolved(noisy, threshold, "5 %", threshold // 3)
        assert found.lo < found.hi
        assert from_json(found.as_json()) == found


def test_bins_are_left_out_only_up_to_the_tail() -> None:
    assert chosen([1, 1000, 1, 1], 0, Fraction(1, 100)) == (1, 1)
    assert chosen([1, 1000, 1, 1], 0, Fraction(0)) == (0, 3)
    assert chosen([-5, -1000], 0, Fraction(1, 100)) is None
    assert chosen([60, 20, 40, 1000, 40, 10, 90], 100, Fraction(0), 30) == (2, 4)
    assert chosen([60, 20, 40, 1000, 40, 10, 90], 100, Fraction(0)) == (3, 3)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Real.learned(lo=0, hi=1, step=1), "nothing to learn"),
        (lambda: Real.learned(epsilon=1, spend="5%"), "not both"),
        (lambda: Integer.learned(tail="0.5"), "below one half"),
        (lambda: Real.learned(step=0), "above 0"),
        (lambda: Real.learned(lo=10**30, step=1), "too far from zero"),
    ],
)
def test_a_declaration_that_has_no_meaning_is_refused(make: Any, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        make()


def test_what_cannot_be_paid_or_must_not_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    table = people([1.0] * 10)
    with pytest.raises(BudgetExceeded):
        vault_of(table, tmp_path, Real.learned(epsilon=5))
    with pytest.raises(ParameterError, match="a strict vault cannot learn"):
        vault_of(table, tmp_path, Real.learned(), strict=True)
    unreadable = pa.table({"who": [1, 2, 3], "v": ["71,86"] * 3})
    with pytest.raises(Exception, match=r'decimal = ","'):
        vault_of(unreadable, tmp_path, Real.learned())
    assert os.listdir(tmp_path) == []


def test_a_vault_that_is_sealed_again_pays_again_from_its_ledger(tmp_path: Path) -> None:
    with vault_of(people([5.0] * 2000), tmp_path, Real.learned(lo=0, spend="20%", step=1, tail="0.02")) as vault:
        new: Declared = {"v": Real.learned(lo=0, spend="20%", step=1, tail="0.02")}
        vault.reseal(people([900.0] * 2000), columns=new)
        assert vault.metadata.columns["v"] == Real(0, 1024, 1, bounds_cost="20 % of the budget")
        assert vault.ledger.balance().remaining == Fraction(12, 5)
        with pytest.raises(Exception, match="More than half of column 'v'"):
            vault.reseal(pa.table({"who": [1], "v": ["many"]}), columns=new)
        vault.reseal(people([900.0] * 2000))
        assert vault.ledger.balance().remaining == Fraction(12, 5)


KILLED = """
import os, signal, sys, pyarrow
import discreet as dp
def progress(stage, done):
    if stage == "weighing rows":  # the bounds are learned and charged by now
        os.kill(os.getpid(), signal.SIGKILL)
rows = pyarrow.table({"who": list(range(3000)), "v": [5.0] * 3000})
dp.Vault.seal(rows, to=sys.argv[1], person="who", columns={"v": dp.Real.learned(step=1)}, budget=dp.Budget(2),
              progress=progress)
"""


def test_a_crash_between_charge_and_seal_leaves_no_vault_and_no_bounds(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "t.vault")], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "t.vault").exists()
    with vault_of(people([5.0] * 3000), tmp_path, Real.learned(lo=0, step=1, spend="20%")) as vault:
        assert [entry.kind for entry in vault.ledger.entries()] == ["opening", "charge", "release"]
    assert os.listdir(tmp_path) == ["t.vault"]


def test_texts_and_rows_without_a_person_column_are_learned_beside_each_other(tmp_path: Path) -> None:
    rows = pa.table({"word": ["tea", "rum"] * 1500, "v": [3.0, 60.0] * 1500})
    columns: Declared = {"word": Text(), "v": Integer.learned(lo=0, spend="20%", tail="0.02")}
    with Vault.seal(rows, to=tmp_path / "t.vault", person=None, columns=columns, budget=Budget(4)) as vault:
        assert vault.metadata.columns["v"] == Integer(0, 64, bounds_cost="20 % of the budget")
    assert {(row["c0"], row["c1"], row["spot"]) for row in sealed(tmp_path / "t.vault")} == {
        ("tea", 3, True),
        ("rum", 60, True),
    }
