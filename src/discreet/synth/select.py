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

from discreet.synth.marginals.domain import Columns

C = 0.35 * math.sqrt(2 / math.pi)
"""The error of a cell after shrinkage, for noise of deviation 1."""

MOST = 400
"""The most sets that are measured in one round."""


@dataclass(frozen=True)
class Candidate:
    """A set of columns: its number of cells, its weight, and the estimated error of its prediction (`score`).

    `precision` is that of earlier measurements, in 1/variance.
    """

    columns: Columns
    cells: int
    weight: float
    score: float
    precision: float = 0.0

    @property
    def size(self) -> float:
        """y: its share of the budget, before scaling."""
        return float((C * self.weight * self.cells) ** (2 / 3))


def chosen(candidates: Sequence[Candidate], precision: float) -> dict[Columns, float]:
    """Return the sets that are worth measuring, with their share of the precision.

    >>> close, far = Candidate((0, 1), 100, 1.0, score=5.0), Candidate((0, 2), 100, 1.0, score=500.0)
    >>> list(chosen([close, far], precision=1.0))
    [(0, 2)]
    """
    taken: list[Candidate] = []
    removed = size = 0.0
    best = -math.inf
    for candidate in sorted(candidates, key=lambda c: -c.weight * c.score / c.size):
        if candidate.weight <= 0 or len(taken) >= MOST:
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
    level = _level(taken, precision)
    error = _error(taken, level)
    for candidate in sorted(fresh, key=lambda c: -c.weight * c.score / c.size)[:MOST]:
        raised = _level([*taken, candidate], precision)
        after = _error([*taken, candidate], raised)
        if after - candidate.weight * candidate.score < error:
            taken, level, error = [*taken, candidate], raised, after
    added = {c.columns: level * c.size - c.precision for c in taken}
    return {columns: more for columns, more in added.items() if more > 1e-6 * precision}


def _level(taken: Sequence[Candidate], precision: float) -> float:
    """Return the κ at which Σ max(κ·y − present precision, 0) is the precision to add."""
    if not taken:
        return 0.0
    # A candidate takes nothing below its own threshold, so they are filled in the order of thresholds.
    ordered = sorted(taken, key=lambda c: c.precision / c.size)
    sizes = there = level = 0.0
    for place, candidate in enumerate(ordered):
        sizes, there = sizes + candidate.size, there + candidate.precision
        level = (precision + there) / sizes
        if place + 1 < len(ordered) and level <= ordered[place + 1].precision / ordered[place + 1].size:
            break
    return level


def _error(taken: Sequence[Candidate], level: float) -> float:
    return sum(c.weight * C * c.cells / math.sqrt(max(level * c.size, c.precision)) for c in taken)


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
