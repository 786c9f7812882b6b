"""Find the minimum of a perturbed objective: on a sample of the rows first, if there are many.

    F(θ) = L(θ) + λ/2·‖θ‖² + b·θ

With many rows, a sample of them is enough to come near the minimum and to know the curvature there, and a smaller
one to come near that. A few gradients over all rows do the rest. What is returned is a point whose gradient over
all rows has a norm of at most the solver's tolerance, however the way there was chosen: the sample decides no
privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.learn.methods.gradients import Sums
from discreet.learn.methods.hat_sums import HatSums
from discreet.learn.methods.solver import minimise

Floats = NDArray[np.float64]

_ENOUGH = 200  # rows for each feature that a sample holds at least
_MOST_HALVINGS = 6
_FEWER = 3  # halvings more for a first sample, in which the way is long and steps are cheap
_PATIENCE = 8  # times that the curvature is taken from the sample, before it is taken from all rows


def minimum(
    sums: Sums | HatSums,
    lam: float,
    tilt: Floats,
    persons: float | None,
    progress: Callable[[float], None] | None = None,
) -> Floats:
    """Return the minimum of L(θ) + λ/2·‖θ‖² + b·θ, up to the tolerance of the solver.

    Args:
        sums: The sums of the loss over all rows.
        lam: λ.
        tilt: b.
        persons: About how many persons there are, if that is known.
        progress: Called with the share of the work that is done.
    """
    ridge = lam * np.eye(sums.size)

    def gradient(at: Floats) -> Floats:
        return sums.gradient(at) + lam * at + tilt

    def hessian(at: Floats) -> Floats:
        return sums.hessian(at) + ridge

    halvings = _halvings(persons, sums.size)
    if not halvings:
        return minimise(gradient, hessian, np.zeros(sums.size), progress=progress)
    few = sums.sampled(halvings)
    start = _near(few.sampled(halvings + _FEWER), halvings + _FEWER, lam, tilt, np.zeros(sums.size))
    start, share = _near(few, halvings, lam, tilt, start), float(2**halvings)
    asked = 0

    def curvature(at: Floats) -> Floats:
        nonlocal asked
        asked += 1
        return share * few.hessian(at) + ridge if asked <= _PATIENCE else hessian(at)

    return minimise(gradient, curvature, start, progress=progress)


def _near(few: Sums | HatSums, halvings: int, lam: float, tilt: Floats, start: Floats) -> Floats:
    """Return about the minimum, from a sample in which each row stands for 2^halvings."""
    share, ridge = float(2**halvings), lam * np.eye(few.size)
    return minimise(
        lambda at: share * few.gradient(at) + lam * at + tilt,
        lambda at: share * few.hessian(at) + ridge,
        start,
        tolerance=share,
    )


def _halvings(persons: float | None, size: int) -> int:
    """Return how often the rows are halved for the sample.

    >>> _halvings(40_000, 141), _halvings(1e7, 51), _halvings(None, 51)
    (0, 6, 0)
    """
    rows = (persons or 0) / (_ENOUGH * size)
    return min(_MOST_HALVINGS, int(math.log2(rows))) if rows >= 2 else 0
