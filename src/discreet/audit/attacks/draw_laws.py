"""Compute the law of every draw that code can ask of `noise`: certified probabilities, the likeliest first.

Probabilities are intervals of integers over 2^PRECISION (`noise.certified_exp`), with lower ends rounded down and
upper ends rounded up. A law with infinitely many values is cut where single values have probability below 2^−72.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import count
from typing import Any, TypeAlias

from discreet.errors import NotEnumerable
from discreet.noise.certified_exp import Interval, divide_up, exp_minus, fraction, over, times
from discreet.noise.testing import Asked

PRECISION = 160
ONE = 1 << PRECISION
_NEGLIGIBLE = ONE >> 72
_MANY = 1 << 14  # most values of one draw: more cannot be enumerated in practice

Option: TypeAlias = tuple[int, Interval]
"""A value that may be drawn, and bounds on its probability."""


@lru_cache(maxsize=256)
def options(asked: Asked) -> tuple[Option, ...]:
    """Return the values that may be drawn, each with its probability, the likeliest first.

    >>> [value for value, _ in options(Asked("discrete_laplace", Fraction(1)))[:3]]
    [0, 1, -1]
    """
    found: list[Option] = []
    for option in _LAWS[asked.law](asked.parameter):
        found.append(option)
        if len(found) > _MANY:
            raise NotEnumerable(
                f"{asked.law}({asked.parameter}) has too many values to enumerate.",
                fix=[
                    "Audit a mechanism of the same kind with less noise.",
                    "Or use audit.lower_bound, which samples releases.",
                ],
            )
    return tuple(sorted((option for option in found if option[1][1]), key=lambda option: -option[1][1]))


def _laplace(scale: Fraction) -> Iterator[Option]:
    q = exp_minus(1 / scale, PRECISION)
    weight = over((ONE - q[1], ONE - q[0]), (ONE + q[0], ONE + q[1]), PRECISION)
    yield 0, weight
    for k in count(1):
        weight = times(weight, q, PRECISION)
        if weight[1] < _NEGLIGIBLE:
            return
        yield k, weight
        yield -k, weight


def _gaussian(variance: Fraction) -> Iterator[Option]:
    half = [(ONE, ONE)]
    while half[-1][1] > 1 << 8 and len(half) < _MANY:
        half.append(exp_minus(Fraction(len(half) ** 2) / (2 * variance), PRECISION))
    last = len(half) - 1
    # From the last one on, each weight is at most e^{−last/variance} times the one before it: a geometric series.
    ratio = exp_minus(last / variance, PRECISION)[1]
    beyond = divide_up(half[-1][1] * ratio, ONE - ratio)
    low = ONE + 2 * sum(weight[0] for weight in half[1:])
    total = low, ONE + 2 * (sum(weight[1] for weight in half[1:]) + beyond)
    for k, weight in enumerate(half):
        if weight[1] < _NEGLIGIBLE:
            return
        chance = over(weight, total, PRECISION)
        yield k, chance
        if k:
            yield -k, chance


def _coin(heads: Interval) -> Iterator[Option]:
    yield 1, heads
    yield 0, (ONE - heads[1], ONE - heads[0])


def _uniform(n: Fraction) -> Iterator[Option]:
    chance = fraction(1 / n, PRECISION)
    return ((value, chance) for value in range(int(n)))


def _softmax(gaps: tuple[Fraction, ...]) -> Iterator[Option]:
    weights = [exp_minus(gap, PRECISION) for gap in gaps]
    total = sum(low for low, _ in weights), sum(high for _, high in weights)
    return ((index, over(weight, total, PRECISION)) for index, weight in enumerate(weights))


_LAWS: dict[str, Callable[[Any], Iterator[Option]]] = {
    "discrete_laplace": _laplace,
    "discrete_gaussian": _gaussian,
    "bernoulli": lambda p: _coin(fraction(p, PRECISION)),
    "bernoulli_exp": lambda x: _coin(exp_minus(x, PRECISION)),
    "uniform_below": _uniform,
    "softmax": _softmax,
}
