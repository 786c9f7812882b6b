"""The sums that an engine computes for an oracle have the declared sensitivity, and no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

from discreet.ledger import Budget
from discreet.mechanisms.exact import opened
from discreet.oracle.exact_sums import Sums
from discreet.oracle.linear_query import GRAIN, decompose
from discreet.query import cache_key
from discreet.query.bins import axes_of
from discreet.schema import Integer
from discreet.schema.metadata import UNIT
from discreet.vault.vault import Vault

ROWS_PER_PERSON = 2
OTHERS = [("a", 3), ("b", 7)]


def exact(folder: Path, rows: list[tuple[str, int]], text: str) -> tuple[Any, Any]:
    """Return the sealed sum of a question, and the sealed marginal of its column."""
    table = pyarrow.table({"who": [who for who, _ in rows], "age": [age for _, age in rows]})
    with Vault.seal(
        table,
        to=folder / "people.vault",
        person="who",
        rows_per_person=ROWS_PER_PERSON,
        columns={"age": Integer(0, 9)},
        budget=Budget(1),
    ) as vault:
        axes = axes_of(vault.metadata, ["age"], None)
        wanted = decompose(cache_key.parsed(text, vault.metadata), axes)
        query = wanted.count if wanted.total is None else wanted.total
        sums = Sums(vault._engine(vault.metadata), ROWS_PER_PERSON * UNIT)
        return sums.value(query, sums.prepare(query)), sums.marginal(*sums.prepare_marginal(axes))


@pytest.mark.parametrize("text", ["select count(*) from people where age >= 5", "select sum(age) from people"])
@pytest.mark.parametrize("rows", [1, 2, 7])
def test_a_sum_and_a_marginal_have_the_declared_sensitivity(tmp_path: Path, text: str, rows: int) -> None:
    (tmp_path / "before").mkdir()
    before = exact(tmp_path / "before", OTHERS, text)
    after = exact(tmp_path, [*OTHERS, *[("new", 9)] * rows], text)
    changed = [np.abs(np.subtract(opened(b), opened(a))).sum() for a, b in zip(before, after, strict=True)]
    for distance, sealed in zip(changed, after, strict=True):
        assert distance <= sealed.sensitivity.l1
        if rows == ROWS_PER_PERSON:
            assert distance == sealed.sensitivity.l1
    assert after[0].sensitivity.each == ROWS_PER_PERSON * UNIT * GRAIN
    assert after[0].sensitivity.monotonic == "up"
