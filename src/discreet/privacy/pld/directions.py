"""Bound ε and δ of a plan in both directions of neighbours, each by the way that suits it.

Plans with samples have rare large losses beside a body of tiny ones, which no lattice serves: they are inverted
along a contour, and the lattice is taken as well where the inversion leaves an error in sight. All other plans
go on a lattice, on whose nodes the atoms of pure losses lie. The least upper and the greatest lower bound of
two sound ways are sound.
"""

from __future__ import annotations

import math

from discreet.privacy import losses as kinds
from discreet.privacy.pld.contour_choice import FEW, inverted_delta, inverted_epsilon
from discreet.privacy.pld.dominating_pairs import Direction, reach
from discreet.privacy.pld.grid_choice import Counts, fitted_profile
from discreet.privacy.rounding import float_above, upward

Bounds = tuple[float, float]

_LARGE = 300.0  # an ε from which on e^ε in the terms of an inversion could overflow; the lattice serves there


def directions(counts: Counts) -> tuple[Direction, ...]:
    """Return the directions that differ: a loss without samples is its own mirror image."""
    return ("remove", "add") if _sampled(counts) else ("remove",)


def epsilon_bounds(counts: Counts, delta: float, delta_above: float, *, lower: bool) -> Bounds:
    """Bound the ε at δ, the worse of both directions.

    Args:
        counts: The losses, with how often each occurs.
        delta: δ, rounded down.
        delta_above: δ, rounded up.
        lower: Whether the lower bound is wanted; 0 otherwise.
    """
    low, high = 0.0, 0.0
    for direction in directions(counts):
        if direction == "add" and _highest(counts, delta) <= high:
            continue  # no loss of adding a person is above the ε of removing one
        ends = _epsilon_in(counts, direction, delta, delta_above, lower=lower)
        low, high = max(low, ends[0]), max(high, ends[1])
    return low, high


def delta_bounds(counts: Counts, epsilon: float, direction: Direction, *, lower: bool) -> Bounds:
    """Bound the δ at ε in one direction.

    Args:
        counts: The losses, with how often each occurs.
        epsilon: The ε, at least 0.
        direction: Whether neighbours remove or add a person.
        lower: Whether the lower bound is wanted; 0 otherwise.
    """
    low, high, fine = 0.0, 1.0, False
    if _inverts(counts, epsilon):
        high, fine = inverted_delta(counts, epsilon, direction)
        if lower:
            low, also = inverted_delta(counts, epsilon, direction, lower=True)
            fine = fine and also
    if not fine:
        ends = fitted_profile(counts, direction, epsilon=epsilon, fine=lower).delta(epsilon)
        low, high = max(low, ends[0]) if lower else 0.0, min(high, ends[1])
    return low, high


def _epsilon_in(counts: Counts, direction: Direction, delta: float, delta_above: float, *, lower: bool) -> Bounds:
    low, high, fine = 0.0, math.inf, False
    if _inverts(counts, 0.0):
        high, fine = inverted_epsilon(counts, delta, direction)
        fine = fine and high < _LARGE
        if lower and high > 0:
            low, also = inverted_epsilon(counts, delta_above, direction, lower=True)
            fine = fine and also
    if not fine:
        profile = fitted_profile(counts, direction, delta=delta, fine=lower)
        high = min(high, profile.upper_epsilon(delta))
        low = max(low, profile.lower_epsilon(delta_above)) if lower else 0.0
    return low, high


def _inverts(counts: Counts, epsilon: float) -> bool:
    return len(counts) <= FEW and epsilon < _LARGE and _sampled(counts)


def _sampled(counts: Counts) -> bool:
    return any(isinstance(loss, kinds.PoissonSubsampled) for loss in counts)


def _highest(counts: Counts, delta: float) -> float:
    """Return the highest loss of adding a person, all releases together."""
    total = 0.0
    for loss, count in counts.items():
        if not isinstance(loss, kinds.PoissonSubsampled) or float_above(loss.rate) >= 1:
            return math.inf
        total += count * reach(loss, min(delta, 1e-12), "add")[1]  # −ln(1 − rate) bounds all of them
    return upward(total, 64 + len(counts))
