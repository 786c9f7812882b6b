"""Bound a whole plan in two simple ways: basic composition, and sums of Rényi divergences. Both are rounded up."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.privacy import losses as kinds
from discreet.privacy.loss_measures import pure_epsilon, renyi_divergence
from discreet.privacy.losses import Loss
from discreet.privacy.pld.dominating_pairs import Floats
from discreet.privacy.rounding import float_above, upward
from discreet.privacy.theorems.conversions import renyi_delta, renyi_to_approximate

Counts = dict[Loss, int]

_ORDERS = 1 + np.geomspace(1e-2, 1e5, 211)


def basic_epsilon(counts: Counts, delta: Fraction) -> float:
    """Return the sum of all ε if all δ together fit."""
    total, spent = _basic(counts)
    return float_above(total) if total is not None and spent <= delta else math.inf


def basic_delta(counts: Counts, epsilon: Fraction) -> float:
    """Return the sum of all δ if all ε together fit."""
    total, spent = _basic(counts)
    return min(1.0, float_above(spent)) if total is not None and total <= epsilon else 1.0


def curve_epsilon(counts: Counts, delta: Fraction) -> float:
    """Return the ε of the summed Rényi curves at δ."""
    return renyi_to_approximate(_ORDERS, _summed(counts), delta) if delta > 0 else math.inf


def curve_delta(counts: Counts, epsilon: Fraction) -> float:
    """Return the δ of the summed Rényi curves at ε."""
    return renyi_delta(_ORDERS, _summed(counts), epsilon)


def _basic(counts: Counts) -> tuple[Fraction | None, Fraction]:
    total, spent = Fraction(0), Fraction(0)
    for loss, count in counts.items():
        if isinstance(loss, kinds.Approximate):
            total, spent = total + count * loss.epsilon, spent + count * loss.delta
            continue
        pure = pure_epsilon(loss)
        if pure is None:
            return None, spent
        total += count * pure
    return total, spent


def _summed(counts: Counts) -> Floats:
    total = np.zeros(len(_ORDERS))
    for loss, count in counts.items():
        total = upward(total + upward(count * renyi_divergence(loss, _ORDERS), 1), 1)
    return total
