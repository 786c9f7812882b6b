"""A prior, from a public table or an earlier oracle, makes more answers free and changes nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

from discreet.errors import ParameterError
from discreet.oracle.prior import of_rows, restored
from discreet.query.builder import where
from tests.oracle.people import CITIES, NAMES, made, rows, town


def test_a_public_table_is_counted_by_bin(tmp_path: Path) -> None:
    with town(tmp_path, 100) as vault:
        with made(vault) as oracle:
            axes = oracle.axes
        table = pyarrow.table(rows(5000, 7))
        prior = restored(of_rows(table, axes, vault.metadata), axes)
        assert prior is not None
        assert prior((1,)).sum() == pytest.approx(1)
        counts = np.array([rows(5000, 7)["city"].count(city) for city in CITIES]) / 5000
        np.testing.assert_allclose(prior((1,))[:4], 0.98 * counts + 0.02 / 5)
        np.testing.assert_allclose(prior((0, 1)).sum(1), prior((0,)))
        assert (prior((0, 1, 2)) > 0).all()
        with pytest.raises(ParameterError, match="no column pay"):
            of_rows({"age": [1], "city": ["Oslo"]}, axes, vault.metadata)


def test_with_a_public_table_the_first_answers_are_close_and_the_oracle_is_found_again(tmp_path: Path) -> None:
    public = pyarrow.table(rows(20_000, 8))
    with town(tmp_path) as vault:
        with made(vault, prior=public) as oracle:
            found = oracle.marginal("age", "pay")
            answer = oracle.ask(where(age=(20, 39), city="Oslo"))
        with made(vault, prior=public) as again:
            assert again.ask(where(age=(20, 39), city="Oslo")).value == answer.value
            assert again.path == oracle.path
        with made(vault, start="singles", name="alone") as alone:
            blind = alone.marginal("age", "pay")
        truth = np.histogram2d(
            [100 if age is None else age for age in rows()["age"]],
            rows()["pay"],
            bins=[[*range(0, 101, 5), 101], [*range(0, 9001, 500)[:-1], 9002]],
        )[0]
        assert np.abs(found[:21, :18] - truth).sum() < 0.5 * np.abs(blind[:21, :18] - truth).sum()


def test_the_next_block_starts_from_what_the_last_one_learned(tmp_path: Path) -> None:
    (tmp_path / "then").mkdir()
    (tmp_path / "now").mkdir()
    with town(tmp_path / "then", seed=1) as then, town(tmp_path / "now", seed=2) as now, made(then) as before:
        options: dict[str, Any] = {"within": "0.02", "bins": {"age": 20, "pay": 18}}
        with now.oracle(NAMES, epsilon="0.2", prior=before, **options) as after:
            learned = np.abs(after.marginal("age", "city") - before.marginal("age", "city")).sum()
            assert learned < 0.25 * after.rows
            answer = after.ask(where(age=(20, 39), city="Oslo"))
            path, value = after.path, answer.value
        before.ask(where(age=(1, 99)))  # what the last one learns later changes nothing
        with now.oracle(NAMES, epsilon="0.2", prior=before, **options) as again:
            assert again.path == path
            assert again.ask(where(age=(20, 39), city="Oslo")).value == value
        with pytest.raises(ParameterError, match="other columns or bins"):
            now.oracle(NAMES, epsilon="0.2", prior=before)
        assert now.ledger.balance().charges == 1
