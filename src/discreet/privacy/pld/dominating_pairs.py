"""Cut the pair of laws (P, Q) of each loss into cells of the privacy loss ln(P/Q).

A pair dominates a mechanism when its profile δ(ε) = sup_S P(S) − e^ε·Q(S) is at least the mechanism's on every two
neighbours. Profiles of dominating pairs compose as the pairs do, even when the questions are chosen adaptively, as
long as the pairs are fixed in advance (Zhu, Dong and Wang 2022). The pairs used here:

- Laplace, scalar shift Δ/scale = ε: atoms of P at ε (½) and −ε (e^−ε/2), density e^((x−ε)/2)/4 between.
- Discrete Laplace: the losses (2n − Δ)/scale for n = 0 … Δ; interior masses are geometric, with closed sums.
- Gaussian: the loss is normal with mean ±μ²/2 and variance μ².
- Discrete Gaussian: sums over integers; above σ = 2000 the sum over a run of integers is ∫ f − f″/24 + 7f⁗/5760
  over the run widened by ½ at both ends (Euler–Maclaurin; the next term is below 2e-15 of it for |z| ≤ 38).
- Anything ε-DP: binary randomised response (Kairouz, Oh and Viswanath 2015); (ε, δ): the same with δ at infinity.
- Exponential mechanism: its loss lies in an interval of width ε. Over all such pairs the largest δ(s) is
  (e^(ε/2) − e^(s/2))²/(e^ε − 1) (Dong, Durfee and Rogers 2020): that of Laplace's density without its atoms.
- Poisson sampling at rate γ: ((1−γ)Q + γP, Q) for removing a person, (Q, (1−γ)Q + γP) for adding one.

`cut` returns P- and Q-masses with relative error below `ACCURACY`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import NotComposable
from discreet.privacy import losses as kinds
from discreet.privacy.loss_measures import pure_epsilon
from discreet.privacy.losses import Loss
from discreet.privacy.pld.normal import interval_masses
from discreet.privacy.rounding import float_above

Floats: TypeAlias = NDArray[np.float64]
Direction = Literal["remove", "add"]

ACCURACY = 4e-13
"""Relative error of every cell's mass, at most."""


@dataclass(frozen=True)
class Cells:
    """P- and Q-mass of the losses in (edges[i], edges[i+1]], and the P-mass where Q has none."""

    p: Floats
    q: Floats
    infinite: float = 0.0


def reach(loss: Loss, tail: float, direction: Direction) -> tuple[float, float]:
    """Return the lowest and highest finite loss; where there is none, P leaves out at most `tail` on each side.

    >>> reach(kinds.Pure(2), 1e-20, "add")
    (-2.0, 2.0)
    """
    match loss:
        case kinds.PoissonSubsampled(base, rate):
            share = float_above(rate)
            low, high = (_sampled(end, share) for end in reach(base, tail, "remove"))
            if share < 1 and (_is_gaussian(base) or isinstance(base, kinds.Approximate)):
                low = math.log1p(-share)  # what sampling leaves of a loss of −∞
            return (low, high) if direction == "remove" else (-high, -low)
        case _ if _is_gaussian(loss):
            mu = gaussian_mu(loss)
            width = mu * (2 + math.sqrt(-2 * math.log(tail))) + mu * mu / 2
            return -width, width
        case _:
            epsilon = highest_loss(loss)
            return -epsilon, epsilon


def _is_gaussian(loss: Loss) -> bool:
    return isinstance(loss, kinds.Gaussian | kinds.GaussianDP | kinds.DiscreteGaussian)


def _sampled(x: float, rate: float) -> float:
    """ln(1 + γ(e^x − 1)), the loss of ((1−γ)Q + γP, Q) where that of (P, Q) is x."""
    if rate == 1:
        return x  # e^x − 1 rounds to −1 below −37
    return math.log1p(rate * math.expm1(x)) if x < 700 else x + math.log(rate)


def gaussian_mu(loss: Loss) -> float:
    """Return shift over standard deviation of a Gaussian loss, discrete or not.

    >>> round(gaussian_mu(kinds.Gaussian(sigma=4, sensitivity=2)), 12)
    0.5
    """
    match loss:
        case kinds.Gaussian(sigma, sensitivity):
            return float_above(sensitivity / sigma)
        case kinds.GaussianDP(mu):
            return float_above(mu)
        case kinds.DiscreteGaussian(variance, shift):
            return shift / math.sqrt(variance)
    raise NotComposable(
        f"{kinds.describe(loss)} is not Gaussian.", fix="Give the loss of a Gaussian: privacy.Gaussian(sigma=10)."
    )


def highest_loss(loss: Loss) -> float:
    """Return the highest finite loss of a pair that has one.

    >>> highest_loss(kinds.Approximate("0.5", "1e-6"))
    0.5
    """
    epsilon = loss.epsilon if isinstance(loss, kinds.Approximate) else pure_epsilon(loss)
    if epsilon is None:
        raise NotComposable(
            f"{kinds.describe(loss)} says too little for a privacy loss distribution; it composes as a curve.",
            fix="Compose it with privacy.epsilon, which adds up curves too.",
        )
    return float_above(epsilon)


def cut(loss: Loss, edges: Floats, direction: Direction = "remove") -> Cells:
    """Cut the dominating pair of `loss` at increasing `edges`, the first −∞ and the last ∞.

    >>> cut(kinds.Pure(1), np.array([-np.inf, 0.0, np.inf])).p.round(6).tolist()
    [0.268941, 0.731059]
    """
    match loss:
        case kinds.PoissonSubsampled(base, rate):
            return _cut_sampled(base, float_above(rate), edges, direction)
        case kinds.Gaussian() | kinds.GaussianDP():
            return _cut_gaussian(gaussian_mu(loss), edges)
        case kinds.DiscreteGaussian(variance, shift):
            atoms = variance < 2000**2
            return (_cut_atomic_gaussian if atoms else _cut_wide_gaussian)(float(variance), shift, edges)
        case kinds.DiscreteLaplace(scale, shift):
            return _cut_discrete_laplace(float(scale), shift, edges)
        case kinds.Laplace():
            return _cut_laplace(highest_loss(loss), edges)
        case kinds.Exponential():
            return _cut_bounded_range(highest_loss(loss), edges)
        case kinds.RandomizedResponse(_, categories):
            return _cut_response(highest_loss(loss), categories, edges)
        case kinds.Approximate(_, delta):
            return _cut_approximate(highest_loss(loss), float_above(delta), edges)
        case _:
            return _cut_response(highest_loss(loss), 2, edges)


def _cut_atoms(x: Floats, p: Floats, q: Floats, edges: Floats) -> Cells:
    cell = np.searchsorted(edges, x, side="left") - 1
    n = len(edges) - 1
    return Cells(*np.array([np.bincount(cell, mass, minlength=n) for mass in (p, q)], dtype=np.float64))


def _cut_response(epsilon: float, categories: int, edges: Floats) -> Cells:
    truth = 1 / (1 + (categories - 1) * math.exp(-epsilon))
    lie = truth * math.exp(-epsilon)
    other = (categories - 2) * lie
    x = np.array([-epsilon, 0.0, epsilon])
    return _cut_atoms(x, np.array([lie, other, truth]), np.array([truth, other, lie]), edges)


def _cut_approximate(epsilon: float, delta: float, edges: Floats) -> Cells:
    cells = _cut_response(epsilon, 2, edges)
    p, q = (1 - delta) * cells.p, (1 - delta) * cells.q
    # Q, too, has δ where P has nothing: the lowest of all losses.
    q[np.searchsorted(edges, -np.inf, side="right") - 1] += delta
    return Cells(p, q, infinite=delta)


def _cut_laplace(epsilon: float, edges: Floats) -> Cells:
    middle = _cut_bounded_range(epsilon, edges)
    far, near = math.exp(-epsilon) / 2, 0.5
    tips = _cut_atoms(np.array([-epsilon, epsilon]), np.array([far, near]), np.array([near, far]), edges)
    share = -math.expm1(-epsilon) / 2
    return Cells(share * middle.p + tips.p, share * middle.q + tips.q)


def _cut_bounded_range(epsilon: float, edges: Floats) -> Cells:
    if epsilon == 0:
        return _cut_response(0.0, 2, edges)
    x = np.clip(edges, -epsilon, epsilon)
    # The density ∝ e^((x−ε)/2) integrated over each cell without cancellation, and its Q-side likewise.
    width = np.expm1(np.diff(x) / 2) / -math.expm1(-epsilon)
    return Cells(np.exp((x[:-1] - epsilon) / 2) * width, np.exp((-x[1:] - epsilon) / 2) * width)


def _cut_discrete_laplace(scale: float, shift: int, edges: Floats) -> Cells:
    if shift == 0:
        return _cut_response(0.0, 2, edges)
    # P is centred at `shift`, Q at 0: outputs up to 0 share the lowest loss, those from `shift` on the highest.
    ratio, end = math.exp(-1 / scale), shift / scale
    near, far = 1 / (1 + ratio), math.exp(-end) / (1 + ratio)
    tips = _cut_atoms(np.array([-end, end]), np.array([far, near]), np.array([near, far]), edges)
    # Outputs n = 1 … shift − 1 have the loss (2n − shift)/scale and masses ∝ ratio^(shift−n), ratio^n.
    last = np.clip(np.floor((edges * scale + shift) / 2), 0, shift - 1)
    run = np.expm1(-np.diff(last) / scale) / -(1 + ratio)
    return Cells(
        tips.p + run * np.exp((last[1:] - shift) / scale),
        tips.q + run * np.exp(-(last[:-1] + 1) / scale),
    )


def _cut_gaussian(mu: float, edges: Floats) -> Cells:
    if mu == 0:
        return _cut_response(0.0, 2, edges)
    with np.errstate(over="ignore"):
        z = edges / mu - mu / 2
    return Cells(interval_masses(z), interval_masses(z, mu))  # of the same cells, to the last digit


def _cut_atomic_gaussian(variance: float, shift: int, edges: Floats) -> Cells:
    most = math.ceil(38 * math.sqrt(variance)) + 1  # leaves out less than the smallest normal double
    n = np.arange(-most, most + shift + 1, dtype=np.float64)
    q = np.exp(-(n**2) / (2 * variance))
    p = np.exp(-((n - shift) ** 2) / (2 * variance))
    return _cut_atoms((2 * n - shift) * shift / (2 * variance), p / q.sum(), q / q.sum(), edges)


def _cut_wide_gaussian(variance: float, shift: int, edges: Floats) -> Cells:
    if shift == 0:
        return _cut_response(0.0, 2, edges)
    # A cell holds the run of integers n whose loss (2n − shift)·shift/(2·variance) lies in it.
    sigma = math.sqrt(variance)
    last = np.floor(edges * (variance / shift) + shift / 2)
    with np.errstate(invalid="ignore"):
        widths = np.diff(last) / sigma  # differences of integers are exact, those of z are not
    z = (last + 0.5) / sigma
    return Cells(_integer_runs(z, widths, -shift / sigma, variance), _integer_runs(z, widths, 0.0, variance))


def _integer_runs(z: Floats, widths: Floats, by: float, variance: float) -> Floats:
    x = np.clip(z + by, -1e3, 1e3)
    density = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    first, third = -x * density, (3 * x - x**3) * density  # φ′ and φ‴
    masses = interval_masses(z, by, widths)
    return masses - np.diff(first) / (24 * variance) + 7 * np.diff(third) / (5760 * variance**2)


def _cut_sampled(base: Loss, rate: float, edges: Floats, direction: Direction) -> Cells:
    if rate == 0:
        return _cut_response(0.0, 2, edges)
    if rate == 1:  # everyone is in the sample; these pairs are their own mirror images
        return cut(base, edges)
    y = edges if direction == "remove" else -edges[::-1]
    with np.errstate(
        invalid="ignore", divide="ignore", over="ignore"
    ):  # the inverse of `_sampled`, −∞ below its range
        x = np.where(y < 700, np.log1p(np.expm1(np.minimum(y, 700)) / rate), y - math.log(rate))
    cells = cut(base, np.where(np.isnan(x), -np.inf, x))
    mixed = (1 - rate) * cells.q + rate * cells.p
    if direction == "remove":
        return Cells(mixed, cells.q, infinite=rate * cells.infinite)
    mixed[-1] += rate * cells.infinite  # where only the sampled law has mass, the loss of adding is −∞
    return Cells(cells.q[::-1], mixed[::-1], infinite=0.0)
