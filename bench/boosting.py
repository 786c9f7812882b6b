"""Private boosting on Adult and on scikit-learn's breast cancer: accuracy and AUC, mean over splits.

Rows are split 80 to 20 by `default_rng(1000 + seed)`. Each row is a person, neighbours add or remove one, δ =
1e-5. The estimators have their defaults, also the share for noisy margins. The ranges and categories of Adult
are those of its domain file; those of breast cancer are declared by hand. Noise is the product's own, exact and
unseeded, so figures vary a little from run to run. CPU seconds are of one thread, for a fit from codes.

    python -m bench.boosting [path to adult.csv and adult-domain.json]     or DISCREET_ADULT=path
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

from discreet.engines.examples import WHOLE, MemoryExamples
from discreet.learn.boosting import BoostedHistograms, BoostedStumps
from discreet.learn.encoding import encoded
from discreet.learn.price import Price
from discreet.learn.training import Task, silent
from discreet.schema import Boolean, Category, Column, Integer, Real

DELTA = "1e-5"
EPSILONS = ("0.1", "0.5", "1", "2")
NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
TARGET = "income>50K"
LEAST = {"BoostedStumps": 0.907, "BoostedHistograms": 0.909}  # AUC on Adult at ε = 1
TOPS = [40, 50, 250, 3000, 1, 1, 1, 1, 1, 1, 5, 8, 40, 800, 1, 1, 1, 1, 1, 1, 50, 60, 300, 5000, 1, 2, 2, 1, 1, 1]


@dataclass(frozen=True)
class Table:
    """Codes of all rows, and the task."""

    name: str
    task: Task
    codes: dict[str, NDArray[np.int64]]
    splits: int

    def split(self, seed: int) -> tuple[dict[str, NDArray[np.int64]], dict[str, NDArray[np.int64]]]:
        """Return the codes of training and of test."""
        size = len(self.codes[self.task.target])
        order = np.random.default_rng(1000 + seed).permutation(size)
        parts = order[: int(0.8 * size)], order[int(0.8 * size) :]
        train, test = ({name: column[part] for name, column in self.codes.items()} for part in parts)
        return train, test


def adult(folder: Path) -> Table:
    """Return Adult, integer coded."""
    sizes = json.loads((folder / "adult-domain.json").read_text())
    names = (folder / "adult.csv").open().readline().strip().split(",")
    rows = np.loadtxt(folder / "adult.csv", delimiter=",", skiprows=1, dtype=np.int64)
    columns: dict[str, Column] = {
        name: Integer(0, sizes[name] - 1, missing=0)
        if name in NUMBERS
        else Category(list(range(sizes[name])), missing=0)
        for name in names
        if name != TARGET
    }
    codes = {name: rows[:, place] for place, name in enumerate(names)}
    return Table("Adult", Task(columns, TARGET, Boolean(missing=False)), codes, 10)


def breast_cancer() -> Table:
    """Return breast cancer, with ranges a little wider than any value."""
    X, y = load_breast_cancer(return_X_y=True)
    columns: dict[str, Column] = {
        f"x{i}": Real(0, top, step=str(Fraction(top, 1000)), missing=0) for i, top in enumerate(TOPS)
    }
    codes = {**encoded(X, columns), "benign": np.asarray(y, np.int64)}
    return Table("breast cancer", Task(columns, "benign", Boolean(missing=False)), codes, 20)


def measured(kind: Any, table: Table, epsilon: str) -> tuple[float, float, float]:
    """Return accuracy, AUC and CPU seconds of a fit."""
    found = []
    for seed in range(table.splits):
        train, test = table.split(seed)
        started, model = time.process_time(), kind()
        training = model.plan(table.task, Price.alone(epsilon, DELTA))
        right = train[table.task.target]
        model.task_ = table.task
        model.restore(training.run(MemoryExamples(train, np.full(len(right), WHOLE)), silent))
        seconds = time.process_time() - started
        scores, right = model._scores(model.cells_.place(test)), test[table.task.target]
        found.append((float(((scores > 0) == right).mean()), float(roc_auc_score(right, scores)), seconds))
    accuracy, area, seconds = np.mean(found, axis=0).tolist()
    return accuracy, area, seconds


def main() -> None:
    """Print one line for each table, estimator and ε."""
    given = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("DISCREET_ADULT", "")
    tables = [*([adult(Path(given))] if given else []), breast_cancer()]
    for table in tables:
        for kind in (BoostedStumps, BoostedHistograms):
            for epsilon in EPSILONS:
                accuracy, area, seconds = measured(kind, table, epsilon)
                line = f"{table.name:13} {kind.__name__:17} ε = {epsilon:3} accuracy {accuracy:.4f} AUC {area:.4f}"
                least = LEAST[kind.__name__] if table.name == "Adult" and epsilon == "1" else 0.0
                aim = f"  (at least {least}: {'yes' if area >= least else 'NO'})" if least else ""
                print(f"{line} CPU {seconds:.2f} s{aim}", flush=True)


if __name__ == "__main__":
    main()
