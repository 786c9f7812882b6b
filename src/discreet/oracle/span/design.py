"""Divide a budget among residuals, and compute the variance of every linear answer from them in closed form.

Column i has n_i levels, and q_i are the weights of its levels in a question; q̄_i = q_i − m_i, m_i their mean. A
question on the columns C that is a product of such weights is

    q = Σ over A ⊆ C of (Π m_i over i in C∖A)·(⊗ q̄_i over i in A),

and each part is answered from the residual of its own set A: by least squares, and without bias. So

    Var(q) = Σ over A ⊆ C of σ_A²·(Π v_i over A)·(Π m_i² over C∖A),        v_i = q̄_iᵀ·X_i⁺·q̄_i,

where σ_A² is the variance of the noise on the numbers of set A. This is the form of ResidualPlanner (Xiao and
others 2023), with strategies for ranges. With w_A the mean factor of σ_A² over a public law of questions, and
c_A/2ρ_A the variance that ρ_A buys, ρ_A ∝ √(w_A·c_A) minimises the mean variance. To set up a new law of noise
takes time, so variances are rounded to powers of √2 times a common factor, which costs about 1 % of accuracy.
Nothing here reads data.

**The law of questions** is a guess about analysts: boxes on one, two or three columns (15, 35, 50 %), each column
with the same probability; of ordered columns three quarters are ranges between two levels at random, and all else
are points. It decides how budget is divided and what the plan expects, never whether an interval holds.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.oracle.span.strategy import RANGES, Strategy, of_axis
from discreet.query.bins import Axis

Columns: TypeAlias = tuple[int, ...]
Floats = NDArray[np.float64]
Factors: TypeAlias = Mapping[Columns, float]
"""For every set of columns that a question weighs together: the factor of its variance in the answer's."""

SIZES = {1: 0.15, 2: 0.35, 3: 0.50}
"""The law of the number of columns in a question."""

MOST_BINS = 512
"""The most bins of a column that is measured with others: its strategy is a matrix of as many rows and columns."""

MOST_SETS = 12_000
"""The most sets of columns in a span: all triples of forty columns, which take some seconds to measure."""

MOST_CELLS = 2**23
"""The most numbers in a span: they are kept in the journal."""


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a design: its strategy, and what the law of questions makes of it.

    `levels` are those of a column whose bins no one chose (`Axis.even`): questions name levels, and a range that
    divides a bin has no answer. It is 0 where bins are levels, or were given: then questions follow them.
    """

    size: int
    ordered: int
    strategy: Strategy
    levels: int = 0

    @cached_property
    def variances(self) -> Floats:
        """The factor v of every range [low, high), at noise of variance 1: a matrix by low and high."""
        summed = np.zeros((self.size + 1, self.size + 1))
        summed[1:, 1:] = self.strategy.spread.cumsum(axis=0).cumsum(axis=1)
        ends = np.diag(summed)
        return np.maximum(ends[:, None] + ends[None, :] - summed - summed.T, 0.0)

    def box(self, low: int, high: int) -> tuple[float, float]:
        """Return (m², v) of the range [low, high)."""
        return ((high - low) / self.size) ** 2, float(self.variances[low, high])

    @cached_property
    def means(self) -> tuple[float, float]:
        """The means of m² and v over the law of questions."""
        at = np.arange(self.size)
        points = (1 / self.size**2, float(self.variances[at, at + 1].mean()))
        if self.ordered <= 2:
            return points
        low, high = np.triu_indices(self.ordered)
        chance = np.where(low == high, 1.0, 2.0) / self.ordered**2
        wide = (high + 1 - low) / self.size
        ranges = (float((chance * wide**2).sum()), float((chance * self.variances[low, high + 1]).sum()))
        return (
            RANGES * ranges[0] + (1 - RANGES) * points[0],
            RANGES * ranges[1] + (1 - RANGES) * points[1],
        )


@dataclass(frozen=True, eq=False)
class Design:
    """Sets of columns, and the noise of each set.

    Args:
        columns: The columns of the oracle.
        noise: For each set 2ρ times the variance of its noise, for a person of one row: Σ cost/noise is at most 1.
        most: The most columns of a set.
    """

    columns: tuple[Column, ...]
    noise: Mapping[Columns, float]
    most: int

    def variances(self, rho: float, contribution: float) -> dict[Columns, float]:
        """Return σ_A² of each set for a budget of ρ, in rows², if a person has at most `contribution` rows."""
        return {columns: contribution**2 * noise / (2 * rho) for columns, noise in self.noise.items()}


def columns_of(axes: Sequence[Axis]) -> tuple[Column, ...]:
    """Return the columns of a design, in the order of the axes."""
    nothing = Strategy(np.zeros((1, 1), np.int64))
    return tuple(
        Column(
            axis.size,
            len(axis.starts) if axis.ordered else 0,
            of_axis(axis) if axis.size <= MOST_BINS else nothing,
            axis.levels if axis.even else 0,
        )
        for axis in axes
    )


def design(columns: Sequence[Column], most: int) -> Design | None:
    """Return the design of all sets of up to `most` columns; None if there are too many, or too many numbers.

    >>> from discreet.oracle.span.strategy import strategy
    >>> pair = [Column(2, 0, strategy(2, 0)), Column(3, 0, strategy(3, 0))]
    >>> made = design(pair, 2)
    >>> {columns: round(noise, 3) for columns, noise in made.noise.items()}
    {(): 4.561, (0,): 4.561, (1,): 18.243, (0, 1): 25.799}
    """
    usable = [i for i, column in enumerate(columns) if 2 <= column.size <= MOST_BINS]
    if len(usable) < most or sum(math.comb(len(usable), k) for k in range(most + 1)) > MOST_SETS:
        return None
    sets = [some for k in range(most + 1) for some in combinations(usable, k)]
    sizes = [math.prod(columns[i].size for i in some) for some in sets]
    if max(sizes) > 10**6 or sum(sizes) > MOST_CELLS:
        return None
    weights = dict.fromkeys(sets, 0.0)
    law = law_of_sizes(len(usable), most)
    for together in sets[1:]:
        chance = law[len(together)] / math.comb(len(usable), len(together))
        for some in chain.from_iterable(combinations(together, k) for k in range(len(together) + 1)):
            weights[some] += chance * math.prod(columns[i].means[i in some] for i in together)
    costs = {some: math.prod(columns[i].strategy.cost for i in some) for some in sets}
    steps = {some: round(math.log2(costs[some] / max(weights[some], 1e-300))) for some in sets}
    whole = sum(costs[some] / 2 ** (step / 2) for some, step in steps.items())
    total = whole * (1 + 1e-9)  # above the exact sum, with room for costs that are rounded up
    return Design(tuple(columns), {some: 2 ** (step / 2) * total for some, step in steps.items()}, most)


def law_of_sizes(columns: int, most: int) -> dict[int, float]:
    """Return the law of the number of columns in a question, if there are so many at most.

    >>> law_of_sizes(2, 3)
    {1: 0.3, 2: 0.7}
    """
    law = {k: share for k, share in SIZES.items() if k <= min(columns, most)}
    if most >= 4 and columns >= 4:
        law = {**law, 4: law[3]}
    return {k: share / sum(law.values()) for k, share in law.items()}


def variance(parts: Sequence[Factors], variances: Mapping[Columns, float], missing: float = math.inf) -> float:
    """Return the variance of an answer; ∞ if a set that it needs was not measured, unless `missing` is said to be.

    >>> variance([{(): 0.25, (0,): 2.0}], {(): 4.0, (0,): 1.0})
    3.0
    """
    total = 0.0
    for chosen in product(*(part.items() for part in parts)):
        factor = math.prod(value for _, value in chosen)
        if factor:
            total += factor * variances.get(tuple(sorted(chain(*(some for some, _ in chosen)))), missing)
    return total


Box: TypeAlias = tuple[tuple[int, int, int], ...]
"""A question of the law: for each of its columns the place, and the range [low, high) of levels."""


def questions(columns: Sequence[Column], count: int, most: int = 3) -> Iterator[Box]:
    """Yield questions by the public law, on up to `most` columns: the same every time.

    A range over all levels of a column is no condition, and is left out, as it is of a question. A range that
    divides a bin is empty here: see `divided`.

    >>> from discreet.oracle.span.strategy import strategy
    >>> boxes = [*questions([Column(3, 3, strategy(3, 3)), Column(2, 0, strategy(2, 0))], 50)]
    >>> len(boxes), () in boxes, any(part == (0, 0, 3) for box in boxes for part in box)
    (50, True, False)
    """
    usable = [i for i, column in enumerate(columns) if column.size >= 2]
    law = law_of_sizes(len(usable), most)
    draws = hashlib.shake_256(b"discreet: the law of questions").digest(80 * count)
    numbers = np.frombuffer(draws, np.uint64).reshape(count, 10) / 2.0**64
    for row in numbers:
        size = list(law)[int(np.searchsorted(np.cumsum(list(law.values()))[:-1], row[0], "right"))]
        left, box = list(usable), []
        # One number chooses the columns, and each column has its own two: a range, or a point.
        place = row[1]
        for j in range(size):
            place *= len(left)
            chosen, place = left.pop(int(place)), place - int(place)
            box.append(_interval(columns[chosen], chosen, float(row[2 + 2 * j]), float(row[3 + 2 * j])))
        yield tuple(sorted(part for part in box if part[2] - part[1] < columns[part[0]].size))


def divided(box: Box) -> bool:
    """Return whether a question of the law divides a bin, so that a span has no answer.

    >>> from discreet.oracle.span.strategy import strategy
    >>> [divided(box) for box in questions([Column(64, 64, strategy(64, 64), levels=9001)], 4)]
    [True, True, True, True]
    """
    return any(low == high for _, low, high in box)


def _interval(column: Column, place: int, first: float, second: float) -> tuple[int, int, int]:
    if column.levels:
        starts = {i * column.levels // column.ordered: i for i in range(column.ordered + 1)}
        levels = sorted((int(first / RANGES * column.levels), int(second * column.levels)))
        low, high = starts.get(levels[0]), starts.get(levels[1] + 1)
        whole = first < RANGES and low is not None and high is not None
        return (place, low or 0, high or 0) if whole else (place, 0, 0)
    if column.ordered > 2 and first < RANGES:
        ends = int(first / RANGES * column.ordered), int(second * column.ordered)
        return place, min(ends), max(ends) + 1
    low = int(second * column.size)
    return place, low, low + 1
