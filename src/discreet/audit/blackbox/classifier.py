"""Fit a logistic regression that tells the answers of two laws apart by many entries at once."""

from __future__ import annotations

import numpy as np

from discreet.audit.blackbox.features import Floats, Rule
from discreet.audit.blackbox.log_ratio_cells import Pair
from discreet.audit.blackbox.samples import Group
from discreet.audit.blackbox.subsample import spread

_WORK = 5e8  # most multiplications of one Newton step


def classifier(pair: Pair, entries: list[int]) -> Rule:
    """Return a logistic regression on some entries and their squares; NaN and infinities get indicators."""
    x = pair.rows.numbers[:, entries].astype(np.float64)
    finite = np.where(np.isfinite(x), x, np.nan)
    finite[:, np.isnan(finite).all(axis=0)] = 0.0
    centre = np.nanpercentile(finite, 50, axis=0, method="nearest")
    with np.errstate(over="ignore"):
        scale = np.nanpercentile(np.abs(finite - centre), 75, axis=0, method="nearest")
    scale[~(scale > 0) | np.isinf(scale)] = 1.0
    strange = bool(np.isnan(finite).any())

    def features(group: Group) -> Floats:
        with np.errstate(invalid="ignore", over="ignore"):
            z = (group.numbers[:, entries].astype(np.float64) - centre) / scale
        odd = ~np.isfinite(z)
        z = np.where(odd, 0.0, z.clip(-8, 8))  # one outlier must not outweigh all other entries
        return np.hstack([np.ones((len(z), 1)), z, z**2, *([odd] if strange else [])])

    width = 1 + (2 + strange) * x.shape[1]
    kept = spread(len(x), max(4 * width, int(_WORK / width**2)))
    sides = np.where(pair.p[kept] > 0, 1.0, -1.0)
    weights = _logistic(features(pair.rows.at(kept)), sides, pair.rows.counts[kept].astype(np.float64))
    return lambda group: features(group) @ weights


def _logistic(x: Floats, side: Floats, counts: Floats, ridge: float = 1.0, steps: int = 12) -> Floats:
    """Minimise Σ ln(1 + e^(−side·x·w)) + ridge·|w|²/2 by Newton steps, halved until they go downhill."""

    def height(w: Floats) -> float:
        return float(counts @ np.logaddexp(0, -side * (x @ w)) + ridge * w @ w / 2)

    weights = np.zeros(x.shape[1])
    now = height(weights)
    for _ in range(steps):
        chance = 0.5 * (1 - np.tanh(side * (x @ weights) / 2))  # of the other side
        slope = ridge * weights - x.T @ (counts * chance * side)
        curve = _gram(x, counts * chance * (1 - chance)) + ridge * np.eye(len(weights))
        step = np.linalg.solve(curve, slope)
        while (then := height(weights - step)) > now and np.abs(step).max() > 1e-9:
            step = step / 2
        if then >= now - 1e-6 * abs(now):
            break
        weights, now = weights - step, then
    return weights


def _gram(x: Floats, weights: Floats) -> Floats:
    """Return xᵀ·diag(weights)·x, in pieces too small for BLAS to start threads, which only wait on busy cores."""
    rows, total = max(64, 2**19 // x.shape[1] ** 2), np.zeros((x.shape[1], x.shape[1]))
    for start in range(0, len(x), rows):
        piece = x[start : start + rows]
        total += (piece * weights[start : start + rows, None]).T @ piece
    return total
