"""Compute the law of a sum of privacy losses by a tilted FFT, with every error counted.

Let L be the sum and K(θ) = ln E_P[e^(θL)]. Tilting, w(x) = P(L = x)·e^(θx − K), turns the far tail, where a small
δ is decided, into the middle of the law that the FFT computes. What matters is one fact: a measure of total mass E
on the tilted side adds at most

    E·c(θ)·e^(K − θε)   to δ(ε),   c(θ) = max_y (1 − e^−y)·e^(−θy) = (1/(1+θ))·(θ/(1+θ))^θ.

With E = 1 that is the Rényi bound. So round-off and truncation of total mass E ≪ 1 cost E times the Rényi bound,
at any δ, and are added to the upper bound and taken from the lower.

Where the errors come from, each as tilted mass:
- FFT: every output is a sum of N inputs times twiddle products, computed in a tree of depth log₂N; each level adds
  a relative error below 8 ulp, so a coefficient is off by at most e = 8·log₂N·ulp times the input's mass. Through
  products of powers, |Πf̂ᵢ^nᵢ − Πfᵢ^nᵢ| ≤ Π(|f̂ᵢ| + e)^nᵢ · Σ nᵢ·e/(|f̂ᵢ| + e), which is summed over all frequencies.
- Window: tilted mass outside is bounded by Chernoff, and wraps round in the circular convolution: counted twice.
- Clipping negative cells to 0 brings them closer to the truth.

The lower bound: the lattice sum exceeds the true one by more than s with probability η at most, by Bennett's
inequality for independent terms of variance spread·step² and size step; so δ(ε) ≥ δ_lattice(ε + s) − η.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.pld.dominating_pairs import ACCURACY, Floats
from discreet.privacy.pld.lattice import Lattice
from discreet.privacy.pld.normal import ROUNDOFF
from discreet.privacy.rounding import upward

_WINDOW_TAIL = 1e-14  # tilted mass left outside the window, on each side
_TRIM = 1e-14  # tilted mass trimmed from a row, on each side, in the tree
_STEEPEST_SLOPE = 40.0  # per node, in a Chernoff bound: e^−40 already ends a window within a node
_LONGEST = 1 << 21  # no transform is longer
_STEEPEST = 5000.0  # no tilt is steeper than this; any tilt gives valid bounds


class TooWide(Exception):
    """The sum needs more nodes than there is time for: take a coarser lattice."""


@dataclass(frozen=True)
class Bundle:
    """Distinct lattices with how often each occurs, laid end to end so that one call serves all of them."""

    lattices: Sequence[Lattice]
    counts: Floats
    mass: Floats
    losses: Floats
    starts: NDArray[np.intp]
    highest: Floats

    @classmethod
    def of(cls, lattices: Sequence[Lattice], counts: Sequence[int]) -> Bundle:
        """Lay the lattices end to end."""
        starts = np.cumsum([0] + [len(lattice.mass) for lattice in lattices[:-1]])
        losses = np.concatenate([lattice.losses for lattice in lattices])
        mass = np.concatenate([lattice.mass for lattice in lattices])
        highest = np.array([(lattice.first + len(lattice.mass) - 1) * lattice.step for lattice in lattices])
        return cls(lattices, np.array(counts, dtype=np.float64), mass, losses, starts, highest)

    def tilted(self, theta: float) -> tuple[Floats, Floats]:
        """Return every lattice tilted to mass 1, end to end, and ln of the masses before."""
        exponents = np.where(self.mass > 0, theta * self.losses, -np.inf)
        top = np.maximum.reduceat(exponents, self.starts)
        sizes = np.diff(np.append(self.starts, len(self.mass)))
        weights = self.mass * np.exp(exponents - np.repeat(top, sizes))
        totals = np.add.reduceat(weights, self.starts)
        return weights / np.repeat(totals, sizes), np.log(totals) + top

    def cumulant(self, theta: float) -> tuple[float, float, float]:
        """Return K(θ) of the sum and its first two derivatives, the mean and variance under tilt."""
        weights, logs = self.tilted(theta)
        means = np.add.reduceat(weights * self.losses, self.starts)
        squares = np.add.reduceat(weights * self.losses**2, self.starts)
        variances = np.maximum(squares - means**2, 0.0)
        return float(self.counts @ logs), float(self.counts @ means), float(self.counts @ variances)

    def tilt_for_delta(self, delta: float) -> float:
        """Return the θ at which the Chernoff bound of the tail is about δ: θK′ − K = ln(1/δ)."""
        target = -math.log(delta)

        def step(theta: float) -> float:
            log_moment, mean, _ = self.cumulant(theta)
            exponent = theta * mean - log_moment
            # For a normal law the exponent is quadratic in θ, so this step is exact.
            return theta * math.sqrt(target / exponent) if exponent > 0 else math.inf

        return _settle(step)

    def tilt_for_epsilon(self, epsilon: float) -> float:
        """Return the θ > 0 under which the sum has mean ε, or next to 0 if it has more without."""

        def step(theta: float) -> float:
            _, mean, variance = self.cumulant(theta)
            return theta + (epsilon - mean) / variance if variance > 0 else math.copysign(math.inf, epsilon - mean)

        return _settle(step)


def _settle(step: Callable[[float], float]) -> float:
    """Find where `step`, which leads towards it from either side, stands still; within 1 %."""
    low, high, theta = 1e-4, _STEEPEST, 1.0
    for _ in range(40):
        proposed = step(theta)
        if abs(proposed - theta) < 0.01 * theta or high < 1.01 * low:
            break
        low, high = (theta, high) if proposed > theta else (low, theta)
        theta = proposed if low < proposed < high else math.sqrt(low * high)
    return theta


@dataclass(frozen=True)
class Row:
    """A probability law on the integers first, first + 1, …"""

    first: int
    weights: Floats


@dataclass(frozen=True)
class Sum:
    """The tilted law of a sum of losses.

    `weights[i]` at the loss (first + i)·step is P-mass times e^(θ·loss − log_moment), off by at most `error` in
    total and `rounding` relatively. `infinite` bounds the chance of an infinite loss; no finite one is above
    `ceiling`. `variance` and `mean` are what the lattice added to the loss, `moved` the mass it moved further.
    """

    step: float
    first: int
    theta: float
    log_moment: float
    weights: Floats
    error: float
    rounding: float
    infinite: tuple[float, float]
    ceiling: float
    variance: float
    mean: float
    moved: float


def add_up(bundle: Bundle, theta: float) -> Sum:
    """Return the law of the sum of all losses in the bundle, tilted by θ."""
    weights, logs = bundle.tilted(theta)
    parts = zip(bundle.lattices, np.split(weights, bundle.starts[1:]), bundle.counts.tolist(), strict=True)
    row, error = convolve([(Row(lattice.first, part), int(count)) for lattice, part, count in parts])
    step, counts = bundle.lattices[0].step, bundle.counts

    def total(name: str) -> float:
        return float(counts @ np.array([getattr(lattice, name) for lattice in bundle.lattices]))

    infinite = np.array([lattice.infinite for lattice in bundle.lattices])
    certain = infinite - np.array([lattice.moved for lattice in bundle.lattices])
    relative = 8 * ROUNDOFF * (np.abs(logs) + np.abs(theta * bundle.highest) + 8) + 2 * ACCURACY
    return Sum(
        step,
        row.first,
        theta,
        float(counts @ logs),
        row.weights,
        math.expm1(error),  # errors of factors multiply
        rounding=math.expm1(float(counts @ relative) + 8 * (len(row.weights) + 999) * ROUNDOFF),
        infinite=(_union(certain, counts) * (1 - 1e-12), _union(infinite, counts) * (1 + 1e-12)),
        ceiling=upward(float(counts @ np.array([lattice.top for lattice in bundle.lattices])), len(counts) + 4),
        variance=total("spread") * step**2,
        mean=total("uncertain") * step,
        moved=total("moved"),
    )


def _union(chances: Floats, counts: Floats) -> float:
    """The chance that at least one of independent events happens."""
    if (chances >= 1).any():
        return 1.0
    return -math.expm1(float(counts @ np.log1p(-np.maximum(chances, 0.0))))


def convolve(parts: Sequence[tuple[Row, int]]) -> tuple[Row, float]:
    """Return the law of the sum of independent integers, each `count` times, and its error in total mass.

    >>> coin = Row(0, np.array([0.5, 0.5]))
    >>> row, error = convolve([(coin, 4)])
    >>> row.first, row.weights.round(6).tolist(), error < 1e-12
    (0, [0.0625, 0.25, 0.375, 0.25, 0.0625], True)
    """
    if len(parts) <= 4:
        return _power(parts)
    # Many distinct laws: each repeated one by itself first, then all of them two by two.
    rows, error = [], 0.0
    for row, count in parts:
        if count > 1:
            row, more = _power([(row, count)])
            error += more
        rows.append(row)
    while len(rows) > 1:
        rows, more = _multiply_pairs(sorted(rows, key=lambda row: len(row.weights)))
        error += more
    return rows[0], error


def _multiply_pairs(rows: list[Row]) -> tuple[list[Row], float]:
    """Convolve neighbours in the list, those of one FFT length at once."""
    pairs = list(zip(rows[::2], rows[1::2], strict=False))
    products, error = rows[len(pairs) * 2 :], 0.0
    by_length: dict[int, list[tuple[Row, Row]]] = {}
    for left, right in pairs:
        by_length.setdefault(_fft_length(len(left.weights) + len(right.weights) - 1), []).append((left, right))
    for length, group in by_length.items():
        stacks = np.zeros((2, len(group), length))
        for i, pair in enumerate(group):
            for side, row in enumerate(pair):
                stacks[side, i, : len(row.weights)] = row.weights
        transforms = np.fft.rfft(stacks)
        cells = np.maximum(np.fft.irfft(transforms[0] * transforms[1], length), 0.0)
        # Cauchy–Schwarz turns the sum of |f̂| over all frequencies into length times the 2-norm of the row.
        a, b = np.sqrt(np.einsum("sij,sij->si", stacks, stacks))
        error += 1.1 * length * _fft_error(length) * float(np.sum(a + b + 2 * a * b + 4 * ROUNDOFF))
        for (left, right), weights in zip(group, cells, strict=True):
            products.append(_trim(Row(left.first + right.first, weights)))
            error += 2 * _TRIM
    return products, error


def _trim(row: Row) -> Row:
    """Cut off ends of mass at most `_TRIM` each."""
    below, above = np.cumsum(row.weights), np.cumsum(row.weights[::-1])
    low = int(np.searchsorted(below, _TRIM))
    high = len(row.weights) - int(np.searchsorted(above, _TRIM))
    return Row(row.first + low, row.weights[low:high])


def _power(parts: Sequence[tuple[Row, int]]) -> tuple[Row, float]:
    """Convolve few laws with repetition in one circular FFT over a window that holds nearly all of the sum."""
    low, high, outside = _window(parts)
    length = _fft_length(max(high - low + 1, *(len(row.weights) for row, _ in parts)))
    if length > _LONGEST:
        raise TooWide
    e = _fft_error(length)
    product = np.ones(length // 2 + 1, dtype=np.complex128)
    size, relative = np.zeros(length // 2 + 1), np.zeros(length // 2 + 1)
    for row, count in parts:
        transform = np.fft.rfft(row.weights, length)
        product *= _integer_power(transform, count)
        bound = np.abs(transform) + e
        size += count * np.log(bound)
        relative += count * (e / bound + 8 * ROUNDOFF)
    cells = np.maximum(np.fft.irfft(product, length), 0.0)
    # Twice the half spectrum holds every frequency; the last term is the inverse transform's own rounding.
    error = 2 * 1.1 * float(np.sum(np.exp(size) * (relative + e)))
    start = low - sum(row.first * count for row, count in parts)
    weights = np.roll(cells, -(start % length))[: high - low + 1]
    return Row(low, weights), error + 2 * outside


def _window(parts: Sequence[tuple[Row, int]]) -> tuple[int, int, float]:
    """Return the ends of a window for the sum, and a bound on the mass outside."""
    lowest = sum(row.first * count for row, count in parts)
    highest = sum((row.first + len(row.weights) - 1) * count for row, count in parts)
    centres = [float(row.weights @ np.arange(len(row.weights))) for row, _ in parts]
    mean = math.fsum(count * (row.first + c) for (row, count), c in zip(parts, centres, strict=True))
    variance = math.fsum(
        count * float(row.weights @ (np.arange(len(row.weights)) - c) ** 2)
        for (row, count), c in zip(parts, centres, strict=True)
    )
    if variance == 0 or highest - lowest <= 64:
        return lowest, highest, 0.0
    nats = 1 - math.log(_WINDOW_TAIL)  # one more than needed, for round-off in the cumulants
    ends = []
    for sign in (-1, 1):
        # Chernoff: P(sign·S ≥ b) ≤ e^(κ(t) − t·b). Any t is valid; these straddle the best one of a normal law.
        best = min(math.sqrt(2 * nats / variance), _STEEPEST_SLOPE)
        slopes = (sign * factor * best for factor in (0.4, 0.6, 0.8, 1.0, 1.3))
        ends.append(min((_cumulant(parts, centres, t) + nats) / abs(t) for t in slopes))
    low, high = math.floor(mean - ends[0]) - 1, math.ceil(mean + ends[1]) + 1
    if high - low >= highest - lowest:
        return lowest, highest, 0.0
    return max(low, lowest), min(high, highest), 2 * _WINDOW_TAIL


def _cumulant(parts: Sequence[tuple[Row, int]], centres: Sequence[float], t: float) -> float:
    """Return ln E[e^(t(S − E S))], each law about its own centre so that nothing cancels."""
    total = 0.0
    for (row, count), centre in zip(parts, centres, strict=True):
        support = np.flatnonzero(row.weights)
        exponents = t * (support - centre)
        top = float(exponents.max())
        total += count * (top + math.log(float(row.weights[support] @ np.exp(exponents - top))))
    return total


def _integer_power(base: NDArray[np.complex128], exponent: int) -> NDArray[np.complex128]:
    """Raise by repeated squaring: at most `exponent` roundings, each below 3 ulp."""
    result = None
    while exponent:
        if exponent & 1:
            result = base if result is None else result * base
        exponent >>= 1
        if exponent:
            base = base * base
    assert result is not None
    return result


def _fft_length(least: int) -> int:
    """Return the smallest of 2^a, 3·2^a and 5·2^a that is not below `least`."""
    return min(odd << max(0, (-(-least // odd) - 1).bit_length()) for odd in (1, 3, 5) if odd == 1 or least > odd)


def _fft_error(length: int) -> float:
    return 8 * ROUNDOFF * (1 + math.log2(length))
