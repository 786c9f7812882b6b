"""Minimise a strongly convex function until its gradient is small enough, by Newton's method.

The direction is that of Newton with the last Hessian, corrected by what gradients have shown since (the formula of
Broyden, Fletcher, Goldfarb and Shanno); the step is halved until the norm of the gradient falls. The Hessian is
computed again when a step gains little. If a few halvings do not help, the norm is a bad guide: the
huberised hinge has corners in its slope, across which a step that lowers the function may raise the gradient. Then
the search is careful from there on: a step is halved until the function still falls at its end (∇F·d ≤ 0), or the
gradient is far below all before. The result is a deterministic function of the sums.

Claim. The point that is returned has a gradient of norm at most the tolerance, `TOLERANCE` for a release. The
tolerance is a public constant: it is paid for with noise of its own (docs/theory/objective-perturbation.md), and
it is not loosened for any data. A careful step d lowers a function of curvature between λ and L by at least a
fixed share of (∇F·d)²/L‖d‖², because ∇F·d > 0 at the length twice as long; and the gradient can fall far below all
before only so often. So the search ends; the cap on the number of steps is a guard against a defect of this code,
and not a way out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError

Floats = NDArray[np.float64]

TOLERANCE = 2.0**-20
"""The norm of the gradient at which the solver stops."""

_STEPS = 500
_LENGTHS = [2.0**-i for i in range(40)]
_HALVED = 6  # lengths that are tried before the search is careful
_GAIN = 0.2  # a step that leaves more than this share of the gradient asks for a new Hessian


def minimise(
    gradient: Callable[[Floats], Floats],
    hessian: Callable[[Floats], Floats],
    start: Floats,
    *,
    tolerance: float = TOLERANCE,
    progress: Callable[[float], None] | None = None,
) -> Floats:
    """Return a point whose gradient has a norm of at most `tolerance`.

    Args:
        gradient: The gradient of the function.
        hessian: Its Hessian.
        start: Where to begin.
        tolerance: The norm of the gradient at which to stop; `TOLERANCE` unless the point is only a start.
        progress: Called with the share of the work that is done, by the logarithm of the gradient.

    >>> minimise(lambda t: 2.0 * t - 1.0, lambda t: np.eye(1) * 2.0, np.zeros(1))
    array([0.5])
    """
    theta = start
    slope = gradient(theta)
    first = size = best = float(np.linalg.norm(slope))
    factor: Floats | None = None
    careful = False
    for _ in range(_STEPS):
        if size <= tolerance:
            return theta
        if progress is not None:
            progress(max(0.0, 1.0 - np.log(size / tolerance) / np.log(2 * first / tolerance)))
        fresh = factor is None
        if factor is None:
            factor = np.asarray(np.linalg.inv(hessian(theta)), np.float64)
        step = -(factor @ slope)
        for length in _LENGTHS if careful else _LENGTHS[:_HALVED]:
            reached = theta + length * step
            tried = gradient(reached)
            found = float(np.linalg.norm(tried))
            falls = found < (_GAIN * best if careful else (1.0 - 1e-4 * length) * size)
            if falls or (careful and float(tried @ step) <= 0.0):
                break
        else:
            if fresh and careful:
                break
            careful, factor = careful or fresh, None
            continue
        poor = careful or found > _GAIN * size
        factor = None if poor else _corrected(factor, reached - theta, tried - slope)
        theta, slope, size, best = reached, tried, found, min(best, found)
    if size <= tolerance:
        return theta
    raise DiscreetError(
        "The solver did not reach its tolerance. Nothing was released, and what was charged stays charged.",
        fix="Please report this: it is a defect, and not a property of your parameters.",
    )


def _corrected(factor: Floats, step: Floats, change: Floats) -> Floats:
    """Return the inverse of a Hessian, corrected such that it takes a change of the gradient to the step.

    >>> _corrected(np.eye(1), np.array([1.0]), np.array([4.0]))
    array([[0.25]])
    """
    along = float(step @ change)
    if along <= 0.0:  # rounding at the very end: a convex function has none
        return factor
    turned = factor @ change
    outer = np.outer(turned, step)
    found: Floats = factor - (outer + outer.T) / along
    found += np.outer(step, step) * ((1.0 + float(change @ turned) / along) / along)
    return found
