"""Quantiles: choose a code whose rank is right, and two that enclose the right one.

In one group let F(x) be what the rows weigh with a code ≤ x (F before the first code is 0), N all of them, and p =
a/b. The quantiles are the codes x with F(x−1) ≤ p·N ≤ F(x): one, or several if p·N is where the data has a gap.
For a target τ, an integer, code x covers [b·F(x−1), b·F(x)], and its score is minus the distance from τ:

    u(x) = −max(0, b·F(x−1) − τ, τ − b·F(x)),      τ = a·N + s for a public shift s.

**Sensitivity.** A person who weighs v in this group adds α ≤ v to F(x−1) and v to N: b·F(x−1) − τ moves by b·α −
a·v, between −a·v and (b−a)·v. The same holds for F(x), and for the larger of two such numbers and 0. So every
score moves by at most v·max(a, b−a), and v ≤ K·U. Scores are clipped, which moves no two of them further apart.

**All groups cost as one.** A person's weights v_g in the groups add up to K·U or less. In group g the scores move
by at most v_g·c, c = max(a, b−a), where the mechanism's scale t = 2·K·U·c/ε stands against K·U·c. So what is
chosen there is ε_g-DP with ε_g = 2·v_g·c/t = ε·v_g/(K·U), and all choices together, being independent, are Σ ε_g ≤
ε. For the exponential mechanism the loss of group g lies in an interval of width ε_g, hence the sum in one of
width ε: all groups together have ε-bounded range, and are ε²/8-zCDP, as `loss` says.

**The interval holds for every table.** Some code has score 0 if 0 ≤ τ ≤ b·N. For the lower end take s = −(d+1),
where with probability 1 − β the mechanism chooses a score within d of the best, and one more candidate, "below
all", that covers every τ ≤ 0 and stands for the first code. Then there is always a score of 0. If the choice is a
code x with score ≥ −d, then b·F(x−1) ≤ τ + d = a·N − 1 < a·N, so every quantile is at x or above; if it is "below
all", every quantile is too, trivially. The upper end is the mirror image. Together [low, high] holds all
quantiles, whatever the definition takes from a gap, with probability 1 − 2β: in a group without rows as well,
where it is the whole range.

More than 10⁶ codes, or too many in all groups, are taken a power of two at a time: the ends are those of the
cells, so the interval holds as before. Theory: docs/theory/quantiles.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QuestionRefused
from discreet.mechanisms import Exact, Exponential, PermuteAndFlip, Sensitivity
from discreet.mechanisms.exact import Integers, with_mark
from discreet.privacy.losses import Loss
from discreet.query.plan.affine import shifted, signed
from discreet.query.question import Term
from discreet.schema.metadata import UNIT

if TYPE_CHECKING:
    from discreet.engines.nodes import Expression

CELLS = 10**6
"""How many candidates there are in a group, at most."""

_ALL_CELLS = 2 * 10**7  # candidates in all groups: seconds
_FEWEST = 256  # a quantile among fewer cells is no answer
_SHARES = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))  # the value, the lower end, the upper end
_FINEST = 10**6  # the largest denominator of a probability
_WIDE = 2**61  # no score, weight or sum of weights here is larger


@dataclass(frozen=True)
class Ranking:
    """One quantile in every group: a value, and an interval around it."""

    term: Term
    probability: Fraction
    shift: int
    value: Exponential | PermuteAndFlip
    end: Exponential | PermuteAndFlip
    reach: int
    """How far below the best score an end may be, except with half of the doubt."""

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What it costs: one choice for the value, and one for either end, each over all groups."""
        return self.value.loss, self.end.loss, self.end.loss

    @property
    def cells(self) -> int:
        """How many candidates a group has."""
        return cells(self.term, self.shift)

    @property
    def rank_error(self) -> float:
        """By how many rows the rank of the ends may be off, at the confidence of the plan."""
        return float((2 * self.reach + 1) / (self.probability.denominator * Fraction(UNIT)))

    def tree(self) -> Expression:
        """Return the cell of a row: NULL where there is no value; outside the bounds, that of the nearer end."""
        from discreet.query import ir

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
    """Return the mechanisms for one quantile, for a budget of ε (pure) or ρ."""
    if probability.denominator > _FINEST:
        raise QuestionRefused(
            f"A quantile of {float(probability)} is too fine a rank: write at most six digits, such as 0.999."
        )
    shift = coarsening(term, groups)
    share = probability if term.scale > 0 else 1 - probability  # of codes, where probability is one of values
    moves = rows_per_person * UNIT * max(share.numerator, share.denominator - share.numerator)
    parts = [budget * part for part in _SHARES[:2]]
    make = PermuteAndFlip if pure else Exponential
    value, end = (make(part if pure else root_below(8 * part), moves) for part in parts)
    candidates = cells(term, shift) + 1
    return Ranking(term, share, shift, value, end, end.error(1 - alpha / 2, candidates=candidates))


def coarsening(term: Term, groups: int) -> int:
    """Return how many bits of a code are too many for candidates.

    >>> coarsening(Term(None, 0, 10**7), groups=1)
    4
    """
    most = min(CELLS, _ALL_CELLS // groups)
    shift = 0
    while cells(term, shift) > most and cells(term, shift) > _FEWEST:
        shift += 1
    if cells(term, shift) > most:
        raise QuestionRefused(
            f"A quantile in each of {groups:,} groups is too much to choose: ask for at most "
            f"{_ALL_CELLS // _FEWEST:,} groups, or for an average."
        )
    return shift


def cells(term: Term, shift: int) -> int:
    """Return how many cells of 2^shift codes there are.

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
    """Return the score of every cell for τ = a·N + shift, after that of "below all" (−1) or "above all" (1).

    Clipping a multiple: let τ = b·T + r with 0 ≤ r < b. Then b·F − τ = b·(F − T) − r, and clipping F − T to ±c
    first and the result to ±b·(c − 1) afterwards is the same as clipping the result alone, as |r| < b: no product
    leaves int64.

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
    """Return the cells of value, lower end and upper end in every group, from the weight of each (group, cell)."""
    order = np.argsort(where, kind="stable")
    where, cell, weight = where[order], cell[order], weight[order]
    starts = np.searchsorted(where, np.arange(groups + 1))
    found: list[list[Integers]] = []
    for group in range(groups):
        own = slice(starts[group], starts[group + 1])
        histogram = np.zeros(ranking.cells, np.int64)
        histogram[cell[own]] = weight[own]
        found.append(_chosen(ranking, histogram))
    columns = [np.array([int(row[i]) for row in found], np.int64) for i in range(3)]
    return [with_mark(column, of=found[0][0]) for column in columns]


def _chosen(ranking: Ranking, histogram: Integers) -> list[Integers]:
    """Release value, lower end and upper end in one group."""
    far, last = ranking.reach + 1, ranking.cells - 1

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
    from discreet.engines import nodes

    return nodes.Null()
