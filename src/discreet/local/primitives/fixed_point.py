"""Represent probabilities as whole numbers over 2⁶⁴, and compute the ε that follows from them.

A design gives a real ε; a device tosses coins of probability t/2⁶⁴. So t is rounded to the private side, and the ε
that a protocol states is computed back from t: the logarithm of an exact fraction, rounded up to twelve places.
Both use certified bounds of exp(−x) (`noise.certified_exp`); no result depends on a floating-point number.

`odds_below(ε, w)` is the largest t with t/(2⁶⁴ − t) ≤ w·e^ε. With w = 1 it is the coin for the truth in a binary
answer; with other w it chooses between two sets of answers of which the first has w times as many.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
from discreet.local.primitives.randomness import SCALE
from discreet.noise.certified_exp import exp_minus
from discreet.rational import Rational, positive, whole

_PRECISION = 192
_PLACES = 10**12
FROM_EPSILON = "Take the parameters from for_epsilon."
LARGEST = 32
"""The largest ε of one report: beyond it, probabilities are too few units of 2⁻⁶⁴ to be accurate."""


LEAST = Fraction(1, 10_000)
"""The least ε of one report: a million of them tell as much as one at ε = 0.1."""


def budget(epsilon: Rational) -> Fraction:
    """Return the ε of one report, rounded down to twelve places, so that no protocol is certified for more.

    >>> budget("0.5"), budget(Fraction(1, 3))
    (Fraction(1, 2), Fraction(333333333333, 1000000000000))
    """
    exact = positive(epsilon, "epsilon")
    if exact > LARGEST:
        raise ParameterError(
            f"One report may cost at most epsilon = {LARGEST}.", found=repr(epsilon), fix=Fix("epsilon", 1)
        )
    if exact < LEAST:
        raise ParameterError(
            f"One report must cost at least epsilon = {float(LEAST)}: below it there is only noise.",
            found=repr(epsilon),
            fix=Fix("epsilon", "0.1"),
        )
    return Fraction(math.floor(exact * _PLACES), _PLACES)


def odds_below(epsilon: Fraction, weight: Fraction = Fraction(1)) -> int:
    """Return the largest t with t/(2⁶⁴ − t) ≤ weight·e^ε.

    >>> round(odds_below(Fraction(1)) / SCALE, 6)  # e/(1 + e)
    0.731059
    """
    shrunk = Fraction(exp_minus(epsilon, _PRECISION)[1], 1 << _PRECISION)  # not below e^−ε
    return math.floor(SCALE * weight / (shrunk + weight))


def epsilon_above(ratio: Fraction) -> Fraction:
    """Return ln(ratio), rounded up to twelve places, for a ratio of probabilities of 1 or more.

    >>> float(epsilon_above(Fraction(11, 9)))
    0.200670695463
    """
    if ratio < 1:
        raise ParameterError("The worst ratio of probabilities must be 1 or more.", found=ratio)
    short = Fraction(-(-(ratio.numerator << _PRECISION) // ratio.denominator), 1 << _PRECISION)  # rounded up
    guess = math.log(short.numerator) - math.log(short.denominator)
    units = max(0, math.floor(guess * _PLACES) - 2)
    while exp_minus(Fraction(units, _PLACES), _PRECISION)[1] * short > 1 << _PRECISION:
        units += 1
    return Fraction(units, _PLACES)


def chance(value: int, name: str, *, least: int = 1, most: int = SCALE - 1) -> int:
    """Return a probability over 2⁶⁴, by default neither 0 nor 1.

    >>> chance(2**63, "flip")
    9223372036854775808
    """
    if not least <= whole(value, name, least=0) <= most:
        raise ParameterError(
            f"{name} must be a whole number of units of 2^-64, from {least} to {most}.",
            found=repr(value),
            fix=FROM_EPSILON,
        )
    return value


def to_bytes(codes: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    """Return whole numbers as rows of bytes, the lowest first.

    >>> to_bytes(np.array([258, 7]), 2)
    array([[2, 1], [7, 0]], dtype=uint8)
    """
    return np.ascontiguousarray(codes, "<i8").view(np.uint8).reshape(len(codes), 8)[:, :width].copy()


def from_bytes(payloads: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the whole numbers that rows of up to seven bytes are.

    >>> from_bytes(np.array([[2, 1], [7, 0]], np.uint8))
    array([258, 7])
    """
    width = payloads.shape[1]
    if width in (1, 2, 4):
        return np.ascontiguousarray(payloads).view(f"<u{width}")[:, 0].astype(np.int64)
    full = np.zeros((len(payloads), 8), np.uint8)
    full[:, :width] = payloads
    return full.view("<i8").reshape(len(payloads)).astype(np.int64)


def width_of(codes: int) -> int:
    """Return the number of bytes that hold 0 … codes − 1.

    >>> width_of(256), width_of(257)
    (1, 2)
    """
    return max(1, -(-(codes - 1).bit_length() // 8))
