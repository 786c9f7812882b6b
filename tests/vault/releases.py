"""Releases to look at: one number, some groups, many groups; ledgers with δ and without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.ledger import Account, Balance, Budget, Cost
from discreet.release.estimate import Estimate
from discreet.release.label import Label, Noise
from discreet.release.receipt import Receipt
from discreet.release.release import Release
from discreet.schema import Category, Integer

AT = "2026-01-02T03:04:05.000000Z"


def receipt(delta: str | int = 0, *, keys: str | int = 0, analyst: str | None = None) -> Receipt:
    """A question of ε = 0.1 out of 2."""
    budget = Budget(2, delta)
    cost = Cost(None if delta else Fraction(1, 10), Fraction(1, 200), Fraction(keys))
    accounts = [Account(), *([] if analyst is None else [Account(analyst=analyst)])]
    balances = [Balance(account).granted(budget).charged(cost) for account in accounts]
    return Receipt(cost=cost, losses=["DiscreteLaplace(scale=80, sensitivity=8)"], balances=balances)


def label(**changes: Any) -> Label:
    facts: dict[str, Any] = {
        "table": "people",
        "person": "user_id",
        "rows_per_person": 8,
        "columns": {"age": Integer(0, 110), "city": Category(["Oslo", "Bergen"], other="elsewhere")},
        "noise": [
            Noise(on="rows", law="discrete Laplace noise", spread=80.0, sensitivity=8.0, loss="DiscreteLaplace")
        ],
        "receipt": receipt(),
        "sealed_at": AT,
        "library": "discreet 0.1.0",
    }
    return Label(**{**facts, **changes})


def answer(name: str, values: Sequence[float], half: float | Sequence[float], **more: Any) -> Estimate:
    middle, width = np.asarray(values, float), np.asarray(half, float)
    return Estimate(name, middle, middle - width, middle + width, **more)


def release(
    keys: Mapping[str, Sequence[Any]] | None = None, answers: Sequence[Estimate] | None = None, **more: Any
) -> Release:
    given = answers or [answer("count(*)", [1042.3], 16.3)]
    facts: dict[str, Any] = {"question": "select count(*) from people", "label": label(), "at": AT}
    return Release(keys=keys or {}, aggregates=given, **{**facts, **more})


def by_city(groups: int = 3, **more: Any) -> Release:
    cities = ["Oslo", "Bergen", None, *(f"town {i}" for i in range(groups))][:groups]
    counts = answer("count(*)", [1000.0 * i + 42.3 for i in range(groups)], 16.3)
    ages = answer(
        "avg(age)", [40.123 + i for i in range(groups)], [0.05 * (i + 1) for i in range(groups)], kind="avg"
    )
    return release({"city": cities}, [counts, ages], **more)
