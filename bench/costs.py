"""Measure what asking costs beside the raw engine: fixed costs, aggregates, groups, text keys, sealing, the help.

Everything is CPU time of all threads, the best of several runs, vault and raw DuckDB in turns, so that a busy
machine slows both. A fresh answer has a text and a price that were never seen: it is parsed, planned, charged,
drawn from tables of noise that are made for it, and recorded. `--rows` sets the size of the large table; 5 million
by default.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from pyarrow import parquet

import discreet as dp
from bench.figures import figure

FEW, ANSWERS, REPEATS = 9_000, 40, 5
SECONDS, TAGS, LEVELS = 86_400, 2_000, 50
FIXED = 0.008
"""Seconds that a question may cost beside 1.5 times the raw scan."""

QUESTIONS = {
    "count": "SELECT count(*) FROM people",
    "avg": "SELECT avg(v) FROM people",
    "count_by_level": "SELECT k, count(*) FROM people GROUP BY k",
    "eight_aggregates": "SELECT count(*), avg(v), " + ", ".join(f"sum(x{i})" for i in range(6)) + " FROM people",
}


def rows(n: int) -> pa.Table:
    rng = np.random.default_rng(1)
    tags = np.array([f"tag{i}" for i in range(TAGS)])
    columns = {
        "person": rng.permutation(n) // 2,
        "second": rng.integers(0, SECONDS, n),
        "k": rng.integers(0, LEVELS, n),
        "v": rng.integers(0, 1001, n),
        **{f"x{i}": rng.integers(0, 100, n) for i in range(6)},
        "tag": tags[np.minimum(rng.geometric(0.005, n) - 1, TAGS - 1)],
    }
    return pa.table(columns)


def seal(source: Any, to: Path) -> dp.Vault:
    numbers = {
        "second": dp.Integer(0, SECONDS - 1),
        "k": dp.Integer(0, LEVELS - 1),
        "v": dp.Integer(0, 1000),
        **{f"x{i}": dp.Integer(0, 99) for i in range(6)},
    }
    return dp.Vault.seal(
        source,
        to=to,
        name="people",
        person="person",
        rows_per_person=2,
        columns={**numbers, "tag": dp.Text()},
        budget=dp.Budget(10**6, "1e-6"),
    )


def cpu(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


class Prices:
    """Names an ε that was never asked for before, so that neither a record nor a table of noise exists."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def __call__(self) -> str:
        return f"0.1{next(self._numbers):05}"


price = Prices()


def beside(vault: dp.Vault, raw: duckdb.DuckDBPyConnection, question: str, **terms: Any) -> tuple[float, float]:
    """Return the CPU seconds of a fresh answer and of the raw query, in turns."""
    vault.ask(question, epsilon=price(), **terms)
    ours, plain = [], []
    for _ in range(REPEATS):
        ours.append(cpu(lambda: vault.ask(question, epsilon=price(), **terms)))
        plain.append(cpu(lambda: raw.execute(question).fetchnumpy()))
    return min(ours), min(plain)


def small(folder: Path) -> None:
    """Print the costs of a table of 9,000 rows."""
    with seal(rows(FEW), folder / "small.vault") as vault:

        def each(work: Callable[[int], object], numbers: Iterator[int]) -> float:
            return min(cpu(lambda: [work(next(numbers)) for _ in range(ANSWERS)]) / ANSWERS for _ in range(3))

        def question(i: int) -> str:
            return f"SELECT count(*) FROM people WHERE v >= {i % 900} AND x0 < 90 AND second > {i}"

        def again(i: int) -> object:
            return vault.ask(question(i % ANSWERS), epsilon="0.2")

        for i in range(ANSWERS):
            again(i)
        fresh = each(lambda i: vault.ask(question(i), epsilon=price()), count(1000))
        recorded, seen = (
            each(again, count()),
            each(lambda i: vault.preview(question(i), epsilon="0.2"), count(9000)),
        )
    figure("fresh_answer_milliseconds", 1e3 * fresh, 10, at_least=False)
    figure("recorded_answer_milliseconds", 1e3 * recorded, 1.9, at_least=False)
    figure("preview_milliseconds", 1e3 * seen, 2.2, at_least=False)


def large(folder: Path, n: int) -> None:
    """Print the costs of a large table beside the raw engine's."""
    file = folder / "people.parquet"
    parquet.write_table(rows(n), file)
    copying, sealing = [], []
    for i in range(REPEATS):
        with duckdb.connect(str(folder / f"sorted{i}.duckdb")) as copy:
            copying.append(cpu(lambda c=copy: c.execute(f"CREATE TABLE people AS FROM '{file}' ORDER BY person")))  # type: ignore[misc]
        sealing.append(cpu(lambda i=i: seal(file, folder / f"{i}.vault").close()))  # type: ignore[misc]
    raw = duckdb.connect(str(folder / "raw.duckdb"))
    raw.execute(f"CREATE TABLE people AS FROM '{file}'")
    raw.execute("CHECKPOINT")
    with dp.Vault(folder / "0.vault") as vault, raw:
        for name, question in QUESTIONS.items():
            ours, plain = beside(vault, raw, question)
            print(f"{name:20}{1e3 * ours:10.1f} ms, raw {1e3 * plain:8.1f} ms, {ours / plain:5.2f} × raw")
            figure(f"{name}_over_raw", (ours - FIXED) / plain, 1.5, at_least=False)
        many = [f"sum(x{i % 6} + {i})" for i in range(24)]
        some, more = (beside(vault, raw, f"SELECT {', '.join(many[:size])} FROM people") for size in (8, 24))
        further = (more[0] - more[1] - some[0] + some[1]) / 16
        figure("further_aggregate_milliseconds", 1e3 * further, 0.5, at_least=False)
        ours, plain = beside(vault, raw, "SELECT second, count(*) FROM people GROUP BY second")
        figure("group_microseconds", 1e6 * (ours - 1.5 * plain - FIXED) / SECONDS, 3, at_least=False)
        ours, plain = beside(vault, raw, "SELECT tag, count(*) FROM people GROUP BY tag", keys_delta="1e-9")
        figure("text_keys_over_raw", ours / plain, 10, at_least=False)
    figure("sealing_over_sorted_copy", min(sealing) / min(copying), 1.5, at_least=False)


def shown_help() -> None:
    """Print the CPU time of `discreet --help`, a process of its own."""
    command = [str(Path(sys.executable).parent / "discreet"), "--help"]
    # An installed package has compiled modules; from a clone the first run writes them, if Python may.
    known = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    taken = []
    for _ in range(REPEATS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=known)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    figure("help_milliseconds", 1e3 * min(taken), 120, at_least=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    given = parser.parse_args()
    shown_help()
    with tempfile.TemporaryDirectory() as folder:
        small(Path(folder))
        large(Path(folder), given.rows)
    # On Linux in KiB: of sealing and asking, with the table that this script makes.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory of this process: {peak:.2f} GiB")


if __name__ == "__main__":
    main()
