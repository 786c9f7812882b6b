"""Invert the transform of a sum of losses along a line, with every error counted.

With K(z) = ln E e^(zL) of the sum L under P and any θ > 0,

    δ(ε) = (1/2πi) ∫_{θ−i∞}^{θ+i∞} e^(K(z) − zε)/(z(z+1)) dz,

because ∫_{−∞}^L (1 − e^(x−L))·e^(zx) dx = e^(zL)/(z(z+1)). K is a sum of finite sums (`atoms`) and of
μ²z(z+1)/2 for all Gaussians together. Everything below is in units of e^(K(θ) − θε).

- **An added release.** Atoms alone have a transform that never ends, so a Gaussian release of a tiny μ = s is
  added. Upper: it can only raise δ. Lower: δ(ε) ≥ δ_s(ε) − s²·C·f_s(ε) with f_s the density of the sum and C =
  1 + (s/2)·M(−s/2), M Mills' ratio (docs/theory/accounting.md). That replaces 1/(z(z+1)) by 1/(z(z+1)) − s²C.
- **Trapezoid sum.** With spacing 2π/T it is exactly Σ_m e^(θmT)·δ_s(ε + mT), every term ≥ 0. So it is above δ_s
  as it stands, and below it once δ_s(x) ≤ e^(K(θ′) − θ′x) has bounded the terms m ≠ 0.
- **Truncation** at t₁ leaves at most e^(−s²t₁²/2)/(πt₁), as |E e^(itL)| ≤ 1 and |z(z+1)| ≥ t².
- **Round-off**, u = 2⁻⁵³, elementary functions within 4 ulp = 8u. Frequencies t = a + b on a grid turn the
  finite sums into one matrix product, e^(itx) − 1 = AB + A + B with A = e^(iax) − 1 and B = e^(ibx) − 1, so
  that nothing of size 1 enters. With weights w of n atoms, Σw = 1: the arguments a·x are off by 2u·a|x| (a
  itself is rounded), A by 4u·a|x| + 20u|A|, and an error of A or B counts up to three times: 16u·t·E|x| with
  both, and 60u·E(|A| + |B|). The weights are off by u(16 + 4θ|x| + 4θ·max x), which multiplies |e^(itx) − 1| ≤
  min(2, t|x|). A sum of n complex products is off by (2n + 16)u times the sum of their sizes, in any order (no
  fast matrix multiplication). A relative error r of E e^(itx) becomes count·r/(1 − r) in the exponent, and e^r
  − 1 of the term.

Nothing rests on θ, T or s: any choice gives bounds that hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.pld.atoms import Atoms
from discreet.privacy.pld.dominating_pairs import Floats
from discreet.privacy.pld.normal import ROUNDOFF

Complexes = NDArray[np.complex128]
Slopes = tuple[list[tuple[float, float]], list[tuple[float, float]]]

_ALIAS = 1e-15  # what the images of δ at ε + mT may add
_ENDING = 40.0  # the exponent at which the added Gaussian ends the sum
_LONGEST = 1 << 18  # frequencies, at most
_SLIP = 1e-6  # nats: more than round-off can do to a cumulant in a Chernoff bound


class TooLong(Exception):
    """The sum has more frequencies than there is time for: add a wider release."""


@dataclass(frozen=True)
class Law:
    """The sum of losses on atoms, each `count` times, and of a Gaussian loss; e^`log_weight` times its law.

    Args:
        factors: The atoms, with how often each occurs. Their masses may add up to less than 1.
        square: The μ² of the Gaussian.
        log_weight: The logarithm of a factor of everything, such as the number of ways to choose rare losses.
    """

    factors: Sequence[tuple[Atoms, int]]
    square: float
    log_weight: float = 0.0

    def cumulant(self, theta: float) -> tuple[float, float, float]:
        """Return K, K′ and K″ at θ."""
        k = self.log_weight + self.square * theta * (theta + 1) / 2
        first, second = self.square * (theta + 0.5), self.square
        for atoms, count in self.factors:
            log, weights, _ = tilted(atoms, theta)
            mean = float(weights @ atoms.x)
            k, first = k + count * log, first + count * mean
            second += count * float(weights @ (atoms.x - mean) ** 2)
        return k, first, second

    @property
    def ceiling(self) -> float:
        """The highest loss, infinite with a Gaussian."""
        tops = (count * float(atoms.x.max()) for atoms, count in self.factors)
        return math.inf if self.square else math.fsum(tops)


def tilted(atoms: Atoms, theta: float) -> tuple[float, Floats, float]:
    """Return ln E e^(θx), the tilted masses, and a bound on the error of the logarithm.

    Weights are off by u(10 + 2θ|x| + 2|top|), relatively. Small cumulants are summed as e^(θx) − 1, so that what
    is small stays small.
    """
    exponents = theta * atoms.x
    top = float(exponents[atoms.mass > 0].max())
    weights = atoms.mass * np.exp(np.minimum(exponents - top, 0.0))
    total = math.fsum(weights.tolist())
    weights = weights / total
    lacking = math.fsum([*atoms.mass.tolist(), -1.0])
    close = top <= 1 and lacking > -0.5
    moved = math.fsum((atoms.mass * np.expm1(exponents)).tolist()) + lacking if close else math.inf
    log = math.log1p(moved) if close and moved > -0.5 else top + math.log(total)
    error = ROUNDOFF * (
        16 + 24 * abs(theta) * float(weights @ np.abs(atoms.x)) + 16 * abs(log) + 8 * max(top, 0.0)
    )
    return log, weights, error


@dataclass(frozen=True)
class Inversion:
    """The integrand at the frequencies `t`, with which δ is bounded at every ε near the one it was made for."""

    law: Law
    theta: float
    log: float
    """K(θ)."""
    rounding: float
    """Its error."""
    t: Floats
    g: Complexes
    """The integrand without e^(−itε), times the spacing over π."""
    added: float
    """The s² of the added release."""
    floor: float
    """What the lower bound takes off 1/(z(z+1)): s²·C."""
    error: float
    """Of the sum of g."""
    lower_error: float
    """The same with `floor`."""
    period: float
    slopes: Slopes

    def upper(self, epsilon: float) -> float:
        """Return a δ at ε that is certainly not too small."""
        value, phases = self._sum(self.g, epsilon)
        value = max(value, 0.0) + self.error + phases
        scale = self.log - self.theta * epsilon + self.rounding + 8 * ROUNDOFF * abs(self.theta * epsilon)
        return math.exp(min(700.0, scale + math.log(value))) * (1 + 1e-12)

    def lower(self, epsilon: float) -> float:
        """Return a δ at ε that is certainly not too large."""
        z = self.theta + 1j * self.t
        value, phases = self._sum(self.g * (1 - self.floor * z * (1 + z)), epsilon)
        value -= self.lower_error + phases + _images(self.slopes, self.period, epsilon)
        if value <= 0:
            return 0.0
        scale = self.log - self.theta * epsilon - self.rounding - 8 * ROUNDOFF * abs(self.theta * epsilon)
        return math.exp(min(700.0, scale + math.log(value))) * (1 - 1e-12)

    def share(self, epsilon: float) -> float:
        """Return the share of error in the upper bound."""
        value, phases = self._sum(self.g, epsilon)
        return (self.error + phases) / max(value, 1e-300)

    def _sum(self, g: Complexes, epsilon: float) -> tuple[float, float]:
        value = math.fsum((g * np.exp(-1j * (self.t * epsilon))).real.tolist())
        return value, float(np.abs(g) @ (self.t * (abs(epsilon) * 8 * ROUNDOFF) + 64 * ROUNDOFF))


def invert(law: Law, theta: float, epsilon: float, added: float) -> Inversion:
    """Sample the integrand, as densely as its images and as far as its Gaussian asks.

    Args:
        law: The law of the sum, with the added release.
        theta: The tilt, above 0.
        epsilon: About the largest ε that will be asked for.
        added: The s² of the added release.
    """
    slopes = _slopes(law, theta)
    period = _period(slopes, epsilon)
    spacing, square = 2 * math.pi / period, law.square
    number = max(16, math.ceil(math.sqrt(2 * _ENDING / square) / spacing) + 1)
    if number > _LONGEST:
        raise TooLong
    side = math.ceil(math.sqrt(number))
    steps = np.arange(side, dtype=np.float64)
    a, b = steps[: math.ceil(number / side)] * side * spacing, steps * spacing
    t = (a[:, None] + b).ravel()
    z = theta + 1j * t
    log = law.log_weight + square * theta * (theta + 1) / 2
    rounding = 16 * ROUNDOFF * (abs(log) + 1)
    exponent = square * (1j * t * (theta + 0.5) - t * t / 2)
    relative = 16 * ROUNDOFF * np.abs(exponent) + 64 * ROUNDOFF
    for atoms, count in law.factors:
        one, weights, error = tilted(atoms, theta)
        log, rounding = log + count * one, rounding + count * error
        c, e = _transform(atoms.x, weights, theta, a, b)
        size = np.maximum(np.abs(1 + c), 1e-100)
        logs = _log1p(c)
        exponent = exponent + count * logs
        ratio = e / size + 16 * ROUNDOFF * np.abs(c) * (1 + np.abs(c)) / size**2
        ratio = np.where(ratio < 0.5, ratio / (1 - np.minimum(ratio, 0.5)), np.inf)
        relative = relative + count * (ratio + 32 * ROUNDOFF * np.abs(logs))
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        g = np.exp(exponent) / (z * (1 + z)) * (spacing / math.pi)
        bound = np.abs(g) * np.expm1(np.minimum(relative, 600.0))
        # Where round-off leaves nothing, |E e^(itx)| ≤ 1 still holds.
        most = np.abs(g) + np.exp(-square * t * t / 2) / np.abs(z * (1 + z)) * (spacing / math.pi)
        bound = np.where(relative < 600, np.minimum(bound, most), most)
    g[0] /= 2
    small = np.abs(g) < 1e-24 * abs(g[0])
    bound = bound + np.where(small, np.abs(g), 0.0)
    floor, ending = _floor(added), math.exp(-square * t[-1] ** 2 / 2) / (math.pi * float(t[-1]))
    return Inversion(
        law,
        theta,
        log,
        rounding,
        t[~small],
        g[~small],
        added,
        floor,
        error=(float(bound.sum()) + ending) * (1 + 1e-9),
        lower_error=(float(bound @ np.abs(1 - floor * z * (1 + z))) + ending * (1 + floor / square)) * (1 + 1e-9),
        period=period,
        slopes=slopes,
    )


def _floor(added: float) -> float:
    """Return s²·C, rounded up: C = 1 + (s/2)·M(−s/2) and M(−s/2) = √(π/2)·e^(s²/8)·(1 + erf(s/√8))."""
    s = math.sqrt(added)
    mills = math.sqrt(math.pi / 2) * math.exp(added / 8) * (1 + math.erf(s / math.sqrt(8)))
    return added * (1 + s / 2 * mills) * (1 + 1e-12)


def _slopes(law: Law, theta: float) -> Slopes:
    """Return pairs (n, d), d > 0, such that e^(θy)·δ(ε + y) is at most e^(n − d(ε+y)), or e^(n + d(ε+y)).

    The first list serves y > 0, the second y < 0. They are the bound δ(x) ≤ e^(K(θ′) − θ′x) at other tilts θ′ ≥ 0.
    """
    k = law.cumulant(theta)[0]
    right = []
    for factor in np.geomspace(1e-3, 30, 32).tolist():
        with np.errstate(all="ignore"):
            more = law.cumulant(theta * (1 + factor))[0] - k
        if not math.isfinite(more):
            break
        right.append((more + _SLIP, theta * factor))
    shares = np.linspace(0.05, 1.0, 11).tolist()
    left = [(law.cumulant(theta * (1 - share))[0] - k + _SLIP, theta * share) for share in shares]
    return right, left


def _period(slopes: Slopes, epsilon: float) -> float:
    """Return a T for which the images of δ at ε′ + mT add little, for all ε′ from 0 to ε and a little above."""
    nats, (right, left) = -math.log(_ALIAS), slopes
    ahead = min(((n + nats) / d for n, d in right), default=1e3)
    return max(1e-12, ahead, min((n + nats) / d + epsilon for n, d in left))


def _images(slopes: Slopes, period: float, epsilon: float) -> float:
    """Bound Σ_{m≠0} e^(θmT)·δ(ε + mT)."""
    total = 0.0
    for sign, side in zip((1, -1), slopes, strict=True):
        exponents = [(n - sign * d * epsilon - d * period, d * period) for n, d in side]
        total += min((math.exp(min(700.0, n)) / -math.expm1(-d) for n, d in exponents), default=math.inf)
    return total


def _transform(x: Floats, weights: Floats, theta: float, a: Floats, b: Floats) -> tuple[Complexes, Floats]:
    """Return Σ w·(e^(itx) − 1) at all t = a + b, and a bound on its error."""
    first, second = _expm1i(np.outer(a, x)), _expm1i(np.outer(b, x))
    c = ((first * weights) @ second.T + (first @ weights)[:, None] + (second @ weights)[None, :]).ravel()
    size = ((np.abs(first) @ weights)[:, None] + 3 * (np.abs(second) @ weights)[None, :]).ravel()
    t = (a[:, None] + b).ravel()
    mean, square = float(weights @ np.abs(x)), float(weights @ (x * x))
    top = 4 * theta * max(float(x[weights > 0].max()), 0.0)
    heavy = np.minimum(2 * mean, t * square) * (4 * theta)
    return c, ROUNDOFF * (16 * t * mean + heavy + (2 * len(x) + 64 + top) * size)


def _expm1i(y: Floats) -> Complexes:
    """Return e^(iy) − 1 without cancellation."""
    half = np.sin(y / 2)
    return np.asarray(-2 * half * half + 1j * np.sin(y))


def _log1p(c: Complexes) -> Complexes:
    """Return ln(1 + c), accurate for small c."""
    real = 0.5 * np.log1p(np.maximum(2 * c.real + c.real**2 + c.imag**2, -1 + 1e-16))
    return np.asarray(real + 1j * np.arctan2(c.imag, 1 + c.real))
