"""Bound objective perturbation for persons with any number of rows, by a flow along their weight.

Claim. In the setting of `joint_bound`, let a person own any rows of total weight at most K. Let P(t) be the
probability of an event when the person's weights are multiplied by t, and z = Φ⁻¹(P). Then |dz/dt| ≤
K·(R/σ)·v(z) when adding, and with v(−z) when removing, where for z = −x

    v = 1 for x ≤ 0,   v = min(1 + X(x), e^{x²/2}) for x > 0,   X(x) = ∫ₓ^∞ ρ(u)·φ(u) du/φ(x),
    c = R·σ·curvature/λ,   ρ(u) = (c − u)₊²/(4c) if the loss saturates,   ρ(u) = c otherwise.

So the mechanism is μ-Gaussian DP with μ = K·(R/σ)·sup v, and the pair Q = N(0, 1), P{Z ≤ z} = Φ(z₁(z)) dominates
it, z₁ being where the flow carries z in the time M = K·R/σ. X falls in x (Mills' ratio is below 1/x), hence for
any x₀, sup v ≤ max(1 + X(x₀), e^{x₀²/2}). Proof: docs/theory/objective-perturbation.md.

The numbers. v is replaced by a step function above it, for which the flow is piecewise linear, and z₁ is known
at the nodes. Between nodes the density of P over Q's, e^ℓ with ℓ = ln(v(z₁)/v(z)) + (z² − z₁²)/2, says how far
P{Z ≤ z} can rise above its chord; the nodes are lifted by that. The concave hull of the lifted nodes belongs to
a pair whose losses are those of its segments: it has the same profile, and composes.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from discreet.privacy.pld import normal
from discreet.privacy.theorems.learning.loss_law import EDGE, Floats, LossLaw, cell_masses, nodes

_SLACK = 1e-10  # relative, of v: sums of up to 25,000 positive terms, each good to 4e-13
_STRIDE = 4  # the error of a chord is of second order, so that it may span several cells
_DRIFT = 4e-10  # absolute, of z₁ per unit of speed: sums of up to 50,000 terms below 38, rounded


@lru_cache(maxsize=8)
def _speeds(bend: float, saturates: bool) -> tuple[Floats, Floats]:
    """1 + X at the nodes x ≥ 0 and e^{x²/2} there, rounded up; the first falls and the second rises."""
    x = nodes()[len(nodes()) // 2 :]
    rho = np.maximum(bend - x, 0.0) ** 2 / (4 * bend) if saturates else np.full(len(x), bend)
    pieces = rho * np.append(cell_masses()[len(x) - 1 :], normal.upper_tail(EDGE)[1])  # ρ does not rise: left ends
    excess = np.cumsum(pieces[::-1])[::-1]
    rising = np.exp(x * x / 2) * (1 + _SLACK)
    falling = 1 + excess * rising * np.sqrt(2 * np.pi) * (1 + _SLACK)
    return np.maximum.accumulate(falling[::-1])[::-1], rising


def largest_speed(bend: float, saturates: bool) -> float:
    """Return an upper bound of sup v: the Gaussian DP parameter in units of K·R/σ.

    Args:
        bend: c = R·σ·curvature/λ, rounded up.
        saturates: Whether the curvature of the loss vanishes at slopes 0 and 1.

    >>> round(largest_speed(1.0, True), 3), round(largest_speed(1.0, False), 3)
    (1.032, 1.655)
    """
    falling, rising = _speeds(bend, saturates)
    return float(np.maximum(falling, rising).min()) * (1 + _SLACK)


def loss_laws(time: float, bend: float, saturates: bool) -> tuple[LossLaw, LossLaw]:
    """Return laws of privacy losses that dominate adding and removing a person.

    Args:
        time: M = K·R/σ, rounded up.
        bend: c = R·σ·curvature/λ, rounded up.
        saturates: Whether the curvature of the loss vanishes at slopes 0 and 1.

    >>> adding, removing = loss_laws(0.25, 0.5, saturates=True)
    >>> adding.delta(1.0) >= removing.delta(1.0) > normal.gaussian_delta(0.25, 1.0)[1]
    True
    """
    falling, rising = _speeds(bend, saturates)
    above = np.minimum(falling[:-1], rising[1:])  # on the cell between x and the next node
    speed = np.concatenate([above[::-1], np.ones(len(above))])
    return _carried(time, speed), _carried(time, np.ascontiguousarray(speed[::-1]))


def _carried(time: float, speed: Floats) -> LossLaw:
    z = nodes()
    lag = np.append(np.cumsum((np.diff(z) * (1 - 1 / speed))[::-1])[::-1], 0.0)
    clock = z + lag
    # Past the grid v = 1: what is carried beyond EDGE is lost, that is, counted as certain.
    z0, z1 = z[::_STRIDE], np.interp(clock[::_STRIDE] + time, clock, z)
    kept = int(np.searchsorted(z1, EDGE)) or 1
    z0, z1 = z0[:kept], z1[:kept]
    drift = _DRIFT * float(speed.max())
    masses, lifts = _cells(z0, z1, speed, drift)
    rises = np.maximum(0.0, masses + np.diff(lifts)) + _SLACK * masses + 2.0**-50 * (lifts[1:] + lifts[:-1])
    first = normal.upper_tail(-float(z1[0]))[1] + float(lifts[0])
    losses, total = _hull(rises, normal.interval_masses(z0) * (1 - _SLACK))
    return LossLaw(total, losses, first + normal.upper_tail(float(z1[-1]) - drift)[1])


def _cells(z0: Floats, z1: Floats, speed: Floats, drift: float) -> tuple[Floats, Floats]:
    """Return the mass of P between nodes, and by how much the nodes must be lifted."""
    slow, fast = _extremes(speed, z0[:-1], z0[1:])
    slow_there, fast_there = _extremes(speed, z1[:-1] - drift, z1[1:] + drift)
    width, moved = np.diff(z0), z1 - z0
    farthest = moved[:-1] + width * np.maximum(0.0, fast_there / slow - 1) + drift
    nearest = np.maximum(0.0, moved[:-1] - width * np.maximum(0.0, 1 - slow_there / fast) - drift)
    together = z0[:-1] + z1[:-1] - drift
    ratio = np.where(together < 0, -farthest * together, -nearest * together) / 2
    losses = np.log(fast_there / slow) + ratio + 2.0**-46 * (1 + np.abs(ratio))
    masses = normal.interval_masses(z1)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        above = np.exp(losses) * normal.interval_masses(z0) - masses  # Q·e^ℓ − P on each cell
    above = np.nan_to_num(np.maximum(above, 0.0), nan=1.0, posinf=1.0) * (1 + _SLACK) + _SLACK * masses
    density = np.exp(-(np.maximum(np.abs(z1) - drift, 0.0) ** 2) / 2)  # more than φ within `drift` of a node
    # Each end of a cell is known up to drift·φ, and so are the masses that `above` subtracts.
    above += 2 * drift * (density[:-1] + density[1:])
    return masses, np.maximum(np.append(above, 0.0), np.insert(above, 0, 0.0)) + drift * density


def _extremes(speed: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The least and the largest speed between `low` and `high`: it rises and then falls along the grid."""
    z, end = nodes(), len(speed) - 1
    first = np.clip(np.searchsorted(z, low, side="right") - 1, 0, end)
    last = np.clip(np.searchsorted(z, high, side="left") - 1, 0, end)
    peak = int(speed.argmax())
    largest = np.maximum(speed[first], speed[last])
    return np.minimum(speed[first], speed[last]), np.where((first <= peak) & (peak <= last), speed[peak], largest)


def _hull(rises: Floats, runs: Floats) -> tuple[Floats, Floats]:
    """The segments of the least concave function above a path, as (log slope, rise)."""
    up: list[float] = []
    along: list[float] = []
    for rise, run in zip(rises.tolist(), runs.tolist(), strict=True):
        while up and up[-1] / along[-1] <= rise / run:
            rise, run = rise + up.pop(), run + along.pop()
        up.append(rise)
        along.append(run)
    total = np.array(up)
    with np.errstate(divide="ignore"):
        return np.log(total / np.array(along)) + _SLACK, total
