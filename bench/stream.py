"""Continual counting: error constants beside the tree, JAX Privacy and the lower bound; time and memory of a step.

Errors are standard deviations of the released running sum, largest and root mean square over all ticks, for noise
of standard deviation 1 at sensitivity 1 (multiply by 1/√(2ρ)). Ours are those of the shipped integer mechanism,
with all that rounding, coarse scales and the discreteness of its draws cost. Beside closed forms, the error of the
running code is measured on 2,000 independent streams. The peer is JAX Privacy 2.0.0
(`buffered_toeplitz.optimize`), which optimises for each horizon; it has no counter, no integer noise and no
accounting of its own for streams.

Run: python -m bench.stream [--without-peer]
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tracemalloc
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow

from bench.figures import ask_peer, cpu_seconds, figure
from discreet.stream import Counter, per_tick
from discreet.stream.factorisations import constants
from discreet.stream.factorisations.toeplitz import ToeplitzSums

HORIZONS = (10**3, 10**4, 10**5, 10**6)
BUFFERS = (3, 4, 5, 5)
PRICE: dict[str, Any] = {"epsilon": 1, "delta": "1e-9"}


def table(peer: dict[str, Any]) -> None:
    """Print the constants of every mechanism."""
    heads = ("tree", "from below", "square root", "jax-privacy", "ours")
    print(f"{'ticks':>9}  " + "  ".join(f"{head:>13}" for head in heads) + "  bound")
    for horizon in HORIZONS:
        rows = [
            constants.binary_tree(horizon),
            constants.binary_tree(horizon, from_below=True),
            constants.square_root(horizon),
        ]
        cells = [f"{one.largest:6.3f} {one.mean:6.3f}" for one in rows]
        jax = peer.get(str(horizon))
        cells.append(f"{jax['largest']:6.3f} {jax['mean']:6.3f}" if jax else f"{'–':>13}")
        ours = constants.blt(horizon)
        cells.append(f"{ours.largest:6.3f} {ours.mean:6.3f}")
        print(f"{horizon:9,}  " + "  ".join(cells) + f"  {constants.lower_bound(horizon):.3f}", flush=True)


def measured(horizon: int = 1000, streams: int = 2000) -> tuple[float, float]:
    """Return the error of the running code over independent streams: largest and root mean square."""
    sums = ToeplitzSums(Fraction(1, 2), horizon, keys=streams)
    error = sums.push_many(np.ones((horizon, streams), np.int64)) - np.arange(1, horizon + 1)[:, None]
    spread = np.sqrt((error**2).mean(1))
    return float(spread.max()), math.sqrt(float((spread**2).mean()))


def step_microseconds() -> float:
    """Return the CPU time of `add`, best of several runs."""
    counter, steps = Counter(**PRICE, horizon=10**6), 20_000

    def run() -> None:
        add = counter.add
        for _ in range(steps):
            add(1)

    return cpu_seconds(run, repeats=9) / steps * 1e6


def events_per_second() -> float:
    """Return how many events with a time of their own are counted into a private curve, per CPU-second."""
    count, day = 5_000_000, datetime(2026, 5, 1)
    offset = (np.random.default_rng(0).random(count) * 86_400e6).astype("timedelta64[us]")
    batches = pyarrow.table({"at": offset + np.datetime64(day, "us")}).to_batches(max_chunksize=2**17)

    def run() -> None:
        counter = Counter(**PRICE, horizon=1440)
        counter.extend(per_tick(batches, time="at", start=day, tick=timedelta(minutes=1), ticks=1440))

    return count / cpu_seconds(run, repeats=3)


def ticks_per_second() -> float:
    """Return how many ticks `extend` takes per CPU-second, each with its own released value."""
    counts = np.ones(200_000, np.int64)
    return len(counts) / cpu_seconds(lambda: Counter(**PRICE, horizon=10**6).extend(counts), repeats=3)


def state_bytes(horizon: int) -> int:
    """Return the size of the state of a counter after some steps, as it is written to a file."""
    counter = Counter(**PRICE, horizon=horizon)
    for _ in range(2000):
        counter.add(1)
    return len(json.dumps(counter._state()))


def memory_bytes(horizon: int) -> int:
    """Return the memory that a counter allocates, with its public tables."""
    tracemalloc.start()
    counter = Counter(**PRICE, horizon=horizon)
    for _ in range(2000):
        counter.add(1)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return held


def peer_results() -> dict[str, Any]:
    """Ask JAX Privacy, in its own environment. Without it the other columns are printed."""
    pairs = [f"{n}:{d}" for n, d in zip(HORIZONS, BUFFERS, strict=True)]
    try:
        found: dict[str, Any] = ask_peer("jax_privacy", "jax_privacy_stream", *pairs)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"JAX Privacy could not be run: {error!r:.200}", file=sys.stderr)
        return {}
    return found


def main(with_peer: bool) -> None:
    peer = peer_results() if with_peer else {}
    table(peer)
    ours, tree, least = constants.blt(10**6), constants.binary_tree(10**6), constants.lower_bound(10**6)
    largest, mean = measured()
    stated = constants.blt(1000)
    print(f"measured at 1,000 ticks: {largest:.3f} {mean:.3f}, stated {stated.largest:.3f} {stated.mean:.3f}")
    for name, jax in peer.items():
        step = "" if jax["step"] is None else f", a compiled step {1e6 * jax['step']:.1f} µs"
        print(f"JAX Privacy at {int(name):,} ticks: optimised in {jax['seconds']:.1f} CPU-seconds{step}")
    print(f"many ticks at once: {ticks_per_second():,.0f} a CPU-second")
    print(f"state {state_bytes(10**6):,} bytes, memory {memory_bytes(10**6):,} bytes at 10⁶ ticks")
    figure("stream.rmse_above_lower_bound_percent", 100 * (ours.mean / least - 1), 2, at_least=False)
    figure("stream.max_variance_tree_over_ours", (tree.largest / ours.largest) ** 2, 10, at_least=True)
    if "1000000" in peer:
        gain = (peer["1000000"]["largest"] / ours.largest) ** 2
        figure("stream.max_variance_jax_over_ours", gain, 1.05, at_least=True)
    figure("stream.measured_over_stated_rmse", mean / stated.mean, 1.02, at_least=False)
    figure("stream.step_microseconds", step_microseconds(), 3, at_least=False)
    figure("stream.events_per_cpu_second", events_per_second(), 1e7, at_least=True)


if __name__ == "__main__":
    main("--without-peer" not in sys.argv)
