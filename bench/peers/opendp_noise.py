"""OpenDP's exact noise: samples per CPU-second by scale, and the time of single calls beside their values.

Runs in an environment of its own and prints JSON. Usage: `opendp_noise.py SCALES SINGLES`.
"""

from __future__ import annotations

import json
import sys
import time

import opendp.prelude as dp

COUNT = 20_000


def rate(measurement: dp.Measurement) -> float:
    zeros, best = [0] * COUNT, float("inf")
    for _ in range(3):
        start = time.process_time()
        measurement(zeros)
        best = min(best, time.process_time() - start)
    return COUNT / best


def singles(measurement: dp.Measurement, count: int) -> list[tuple[int, int]]:
    drawn = []
    for _ in range(count):
        start = time.perf_counter_ns()
        value = measurement(0)
        drawn.append((time.perf_counter_ns() - start, value))
    return drawn


def main(scales: list[float], count: int) -> None:
    dp.enable_features("contrib")
    vector = dp.vector_domain(dp.atom_domain(T=int))
    scalar = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    result = {
        "laplace": [rate(dp.m.make_laplace(vector, dp.l1_distance(T=int), scale)) for scale in scales],
        "gaussian": [rate(dp.m.make_gaussian(vector, dp.l2_distance(T=int), scale)) for scale in scales],
        "singles": singles(dp.m.make_laplace(*scalar, 100.0), count),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main([float(scale) for scale in sys.argv[1].split(",")], int(sys.argv[2]))
