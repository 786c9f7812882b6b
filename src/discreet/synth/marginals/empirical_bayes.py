"""Shrink a noisy table by empirical Bayes: every cell moves towards a base, by as much as the table supports.

A cell is x = e·ρ, where e > 0 is the expectation of a base (independence, for example), and y = x + N(0, σ²) is
the measurement. The ratios ρ of all cells of a table are modelled as draws from one mixture of components

    N(g, (s·g)²) at points g on a logarithmic grid,  N(1, s²) for two small s,  and ρ = 0 and ρ = 1 of no width,

whose weights are found by maximum likelihood (EM, with a little weight everywhere: Koenker and Mizera 2014;
Stephens 2017 for the form). The estimate is the posterior mean, returned with its variance. Small cells, of which
most tables have many, move to the base because noise explains them; large cells stay as measured; and where σ is
small all cells stay. Privacy does not depend on this: it uses noisy numbers only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.synth.marginals.domain import Floats

_FEW = 3.0  # deviations by which a cell that stayed at its base may be off
_POINTS = 26
_LEAST, _MOST = 0.02, 60.0
# Of two rare values that always come together, the cell holds hundreds of times what independence expects. Without
# far points such a cell would become 60 times its expectation, whatever was measured.
_FAR, _STRIDE = 7, 3.0
_GRID = np.r_[
    np.exp(np.linspace(np.log(_LEAST), np.log(_MOST), _POINTS)), _MOST * _STRIDE ** np.arange(1.0, _FAR + 1)
]
_STEPS = np.r_[np.full(_POINTS, np.log(_MOST / _LEAST) / (_POINTS - 1)), np.full(_FAR, np.log(_STRIDE))]
# A good base is off by a few percent. With the spike at 1 and the grid alone, whose points have widths of a fifth,
# cells would be taken for equal to their base though they were measured more precisely than that.
_NEAR = np.array([0.02, 0.06])
_CENTRES = np.r_[0.0, 1.0, np.ones(len(_NEAR)), _GRID]
_WIDTHS = np.r_[0.0, 0.0, _NEAR, 0.6 * _STEPS * _GRID]
# A priori most ratios are near 1: the logarithm has heavy tails, and there are spikes at 1 itself.
_TAILS = np.exp(-np.abs(np.log(_GRID)) / 0.5)
PAIR: Floats = np.r_[0.02, 0.2, 0.1, 0.1, 0.58 * _TAILS / _TAILS.sum()]
# Before anything is seen, the law of a single column is wider: few columns have equal counts.
_WIDE = np.exp(-np.abs(np.log(_GRID)) / 1.2)
SINGLE = np.r_[0.05, 0.05, 0.025, 0.025, 0.85 * _WIDE / _WIDE.sum()]
# Of columns that nearly determine each other, most cells are empty and few hold many times what is expected.
TIED: Floats = np.r_[0.5, 0.02, 0.02, 0.02, 0.44 * _WIDE / _WIDE.sum()]
# The components start with so many cells together, which keeps a table of four cells from being overfitted.
_PRIOR = 5.0
_ROUNDS = 20
_SAMPLE = 3000  # the weights are fitted to about so many cells
_EACH, _ALL = 32, 6000  # so many cells of one table, and of all, speak for the law of several, at most
_CHUNK = 1 << 15


def shrink(noisy: Floats, deviation: float, base: Floats, law: Floats = PAIR) -> tuple[Floats, Floats]:
    """Return the posterior mean of every cell, nowhere negative, and its variance.

    Args:
        noisy: The measured cells.
        deviation: That of the noise of each.
        base: The expectations to shrink towards.
        law: The weights of the components that are expected before this table is seen.

    >>> base = np.full(1000, 10.0)
    >>> mean, variance = shrink(base + 5.0 * (-1.0) ** np.arange(1000), 5.0, base)
    >>> bool(abs(mean - base).max() < 2), bool(variance.max() < 25)
    (True, True)
    """
    y, e = np.ravel(noisy).astype(float), np.ravel(base).astype(float)
    stride = max(1, len(y) // _SAMPLE)
    weights = _weights(_likelihood(y[::stride], e[::stride], deviation), law)
    mean, variance = np.empty_like(y), np.empty_like(y)
    for start in range(0, len(y), _CHUNK):
        part = slice(start, start + _CHUNK)
        mean[part], variance[part] = _posterior(y[part], e[part], deviation, weights)
    variance = _inflated(y - mean, variance, deviation)
    return np.maximum(mean, 0.0).reshape(noisy.shape), variance.reshape(noisy.shape)


def common_law(tables: Sequence[tuple[Floats, float, Floats]], start: Floats = SINGLE) -> Floats:
    """Return the law that explains several noisy tables best, each given with its deviation and its base.

    A column of two levels says little about its own law, and many columns say much about what columns are like. Of
    each at most 32 cells are read, evenly, so that a column of many levels does not speak for all. `start` is the
    law that is expected before any of them is seen.

    >>> flat = common_law([(np.array([52.0, 48.0]), 9.0, np.full(2, 50.0))] * 20)
    >>> bool(flat[1] > 2 * SINGLE[1])
    True
    """
    parts, each = [], max(min(_EACH, _ALL // max(len(tables), 1)), 1)
    for noisy, deviation, base in tables:
        step = -(-noisy.size // each)
        parts.append(_likelihood(np.ravel(noisy)[::step], np.ravel(base)[::step], deviation))
    return _weights(np.concatenate(parts), start)


def _inflated(moved: Floats, variance: Floats, deviation: float) -> Floats:
    """Return the variances, raised if the table shows that they are too small.

    The posterior variance is σ²·∂x̂/∂y, so that Σ(x̂ − y)² − N·σ² + 2·Σ variance is an unbiased estimate of the
    squared error (Stein 1981). Its excess over Σ variance is spread over all cells.
    """
    excess = float(np.square(moved).mean() - deviation**2 + variance.mean())
    raised: Floats = np.minimum(variance + max(excess, 0.0), deviation**2)
    return raised


def _spread(e: Floats, deviation: float) -> Floats:
    """Return the variance of a measurement under each component."""
    variance: Floats = deviation**2 + np.square(e)[:, None] * np.square(_WIDTHS)
    return variance


def _likelihood(y: Floats, e: Floats, deviation: float) -> Floats:
    variance = _spread(e, deviation)
    exponent = -0.5 * (np.square(y[:, None] - e[:, None] * _CENTRES) / variance + np.log(variance))
    exponent -= exponent.max(axis=1, keepdims=True)
    likelihood: Floats = np.exp(exponent)
    return likelihood


def _weights(likelihood: Floats, start: Floats) -> Floats:
    weights: Floats = start
    for _ in range(_ROUNDS):
        share = likelihood * weights
        share /= share.sum(axis=1, keepdims=True)
        weights = share.sum(axis=0) + _PRIOR * start
        weights /= weights.sum()
    return weights


def _posterior(y: Floats, e: Floats, deviation: float, weights: Floats) -> tuple[Floats, Floats]:
    share = _likelihood(y, e, deviation) * weights
    share /= share.sum(axis=1, keepdims=True)
    within = np.square(e)[:, None] * np.square(_WIDTHS)
    pull = within / _spread(e, deviation)
    centre = e[:, None] * _CENTRES
    means = centre + pull * (y[:, None] - centre)
    mean = (share * means).sum(axis=1)
    variance = (share * (pull * deviation**2 + np.square(means))).sum(axis=1) - np.square(mean)
    return mean, np.maximum(variance, 0.0)


def determined(mean: Floats, posterior: Floats, noise: float) -> Floats:
    """Return the share of each cell that its measurement determined, from 0 to 1.

    By Tweedie's formula the posterior variance is σ²·∂mean/∂measured: near 0 for a cell that stayed at its base.
    But where base and measurement agree by chance, it is near 0 for a cell of many σ as well, which is then known
    within a few σ, whatever its base is worth.

    Args:
        mean: The cells after shrinkage.
        posterior: Their posterior variances.
        noise: The variance σ² of the noise.

    >>> determined(np.array([0.5, 10.0, 1000.0, 0.5]), np.array([0.1, 90.0, 1.0, 100.0]), 100.0).round(2).tolist()
    [0.0, 0.9, 1.0, 1.0]
    """
    squares = np.square(mean)
    return np.maximum(np.minimum(posterior / noise, 1.0), squares / (squares + _FEW**2 * noise))
