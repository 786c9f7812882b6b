"""Choose what to measure, and how precisely, from noisy scores.

A marginal r has weight w_r, is off by about s_r, and has n_r cells. If it is measured with noise σ_r, its error is
about c·n_r·σ_r; if not, it stays s_r. Under Σ 1/σ² = B the best σ for a given set is 1/σ_r² ∝ (w_r·n_r)^⅔, and
then

    gain of a set S = Σ_S w_r·s_r − (Σ_S y_r)^{3/2}/√B,   y_r = (c·w_r·n_r)^⅔

(the closed form of google/dpsynth's SWIFT). Candidates are taken in the order of gain per y, as long as the total
gain grows. With c = √(2/π) the error would be that of the noise alone. Shrinkage removes most of it: what remains
on average is about 0.35 of that on every table tried (figures in docs/theory/synthesis.md), hence C below.

Earlier measurements count: the precision of each candidate is raised to κ·y_r, with one κ for all (water-filling).
All of this is post-processing of noisy numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from discreet.synth.marginals.domain import Columns, Floats
from discreet.synth.marginals.model import Model

LEFT = 0.35
"""The share of the noise of a table that shrinkage leaves, on average."""

C = LEFT * math.sqrt(2 / math.pi)
"""The error of a cell after shrinkage, for noise of deviation 1."""

MOST_PAIRS, MOST_TRIPLES = 5000, 400
"""The most pairs, and the most triples, that are measured."""

_ROOT = math.sqrt(2 / math.pi)  # E|noise| of deviation 1


@dataclass(frozen=True)
class Candidate:
    """A set of columns: its number of cells, its weight, and the estimated error of its prediction (`score`).

    Of a table that is mostly empty, `cells` are those that noise spoils (`spoiled`). `precision` is that of
    earlier measurements, in 1/variance.
    """

    columns: Columns
    cells: float
    weight: float
    score: float
    precision: float = 0.0

    @property
    def size(self) -> float:
        """y: its share of the budget, before scaling."""
        return float((C * self.weight * self.cells) ** (2 / 3))


def chosen(
    candidates: Sequence[Candidate], precision: float, also: Sequence[Candidate] = ()
) -> dict[Columns, float]:
    """Return the sets that are worth measuring, with their shares of the precision.

    `also` are measured in any case, and lose precision to every set that is taken beside them.

    >>> close, far = Candidate((0, 1), 100, 1.0, score=5.0), Candidate((0, 2), 100, 1.0, score=500.0)
    >>> list(chosen([close, far], precision=1.0))
    [(0, 2)]
    """
    taken = list(also)
    removed, size = 0.0, sum(candidate.size for candidate in also)
    best = -(size**1.5) / math.sqrt(precision) if also else -math.inf
    for candidate in sorted(candidates, key=lambda c: -c.weight * c.score / c.size):
        if candidate.weight <= 0 or len(taken) >= MOST_PAIRS:
            continue
        gain = removed + candidate.weight * candidate.score
        value = gain - (size + candidate.size) ** 1.5 / math.sqrt(precision)
        if value > best:
            best, removed, size = value, gain, size + candidate.size
            taken.append(candidate)
    return {candidate.columns: precision * candidate.size / size for candidate in taken}


def filled(candidates: Sequence[Candidate], precision: float) -> dict[Columns, float]:
    """Return the precision to add to each set, where some were measured before.

    Those stay. Each of the others is taken if that makes the total expected error smaller.

    >>> old, new = Candidate((0, 1), 10, 1.0, 0.0, precision=4.0), Candidate((0, 2), 10, 1.0, 90.0)
    >>> shares = filled([old, new], precision=4.0)
    >>> (0, 2) in shares
    True
    """
    taken = [candidate for candidate in candidates if candidate.precision > 0]
    fresh = [c for c in candidates if c.precision <= 0 < c.score and c.weight > 0]
    facts = _facts(taken)
    level, error = _level(facts, precision)
    for candidate in sorted(fresh, key=lambda c: -c.weight * c.score / c.size)[:MOST_TRIPLES]:
        more = np.vstack([facts, _facts([candidate])])
        raised, after = _level(more, precision)
        if after - candidate.weight * candidate.score < error:
            taken, facts, level, error = [*taken, candidate], more, raised, after
    added = {c.columns: level * c.size - c.precision for c in taken}
    return {columns: part for columns, part in added.items() if part > 1e-6 * precision}


def _facts(candidates: Sequence[Candidate]) -> Floats:
    """Return the size, the present precision, and the error at precision 1 of each candidate, as rows."""
    found = [(c.size, c.precision, c.weight * C * c.cells) for c in candidates]
    return np.array(found, float).reshape(-1, 3)


def _level(facts: Floats, precision: float) -> tuple[float, float]:
    """Return the κ at which Σ max(κ·y − present precision, 0) is the precision to add, and the error there."""
    if not len(facts):
        return 0.0, 0.0
    # A candidate takes nothing below its own threshold, so they are filled in the order of thresholds.
    thresholds = facts[:, 1] / facts[:, 0]
    order = np.argsort(thresholds, kind="stable")
    sizes, there = np.cumsum(facts[order, 0]), np.cumsum(facts[order, 1])
    levels = (precision + there) / sizes
    reached = np.append(levels[:-1] <= thresholds[order][1:], True)
    level = float(levels[int(reached.argmax())])
    error = facts[:, 2] / np.sqrt(np.maximum(level * facts[:, 0], facts[:, 1]))
    return level, float(error.sum())


def shrunk(scores: Sequence[float], deviation: float) -> list[float]:
    """Return noisy scores, moved towards their mean by as much as noise explains their differences.

    This is James and Stein's estimate. Without it the largest of many scores, which noise has raised, look worth
    measuring; and where noise hides every difference, the mean of many scores still says whether columns are tied.

    >>> [round(score) for score in shrunk([15.0, 5.0, 10.0, 14.0, 6.0], deviation=10.0)]
    [10, 10, 10, 10, 10]
    >>> [round(score) for score in shrunk([15.0, 5.0, 10.0, 14.0, 6.0], deviation=0.1)]
    [15, 5, 10, 14, 6]
    """
    values = np.array(scores, float)
    if len(values) < 4:
        return [float(value) for value in values]
    off = values - values.mean()
    kept = max(1 - (len(values) - 3) * deviation**2 / max(float(off @ off), 1e-300), 0.0)
    found: list[float] = (values.mean() + kept * off).tolist()
    return found


def single_errors(model: Model) -> list[float]:
    """Return the expected distance of every one-way marginal from the table's, in rows."""
    found = model.evidence.gathered(1)
    return [
        float(np.minimum(_ROOT * np.sqrt(found[column,].variances), one).sum()) if (column,) in found else 0.0
        for column, one in enumerate(model.ones)
    ]


def removable(score: float, expected: Floats, errors: Sequence[float], variance: float) -> float:
    """Return how much of a pair's distance from independence a measurement could remove, in rows.

    Two parts of the distance stay. One is the error of the one-way marginals. The other is chance: in a table of
    few rows a cell differs from its expectation e by about √e, whatever its columns have to do with each other,
    and noise of variance v hides v/(v + e) of that. Parts of a distance add up like deviations.

    Args:
        score: The distance.
        expected: The counts that follow from independence.
        errors: The distances of the one-way marginals.
        variance: That of the measurement.

    >>> round(removable(50.0, np.full((2, 2), 400.0), [30.0, 0.0], variance=0.0))
    40
    """
    inside = np.maximum(expected, 1e-12)
    hidden = np.sqrt(inside * (variance / (variance + inside)))
    chance = float(np.minimum(_ROOT * hidden, 2 * inside).sum())
    stays = chance**2 + sum(error**2 for error in errors)
    return math.sqrt(max(max(score, 0.0) ** 2 - stays, 0.0))


def most_of_a_cell(score: float, expected: Floats) -> float:
    """Return by how much one cell of a pair can be off, in rows, if all of them are off by `score` together.

    Rows and columns of the differences add up to zero. So what one cell is off, the rest of its row and the rest
    of its column are off too, and so are the cells outside of both: a quarter of the score at most. A cell also
    cannot be below zero, nor above the sums of its row and its column.

    Args:
        score: The distance from independence.
        expected: The counts that follow from independence.

    >>> most_of_a_cell(100.0, np.array([[40.0, 10.0], [40.0, 10.0]])), most_of_a_cell(100.0, np.full((9, 9), 1.0))
    (25.0, 8.0)
    """
    largest = np.minimum.outer(expected.sum(axis=1), expected.sum(axis=0))
    return min(score / 4, float(np.maximum(expected, largest - expected).max()))


def forest(ties: Mapping[Columns, float]) -> list[Columns]:
    """Return the pairs of the spanning tree with the largest ties, without those that are not above 0.

    >>> forest({(0, 1): 5.0, (0, 2): 3.0, (1, 2): 4.0, (2, 3): -1.0})
    [(0, 1), (1, 2)]
    """
    found: list[Columns] = []
    group: dict[int, int] = {}
    for pair in sorted(ties, key=lambda c: -ties[c]):
        one, other = (group.setdefault(column, column) for column in pair)
        if one != other and ties[pair] > 0:
            found.append(pair)
            group = {column: one if root == other else root for column, root in group.items()}
    return found


def spoiled(expected: Floats, variance: float) -> float:
    """Return the number of cells that noise spoils: all of them, or fewer if most are empty.

    A cell with expectation e and noise of deviation σ is off by about √(2/π)·σ·e/(e + σ) after shrinkage: by the
    noise if it is large, and by no more than itself if it is small. `C` stands for tables where the mean of
    e/(e + σ) is LEFT. A table of 300 × 300 levels, of which few are frequent, is far below that.

    Args:
        expected: The counts that follow from independence.
        variance: That of the measurement.

    >>> spoiled(np.full(100, 50.0), 25.0), round(spoiled(np.full(100, 0.05), 25.0), 1)
    (100.0, 2.8)
    """
    inside = expected / (expected + math.sqrt(variance))
    return min(float(expected.size), float(inside.sum()) / LEFT)


def weights(workload: Mapping[Columns, float], sets: Sequence[Columns]) -> dict[Columns, float]:
    """Return the weight of each set: the sum over all wanted marginals that contain it.

    >>> weights({(0, 1, 2): 1.0, (0, 1): 2.0}, [(0, 1), (0, 2), (0, 1, 2)])
    {(0, 1): 3.0, (0, 2): 1.0, (0, 1, 2): 1.0}
    """
    found = dict.fromkeys(sets, 0.0)
    lengths: dict[int, list[Columns]] = {}
    for columns in found:
        lengths.setdefault(len(columns), []).append(columns)
    for wanted, weight in workload.items():
        whole = frozenset(wanted)
        for length, listed in lengths.items():
            # A wanted set of many columns has too many subsets to enumerate.
            if math.comb(len(wanted), length) <= len(listed):
                inside = [part for part in combinations(wanted, length) if part in found]
            else:
                inside = [part for part in listed if whole.issuperset(part)]
            for columns in inside:
                found[columns] += weight
    return found


def even_weights(width: int, sets: Sequence[Columns]) -> dict[Columns, float]:
    """Return the `weights` if all sets of three of so many columns are wanted, without listing them.

    >>> even_weights(5, [(0, 1), (0, 1, 2)])
    {(0, 1): 3.0, (0, 1, 2): 1.0}
    """
    top = min(3, width)
    return {c: float(math.comb(width - len(c), top - len(c))) if len(c) <= top else 0.0 for c in sets}
