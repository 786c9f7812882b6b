"""Choose a lattice that fits the plan: fine enough to cost little, coarse enough to be fast.

The lattice adds at most step²/4 to the variance of a loss (about step²/6 where losses fall anywhere in a cell),
and so (θ + 1)/2 times that to ε, where θ is the tilt at which the tail is δ. A coarse look at the losses estimates
θ, ε and δ; from these follow the step that keeps the addition below `_TIGHTNESS`·ε, and where to cut unbounded
losses. No estimate is trusted: a poor one gives a looser bound, never a wrong one.

Where one bounded loss dominates, the step divides it, so that its atoms lie on nodes and add nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from discreet.privacy import losses as kinds
from discreet.privacy.losses import Loss
from discreet.privacy.pld.dominating_pairs import Direction, gaussian_mu, highest_loss, reach
from discreet.privacy.pld.lattice import discretise
from discreet.privacy.pld.profile import Profile
from discreet.privacy.pld.tilted_fft import Bundle, TooWide, add_up
from discreet.privacy.rounding import upward

Counts: TypeAlias = dict[Loss, int]
Parts: TypeAlias = list[tuple[Loss, int]]

_TIGHTNESS = 2e-5  # of ε: about what the lattice may add to the upper bound
_FINER = 16  # times finer when a lower bound is asked for, which loses a step where the upper loses step²
_NODES = 1 << 18  # the most nodes of one loss
_LARGEST_LOSS = 2000.0  # beyond, round-off in e^loss could be seen, and there is no protection anyway
_LARGEST_MU = 30.0  # the same for Gaussians, whose losses reach μ²
_LEAST = Fraction(1, 10**100)  # scales, variances and rates between this and its inverse
_RELEASES = 10**12  # beyond, round-off in their number could be seen
_NODES_TRIED = 1 << 21  # until no further tilt is tried
_COARSE = 256  # nodes of one loss in the coarse look
_NARROWEST = 1e-30  # a width for losses that are all 0
_LOOKED_AT = 64  # distinct losses in the coarse look


def collapse_gaussians(counts: Counts) -> tuple[float, Parts]:
    """Return the μ of all Gaussian losses together, rounded up, and the other losses."""
    gaussian, rest = [], []
    for loss, count in counts.items():
        if isinstance(loss, kinds.Gaussian | kinds.GaussianDP):
            gaussian.append(gaussian_mu(loss) * math.sqrt(count))
        else:
            rest.append((loss, count))
    return upward(math.hypot(*gaussian), 8) if gaussian else 0.0, rest


def is_moderate(counts: Counts) -> bool:
    """Tell whether doubles are good enough for the pairs of these losses; simple bounds do for all others.

    >>> is_moderate({kinds.Pure(1): 10**6}), is_moderate({kinds.Pure(5000): 1})
    (True, False)
    """
    mu, parts = collapse_gaussians(counts)
    return mu <= _LARGEST_MU and sum(counts.values()) <= _RELEASES and all(_fits(loss) for loss, _ in parts)


def _fits(loss: Loss) -> bool:
    match loss:
        case kinds.PoissonSubsampled(base, rate):
            return rate > _LEAST and _fits(base)
        case kinds.DiscreteGaussian(variance, _):
            return _LEAST < variance < 1 / _LEAST and gaussian_mu(loss) <= _LARGEST_MU
        case kinds.Gaussian() | kinds.GaussianDP():
            return _LEAST < gaussian_mu(loss) <= _LARGEST_MU
        case kinds.DiscreteLaplace(scale, _):
            return _LEAST < scale < 1 / _LEAST and highest_loss(loss) <= _LARGEST_LOSS
        case _:
            return highest_loss(loss) <= _LARGEST_LOSS


def fitted_profile(
    counts: Counts,
    direction: Direction,
    *,
    delta: float | None = None,
    epsilon: float = 0.0,
    fine: bool = False,
) -> Profile:
    """Compose the pairs on a lattice that fits: for the ε at this δ, or for the δ at this ε.

    Args:
        counts: The losses, with how often each occurs.
        direction: Whether neighbours remove or add a person; it matters for sampled losses only.
        delta: The δ at which ε is wanted; None if δ is wanted.
        epsilon: The ε at which δ is wanted; 0 by default.
        fine: Whether a lower bound is wanted too, which needs a finer lattice; not by default.
    """
    mu, parts = collapse_gaussians(counts)
    if mu:
        parts.append((kinds.GaussianDP(mu), 1))
    look = _look(parts, direction, delta, epsilon)
    ends = [reach(loss, look.tail, direction) for loss, _ in parts]
    widest = max(_NARROWEST, *(high - low for low, high in ends))
    step = _step(parts, look, widest / 2) / (_FINER if fine else 1)
    step = max(step, widest / _NODES)
    while True:
        lattices = [discretise(loss, step, end, direction) for (loss, _), end in zip(parts, ends, strict=True)]
        bundle = Bundle.of(lattices, [count for _, count in parts])
        try:
            return _profile(bundle, delta, epsilon)
        except TooWide:
            step *= 4


def _profile(bundle: Bundle, delta: float | None, epsilon: float) -> Profile:
    """Tilt as the tail asks; while that leaves the error in sight (losses in few, far lumps), try less."""
    # A tilt steeper than the lattice would magnify the error from one node to the next.
    theta = min(_tilt(bundle, delta, epsilon), 4 / bundle.lattices[0].step)
    tries: list[tuple[float, Profile]] = []
    looked_at = 0
    while looked_at < _NODES_TRIED and len(tries) < 12:
        profile = Profile.of(add_up(bundle, theta))
        at = epsilon if delta is None else profile.upper_epsilon(delta)
        tries.append((profile.delta(epsilon)[1] if delta is None else at, profile))
        if at == 0 or profile.error_share(at) < 1e-3 or (len(tries) > 3 and tries[-1][0] > tries[-4][0]):
            break
        theta, looked_at = theta / 2, looked_at + len(profile.epsilons)
    return min(tries, key=lambda attempt: attempt[0])[1]


@dataclass(frozen=True)
class _Look:
    """Estimates: the tilt, the ε, and the tail that may be cut."""

    theta: float
    epsilon: float
    tail: float


def _look(parts: Parts, direction: Direction, delta: float | None, epsilon: float) -> _Look:
    seen, releases = parts[:: len(parts) // _LOOKED_AT + 1], sum(count for _, count in parts)
    scale = releases / sum(count for _, count in seen)
    tail = _tail(releases, 1e-20 if delta is None else delta)
    lattices = []
    for loss, _ in seen:
        low, high = reach(loss, tail, direction)
        lattices.append(discretise(loss, max((high - low) / _COARSE, _NARROWEST), (low, high), direction))
    bundle = Bundle.of(lattices, [math.ceil(count * scale) for _, count in seen])
    theta = _tilt(bundle, delta, epsilon)
    log_moment, mean, _ = bundle.cumulant(theta)
    if delta is None:
        tail = _tail(releases, math.exp(min(0.0, max(log_moment - theta * epsilon, -600.0))))
    return _Look(theta, max(mean, epsilon, 1e-12), tail)


def _tail(releases: int, delta: float) -> float:
    """Return the mass that may be cut from each loss and counted as infinite without a visible effect on δ."""
    return min(max(delta * 1e-10 / releases, 1e-280), 1e-12)


def _tilt(bundle: Bundle, delta: float | None, epsilon: float) -> float:
    return bundle.tilt_for_epsilon(epsilon) if delta is None else bundle.tilt_for_delta(delta)


def _step(parts: Parts, look: _Look, most: float) -> float:
    bounded = [part for part in parts if not isinstance(part[0], _WITHOUT_ATOMS)]
    aligned, count = max(bounded, key=lambda part: part[1], default=(None, 0))
    off_nodes = sum(count for _, count in parts) - (count * _on_atoms(aligned) if aligned else 0)
    step = min(most, math.sqrt(12 * _TIGHTNESS * look.epsilon / ((look.theta + 1) * max(off_nodes, 1e-9))))
    atom = highest_loss(aligned) if aligned else 0.0
    return atom / math.ceil(atom / step) if atom else step


_WITHOUT_ATOMS = kinds.GaussianDP | kinds.DiscreteGaussian | kinds.PoissonSubsampled | kinds.Exponential


def _on_atoms(loss: Loss) -> float:
    """The share of P-mass at the lowest and highest loss and at 0."""
    match loss:
        case kinds.Laplace():
            return (1 + math.exp(-highest_loss(loss))) / 2
        case kinds.DiscreteLaplace(_, shift) if shift > 1:
            return (1 + math.exp(-highest_loss(loss))) / 2
    return 1.0
