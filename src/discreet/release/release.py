"""What comes out of a vault: numbers with intervals, what they cost, and a label.

    release.value, release.error      a single number, and the half-width of its interval
    release["count(*)"].values        one aggregate, a number per group; .low, .high, .error
    for row in release: …             rows as dictionaries
    release.to_pandas()               also to_polars(), to_arrow(): keys, and x, x_low, x_high per aggregate x
    print(release), release.plot()    digits as the noise warrants; the data keep all of theirs
    release.save("a.json"), Release.load("a.json")

A release is a record of public things: whoever has one may do with it as they like, and nothing done to it costs
budget. **Except if it was made from test bits**: then it can be looked at, and says so wherever it is shown, but
it refuses to become a table, a file or a pickle (NotForRelease), and the mark stays on what the ledger writes
down.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from discreet import noise
from discreet.errors import NotForRelease, ParameterError
from discreet.ledger.balance import Balance
from discreet.ledger.entry import stamp
from discreet.noise.testing import marked
from discreet.release.estimate import Estimate, axis_of
from discreet.release.label import Label
from discreet.release.receipt import Receipt

if TYPE_CHECKING:
    import altair
    import pandas
    import polars
    import pyarrow
    from rich.console import Console, ConsoleOptions, RenderResult

    from discreet.query.answer.estimates import Estimates
    from discreet.query.question import Question


@dataclass(frozen=True)
class Release:
    """The answer to a question. See the module for what it can do.

    `keys` has a column of public values for every key; `columns` is the order of the answer's columns, and may
    leave out keys. `confidence` is that of each interval by itself. `free` says that it was answered from the
    record.
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
        keys = {name: tuple(map(_key, values)) for name, values in self.keys.items()}
        object.__setattr__(self, "keys", keys)
        object.__setattr__(self, "aggregates", tuple(self.aggregates))
        object.__setattr__(self, "confidence", Fraction(self.confidence))
        names = [*keys, *(answer.name for answer in self.aggregates)]
        object.__setattr__(self, "columns", tuple(self.columns) or tuple(names))
        _check(names, self)

    # -- numbers ----------------------------------------------------------------------------------------------

    @property
    def groups(self) -> int:
        """How many groups there are; 1 without keys."""
        sizes = [len(answer.values) for answer in self.aggregates] + [len(key) for key in self.keys.values()]
        return sizes[0] if sizes else 0

    def __getitem__(self, name: str) -> Estimate:
        for answer in self.aggregates:
            if answer.name == name:
                return answer
        raise KeyError(
            f"{name!r} is no aggregate of this release; it has {', '.join(a.name for a in self.aggregates)}."
        )

    def __iter__(self) -> Iterator[dict[str, Any]]:
        table = self.table()
        for row in zip(*table.values(), strict=True):
            yield {name: self._with_mark(value) for name, value in zip(table, row, strict=True)}

    def table(self) -> dict[str, Sequence[Any]]:
        """Return the columns by name: keys, and x, x_low, x_high for every aggregate x."""
        columns: dict[str, Sequence[Any]] = {}
        taken = {*self.keys, *(answer.name for answer in self.aggregates)}
        for name in self.columns:
            if name in self.keys:
                columns[name] = self.keys[name]
                continue
            answer = self[name]
            columns[name] = answer.values
            for end, numbers in (("low", answer.low), ("high", answer.high)):
                beside = f"{name}_{end}"
                while beside in taken:
                    beside += "_"
                taken.add(beside)
                columns[beside] = numbers
        return columns

    @property
    def value(self) -> float | None:
        """The number, of a release that has one."""
        number: float | None = self._with_mark(self._single.values[0])
        return number

    @property
    def error(self) -> float | None:
        """Half of the width of its interval."""
        number: float | None = self._with_mark(self._single.error[0])
        return number

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """The ends of its interval."""
        return self._with_mark(self._single.low[0]), self._with_mark(self._single.high[0])

    @property
    def _single(self) -> Estimate:
        if len(self.aggregates) != 1 or self.groups != 1:
            names = ", ".join(f"release[{answer.name!r}].values" for answer in self.aggregates)
            raise ParameterError(
                f"This release has {self._size}, not one number. Take {names}, or release.to_pandas()."
            )
        return self.aggregates[0]

    @property
    def _size(self) -> str:
        numbers, groups = len(self.aggregates), self.groups
        return f"{numbers} aggregate{'' if numbers == 1 else 's'} in {groups:,} group{'' if groups == 1 else 's'}"

    # -- facts ------------------------------------------------------------------------------------------------

    @property
    def cost(self) -> Receipt:
        """What it cost, and what is left."""
        return self.label.cost

    @property
    def test_bits(self) -> bool:
        """Whether it was made from test bits, and is not for release."""
        return any(answer.test_bits for answer in self.aggregates)

    def again(self, *balances: Balance) -> Release:
        """Return the same release as it is answered from the record: free, beside the accounts as they are now."""
        return replace(self, free=True, label=self.label.now(*balances) if balances else self.label)

    # -- on its way out ---------------------------------------------------------------------------------------

    def to_arrow(self) -> pyarrow.Table:
        """Return a table of Arrow."""
        from discreet.release import frames

        self.expect_release("to_arrow")
        return frames.arrow(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame of pandas."""
        from discreet.release import frames

        self.expect_release("to_pandas")
        return frames.pandas(self)

    def to_polars(self) -> polars.DataFrame:
        """Return a data frame of polars."""
        from discreet.release import frames

        self.expect_release("to_polars")
        return frames.polars(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the release to a file of JSON."""
        from discreet.release import serialize

        self.expect_release("save")
        serialize.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Release:
        """Return the release that was saved. A file of JSON runs no code, and is checked while it is read."""
        from discreet.release import serialize

        return serialize.load(path)

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads, for the ledger's record. It says if it was made from test bits."""
        from discreet.release import serialize

        return serialize.written(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Release:
        """Return the release that `as_json` wrote."""
        from discreet.release import serialize

        return serialize.read(record)

    def expect_release(self, doing: str) -> None:
        """Refuse to go on if this was made from test bits."""
        if self.test_bits:
            raise NotForRelease(
                f"This answer was made from test bits: its noise is predictable, and {doing} would let it out. "
                "Look at it with print(release) or release[name].values, or ask outside of noise.deterministic(…)."
            )

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        self.expect_release("pickle")
        return super().__reduce_ex__(protocol)

    # -- to the eye -------------------------------------------------------------------------------------------

    def plot(self) -> altair.TopLevelMixin:
        """Draw the numbers with their intervals."""
        from discreet.release import render

        return render.picture(self)

    def __repr__(self) -> str:
        return f"Release({self.question[:60]!r}, {self._size}, {self.cost.spent})"

    def __str__(self) -> str:
        from discreet.release import render

        return render.text(self)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from discreet.release import render

        yield render.styled(self, options.max_width)

    def _repr_html_(self) -> str:
        from discreet.release import render

        return render.page(self)

    def _with_mark(self, value: Any) -> Any:
        return marked(value) if self.test_bits and isinstance(value, float) else value


def columns(
    question: Question, estimates: Estimates, rows: Sequence[int] | None = None
) -> tuple[dict[str, list[Any]], list[Estimate]]:
    """Return keys and aggregates of a release from estimates: of these rows, in this order, or of all."""
    shown = np.arange(len(estimates.keys)) if rows is None else np.asarray(rows, np.int64)
    chosen = [estimates.keys[row] for row in shown.tolist()]
    keys = {key.name: [row[place] for row in chosen] for place, key in enumerate(question.keys)}
    answers = [
        Estimate(
            name=estimate.name,
            values=estimate.value[shown],
            low=estimate.low[shown],
            high=estimate.high[shown],
            note=estimate.aggregate.note,
            kind=estimate.aggregate.kind,
            axis=axis_of(estimate.aggregate),
            test_bits=noise.is_test_noise(estimate.value) or None,
        )
        for estimate in estimates.columns
    ]
    return keys, answers


def _key(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is None or isinstance(plain, str | int | float | date):
        return plain
    raise ParameterError(f"A key is a text, a number, a truth value or a date, not {value!r}.")


def _check(names: list[str], release: Release) -> None:
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ParameterError(f"{', '.join(sorted(twice))} is the name of two columns. Rename one: … as another.")
    if unknown := set(release.columns) - set(names) or len(set(release.columns)) < len(release.columns):
        raise ParameterError(f"columns has names that are unknown or twice there ({unknown}), beside {names}.")
    lengths = {len(values) for values in release.keys.values()} | {len(a.values) for a in release.aggregates}
    if len(lengths) > 1:
        raise ParameterError(f"Keys and aggregates have a value per group each, not {sorted(lengths)} of them.")
    if not release.aggregates:
        raise ParameterError("A release has at least one aggregate.")
    if not 0 < release.confidence < 1:
        raise ParameterError(f"confidence lies between 0 and 1, not {release.confidence}.")
