"""Fit Discreet's estimators on the tables of the learning benchmark, through the public face.

Everything that the benchmark knows of `discreet.learn` stands here: the schema of a table as declared columns, the
frame that an estimator is given, and which estimator is asked for what.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas

import discreet as dp
from bench.tables_learn import Codes, Floats, Number, Rows, Table, auc, split
from discreet import learn
from discreet.schema import Column

DELTA = "1e-5"


def declared(table: Table) -> dict[str, Column]:
    """Return what the curator of a table would declare: ranges and lists, none of them from the rows."""
    return {name: _column(kind) for name, kind in table.kinds.items()}


def frame(table: Table, rows: Rows) -> Any:
    """Return some rows as a data frame."""
    return pandas.DataFrame({name: values[rows] for name, values in table.columns.items()})


CLASSIFIERS: dict[str, tuple[str, str]] = {
    "Discreet": ("LogisticRegression", DELTA),
    "Discreet, pure ε": ("LogisticRegression", "0"),
    "Discreet, boosted stumps": ("BoostedStumps", DELTA),
    "Discreet, boosted histograms": ("BoostedHistograms", DELTA),
}
"""The estimator and its δ, by the name that is printed. All its other parameters are defaults."""
REGRESSION = "LinearRegression"


def absent() -> list[str]:
    """Return the estimators of this benchmark that this version of Discreet lacks: their figures will be NaN."""
    names = dict.fromkeys([*(name for name, _ in CLASSIFIERS.values()), REGRESSION])
    return [name for name in names if not hasattr(learn, name)]


def classifier(system: str, table: Table, epsilon: str) -> Any:
    """Return an estimator for the classes of a table."""
    name, delta = CLASSIFIERS[system]
    made = getattr(learn, name)
    return made(epsilon=epsilon, delta=delta, columns=declared(table), classes=list(range(table.classes)))


def classified(system: str, table: Table, epsilon: str, seed: int) -> dict[str, float]:
    """Fit one split, and return how well it did and what it took."""
    train, test = split(len(table), seed)
    model, rows, target = classifier(system, table, epsilon), frame(table, train), table.target[train]
    start = time.process_time()
    model.fit(rows, target)
    found = {"seconds": time.process_time() - start}
    held_out = frame(table, test)
    found["accuracy"] = float((np.asarray(model.predict(held_out)) == table.target[test]).mean())
    if table.classes == 2:
        found["auc"] = auc(table.target[test], np.asarray(model.predict_proba(held_out))[:, 1])
    return found


def regressed(table: Table, epsilon: str, seed: int) -> dict[str, float]:
    """Fit a linear regression of the target as ±1, and return R² on the rows held out."""
    train, test = split(len(table), seed)
    values: Floats = np.where(table.target == 1, 1.0, -1.0)
    model = getattr(learn, REGRESSION)(
        epsilon=epsilon, delta=DELTA, columns=declared(table), target_column=dp.Integer(-1, 1)
    )
    rows = frame(table, train)
    start = time.process_time()
    model.fit(rows, values[train])
    seconds = time.process_time() - start
    return {"seconds": seconds, "r2": r_squared(values[test], np.asarray(model.predict(frame(table, test))))}


def r_squared(values: Floats, predicted: Floats) -> float:
    """Return the share of the variance that a prediction explains.

    >>> r_squared(np.array([1.0, -1.0]), np.array([0.5, -0.5]))
    0.75
    """
    return float(1 - ((values - predicted) ** 2).sum() / ((values - values.mean()) ** 2).sum())


def _column(kind: Number | Codes) -> Column:
    if isinstance(kind, Codes):
        return dp.Category(range(kind.size))
    if kind.step == 1:
        return dp.Integer(int(kind.low), int(kind.high))
    return dp.Real(kind.low, kind.high, step=kind.step)
