"""Divide a question's budget among its linear queries.

Noise of budget ε_j has an error of c_j/ε_j (Laplace), or of c_j/√ρ_j (Gaussian, budget ρ_j), in units in which
all answers of the question are equally important. The sum of the squared errors is least

    pure:  min Σ c_j²/ε_j²  with Σ ε_j = ε.  Lagrange: c_j²/ε_j³ is the same for all j, so ε_j ∝ (c_j²)^{1/3}.
    zCDP:  min Σ c_j²/ρ_j   with Σ ρ_j = ρ.  Lagrange: c_j²/ρ_j² is the same for all j, so ρ_j ∝ (c_j²)^{1/2}.

The least values are (Σ (c_j²)^{1/3})³/ε² and (Σ (c_j²)^{1/2})²/ρ. Shares are rounded to exact fractions that add
up to 1, so that no budget is lost or spent twice. Privacy depends on the sum of the shares only: rounding them
costs accuracy, never privacy.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np


def shares(squares: Sequence[float], *, pure: bool) -> list[Fraction]:
    """Return the shares that minimise Σ squares/ε² (pure) or Σ squares/ρ: fractions whose sum is exactly 1.

    >>> shares([1, 1, 8], pure=True)
    [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    >>> shares([1, 1, 4], pure=False)
    [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    """
    return proportional([square ** (1 / 3 if pure else 1 / 2) for square in squares])


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
