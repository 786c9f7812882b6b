"""Exact noise beside OpenDP's exact and numpy's inexact, in one run.

Rates are samples per CPU-second, the best of several repeats. The timing channel is the rank correlation of the
time of a single call with the size of the noise it returned.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import count

import numpy as np
from scipy import stats

from bench.figures import ask_peer, cpu_seconds, figure
from discreet import noise

SCALES = [1, 10, 100, 1000, 10**4, 10**5, 10**6]
COUNT = 1_000_000
SINGLES = 50_000
WIDE = 10**9


def rates() -> dict[str, list[float]]:
    generator = np.random.default_rng()
    draws: dict[str, Callable[[int], object]] = {
        "laplace": lambda scale: noise.discrete_laplace(scale, COUNT),
        "numpy laplace": lambda scale: generator.laplace(0, scale, COUNT),
        "gaussian": lambda scale: noise.discrete_gaussian(scale**2, COUNT),
        "numpy normal": lambda scale: generator.normal(0, scale, COUNT),
    }
    table: dict[str, list[float]] = {name: [] for name in draws}
    for scale in SCALES:
        for name, draw in draws.items():
            table[name].append(COUNT / cpu_seconds(partial(draw, scale), repeats=7))
    return table


def singles_per_second(scale: int | Fraction) -> float:
    return SINGLES / cpu_seconds(lambda: [noise.discrete_laplace(scale) for _ in range(SINGLES)])


def singles() -> list[tuple[int, int]]:
    drawn = []
    for _ in range(SINGLES):
        start = time.perf_counter_ns()
        value = noise.discrete_laplace(100)
        drawn.append((time.perf_counter_ns() - start, value))
    return drawn


def new_scale_seconds() -> float:
    """The CPU time of the first draw of a law, the worst of many scales."""
    numbers = count(10**6 + 3)

    def first(draw: Callable[[Fraction], object], scale: int) -> float:
        return cpu_seconds(lambda: draw(scale * Fraction(next(numbers), 10**6)), repeats=15)

    return max(first(draw, scale) for draw in (noise.discrete_laplace, _gaussian) for scale in (*SCALES, WIDE))


def _gaussian(scale: Fraction) -> object:
    return noise.discrete_gaussian(scale**2)


def short_over_singles() -> float:
    """The time of an array of ten beside that of ten single draws, the worst of several laws."""

    def ratio(draw: Callable[..., object], parameter: int) -> float:
        short = cpu_seconds(lambda: [draw(parameter, 10) for _ in range(2000)])
        return short / cpu_seconds(lambda: [[draw(parameter) for _ in range(10)] for _ in range(2000)])

    laplace = (ratio(noise.discrete_laplace, scale) for scale in (3, 1000, WIDE))
    return max(*laplace, *(ratio(noise.discrete_gaussian, scale**2) for scale in (3, 1000, WIDE)))


def wide_over_small() -> float:
    """The rate at a scale of a billion, over that at a thousand."""
    rates = [1 / cpu_seconds(lambda s=scale: noise.discrete_laplace(s, COUNT)) for scale in (WIDE, 1000)]  # type: ignore[misc]
    return rates[0] / rates[1]


def correlation(drawn: list[tuple[int, int]]) -> float:
    times, values = np.array(drawn).T
    return float(stats.spearmanr(times, np.abs(values)).statistic)


def main() -> None:
    peer = ask_peer("opendp", "opendp_noise", ",".join(map(str, SCALES)), str(SINGLES))
    table = {**rates(), "opendp laplace": peer["laplace"], "opendp gaussian": peer["gaussian"]}
    print(f"{'million samples per CPU-second':32}" + "".join(f"{scale:>9}" for scale in SCALES))
    for name, row in table.items():
        print(f"{name:32}" + "".join(f"{rate / 1e6:9.3f}" for rate in row))

    single = {scale: singles_per_second(scale) for scale in (3, Fraction(7, 3))}
    for scale, rate in single.items():
        print(f"single draws of scale {scale!s:10}{rate:9,.0f} per CPU-second")
    ours, theirs = correlation(singles()), correlation(peer["singles"])
    print(f"rank correlation of time and |noise|: {ours:+.4f}, OpenDP {theirs:+.4f}\n")

    figure("laplace_over_opendp", _least(table["laplace"], table["opendp laplace"]), 100, at_least=True)
    figure("gaussian_over_opendp", _least(table["gaussian"], table["opendp gaussian"]), 100, at_least=True)
    figure("laplace_over_numpy", _least(table["laplace"], table["numpy laplace"]), 0.5, at_least=True)
    figure("single_draws_per_second", min(single.values()), 300_000, at_least=True)
    figure("new_scale_milliseconds", 1e3 * new_scale_seconds(), 2, at_least=False)
    figure("array_of_ten_over_ten_singles", short_over_singles(), 1.1, at_least=False)
    # Each nine bits of the scale are one more table and one more look-up; see docs/performance.md.
    figure("laplace_at_a_billion_over_a_thousand", wide_over_small(), 0.35, at_least=True)
    figure("timing_correlation", abs(ours), 0.05, at_least=False)


def _least(rates: list[float], others: list[float]) -> float:
    """The smallest ratio over all scales."""
    return min(rate / other for rate, other in zip(rates, others, strict=True))


if __name__ == "__main__":
    main()
