"""prv-accountant on the benchmark's plans, at an error of 0.01: its cost grows as one over the error.

A thousand distinct events did not finish in 400 s, so that plan is left out. Runs in an environment of its own and
prints JSON.
"""

from __future__ import annotations

import json
import time

from bench.plans import DELTA, Event, plans
from prv_accountant import PRVAccountant
from prv_accountant.privacy_random_variables import (
    GaussianMechanism,
    LaplaceMechanism,
    PoissonSubsampledGaussianMechanism,
)


def epsilon(event: Event, delta: float) -> float:
    kind, parameter, rate, count = event
    if kind == "laplace":
        variable = LaplaceMechanism(parameter)
    elif rate < 1:
        variable = PoissonSubsampledGaussianMechanism(rate, parameter)
    else:
        variable = GaussianMechanism(parameter)
    accountant = PRVAccountant([variable], eps_error=0.01, delta_error=delta / 1000, max_self_compositions=[count])
    return float(accountant.compute_epsilon(delta, [count])[2])


def timed(event: Event, delta: float) -> tuple[float, float]:
    start = time.process_time()
    value = epsilon(event, delta)
    return value, time.process_time() - start


def main() -> None:
    print(json.dumps({name: timed(events[0], DELTA) for name, events in plans().items() if len(events) == 1}))


if __name__ == "__main__":
    main()
