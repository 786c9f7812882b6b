"""The exact law of what each mechanism releases, written down from its definition.

Nothing here calls a sampler: these are the witnesses that the mechanisms, and their declared losses, are held to.
Laws in closed form have 50 digits. Sums over noise have positive terms only, each good to a relative 10⁻¹³ in
floats, and so are they; tests that use them leave 10⁻⁹.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import numpy as np
from scipy import stats

from discreet.mechanisms import Exponential, PermuteAndFlip, ReportNoisyMax, Sparse

Law = Mapping[Any, Any]
FALSE_ALARM = 1e-7


def real(x: Fraction | int) -> Any:
    return mpmath.mpf(Fraction(x).numerator) / Fraction(x).denominator


def exp(x: Fraction | int) -> Any:
    return mpmath.exp(real(x))


@cache
def laplace(scale: Fraction, reach: int = 60) -> dict[int, Any]:
    """P(Z = z) for |z| ≤ reach·scale."""
    q = exp(-1 / Fraction(scale))
    top = int(reach * scale) + 2
    return {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-top, top + 1)}


def gaussian(variance: Fraction, reach: int = 12) -> dict[int, Any]:
    """P(X = x) for |x| ≤ reach standard deviations."""
    top = int(reach * float(variance) ** 0.5) + 2
    weights = {x: exp(-Fraction(x * x) / (2 * Fraction(variance))) for x in range(-top, top + 1)}
    total = mpmath.fsum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def at_least(scale: Fraction, m: Any) -> Any:
    """P(Z ≥ m) for discrete Laplace noise Z, from the geometric series; P(Z < m) is P(Z ≥ 1 − m)."""
    q, m = np.exp(-1 / float(scale)), np.asarray(m, float)
    tail = np.exp(-np.where(m > 0, m, 1 - m) / float(scale))
    return np.where(m > 0, tail, 1 + q - tail) / (1 + q)


def every_noise(scale: Fraction, reach: int) -> tuple[Any, Any]:
    """The integers within ±reach and beyond by 60 scales, and the chance of each."""
    z = np.arange(-reach - int(60 * scale), reach + int(60 * scale) + 1)
    q = np.exp(-1 / float(scale))
    return z, (1 - q) / (1 + q) * np.exp(-np.abs(z) / float(scale))


def shifted(law: Law, by: int) -> dict[int, Any]:
    return {x + by: p for x, p in law.items()}


def product(*laws: Law) -> dict[Any, Any]:
    return {
        tuple(x for x, _ in cell): mpmath.fprod(p for _, p in cell)
        for cell in itertools.product(*(law.items() for law in laws))
    }


def exponential(mechanism: Exponential, scores: Sequence[int]) -> dict[int, Any]:
    weights = [exp(Fraction(u) / mechanism.scale) for u in scores]
    return {r: w / mpmath.fsum(weights) for r, w in enumerate(weights)}


def permute_and_flip(mechanism: PermuteAndFlip, scores: Sequence[int]) -> dict[int, Any]:
    """Go through every order of the candidates, as the algorithm is written in the paper."""
    heads = [exp(Fraction(u - max(scores)) / mechanism.scale) for u in scores]
    law = dict.fromkeys(range(len(scores)), mpmath.mpf(0))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        all_before_fell = mpmath.mpf(1) / len(orders)
        for r in order:
            law[r] += all_before_fell * heads[r]
            all_before_fell *= 1 - heads[r]
    return law


def noisy_max(mechanism: ReportNoisyMax, scores: Sequence[int]) -> dict[int, Any]:
    """The winner's noisy score is above all earlier ones and not below any later one."""
    z, p = every_noise(mechanism.scale, max(scores) - min(scores))
    law = {}
    for r, u in enumerate(scores):
        behind = [at_least(mechanism.scale, v - u - z + (j < r)) for j, v in enumerate(scores) if j != r]
        law[r] = np.sum(p * np.prod(behind, axis=0))
    return law


def sparse(mechanism: Sparse, values: Sequence[int]) -> dict[tuple[bool, ...], Any]:
    """Every sequence of answers that ends with the last query or the last positive."""
    return {a: sparse_chance(mechanism, values, a) for a in _answers(len(values), mechanism.positives)}


def sparse_chance(mechanism: Sparse, values: Sequence[int], answers: Sequence[bool]) -> Any:
    """The chance of these answers: above when f + ν ≥ T + ρ."""
    rho, p = every_noise(mechanism.threshold_scale, max(abs(f - mechanism.threshold) for f in values))
    for (f, above), count in Counter(zip(values, answers, strict=False)).items():
        missing = mechanism.threshold + rho - f
        p = p * at_least(mechanism.query_scale, missing if above else 1 - missing) ** count
    return np.sum(p)


def _answers(queries: int, positives: int, so_far: tuple[bool, ...] = ()) -> Iterator[tuple[bool, ...]]:
    if len(so_far) == queries or sum(so_far) == positives:
        yield so_far
        return
    for answer in (False, True):
        yield from _answers(queries, positives, (*so_far, answer))


def log_ratios(P: Law, Q: Law) -> list[Any]:
    """The privacy loss of every outcome."""
    return [mpmath.log(p / Q[x]) for x, p in P.items()]


def hockey_stick(P: Law, Q: Law, epsilon: Fraction | float) -> Any:
    """Σ max(0, P(x) − e^ε·Q(x)), the least δ at ε."""
    factor = mpmath.exp(mpmath.mpf(float(epsilon)))
    return mpmath.fsum(max(mpmath.mpf(0), p - factor * Q.get(x, 0)) for x, p in P.items())


def neighbours(size: int, each: int, *, monotonic: bool) -> Iterator[tuple[int, ...]]:
    """How one person may move a vector of scores; both directions follow by exchanging the two vectors."""
    return itertools.product(range(0 if monotonic else -each, each + 1), repeat=size)


def p_value(draw: Callable[[], Any], times: int, law: Law) -> float:
    """The p-value of so many draws against the law."""
    return p_value_of(Counter(draw() for _ in range(times)), law)


def p_value_of(counts: Mapping[Any, int], law: Law) -> float:
    """The p-value of χ² over cells expected 20 times or more; all others are one cell, Poisson if small."""
    total = sum(counts.values())
    frequent = [x for x, p in law.items() if p * total >= 20]
    observed = [counts.get(x, 0) for x in frequent]
    expected = [float(law[x]) * total for x in frequent]
    others, rest = total - sum(observed), max(total - sum(expected), 1e-9)
    if rest >= 20:
        return float(stats.chisquare([*observed, others], [*expected, rest]).pvalue)
    scaled = np.array(expected) * sum(observed) / sum(expected)
    return float(min(stats.chisquare(observed, scaled).pvalue, stats.poisson.sf(others - 1, rest)))
