"""Give models the rows of a vault: decoded columns by name, made-up rows to try them on, and a test of
independence.

A sum over rows has the sensitivity of one person only if each row is scored by itself. A model that looks at
other rows, as one that standardises what it is given, is found out on made-up rows: it must score them one by
one as it does together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.schema import Column

_TRIED = 24  # made-up rows
_LISTED = 100_000  # columns with more values are decoded value by value


class Rows(dict[str, NDArray[Any]]):
    """Columns by name, all of one length."""

    @classmethod
    def of(cls, codes: Mapping[str, NDArray[np.integer]], columns: Mapping[str, Column]) -> Rows:
        """Return the values of codes; a missing one is NaN in a column of numbers, else None.

        The declared column decides which, never the rows: else one person whose value is not missing would turn
        NaN into None for all others, and a function may score the two differently.
        """
        return cls({name: _decoded(codes[name], column) for name, column in columns.items()})

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(next(iter(self.values())))

    def row(self, i: int) -> Rows:
        """Return one row, as rows."""
        return self.part(i, i + 1)

    def part(self, first: int, last: int) -> Rows:
        """Return the rows first, …, last − 1."""
        return Rows({name: values[first:last] for name, values in self.items()})


def probe(columns: Mapping[str, Column]) -> Rows:
    """Return made-up rows with values all over the declared domains."""
    codes = {}
    for place, (name, column) in enumerate(columns.items()):
        levels = max(1, column.levels or 1)
        spread = [(i * (2 * place + 7) + place) % _TRIED for i in range(_TRIED)]
        codes[name] = np.array([levels * i // _TRIED for i in spread], np.int64)
    return Rows.of(codes, columns)


def expect_row_by_row(per_row: Callable[[Rows], Any], rows: Rows) -> None:
    """Refuse a function that fails on made-up rows, returns no number for each, or looks at several at once."""
    together = np.asarray(per_row(rows), np.float64)
    if together.shape != (rows.size,):
        raise ParameterError(
            "A statistic needs one number for each row.",
            found=f"shape {together.shape} for {rows.size} made-up rows",
            fix="Return an array with a number in [0, 1] for each row.",
        )
    if np.isnan(together).any() or together.min() < 0 or together.max() > 1:
        raise ParameterError(
            "A statistic must lie in [0, 1] on every row.",
            found="another number, on made-up rows",
            fix="Divide by its largest possible value, and clip it: np.clip(loss / most, 0, 1).",
        )
    single = [float(np.asarray(per_row(rows.row(i)), np.float64).ravel()[0]) for i in range(rows.size)]
    if not np.allclose(single, together):
        raise ParameterError(
            "This statistic scores a row by looking at other rows, so one person could change it everywhere.",
            fix="Score each row by itself; standardise by numbers from your training rows.",
        )


def scores(per_row: Callable[[Rows], Any], rows: Rows) -> NDArray[np.float64]:
    """Return a number in [0, 1] for each row, and 0 for a row on which the function fails.

    Rows are scored together. If that fails, they are scored in halves, and so on: each row has the score that it
    has by itself, whatever the other rows are. What a row makes a model raise is not shown.

    >>> rows = Rows({"age": np.array([50.0, np.nan, 20.0])})
    >>> def old(rows):
    ...     if np.isnan(rows["age"]).any():
    ...         raise ValueError("NaN")
    ...     return rows["age"] > 40
    >>> scores(old, rows).tolist()
    [1.0, 0.0, 0.0]
    """
    count = rows.size
    try:
        found = np.asarray(per_row(rows), np.float64)
        if found.shape == (count,):
            return np.clip(np.nan_to_num(found, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)
    except Exception:  # an error of one row must not reach the scores of others
        pass
    if count <= 1:
        return np.zeros(count)
    half = count // 2
    return np.concatenate([scores(per_row, rows.part(0, half)), scores(per_row, rows.part(half, count))])


def model_rows(model: Any, features: Mapping[str, NDArray[Any]]) -> Any:
    """Return rows as a model takes them: by name for those of `discreet.learn`, else a frame or an array."""
    if hasattr(model, "task_"):
        return dict(features)
    if getattr(model, "feature_names_in_", None) is not None:
        import pandas

        return pandas.DataFrame(dict(features))[list(model.feature_names_in_)]
    return np.column_stack([np.asarray(values) for values in features.values()])


def _decoded(codes: NDArray[np.integer], column: Column) -> NDArray[Any]:
    levels = column.levels or 0
    shown = np.asarray(codes, np.int64)
    if levels <= _LISTED:
        known = list(column.values(list(range(levels))))
        values = [known[code] if 0 <= code < levels else None for code in shown.tolist()]
    else:
        known = list(column.values([0]))  # so many values are all of one kind: numbers or moments
        found = list(column.values([max(int(code), 0) for code in shown]))
        values = [None if code < 0 else value for code, value in zip(shown.tolist(), found, strict=True)]
    if all(isinstance(value, int | float) for value in known):
        return np.array([np.nan if value is None else value for value in values], np.float64)
    return np.array(values, dtype=object)
