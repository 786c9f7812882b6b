"""The uses of a synthetic table: marginals, files, text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from discreet.errors import ParameterError
from discreet.synth import Synthetic
from discreet.synth.serialize import read, written
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
    record = json.loads(json.dumps(written(table)))
    if damage == "values":
        record["measurements"][0]["values"] = "eJxjYAAAAAIAAQ=="
    elif damage == "variance":
        record["measurements"][0]["variance"] = -1
    else:
        del record[damage]
    with pytest.raises(ParameterError):
        read(record)
    (tmp_path / "synthetic.json").write_text("{")
    with pytest.raises(ParameterError, match="is not a synthetic table"):
        Synthetic.load(tmp_path)
    with pytest.raises(ParameterError, match="cannot be read"):
        Synthetic.load(tmp_path / "nowhere")


def test_a_file_from_before_persons_had_ids_is_read(table: Synthetic) -> None:
    record = json.loads(json.dumps(written(table)))
    del record["sizes"]
    assert read(record).sizes is None


def test_a_notebook_shows_the_first_of_its_own_rows(table: Synthetic) -> None:
    assert table.to_pandas().head().to_html(index=False) in table._repr_html_()


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
