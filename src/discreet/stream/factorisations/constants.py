"""Compute the error of every mechanism for running sums, and the least that any factorisation has.

All constants are standard deviations of the released sum, for noise of standard deviation 1 at a sensitivity of 1:
multiply by 1/√(2ρ). `largest` is that of the worst tick, `mean` the root mean square over all ticks.

| mechanism | largest | mean of squares |
|---|---|---|
| binary tree | √(h·max_t popcount(t)) | h·(mean popcount) |
| tree, estimate from below | the same with 1/(2 − 2^−l) for digit l | |
| square root | Σ_{k<T} f_k², f_k = binomial(2k, k)/4^k | Σf²·(mean of its partial sums) |
| any factorisation | at least ‖A‖_*/T, with singular values 1/(2·sin((2i − 1)π/(4T + 2))) | the same |

Σ_{k<T} f_k² is 3.265 for T = 10³ and 4.731 for T = 10⁵; it tends to ln(T)/π + 1.0663.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from discreet.stream.factorisations.toeplitz import ToeplitzSums


class ErrorConstants(NamedTuple):
    """The standard deviation at the worst tick, and the root mean square over all ticks."""

    largest: float
    mean: float


def binary_tree(horizon: int, *, from_below: bool = False) -> ErrorConstants:
    """Return the constants of the binary tree.

    >>> binary_tree(1000)
    ErrorConstants(largest=9.486..., mean=7.02...)
    >>> binary_tree(1000, from_below=True)
    ErrorConstants(largest=7.28..., mean=5.35...)
    """
    ticks, levels = np.arange(1, horizon + 1), horizon.bit_length()
    squares = np.zeros(horizon)
    for level in range(levels):
        squares += (ticks >> level & 1) / ((2 - 2.0**-level) if from_below else 1.0)
    return ErrorConstants(math.sqrt(levels * squares.max()), math.sqrt(levels * squares.mean()))


def square_root(horizon: int) -> ErrorConstants:
    """Return the constants of the square root factorisation, without column normalisation.

    >>> square_root(1000)
    ErrorConstants(largest=3.265..., mean=3.10...)
    """
    k = np.arange(1, horizon)
    sums = np.cumsum(np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k))]) ** 2)
    return ErrorConstants(float(sums[-1]), math.sqrt(float(sums[-1] * sums.mean())))


def lower_bound(horizon: int) -> float:
    """Return what no factorisation falls below, neither at its worst tick nor in the root mean square.

    >>> round(lower_bound(1000), 3)
    2.902
    """
    i = np.arange(1, horizon + 1)
    return float(np.sum(1 / (2 * np.sin((2 * i - 1) * np.pi / (4 * horizon + 2)))) / horizon)


def blt(horizon: int) -> ErrorConstants:
    """Return the constants of the shipped default, with all that rounding and steps of the scale cost.

    >>> blt(1000)
    ErrorConstants(largest=3.08..., mean=2.99...)
    """
    sums = ToeplitzSums(Fraction(1, 2), horizon)
    ticks = np.arange(1, horizon + 1) if horizon <= 10**6 else np.linspace(1, horizon, 10**6).astype(np.int64)
    # The normal margin at the α of one standard deviation is the standard deviation, and the bias that is bounded.
    alpha = Fraction(math.erfc(1 / math.sqrt(2)))
    found = sums.margins(ticks, alpha)
    return ErrorConstants(float(found.max()), math.sqrt(float((found**2).mean())))
