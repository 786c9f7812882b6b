"""Bound from below the rows that any private learner needs: a packing (note 003).

Let K tables of n rows each want outputs in disjoint sets G₁, …, G_K, such as thresholds that lie far apart. Let an
ε-DP algorithm A end in G_i with probability p or more on the i-th table, for every i. Two tables of n rows are at
most D neighbours apart: D = n where neighbours replace a row, D = 2n where they add or remove one. Then

    1 − p ≥ P[A(T₁) ∉ G₁] ≥ Σ_{i=2}^K P[A(T₁) ∈ G_i] ≥ Σ_{i=2}^K e^{−εD}·P[A(T_i) ∈ G_i] ≥ (K − 1)·e^{−εD}·p,

so D ≥ ln((K − 1)·p/(1 − p))/ε. At p = 0.9 that is ln(9(K − 1))/ε. ∎

The notes write the chain about A(D_i) on the left, where it is about A(D₁), and count K summands where there are
K − 1: `notes_packing` is ln(9K)/ε. Read at K = 1 it demands 2.2/ε rows for a task without a choice, which an
algorithm that ignores its input solves. K grows without bound for thresholds on [0, 1]: no pure private algorithm
learns them from any number of rows.

These are lower bounds, so they are rounded down.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import Fix, ParameterError
from discreet.learn.theorems.finite_classes import Neighbours, factor
from discreet.mechanisms import tails
from discreet.privacy.rounding import float_below
from discreet.rational import Rational, positive, rational, shown, whole


def packing_rows(
    tables: int, *, epsilon: Rational, success: Rational = "0.9", neighbours: Neighbours = "replace"
) -> float:
    """Return a number of rows below which no ε-DP algorithm succeeds on all tables of a packing.

    Args:
        tables: The number K of tables with disjoint sets of good outputs.
        epsilon: The guarantee.
        success: The probability of a good output.
        neighbours: The neighbouring relation.

    >>> round(packing_rows(1000, epsilon="0.1"), 2), packing_rows(1, epsilon=1)
    (91.04, 0.0)
    >>> round(packing_rows(1000, epsilon="0.1", neighbours="add/remove"), 2)
    45.52
    """
    count, loss, odds = _parameters(tables, epsilon, success)
    if (count - 1) * odds <= 1:
        return 0.0
    steps = 3 - factor(neighbours)  # to change a row is one step, or two: to remove it and to add another
    return float_below(tails.log((count - 1) * odds) / (loss * steps))


def notes_packing(tables: int, *, epsilon: Rational, success: Rational = "0.9") -> float:
    """Return ln(9K)/ε, the bound that follows from the last line of the notes. It claims more than is true.

    >>> round(notes_packing(1, epsilon=1), 3), packing_rows(1, epsilon=1)
    (2.197, 0.0)
    """
    count, loss, odds = _parameters(tables, epsilon, success)
    return float_below(tails.log(count * odds) / loss)


def _parameters(tables: int, epsilon: Rational, success: Rational) -> tuple[int, Fraction, Fraction]:
    chance = rational(success, "success", floats="exact")
    if not 0 < chance < 1:
        raise ParameterError("success must lie between 0 and 1.", found=shown(success), fix=Fix("success", "0.9"))
    return whole(tables, "tables"), positive(epsilon, "epsilon"), chance / (1 - chance)
