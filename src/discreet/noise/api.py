"""Check the parameters of the public functions, and draw from the samplers.

No law is accepted whose values could leave int64. With scale at most 2^52, P(|x| ≥ 2^62) < exp(−1000) for
Laplace noise; with variance at most 2^104 (σ at most 2^52) it is below exp(−500,000) for Gaussian noise. A draw
beyond is an error.

With `fresh` a draw comes from no reserve, and from bits of a key that is used for it alone: who reads the memory
of the process before or after cannot compute it.
"""

from __future__ import annotations

import operator
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Code, Fix, LawTooWide, ParameterError
from discreet.noise.bernoulli_sampler import ExponentialCoins, exponential, with_chance
from discreet.noise.gaussian_sampler import discrete_gaussian as gaussian
from discreet.noise.laplace_sampler import DiscreteLaplace
from discreet.noise.random_bits import system_bits
from discreet.noise.sampler_cache import Family, draw, draw_scripted, in_batches
from discreet.noise.softmax import pick
from discreet.noise.testing import Asked, marked, test_bits, test_script
from discreet.noise.uniform import UniformBelow, integer_below
from discreet.rational import Rational, positive, rational, shown

Size: TypeAlias = int | tuple[int, ...]
Integers: TypeAlias = NDArray[np.int64]
Booleans: TypeAlias = NDArray[np.bool_]

_laplace: Family[int, Integers] = Family("discrete_laplace", DiscreteLaplace, np.int64)
_gaussian: Family[int, Integers] = Family("discrete_gaussian", gaussian, np.int64)
_bernoulli: Family[bool, Booleans] = Family("bernoulli", with_chance, np.bool_)
_bernoulli_exp: Family[bool, Booleans] = Family("bernoulli_exp", exponential, np.bool_)
_exponential_coins = lru_cache(maxsize=32)(ExponentialCoins)


@overload
def discrete_laplace(scale: Rational, size: None = None, *, fresh: bool = False) -> int: ...
@overload
def discrete_laplace(scale: Rational, size: Size, *, fresh: bool = False) -> Integers: ...
def discrete_laplace(scale: Rational, size: Size | None = None, *, fresh: bool = False) -> int | Integers:
    """Return integers x drawn with probability exactly proportional to exp(−|x|/scale).

    >>> discrete_laplace("2.5", size=3).dtype
    dtype('int64')
    >>> type(discrete_laplace(3))
    <class 'int'>
    """
    if size is None and not fresh and (held := _laplace.held(scale)) is not None:
        return held
    exact = positive(scale, "scale", floats="warn")
    if exact > 2**52:
        raise LawTooWide(
            "The scale is too wide for noise in int64.",
            found=shown(scale),
            fix=Fix("scale", Code("2**52"), note="the largest"),
        )
    return _laplace.draw(exact, _shape(size), fresh=fresh)


@overload
def discrete_gaussian(variance: Rational, size: None = None, *, fresh: bool = False) -> int: ...
@overload
def discrete_gaussian(variance: Rational, size: Size, *, fresh: bool = False) -> Integers: ...
def discrete_gaussian(variance: Rational, size: Size | None = None, *, fresh: bool = False) -> int | Integers:
    """Return integers x drawn with probability exactly proportional to exp(−x²/(2·variance)).

    >>> discrete_gaussian(100, size=(2, 3)).shape
    (2, 3)
    """
    if size is None and not fresh and (held := _gaussian.held(variance)) is not None:
        return held
    exact = positive(variance, "variance", floats="warn")
    if exact > 2**104:
        raise LawTooWide(
            "The variance is too wide for noise in int64.",
            found=shown(variance),
            fix=Fix("variance", Code("2**104"), note="the largest"),
        )
    return _gaussian.draw(exact, _shape(size), fresh=fresh)


@overload
def bernoulli(p: Rational, size: None = None, *, fresh: bool = False) -> bool: ...
@overload
def bernoulli(p: Rational, size: Size, *, fresh: bool = False) -> Booleans: ...
def bernoulli(p: Rational, size: Size | None = None, *, fresh: bool = False) -> bool | Booleans:
    """Return True with probability exactly p.

    >>> bernoulli("1/3", size=5).dtype, bernoulli(1)
    (dtype('bool'), True)
    """
    if size is None and not fresh and (held := _bernoulli.held(p)) is not None:
        return held
    exact = rational(p, "p", floats="warn")
    if not 0 <= exact <= 1:
        raise ParameterError("p must be between 0 and 1.", found=shown(p))
    return _bernoulli.draw(exact, _shape(size), fresh=fresh)


@overload
def bernoulli_exp(  # type: ignore[overload-overlap]  # an array has __index__, so it is a Rational to the checker
    x: NDArray[np.integer[Any]], size: None = None, *, over: Rational = 1
) -> Booleans: ...
@overload
def bernoulli_exp(x: Rational, size: None = None, *, over: Rational = 1) -> bool: ...
@overload
def bernoulli_exp(x: Rational, size: Size, *, over: Rational = 1) -> Booleans: ...
def bernoulli_exp(
    x: Rational | NDArray[np.integer[Any]], size: Size | None = None, *, over: Rational = 1
) -> bool | Booleans:
    """Return True with probability exactly exp(−x/over).

    `x` is one rational, or an array of integers: then there is one result for each of them.

    >>> bernoulli_exp("0.5", size=5).shape
    (5,)
    >>> bernoulli_exp(np.array([0, 0, 10**18]), over="2.5")
    array([ True,  True, False])
    """
    scale = positive(over, "over", floats="warn")
    if isinstance(x, np.ndarray):
        if size is not None:
            raise ParameterError(
                "The array x has a shape of its own, so size must not be given.",
                found=shown(size),
                fix=Fix("size", None),
            )
        return _toss(x, scale)
    exact = rational(x, "x", floats="warn")
    if exact < 0:
        raise ParameterError("x must not be below 0.", found=shown(x))
    return _bernoulli_exp.draw(exact / scale, _shape(size))


def _toss(x: NDArray[np.integer[Any]], scale: Fraction) -> Booleans:
    _refuse_negative("x", x)
    if script := test_script():
        throws = [script(Asked("bernoulli_exp", int(each) / scale)) for each in x.flat]
        return np.array(throws, np.bool_).reshape(x.shape)
    test = test_bits()
    coins, bits = _exponential_coins(scale), test or system_bits()
    tossed = np.empty(x.shape, np.bool_)
    for heads, batch in zip(in_batches(tossed.reshape(-1)), in_batches(x.astype(np.int64).ravel()), strict=True):
        heads[:] = coins.toss(batch, bits)
    return marked(tossed) if test else tossed


def _refuse_negative(name: str, x: NDArray[np.integer[Any]]) -> None:
    if x.dtype.kind not in "iu":
        raise ParameterError(
            f"{name} must be an array of integers.",
            found=x.dtype,
            fix="Give the numerators as integers, and their common denominator as over.",
        )
    if x.size and (x.min() < 0 or x.max() >= 2**63):  # no value is shown: scores may be private
        raise ParameterError(f"{name} must hold integers from 0 to 2**63 - 1.")


def softmax(gaps: NDArray[np.integer[Any]], *, over: Rational = 1) -> int:
    """Return index i with probability exactly proportional to exp(−gaps[i]/over).

    Gaps are integers from 0 on, and one of them is 0: how far each score is below the best.

    >>> softmax(np.array([10**18, 0, 10**6]), over=3)
    1
    """
    scale = positive(over, "over", floats="warn")
    if np.ndim(gaps) != 1 or not hasattr(gaps, "dtype"):
        raise ParameterError(
            "gaps must be a numpy array of one dimension.",
            found=type(gaps).__name__,
            fix=Fix("gaps", Code("np.array([0, 3, 7])")),
        )
    _refuse_negative("gaps", gaps)
    if not gaps.size or gaps.min() != 0:
        raise ParameterError(
            "One of the gaps must be 0: the gap of the best score.",
            fix=Fix("gaps", Code("scores.max() - scores")),
        )
    if script := test_script():
        return int(script(Asked("softmax", tuple(int(gap) / scale for gap in gaps))))
    test = test_bits()
    index = pick(gaps.astype(np.int64), scale, test or system_bits())
    return marked(np.array(index)) if test else index  # type: ignore[return-value]


@overload
def uniform_below(n: Rational, size: None = None) -> int: ...
@overload
def uniform_below(n: Rational, size: Size) -> Integers: ...
def uniform_below(n: Rational, size: Size | None = None) -> int | Integers:
    """Return integers that are uniform on 0, …, n−1. Above n = 2^63 they are drawn one by one.

    Nothing is kept for an n seen before, and the time of a single draw does not tell n (below 2^64).

    >>> sorted(set(uniform_below(3, size=1000).tolist()))
    [0, 1, 2]
    """
    bound = positive(n, "n")
    if bound.denominator != 1:
        raise ParameterError("n must be a whole number.", found=shown(n))
    shape, test = _shape(size), test_bits()
    if script := test_script():
        dtype = np.int64 if bound <= 2**63 else object
        return draw_scripted(script, Asked("uniform_below", bound), shape, dtype)  # type: ignore[no-any-return]
    if shape is None:
        drawn: int | Integers = integer_below(int(bound), test or system_bits())
    elif bound <= 2**63:
        drawn = draw(UniformBelow(int(bound)), shape, test or system_bits())
    else:
        raise LawTooWide(
            "n is above 2**63, so its draws do not fit into an array of int64.",
            found=shown(n),
            fix=Fix("size", None, note="draws one Python integer"),
        )
    return marked(np.array(drawn, np.int64 if bound <= 2**63 else object)) if test else drawn


def _shape(size: Size | None) -> tuple[int, ...] | None:
    if size is None:
        return None
    sides = size if isinstance(size, tuple) else (size,)
    try:
        shape = tuple(operator.index(side) for side in sides if not isinstance(side, bool))
    except TypeError:
        shape = ()
    if len(shape) < len(sides) or any(side < 0 for side in shape):
        raise ParameterError(
            "size must be a count or a tuple of counts.",
            found=shown(size),
            fix=[Fix("size", 10), Fix("size", (2, 5))],
        )
    return shape
