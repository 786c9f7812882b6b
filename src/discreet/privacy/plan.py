"""Account for plans: all parameters are fixed before any release, so the tightest accounting applies.

`epsilon` and `delta` compose the dominating pairs of the losses (Zhu, Dong and Wang 2022): Gaussians collapse to
one with μ² = Σ μᵢ², and alone have a closed form; plans with samples are inverted along a contour (`pld.contour`),
and everything else goes through privacy loss distributions on a lattice, added up by a tilted FFT
(`pld.tilted_fft`), with every error counted. The result is never below the truth,
and never above the best of Rényi and basic composition, which are computed beside it (Rényi for up to 64 distinct
losses; the tilted law is below its own Rényi bound by construction).

*Which* question is asked may depend on earlier answers; *what each costs* and how many there are may not. When the
next cost depends on the last answer, use a `Session`: stopping "when the composed curve reaches the budget" is not
private in general.

Neighbours: the losses are stated for the relation named. Only Poisson sampling looks at it: sampled losses are
stated for adding or removing a person; both directions are composed and the worse counts. For "replace" the way
leads over the table without the person: δ(ε) ≤ δ_remove(ε/2) + e^(ε/2)·δ_add(ε/2), where releases without sampling
may move in either leg, and are counted in both.
"""

from __future__ import annotations

import math
from dataclasses import fields
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from discreet.errors import Fix, NotComposable, ParameterError
from discreet.privacy import losses as kinds
from discreet.privacy.basic_bounds import basic_delta, basic_epsilon, curve_delta, curve_epsilon
from discreet.privacy.loss_measures import pure_epsilon
from discreet.privacy.losses import Loss, Losses, counted
from discreet.privacy.parameters import nonnegative, probability
from discreet.privacy.pld import directions as ways
from discreet.privacy.pld.dominating_pairs import Floats
from discreet.privacy.pld.grid_choice import Counts, collapse_gaussians, fitted_profile, is_moderate
from discreet.privacy.pld.normal import gaussian_delta, gaussian_epsilon, invert
from discreet.privacy.rounding import downward, float_above, float_below, upward
from discreet.privacy.tradeoff_curve import TradeOff, from_profile
from discreet.rational import Rational, shown

Neighbours = Literal["add/remove", "replace"]
Bounds: TypeAlias = tuple[float, float]

_EPSILONS = np.concatenate([[0.0], np.geomspace(1e-2, 50, 60)])  # where a trade-off curve looks at δ
_FUTILE = 1000.0  # an ε that gives no protection, and for which e^ε still fits a double
_FEW = 64  # distinct losses for which Rényi curves are composed beside the pairs


def epsilon(losses: Losses, delta: Rational, *, neighbours: Neighbours = "add/remove") -> float:
    """Return an ε, never too small, such that all losses together are (ε, δ)-differentially private.

    >>> from discreet import privacy
    >>> round(privacy.epsilon([privacy.Gaussian(sigma=100) * 10_000], delta=1e-12), 5)
    7.23849
    >>> round(privacy.epsilon([privacy.Laplace(scale=100) * 10_000, privacy.Pure("0.1")], delta="1e-6"), 3)
    4.903
    """
    return _bounds_of_epsilon(_positive(losses), probability(delta, "delta"), neighbours, lower=False)[1]


def epsilon_bounds(losses: Losses, delta: Rational, *, neighbours: Neighbours = "add/remove") -> Bounds:
    """Return [lower, upper] around the best ε that the dominating pairs of the losses admit at δ.

    >>> from discreet import privacy
    >>> low, high = epsilon_bounds([privacy.Laplace(scale=10) * 100], delta=1e-6)
    >>> low < high < 1.01 * low
    True
    """
    low, high = _bounds_of_epsilon(_positive(losses), probability(delta, "delta"), neighbours, lower=True)
    return min(low, high), high


def delta(losses: Losses, epsilon: Rational, *, neighbours: Neighbours = "add/remove") -> float:
    """Return a δ, never too small, such that all losses together are (ε, δ)-differentially private.

    >>> from discreet import privacy
    >>> round(privacy.delta([privacy.Gaussian(sigma=1)], epsilon=1), 6)
    0.126937
    """
    return _bounds_of_delta(_positive(losses), nonnegative(epsilon, "epsilon"), neighbours, lower=False)[1]


def delta_bounds(losses: Losses, epsilon: Rational, *, neighbours: Neighbours = "add/remove") -> Bounds:
    """Return [lower, upper] around the best δ that the dominating pairs of the losses admit at ε.

    >>> from discreet import privacy
    >>> low, high = delta_bounds([privacy.Pure(1)], epsilon="0.5")
    >>> low <= high and round(high, 3) == 0.288
    True
    """
    low, high = _bounds_of_delta(_positive(losses), nonnegative(epsilon, "epsilon"), neighbours, lower=True)
    return min(low, high), high


def tradeoff(losses: Losses, *, neighbours: Neighbours = "add/remove") -> TradeOff:
    """Return what an attacker can reach: the fewest misses at each rate of false alarms.

    >>> from discreet import privacy
    >>> round(privacy.tradeoff(privacy.Gaussian(sigma=1)).advantage, 2)
    0.38
    """
    counts = _positive(losses)

    def profile(epsilons: Floats) -> Floats:
        exact = (Fraction(e) for e in epsilons.tolist())
        return np.array([_bounds_of_delta(counts, e, neighbours, lower=False)[1] for e in exact])

    # A pure plan has a kink at its total ε: look there too.
    total = basic_epsilon(counts, Fraction(0))
    return from_profile(profile, epsilons=np.append(_EPSILONS, total) if total < math.inf else _EPSILONS)


# -- what is given ----------------------------------------------------------------------------------------------


def _positive(losses: Losses) -> Counts:
    """Return the losses that cost something, in canonical order: sums of floats depend on their order."""
    counts = counted(losses)
    return {loss: counts[loss] for loss in sorted(counts, key=_rank) if not _is_free(loss)}


def _rank(loss: Loss) -> tuple[Any, ...]:
    """Return the place of a loss in the canonical order: its kind, then its parameters."""
    return type(loss).__name__, *(_comparable(getattr(loss, field.name)) for field in fields(loss))


def _comparable(value: Any) -> Any:
    if isinstance(value, Loss):
        return _rank(value)
    # Floats decide most comparisons; fractions take longer, and decide between neighbours.
    return value if isinstance(value, tuple) else (float_above(Fraction(value)), value)


def _is_free(loss: Loss) -> bool:
    match loss:
        case kinds.Gaussian() | kinds.DiscreteGaussian():
            return loss.sensitivity == 0
        case kinds.GaussianDP(mu):
            return mu == 0
        case kinds.ZeroConcentrated(rho):
            return rho == 0
        case kinds.PoissonSubsampled(base, rate):
            return rate == 0 or _is_free(base)
    return pure_epsilon(loss) == 0


# -- the best of all ways ---------------------------------------------------------------------------------------


def _bounds_of_epsilon(counts: Counts, exact: Fraction, neighbours: Neighbours, *, lower: bool) -> Bounds:
    if not counts or exact == 1:
        return 0.0, 0.0
    if _always_fails(counts):
        return math.inf, math.inf
    if _replaces_samples(counts, neighbours):
        return 0.0, _over_the_table_without(counts, exact)
    high, pairs = basic_epsilon(counts, exact), _has_pairs(counts)
    if len(counts) <= _FEW or not pairs:
        high = min(high, curve_epsilon(counts, exact))
    delta = float_below(exact)
    if delta == 0 or not pairs:
        return (high if exact == 0 else 0.0), high
    if _all_gaussian(counts):
        mu, _ = collapse_gaussians(counts)
        return gaussian_epsilon(downward(mu, 32), float_above(exact))[0], min(high, gaussian_epsilon(mu, delta)[1])
    if not is_moderate(counts):
        return 0.0, high
    low, best = ways.epsilon_bounds(counts, delta, float_above(exact), lower=lower)
    return low, min(high, best)


def _bounds_of_delta(counts: Counts, exact: Fraction, neighbours: Neighbours, *, lower: bool) -> Bounds:
    if not counts or _always_fails(counts):
        return (1.0, 1.0) if counts else (0.0, 0.0)
    epsilon = float_below(exact)
    if _replaces_samples(counts, neighbours):
        remove, add = (
            ways.delta_bounds(counts, epsilon / 2, way, lower=False)[1] for way in ways.directions(counts)
        )
        return 0.0, _chained(remove, add, epsilon)
    high, pairs = basic_delta(counts, exact), _has_pairs(counts)
    if len(counts) <= _FEW or not pairs:
        high = min(high, curve_delta(counts, exact))
    if not pairs:
        return 0.0, high
    if _all_gaussian(counts):
        mu, _ = collapse_gaussians(counts)
        return gaussian_delta(downward(mu, 32), float_above(exact))[0], min(high, gaussian_delta(mu, epsilon)[1])
    if not is_moderate(counts):
        return 0.0, high
    bounds = [ways.delta_bounds(counts, epsilon, way, lower=lower) for way in ways.directions(counts)]
    return max(low for low, _ in bounds), min(high, max(best for _, best in bounds))


def _chained(remove: float, add: float, epsilon: float) -> float:
    """δ of replacing a person, by removing and adding one at ε/2 each."""
    return min(1.0, upward(remove + math.exp(epsilon / 2) * add, 8)) if epsilon < _FUTILE else 1.0


def _over_the_table_without(counts: Counts, exact: Fraction) -> float:
    alone = 2 * basic_epsilon(counts, Fraction(0))  # twice the sum is enough at any δ
    delta = float_below(exact)
    if delta == 0:
        return alone
    remove, add = (fitted_profile(counts, way, delta=delta / 8) for way in ways.directions(counts))

    def at(epsilon: float) -> float:
        return _chained(remove.delta(epsilon / 2)[1], add.delta(epsilon / 2)[1], epsilon)

    top = min(2 * max(profile.upper_epsilon(delta / 8) for profile in (remove, add)), _FUTILE)
    while at(top) > delta and top < _FUTILE:
        top *= 1.5
    return min(alone, invert(at, delta, 0.0, top, tolerance=1e-6)[1] if at(top) <= delta else math.inf)


def _always_fails(counts: Counts) -> bool:
    return any(isinstance(loss, kinds.Approximate) and loss.delta == 1 for loss in counts)


def _replaces_samples(counts: Counts, neighbours: Neighbours) -> bool:
    if neighbours not in ("add/remove", "replace"):
        raise ParameterError(
            'neighbours must be "add/remove" or "replace".',
            found=shown(neighbours),
            fix=Fix("neighbours", "add/remove"),
        )
    if neighbours == "add/remove" or len(ways.directions(counts)) == 1:
        return False
    if not (_has_pairs(counts) and is_moderate(counts)):
        raise NotComposable(
            "Replacing a person in a sample needs losses of known mechanisms and of moderate size.",
            fix=[Fix("neighbours", "add/remove"), "Or compose the loss of the mechanism itself."],
        )
    return True


def _has_pairs(counts: Counts) -> bool:
    """Return whether every loss knows its pair: a zCDP or Rényi bound alone does not."""
    bare = (loss.loss if isinstance(loss, kinds.PoissonSubsampled) else loss for loss in counts)
    return not any(isinstance(loss, kinds.ZeroConcentrated | kinds.Renyi) for loss in bare)


def _all_gaussian(counts: Counts) -> bool:
    return all(isinstance(loss, kinds.Gaussian | kinds.GaussianDP) for loss in counts)
