"""What a shuffler is worth: the (ε, δ) of n reports whose senders nobody knows, from above.

Neighbours differ in the value of one device. n reports of one ε₀-private randomiser, with W = e^ε₀, leave in an
order that is uniformly random. For each ε a bound on δ is given, and `amplified` finds the ε of a δ.

**Clones**, for every randomiser (Feldman, McMillan and Talwar 2021, 2023; Wang and others 2023). The two laws of
the device take apart into labels: "0" with W/(W + 1) and "1" with 1/(W + 1), or the other way round; every other
device says each label with at least 1/(W + 1). Whoever sees how often each label occurs can produce the shuffled
reports, so nothing is easier to tell apart than, with C ~ Bin(n − 1, 2/(W + 1)) and A ~ Bin(C, ½),

    (A + 1, C − A)  with W/(W + 1), else (A, C − A + 1),     from its mirror image.

For given C, δ is P[Bin(C, ½) = k]·(W − e^ε)/(W + 1) − (e^ε − 1)·P[Bin(C, ½) > k] at the best k, and it falls with
C, because one label more is noise: so C is taken in bins, each by its least value.

**Blanket**, for protocols whose reports support values (Balle, Bell, Gascón and Nissim 2019). A report is l or
W·l times as likely as a uniform one, so every device's is uniform with probability l, and it is safe to tell which
others' are not. Then δ = E[(Z₁ + … + Zₙ)₊]/n, where Z is W₀ − e^ε·W₁ for the ratios (W or 1) of a uniform report,
with probability l, and else 0. Here Z is put on a lattice without changing its mean, which makes a convex mean only
larger; tilted to where its sum is about 0; and convolved n times by one Fourier transform.

What is returned is rounded away from safety's other side: binomial tails of scipy are taken to be right to 10⁻⁹ of
themselves, the transform to 10⁻⁶, and both are pushed upwards by as much. Tested in tests/local/test_shuffle.py
against published figures and, for a few devices, exact enumeration. Theory: docs/theory/local-shuffle.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.errors import ParameterError
from discreet.local.contract import Randomiser
from discreet.local.support import Supporting
from discreet.rational import Rational, rational, whole

TWO_LEVELS = ("grr", "projective", "subset", "hadamard", "olh", "two-step-grr")
"""Protocols whose reports are, for every value, of one of two probabilities."""

_TAILS, _TRANSFORM = 1e-9, 1e-6  # how far scipy's binomials and the transform may be off, relative
_BINS, _REACH, _CELLS = 160, 9.0, 10  # of C; standard deviations that are looked at; cells in one
_PRECISE, _LEAST = 2e-4, 1e-7  # of the ε that is returned
_MOST = 10**9


@dataclass(frozen=True)
class Levels:
    """How two values meet in one report: chances of a uniform report, and W."""

    worst: float
    blanket: float
    one: float
    both: float
    neither: float


def amplified(randomiser: Randomiser | Rational, n: int, delta: Rational) -> float:
    """Return the ε at δ of n shuffled reports of a randomiser, or of any with this local ε. Never above that.

    >>> from discreet.local.grr import GRR
    >>> round(amplified("4", 100_000, "1e-6"), 3), round(amplified(GRR.for_epsilon(128, 4), 100_000, "1e-6"), 3)
    (0.12, 0.065)
    """
    local = rational(randomiser, "epsilon") if not _is_protocol(randomiser) else randomiser.loss.epsilon
    chance = _checked(local, n, delta)
    found = _inverse(lambda epsilon: clones(local, n, epsilon), float(local), chance)
    if _is_protocol(randomiser) and (levels := levels_of(randomiser)) is not None:
        found = _inverse(lambda epsilon: blanket(levels, n, epsilon), found, chance)
    return found


def clones(local: Rational, n: int, epsilon: float) -> float:
    """Return a δ for ε, of n shuffled reports of any randomiser with this local ε.

    >>> clones(2, 10_000, 0.2) < 1e-12, clones(2, 1, 0.0) > 0.7
    (True, True)
    """
    from scipy.stats import binom

    w = math.exp(float(rational(local, "epsilon")) * (1 + 1e-12))
    if math.exp(epsilon) >= w:
        return 0.0
    others, share = n - 1, min(1.0, 2 / (w + 1))
    starts = np.unique([0, *np.linspace(*binom.ppf([1e-18, 1 - 1e-9], others, share), _BINS).astype(np.int64)])
    falling = np.minimum.accumulate(_told(starts, w, epsilon))
    below = np.minimum(1.0, binom.cdf(starts[1:] - 1, others, share) * (1 + _TAILS))
    # by parts: all terms are positive, so that none takes the digits of another
    return float(min(1.0, falling[-1] + np.sum((falling[:-1] - falling[1:]) * below)))


def _told(labels: np.ndarray, w: float, epsilon: float) -> np.ndarray:
    """Return δ for each number of others' labels."""
    from scipy.stats import binom

    grown = math.exp(epsilon)
    least = np.floor((labels + 1) * (grown * w - 1) / ((w - 1) * (1 + grown)))
    chance = binom.pmf(least, labels, 0.5) * (1 + _TAILS) * (w - grown) / (w + 1)
    return np.maximum(0.0, chance - (grown - 1) * binom.sf(least, labels, 0.5) * (1 - _TAILS))


def levels_of(randomiser: Randomiser) -> Levels | None:
    """Return how two values meet in a report; None if the protocol has more than two levels.

    >>> from discreet.local.grr import GRR
    >>> met = levels_of(GRR.for_epsilon(4, 1))
    >>> round(met.one, 9), met.both, round(met.neither, 9)
    (0.25, 0.0, 0.5)
    """
    if not isinstance(randomiser, Supporting) or randomiser.name not in TWO_LEVELS:
        return None
    p, q = randomiser.support
    held = p / (p + randomiser.worst * (1 - p))  # of all reports, those in for a value
    outside = (1 - p) / (1 - held)  # against uniform: l
    both = (q - outside * held) / (p / held - outside)  # q = (p/held)·both + outside·(held − both)
    chances = held - both, both, 1 - 2 * held + both
    return Levels(float(randomiser.worst) * (1 + 1e-12), float(outside), *map(float, chances))


def blanket(levels: Levels, n: int, epsilon: float) -> float:
    """Return a δ for ε, of n shuffled reports of a protocol with two levels."""
    from scipy.fft import irfft, next_fast_len, rfft

    w, grown = levels.worst, math.exp(epsilon)
    if grown >= w:
        return 0.0
    gains = np.array([w - grown, 1 - grown * w, (1 - grown) * w, 1 - grown, 0.0])
    parts = np.array([levels.one, levels.one, levels.both, levels.neither])
    chances = np.array([*(levels.blanket * parts), 1 - levels.blanket])
    step = gains[0] / max(1, round(_CELLS * gains[0] / math.sqrt(np.dot(chances, gains**2))))
    cells = np.floor(gains / step + 1e-12)
    over = np.clip(gains / step - cells, 0, 1)
    places = np.concatenate([cells, cells + 1])  # the mean stays, the rest can only grow
    chances = np.concatenate([chances * (1 - over), chances * over])
    tilt, logarithm = _tilted(places, chances)
    tilted = chances * np.exp(tilt * places - logarithm)
    spread = math.sqrt(n * np.dot(tilted, (places - np.dot(tilted, places)) ** 2))
    top = int(np.ceil(min(max(_REACH * spread, 40 / tilt), 4 * _REACH * spread)))
    if tilt * top < 1:
        return 1.0
    size = next_fast_len(2 * top + 2, real=True)
    law = np.zeros(size)
    np.add.at(law, places.astype(np.int64) % size, tilted)
    summed = irfft(rfft(law) ** n, size)[1 : top + 1]
    sums = np.arange(1, top + 1)
    inside = float(np.dot(sums * np.exp(-tilt * sums), np.maximum(summed, 0.0)))
    beyond = top * math.exp(-tilt * top)  # no more can be gained above the window, whatever was there
    return min(1.0, (inside + beyond) * step * math.exp(n * logarithm) / n * (1 + _TRANSFORM))


def _tilted(places: np.ndarray, chances: np.ndarray) -> tuple[float, float]:
    """Return the λ that makes E[e^{λZ}] least, where the tilted mean is 0, and the logarithm of that."""
    low, high = 0.0, 700 / float(places.max())
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.dot(chances * np.exp(middle * places), places) < 0 else (low, middle)
    return high, math.log1p(float(np.dot(chances, np.expm1(high * places))))


def _inverse(delta_of: Callable[[float], float], most: float, delta: float) -> float:
    """Return an ε whose δ is small enough: the least one, nearly."""

    def depth(epsilon: float) -> float:  # δ falls about as a normal tail does, so that this is almost a line
        return math.sqrt(-math.log(min(1.0, max(delta_of(epsilon), 1e-300))))

    wanted, high = math.sqrt(-math.log(delta)), most * (1 - _PRECISE)
    if (above := depth(high)) < wanted:
        return most
    low, below = high / 2, depth(high / 2)
    while below >= wanted and low > _LEAST:
        low, high, below, above = low / 2, low, depth(low / 2), below
    while high - low > _PRECISE * high and low > _LEAST:
        share = (wanted - below) / max(above - below, 1e-12)
        aim = low + (high - low) * min(max(share, 0.02), 0.98)
        for middle in (aim, aim * (1 + _PRECISE / 2)):  # the second is often just on the other side
            if low < middle < high:
                found = depth(middle)
                low, below, high, above = (
                    (low, below, middle, found) if found >= wanted else (middle, found, high, above)
                )
    return high


def _is_protocol(randomiser: object) -> bool:
    return isinstance(randomiser, Randomiser)


def _checked(local: Fraction, n: int, delta: Rational) -> float:
    chance = rational(delta, "delta", floats="exact")
    if not 0 < chance < 1:
        raise ParameterError(f'delta is between 0 and 1, such as "1e-6", not {delta!r}.')
    if local <= 0:
        raise ParameterError(f"the ε of one report is above 0, not {local}.")
    if whole(n, "n") > _MOST:
        raise ParameterError(f"n={n:,} reports in one batch are more than {_MOST:,}.")
    return float(chance)
