"""Fit interpret's DP-EBM on the learning benchmark, in an environment of its own.

An additive model by boosting on private histograms, (ε, δ) under its own accounting, with every type and range
declared. It has two classes only. Its categories come from the data by name, which no budget pays for. One thread.
Prints JSON.
Usage: `interpret_learn.py SPLITS DELTA EPSILON …`
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import numpy as np
from bench.tables_learn import Number, Table, auc, present, split
from interpret.privacy import DPExplainableBoostingClassifier


def classified(table: Table, epsilon: float, delta: float, seed: int) -> dict[str, float]:
    """Fit one split, and return how well it did."""
    rows = np.stack(list(table.columns.values()), axis=1).astype(float)
    kinds = list(table.kinds.values())
    bounds = {i: (kind.low, kind.high) for i, kind in enumerate(kinds) if isinstance(kind, Number)}
    train, test = split(len(table), seed)
    model = DPExplainableBoostingClassifier(
        epsilon=epsilon,
        delta=delta,
        feature_types=["continuous" if isinstance(kind, Number) else "nominal" for kind in kinds],
        privacy_bounds=bounds,
        random_state=seed,
        n_jobs=1,
    )
    start = time.process_time()
    model.fit(rows[train], table.target[train])
    seconds = time.process_time() - start
    score = model.predict_proba(rows[test])[:, 1]
    accuracy = float((model.predict(rows[test]) == table.target[test]).mean())
    return {"seconds": seconds, "accuracy": accuracy, "auc": auc(table.target[test], score)}


def main(splits: int, delta: float, epsilons: list[str]) -> None:
    warnings.filterwarnings("ignore")
    results: dict[str, dict[str, dict[str, list[Any]]]] = {}
    for name, read in present().items():
        table = read()
        if table.classes == 2:
            runs = {e: [classified(table, float(e), delta, s) for s in range(splits)] for e in epsilons}
            results[name] = {"DP-EBM": runs}
    print(json.dumps(results))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:])
