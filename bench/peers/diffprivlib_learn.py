"""Fit diffprivlib's logistic and linear regression on the learning benchmark, in an environment of its own.

It has no (ε, δ) variant: its ε is pure, which is more than the others promise, and its neighbours replace a row.
Rows are scaled to norm 1 at most, its documented way, on two maps of the columns: the plain one, and the one with
hats. C = 1 is its default. It imports with scikit-learn 1.7 and not with newer ones. Prints JSON.
Usage: `diffprivlib_learn.py SPLITS EPSILON …`
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import numpy as np
from bench.tables_learn import Floats, Table, adult, auc, clipped, hats, present, split
from diffprivlib.models import LinearRegression, LogisticRegression

SEEDS = 5
"""Of the linear regression."""


def classified(table: Table, rows: Floats, epsilon: float, seed: int) -> dict[str, float]:
    """Fit one split, and return how well it did."""
    train, test = split(len(table), seed)
    model = LogisticRegression(epsilon=epsilon, data_norm=1.0, random_state=seed, max_iter=1000)
    start = time.process_time()
    model.fit(rows[train], table.target[train])
    found = {"seconds": time.process_time() - start}
    found["accuracy"] = float(model.score(rows[test], table.target[test]))
    if table.classes == 2:
        found["auc"] = auc(table.target[test], model.decision_function(rows[test]))
    return found


def regressed(table: Table, epsilon: float, seed: int) -> dict[str, float]:
    """Fit a linear regression of the target as ±1 on the numbers and sex, all that its noise allows."""
    names = [name for name, kind in table.kinds.items() if getattr(kind, "size", 2) == 2]
    rows = np.stack([table.columns[n] / getattr(table.kinds[n], "divisor", 1) for n in names], axis=1)
    values = 2.0 * table.target - 1
    train, test = split(len(table), seed)
    model = LinearRegression(epsilon=epsilon, bounds_X=(0, 1), bounds_y=(-1, 1), random_state=seed)
    start = time.process_time()
    model.fit(rows[train], values[train])
    seconds = time.process_time() - start
    off = ((values[test] - model.predict(rows[test])) ** 2).sum()
    return {"seconds": seconds, "r2": float(1 - off / ((values[test] - values[test].mean()) ** 2).sum())}


def main(splits: int, epsilons: list[str]) -> None:
    warnings.filterwarnings("ignore")
    results: dict[str, dict[str, dict[str, list[Any]]]] = {}
    for name, read in present().items():
        table = read()
        for label, rows in (("diffprivlib", clipped(table)), ("diffprivlib on hats", hats(table))):
            results.setdefault(name, {})[label] = {
                e: [classified(table, rows, float(e), s) for s in range(splits)] for e in epsilons
            }
    if "Adult" in results:
        seeds = range(min(SEEDS, splits))
        results["Adult, linear regression"] = {
            "diffprivlib, 7 columns": {e: [regressed(adult(), float(e), s) for s in seeds] for e in epsilons}
        }
    print(json.dumps(results))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
