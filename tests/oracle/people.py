"""Make a small town for the tests of the oracle: its rows, its vault, and its true counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow

from discreet.ledger import Budget
from discreet.oracle import Oracle
from discreet.schema import Category, Column, Integer, Real
from discreet.vault.vault import Vault

CITIES = ["Bergen", "Hamar", "Oslo", "Tromsø"]
COLUMNS: dict[str, Column] = {
    "age": Integer(0, 99),
    "city": Category(CITIES),
    "pay": Real(0, 9000, 1),
    "ill": Integer(0, 1, missing=0),
}
NAMES = [*COLUMNS]
RHO = "1/2"


def rows(count: int = 20_000, seed: int = 1) -> dict[str, list[Any]]:
    """Return rows in which all columns depend on each other, and some values are missing."""
    rng = np.random.default_rng(seed)
    city = rng.choice(4, count, p=[0.2, 0.1, 0.6, 0.1])
    age = np.clip(rng.normal(35 + 5 * city, 15, count).round(), 0, 99).astype(int)
    pay = np.clip(rng.normal(40 * age + 500 * city, 600, count), 0, 9000).round(0)
    ill = rng.random(count) < 0.02 + 0.004 * age
    gone = rng.random(count) < 0.03
    return {
        "age": [None if miss else int(a) for a, miss in zip(age, gone, strict=True)],
        "city": [CITIES[c] for c in city],
        "pay": pay.tolist(),
        "ill": [int(i) for i in ill],
    }


def town(folder: Path, count: int = 20_000, *, budget: Budget | None = None, seed: int = 1) -> Vault:
    return Vault.seal(
        pyarrow.table(rows(count, seed)),
        to=folder / "town.vault",
        name="people",
        person=None,
        columns=COLUMNS,
        budget=budget or Budget(20, "1e-6"),
    )


def made(vault: Vault, **changes: Any) -> Oracle:
    given: dict[str, Any] = {"epsilon": 6, "within": "0.02", "bins": {"age": 20, "pay": 18}, **changes}
    return vault.oracle(NAMES, **given)


def true_count(table: dict[str, list[Any]], **wanted: Any) -> int:
    """Return how many rows meet all conditions: a pair is a range, anything else a value."""
    met = np.ones(len(table["age"]), bool)
    for name, want in wanted.items():
        column = np.array(table[name], str if name == "city" else float)  # a missing number becomes NaN
        met &= (want[0] <= column) & (column <= want[1]) if isinstance(want, tuple) else column == want
    return int(met.sum())
