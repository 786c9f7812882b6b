"""JAX Privacy's buffered linear Toeplitz strategies: their error, and the time of a step.

Runs in an environment of its own and prints JSON. Usage: `jax_privacy_stream.py HORIZON:BUFFERS …`.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
warnings.filterwarnings("ignore")

from jax_privacy.matrix_factorization import buffered_toeplitz  # noqa: E402


def errors(strategy: Any, horizon: int) -> tuple[float, float]:
    c = np.asarray(strategy.toeplitz_coefs(horizon))
    b = np.cumsum(np.asarray(strategy.inverse().toeplitz_coefs(horizon)))
    sums, norm = np.cumsum(b**2), float(np.sum(c**2))
    return float(np.sqrt(norm * sums.max())), float(np.sqrt(norm * sums.mean()))


def step_seconds(strategy: Any) -> float:
    """Return the CPU time of one step of the compiled streaming inverse."""
    stream = strategy.inverse_as_streaming_matrix()
    step, state, one = jax.jit(stream.multiply_next), stream.init_multiply(np.zeros(1)), np.ones(1)
    for _ in range(50):
        _, state = step(one, state)
    start = time.process_time()
    for _ in range(2000):
        made, state = step(one, state)
    made.block_until_ready()
    return (time.process_time() - start) / 2000


def main(wanted: list[str]) -> None:
    found: dict[int, dict[str, Any]] = {}
    for pair in wanted:
        horizon, buffers = map(int, pair.split(":"))
        start = time.process_time()
        strategy = buffered_toeplitz.optimize(n=horizon, error="max", min_buffers=buffers, max_buffers=buffers)
        seconds = time.process_time() - start
        largest, mean = errors(strategy, horizon)
        found[horizon] = {"largest": largest, "mean": mean, "seconds": seconds}
        try:
            found[horizon]["step"] = step_seconds(strategy)
        except Exception as error:  # the streaming interface differs between versions: errors are what counts
            found[horizon]["step"] = None
            print(f"no streaming step: {error!r:.200}", file=sys.stderr)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
