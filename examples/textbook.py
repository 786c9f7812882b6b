"""The textbook's query release on public data: how many mistakes it makes, and what its theorems are worth.

make pictures
"""

from __future__ import annotations

import altair
import numpy as np
from numpy.typing import NDArray

from discreet.oracle import OnlineRelease, Queries
from discreet.oracle.textbook.comparison import compared
from discreet.oracle.textbook.plots import comparison, mistakes

ROWS, COLUMNS = 10**9, 6


def truth() -> NDArray[np.int64]:
    """A made-up table of six yes-or-no columns that depend on each other."""
    codes = np.arange(2**COLUMNS)
    bits = (codes[:, None] >> np.arange(COLUMNS)) & 1
    agree = (bits[:, :-1] == bits[:, 1:]).sum(axis=1)
    weights = np.exp(0.9 * agree - 0.8 * bits.sum(axis=1))
    counts: NDArray[np.int64] = np.floor(ROWS * weights / weights.sum()).astype(np.int64)
    return counts


def stubborn(alpha: float) -> OnlineRelease:
    """The worst for it: all rows in one cell, and queries about it that are wrong by α each, and by no more."""
    cell = np.eye(2**COLUMNS)[0]
    release = OnlineRelease(cell, alpha)
    while (gap := 1 - release.hypothesis[0]) >= alpha:
        release.ask(cell * min(1.0, 1.000001 * alpha / gap))
    return release


def charts() -> dict[str, altair.TopLevelMixin]:
    """Both pictures."""
    counts, alpha = truth(), 0.05
    asked = [1, 3, 10, 30, 100, 300, 1000, 3000, 10_000]
    points = compared(
        counts,
        Queries.marginals([2] * COLUMNS, ways=3),
        epsilon=1,
        delta="1e-6",
        failure="0.05",
        asked=asked,
        promised=[10**5, 10**6, 10**7, 10**8],
    )
    subtitle = f"{ROWS:,} rows, {2**COLUMNS} cells, ε = 1"
    return {"mistakes": mistakes(stubborn(alpha), alpha), "textbook": comparison(points, subtitle)}


if __name__ == "__main__":
    for name, chart in charts().items():
        chart.save(f"{name}.png", scale_factor=2)
