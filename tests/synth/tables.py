"""Generate tables for the tests of synthesis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray

from discreet.ledger import Budget
from discreet.schema import Boolean, Category, Column, Date, Integer, Real
from discreet.synth.marginals import Domain
from discreet.vault.vault import Vault

CITIES = ["Oslo", "Bergen", "Rome"]
COLUMNS: dict[str, Column] = {
    "age": Integer(0, 110),
    "city": Category([*CITIES, "Paris"], missing="Paris"),
    "income": Real(0, 200_000, step=100, missing=0),
    "married": Boolean(missing=False),
    "day": Date("2024-01-01", "2024-12-31", missing="2024-01-01"),
}


def tied(rows: int = 20_000, seed: int = 0) -> tuple[Domain, NDArray[np.int64]]:
    """Return codes of five columns: b follows a, c follows b, d is a xor e of two values each."""
    rng = np.random.default_rng(seed)
    a, noise = rng.integers(0, 6, rows), rng.random((4, rows))
    b = np.where(noise[0] < 0.7, a, rng.integers(0, 6, rows))
    c = np.where(noise[1] < 0.6, b // 2, rng.integers(0, 4, rows))
    e = rng.integers(0, 2, rows)
    d = np.where(noise[2] < 0.9, (a % 2) ^ e, rng.integers(0, 2, rows))
    return Domain(tuple("abcde"), (6, 6, 4, 2, 2)), np.stack([a, b, c, d, e], axis=1)


def people(rows: int = 4000, seed: int = 0) -> pyarrow.Table:
    """Return a table of people with ages, incomes that depend on them, and some ages missing."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, rows)
    city = rng.choice(CITIES, rows, p=[0.5, 0.3, 0.2])
    income = np.where(age > 20, rng.lognormal(10, 0.5, rows), 0.0) + 8000.0 * (city == "Oslo")
    days = np.datetime64("2024-01-01") + rng.integers(0, 366, rows).astype("timedelta64[D]")
    return pyarrow.table(
        {
            "who": np.arange(rows),
            "age": pyarrow.array(age, mask=rng.random(rows) < 0.05),
            "city": city,
            "income": income,
            "married": (age > 25) & (rng.random(rows) < 0.6),
            "day": pyarrow.array(days, pyarrow.date32()),
        }
    )


def sealed(table: Any, place: Any, **changes: Any) -> Vault:
    """Seal such a table into a vault."""
    given = {"columns": COLUMNS, "budget": Budget(200, "1e-9"), "person": "who", "name": "people", **changes}
    return Vault.seal(table, to=place, **given)
