"""Show private learning whose theorem is right and whose release is not the theorem's.

The exhibit is logistic regression with one coefficient and rows of x = 1, so that a data set is a list of labels:
θ̂ minimises Σ ln(1 + e^{−yθ}) + λ/2·θ² + b·θ, for ε = 1, λ = 1/ε and b Laplace of scale 1/ε.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from discreet import noise, privacy
from discreet.audit.attacks import exact
from discreet.audit.inputs.subject import Subject
from discreet.audit.museum.exhibit import Exhibit
from discreet.audit.report.verdict import Verdict
from discreet.privacy.theorems.learning import pure_noise, tolerance

SCALE, LAM = 1, 1
STEP = Fraction(1, 2)
"""The grid that b is drawn on."""

GRID = Fraction(1, 4)
"""The grid that the mended one releases on."""

OUTPUT = Fraction(3, 2)
"""The ε of the mended one's noise on the output."""

_PRECISE = "1e-9"  # of the gradient: the bisection below does better

Labels = Sequence[int]


def minimum(labels: Labels, b: float) -> float:
    """Return the θ at which the slope Σ −y/(1 + e^{yθ}) + λθ + b vanishes, by bisection.

    >>> round(minimum([], 0.5), 6), round(minimum([1, 1, -1], 0.0), 6)
    (-0.5, 0.286548)
    """

    def slope(theta: float) -> float:
        return sum(-y / (1 + math.exp(y * theta)) for y in labels) + LAM * theta + b

    low, high = -(abs(b) + len(labels)) / LAM, (abs(b) + len(labels)) / LAM
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (low, middle) if slope(middle) >= 0 else (middle, high)
    return high


def bare(labels: Labels) -> float:
    """Release the minimiser with a slope that was drawn, exactly, on a grid."""
    return minimum(labels, float(STEP * noise.discrete_laplace(SCALE / STEP)))


def blurred(labels: Labels) -> int:
    """Round the minimiser to a grid, and add noise that hides the rest of its digits."""
    moved = tolerance.output_sensitivity(
        tolerance=_PRECISE,
        noise_error=tolerance.laplace_error(STEP, 1),
        lam=LAM,
        grid=GRID,
        dimension=1,
        norm="l1",
    )
    return round(bare(labels) / float(GRID)) + noise.discrete_laplace(moved / OUTPUT)


def _attacked(name: str, release: Callable[[Labels], float], epsilon: Fraction) -> Verdict:
    pairs = [((1, 1, -1), (1, -1))]
    return exact.attack(
        Subject(name=name, release=release, loss=privacy.Pure(epsilon), pairs=pairs), unexplored="1e-3"
    )


DISCRETE_SLOPE = Exhibit(
    name="discrete-slope",
    title="A minimiser that is released with all its digits",
    story=(
        "Objective perturbation is private because every minimiser has a density, whatever the data are, "
        "and the densities of neighbours are close. A continuous slope b gives it one. A slope drawn on a "
        "grid, which is how noise is drawn exactly, and how every float is drawn, does not: the minimiser "
        "takes one of countably many values, other ones for other data, and a single released θ can name "
        "its table. No noise in the objective repairs that. Rounding alone does not either, because the "
        "rounded values of neighbours have gaps at different places. A little noise on the output does, if "
        "it is paid for."
    ),
    sources=(
        "Chaudhuri, Monteleoni and Sarwate 2011, whose b is real",
        "Mironov 2012, for noise added to outputs",
    ),
    broken=lambda: _attacked("all digits of the minimiser", bare, Fraction(1)),
    mended=lambda: _attacked(
        "the minimiser on a grid, with noise",
        blurred,
        pure_noise.pure_epsilon(scale=SCALE, lam=LAM, grid=STEP, dimension=1) + OUTPUT,
    ),
    ours=(
        "What a minimiser costs includes the grid of its noise, the tolerance of its solver and noise on the "
        "output (theorem 3 in docs/theory/objective-perturbation.md; "
        "test_the_sensitivity_counts_tolerance_noise_and_rounding in "
        "tests/privacy/theorems/learning/test_tolerance.py)."
    ),
)

EXHIBITS = (DISCRETE_SLOPE,)
