"""The report: correct distances, plots, and a cost that is charged once."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import noise
from discreet.errors import NotForRelease, ParameterError
from discreet.kernel.gaussian_budget import rho_of
from discreet.release import Released
from discreet.schema import Integer
from discreet.synth import Synthetic, synthesize
from discreet.synth.evaluate import BELIEVED, MOST_SETS, Comparison, Distance, _sets
from discreet.synth.marginals import Domain
from tests.synth.tables import people, sealed
from tests.vault.releases import label, receipt


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synthetic]:
    with sealed(people(), tmp_path_factory.mktemp("comparing") / "people.vault") as vault:
        yield vault.synthesize(epsilon=3)


def compared(title: str, distances: tuple[Distance, ...]) -> Comparison:
    """Return a comparison that was made of nothing."""
    return Comparison(title, distances, label=label(), receipt=receipt())


def test_the_free_report_is_of_the_right_size(table: Synthetic) -> None:
    free, true = table.compare(), table.compare(people())
    for ways in (2, 3):
        found, truth = free.mean(ways), true.mean(ways)
        assert found is not None
        assert truth is not None
        assert 0.4 * truth[0] < found[0] < 2.5 * truth[0] + 0.05


def test_the_free_report_says_how_far_rows_are_from_the_answers(table: Synthetic) -> None:
    report = table.compare()
    assert report.rows == str(table.fit)
    assert f"Rows are {table.fit.distance:.4f} from the answers" in str(report)
    assert not table.fit.worse
    assert Comparison.from_json(json.loads(json.dumps(report.to_json()))).rows == report.rows
    assert json.loads(table.to_arrow().schema.metadata[b"discreet"])["rows"] == report.rows


def test_rows_that_are_worse_than_the_answers_are_warned_of(table: Synthetic) -> None:
    """Thousands of rows that all have one value in each column: no sample of the table is as far off."""
    same = table.drawn(4000)
    same.__dict__["codes"] = np.zeros((4000, len(same.axes)), np.int32)
    assert same.fit.worse
    assert any("worse than the answers" in note for note in same.notes)
    assert "worse than the answers" in str(same.compare())


def test_the_paid_report_is_right_within_its_noise_and_charged_once(table: Synthetic) -> None:
    assert table.source is not None
    ledger = table.source.payer.ledger
    before = ledger.balance().spent.rho
    paid = table.compare(epsilon=16, show=[["city", "married"]])
    assert ledger.balance().spent.rho - before == rho_of(16, "1e-9")
    assert table.compare(epsilon=16, show=[["city", "married"]]).distances == paid.distances
    assert ledger.balance().spent.rho - before == rho_of(16, "1e-9")
    true = table.compare(people())
    for ways in (1, 2, 3):
        found, truth = paid.mean(ways), true.mean(ways)
        assert found is not None
        assert truth is not None
        # Seven deviations, and the difference between the noisy and the true number of rows.
        assert abs(found[0] - truth[0]) < 7 * found[1] + 0.02
        assert found[1] < 0.01
    assert paid.shown[0].columns == ("city", "married")
    assert abs(paid.shown[0].table[0].sum() - 2000) < 300


def test_a_comparison_has_a_label_a_receipt_and_json(table: Synthetic) -> None:
    free, paid = table.compare(), table.compare(epsilon=2, show=[["city"]])
    again = table.compare(epsilon=2, show=[["city"]])
    assert free.receipt.free
    assert free.label.receipt == table.receipt
    assert paid.receipt.cost.rho == rho_of(2, "1e-9") == again.receipt.cost.rho
    assert str(paid.receipt.promise) == str(again.receipt.promise) == "ε = 2 at δ = 1e-9"
    assert paid.label.receipt.cost.rho == table.receipt.cost.rho + rho_of(2, "1e-9")
    assert paid.label.product == free.label.product == "a comparison of a synthetic table"
    for made in (free, paid, again):
        assert isinstance(made, Released)
        record = json.loads(json.dumps(made.to_json(), allow_nan=False))
        assert record["schema"] == "discreet comparison 1"
        assert record["receipt"]["spent"]["value"] == float(made.receipt.cost.rho)
        read = Comparison.from_json(record)
        assert read.to_json() == record
        assert (read.label, read.receipt) == (made.label, made.receipt)
    broken = paid.to_json()
    broken["shown"][0]["table"] = [1.0]
    with pytest.raises(ParameterError, match="The comparison is damaged"):
        Comparison.from_json(broken)
    with pytest.raises(ParameterError, match="The comparison lacks 'title'"):
        Comparison.from_json({key: value for key, value in paid.to_json().items() if key != "title"})


def test_pictures_are_drawn(table: Synthetic) -> None:
    free = table.compare().plot().to_dict()["vconcat"]
    assert free[0]["mark"]["type"] == "tick"
    assert len(table.compare(epsilon=1).plot().to_dict()["vconcat"]) >= len(free) + 1
    assert "mean distance" in str(table.compare())
    assert "<pre>" in table.compare()._repr_html_()


@pytest.mark.parametrize("count", [3, 100])
def test_the_picture_names_the_marginals_that_are_furthest_off(count: int) -> None:
    distances = tuple(Distance((f"c{i}", "city"), i / count, 0.01, "measured") for i in range(count))
    _, named = compared("beside the vault", distances).plot().to_dict()["vconcat"]
    assert all(layer["encoding"]["y"]["field"] == "columns" for layer in named["layer"])
    assert named["layer"][0]["title"] == ("By name" if count == 3 else "The 30 furthest off, of 100")
    told = [row["columns"] for row in named["data"]["values"]]
    assert told == [f"c{i}, city" for i in reversed(range(count))][:30]


def test_a_mean_distance_is_said_to_be_what_it_is() -> None:
    def said(how: str, deviation: float) -> str:
        made = compared("", (Distance(("age",), 0.0675123, deviation, how),))
        return str(made).splitlines()[1].strip()

    start = "1 marginal of 1 column: mean distance "
    assert said(BELIEVED, 0.0) == f"{start}0.0675 (expected from the noise of what was measured)"
    assert said("beside a public table", 0.0) == f"{start}0.0675"
    assert said("measured", 0.01) == f"{start}0.068 ± 0.020"
    assert said("measured", 1e-6) == f"{start}0.0675123 ± 0.0000020"


@pytest.mark.parametrize(
    ("show", "words"),
    [
        ([["age", "income", "day", "city"]], "1,000,000"),
        ([[]], "names its columns"),
        ([["age", "pay"]], "no column 'pay'"),
        ("city", "list of lists"),
    ],
)
def test_what_cannot_be_shown_is_refused_before_the_charge(table: Synthetic, show: Any, words: str) -> None:
    assert table.source is not None
    bins = {"age": 100, "income": 100, "day": 100}
    made = synthesize(table.source, ["age", "income", "day", "city"], epsilon="0.1", bins=bins)
    before = table.source.payer.ledger.balance().spent
    with pytest.raises(ParameterError, match=words):
        made.compare(epsilon=1, show=show)
    assert table.source.payer.ledger.balance().spent == before


def test_a_comparison_that_buys_noise_which_nobody_draws_is_refused_before_the_charge(table: Synthetic) -> None:
    assert table.source is not None
    before = table.source.payer.ledger.balance().spent
    with pytest.raises(ParameterError, match=r'Try: epsilon="0\.1"'):
        table.compare(spend="1e-25%")
    assert table.source.payer.ledger.balance().spent == before


def test_a_comparison_made_from_test_bits_is_not_shown(tmp_path: Path) -> None:
    with noise.deterministic(3):
        vault = sealed(people(500), tmp_path / "v")
    table = vault.synthesize(epsilon=3)
    with noise.deterministic(3):
        made = table.compare(epsilon="0.3")
    assert made.test_bits
    for doing in (lambda: str(made), made.plot, lambda: pickle.dumps(made)):
        with pytest.raises(NotForRelease):
            doing()
    assert "test bits" in made._repr_html_()
    assert "Distance(" not in repr(made)
    fresh = table.compare(epsilon="0.3")
    assert not fresh.test_bits
    assert "mean distance" in str(fresh)


def test_of_very_many_marginals_some_of_each_kind_are_compared(tmp_path_factory: pytest.TempPathFactory) -> None:
    names = [f"c{i}" for i in range(100)]
    rows = pyarrow.table({"who": range(50), **{name: np.arange(50) % 2 for name in names}})
    columns = {name: Integer(0, 1, missing=0) for name in names}
    with sealed(rows, tmp_path_factory.mktemp("many") / "v", columns=columns) as vault:
        made = vault.synthesize(epsilon=6, workload=[[name] for name in names])
    sets = _sets(made)
    assert len(sets) == len(set(sets)) == MOST_SETS
    assert [sum(len(c) == ways for c in sets) for ways in (1, 2, 3)] == [100, 250, 250]
    assert all(tuple(sorted(set(c))) == c and c[-1] < 100 for c in sets)


@given(st.integers(1, 9), st.integers(1, 3), st.integers(1, 200))
def test_sets_are_spread_evenly_over_all(width: int, size: int, most: int) -> None:
    domain = Domain(tuple(map(str, range(width))), (2,) * width)
    every, found = domain.sets(size), domain.spread(size, most)
    assert found == sorted(set(found))
    assert set(found) <= set(every)
    assert len(found) == min(most, len(every))
