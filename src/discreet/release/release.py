"""Hold the answer to a question: numbers with intervals, what they cost, and a label.

    release.value, release.error      a single number, and its margin of error
    release["count(*)"].values        one aggregate, a number per group; .low, .high, .margins
    for row in release: …             rows as dictionaries
    release.to_pandas()               also to_polars(), to_arrow(): keys, and x, x_low, x_high per aggregate x
    print(release), release.plot()    digits as the noise warrants; the data keep all of theirs
    release.receipt, release.label    what was charged and what is left; the facts that reviewers ask for
    release.save("a.json"), Release.load("a.json")

A release is a record of public values: post-processing it costs no budget. **The exception is a release made from
test bits**: it can be looked at, and says so wherever it is shown, but it refuses to become a table, a file or a
pickle (NotForRelease), and the ledger's record keeps the mark.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import Fix, ParameterError
from discreet.ledger.balance import Balance
from discreet.ledger.entry import stamp
from discreet.noise.testing import marked
from discreet.release import frames, render, serialize
from discreet.release.estimate import Estimate
from discreet.release.label import Label
from discreet.release.receipt import Receipt
from discreet.release.released import Guarded
from discreet.schema.identifiers import identifiers

if TYPE_CHECKING:
    import altair
    import pandas
    import polars
    import pyarrow
    from rich.console import Console, ConsoleOptions, RenderResult


_PLAIN = frozenset((type(None), bool, int, float, str, date, datetime))
"""The types of keys that need no conversion."""


@dataclass(frozen=True)
class Release(Guarded):
    """The answer to a question. The module's docstring shows its uses.

    Args:
        question: The canonical text of the question.
        keys: A column of public values for every key.
        aggregates: The numbers, one estimate per aggregate.
        label: The facts about the release.
        confidence: The confidence of each interval by itself; 0.95 by default.
        plan: The plan of the answer, as text.
        free: Whether it was answered from the record.
        at: The time of its charge, in ISO form: not that of the answer, which tells how long the rows took.
        columns: The order of the answer's columns, which may leave out keys; all of them by default.
    """

    question: str
    keys: Mapping[str, Sequence[Any]]
    aggregates: Sequence[Estimate]
    label: Label
    confidence: Fraction = Fraction(95, 100)
    plan: str = ""
    free: bool = False
    at: str = field(default_factory=lambda: stamp(datetime.now(UTC)))
    columns: Sequence[str] = ()

    def __post_init__(self) -> None:
        keys = {name: _keys(values) for name, values in self.keys.items()}
        confidence = Fraction(self.confidence)
        estimates = (
            answer if answer.confidence == confidence else replace(answer, confidence=confidence)
            for answer in self.aggregates
        )
        object.__setattr__(self, "keys", keys)
        object.__setattr__(self, "confidence", confidence)
        object.__setattr__(self, "aggregates", tuple(estimates))
        names = [*keys, *(answer.name for answer in self.aggregates)]
        object.__setattr__(self, "columns", tuple(self.columns) or tuple(names))
        _check(names, self)

    # -- numbers ----------------------------------------------------------------------------------------------

    @property
    def groups(self) -> int:
        """The number of groups; 1 without keys."""
        sizes = [len(answer.values) for answer in self.aggregates] + [len(key) for key in self.keys.values()]
        return sizes[0] if sizes else 0

    def __getitem__(self, name: str) -> Estimate:
        for answer in self.aggregates:
            if name in (answer.name, self.identifiers[answer.name]):
                return answer
        listed = ", ".join(answer.name for answer in self.aggregates)
        raise KeyError(f"{name!r} is not an aggregate of this release. It has {listed}.")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        table = self.table()
        for row in zip(*table.values(), strict=True):
            yield {name: self._with_mark(value) for name, value in zip(table, row, strict=True)}

    @cached_property
    def identifiers(self) -> Mapping[str, str]:
        """The name of every key and aggregate in tables and JSON: "count" for count(*), a given name as it is."""
        return identifiers([*self.keys, *(answer.name for answer in self.aggregates)])

    def table(self) -> dict[str, Sequence[Any]]:
        """Return the columns by name: keys, and x, x_low, x_high for every aggregate x.

        An aggregate without a name gets an identifier: count(*) is `count`, avg(income) is `avg_income`.
        """
        return {name: values for name, (values, _) in self.typed_table().items()}

    def typed_table(self) -> dict[str, tuple[Sequence[Any], str]]:
        """Return the columns by name with what they hold: "key", or the axis of the aggregate."""
        columns: dict[str, tuple[Sequence[Any], str]] = {}
        for column, name, part in frames.layout(self.columns, self.keys, self.identifiers):
            if part == "key":
                columns[column] = self.keys[name], "key"
            else:
                answer = self[name]
                numbers = {"value": answer.values, "low": answer.low, "high": answer.high}[part]
                columns[column] = numbers, answer.axis
        return columns

    @property
    def value(self) -> float | None:
        """The number, of a release that has only one."""
        number: float | None = self._with_mark(self._single.values[0])
        return number

    @property
    def error(self) -> float | None:
        """The margin of error of the only number: half of the width of its interval."""
        number: float | None = self._with_mark(self._single.margins[0])
        return number

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """The ends of the interval of the only number."""
        return self._with_mark(self._single.low[0]), self._with_mark(self._single.high[0])

    @property
    def _single(self) -> Estimate:
        if len(self.aggregates) != 1 or self.groups != 1:
            names = ", ".join(f"release[{answer.name!r}].values" for answer in self.aggregates)
            raise ParameterError(
                "This release has more than one number.",
                found=self._size,
                fix=f"Take {names}, or release.to_pandas().",
            )
        return self.aggregates[0]

    @property
    def _size(self) -> str:
        numbers, groups = len(self.aggregates), self.groups
        return f"{numbers} aggregate{'' if numbers == 1 else 's'} in {groups:,} group{'' if groups == 1 else 's'}"

    # -- facts ------------------------------------------------------------------------------------------------

    @property
    def receipt(self) -> Receipt:
        """What was charged, and what is left."""
        return self.label.receipt

    @property
    def cost(self) -> Receipt:
        """The receipt, under its other name."""
        return self.receipt

    @property
    def test_bits(self) -> bool:
        """Whether it was made from test bits, and is not for release."""
        return any(answer.test_bits for answer in self.aggregates)

    def again(self, *balances: Balance) -> Release:
        """Return the same release as it is answered from the record: free, with the accounts as they are now."""
        return replace(self, free=True, label=self.label.now(*balances) if balances else self.label)

    # -- export -----------------------------------------------------------------------------------------------

    def to_arrow(self) -> pyarrow.Table:
        """Return a table of Arrow."""
        self.expect_release("to_arrow")
        return frames.arrow(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame of pandas."""
        self.expect_release("to_pandas")
        return frames.pandas(self)

    def to_polars(self) -> polars.DataFrame:
        """Return a data frame of polars."""
        self.expect_release("to_polars")
        return frames.polars(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the release to a file of JSON."""
        self.expect_release("save")
        serialize.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Release:
        """Return the release that was saved. A file of JSON runs no code, and every part of it is checked."""
        return serialize.read(serialize.load(path), cls)

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads, for the ledger's record. It says if it was made from test bits."""
        return serialize.written(self)

    def as_json(self) -> dict[str, Any]:
        """Return the same as `to_json`."""
        return self.to_json()

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Release:
        """Return the release that `to_json` wrote, in this version of the format or the one before."""
        return serialize.read(record, cls)

    # -- rendering --------------------------------------------------------------------------------------------

    def plot(self) -> altair.TopLevelMixin:
        """Draw the numbers with their intervals."""
        return render.picture(self)

    def __repr__(self) -> str:
        return f"Release({self.question[:60]!r}, {self._size}, {self.receipt.used})"

    def __str__(self) -> str:
        return render.text(self)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield render.styled(self, options.max_width)

    def _repr_html_(self) -> str:
        return render.page(self)

    def _with_mark(self, value: Any) -> Any:
        return marked(value) if self.test_bits and isinstance(value, float) else value


def _keys(values: Sequence[Any]) -> tuple[Any, ...]:
    found = tuple(values)
    return found if set(map(type, found)) <= _PLAIN else tuple(map(_key, found))


def _key(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is None or isinstance(plain, str | int | float | date):
        return plain
    raise ParameterError("A key must be text, a number, a truth value or a date.", found=repr(value))


def _check(names: list[str], release: Release) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ParameterError(
            "Two columns of the answer have the same name.",
            found=", ".join(twice),
            fix=f"Rename one of them: {twice[0]} as another_name.",
        )
    unknown = [name for name in release.columns if name not in names or release.columns.count(name) > 1]
    if unknown:
        raise ParameterError(
            f"The order of columns has names that are unknown or repeated, beside {', '.join(names)}.",
            found=", ".join(unknown),
            fix=Fix("columns", tuple(names)),
        )
    lengths = {len(values) for values in release.keys.values()} | {len(a.values) for a in release.aggregates}
    if len(lengths) > 1:
        raise ParameterError("Keys and aggregates need one value per group each.", found=sorted(lengths))
    if not release.aggregates:
        raise ParameterError("A release needs at least one aggregate.")
    if not 0 < release.confidence < 1:
        raise ParameterError(
            "The confidence must lie between 0 and 1.", found=release.confidence, fix=Fix("confidence", "0.95")
        )
