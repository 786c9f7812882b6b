"""Put a privacy loss on few uneven points, never below the true one or never above it.

Cells of the loss L = ln(P/Q) between nodes x₀ < x₁ < … become

- above: their two ends, both masses kept, `up = (m − q·e^a)/(1 − e^(a−b))` at b and m − up at a. This spreads
  e^−L with its mean kept, and δ(ε) is convex in e^−L: the atoms dominate ("connect the dots"; even spacing
  plays no part). The mass below the first node moves up to it, and that above the last counts as infinite.
- below: one atom of P-mass m at ln(m/q). That merges the outcomes of a cell, so it is post-processing: no
  profile, and none of a composition, can grow.

Both are off by the order of (cell width)². Nodes are dense where the tilted law has its mass, so a body of tiny
losses and a tail of rare large ones each get what they need, which no common lattice can give.

Round-off goes against us. `cut` returns masses of cells whose edges are off by `edge_error`, each with relative
error ACCURACY: above, `up` is raised by what both can do to it and all nodes move up by the edge error; below,
atoms move down and lose mass. Moving mass up can only raise δ, and δ is monotone in mass.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.privacy import losses as kinds
from discreet.privacy.losses import Loss
from discreet.privacy.pld.dominating_pairs import ACCURACY, Direction, Floats, cut, reach
from discreet.privacy.pld.normal import ROUNDOFF
from discreet.privacy.rounding import float_above

_LEAST = 1e-290  # a mass below this may have lost digits to underflow


@dataclass(frozen=True)
class Atoms:
    """A loss on points: P-mass `mass` at the losses `x`, and `infinite` where Q has none."""

    x: Floats
    mass: Floats
    infinite: float = 0.0

    def split(self, threshold: float) -> tuple[Atoms, Atoms]:
        """Return the atoms up to the threshold, and those above it without the infinite part."""
        body = self.x <= threshold
        return Atoms(self.x[body], self.mass[body], self.infinite), Atoms(self.x[~body], self.mass[~body])


Side = Callable[[Loss, Floats, Direction], Atoms]
"""`above` or `below`."""


def above(loss: Loss, nodes: Floats, direction: Direction) -> Atoms:
    """Return atoms whose profile is at least that of the loss, in every composition.

    >>> atoms = above(kinds.Pure(1), np.array([-1.0, 0.0, 1.0]), "remove")
    >>> atoms.mass.round(6).tolist()
    [0.268941, 0.0, 0.731059]
    """
    cells = cut(loss, np.concatenate(([-np.inf], nodes, [np.inf])), direction)
    m, q = cells.p[1:-1], cells.q[1:-1]
    wander = edge_error(loss, nodes)
    share = -np.expm1(-np.diff(nodes))
    # m and q·e^a ≤ m·e^wander are right to ACCURACY and 16 roundings; their difference is divided by the share.
    slack = (2 * ACCURACY + 2 * wander + 32 * ROUNDOFF) / share
    up = (m - q * np.exp(np.minimum(nodes[:-1], 700.0))) / share + slack * m
    up = np.where((q > _LEAST) & (nodes[:-1] < 700), np.minimum(np.maximum(up, 0.0), m), m)
    mass = np.zeros(len(nodes))
    mass[:-1] = m - up
    mass[1:] += up
    mass[0] += cells.p[0]
    lost = (cells.infinite + float(cells.p[-1])) * (1 + 2 * ACCURACY)
    return Atoms(nodes + wander, mass * (1 + 2 * ACCURACY), lost)


def below(loss: Loss, nodes: Floats, direction: Direction) -> Atoms:
    """Return atoms whose profile is at most that of the loss, in every composition.

    >>> atoms = below(kinds.Pure(1), np.array([-1.0, 1.0]), "remove")
    >>> atoms.x.round(6).tolist(), atoms.mass.round(6).tolist()
    ([-1.0, 1.0], [0.268941, 0.731059])
    """
    cells = cut(loss, np.concatenate(([-np.inf], nodes, [np.inf])), direction)
    real = (cells.p > _LEAST) & (cells.q > _LEAST)  # leaving out others only lowers δ
    p, q = cells.p[real], cells.q[real]
    x = np.log(p / q)
    x -= 2 * ACCURACY + 16 * ROUNDOFF * (1 + np.abs(x))
    return Atoms(x, p * (1 - 2 * ACCURACY), cells.infinite * (1 - 2 * ACCURACY))


def edge_error(loss: Loss, nodes: Floats) -> float:
    """Bound how far the edges at which `cut` really cuts lie from the nodes, as losses.

    A Gaussian's edge becomes z = x/μ − μ/2, off by two roundings of |x| + μ²/2 as a loss. Sampling maps an edge y
    to x = ln(1 + (e^y − 1)/γ), which is off by some roundings of 1 + |x|; on the way back that shrinks.
    """
    widest = float(np.abs(nodes[[0, -1]]).max())
    if isinstance(loss, kinds.PoissonSubsampled):
        widest += max(0.0, -math.log(float_above(loss.rate)))
    return 64 * ROUNDOFF * (1 + widest)


def coarse_nodes(loss: Loss, tail: float, direction: Direction, number: int = 600) -> Floats:
    """Return nodes over the whole range of a loss that grow by a constant factor away from 0 on both sides."""
    low, high = reach(loss, tail, direction)
    margin = 4 * edge_error(loss, np.array([low, high]))  # so that atoms at the ends lie between two nodes
    return _geometric(low - margin, high + margin, number, decades=9.0)


def fine_nodes(coarse: Floats, weights: Floats, number: int) -> Floats:
    """Return nodes that are dense where the weights of the cells are, and some everywhere.

    A spacing ∝ density^(−1/3) makes Σ weight·width² least for a given number of nodes.
    """
    widths = np.diff(coarse)
    share = np.cbrt(np.maximum(weights, 0.0) / widths) * widths
    spread = share / share.sum() + 0.05 / len(share)
    rank = np.append(0.0, np.cumsum(spread)) / spread.sum()
    nodes = np.interp(np.linspace(0, 1, number + 1), rank, coarse)
    return _apart(np.concatenate([nodes, _geometric(coarse[0], coarse[-1], number // 2, decades=5.0)]))


def _geometric(low: float, high: float, number: int, decades: float) -> Floats:
    sides = [np.array([0.0, low, high])] + [end * np.logspace(-decades, 0, number) for end in (low, high) if end]
    nodes = np.unique(np.concatenate(sides))
    return nodes[(nodes >= low) & (nodes <= high)]


def _apart(nodes: Floats) -> Floats:
    """Leave out nodes that nearly coincide with another, but never an end: atoms lie there."""
    ordered = np.unique(nodes)
    inner = ordered[1:-1]
    near = 1e-9 * np.abs(inner)
    inner = inner[(inner - ordered[:-2] > near) & (ordered[-1] - inner > near)]
    return np.concatenate([ordered[:1], inner, ordered[-1:]])
