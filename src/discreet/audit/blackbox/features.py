"""Compute features of answers of one kind: each number, its finest set bit, the least, the whole answer.

A feature gives every answer a number with an order (a rule), or an integer without one (a code). The finest set
bit of a number shows what its rounding gives away.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.blackbox.samples import Group, Integers
from discreet.audit.report.event_text import shortened

Floats = NDArray[np.float64]
Rule = Callable[[Group], Floats]
"""A number for each outcome of a kind; NaN is on neither side of any threshold."""
Code = Callable[[Group], Integers]
"""An integer for each outcome of a kind, whose order has no meaning."""
Show = Callable[[Group, int, int], str]
"""Describes a code by an outcome (a row of a group) that has it."""

_SPECIAL = {64: "0", 2000: "0.0", 2001: "-0.0", 2002: "∞", 2003: "-∞", 2004: "NaN"}  # codes of `finest_bit`


def whole(group: Group) -> Integers:
    """Return a hash of each answer as a whole: different answers have different hashes, except by chance."""
    if group.whole is not None:
        return np.fromiter(map(hash, group.whole), np.int64, len(group))
    if group.width == 1:
        return bits_of(group.numbers[:, 0])
    bits = bits_of(group.numbers).view(np.uint64)
    places = np.arange(bits.shape[1], dtype=np.uint64)
    codes: Integers = _mixed(_mixed(bits) * _mixed(places)).sum(axis=1).view(np.int64)
    return codes


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the bits, each spread over all others (the finaliser of SplitMix64), and odd."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return (bits ^ (bits >> np.uint64(31))) | np.uint64(1)


def finest_bit(x: NDArray[Any]) -> Integers:
    """Return the exponent of the finest set bit: the largest e such that x is a multiple of 2^e.

    Doubles without a set bit get numbers above all exponents: 0.0, −0.0, ∞, −∞ and NaN are 2000 to 2004. Integer 0
    counts as a multiple of 2^64.

    >>> finest_bit(np.array([0.75, 3.0, 0.1, -0.0])), finest_bit(np.array([12, 7, 0]))
    (array([  -2,    0,  -55, 2001]), array([ 2,  0, 64]))
    """
    bits = bits_of(x)
    if x.dtype.kind != "f":
        return np.where(bits == 0, 64, _trailing_zeros(bits))
    exponent, mantissa = (bits >> 52) & 0x7FF, bits & (2**52 - 1)
    finest = np.maximum(exponent, 1) - 1075 + _trailing_zeros(np.where(exponent > 0, mantissa | 2**52, mantissa))
    negative = bits < 0
    finest = np.where(x == 0, 2000 + negative, finest)
    return np.where(exponent == 0x7FF, np.where(mantissa > 0, 2004, 2002 + negative), finest)


def _trailing_zeros(bits: Integers) -> Integers:
    return np.frexp(np.abs((bits & -bits).astype(np.float64)))[1].astype(np.int64) - 1


def bits_of(column: NDArray[Any]) -> Integers:
    """Return the bits of doubles, so that −0.0 is not 0.0, with one NaN for all; integers are returned as is."""
    if column.dtype.kind != "f":
        return column.astype(np.int64)
    return np.where(np.isnan(column), np.nan, column).view(np.int64)


def column(j: int, read: Callable[[NDArray[Any]], NDArray[Any]] = np.asarray) -> Rule:
    """Return the rule that reads one entry."""
    return lambda group: read(group.numbers[:, j]).astype(np.float64)


def finest(j: int) -> Code:
    """Return the code of the finest set bit of one entry."""
    return lambda group: finest_bit(group.numbers[:, j])


def span(j: int) -> Code:
    """Return the code of the finest and the leading bit together: the number of binary digits between them."""
    return lambda group: finest_bit(group.numbers[:, j]) * 2048 + ((bits_of(group.numbers[:, j]) >> 52) & 0x7FF)


def extreme(of: np.ufunc) -> Rule:
    """Return the rule of the least or the greatest entry."""

    def rule(group: Group) -> Floats:
        return np.asarray(of.reduce(group.numbers, axis=1), dtype=np.float64)

    return rule


def show_whole(group: Group, row: int, code: int) -> str:
    """Describe a whole answer."""
    if group.whole is not None:
        return shortened(group.whole[row])
    numbers = group.numbers[row].tolist()
    return shortened(numbers[0] if len(numbers) == 1 else tuple(numbers))


def show_finest(group: Group, row: int, code: int) -> str:
    """Describe a finest bit as a power of two."""
    return _SPECIAL.get(code, f"2^{code}")


def show_span(group: Group, row: int, code: int) -> str:
    """Describe a finest and a leading bit as powers of two."""
    finest, leading = divmod(code, 2048)
    return _SPECIAL.get(finest, f"2^{finest} and 2^{leading - 1023}")
