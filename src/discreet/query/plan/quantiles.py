"""Release a quantile and its interval: select a code by its rank, and two codes that enclose the quantile.

In one group let F(x) be the weight of the rows with a code ≤ x (F before the first code is 0), N the weight of all
rows, and p = a/b. The quantiles are the codes x with F(x−1) ≤ p·N ≤ F(x): one, or several if the data has a gap at
p·N. For an integer target τ, code x covers [b·F(x−1), b·F(x)], and its score is minus the distance from τ:

    u(x) = −max(0, b·F(x−1) − τ, τ − b·F(x)),      τ = a·N + s for a public shift s.

**Sensitivity.** A person of weight v in this group adds α ≤ v to F(x−1) and v to N: b·F(x−1) − τ changes by b·α −
a·v, between −a·v and (b−a)·v. The same holds for F(x), and for the larger of two such numbers and 0. So every
score changes by at most v·max(a, b−a), and v ≤ K·U. Scores are clipped, which moves no two of them further apart.

**All groups cost as one.** A person's weights v_g in the groups add up to K·U or less. In group g the scores
change by at most v_g·c, c = max(a, b−a), and the mechanism has the scale t = 2·K·U·c/ε of the sensitivity K·U·c.
So the choice there is ε_g-DP with ε_g = 2·v_g·c/t = ε·v_g/(K·U), and all choices together, being independent, are
Σ ε_g ≤ ε. For the exponential mechanism the loss of group g lies in an interval of width ε_g, hence the sum in one
of width ε: all groups together have ε-bounded range, and are ε²/8-zCDP, as `loss` states.

**The interval holds for every table.** Some code has score 0 if 0 ≤ τ ≤ b·N. For the lower end take s = −(d+1),
where with probability 1 − β the mechanism selects a score within d of the best, and one more candidate, "below
all", that covers every τ ≤ 0 and stands for the first code. Then there is always a score of 0. If the mechanism
selects a code x with score ≥ −d, then b·F(x−1) ≤ τ + d = a·N − 1 < a·N, so every quantile is at x or above; if it
selects "below all", the end is the first code, and the claim is trivial. The upper end is the mirror image.
Together [low, high] holds all quantiles, for every definition of a quantile in a gap, with probability 1 − 2β.
This includes a group without rows, where the interval is the whole range.

If there are more than 10⁶ codes, or too many in all groups, a power of two of codes forms one cell. The ends of
the interval are ends of cells, so it holds as before. Theory: docs/theory/quantiles.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.engines import nodes
from discreet.errors import QuestionRefused
from discreet.mechanisms import Exact, Exponential, PermuteAndFlip, Sensitivity
from discreet.mechanisms.exact import Integers, with_mark
from discreet.privacy.losses import Loss
from discreet.query import ir
from discreet.query.plan.affine import shifted, signed
from discreet.query.question import Term
from discreet.schema.metadata import UNIT

if TYPE_CHECKING:
    from discreet.engines.nodes import Expression

CELLS = 10**6
"""The largest number of candidates in a group."""

_ALL_CELLS = 2 * 10**7  # the largest number of candidates in all groups: they take seconds
_FEWEST = 256  # a quantile among fewer cells would be too coarse
_SHARES = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))  # the value, the lower end, the upper end
_FINEST = 10**6  # the largest denominator of a probability
_WIDE = 2**61  # bounds every score, weight and sum of weights here


@dataclass(frozen=True)
class Ranking:
    """One quantile in every group: a value, and an interval around it."""

    term: Term
    probability: Fraction
    shift: int
    value: Exponential | PermuteAndFlip
    end: Exponential | PermuteAndFlip
    margin: int
    """The score of an end is at most this far below the best score, except with probability alpha/2."""

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses to charge: one for the value and one for each end, each over all groups."""
        return self.value.loss, self.end.loss, self.end.loss

    @property
    def cells(self) -> int:
        """The number of candidates in a group."""
        return cells(self.term, self.shift)

    @property
    def rank_error(self) -> float:
        """The largest error of the ends' rank in rows, at the confidence of the plan."""
        return float((2 * self.margin + 1) / (self.probability.denominator * Fraction(UNIT)))

    def tree(self) -> Expression:
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
    probability: Fraction,
    budget: Fraction,
    *,
    pure: bool,
    rows_per_person: int,
    groups: int,
    alpha: Fraction,
) -> Ranking:
    """Return the mechanisms for one quantile.

    Args:
        term: The values and their bounds.
        probability: The rank of the quantile, from 0 to 1.
        budget: The ε (pure) or ρ to spend.
        pure: Whether the ledger adds up ε, not ρ.
        rows_per_person: The number of rows of one person that count in full.
        groups: The number of groups that is expected. Only the coarseness of the candidates depends on it.
        alpha: 1 − confidence of the interval.
    """
    if probability.denominator > _FINEST:
        raise QuestionRefused(
            "The rank of a quantile must have at most six digits.",
            found=float(probability),
            fix="Write a shorter one, such as 0.999.",
        )
    shift = coarsening(term, groups)
    share = probability if term.scale > 0 else 1 - probability  # a negative scale reverses the order of codes
    sensitivity = rows_per_person * UNIT * max(share.numerator, share.denominator - share.numerator)
    parts = [budget * part for part in _SHARES[:2]]
    make = PermuteAndFlip if pure else Exponential
    value, end = (make(part if pure else root_below(8 * part), sensitivity) for part in parts)
    candidates = cells(term, shift) + 1
    return Ranking(term, share, shift, value, end, end.error(1 - alpha / 2, candidates=candidates))


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


def root_below(square: Fraction) -> Fraction:
    """Return the root, rounded down to about four digits.

    >>> root_below(Fraction(2))
    Fraction(707, 500)
    """
    grid = 1000
    while square * grid**2 < 10**6:
        grid *= 10
    return Fraction(isqrt(int(square * grid**2)), grid)


def scores(weights: Integers, probability: Fraction, shift: int, outside: int) -> Integers:
    """Return the score of every cell for τ = a·N + shift.

    Clipping a multiple: let τ = b·T + r with 0 ≤ r < b. Then b·F − τ = b·(F − T) − r, and clipping F − T to ±c
    first and the result to ±b·(c − 1) afterwards is the same as clipping the result alone, as |r| < b: no product
    leaves int64.

    Args:
        weights: The weight of each cell.
        probability: The rank p = a/b.
        shift: The public shift s of the target.
        outside: One more candidate, put first: −1 for "below all", 1 for "above all", 0 for none.

    >>> scores(np.array([1, 1, 1, 1]), Fraction(1, 2), 0, 0).tolist()
    [-2, 0, 0, -2]
    """
    a, b = probability.numerator, probability.denominator
    up_to = np.cumsum(np.clip(weights, 0, _WIDE // len(weights)))
    everything = int(up_to[-1])
    target = a * everything + shift
    whole, rest = divmod(target, b)
    clip = _WIDE // b
    limit = b * (clip - 1)
    above = b * np.clip(np.concatenate([[0], up_to[:-1]]) - whole, -clip, clip) - rest
    below = b * np.clip(whole - up_to, -clip, clip) + rest
    distance = np.minimum(np.maximum(np.maximum(above, below), 0), limit)
    if outside:
        beyond = target if outside < 0 else b * everything - target
        distance = np.concatenate([[min(max(beyond, 0), limit)], distance])
    negated: Integers = -distance
    return negated


def choose(ranking: Ranking, groups: int, where: Integers, cell: Integers, weight: Integers) -> list[Integers]:
    """Release the cells of value, lower end and upper end in every group.

    Args:
        ranking: The mechanisms of the quantile.
        groups: The number of groups.
        where: The group of each histogram entry.
        cell: The cell of each histogram entry.
        weight: The weight of the rows in each histogram entry.
    """
    order = np.argsort(where, kind="stable")
    where, cell, weight = where[order], cell[order], weight[order]
    starts = np.searchsorted(where, np.arange(groups + 1))
    found: list[list[Integers]] = []
    for group in range(groups):
        own = slice(starts[group], starts[group + 1])
        histogram = np.zeros(ranking.cells, np.int64)
        histogram[cell[own]] = weight[own]
        found.append(_release(ranking, histogram))
    columns = [np.array([int(row[i]) for row in found], np.int64) for i in range(3)]
    return [with_mark(column, of=found[0][0]) for column in columns]


def _release(ranking: Ranking, histogram: Integers) -> list[Integers]:
    """Release value, lower end and upper end in one group."""
    far, last = ranking.margin + 1, ranking.cells - 1

    def exact(shift: int, outside: int) -> Exact:
        made = scores(histogram, ranking.probability, shift, outside)
        return Exact(made, Sensitivity(each=ranking.value.sensitivity))

    value = ranking.value.release(exact(0, 0))
    low = ranking.end.release(exact(-far, -1))
    high = ranking.end.release(exact(far, 1))
    ends = [np.maximum(low - 1, 0), np.where(np.equal(high, 0), last, high - 1)]
    low_end, high_end = np.minimum(*ends), np.maximum(*ends)
    return [np.clip(value, low_end, high_end), low_end, high_end]


def _null() -> Expression:
    return nodes.Null()
