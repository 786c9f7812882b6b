"""The uses of a synthetic table: marginals, files, text."""

from __future__ import annotations

import copy
import json
import pickle
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from discreet.errors import NotForRelease, ParameterError
from discreet.release import Released
from discreet.synth import Synthetic, SyntheticAnswer
from tests.synth.tables import people, sealed


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synthetic]:
    with sealed(people(), tmp_path_factory.mktemp("synthetic") / "people.vault") as vault:
        yield vault.synthesize(epsilon=8)


def test_a_marginal_has_levels_counts_and_deviations(table: Synthetic) -> None:
    found = table.marginal(["married", "city"])
    assert found.columns == ("city", "married")
    assert found.levels == (("Oslo", "Bergen", "Rome", "Paris"), (False, True))
    assert found.counts.shape == found.deviations.shape == (4, 2)
    assert abs(found.counts.sum() - table.total) < 1
    assert abs(found.counts[0].sum() - 2000) < 200


def test_it_is_saved_and_read_back_to_the_last_row(table: Synthetic, tmp_path: Path) -> None:
    table.save(tmp_path / "people.synthetic")
    found = Synthetic.load(tmp_path / "people.synthetic")
    assert np.array_equal(found.model.marginal((0, 1, 2)), table.model.marginal((0, 1, 2)))
    assert found.to_arrow().equals(table.to_arrow())
    assert parquet.read_table(tmp_path / "people.synthetic" / "rows.parquet").equals(table.to_arrow())
    assert str(found.label) == str(table.label)
    with pytest.raises(ParameterError, match="loaded from a file"):
        found.compare(epsilon=1)


@pytest.mark.parametrize("damage", ["schema", "axes", "measurements", "label", "values", "variance"])
def test_a_damaged_file_is_refused(table: Synthetic, tmp_path: Path, damage: str) -> None:
    record = json.loads(json.dumps(table.to_json()))
    if damage == "values":
        record["measurements"][0]["values"] = "eJxjYAAAAAIAAQ=="
    elif damage == "variance":
        record["measurements"][0]["variance"] = -1
    else:
        del record[damage]
    with pytest.raises(ParameterError):
        Synthetic.from_json(record)
    (tmp_path / "synthetic.json").write_text("{")
    with pytest.raises(ParameterError, match="is not a synthetic table"):
        Synthetic.load(tmp_path)
    with pytest.raises(ParameterError, match="cannot be read"):
        Synthetic.load(tmp_path / "nowhere")


def test_it_has_a_label_a_receipt_and_json(table: Synthetic) -> None:
    assert isinstance(table, Released)
    assert table.receipt is table.cost is table.label.receipt
    record = json.loads(json.dumps(table.to_json(), allow_nan=False))
    assert record["schema"] == "discreet synthetic table 2"
    assert record["receipt"]["spent"]["exact"] == str(table.receipt.cost.rho)
    found = Synthetic.from_json(record)
    assert found.to_json() == record
    assert found.label == table.label


def test_a_file_of_version_1_is_read(table: Synthetic) -> None:
    record = table.to_json()
    record["description"] = record.pop("metadata")
    del record["receipt"], record["test_bits"]
    found = Synthetic.from_json({**record, "schema": "discreet synthetic table 1"})
    assert found.to_json() == table.to_json()


def test_a_table_from_test_bits_says_so_in_json_and_is_guarded(table: Synthetic) -> None:
    made = Synthetic.from_json(replace(table, test_bits=True).to_json())
    assert made.test_bits
    for way in (pickle.dumps, copy.copy, lambda it: it.expect_release("--json")):
        with pytest.raises(NotForRelease, match="predictable"):
            way(made)


def test_an_answer_has_the_label_of_the_table_and_costs_nothing(table: Synthetic) -> None:
    answer = table.ask("select avg(income) from people where age >= 30")
    assert isinstance(answer, Released)
    assert (answer.label.product, answer.label.receipt) == ("an answer of a synthetic table", table.receipt)
    assert answer.receipt.free
    assert answer.receipt.balances == table.receipt.balances
    assert (answer.estimate.value, answer.estimate.interval) == (answer.value, answer.interval)
    assert (answer.estimate.confidence, answer.estimate.basis) == (answer.confidence, "noise and model")
    record = json.loads(json.dumps(answer.to_json(), allow_nan=False))
    assert record["schema"] == "discreet synthetic answer 1"
    assert record["receipt"]["spent"] == {"exact": "0", "value": 0.0}
    read = SyntheticAnswer.from_json(record)
    assert read == answer
    assert read.label == answer.label
    with pytest.raises(ParameterError, match="The answer of a synthetic table is damaged"):
        SyntheticAnswer.from_json({**record, "how": "guessed"})


def test_a_file_from_before_persons_had_ids_is_read(table: Synthetic) -> None:
    record = json.loads(json.dumps(table.to_json()))
    del record["sizes"]
    assert Synthetic.from_json(record).sizes is None


def test_a_notebook_shows_the_first_of_its_own_rows(table: Synthetic) -> None:
    page, head = table._repr_html_(), table.to_pandas().head()
    rows = re.findall(r"<tr>(.*?)</tr>", page)[1:]
    first = [re.findall(r"<td[^>]*>(.*?)</td>", row)[0] for row in rows]
    assert first == ["null" if value != value else f"{value:.12g}" for value in head.iloc[:, 0]]


def test_a_table_of_more_rows_than_are_drawn_is_still_shown(table: Synthetic) -> None:
    page = replace(table, rows=10**10)._repr_html_()
    assert "rows of 5 columns can be drawn" in page
    assert "This used " in page


def test_it_says_what_it_is_and_what_it_cost(table: Synthetic) -> None:
    text = str(table)
    assert "5 columns" in text and "This used " in text  # noqa: PT018
    assert "ε = 8 at δ = 1e-9" in " ".join(table.notes)
    assert "chosen before looking at it" in text
    assert table.label.product == "a synthetic table"
    assert "<table" in table._repr_html_()
    assert "discreet Gaussian" not in text
