"""dp-accounting on the benchmark's plans, at its default discretisation of 1e-4, by its fastest public way.

Runs in an environment of its own and prints JSON.
"""

from __future__ import annotations

import json
import time
from typing import Any

import dp_accounting as dpa
from bench.plans import DELTA, SMALL_DELTAS, Event, plans
from dp_accounting import pld
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as distributions


def distribution(kind: str, parameter: float) -> Any:
    if kind == "laplace":
        return distributions.from_laplace_mechanism(1 / parameter)
    if kind == "gaussian":
        return distributions.from_gaussian_mechanism(parameter)
    # Randomised response has no distribution for this relation; any ε-DP mechanism does.
    return distributions.from_privacy_parameters(common.DifferentialPrivacyParameters(parameter, 0))


def epsilon(events: list[Event], delta: float) -> float:
    _, parameter, rate, count = events[0]
    if rate < 1:
        accountant = pld.PLDAccountant()
        accountant.compose(dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(parameter)), count)
        return float(accountant.get_epsilon(delta))
    parts = [distribution(kind, parameter) for kind, parameter, _, _ in events]
    if count > 1:
        return float(parts[0].self_compose(count).get_epsilon_for_delta(delta))
    while len(parts) > 1:  # a balanced tree: composing one after another takes several times as long
        pairs = [parts[i].compose(parts[i + 1]) for i in range(0, len(parts) - 1, 2)]
        parts = pairs + parts[len(pairs) * 2 :]
    return float(parts[0].get_epsilon_for_delta(delta))


def timed(events: list[Event], delta: float) -> tuple[float, float]:
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        value = epsilon(events, delta)
        best = min(best, time.process_time() - start)
    return value, best


def main() -> None:
    many = distributions.from_gaussian_mechanism(100.0).self_compose(10_000)
    print(
        json.dumps(
            {
                "plans": {name: timed(events, DELTA) for name, events in plans().items()},
                "gaussian": [many.get_epsilon_for_delta(d) for d in SMALL_DELTAS],
            }
        )
    )


if __name__ == "__main__":
    main()
