"""Draw rows with the marginals of a model: Gibbs sampling in a log-linear model that is fitted on the way.

Rows are drawn along a tree first (the pairs with the most mutual information, Chow and Liu 1968). Then every
column in turn is drawn again given all others, from P(x_c | rest) ∝ p(x_c)·exp Σ_S θ_S(x_S), where S runs over
pairs, and over triples that were measured. Before each draw θ_S moves by η·log(wanted count/present count): a
stochastic form of iterative proportional fitting, in which the rows are their own estimate of the model. Because
the corrected counts are those of the rows themselves, the rows end nearer to the wanted marginals than independent
draws would.

Draws are systematic: rows that agree in the columns most tied to this one are neighbours, and take their quantiles
from the golden-ratio sequence, so that among each few of them every value has about its expected frequency.

All of this is post-processing, so its random numbers need not be secret: they come from a counter and a seed
(SplitMix64: Steele, Lea, Flood 2014), and the same seed gives the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
from discreet.synth.marginals.domain import Columns, Domain, Floats
from discreet.synth.marginals.model import Model

SWEEPS, MOST_SWEEPS = 15, 60
_WORK = 6_000_000_000  # numbers touched in about seven seconds of one core
_EACH = 15  # numbers touched for a row of a set, beside its logarithms
LEARNING = 50_000
"""The most rows that the model is fitted on; more rows are then drawn from it in batches."""

MOST_CODES = 2**31
"""The most values of all rows and columns together: eight gigabytes of codes."""

FEWEST = 4096
_STEP = 0.75  # the part of a full correction that is made, divided among all sets that correct one column
_HALF = 0.5  # added to counts, so that an empty cell has a logarithm
_FAR = 0.7  # the largest correction of one step
_NEAR = 0.01  # a pair nearer to independence than that, in l1, needs no θ
_PAIRS, _TRIPLES = 1500, 60  # the most that have a θ, beside the pairs of the tree
_BLOCK, _AT_ONCE = 1 << 18, 1024  # numbers held while a column is drawn, so that they fit a cache; least rows
_GOLDEN = 0.6180339887498949

Codes = NDArray[np.int32]


class Stream:
    """Reproducible random numbers for post-processing. Not for noise."""

    def __init__(self, seed: int):
        self._next = (seed * 0x9E3779B97F4A7C15 + 0x1234567) % 2**64

    def uniform(self, count: int) -> Floats:
        """Return numbers in [0, 1).

        >>> bool(abs(Stream(1).uniform(10_000).mean() - 0.5) < 0.02)
        True
        """
        with np.errstate(over="ignore"):
            z = np.uint64(self._next) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            self._next = int(z[-1]) if count else self._next
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z ^= z >> np.uint64(31)
        return (z >> np.uint64(11)).astype(float) * 2.0**-53


def check(count: int, columns: int) -> int:
    """Return the number of rows, or refuse more than fit into memory.

    >>> check(1000, 15)
    1000
    """
    if count * columns > MOST_CODES:
        raise ParameterError(
            f"At most {MOST_CODES // columns:,} rows of {columns} columns can be drawn.",
            found=f"{count:,}",
            fix=Fix("rows", 10**5, note="free"),
        )
    return count


def sample(
    model: Model,
    count: int,
    *,
    seed: int = 0,
    sweeps: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Codes:
    """Return rows of codes, one column for each column of the model.

    Args:
        model: The marginals that rows should have.
        count: The number of rows.
        seed: The same seed gives the same rows.
        sweeps: The number of Gibbs sweeps; by default more where they are cheap.
        progress: Called with the share of the sweeps that is done.

    >>> from discreet.synth.marginals import Domain, Evidence, Measurement, estimate
    >>> pair = Measurement((0, 1), np.array([[400.0, 100.0], [100.0, 400.0]]), 1.0)
    >>> rows = sample(estimate(Evidence(Domain(("a", "b"), (2, 2)), (pair,))), 1000)
    >>> bool(abs((rows[:, 0] == rows[:, 1]).mean() - 0.8) < 0.03)
    True
    """
    size = min(max(count, FEWEST), LEARNING)
    chain = _Chain(model, size, Stream(seed))
    many = _sweeps(chain) if sweeps is None else sweeps
    for sweep in range(many if len(model.domain) > 1 else 0):
        chain.learn()
        if progress:
            progress((sweep + 1) / many)
    if count <= size:
        order = np.argsort(chain.stream.uniform(size))
        return chain.rows[order[:count]]
    batches = [chain.rows.copy()]
    while sum(map(len, batches)) < count:
        for _ in range(2):
            chain.sweep(learning=False)
        batches.append(chain.rows.copy())
    return np.concatenate(batches)[:count]


def _sweeps(chain: _Chain) -> int:
    """Return the number of sweeps: more where they are cheap."""
    touched = chain.size * sum(chain.domain.sizes[c] + _EACH for columns in chain.wanted for c in columns)
    return min(max(SWEEPS, _WORK // max(touched, 1)), MOST_SWEEPS)


class _Chain:
    """The state of the sampler: rows, and the parameters of the model."""

    def __init__(self, model: Model, size: int, stream: Stream):
        self.domain, self.stream, self.size = model.domain, stream, size
        tree, information = _tree(model)
        self.wanted, self.theta = _targets(model, size, set(map(_ascending, tree)))
        self.closest = _closest(len(self.domain), information)
        self.logs = [np.log(np.maximum(one / one.sum(), 1e-9)).astype(np.float32) for one in model.ones]
        self.rows = self._planted(model, tree)
        self.tied = [[c for c in self.wanted if column in c] for column in range(len(self.domain))]
        self.step, self.least, self.off = _STEP / max(1, *map(len, self.tied)), np.inf, 0.0

    def learn(self) -> None:
        """Do one sweep with corrections. If it led away from the wanted counts, the next corrects half as much."""
        self.off = 0.0
        self.sweep(learning=True)
        if self.off > 1.2 * self.least:
            self.step /= 2
        self.least = min(self.least, self.off)

    def sweep(self, *, learning: bool) -> None:
        """Draw every column again."""
        for column in np.argsort(self.stream.uniform(len(self.domain))).tolist():
            if learning:
                for columns in self.tied[column]:
                    self._correct(columns)
            self._draw(column, self.tied[column])

    def _correct(self, columns: Columns) -> None:
        wanted = self.wanted[columns]
        place = _place(self.rows, columns, self.domain)
        present = np.bincount(place, minlength=wanted.size).reshape(wanted.shape)
        self.off += float(np.abs(present - wanted).sum())
        step = self.step * np.log((wanted + _HALF) / (present + _HALF))
        self.theta[columns] += np.clip(step, -_FAR, _FAR).astype(np.float32)

    def _draw(self, column: int, tied: list[Columns]) -> None:
        quantiles = self._quantiles(column)
        tables = [(self._others(columns, column), self._facing(columns, column)) for columns in tied]
        levels = self.domain.sizes[column]
        block = max(_AT_ONCE, _BLOCK // levels)
        taken = np.empty((min(block, self.size), levels), np.float32)
        for start in range(0, self.size, block):
            part = slice(start, min(start + block, self.size))
            size = part.stop - start
            logits = np.tile(self.logs[column], (size, 1))
            for place, table in tables:
                logits += np.take(table, place[part], axis=0, out=taken[:size], mode="clip")
            weight = np.ascontiguousarray(logits.T)  # levels first: sums over levels run along all rows
            weight -= weight.max(axis=0)
            np.exp(weight, out=weight)
            for level in range(1, levels):
                weight[level] += weight[level - 1]
            below = weight < quantiles[part] * weight[-1]
            self.rows[part, column] = np.minimum(below.sum(axis=0), levels - 1)

    def _others(self, columns: Columns, column: int) -> NDArray[np.int64]:
        """Return the place of every row's other columns in a table that has one column last."""
        others = [other for other in columns if other != column]
        return _place(self.rows, others, self.domain)

    def _facing(self, columns: Columns, column: int) -> NDArray[np.float32]:
        """Return θ with one column last, and all others as one axis before it."""
        turned = np.moveaxis(self.theta[columns], columns.index(column), -1)
        return np.ascontiguousarray(turned).reshape(-1, self.domain.sizes[column])

    def _quantiles(self, column: int) -> NDArray[np.float32]:
        nearest = self.closest[column]
        place = _place(self.rows, nearest, self.domain)
        order = np.argsort(place + self.stream.uniform(self.size))  # the order is random among rows of one place
        quantiles = np.empty(self.size, np.float32)
        start = self.stream.uniform(1)[0]
        quantiles[order] = (np.arange(self.size) * _GOLDEN + start) % 1.0
        return quantiles

    def _planted(self, model: Model, tree: list[tuple[int, int]]) -> Codes:
        rows: Codes = np.zeros((self.size, len(self.domain)), np.int32, order="F")  # by column, as it is read
        root = tree[0][0] if tree else 0
        share = np.cumsum(model.ones[root]) / model.ones[root].sum()
        even = (np.arange(self.size) + 0.5) / self.size
        rows[:, root] = np.minimum(np.searchsorted(share, even), self.domain.sizes[root] - 1)
        for parent, child in tree:
            table = model.pairs[_ascending((parent, child))]
            steps = np.cumsum((table if parent < child else table.T) + 1e-12, axis=1)
            given = steps[rows[:, parent]]
            below = given < (self.stream.uniform(self.size) * given[:, -1])[:, None]
            rows[:, child] = np.minimum(below.sum(axis=1), self.domain.sizes[child] - 1)
        return rows


def _place(rows: Codes, columns: Sequence[int], domain: Domain) -> NDArray[np.int64]:
    """Return the cell of every row in a marginal."""
    place = np.zeros(len(rows), np.int64)
    for column in columns:
        place *= domain.sizes[column]
        place += rows[:, column]
    return place


def _ascending(edge: tuple[int, int]) -> tuple[int, int]:
    return min(edge), max(edge)


def _tree(model: Model) -> tuple[list[tuple[int, int]], dict[Columns, float]]:
    """Return the tree of largest mutual information, as (parent, child), and the information of all pairs."""
    information = {pair: _information(table) for pair, table in model.pairs.items()}
    width = len(model.domain)
    near, best, parent = np.full((width, width), -np.inf), np.full(width, -np.inf), np.zeros(width, np.int64)
    for pair, value in information.items():
        near[pair] = near[pair[::-1]] = value
    outside, child, edges = np.ones(width, bool), 0, []
    for _ in range(width - 1):
        outside[child] = False
        better = near[child] > best
        best, parent = np.where(better, near[child], best), np.where(better, child, parent)
        child = int(np.where(outside, best, -np.inf).argmax())
        edges.append((int(parent[child]), child))
    return edges, information


def _information(table: Floats) -> float:
    share = table / max(float(table.sum()), 1e-12)
    expected = np.multiply.outer(share.sum(axis=1), share.sum(axis=0))
    inside = (share > 0) & (expected > 0)
    return float((share[inside] * np.log(share[inside] / expected[inside])).sum())


def _closest(width: int, information: dict[Columns, float]) -> list[list[int]]:
    """Return for every column the three with the most mutual information."""
    found = []
    for column in range(width):
        others = sorted(
            (other for other in range(width) if other != column),
            key=lambda other: -information[_ascending((column, other))],
        )
        found.append(others[:3])
    return found


def _targets(
    model: Model, size: int, tree: set[tuple[int, int]]
) -> tuple[dict[Columns, Floats], dict[Columns, NDArray[np.float32]]]:
    """Return the counts that rows should have, and the first θ: that of the tree."""
    wanted: dict[Columns, Floats] = {}
    theta: dict[Columns, NDArray[np.float32]] = {}
    goals = {pair: table * (size / max(float(table.sum()), 1e-12)) for pair, table in model.pairs.items()}
    for pair in _tied(goals, size, tree):
        goal = wanted[pair] = goals[pair]
        expected = _expected(goal, size)
        start = np.log((goal + 0.05) / (expected + 0.05)) if pair in tree else np.zeros(goal.shape)
        theta[pair] = start.astype(np.float32)
        if pair in model.impossible:
            theta[pair][model.impossible[pair]] = -60.0
    for triple in _strongest(model):
        table = model.triples[triple]
        wanted[triple] = table * (size / max(float(table.sum()), 1e-12))
        theta[triple] = np.zeros(table.shape, np.float32)
    return wanted, theta


def _expected(goal: Floats, size: int) -> Floats:
    return np.asarray(np.multiply.outer(goal.sum(axis=1), goal.sum(axis=0)) / size, float)


def _tied(goals: Mapping[Columns, Floats], size: int, tree: set[tuple[int, int]]) -> list[Columns]:
    """Return the pairs that need a θ: those of the tree, and those that are far from independence."""
    off = {pair: float(np.abs(goal - _expected(goal, size)).sum()) for pair, goal in goals.items()}
    far = [pair for pair in goals if pair not in tree and off[pair] > _NEAR * size]
    kept = {*tree, *sorted(far, key=lambda pair: -off[pair])[:_PAIRS]}
    return [pair for pair in goals if pair in kept]


def _strongest(model: Model) -> list[Columns]:
    """Return the measured triples that need a θ of their own: those that their pairs explain least."""

    def unexplained(triple: Columns) -> float:
        return float(np.abs(model.triples[triple] - model.from_pairs(triple)).sum())

    return sorted(model.triples, key=unexplained, reverse=True)[:_TRIPLES]
