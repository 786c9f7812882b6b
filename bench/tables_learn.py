"""Prepare the tables of the learning benchmark, with all that is public about them.

A table is columns with what may stand in them, and a target of classes 0 … k − 1. Peers read this module in
environments of their own, so it imports numpy only, and scikit-learn for the tables that it ships. Three tables
make the protocol: Adult (48,842 rows, integer codes with a public domain), breast cancer (569 rows; columns are
standardised by the moments of the whole table, which the protocol takes for public), and digits (1,797 rows of 64
pixels, ten classes). `unseen` are tables on which no default was chosen: scikit-learn's smaller ones, with round
ranges that hold their rows, and simulated ones with what real tables have and these lack.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ADULT_NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
ADULT_TARGET = "income>50K"
KNOTS = 9

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Number:
    """A range of numbers: whole ones if `step` is 1. The plain map divides by `divisor`."""

    low: float
    high: float
    step: float
    divisor: float


@dataclass(frozen=True)
class Codes:
    """Categories, as codes 0 … size − 1."""

    size: int


@dataclass(frozen=True)
class Table:
    """Columns, what may stand in them, and the class of each row."""

    name: str
    columns: dict[str, NDArray[Any]]
    kinds: dict[str, Number | Codes]
    target: Rows
    classes: int

    def __len__(self) -> int:
        return len(self.target)


def split(rows: int, seed: int) -> tuple[Rows, Rows]:
    """Return the rows to fit and the rows to test of one split: 80 % and 20 %.

    >>> train, test = split(10, 0)
    >>> len(train), len(test), sorted([*train, *test]) == list(range(10))
    (8, 2, True)
    """
    order = np.random.default_rng(1000 + seed).permutation(rows)
    kept = int(0.8 * rows)
    return order[:kept], order[kept:]


def auc(target: Rows, score: Floats) -> float:
    """Return the area under the curve: the chance that a row of class 1 scores above one of class 0.

    >>> auc(np.array([0, 1, 1]), np.array([0.2, 0.2, 0.9]))
    0.75
    """
    _, place, count = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]
    ones = int(target.sum())
    return float((rank[target == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(target) - ones)))


def adult_folder() -> Path:
    """Return where Adult is: DISCREET_ADULT_LEARNING, or a folder beside the project."""
    given = os.environ.get("DISCREET_ADULT_LEARNING")
    return Path(given) if given else Path(__file__).parents[2] / "shared" / "data" / "adult-learning"


@cache
def adult() -> Table:
    """Read Adult: six numbers, seven categories, and income above 50,000 as the target."""
    folder = adult_folder()
    sizes = json.loads((folder / "adult-domain.json").read_text())
    with open(folder / "adult.csv", encoding="utf-8") as file:
        header = next(csv.reader(file))
        codes = np.loadtxt(file, delimiter=",", dtype=np.int64)
    held = dict(zip(header, codes.T, strict=True))
    target = held.pop(ADULT_TARGET)
    kinds: dict[str, Number | Codes] = {
        name: Number(0, sizes[name] - 1, 1, sizes[name] - 1) if name in ADULT_NUMBERS else Codes(sizes[name])
        for name in held
    }
    return Table("Adult", held, kinds, target, 2)


@cache
def breast_cancer() -> Table:
    """Return thirty measurements of cells, in standard deviations from the mean."""
    from sklearn.datasets import load_breast_cancer

    values, target = load_breast_cancer(return_X_y=True)
    values = (values - values.mean(axis=0)) / values.std(axis=0)
    kind = Number(-3, 3, 0.001, float(np.sqrt(values.shape[1])))
    return _numbers("breast cancer", values, [kind] * values.shape[1], target)


@cache
def digits() -> Table:
    """Return pictures of 8 × 8 pixels, each from 0 to 16."""
    from sklearn.datasets import load_digits

    values, target = load_digits(return_X_y=True)
    return _numbers("digits", values.astype(np.int64), [Number(0, 16, 1, 16)] * 64, target)


TABLES: dict[str, Callable[[], Table]] = {"Adult": adult, "breast cancer": breast_cancer, "digits": digits}


def present() -> dict[str, Callable[[], Table]]:
    """Return the tables of the protocol that can be read here."""
    return {
        name: read for name, read in TABLES.items() if name != "Adult" or (adult_folder() / "adult.csv").exists()
    }


def unseen() -> list[Table]:
    """Return the tables on which nothing was tuned."""
    return [wine(), iris(), diabetes(), heavy_tails(), many_categories(), few_rows(), rare_class()]


WINE = ((11, 15), (0, 6), (1, 4), (10, 30), (70, 170), (0, 4), (0, 6), (0, 1), (0, 4), (0, 14), (0, 2), (1, 4))
"""Alcohol in percent, acids, ash, and so on; proline follows."""
DIABETES = ((18, 80), (1, 2), (18, 43), (60, 135), (95, 305), (40, 245), (20, 100), (2, 10), (3, 6.5), (55, 125))


def wine() -> Table:
    """Return 178 wines of three growers."""
    from sklearn.datasets import load_wine

    values, target = load_wine(return_X_y=True)
    return _numbers("wine, 178 rows, 3 classes", values, _ranges(*WINE, (200, 1700)), target)


def iris() -> Table:
    """Return 150 flowers of three species."""
    from sklearn.datasets import load_iris

    values, target = load_iris(return_X_y=True)
    return _numbers("iris, 150 rows, 3 classes", values, _ranges((4, 8), (2, 5), (1, 7), (0, 3)), target)


def diabetes() -> Table:
    """Return 442 patients: does the disease progress beyond 140?"""
    from sklearn.datasets import load_diabetes

    values, progress = load_diabetes(return_X_y=True, scaled=False)
    return _numbers("diabetes above 140, 442 rows", values, _ranges(*DIABETES), (progress > 140).astype(np.int64))


def heavy_tails() -> Table:
    """Return eight numbers with tails of Student's t (2 degrees of freedom), declared as −20 to 20."""
    rng = np.random.default_rng(2)
    values = rng.standard_t(2, (20_000, 8))
    odds = np.clip(values, -5, 5) @ np.array([1.0, -0.8, 0.6, -0.4, 0.2, 0, 0, 0]) + 0.5 * np.abs(values[:, 5]) - 1
    return _numbers("heavy tails, 20,000 rows", values, _ranges(*[(-20, 20)] * 8), _drawn(rng, odds))


def many_categories() -> Table:
    """Return four categories of 200 levels, with frequencies like those of words, and two numbers."""
    rng = np.random.default_rng(3)
    rows, size = 30_000, 200
    law = 1 / np.arange(1, size + 1)
    codes = [rng.choice(size, rows, p=law / law.sum()) for _ in range(4)]
    values = rng.random((rows, 2))
    effects = rng.normal(0, 1, (4, size))
    odds = sum((effects[i][codes[i]] for i in range(4)), 3 * (values[:, 0] - 0.5))
    numbers = {"u": values[:, 0], "v": values[:, 1]}
    columns: dict[str, NDArray[Any]] = {**{f"c{i}": codes[i] for i in range(4)}, **numbers}
    kinds: dict[str, Number | Codes] = {**{f"c{i}": Codes(size) for i in range(4)}}
    kinds.update(dict(zip(numbers, _ranges((0, 1), (0, 1)), strict=True)))
    return Table("categories of 200 levels, 30,000 rows", columns, kinds, _drawn(rng, odds), 2)


def few_rows() -> Table:
    """Return a thousand rows of ten numbers, of which five matter."""
    rng = np.random.default_rng(4)
    values = rng.normal(0, 1, (1000, 10))
    odds = values[:, :5] @ np.array([1.5, -1.2, 1.0, -0.8, 0.5])
    return _numbers("ten numbers, 1,000 rows", values, _ranges(*[(-4, 4)] * 10), _drawn(rng, odds))


def rare_class() -> Table:
    """Return a class of which one row in twenty is."""
    rng = np.random.default_rng(5)
    values = rng.normal(0, 1, (20_000, 6))
    odds = values @ np.array([1.0, 0.8, -0.6, 0.4, 0, 0]) + 0.7 * (values[:, 4] > 1) - 3.9
    return _numbers("5 % in class 1, 20,000 rows", values, _ranges(*[(-4, 4)] * 6), _drawn(rng, odds))


def clipped(table: Table) -> Floats:
    """Return the plain columns, with longer rows scaled to norm 1."""
    rows = plain(table)
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1))


def plain(table: Table) -> Floats:
    """Return categories one-hot (two of them as one column) and numbers divided."""
    blocks = []
    for name, kind in table.kinds.items():
        values = table.columns[name]
        if isinstance(kind, Number):
            blocks.append(values[:, None] / kind.divisor)
        else:
            blocks.append(np.eye(kind.size)[values] if kind.size > 2 else values[:, None].astype(float))
    return np.hstack(blocks)


def hats(table: Table) -> Floats:
    """Return categories one-hot and nine hat functions per number; rows have norm 1."""
    blocks = []
    rows = np.arange(len(table))
    for name, kind in table.kinds.items():
        if isinstance(kind, Codes):
            blocks.append(np.eye(kind.size)[table.columns[name]])
            continue
        inside = np.clip(table.columns[name], kind.low, kind.high)
        place = (inside - kind.low) / (kind.high - kind.low) * (KNOTS - 1)
        left = np.minimum(place.astype(np.int64), KNOTS - 2)
        block = np.zeros((len(table), KNOTS))
        block[rows, left], block[rows, left + 1] = left + 1 - place, place - left
        blocks.append(block)
    stacked: Floats = np.hstack(blocks)
    return np.asarray(stacked / np.linalg.norm(stacked, axis=1, keepdims=True))


def _numbers(name: str, values: NDArray[Any], kinds: list[Number], target: NDArray[Any]) -> Table:
    names = [f"x{i}" for i in range(len(kinds))]
    columns = dict(zip(names, values.T, strict=True))
    return Table(
        name, columns, dict(zip(names, kinds, strict=True)), target.astype(np.int64), int(target.max()) + 1
    )


def _ranges(*bounds: tuple[float, float]) -> list[Number]:
    """Return ranges with a thousand steps."""
    return [Number(low, high, (high - low) / 1000, max(abs(low), abs(high))) for low, high in bounds]


def _drawn(rng: np.random.Generator, odds: Floats) -> Rows:
    return (rng.random(len(odds)) < 1 / (1 + np.exp(-odds))).astype(np.int64)
