"""The packing bound: no mechanism beats it, and the literal one of the notes claims too much."""

from __future__ import annotations

import math

import pytest

from discreet.errors import ParameterError
from discreet.learn.theorems import notes_packing, packing_rows


def success(rows: int, tables: int, scale: float) -> float:
    """Return the chance that e^{votes/scale} names the right one of K tables that hold one value each."""
    return 1 / (1 + (tables - 1) * math.exp(-rows / scale))


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("tables", [2, 3, 10, 1000, 10**6])
def test_no_mechanism_succeeds_below_the_bound(tables: int, epsilon: float) -> None:
    """The exponential mechanism over votes: scale 2/ε under replacement, 1/ε when rows are added or removed."""
    replaced = packing_rows(tables, epsilon=f"{epsilon}")
    joined = packing_rows(tables, epsilon=f"{epsilon}", neighbours="add/remove")
    for rows in range(int(replaced) + 1):
        assert rows >= replaced or success(rows, tables, 2 / epsilon) < 0.9
        assert rows >= joined or success(rows, tables, 1 / epsilon) < 0.9
    assert joined == pytest.approx(replaced / 2)
    assert success(math.ceil(2 * replaced), tables, 2 / epsilon) >= 0.9 - 1e-9  # and it is within a factor of two


def test_one_table_needs_no_rows_and_the_notes_say_otherwise() -> None:
    """With one table there is one good set, and the algorithm that always answers from it needs no data."""
    assert packing_rows(1, epsilon=1) == 0
    assert notes_packing(1, epsilon=1) == pytest.approx(math.log(9))
    assert notes_packing(5, epsilon=1) == pytest.approx(math.log(45))
    assert packing_rows(5, epsilon=1) == pytest.approx(math.log(36))


def test_success_may_be_asked_for() -> None:
    assert packing_rows(2, epsilon=1, success="0.5") == 0
    assert packing_rows(2, epsilon=1, success="0.99") == pytest.approx(math.log(99))
    for success_ in (0, 1):
        with pytest.raises(ParameterError):
            packing_rows(2, epsilon=1, success=success_)
