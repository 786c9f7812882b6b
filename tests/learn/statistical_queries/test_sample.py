"""Samples: every value has a code that depends on that value alone."""

from __future__ import annotations

import copy
import math
import pickle
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.learn.statistical_queries import Sample
from discreet.query import ir
from discreet.schema import Boolean, Category, Column, Date, Integer, Real, Text
from discreet.schema.metadata import UNIT
from tests.learn.statistical_queries import tables

HOSTILE: list[Any] = [
    *(
        None,
        float("nan"),
        float("inf"),
        -float("inf"),
        1e300,
        -1e300,
        10**400,
        -(10**400),
        0,
        -0.0,
        1,
        True,
        False,
    ),
    *("", "1", "nan", "x" * 1000, b"1", "1e999", Decimal("sNaN"), Decimal("NaN"), Decimal(3), Fraction(7, 2)),
    *([], [1, 2], {}, {"a": 1}, set(), object(), 3 + 4j, date(2024, 5, 1), np.float32(2.5), np.datetime64("NaT")),
]


class Angry:
    """A value whose own methods fail."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __hash__(self) -> int:
        return 1


ALL: dict[str, Column] = {
    "integer": Integer(-3, 7),
    "clipped": Integer(-3, 7, outside="missing", missing=0),
    "real": Real(0, 10, step="0.5"),
    "label": Category(["1", "x"], other="other"),
    "plain": Category(["1", "x"]),
    "numbers": Category([0, 1]),
    "flag": Boolean(),
    "day": Date("2024-01-01", "2024-12-31"),
}


@pytest.mark.parametrize("name", ALL)
def test_no_value_raises_and_every_code_is_within_the_schema(name: str) -> None:
    column = ALL[name]
    values = [*HOSTILE, Angry()]
    found = Sample.of({name: values}, {name: column}).codes["c0"]
    assert len(found.value) == len(values)
    assert np.all((found.value >= 0) & (found.value < (column.levels or 0)))


@pytest.mark.parametrize("name", ALL)
def test_the_code_of_a_value_does_not_depend_on_the_other_rows(name: str) -> None:
    """A cache that mixed up two values would give one person's code to another."""
    column, values = ALL[name], [*HOSTILE, Angry()]
    together = Sample.of({name: values}, {name: column}).codes["c0"]
    backwards = Sample.of({name: values[::-1]}, {name: column}).codes["c0"]
    for i, value in enumerate(values):
        alone = Sample.of({name: [value]}, {name: column}).codes["c0"]
        assert (alone.value[0], alone.null[0]) == (together.value[i], together.null[i])
        assert (alone.value[0], alone.null[0]) == (backwards.value[-1 - i], backwards.null[-1 - i])


@pytest.mark.parametrize(
    ("column", "value", "code"),
    [
        (Integer(0, 10), 3.5, 4),
        (Integer(0, 10), 99, 10),
        (Integer(0, 10), float("inf"), 10),
        (Integer(0, 10), float("nan"), None),
        (Integer(0, 10, outside="missing"), 99, None),
        (Real(0, 1, step="0.1"), 0.25, 3),
        (Real(0, 10, step=4, outside="missing"), -0.5, None),
        (Real(0, 10, step=4, outside="missing"), 10, 3),
        (Date("2024-01-01", "2024-12-31"), datetime(2024, 1, 2, 23, 59), 1),
        (Date("2024-01-01", "2024-12-31"), date(1990, 1, 1), 0),
        (Boolean(), 1, 1),
        (Boolean(), 2, None),
        (Boolean(missing=True), None, 1),
        (Category(["a"], other="b"), "c", 1),
        (Category(["a"], other="b"), None, None),
        (Category(["a"]), "c", None),
    ],
)
def test_codes(column: Column, value: Any, code: int | None) -> None:
    found = Sample.of({"x": [value]}, {"x": column}).codes["c0"]
    assert (None if found.null[0] else found.value[0]) == code


def test_codes_are_those_of_sealing(tmp_path: Path) -> None:
    table = tables.rows(3000)
    with tables.sealed(tmp_path / "v", table) as vault:
        engine = vault.table().engine()
        keys = [ir.sealed(f"c{i}") for i in range(4)]
        found = engine.run(engine.rows.sums(where=None, keys=keys, sums=[ir.sealed("w")]))
        by_engine = {key: int(total) for key, total in zip(found.keys, found.sums[:, 0], strict=True)}
    mine = Sample.of(table, tables.COLUMNS)
    by_hand: dict[tuple[int | None, ...], int] = {}
    for i in range(3000):
        key = tuple(None if value.null[i] else int(value.value[i]) for value in mine.codes.values())
        by_hand[key] = by_hand.get(key, 0) + UNIT
    assert by_hand == by_engine


@pytest.mark.parametrize(
    ("weight", "units"),
    [(1, UNIT), (0.5, UNIT // 2), (1e300, UNIT), (10**400, UNIT), (-1, 0), (math.nan, 0), ("1", 0), (None, 0)],
)
def test_a_weight_never_counts_more_than_one_row(weight: Any, units: int) -> None:
    assert Sample.of({"x": [1]}, {"x": Integer(0, 3)}, weights=[weight]).weights.tolist() == [units]


def test_a_sample_shows_nothing_and_is_not_copied() -> None:
    private = Sample.of({"x": [1, 2, 3]}, {"x": Integer(0, 3)})
    assert repr(private) == "<sample over x, sealed>"
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            leave(private)


def test_what_cannot_be_a_sample_is_refused() -> None:
    with pytest.raises(ParameterError, match="no column y"):
        Sample.of({"x": [1]}, {"y": Integer(0, 3)})
    with pytest.raises(ParameterError, match="one length"):
        Sample.of({"x": [1], "y": [1, 2]}, {"x": Integer(0, 3), "y": Integer(0, 3)})
    with pytest.raises(ParameterError, match="undeclared strings"):
        Sample.of({"x": ["a"]}, {"x": Text()})


def test_an_empty_sample_is_a_sample() -> None:
    assert Sample.of({"x": []}, {"x": Integer(0, 3)}).weights.size == 0
