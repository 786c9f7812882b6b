"""Count an invented day of visits, minute by minute, and draw it: python examples/stream.py.

The running total, its error beside that of a binary tree of the same guarantee, and the last hour.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from discreet.stream import Counter, Windowed
from discreet.stream.demo_day import day
from discreet.stream.plots import a_day

PRICE: dict[str, Any] = {"epsilon": 1, "delta": "1e-9"}


def charts() -> dict[str, Any]:
    """The pictures of this example, by name."""
    exact = day(6000)
    true = np.cumsum(exact)
    total = Counter(**PRICE, horizon=len(exact), name="visits so far").extend(exact)
    tree = Counter(**PRICE, horizon=len(exact), method="tree").extend(exact)
    hour = Windowed(60, **PRICE, name="visits in the last hour").extend(exact)
    last = true - np.concatenate([np.zeros(60, np.int64), true[:-60]])
    return {"stream": a_day(total, true, tree, hour, last)}


if __name__ == "__main__":
    place = Path("out")
    place.mkdir(exist_ok=True)
    for name, chart in charts().items():
        chart.save(str(place / f"{name}.svg"))
        print(place / f"{name}.svg")
