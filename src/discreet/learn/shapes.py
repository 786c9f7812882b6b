"""Read the shape functions of a model: what each value of each column adds to the score.

    shapes = model.shapes()
    shapes["age"].effects          # what each knot adds, around their mean
    shapes.plot()                  # one small picture for each column

A model that is linear in the features of a `FeatureMap` is additive: its score is a base plus one function of each
column, divided by the norm of the row. Effects are stated at the norm √(k + c²) of a row of k columns whose
numbers lie on knots, c being the column for the intercept; a line beside hats (`FeatureMap.line`) counts as it
does in the mean over its range, a third of its square. They are centred: their mean over the values of a
column is 0, and the base has the rest. Of more than two classes, each has its own effects, around their mean over
the classes.

Claims. Shapes follow from the model alone: they are post-processing, and cost nothing. At knots, categories and
missing values, base and effects add up to the score of the model, up to rounding of the features. Between knots
the norm is smaller, so that a score is larger, by a factor of less than √2 on hats; its sign is the same. With
lines, base and effects are the score times the norm of its row over the stated norm: the sign is the same again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.learn.feature_map import Block, FeatureMap
from discreet.learn.shape_charts import drawn, named, page
from discreet.release.released import TEST_BITS, Guarded
from discreet.render.terminal import paragraph
from discreet.schema import Column, Integer, Real

if TYPE_CHECKING:
    import altair
    import pyarrow

Floats = NDArray[np.float64]

_BARS = "▁▂▃▄▅▆▇█"
_NAMES = 16  # columns of a terminal for the name of a column
_LISTED = 8  # categories in a line


@dataclass(frozen=True, eq=False)
class Shape:
    """The shape function of one column.

    Args:
        name: The name of the column.
        column: Its declaration.
        values: The knots of a number, or the categories.
        effects: What each value adds to the score, one row for each score.
        missing: What a missing value adds, one number for each score; None if the schema fills it.
        steps: Whether an effect is the same up to the next value; False by default.
    """

    name: str
    column: Column
    values: tuple[Any, ...]
    effects: Floats
    missing: Floats | None
    steps: bool = False

    @property
    def categorical(self) -> bool:
        """Whether the values are categories, and not knots of a number or a date."""
        return self.column.kind in ("category", "boolean", "text")

    @property
    def range(self) -> float:
        """The largest difference that the column makes to a score; a missing value is not counted."""
        return float((self.effects.max(axis=1) - self.effects.min(axis=1)).max())

    def told(self, score: int = 0) -> list[tuple[str | None, float]]:
        """Return the values as text, with their effects on a score; None is a missing value."""
        listed: list[tuple[str | None, float]] = [
            (named(value), float(effect)) for value, effect in zip(self.values, self.effects[score], strict=True)
        ]
        return listed if self.missing is None else [*listed, (None, float(self.missing[score]))]


@dataclass(frozen=True, eq=False)
class Shapes(Guarded):
    """The shape functions of a model, the column with the widest range first.

    Args:
        title: What they are of.
        unit: What a score is, such as "log-odds of yes".
        scores: The names of the scores: one for two classes, else one for each class.
        base: The score where every effect is 0, one number for each score.
        columns: The shape functions.
        test_bits: Whether the model was made from test bits; False by default.
    """

    title: str
    unit: str
    scores: tuple[str, ...]
    base: Floats
    columns: tuple[Shape, ...]
    test_bits: bool = False

    def __getitem__(self, name: str) -> Shape:
        for shape in self.columns:
            if shape.name == name:
                return shape
        raise ParameterError(
            f"The model has no column {name!r}.",
            fix=f"It has {', '.join(repr(one.name) for one in self.columns)}.",
        )

    def __iter__(self) -> Iterator[Shape]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def to_arrow(self) -> pyarrow.Table:
        """Return all effects as a table: column, value, score, effect. The value of a missing one is null."""
        import pyarrow

        self.expect_release("to_arrow")
        rows = [
            {"column": shape.name, "value": value, "score": score, "effect": effect}
            for shape in self.columns
            for i, score in enumerate(self.scores)
            for value, effect in shape.told(i)
        ]
        kinds = [("column", "string"), ("value", "string"), ("score", "string"), ("effect", "double")]
        schema = pyarrow.schema([(name, pyarrow.type_for_alias(kind)) for name, kind in kinds])
        return pyarrow.Table.from_pylist(rows, schema)

    def to_pandas(self) -> Any:
        """Return all effects as a frame of pandas: column, value, score, effect."""
        return self.to_arrow().to_pandas()

    def plot(self, columns: int = 2) -> altair.TopLevelMixin:
        """Draw one small picture for each column; `columns` of them stand side by side."""
        self.expect_release("plot")
        return drawn(self, columns)

    def __repr__(self) -> str:
        return f"Shapes({self.title!r}, {len(self.columns)} columns)"

    def __str__(self) -> str:
        lines = [TEST_BITS] if self.test_bits else []
        lines.append(f"{self.title}: what each value adds to the {self.unit}")
        for shape in self.columns:
            for i, score in enumerate(self.scores):
                name = shape.name if len(self.scores) == 1 else f"{shape.name}, {score}"
                lines += paragraph(name, _line(shape, i), _NAMES, 80)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return page(self)


def shapes_of(model: Any, unit: str) -> Shapes:
    """Return the shape functions of a fitted model that is linear in the features of its `feature_map_`.

    Args:
        model: The model, with `feature_map_`, `coef_`, `intercept_` and `label`.
        unit: What a score is, for titles.
    """
    feature_map: FeatureMap = model.feature_map_
    lines, constant = sum(block.line**2 / 3 for block in feature_map.blocks), feature_map.constant
    norm = np.sqrt(len(feature_map.blocks) + lines + constant**2)
    coefficients, base = np.atleast_2d(model.coef_) / norm, np.atleast_1d(model.intercept_) * constant / norm
    if len(coefficients) > 1:  # a softmax does not change if every class gets the same
        coefficients, base = coefficients - coefficients.mean(axis=0), base - base.mean()
    found = []
    for block in feature_map.blocks:
        weights = coefficients[:, block.start : block.start + block.width]
        if block.width == 1 and block.column.levels != 1:  # one feature from −1 to 1
            weights = np.hstack([-weights, weights])
        if block.line:
            weights = weights + block.line * np.outer(
                coefficients[:, block.along], np.linspace(-1, 1, block.width)
            )
        middle = weights.mean(axis=1)
        missing = coefficients[:, block.absent] - middle if block.missing else None
        values = _values(block.column, knots(block))
        found.append(Shape(block.name, block.column, values, weights - middle[:, None], missing))
        base = base + middle
    several = len(coefficients) > 1
    scores = tuple(str(one) for one in model.classes_) if several else (unit,)
    return _shapes(model, unit, scores, base, found)


def additive(
    model: Any,
    unit: str,
    score: Callable[[dict[str, Any]], Floats],
    places: Mapping[str, Sequence[float]],
    *,
    steps: bool = False,
) -> Shapes:
    """Return the shape functions of a fitted model whose score is a sum over columns, by what it says of codes.

    Args:
        model: The model.
        unit: What a score is, for titles.
        score: Returns the scores of rows, given their codes.
        places: The codes of each column to ask about, the first one being 0.
        steps: Whether an effect is the same from one place to the next; False by default.
    """
    first, found = float(score({name: np.zeros(1, np.int64) for name in places})[0]), []
    for name, column in model.task_.features.items():
        asked = [*map(round, places[name]), *([-1] if column.filling is None else [])]
        codes = {other: np.zeros(len(asked), np.int64) for other in places} | {name: np.array(asked)}
        effects = score(codes)[None, :] - first
        known = effects[:, : len(places[name])]
        middle = known.mean(axis=1)
        missing = effects[:, -1] - middle if column.filling is None else None
        values = _values(column, list(map(round, places[name])))
        found.append(Shape(name, column, values, known - middle[:, None], missing, steps))
    base = np.array([first - sum(float(shape.effects[0, 0]) for shape in found)])
    return _shapes(model, unit, (unit,), base, found)


def knots(block: Block) -> list[float]:
    """Return the codes at which the features of a column peak: every category, and the knots of a number."""
    levels = block.column.levels or 1
    width = levels if block.categorical else block.width if block.width > 1 else min(2, levels)
    return [float(place) for place in np.linspace(0, levels - 1, width)]


def _shapes(model: Any, unit: str, scores: tuple[str, ...], base: Floats, found: Sequence[Shape]) -> Shapes:
    ordered = tuple(sorted(found, key=lambda shape: -shape.range))
    title = f"{model.task_.target}, by {type(model).__name__}"
    return Shapes(title, unit, scores, base, ordered, test_bits=model.test_bits)


def amount(effect: float) -> str:
    """Return an effect as text.

    >>> amount(0.5), amount(-12345.6)
    ('+0.50', '-12,346')
    """
    return f"{effect:+,.0f}" if abs(effect) >= 100 else f"{effect:+.2f}"


def _values(column: Column, places: Sequence[float]) -> tuple[Any, ...]:
    """Return the values of a column at places on its axis of codes."""
    if not isinstance(column, Integer | Real):
        return tuple(column.values([round(place) for place in places]))
    return tuple(float(column.offset + column.scale * round(place * 2**20) / 2**20) for place in places)


def _line(shape: Shape, score: int) -> str:
    """Return a shape in a line: a bar for each knot, or each category with its effect."""
    effects = shape.effects[score]
    low, high = float(effects.min()), float(effects.max())
    rest = "" if shape.missing is None else f"; missing {amount(shape.missing[score])}"
    if shape.categorical:
        order = np.argsort(-np.abs(effects))[:_LISTED]
        more = f", and {len(effects) - _LISTED} more" if len(effects) > _LISTED else ""
        return ", ".join(f"{named(shape.values[i])} {amount(effects[i])}" for i in sorted(order)) + more + rest
    steps = np.rint((effects - low) / max(high - low, 1e-12) * (len(_BARS) - 1)).astype(int)
    bars = "".join(_BARS[step] for step in steps)
    return f"{named(shape.values[0])} {bars} {named(shape.values[-1])}: {amount(low)} to {amount(high)}{rest}"
