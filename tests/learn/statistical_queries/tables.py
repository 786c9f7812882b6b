"""Generate tables for the tests of statistical queries and finite classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow

from discreet.learn.statistical_queries import Sample
from discreet.ledger import Budget
from discreet.schema import Boolean, Category, Column, Integer, Real
from discreet.vault.vault import Vault

COLUMNS: dict[str, Column] = {
    "age": Integer(0, 99),
    "city": Category(["Oslo", "Rome", "Bergen"], other="elsewhere"),
    "pay": Real(0, 1000, step=10, outside="missing"),
    "ill": Boolean(),
}


def rows(count: int = 2000, seed: int = 0) -> dict[str, list[Any]]:
    """Return rows in which the old and those from Rome are ill, with some values missing or out of bounds."""
    rng = np.random.default_rng(seed)
    age = rng.integers(-5, 105, count)
    city = rng.choice(["Oslo", "Rome", "Bergen", "Atlantis"], count)
    pay = rng.normal(500, 300, count)
    ill = ((age >= 60) | (city == "Rome")) ^ (rng.random(count) < 0.05)
    return {
        "age": [None if miss else int(a) for a, miss in zip(age, rng.random(count) < 0.05, strict=True)],
        "city": [str(c) for c in city],
        "pay": pay.tolist(),
        "ill": [bool(i) for i in ill],
    }


def sample(count: int = 2000, seed: int = 0) -> Sample:
    return Sample.of(rows(count, seed), COLUMNS)


def sealed(place: str | Path, table: Any, **changes: Any) -> Vault:
    """Seal rows into a vault, every row a person of its own unless told otherwise."""
    given: dict[str, Any] = {
        "columns": COLUMNS,
        "budget": Budget(100),
        "person": None,
        "name": "people",
        **changes,
    }
    source = pyarrow.table(table) if isinstance(table, dict) else table
    return Vault.seal(source, to=place, **given)
