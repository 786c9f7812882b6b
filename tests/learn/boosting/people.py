"""Make small tables of persons with several rows, their neighbours, and the cells that boosting reads."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from discreet.engines.examples import WHOLE, Examples, MemoryExamples
from discreet.learn.boosting.cells import Cells, placed
from discreet.learn.training import Task
from discreet.schema import Boolean, Category, Integer

TASK = Task({"age": Integer(0, 7), "kind": Category(["a", "b", "c"])}, "ill", Boolean(), several=True)
SMALL = Cells(TASK.features, bins=4)

Row = tuple[int, int, int]
"""The codes of age, kind and ill; −1 and other hostile ones among them."""

ROWS = st.tuples(st.integers(-1, 9), st.integers(-1, 3), st.integers(-1, 2))
PERSONS = st.lists(st.lists(ROWS, min_size=1, max_size=5), max_size=4)
"""Persons, each with some rows."""


def examples(persons: list[list[Row]], batch: int = 3) -> Examples:
    """Return the rows of persons, each person with the weight of one, in small batches."""
    rows = [(*row, WHOLE // len(person)) for person in persons for row in person]
    table: Any = np.array(rows, np.int64).reshape(-1, 4)
    codes = {"age": table[:, 0], "kind": table[:, 1], "ill": table[:, 2]}
    return placed(MemoryExamples(codes, table[:, 3], batch), SMALL, TASK)


def silent(_what: str, _done: float) -> None:
    """Report no progress."""
