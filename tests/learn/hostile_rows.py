"""Seal a hostile little table, fit to it, and return all that is seen: what a replay compares."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow

from discreet.engines.examples import WHOLE, MemoryExamples
from discreet.learn.encoding import encoded
from discreet.learn.estimator import PrivateEstimator
from discreet.learn.price import Price
from discreet.learn.training import Task, silent
from discreet.ledger import Budget
from discreet.ledger.costs import cost
from discreet.schema import Boolean, Category, Column, Integer
from discreet.vault.vault import Vault

ROWS: list[dict[str, Any]] = [
    {"who": 1, "age": 34, "kind": "b", "ill": True},
    {"who": 1, "age": 71, "kind": "a", "ill": False},
    {"who": 2, "age": None, "kind": "c", "ill": None},
    {"who": 3, "age": 5, "kind": None, "ill": True},
]
COLUMNS: dict[str, Column] = {"age": Integer(0, 110), "kind": Category(["a", "b", "c"]), "ill": Boolean()}


def sealed_fit(
    estimator: PrivateEstimator, *, target: str = "kind", budget: Budget | None = None
) -> Callable[[list[dict[str, Any]]], Any]:
    """Return the function from rows to all that an analyst sees of the fit."""

    def fitted(rows: list[dict[str, Any]]) -> Any:
        names = ["who", *COLUMNS]
        table = {
            name: pyarrow.array([_written(name, row.get(name)) for row in rows], pyarrow.string())
            for name in names
        }
        with (
            tempfile.TemporaryDirectory() as folder,
            Vault.seal(
                pyarrow.table(table),
                to=f"{folder}/people.vault",
                person="who",
                rows_per_person=2,
                columns=COLUMNS,
                budget=budget or Budget(30, "1e-6"),
                anyway=True,  # a value that cannot be read is among what is tried
            ) as vault,
        ):
            model = vault.fit(estimator, target=target, epsilon=20)
            return [model.state_, vault.ledger.balance().spent]

    return fitted


def fitted(
    estimator: PrivateEstimator, price: Price, *, target: str = "kind"
) -> Callable[[list[dict[str, Any]]], Any]:
    """Return the function from rows to all that an analyst sees of a fit. A person's rows share one weight."""

    def seen(rows: list[dict[str, Any]]) -> Any:
        table = {name: pyarrow.array([_text(row.get(name)) for row in rows], pyarrow.string()) for name in COLUMNS}
        persons = [repr(row.get("who")) for row in rows]
        counts = Counter(persons)
        weights = np.array([WHOLE // counts[person] for person in persons], np.int16)
        features = {name: column for name, column in COLUMNS.items() if name != target}
        training = estimator.plan(Task(features, target, COLUMNS[target], several=True), price)
        state = training.run(MemoryExamples(encoded(table, COLUMNS), weights), silent)
        return [state, cost(training.losses)]

    return seen


def _written(name: str, value: Any) -> str | None:
    if value is None or name != "who":
        return None if value is None else str(value)
    whole = (
        isinstance(value, int | float) and value == value and abs(value) != float("inf") and value == int(value)
    )
    return str(int(value)) if whole else repr(value)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
