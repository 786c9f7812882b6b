"""The table and the question that the query benchmarks give to everyone, as data that cross process borders.

Rows about persons, of whom few have thousands and many have two or three: the share of the r-th of P persons falls
as r^(-1/2), a Pareto law of index 2. Cities follow Zipf's law, incomes are log-normal.
"""

from __future__ import annotations

from typing import Any

ROWS, PERSONS = 2_000_000, 200_000
CITIES = [f"c{i:02d}" for i in range(50)]
INCOMES = 100_000
"""Incomes above count as this much."""
ROWS_PER_PERSON = 10
EPSILON = 1
"""For one answer: the count and the sum of incomes of every city."""


def people(rows: int, persons: int, seed: int = 0) -> Any:
    """Return a pyarrow table of `person`, `city` and `income`."""
    import numpy as np
    import pyarrow as pa

    draw = np.random.default_rng(seed)
    person = (persons * draw.random(rows) ** 2).astype(np.int64)
    zipf = np.cumsum(1 / np.arange(1, len(CITIES) + 1))
    city = np.searchsorted(zipf / zipf[-1], draw.random(rows))
    return pa.table(
        {
            "person": person * 7_919 % persons,  # nobody's number tells how many rows they have
            "city": pa.array(CITIES).take(pa.array(city)),
            "income": np.round(draw.lognormal(10.5, 0.6, rows), 2),
        }
    )
