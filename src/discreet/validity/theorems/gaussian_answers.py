"""Choose the noise of k adaptive answers, so that all of them are near the population.

Every answer is the mean over n rows of a number in [0, 1], with Gaussian noise of deviation σ. Three theorems:

* BNSSSU, with the constants of Rogers et al.: for ρ = 1/(2n²σ²) and every δ, with ε that of kρ-zCDP at δ and
  T = ⌊1/β⌋, the error is at most (e^ε − 1 + 2Tδ + √(ln(4k/δ)/ρ)/n)/(1 − (1 − β)^T).
* Jung et al.: `transfer.jung`, with the exact law of the largest of k noises, and the exact δ of k Gaussian
  mechanisms together, which are μ-GDP for μ = √k/(nσ).
* Rogers, Roth, Smith, Srebro, Thakkar, Woodworth 2020, after Russo and Zou, and Xu and Raginsky:

      √((2I − ln(1 − λ))/(2nβλ)) + σ·√(2 ln(4k/β)),      I = k/(8nσ²),      for every λ in (0, 1).

  Proof. Let j* be the answer that is farthest from the population: it is a function of the answers, so what it
  knows of S is at most the mutual information I of S with all answers. I ≤ Σᵢ I(sᵢ; answers | other rows), and
  each term is at most the divergence from answers in which row i counts as ½: k·(½)²/(2n²σ²). By Donsker and
  Varadhan, with E e^{λ·2n·g²} ≤ 1/√(1 − λ) for the gap g of a question that does not depend on S, E g² ≤ (2I −
  ln(1 − λ))/(4nλ) for that of j*. Markov's inequality at β/2, and the noise of all answers at β/2, give the
  bound. ∎

The divergence of two discrete Gaussian laws that an integer apart is the same d²/(2σ²), so the last theorem
holds for the integer noise that is used. Every choice of parameters is valid; they are searched for the
narrowest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Any, NamedTuple

from discreet.privacy.pld.normal import gaussian_delta
from discreet.validity.theorems.concentration import count, failure
from discreet.validity.theorems.transfer import jung

_UP = 1 + 1e-9
_NORMAL = NormalDist()


class GaussianAnswers(NamedTuple):
    """How wide the answers are, with which noise on each mean, and by which theorem."""

    width: float
    deviation: float
    theorem: str


@lru_cache(maxsize=256)
def rogers(rows: int, queries: int, beta: float) -> GaussianAnswers:
    """Return the width by the theorem of Rogers et al., with the best noise.

    >>> round(rogers(10_000, 100, 0.05).width, 3), round(rogers(100_000, 1000, 0.05).width, 3)
    (0.182, 0.102)
    """
    n, k, b = count(rows, "rows"), count(queries, "queries"), failure(beta)

    def width(log_deviation: float) -> float:
        deviation = math.exp(log_deviation)
        return sampling_width(n, k, deviation, b) + deviation * math.sqrt(2 * math.log(4 * k / b))

    at = _least(width, math.log(1e-9), math.log(2.0))
    return GaussianAnswers(width(at) * _UP, math.exp(at), "Rogers et al. 2020")


def sampling_width(rows: int, queries: int, deviation: float, beta: float) -> float:
    """Return the first part of the bound of Rogers et al.: how far the sample is from the population.

    >>> round(sampling_width(10_000, 100, 0.0125, 0.05), 3)
    0.141
    """
    information = queries / (8 * rows * deviation**2)

    def ratio(logit: float) -> float:  # λ = 1 − e^{−x}, so that −ln(1 − λ) = x
        return (2 * information + logit) / -math.expm1(-logit)

    best = math.exp(_least(lambda x: ratio(math.exp(x)), math.log(1e-9), math.log(1e3 + 10 * information)))
    return math.sqrt(ratio(best) / (2 * rows * beta)) * _UP


@lru_cache(maxsize=256)
def jung_gaussian(rows: int, queries: int, beta: float) -> GaussianAnswers:
    """Return the width by the theorem of Jung et al., with the best noise, ε and β′.

    >>> round(jung_gaussian(10_000, 100, 0.05).width, 3), round(jung_gaussian(100_000, 1000, 0.001).width, 3)
    (0.231, 0.174)
    """
    n, k, b = count(rows, "rows"), count(queries, "queries"), failure(beta)

    def width(at: Any) -> float:
        deviation, epsilon, miss = (math.exp(min(float(x), 2.0)) for x in at)
        if miss >= 1 or epsilon > 5 or miss < 1e-200:
            return 1e3
        delta = gaussian_delta(math.sqrt(k) / (n * deviation), epsilon)[1]
        return jung(deviation * _largest(k, miss), miss, epsilon, delta, b)

    starts = [(s, e, m) for s in (1e-3, 1e-2) for e in (0.03, 0.2) for m in (1e-5, 1e-3)]
    best = _search(width, starts)
    return GaussianAnswers(width(best) * _UP, math.exp(best[0]), "Jung et al. 2020")


@lru_cache(maxsize=256)
def bnsssu_gaussian(rows: int, queries: int, beta: float) -> GaussianAnswers:
    """Return the width by the theorem of BNSSSU, with the best noise and δ.

    >>> round(bnsssu_gaussian(10_000, 100, 0.05).width, 3)
    0.436
    """
    n, k, b = count(rows, "rows"), count(queries, "queries"), failure(beta)
    times = math.floor(1 / b)
    least = 1 - (1 - b) ** times

    def width(at: Any) -> float:
        rho, delta = (math.exp(min(float(x), 2.0)) for x in at)
        if delta >= 1 or rho < 1e-200 or delta < 1e-300:
            return 1e3
        epsilon = _zcdp_epsilon(k * rho, delta)
        noise = math.sqrt(math.log(4 * k / delta) / rho) / n
        return (math.expm1(min(epsilon, 50.0)) + 2 * times * delta + noise) / least

    best = _search(width, [(r / n, d) for r in (1e-4, 1e-2, 1.0) for d in (1e-8, 1e-4)])
    return GaussianAnswers(width(best) * _UP, 1 / (n * math.sqrt(2 * math.exp(best[0]))), "BNSSSU 2016")


def best_gaussian(rows: int, queries: int, beta: float) -> GaussianAnswers:
    """Return the narrowest of the three.

    >>> best_gaussian(100_000, 1000, 0.05).theorem, best_gaussian(100_000, 1000, 0.001).theorem
    ('Rogers et al. 2020', 'Jung et al. 2020')
    """
    bounds = (rogers, jung_gaussian, bnsssu_gaussian)
    return min((bound(rows, queries, beta) for bound in bounds), key=lambda found: found.width)


def _zcdp_epsilon(rho: float, delta: float) -> float:
    """Return an ε of ρ-zCDP at δ: ρ + 2√(ρ·ln(s/δ)) with s the smaller of √(πρ) and 1 (Bun, Steinke 2016)."""
    logarithm = min(0.0, math.log(math.sqrt(math.pi * rho))) - math.log(delta)
    return rho + 2 * math.sqrt(rho * max(logarithm, 0.0))


def _largest(queries: int, miss: float) -> float:
    """Return what the largest of k standard normal numbers, in size, exceeds with probability `miss`."""
    return -_NORMAL.inv_cdf(-math.expm1(math.log1p(-miss) / queries) / 2)


def _least(function: Callable[[float], float], low: float, high: float) -> float:
    """Return about where a function is least: a grid, and then golden sections around its best point."""
    steps = 60
    grid = [low + (high - low) * i / steps for i in range(steps + 1)]
    at = min(range(steps + 1), key=lambda i: function(grid[i]))
    left, right = grid[max(at - 1, 0)], grid[min(at + 1, steps)]
    for _ in range(40):
        first, second = left + 0.382 * (right - left), left + 0.618 * (right - left)
        left, right = (left, second) if function(first) <= function(second) else (first, right)
    return (left + right) / 2


def _search(
    function: Callable[[Sequence[float]], float], starts: Sequence[tuple[float, ...]]
) -> tuple[float, ...]:
    """Return about where a function of logarithms is least, from several starts."""
    found = [_descended(function, [math.log(x) for x in start]) for start in starts]
    return tuple(min(found)[1])


def _descended(function: Callable[[Sequence[float]], float], start: list[float]) -> tuple[float, list[float]]:
    """Return about the least value of a function near a start, and where: the simplex of Nelder and Mead (1965).

    Any point gives a bound that holds; a better one is narrower. So nothing rests on convergence.
    """
    # The first edges are a twentieth of each coordinate, and a small step where one is 0: the usual choice.
    corners = [start, *([*start[:i], 1.05 * start[i] or 2.5e-4, *start[i + 1 :]] for i in range(len(start)))]
    simplex = sorted((function(corner), corner) for corner in corners)
    for _ in range(2000):
        (least, best), (most, worst) = simplex[0], simplex[-1]
        flat = most - least <= 1e-8
        if flat and max(abs(x - y) for _, at in simplex for x, y in zip(at, best, strict=True)) <= 1e-5:
            break
        middle = [sum(column) / len(start) for column in zip(*(at for _, at in simplex[:-1]), strict=True)]

        def moved(
            by: float, middle: list[float] = middle, worst: list[float] = worst
        ) -> tuple[float, list[float]]:
            at = [m + by * (m - w) for m, w in zip(middle, worst, strict=True)]
            return function(at), at

        tried = moved(1.0)
        if tried[0] < least:
            tried = min(tried, moved(2.0))
        elif tried[0] >= simplex[-2][0]:
            tried = min(tried, moved(0.5 if tried[0] < most else -0.5))
        if tried[0] < most:
            simplex[-1] = tried
        else:
            halves = [[(x + y) / 2 for x, y in zip(at, best, strict=True)] for _, at in simplex[1:]]
            simplex[1:] = [(function(at), at) for at in halves]
        simplex.sort()
    return simplex[0]
