"""Compute the law of every draw that code can ask of `noise`: certified probabilities, the likeliest first.

Probabilities are intervals of integers over 2^PRECISION (`noise.certified_exp`), with lower ends rounded down and
upper ends rounded up. A law with infinitely many values is cut where single values have probability below 2^−72.

Inside `weaker(f)` every law has less noise than the code asked for: scales are divided by f, variances by f², and
the exponents of choices and of coins e^{−x} are multiplied by f. So the auditor sees code whose noise is too small
by f, without a change to the code: this is how its own power is measured (`audit.power`). Other coins stay as they
are.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, count
from typing import Any, TypeAlias

from discreet.errors import NotEnumerable
from discreet.noise.certified_exp import Interval, divide_up, exp_minus, fraction, over, times
from discreet.noise.testing import Asked

PRECISION = 160
ONE = 1 << PRECISION
_NEGLIGIBLE = ONE >> 72
_MANY = 1 << 14  # most values of one draw: more cannot be enumerated in practice
_MOST = 1 << 18  # most values of one draw that are added up

Option: TypeAlias = tuple[int, Interval]
"""A value that may be drawn, and bounds on its probability."""


_factor: ContextVar[Fraction] = ContextVar("weaker noise", default=Fraction(1))
_EXPONENT = {"discrete_laplace": -1, "discrete_gaussian": -2, "bernoulli_exp": 1, "softmax": 1}


@contextmanager
def weaker(factor: Fraction) -> Iterator[None]:
    """Let every law that is enumerated have noise that is too small by `factor`.

    >>> narrow, wide = (Asked("discrete_laplace", Fraction(scale)) for scale in (2, 4))
    >>> with weaker(Fraction(2)):
    ...     halved = options(wide)
    >>> halved == options(narrow)
    True
    """
    token = _factor.set(factor)
    try:
        yield
    finally:
        _factor.reset(token)


def is_noise(asked: Asked) -> bool:
    """Return whether `weaker` changes this law.

    >>> is_noise(Asked("bernoulli", Fraction(1, 2)))
    False
    """
    return asked.law in _EXPONENT


def options(asked: Asked) -> tuple[Option, ...]:
    """Return the values that may be drawn, each with its probability, the likeliest first.

    >>> [value for value, _ in options(Asked("discrete_laplace", Fraction(1)))[:3]]
    [0, 1, -1]
    """
    known = _options(_weakened(asked))
    if len(known) > _MANY:
        raise _too_many(asked)
    return known


def _weakened(asked: Asked) -> Asked:
    factor = _factor.get()
    if factor == 1 or not is_noise(asked):
        return asked
    times_each = factor ** _EXPONENT[asked.law]
    if isinstance(asked.parameter, tuple):
        return Asked(asked.law, tuple(gap * times_each for gap in asked.parameter))
    return Asked(asked.law, asked.parameter * times_each)


def likeliest(asked: Asked) -> int:
    """Return the value that is drawn most often.

    >>> likeliest(Asked("bernoulli", Fraction(1, 3)))
    0
    """
    return _options(_weakened(asked))[0][0]


@lru_cache(maxsize=256)
def _options(asked: Asked) -> tuple[Option, ...]:
    found: list[Option] = []
    for option in _LAWS[asked.law](asked.parameter):
        found.append(option)
        if len(found) > _MOST:
            raise _too_many(asked)
    return tuple(sorted((option for option in found if option[1][1]), key=lambda option: -option[1][1]))


def _too_many(asked: Asked) -> NotEnumerable:
    return NotEnumerable(
        f"{asked.law}({asked.parameter}) has too many values to enumerate.",
        fix=[
            "Audit a mechanism of the same kind with less noise.",
            "Or use audit.lower_bound, which samples releases.",
        ],
    )


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


@dataclass(frozen=True)
class Line:
    """The values of one draw in their order, with the probability of every range of them."""

    values: tuple[int, ...]
    below: tuple[Interval, ...]
    """Bounds on the sums of the probabilities before each value, and before the end."""

    def chance(self, low: int, high: int) -> Interval:
        """Return bounds on the probability of the values from `low` to `high`.

        >>> line(Asked("uniform_below", Fraction(4))).chance(1, 2) == (ONE // 2, ONE // 2)
        True
        """
        start, end = bisect_left(self.values, low), bisect_right(self.values, high)
        return self.below[end][0] - self.below[start][0], self.below[end][1] - self.below[start][1]

    def within(self, low: int, high: int, share: float) -> int:
        """Return the value below which this share of the probability from `low` to `high` is.

        >>> line(Asked("uniform_below", Fraction(4))).within(1, 2, 0.75)
        2
        """
        start, end = bisect_left(self.values, low), bisect_right(self.values, high)
        first, last = self.below[start][0], self.below[end][0]
        wanted = first + int(share * (last - first))
        place = bisect_right(self.below, wanted, start, end, key=lambda sums: sums[0]) - 1
        return self.values[min(end - 1, place)]


def line(asked: Asked) -> Line:
    """Return the law of a draw as a line of values.

    >>> line(Asked("bernoulli", Fraction(1, 2))).values
    (0, 1)
    """
    return _line(_weakened(asked))


@lru_cache(maxsize=256)
def _line(asked: Asked) -> Line:
    ordered = sorted(_options(asked))
    lows = accumulate((chance[0] for _, chance in ordered), initial=0)
    highs = accumulate((chance[1] for _, chance in ordered), initial=0)
    return Line(tuple(value for value, _ in ordered), tuple(zip(lows, highs, strict=True)))
