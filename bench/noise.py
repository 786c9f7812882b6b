"""Exact noise beside OpenDP's exact and numpy's inexact, in one run.

Rates are samples per CPU-second, the best of several repeats. The timing channel is the rank correlation of the
time of a single call with the size of the noise it returned.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
from scipy import stats

from bench.figures import ask_peer, cpu_seconds, figure
from discreet import noise

SCALES = [1, 10, 100, 1000, 10**4, 10**5, 10**6]
COUNT = 1_000_000
SINGLES = 50_000


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
    figure("timing_correlation", abs(ours), 0.05, at_least=False)


def _least(rates: list[float], others: list[float]) -> float:
    """The smallest ratio over all scales."""
    return min(rate / other for rate, other in zip(rates, others, strict=True))


if __name__ == "__main__":
    main()
