"""Put a privacy loss distribution on the lattice step·ℤ, never below the true one.

Cut the loss L = ln(P/Q) into cells (x, x + step]. A cell with P-mass m and Q-mass q is replaced by its two ends so
that both masses stay:

    up = (m − q·e^x)/(1 − e^−step) at x + step,   m − up at x.

This spreads e^−L under P with its mean kept, and (1 − e^ε·e^−L)₊ is convex in e^−L, so δ(ε) can only grow: the
lattice pair dominates (the "connect the dots" of Doroshenko et al. 2022; exact at the nodes). It adds the variance
`spread`·step² to L and moves it by less than one step, which is what the lower bound of `tilted_fft` needs.

Round-off goes against us: masses are right to ACCURACY, and `up` is raised by what that can do to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.privacy.losses import Loss
from discreet.privacy.pld.dominating_pairs import ACCURACY, Direction, Floats, cut
from discreet.privacy.pld.normal import ROUNDOFF
from discreet.privacy.rounding import upward


@dataclass(frozen=True)
class Lattice:
    """P-mass `mass[i]` at the loss (first + i)·step, and at infinity. No finite loss is above `top`.

    `spread` bounds the variance that the lattice added, in steps²; `uncertain` the mean it moved by round-off, in
    steps; `moved` the mass that was moved up further than one step, to the first node or to infinity.
    """

    step: float
    first: int
    mass: Floats
    infinite: float
    top: float
    spread: float
    uncertain: float
    moved: float

    @property
    def losses(self) -> Floats:
        """The losses at the nodes."""
        return (self.first + np.arange(len(self.mass), dtype=np.float64)) * self.step


def discretise(loss: Loss, step: float, ends: tuple[float, float], direction: Direction = "remove") -> Lattice:
    """Put a loss on the lattice.

    Args:
        loss: The loss, which lies between `ends` but for a negligible tail.
        step: The distance of two nodes.
        ends: The lowest and the highest loss.
        direction: Whether neighbours remove (the default) or add a person; it matters for sampled losses only.

    >>> from discreet.privacy.losses import Pure
    >>> lattice = discretise(Pure(1), 0.5, (-1, 1))
    >>> lattice.first, lattice.mass.round(6).tolist()
    (-3, [0.0, 0.268941, 0.0, 0.0, 0.0, 0.731059, 0.0])
    """
    low, high = ends
    first, last = math.floor(low / step) - 1, math.ceil(high / step) + 1  # atoms at the ends lie well inside
    nodes = np.arange(first, last + 1) * step
    cells = cut(loss, np.concatenate(([-np.inf], nodes, [np.inf])), direction)
    m, q = cells.p[1:-1], cells.q[1:-1]
    slack = (2 * ACCURACY + 8 * ROUNDOFF * (1 + max(-low, high))) / -math.expm1(-step)
    up = (m - q * np.exp(np.minimum(nodes[:-1], 700.0))) / -math.expm1(-step) + slack * m
    up = np.minimum(np.maximum(up, 0.0), m)
    mass = np.zeros(len(nodes))
    mass[:-1] = m - up
    mass[1:] += up
    mass[0] += cells.p[0]
    spread = max(0.0, float(np.sum(up - up**2 / np.maximum(m, 1e-300))))
    # Where Q is too small for a double, all of the cell went up: the lower bound must know.
    uncertain = 2 * slack + float(np.sum(m[(nodes[:-1] > 700) | (q < 1e-290)]))
    moved = float(cells.p[0] + cells.p[-1])
    infinite = cells.infinite + float(cells.p[-1])
    return Lattice(step, first, mass, infinite, upward(high, 8), spread, uncertain, moved)
