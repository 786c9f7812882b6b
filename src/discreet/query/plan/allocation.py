"""Divide a question's budget among its linear queries.

Noise of budget ε_j has an error of c_j/ε_j (Laplace), or of c_j/√ρ_j (Gaussian, budget ρ_j), in units in which
all answers of the question are equally important. The sum of the squared errors is least

    pure:  min Σ c_j²/ε_j²  with Σ ε_j = ε.  Lagrange: c_j²/ε_j³ is the same for all j, so ε_j ∝ (c_j²)^{1/3}.
    zCDP:  min Σ c_j²/ρ_j   with Σ ρ_j = ρ.  Lagrange: c_j²/ρ_j² is the same for all j, so ρ_j ∝ (c_j²)^{1/2}.

The least values are (Σ (c_j²)^{1/3})³/ε² and (Σ (c_j²)^{1/2})²/ρ. Shares are rounded to exact fractions that add
up to 1, so that no budget is lost or spent twice. Privacy depends on the sum of the shares only: rounding them
costs accuracy, never privacy.

**One size of noise.** Every size of noise has a table of its own, which takes longer to make than a sum takes to
add up. So noises that would be nearly of one size get exactly one. Let queries of budgets ρ_j and squared
sensitivities d_j have variances d_j/(2ρ_j). With the common variance Σ d_j/(2·Σ ρ_j) each spends ρ_j' = d_j·Σ
ρ/Σ d, which adds up to Σ ρ_j as before. With v_j = d_j/ρ_j, the sum of the squared errors, least at the ρ_j,
grows by the factor (mean of v_j)·(mean of 1/v_j), weighted by ρ_j. For v_j within a ratio g that is at most
(1+g)²/(4g) (Kantorovich): 1.013 for g = 1.12². Under ε the same holds with scales t_j = d_j/ε_j, and the factor
is (mean of t_j)²·(mean of 1/t_j²): 1.010 for g = 1.12.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

ONE_SIZE = Fraction("1.12")
"""The largest ratio of two standard deviations that are made one."""


def shares(squares: Sequence[float], *, pure: bool) -> list[Fraction]:
    """Return the shares that minimise Σ squares/ε² (pure) or Σ squares/ρ: fractions whose sum is exactly 1.

    >>> shares([1, 1, 8], pure=True)
    [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    >>> shares([1, 1, 4], pure=False)
    [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    """
    return proportional([square ** (1 / 3 if pure else 1 / 2) for square in squares])


def evened(budgets: Sequence[Fraction], moves: Sequence[int], *, pure: bool) -> list[Fraction]:
    """Return budgets of the same sum, with which noises of nearly one size have exactly one.

    Args:
        budgets: The ε, or the ρ, of each query.
        moves: The L1 sensitivity of each query under ε, its squared L2 sensitivity under ρ.
        pure: Whether the budgets are ε.

    >>> evened([Fraction(1, 2), Fraction(1, 2)], [100, 110], pure=True)
    [Fraction(10, 21), Fraction(11, 21)]
    >>> evened([Fraction(1, 2), Fraction(1, 2)], [100, 200], pure=True)
    [Fraction(1, 2), Fraction(1, 2)]
    """
    sizes = [move / budget for move, budget in zip(moves, budgets, strict=True)]
    result = list(budgets)
    for alike in _alike(sizes, ONE_SIZE if pure else ONE_SIZE**2):
        together = sum((budgets[j] for j in alike), Fraction(0)) / sum(moves[j] for j in alike)
        for j in alike:
            result[j] = moves[j] * together
    return result


def _alike(sizes: Sequence[Fraction], ratio: Fraction) -> list[list[int]]:
    """Return the places of the sizes in groups, none of which has sizes further apart than a ratio."""
    groups: list[list[int]] = []
    for j in sorted(range(len(sizes)), key=sizes.__getitem__):
        if not groups or sizes[j] > sizes[groups[-1][0]] * ratio:
            groups.append([])
        groups[-1].append(j)
    return groups


def least(squares: Sequence[float], *, pure: bool) -> float:
    """Return the least Σ squares/ε² (or Σ squares/ρ) for a budget of 1.

    >>> round(least([1, 1], pure=True), 9), round(least([1, 1], pure=False), 9)
    (8.0, 4.0)
    """
    power = 3 if pure else 2
    return float(sum(square ** (1 / power) for square in squares) ** power)


def proportional(weights: Sequence[float]) -> list[Fraction]:
    """Return positive fractions in about these proportions (equal if all are 0), whose sum is exactly 1.

    >>> proportional([2, 1])
    [Fraction(333, 500), Fraction(167, 500)]
    """
    grid = 1000 * (1 + len(weights) // 100)
    relative = np.array(weights, float) if any(weights) else np.ones(len(weights))
    wanted = relative / relative.sum() * (grid - len(weights))
    parts = np.floor(wanted).astype(int) + 1
    rest = grid - int(parts.sum())
    parts[np.argsort(np.floor(wanted) - wanted, kind="stable")[:rest]] += 1
    return [Fraction(int(part), grid) for part in parts]
