"""State the composition theorems: the cost of k releases that are each ε₀-DP, or (ε₀, δ₀)-DP.

All but `optimal` are sums of a drift and a deviation. The loss of one ε₀-DP release lies in [−ε₀, ε₀] and its mean
is at most m; by Azuma's inequality the sum of k exceeds k·m + ε₀·√(2k·ln(1/δ)) with probability at most δ. This
holds when the next release is chosen from the last answers, as long as ε₀ is fixed. The theorems differ in m:

    notes_advanced  2ε₀²                        lecture notes; holds for every ε₀, its proof up to 3.21
    drv_advanced    ε₀·(e^ε₀ − 1)               Dwork, Rothblum, Vadhan 2010
    advanced        ε₀·(e^ε₀ − 1)/(e^ε₀ + 1)    the largest mean there is, that of randomised response

`optimal` (Kairouz, Oh, Viswanath 2015) is the exact answer for (ε₀, δ₀): the k-fold product of the pair that
dominates all such mechanisms has, with p = e^ε₀/(1 + e^ε₀), i ~ Binomial(k, p) and the loss L_i = (2i − k)·ε₀,

    δ(ε) = 1 − (1 − δ₀)^k·(1 − E[(1 − e^(ε − L_i))₊]),

inverted here at any δ, not only where ε is a multiple of ε₀. Results are rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.parameters import log_inverse, nonnegative, probability
from discreet.privacy.pld import normal
from discreet.privacy.rounding import ULP, downward, float_above, float_below, sum_upward, upward
from discreet.privacy.theorems.conversions import zcdp_to_approximate
from discreet.rational import Rational, whole

Floats = NDArray[np.float64]


def basic(epsilon: Rational, k: int) -> float:
    """Return k·ε: k releases that are each ε-DP.

    >>> basic("0.01", 100)
    1.0
    """
    return float_above(whole(k, "k", least=0) * nonnegative(epsilon, "epsilon"))


def heterogeneous_basic(epsilons: Iterable[Rational]) -> float:
    """Return the sum of the ε of releases that differ.

    >>> heterogeneous_basic(["0.25", "0.5"])
    0.75
    """
    return float_above(sum((nonnegative(e, "epsilon") for e in epsilons), start=nonnegative(0, "epsilon")))


def notes_advanced(epsilon: Rational, k: int, delta: Rational) -> float:
    """Return √(2k·ln(1/δ))·ε + 2kε², the bound of the lecture notes.

    Its proof bounds the mean loss by e^ε − 1 − ε ≤ 2ε², which is true up to ε = 3.21. The theorem itself holds for
    every ε, since the mean is at most ε·tanh(ε/2) ≤ ε²/2; 2kε² is at least four times too much.

    >>> notes_advanced("0.01", 100, "1e-6")
    0.54565...
    """
    e = float_above(nonnegative(epsilon, "epsilon"))
    return _drift_and_deviation(2 * e * e, e, k, delta)


def drv_advanced(epsilon: Rational, k: int, delta: Rational) -> float:
    """Return ε·√(2k·ln(1/δ)) + kε·(e^ε − 1), the theorem of Dwork, Rothblum and Vadhan.

    >>> drv_advanced("0.01", 100, "1e-6")
    0.53570...
    """
    e = float_above(nonnegative(epsilon, "epsilon"))
    return _drift_and_deviation(e * math.expm1(e), e, k, delta) if e < 700 else math.inf


def advanced(epsilon: Rational, k: int, delta: Rational) -> float:
    """Return ε·√(2k·ln(1/δ)) + kε·(e^ε − 1)/(e^ε + 1): the same theorem with the largest mean there is.

    >>> advanced("0.01", 100, "1e-6")
    0.53065...
    """
    e = float_above(nonnegative(epsilon, "epsilon"))
    return _drift_and_deviation(e * math.tanh(e / 2), e, k, delta)


def zcdp(rho: Rational, k: int, delta: Rational) -> float:
    """Return the ε of k releases that are each ρ-zCDP: their ρ add up, and are converted once.

    >>> zcdp("0.00005", 100, "1e-6")
    0.4299...
    """
    return zcdp_to_approximate(whole(k, "k", least=0) * nonnegative(rho, "rho"), delta)


def optimal(epsilon: Rational, delta0: Rational, k: int, delta: Rational) -> float:
    """Return the least ε such that any k releases, each (epsilon, delta0)-DP, are (ε, delta)-DP together.

    It is inf if delta is below what delta0 alone spends, 1 − (1 − delta0)^k.

    Args:
        epsilon: The ε of each release.
        delta0: The δ of each release.
        k: The number of releases.
        delta: The δ of all of them together.

    >>> optimal("0.01", 0, 100, "1e-6")
    0.39226...
    """
    target = float_below(nonnegative(delta, "delta"))
    one, count = float_above(nonnegative(epsilon, "epsilon")), whole(k, "k", least=0)
    failure = _failure(delta0, count)
    if target < failure or math.isinf(one):
        return math.inf
    if target >= 1 or one * count == 0:
        return 0.0
    losses, masses = _loss_law(one, count)
    most = basic(epsilon, k)
    return normal.invert(lambda e: _hockey_stick(losses, masses, failure, e), target, 0.0, most)[1]


def optimal_delta(epsilon: Rational, delta0: Rational, k: int, at: Rational) -> float:
    """Return the least δ such that any k releases, each (epsilon, delta0)-DP, are (at, δ)-DP together.

    Args:
        epsilon: The ε of each release.
        delta0: The δ of each release.
        k: The number of releases.
        at: The ε of all of them together.

    >>> optimal_delta("0.01", 0, 100, "0.4")
    6.33432842...e-07
    """
    one, count = float_above(nonnegative(epsilon, "epsilon")), whole(k, "k", least=0)
    if math.isinf(one):
        return 1.0
    target, failure = nonnegative(at, "at"), _failure(delta0, count)
    if target >= count * nonnegative(epsilon, "epsilon"):  # no loss is larger: only the failures are left
        return failure
    losses, masses = _loss_law(one, count)
    return _hockey_stick(losses, masses, failure, float_below(target))


def _drift_and_deviation(mean: float, epsilon: float, k: int, delta: Rational) -> float:
    count, log_odds = whole(k, "k", least=0), log_inverse(probability(delta, "delta"))
    if epsilon == 0 or count == 0:
        return 0.0
    return sum_upward(epsilon * math.sqrt(2 * count * log_odds), count * mean, ulps=16)


def _failure(delta0: Rational, k: int) -> float:
    """1 − (1 − δ₀)^k, rounded up."""
    each = float_above(probability(delta0, "delta0"))
    if each == 0 or k == 0:
        return 0.0
    return min(1.0, upward(-math.expm1(k * math.log1p(-each)), 16)) if each < 1 else 1.0


def _loss_law(epsilon: float, k: int) -> tuple[Floats, Floats]:
    """The losses (2i − k)·ε and their binomial masses, rounded up, within 20·√k of the mean.

    The rest has mass below 2·e^(−800) by Hoeffding's inequality, less than any float. The masses come from their
    ratios log((k − i)/(i + 1)) + ε, added outwards from the mode, and are normalised by their own sum: no
    factorials. `drift` bounds what rounding did to each logarithm.
    """
    reach, share = 20 * math.sqrt(k) + 2, 1 / (1 + math.exp(-epsilon))
    mode = min(k, int((k + 1) * share))
    first, last = max(0, math.floor(k * share - reach)), min(k, math.ceil(k * share + reach))
    i = np.arange(first, last + 1, dtype=np.float64)
    log_odds = np.log((k - i[:-1]) / i[1:])
    weights = _outwards(log_odds + epsilon, mode - first)
    drift = (len(i) + 16) * ULP * (np.abs(weights) + 1) + 8 * ULP * np.abs(i - mode) * (epsilon + 1)
    total = downward(float(np.exp(weights - drift).sum()), 64)
    return (2 * i - k) * epsilon, upward(np.exp(weights + drift) / total, 16)


def _outwards(steps: Floats, centre: int) -> Floats:
    """Sums of `steps` from the centre to either side."""
    left, right = -np.cumsum(steps[:centre][::-1])[::-1], np.cumsum(steps[centre:])
    return np.concatenate([left, [0.0], right])


def _hockey_stick(losses: Floats, masses: Floats, failure: float, epsilon: float) -> float:
    """failure + (1 − failure)·E[(1 − e^(ε − L))₊], rounded up."""
    gap = np.minimum(0.0, -sum_upward(losses, np.full(losses.shape, -epsilon), ulps=2))
    stick = min(1.0, upward(float(-(masses * np.expm1(gap)).sum()), 64))
    return min(1.0, upward(failure + (1 - failure) * stick, 4)) if stick else failure
