"""Release quantiles with intervals: select a code by its rank, and enclose it by noisy running totals.

In one group let F(x) be the weight of the rows with a code ≤ x (F before the first code is 0), N the weight of all
rows, and p = a/b. The quantiles are the codes x with F(x−1) ≤ p·N ≤ F(x): one, or several if the data has a gap at
p·N.

**The value** is selected by its score. Code x covers [b·F(x−1), b·F(x)], and its score is minus the distance from
the target τ = a·N:

    u(x) = −max(0, b·F(x−1) − τ, τ − b·F(x)).

*Sensitivity.* A person of weight v in this group adds α ≤ v to F(x−1) and v to N: b·F(x−1) − τ changes by b·α −
a·v, between −a·v and (b−a)·v. The same holds for F(x), and for the larger of two such numbers and 0. So every
score changes by at most v·max(a, b−a), and v ≤ K·U. Scores are clipped, which moves no two of them further apart.

*All groups cost as one.* A person's weights v_g in the groups add up to K·U or less. In group g the scores
change by at most v_g·c, c = max(a, b−a), and the mechanism has the scale t = 2·K·U·c/ε of the sensitivity K·U·c.
So the choice there is ε_g-DP with ε_g = 2·v_g·c/t = ε·v_g/(K·U), and all choices together, being independent, are
Σ ε_g ≤ ε. For the exponential mechanism the loss of group g lies in an interval of width ε_g, hence the sum in one
of width ε: all groups together have ε-bounded range, and are ε²/8-zCDP, as `loss` states.

**The interval** is for all quantiles of a column in a question together. The selected values cut the codes of each
group into bins: single codes beside a value, and longer bins further away. The weights of the bins are the leaves
of a tree of noisy sums (`discreet.query.plan.prefix_tree`), which gives F̂ at the end of every bin. A person
changes the leaves of all groups by K·U in L1, whatever the bins are. They depend on released values only, so the
tree is one more release with a loss that is fixed in advance.

Let T(x) = F(x) − p·N, T̂ its estimate, and m(x) a margin that T̂ − T exceeds with probability β = alpha/2 at most,
on either side. The lower end is the first code of the first bin with T̂ ≥ −m at its end. *It is not above any
quantile*, but for probability β: let q be the first quantile and x the end of its bin. Then T(x) ≥ F(q) − p·N ≥ 0,
so T̂(x) ≥ −m(x) but for β, and the first such bin is not behind that of q. The upper end is the last code of the
last bin with T̂ ≤ m just before it: for the last quantile q and the code x before its bin, T(x) ≤ F(q−1) − p·N ≤
0. By a union bound over two
    events, not
over candidates, [low, high] holds all quantiles with probability 1 − alpha, for every table, the empty one too.

If there are more than 10⁶ codes, or too many in all groups, a power of two of codes forms one cell. The ends of
the interval are ends of cells, so it holds as before. Theory: docs/theory/quantiles.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from discreet.engines import nodes
from discreet.errors import QuestionRefused
from discreet.mechanisms import Exact, Exponential, Gaussian, Laplace, PermuteAndFlip, Sensitivity
from discreet.mechanisms.exact import Integers, with_mark
from discreet.privacy.losses import Loss
from discreet.query import ir
from discreet.query.plan.affine import shifted, signed
from discreet.query.plan.prefix_tree import PrefixTree, fitted
from discreet.query.question import Term
from discreet.rational import root_below
from discreet.schema.metadata import UNIT

if TYPE_CHECKING:
    from discreet.engines.nodes import Expression

CELLS = 10**6
"""The largest number of candidates in a group."""

_ALL_CELLS = 2 * 10**7  # the largest number of candidates in all groups: they take seconds
_FEWEST = 256  # a quantile among fewer cells would be too coarse
_VALUES = Fraction(1, 3)  # the share of the budget for the selected values; the tree gets the rest
_BINS = 32  # of one quantile: more make more noise, fewer make longer steps (measured: docs/theory/quantiles.md)
_MOST_BINS = 512  # of all quantiles together
_AT_ONCE = 1024  # groups whose trees are released together
_FINEST = 10**6  # the largest denominator of a probability
_WIDE = 2**61  # bounds every score, weight and sum of weights here


@dataclass(frozen=True)
class Ranking:
    """Some quantiles of one term in every group: a value for each, and an interval around it."""

    term: Term
    probabilities: tuple[Fraction, ...]
    """The ranks, on the axis of codes: ascending, each once."""
    shift: int
    values: tuple[Exponential | PermuteAndFlip, ...]
    tree: PrefixTree
    noise: Laplace | Gaussian
    weight: int
    """The largest weight of one person in all groups together, K·U."""
    alpha: Fraction
    """1 − confidence of each interval."""

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses to charge: one for each value and one for the tree, each over all groups."""
        return (*(value.loss for value in self.values), self.noise.loss)

    @property
    def cells(self) -> int:
        """The number of candidates in a group."""
        return cells(self.term, self.shift)

    def margins(self, probability: Fraction) -> NDArray[np.float64]:
        """Return for each bin the margin of F − p·N at its end, in units of weight."""
        return self.tree.margins(probability, self.noise, self.alpha / 2)

    def rank_error(self, probability: Fraction) -> float:
        """Return the largest margin of a rank in rows, at the confidence of the plan."""
        return float(self.margins(probability).max()) / UNIT

    def place(self, probability: Fraction) -> int:
        """Return the place of a rank of the question among `probabilities`."""
        return self.probabilities.index(_on_codes(self.term, probability))

    def cell(self) -> Expression:
        """Return the cell of a row: NULL for a missing value; the cell of the nearer end outside the bounds."""
        code, low, high = self.term.code, signed(self.term.low), signed(self.term.high)
        inside = shifted(ir.plus(code, -self.term.low), self.shift)
        return ir.case(
            [
                (ir.is_null(code), _null()),
                (ir.compared("<", code, low), ir.number(0)),
                (ir.compared(">", code, high), ir.number(self.cells - 1)),
            ],
            inside,
        )

    def codes(self, chosen: NDArray[np.int64], *, last: bool) -> NDArray[np.int64]:
        """Return the first, or the last, code of cells."""
        step = 1 << self.shift
        first = chosen * step + self.term.low
        return np.minimum(first + step - 1, self.term.high) if last else first


def ranking(
    term: Term,
    probabilities: Sequence[Fraction],
    budget: Fraction,
    *,
    pure: bool,
    rows_per_person: int,
    groups: int,
    alpha: Fraction,
) -> Ranking:
    """Return the mechanisms for the quantiles of one term.

    Args:
        term: The values and their bounds.
        probabilities: The ranks of the quantiles, from 0 to 1.
        budget: The ε (pure) or ρ to spend on all of them.
        pure: Whether the ledger adds up ε, not ρ.
        rows_per_person: The number of rows of one person that count in full.
        groups: The number of groups that is expected. Only the coarseness of the candidates depends on it.
        alpha: 1 − confidence of each interval.
    """
    for probability in probabilities:
        if probability.denominator > _FINEST:
            raise QuestionRefused(
                "The rank of a quantile must have at most six digits.",
                found=float(probability),
                fix="Write a shorter one, such as 0.999.",
            )
    shift = coarsening(term, groups)
    shares = tuple(sorted({_on_codes(term, probability) for probability in probabilities}))
    each = budget * _VALUES / len(shares)
    make = PermuteAndFlip if pure else Exponential
    values = tuple(
        make(
            each if pure else root_below(8 * each),
            rows_per_person * UNIT * max(p.numerator, p.denominator - p.numerator),
        )
        for p in shares
    )
    room = min(cells(term, shift), min(_BINS * len(shares), _MOST_BINS))
    tree = fitted(room, shares, pure=pure)
    weight, rest = rows_per_person * UNIT, budget * (1 - _VALUES)
    sensitivity = tree.sensitivity(weight)
    noise = Laplace.for_epsilon(rest, sensitivity.l1 or 0) if pure else Gaussian.for_rho(rest, sensitivity)
    return Ranking(term, shares, shift, values, tree, noise, weight, alpha)


def _on_codes(term: Term, probability: Fraction) -> Fraction:
    """Return a rank on the axis of codes, whose order a negative scale reverses."""
    return probability if term.scale > 0 else 1 - probability


def coarsening(term: Term, groups: int) -> int:
    """Return the number of low bits of a code to drop, so that the candidates are not too many.

    >>> coarsening(Term(None, 0, 10**7), groups=1)
    4
    """
    most = min(CELLS, _ALL_CELLS // groups)
    shift = 0
    while cells(term, shift) > most and cells(term, shift) > _FEWEST:
        shift += 1
    if cells(term, shift) > most:
        raise QuestionRefused(
            f"A quantile in each of {groups:,} groups has too many candidates.",
            fix=[f"Ask for at most {_ALL_CELLS // _FEWEST:,} groups.", "Or ask for an average."],
        )
    return shift


def cells(term: Term, shift: int) -> int:
    """Return the number of cells of 2^shift codes.

    >>> cells(Term(None, 0, 9), shift=2)
    3
    """
    return ((term.high - term.low) >> shift) + 1


def scores(weights: Integers, probability: Fraction) -> Integers:
    """Return the score of every cell for the target τ = a·N.

    Clipping a multiple: let τ = b·T + r with 0 ≤ r < b. Then b·F − τ = b·(F − T) − r, and clipping F − T to ±c
    first and the result to ±b·(c − 1) afterwards is the same as clipping the result alone, as |r| < b: no product
    leaves int64.

    Args:
        weights: The weight of each cell.
        probability: The rank p = a/b.

    >>> scores(np.array([1, 1, 1, 1]), Fraction(1, 2)).tolist()
    [-2, 0, 0, -2]
    """
    a, b = probability.numerator, probability.denominator
    up_to = np.cumsum(np.clip(weights, 0, _WIDE // len(weights)))
    whole, rest = divmod(a * int(up_to[-1]), b)
    clip = _WIDE // b
    above = b * np.clip(np.concatenate([[0], up_to[:-1]]) - whole, -clip, clip) - rest
    below = b * np.clip(whole - up_to, -clip, clip) + rest
    negated: Integers = -np.minimum(np.maximum(np.maximum(above, below), 0), b * (clip - 1))
    return negated


def bins(values: Sequence[int], cells: int, leaves: int) -> Integers:
    """Return the first cell of each bin: all cells if there is room for them, else finer beside the values.

    Beside each value there are bins of one cell, and their distances from it grow by a constant factor, so that a
    bin is longer than its neighbour towards the value by little.

    Args:
        values: The selected cells.
        cells: The number of cells.
        leaves: The largest number of bins.

    >>> bins([50], cells=100, leaves=16).tolist()
    [0, 3, 28, 40, 45, 47, 49, 50, 51, 53, 55, 60, 72, 97]
    """
    if cells <= leaves:
        return np.arange(cells)
    steps = max(1, (leaves // len(values) - 3) // 2)
    distances = np.unique(np.ceil(cells ** (np.arange(steps) / steps)).astype(np.int64))
    starts = {0}
    for value in values:
        starts |= {value, *(value + distances).tolist(), *(value - distances).tolist()}
    return np.array(sorted(start for start in starts if 0 <= start < cells))


def choose(
    ranking: Ranking, groups: int, where: Integers, cell: Integers, weight: Integers
) -> list[list[Integers]]:
    """Release, for each quantile, the cells of value, lower end and upper end in every group.

    Quantiles of larger ranks have no smaller values and ends: values are sorted, and ends are widened.

    Args:
        ranking: The mechanisms of the quantiles.
        groups: The number of groups.
        where: The group of each histogram entry.
        cell: The cell of each histogram entry.
        weight: The weight of the rows in each histogram entry.
    """
    order = np.argsort(where, kind="stable")
    where, cell, weight = where[order], cell[order], weight[order]
    starts = np.searchsorted(where, np.arange(groups + 1))
    found, marked = [], None
    for first in range(0, groups, _AT_ONCE):
        selected, cuts = [], []
        last = min(first + _AT_ONCE, groups)
        leaves = np.zeros((last - first, ranking.tree.leaves), np.int64)
        for group in range(first, last):
            own = slice(starts[group], starts[group + 1])
            histogram = np.zeros(ranking.cells, np.int64)
            histogram[cell[own]] = weight[own]
            values = _select(ranking, histogram)
            cut = bins([int(value) for value in values], ranking.cells, ranking.tree.leaves)
            leaves[group - first, : len(cut)] = np.add.reduceat(np.clip(histogram, 0, _WIDE // ranking.cells), cut)
            selected.append([int(value) for value in values])
            cuts.append(cut)
            marked = values[0]
        found.append(_enclosed(ranking, np.array(selected), cuts, running(ranking, leaves)))
    whole = np.concatenate(found, axis=0)  # group, quantile, (value, low, high)
    return [
        [with_mark(np.ascontiguousarray(whole[:, place, part]), of=marked) for part in range(3)]
        for place in range(len(ranking.probabilities))
    ]


def _select(ranking: Ranking, histogram: Integers) -> list[Any]:
    """Release a value for each quantile of one group."""
    return [
        mechanism.release(Exact(scores(histogram, p), Sensitivity(each=mechanism.sensitivity)))
        for p, mechanism in zip(ranking.probabilities, ranking.values, strict=True)
    ]


def running(ranking: Ranking, leaves: Integers) -> NDArray[np.float64]:
    """Release the running totals of the bins of some groups."""
    tree = ranking.tree
    sums = tree.sums(leaves)
    noisy = cast(Integers, ranking.noise.release(Exact(sums.ravel(), tree.sensitivity(ranking.weight))))
    return tree.running(np.asarray(noisy).reshape(sums.shape))


def _enclosed(
    ranking: Ranking, values: Integers, cuts: Sequence[Integers], running: NDArray[np.float64]
) -> Integers:
    """Return value, lower and upper end for each group and quantile."""
    values = np.sort(values, axis=1)
    ends = np.zeros((*values.shape, 2), np.int64)
    everything = running[:, -1:]
    for place, p in enumerate(ranking.probabilities):
        margin = ranking.margins(p) + np.abs(everything) * _ROUNDING
        away = running - float(p) * everything
        for group, cut in enumerate(cuts):
            count = len(cut)
            below = np.flatnonzero(away[group, :count] >= -margin[group, :count])
            above = np.flatnonzero(away[group, : count - 1] <= margin[group, : count - 1]) + 1
            first, last = int(below[0]) if len(below) else 0, int(above[-1]) if len(above) else 0
            first, last = min(first, last), max(first, last)
            following = int(cut[last + 1]) if last + 1 < count else ranking.cells
            ends[group, place] = cut[first], following - 1
    ends[:, :, 0] = np.minimum.accumulate(ends[:, ::-1, 0], axis=1)[:, ::-1]
    ends[:, :, 1] = np.maximum.accumulate(ends[:, :, 1], axis=1)
    inside = np.clip(values, ends[:, :, 0], ends[:, :, 1])
    return np.concatenate([inside[:, :, None], ends], axis=2)


_ROUNDING = 2.0**-44  # of sums of floats up to 2⁶²: a thousand additions, each off by 2⁻⁵³


def _null() -> Expression:
    return nodes.Null()
