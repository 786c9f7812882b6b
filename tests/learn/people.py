"""Make people to learn from: older ones and those in Oslo are rather rich."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow

from discreet.ledger import Budget
from discreet.schema import Boolean, Category, Column, Integer, Text
from discreet.vault.vault import Vault

COLUMNS: dict[str, Column] = {
    "age": Integer(16, 90, missing=16),
    "town": Category(["Oslo", "Bergen", "Rome"], missing="Rome"),
    "rich": Boolean(missing=False),
    "word": Text(),
}
FEATURES = {name: COLUMNS[name] for name in ("age", "town")}
ROWS = 3000


def people(rows: int = ROWS, seed: int = 0) -> pyarrow.Table:
    """Return a table of people, one row each."""
    rng = np.random.default_rng(seed)
    age, town = rng.integers(16, 91, rows), rng.choice(["Oslo", "Bergen", "Rome"], rows)
    score = (age - 55) / 6 + 1.5 * (town == "Oslo")
    rich = rng.random(rows) < 1 / (1 + np.exp(-score))
    return pyarrow.table({"who": np.arange(rows), "age": age, "town": town, "rich": rich, "word": ["a"] * rows})


def sealed(folder: Path, table: Any = None, **changes: Any) -> Vault:
    """Return a vault of such people with a budget of ε = 2 and a δ."""
    given: dict[str, Any] = {"columns": COLUMNS, "budget": Budget(2, "1e-6"), "person": "who", "name": "people"}
    return Vault.seal(people() if table is None else table, to=folder / "people.vault", **{**given, **changes})
