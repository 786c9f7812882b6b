"""Synthesis of a vault: one charge, a record, rows in its schema, and refusals that cost nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

from discreet import noise
from discreet.errors import BudgetExceeded, DiscreetError, NotForRelease, ParameterError, QuestionRefused
from discreet.kernel.gaussian_budget import rho_of
from discreet.ledger import Budget
from discreet.schema import Category, Integer, Text
from discreet.synth import Synthetic
from discreet.vault.vault import Vault
from tests.synth.tables import COLUMNS, people, sealed


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    with sealed(people(), tmp_path_factory.mktemp("synth") / "people.vault") as opened:
        yield opened


@pytest.fixture(scope="module")
def table(vault: Vault) -> Synthetic:
    return vault.synthesize(epsilon=8, impossible=["age < 15 and married"])


def test_rows_have_the_schema_of_the_vault(table: Synthetic) -> None:
    rows = table.to_arrow()
    assert rows.column_names == list(COLUMNS)
    kinds = [pyarrow.int64(), pyarrow.string(), pyarrow.float64(), pyarrow.bool_(), pyarrow.date32()]
    assert rows.schema.types == kinds
    assert rows["age"].null_count > 0
    assert [rows[name].null_count for name in ("city", "income", "married", "day")] == [0, 0, 0, 0]
    incomes = rows["income"].to_numpy()
    assert np.all(incomes % 100 == 0)
    assert incomes.min() >= 0 and incomes.max() <= 200_000  # noqa: PT018
    assert len(rows) == round(table.total)
    assert table.to_pandas().shape == (len(rows), 5)
    assert table.to_polars().shape == (len(rows), 5)


def test_rows_look_like_the_table(table: Synthetic) -> None:
    """At ε = 8 the noise is a few rows; the bounds leave room for ten times that."""
    rows, truth = table.to_pandas(), people().to_pandas()
    assert abs(len(rows) - len(truth)) < 200
    assert abs(rows["age"].mean() - truth["age"].mean()) < 3
    assert abs(rows["income"].mean() - truth["income"].mean()) < 1500
    here, there = (frame[frame["city"] == "Oslo"]["income"].mean() for frame in (rows, truth))
    assert abs(here - there) < 2500
    assert abs(rows["married"].mean() - truth["married"].mean()) < 0.05


def test_no_row_meets_an_impossible_condition(table: Synthetic) -> None:
    rows = table.to_pandas()
    assert not ((rows["age"] < 15) & rows["married"]).any()


def test_a_bin_that_a_condition_cuts_through_keeps_to_it(vault: Vault) -> None:
    made = vault.synthesize(
        ["age", "married"], epsilon=40, bins={"age": [0, 10, 60]}, impossible=["age < 25 and married"]
    )
    rows = made.to_pandas()
    assert ((rows["age"] >= 25) & (rows["age"] < 60) & rows["married"]).any()
    assert not ((rows["age"] < 25) & rows["married"]).any()


def test_it_is_one_charge_and_the_same_call_again_is_free(vault: Vault, table: Synthetic) -> None:
    before = vault.ledger.balance()
    again = vault.synthesize(epsilon=8, impossible=["age < 15 and married"], rows=7, seed=3)
    assert vault.ledger.balance().spent == before.spent
    assert again.free and not table.free  # noqa: PT018
    assert len(again.to_arrow()) == 7
    assert np.allclose(again.model.marginal((0, 1)), table.model.marginal((0, 1)))


def test_the_charge_is_what_was_agreed(vault: Vault) -> None:
    before = vault.ledger.balance().spent.rho
    vault.synthesize(["city", "married"], epsilon="0.5")
    middle = vault.ledger.balance()
    assert middle.spent.rho - before == rho_of("0.5", "1e-9")
    vault.synthesize(["city", "married"], spend="0.1%")
    assert vault.ledger.balance().spent.rho - middle.spent.rho == (middle.total or 0) / 1000


def test_rows_are_another_draw_for_free(table: Synthetic) -> None:
    few = table.drawn(50, seed=1)
    assert len(few.to_arrow()) == 50
    assert few.to_arrow().equals(table.drawn(50, seed=1).to_arrow())
    assert not few.to_arrow().equals(table.drawn(50, seed=2).to_arrow())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"columns": ["pay"]}, "no column 'pay'"),
        ({"columns": []}, "list of columns"),
        ({"columns": ["age", "AGE"]}, "age is named twice"),
        ({"columns": "age"}, "list of columns"),
        ({"epsilon": 0}, "epsilon"),
        ({"spend": "5%"}, "either epsilon or spend"),
        ({"rows": -1}, "rows"),
        ({"rows": 10**30}, "rows=100000"),
        ({"seed": "a"}, "seed"),
        ({"epsilon": None, "spend": "1e-22%"}, "Try: epsilon="),
        ({"workload": [["age", "pay"]]}, "no column 'pay'"),
        ({"workload": []}, "A workload names sets"),
        ({"workload": {("age",): -1.0}}, "above 0"),
        ({"impossible": ["age < 15"]}, "reads two columns"),
        ({"impossible": ["age < "]}, "."),
        ({"bins": {"pay": 3}}, "pay"),
        ({"prior": {"age": [1]}}, "no column city"),
        ({"progress": 3}, "progress must be a function"),
    ],
)
def test_what_is_refused_costs_nothing(vault: Vault, changes: dict[str, Any], words: str) -> None:
    before = vault.ledger.balance().spent
    with pytest.raises(DiscreetError, match=words):
        vault.synthesize(**{"epsilon": 1, **changes})
    assert vault.ledger.balance().spent == before


def test_the_epsilon_that_is_named_suffices(vault: Vault) -> None:
    assert len(vault.synthesize(epsilon="1e-08", rows=10).to_arrow()) == 10


def test_more_rows_than_a_machine_holds_are_not_drawn(
    vault: Vault, table: Synthetic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise of a small ε makes up billions of them. The limit is lowered, so that this ends without it too."""
    few, many = (vault.synthesize(epsilon=8, impossible=table.impossible, rows=n) for n in (9, None))
    monkeypatch.setattr("discreet.synth.sample.MOST_CODES", 100)
    assert len(few.to_arrow()) == 9
    with pytest.raises(ParameterError, match="At most 20 rows of 5 columns"):
        many.to_arrow()
    with pytest.raises(ParameterError, match="rows=100000"):
        few.drawn(21)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    """Seal two columns of 5,000 numbers each."""
    rng = np.random.default_rng(0)
    rows = pyarrow.table({"who": range(800), "x": rng.integers(0, 5000, 800), "y": rng.integers(0, 5000, 800)})
    columns = {"x": Integer(0, 4999, missing=0), "y": Integer(0, 4999, missing=0)}
    with sealed(rows, tmp_path_factory.mktemp("wide") / "people.vault", columns=columns) as opened:
        yield opened


def test_bins_whose_pair_has_too_many_cells_are_refused_before_the_charge(wide: Vault) -> None:
    before = wide.ledger.balance().spent
    with pytest.raises(ParameterError, match=r"4,000,000 cells together \(2,000 x × 2,000 y\).*1,000,000"):
        wide.synthesize(epsilon=6, bins={"x": 2000, "y": 2000})
    assert wide.ledger.balance().spent == before


def test_bins_beyond_what_would_be_cut_are_kept_where_they_fit(wide: Vault) -> None:
    made = wide.synthesize(epsilon=6, bins={"X": 300, "y": 200})
    assert made.domain.sizes == (300, 200)
    assert made.marginal(["x", "y"]).counts.shape == (300, 200)


def test_a_public_table_is_read_once(wide: Vault) -> None:
    """Its columns may be readable only once; the counts of bins follow from the finer cells."""
    rng = np.random.default_rng(1)
    public = {"x": rng.integers(0, 5000, 500).tolist(), "y": rng.integers(0, 5000, 500).tolist()}
    made = wide.synthesize(epsilon=6, prior={name: iter(values) for name, values in public.items()})
    assert made.prior is not None
    want = {}
    for name, axis in zip(public, made.axes, strict=True):
        want[name] = np.searchsorted(axis.starts, public[name], "right") - 1
    pair = np.zeros(made.domain.sizes)
    np.add.at(pair, (want["x"], want["y"]), 1)
    found = np.zeros(made.domain.sizes)
    np.add.at(found, tuple(np.array(made.prior["places"])), made.prior["counts"])
    assert np.array_equal(found, pair)


def test_more_columns_than_pairs_can_be_made_of_are_refused_before_the_charge(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(501)]
    rows = pyarrow.table({"who": [1, 2], **{name: [0, 1] for name in names}})
    with sealed(rows, tmp_path / "v", columns={name: Integer(0, 1, missing=0) for name in names}) as vault:
        with pytest.raises(ParameterError, match=r"501 columns.*columns=\["):
            vault.synthesize(epsilon=6)
        assert vault.ledger.balance().spent.rho == 0


def test_a_budget_that_is_too_small_refuses_before_the_engine_is_asked(tmp_path: Path) -> None:
    with sealed(people(100), tmp_path / "v", budget=Budget("0.1", "1e-9")) as vault:
        with pytest.raises(BudgetExceeded):
            vault.synthesize(epsilon=40)
        assert vault.ledger.balance().spent.rho == 0


def test_a_vault_without_delta_refuses_and_says_what_to_do(tmp_path: Path) -> None:
    with (
        sealed(people(100), tmp_path / "v", budget=Budget(1)) as vault,
        pytest.raises(ParameterError, match=r"budget with δ.*amend"),
    ):
        vault.synthesize(epsilon=3)


def test_texts_are_left_out_and_refused_by_name(tmp_path: Path) -> None:
    rows = people(200).append_column("word", pyarrow.array(["tea"] * 200))
    with sealed(rows, tmp_path / "v", columns={**COLUMNS, "word": Text()}) as vault:
        made = vault.synthesize(epsilon=6)
        assert "word" not in made.domain.names
        assert any("word" in note for note in made.notes)
        with pytest.raises(ParameterError, match="word is a text"):
            vault.synthesize(["word"], epsilon=6)


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_a_table_of_very_few_persons_has_a_note(tmp_path: Path, rows: int) -> None:
    with sealed(people(rows), tmp_path / "v") as vault:
        made = vault.synthesize(epsilon=3, rows=20)
        assert len(made.to_arrow()) == 20
        assert any("too few rows" in note for note in made.notes)


def test_thousands_of_labels_are_binned_and_come_back_as_labels(tmp_path: Path) -> None:
    labels = [f"place {i:04d}" for i in range(3000)]
    rng = np.random.default_rng(0)
    places = np.where(rng.random(5000) < 0.5, 7, rng.integers(0, 3000, 5000))
    rows = pyarrow.table(
        {"who": range(5000), "place": [labels[i] for i in places], "age": rng.integers(0, 90, 5000)}
    )
    columns = {"place": Category(labels), "age": Integer(0, 110)}
    with sealed(rows, tmp_path / "v", columns=columns) as vault:
        made = vault.synthesize(epsilon=40)
        assert max(made.domain.sizes) <= 40
        found = made.to_pandas()["place"]
        assert set(found.dropna()) <= set(labels)
        busiest = made.axes[0]
        assert 0.3 < made.model.ones[0][np.searchsorted(busiest.starts, 7, "right") - 1] / made.total < 0.7


def test_bins_of_ones_own_are_kept(vault: Vault) -> None:
    made = vault.synthesize(["age", "city"], epsilon=6, bins={"age": [18, 65]})
    assert made.axes[0].starts == (0, 18, 65)
    assert made.marginal(["age"]).levels == ((0, 18, 65, None),)


def test_a_public_table_fills_in_what_the_workload_leaves_out(tmp_path: Path) -> None:
    """Four runs each gave 0.056 to 0.060 with the public table, and 0.102 to 0.105 without."""
    bins = {"age": 8, "income": 8, "day": 4}
    with sealed(people(1500), tmp_path / "v") as vault:
        helped, alone = (
            vault.synthesize(epsilon="3.3", bins=bins, workload=[["age", "city", "income"]], prior=prior)
            .compare(people(1500))
            .mean(2)
            for prior in (people(1500, seed=9), None)
        )
    assert helped is not None
    assert alone is not None
    assert helped[0] < 0.9 * alone[0]


def test_one_column_alone(vault: Vault) -> None:
    made = vault.synthesize(["married"], epsilon=13)
    assert abs(made.to_pandas()["married"].mean() - people()["married"].to_numpy().mean()) < 0.05


def test_what_is_made_from_test_bits_never_leaves(tmp_path: Path) -> None:
    with noise.deterministic(1):
        vault = sealed(people(), tmp_path / "v")
        made = vault.synthesize(["city", "day"], epsilon=6)
    for doing in (made.to_arrow, made.to_pandas, lambda: made.marginal(["city"]), made.compare):
        with pytest.raises(NotForRelease):
            doing()
    fresh = vault.synthesize(["city", "day"], epsilon=6)
    assert not fresh.free
    assert not fresh.test_bits


def test_an_invalid_condition_is_refused(vault: Vault) -> None:
    with pytest.raises(QuestionRefused):
        vault.synthesize(epsilon=6, impossible=["age + married"])


def test_a_total_that_was_measured_by_itself_is_recorded_and_read_again(tmp_path: Path) -> None:
    vault = sealed(people(), tmp_path / "v")
    table = vault.synthesize(["age", "day"], epsilon=1)
    totals = [m for m in table.measurements if not m.columns]
    assert len(totals) == 1
    assert abs(float(totals[0].values) - 4000) < 6 * totals[0].variance ** 0.5
    again = vault.synthesize(["age", "day"], epsilon=1)
    assert again.free
    assert again.total == table.total
    assert table.ask("select count(*) from people").value == again.ask("select count(*) from people").value
