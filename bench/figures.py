"""What all benchmarks share: the lines they end with, and peers in environments of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


def figure(name: str, value: float, reach: float, *, at_least: bool) -> None:
    """Print a result beside its target: at least that much, or at most.

    >>> figure("speed", 312.7, 100, at_least=True)
    figure speed 312.7 reach 100 ok
    >>> figure("error", 0.2, 0.05, at_least=False)
    figure error 0.2 reach 0.05 short
    """
    reached = value >= reach if at_least else value <= reach
    print(f"figure {name} {_plain(value)} reach {_plain(reach)} {'ok' if reached else 'short'}", flush=True)


def _plain(number: float) -> str:
    """Four digits, or all that stand before the point."""
    return f"{number:.4g}" if abs(number) < 1000 else f"{number:.0f}"


def cpu_seconds(work: Callable[[], object], *, repeats: int = 5) -> float:
    """Return the CPU time of `work`, the best of several: other processes can only make it slower."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def ask_peer(name: str, script: str, *arguments: str) -> Any:
    """Run `bench/peers/SCRIPT.py` in the environment of `bench/peers/NAME.lock`, and return the JSON it prints."""
    python = _environment(name) / "bin" / "python"
    command = [str(python), str(ROOT / "bench" / "peers" / f"{script}.py"), *arguments]
    # Peers read what they are given from this package, whatever environment they run in.
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(done.stdout)


def _environment(name: str) -> Path:
    """Create the environment of a peer, unless it is there and its lock file has not changed."""
    lock, place = ROOT / "bench" / "peers" / f"{name}.lock", ROOT / f".bench-venv-{name}"
    installed = place / "installed.lock"
    if not installed.exists() or installed.read_text() != lock.read_text():
        uv = str(Path(sys.executable).parent / "uv")
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(place)], check=True)
        python = str(place / "bin" / "python")
        install = [uv, "pip", "install", "--quiet", "--python", python, "--require-hashes", "-r", str(lock)]
        subprocess.run(install, check=True)
        installed.write_text(lock.read_text())
    return place
