"""Ids for synthetic rows: as many rows to an id as persons have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.ledger import Budget
from discreet.schema import Integer
from discreet.synth import Synthetic
from discreet.synth.person_ids import consistent, ids
from discreet.vault.vault import Vault

PERSONS = 3000


def town(folder: Path, person: str | None = "who", rows_per_person: int = 4) -> Vault:
    """Return rows: a third of the persons has one row, a third three, and a third seven, which count as four."""
    who = [i for i in range(PERSONS) for _ in range((1, 3, 7)[i % 3])]
    table = pyarrow.table({"who": who, "age": [i % 50 for i in who]})
    return Vault.seal(
        table,
        to=folder / "town.vault",
        person=person,
        rows_per_person=rows_per_person,
        columns={"age": Integer(0, 99)},
        budget=Budget(40, "1e-6"),
    )


def test_persons_have_as_many_rows_as_they_had(tmp_path: Path) -> None:
    with town(tmp_path) as vault:
        table = vault.synthesize(epsilon=20, persons=True)
        rows = table.to_arrow()
        assert rows.column_names == ["who", "age"]
        persons = np.bincount(np.bincount(rows["who"].to_numpy()), minlength=5)
        np.testing.assert_allclose(persons, [0, 1000, 0, 1000, 1000], atol=60)  # noise of deviation 2.4 at most
        assert any("drawn independently" in note for note in table.notes)
        assert any("number of rows" in noise.on for noise in table.label.noise)
        assert vault.synthesize(epsilon=20, persons=True).free
        assert not vault.synthesize(epsilon=20).free  # a table without ids is another release
        table.save(tmp_path / "saved")
        assert Synthetic.load(tmp_path / "saved").to_arrow().equals(rows)


@pytest.mark.parametrize("most", [1, 4])
def test_noise_is_for_all_the_rows_that_a_person_may_have(tmp_path: Path, most: int) -> None:
    with town(tmp_path, rows_per_person=most) as vault:
        (measured,) = vault.synthesize(epsilon=6, bins={"age": 4}).measurements
        rho = float(vault.ledger.balance().spent.rho)
    assert measured.variance == pytest.approx(most**2 / (2 * rho), rel=1e-5)  # Δ²/2ρ, in rows


def test_ids_are_refused_where_they_have_no_meaning_and_nothing_is_charged(tmp_path: Path) -> None:
    with town(tmp_path, person=None, rows_per_person=1) as vault:
        with pytest.raises(ParameterError, match="persons=False"):
            vault.synthesize(epsilon=6, persons=True)
        assert vault.ledger.balance().charges == 0
    (tmp_path / "many").mkdir()
    with (
        town(tmp_path / "many", rows_per_person=2000) as vault,
        pytest.raises(ParameterError, match="rows_per_person=1024"),
    ):
        vault.synthesize(epsilon=6, persons=True)


@given(st.lists(st.integers(-50, 200), min_size=1, max_size=12), st.integers(1, 500), st.integers(0, 3))
def test_every_row_has_a_person_and_no_person_more_rows_than_there_are_sizes(
    counts: list[int], rows: int, seed: int
) -> None:
    found = ids(counts, rows, seed=seed)
    sizes = np.bincount(found)
    assert len(found) == rows
    assert sizes.min() >= 1
    assert sizes.max() <= len(counts)


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=20))
def test_consistent_counts_are_not_negative_and_keep_their_sum_and_order(counts: list[int]) -> None:
    found = consistent(counts)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(max(1, sum(counts)), rel=1e-9)
    if sum(counts) >= 1:
        assert [*np.argsort(found, kind="stable")[np.sort(found) > 0]] == [
            place for place in np.argsort(counts, kind="stable") if found[place] > 0
        ]
