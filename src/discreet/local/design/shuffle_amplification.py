"""Bound the privacy that a shuffler adds: the (ε, δ) of n reports with unknown senders, from above.

Neighbours differ in the value of one device. n reports of one ε₀-private randomiser, with W = e^ε₀, leave in an
order that is uniformly random. For each ε a bound on δ is given, and `shuffled` finds the ε of a δ.

**Clones**, for every randomiser (Feldman, McMillan and Talwar 2021, 2023). Others' laws are nowhere below the
larger of the device's two, divided by W. At worst that makes the device report "0" with W/(W + 1) and "1"
otherwise, or the other way round, and each other device both of these with 1/(W + 1): C ~ Bin(n − 1, 2/(W + 1)), A
~ Bin(C, ½), and

    (A + 1, C − A)  with W/(W + 1), otherwise (A, C − A + 1),     against its mirror image.

For given C, δ is P[Bin(C, ½) = k]·(W − e^ε)/(W + 1) − (e^ε − 1)·P[Bin(C, ½) > k] at the best k, and it falls with
C, because one label more is noise: so C is taken in bins, each by its least value.

**Blanket**, for protocols whose reports have two probabilities (Balle, Bell, Gascón and Nissim 2019). A report is
l or W·l times as likely as a uniform one, so every device's is uniform with probability l, and it is safe to
reveal which others' are not. Then δ = E[(Z₁ + … + Zₙ)₊]/n, where Z is W₀ − e^ε·W₁ for the ratios (W or 1) of a
uniform report, with probability l, and otherwise 0. Here Z is put on a lattice without changing its mean, which
can only make a convex mean larger; tilted to where its sum is about 0; and convolved n times by one Fourier
transform.

Both are upper bounds in real numbers. In floats, binomial tails (of scipy) are taken to be right to 10⁻⁹ of
themselves and the transform to 10⁻⁶, and each is pushed upwards by as much. Theory: docs/theory/local-shuffle.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from discreet.errors import Fix, ParameterError, extra
from discreet.local.protocols.frequency.frequency_oracle import FrequencyOracle
from discreet.local.protocols.protocol import Randomiser
from discreet.local.server.estimate import Floats
from discreet.rational import Rational, rational, whole

TWO_LEVELS = ("grr", "projective", "subset", "hadamard", "olh", "two-step-grr")
"""Protocols whose reports are, for every value, of one of two probabilities."""

_TAILS, _TRANSFORM = 1e-9, 1e-6  # relative error bounds of scipy's binomials and of the transform
_BINS, _DEVIATIONS, _CELLS = 160, 9.0, 6  # bins of C; standard deviations that are covered; cells in one
_PRECISE, _LEAST = 5e-4, 1e-7  # relative precision and least value of the returned ε
_MOST, _WIDE = 10**9, 2**17  # the most reports in a batch; a number of cells that is always affordable
_NEED = "The guarantee of a shuffler needs scipy"
_HOPELESS = 60.0  # the ε of one report beyond which no crowd helps


@dataclass(frozen=True)
class Levels:
    """The probabilities that a uniform report supports one, both or neither of two values, and W."""

    worst: float
    blanket: float
    one: float
    both: float
    neither: float


def shuffled(randomiser: Randomiser, n: int, delta: Rational) -> float:
    """Return the ε at δ of n shuffled reports of a randomiser: the smaller of both bounds.

    >>> from discreet.local.protocols.frequency.grr import GRR
    >>> round(shuffled(GRR.for_epsilon(128, 4), 100_000, "1e-6"), 3)
    0.063
    """
    found, levels = amplified(randomiser.loss.epsilon, n, delta), levels_of(randomiser)
    if levels is None or float(randomiser.loss.epsilon) > _HOPELESS:
        return found
    return _inverse(lambda epsilon: blanket(levels, n, epsilon), found, _chance(delta))


def amplified(local: Rational, n: int, delta: Rational) -> float:
    """Return the ε at δ of n shuffled reports of any randomiser with this local ε. It is never above that.

    >>> round(amplified(4, 100_000, "1e-6"), 3)
    0.118
    """
    one, chance = rational(local, "epsilon", floats="exact"), _chance(delta)
    if one <= 0:
        raise ParameterError(
            "The epsilon of one report must be above 0.", found=repr(local), fix=Fix("local", "1")
        )
    if whole(n, "n") > _MOST:
        raise ParameterError(
            f"A batch must have at most {_MOST:,} reports.", found=f"n={n:,}", fix=Fix("n", _MOST)
        )
    most = math.nextafter(float(one), math.inf)
    return most if most > _HOPELESS else _inverse(lambda epsilon: clones(one, n, epsilon), most, chance)


def clones(local: Rational, n: int, epsilon: float) -> float:
    """Return a δ for ε, of n shuffled reports of any randomiser with this local ε.

    >>> clones(2, 10_000, 0.2) < 1e-12, clones(2, 1, 0.0) > 0.7
    (True, True)
    """
    betainc = _special_functions().betainc
    w = math.exp(float(rational(local, "epsilon", floats="exact")) * (1 + 1e-12))
    if math.exp(epsilon) >= w:
        return 0.0
    others, share = n - 1, 2 / (w + 1)
    middle, spread = others * share, math.sqrt(others * share * (1 - share))
    ends = max(0.0, middle - _DEVIATIONS * spread), middle + 6 * spread
    starts = np.unique([0, *np.linspace(*ends, _BINS).astype(np.int64)])
    starts = starts[starts <= others]
    falling = np.minimum.accumulate(_deltas(starts, w, epsilon))
    # P[C < c] for each start but the first
    below = np.minimum(1.0, betainc(others - starts[1:] + 1, starts[1:], 1 - share) * (1 + _TAILS))
    # summation by parts: all terms are positive, so that no digits cancel
    return float(min(1.0, falling[-1] + np.sum((falling[:-1] - falling[1:]) * below)))


def _special_functions() -> ModuleType:
    with extra("local", _NEED):
        from scipy import special
    module: ModuleType = special
    return module


def _deltas(labels: Floats, w: float, epsilon: float) -> Floats:
    """Return δ for each number of others' labels."""
    betainc = _special_functions().betainc
    grown = math.exp(epsilon)
    least = np.minimum(np.floor((labels + 1) * (grown * w - 1) / ((w - 1) * (1 + grown))), labels)
    more = np.where(least < labels, betainc(least + 1, np.maximum(labels - least, 1), 0.5), 0.0)
    gained = np.exp(_log_fair(least, labels)) * (1 + _TAILS) * (w - grown) / (w + 1)
    deltas: Floats = np.maximum(0.0, gained - (grown - 1) * more * (1 - _TAILS))
    return deltas


def _log_fair(heads: Floats, tosses: Floats) -> Floats:
    """Return log P[Bin(tosses, ½) = heads], by Stirling's series where factorials would lose digits."""
    gammaln = _special_functions().gammaln
    tails = tosses - heads
    small = gammaln(tosses + 1) - gammaln(heads + 1) - gammaln(tails + 1) - tosses * math.log(2)
    t, k, m = (np.maximum(each, 1.0) for each in (tosses, heads, tails))
    lean = (k - m) / (k + m)
    away = t / 2 * ((1 + lean) * np.log1p(lean) + (1 - lean) * np.log1p(-lean))
    large = _stirling(t) - _stirling(k) - _stirling(m) - away - np.log(2 * math.pi * k * m / t) / 2
    found: Floats = np.where((heads < 20) | (tails < 20), small, large)
    return found


def _stirling(x: Floats) -> Floats:
    """Return the excess of log x! over Stirling's formula, to 10⁻¹² from 20 on."""
    found: Floats = 1 / (12 * x) - 1 / (360 * x**3) + 1 / (1260 * x**5)
    return found


def levels_of(randomiser: Randomiser) -> Levels | None:
    """Return how a report supports two values; None if the protocol has more than two levels.

    >>> from discreet.local.protocols.frequency.grr import GRR
    >>> met = levels_of(GRR.for_epsilon(4, 1))
    >>> round(met.one, 9), met.both, round(met.neither, 9)
    (0.25, 0.0, 0.5)
    """
    if not isinstance(randomiser, FrequencyOracle) or randomiser.name not in TWO_LEVELS:
        return None
    p, q = randomiser.support
    held = p / (p + randomiser.worst * (1 - p))  # the share of all reports that support a value
    outside = (1 - p) / (1 - held)  # relative to a uniform report: l
    both = (q - outside * held) / (p / held - outside)  # q = (p/held)·both + outside·(held − both)
    chances = held - both, both, 1 - 2 * held + both
    return Levels(float(randomiser.worst) * (1 + 1e-12), float(outside), *map(float, chances))


def blanket(levels: Levels, n: int, epsilon: float) -> float:
    """Return a δ for ε, of n shuffled reports of a protocol with two levels."""
    with extra("local", _NEED):
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
    places = np.concatenate([cells, cells + 1])  # the mean stays, a convex mean can only grow
    chances = np.concatenate([chances * (1 - over), chances * over])
    tilt, logarithm = _tilted(places, chances)
    tilted = chances * np.exp(tilt * places - logarithm)
    spread = math.sqrt(n * np.dot(tilted, (places - np.dot(tilted, places)) ** 2))
    top = int(np.ceil(min(max(_DEVIATIONS * spread, 40 / tilt), max(4 * _DEVIATIONS * spread, _WIDE))))
    if tilt * top < 1:
        return 1.0
    size = next_fast_len(2 * top + 2, real=True)
    law = np.zeros(size)
    np.add.at(law, places.astype(np.int64) % size, tilted)
    waves = rfft(law)
    heard = np.abs(waves) ** n > 1e-20  # all others together are below the precision of the transform
    summed = irfft(np.where(heard, np.power(waves, n, where=heard, out=waves), 0.0), size)[1 : top + 1]
    sums = np.arange(1, top + 1)
    inside = float(np.dot(sums * np.exp(-tilt * sums), np.maximum(summed, 0.0)))
    beyond = top * math.exp(-tilt * top)  # a bound on everything above the window
    return min(1.0, (inside + beyond) * float(step) * math.exp(n * logarithm) / n * (1 + _TRANSFORM))


def _tilted(places: Floats, chances: Floats) -> tuple[float, float]:
    """Return the λ that makes E[e^{λZ}] least, where the tilted mean is 0, and the logarithm of that."""
    low, high = 0.0, 700 / float(places.max())
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.dot(chances * np.exp(middle * places), places) < 0 else (low, middle)
    return high, math.log1p(float(np.dot(chances, np.expm1(high * places))))


def _inverse(delta_of: Callable[[float], float], most: float, delta: float) -> float:
    """Return an ε whose δ is small enough: nearly the least one."""

    def depth(epsilon: float) -> float:  # δ falls about as a normal tail does, so this is almost linear
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


def _chance(delta: Rational) -> float:
    chance = rational(delta, "delta", floats="exact")
    if not 0 < chance < 1:
        raise ParameterError("delta must be between 0 and 1.", found=repr(delta), fix=Fix("delta", "1e-6"))
    return float(chance) * (1 - 1e-15)
