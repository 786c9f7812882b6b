"""A preview knows the columns of its answer, names and types of Arrow, from public facts, before any charge."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from discreet.ledger import Budget
from discreet.query.preview import Preview
from discreet.schema import Boolean, Category, Date, Datetime, Integer, Real, Text
from discreet.vault.vault import Vault

QUESTIONS = [
    "select count(*) from t",
    "select avg(pay) as mean, city, count(*) from t group by city",
    "select flag, ward, day, stddev(pay), sum(age) from t where day < date '2024-01-03' group by flag, ward, day",
    "select median(day), median(at), median(age) from t",
    "select at, count(*) n, sum(pay) as n_low from t group by at having count(*) > -1000 order by 2 limit 3",
    "select floor(pay / 2.5) * 2.5 as bin, count(*) from t group by 1",
    "select note, count(*) from t group by note",
    "select count(*) from t group by city",
]


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    place: Path = tmp_path_factory.mktemp("preview") / "t.vault"
    rows = {
        "who": [*range(50)],
        "age": [i % 90 for i in range(50)],
        "pay": [float(i % 10) for i in range(50)],
        "city": ["Oslo" for _ in range(50)],
        "ward": [i % 3 for i in range(50)],
        "flag": [i % 2 == 0 for i in range(50)],
        "day": [date(2024, 1, 1 + i % 5) for i in range(50)],
        "at": [f"2024-01-01 0{i % 5}:00:00" for i in range(50)],
        "note": ["a" for _ in range(50)],
    }
    columns: Any = {
        "age": Integer(0, 110),
        "pay": Real(0, 10, "0.5"),
        "city": Category(["Bergen", "Oslo"]),
        "ward": Category([0, 1, 2]),
        "flag": Boolean(),
        "day": Date("2024-01-01", "2024-01-05"),
        "at": Datetime("2024-01-01", "2024-01-02", "1h"),
        "note": Text(),
    }
    budget = Budget(1000, "1e-3")
    with Vault.seal(
        pyarrow.table(rows), to=place, person="who", columns=columns, budget=budget, name="t"
    ) as sealed:
        yield sealed


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_schema_of_a_preview_is_that_of_the_answer(vault: Vault, question: str) -> None:
    price: Any = {"epsilon": 5, **({"keys_delta": "1e-5"} if "note" in question else {})}
    before = vault.ledger.balance().used
    previewed = vault.preview(question, **price)
    assert vault.ledger.balance().used == before
    answer = vault.ask(question, **price).to_arrow()
    assert previewed.schema == answer.schema.remove_metadata()
    assert Preview.from_json(previewed.to_json()).columns == previewed.columns
    parts = {column.name: column.part for column in previewed.columns}
    assert [name for name in answer.column_names if parts[name] == "value"]


def test_a_schema_does_not_depend_on_which_groups_are_left(vault: Vault) -> None:
    nothing = "select city, count(*) from t group by city having count(*) > 1000000"
    assert vault.preview(nothing, epsilon=1).schema.field("city").type == pyarrow.string()
    assert vault.preview(nothing.replace("city", "ward"), epsilon=1).schema.field("ward").type == pyarrow.int64()
