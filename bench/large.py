"""A hundred million rows sealed and asked in less than 4 GB of memory: `make bench-large`.

The rows are written as Parquet, in pieces, to a temporary directory; a process of its own seals them and asks for
the count and the sum of incomes of fifty cities. The peak is what the system says of that process's memory at
its largest. Seconds are of CPU time, of all threads. Usage: `python -m bench.large [ROWS [DIRECTORY]]`.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
from pyarrow import parquet

import discreet as dp
from bench.figures import figure
from bench.people import CITIES, EPSILON, INCOMES, ROWS_PER_PERSON, people

QUESTION = "SELECT city, count(*), sum(income) FROM"
ROWS = 100_000_000
PIECE = 2_000_000
MEMORY = "2GB"
"""What DuckDB is told to use. Its threads and Python's own come on top."""
BYTES_PER_ROW = 40
"""On disk: the source, the rows as codes, the rows as sealed, and what sorting and joining put aside."""


def write(folder: Path, rows: int) -> None:
    """Write the rows in files of two million; persons have rows in all of them."""
    folder.mkdir()
    for start in range(0, rows, PIECE):
        piece = people(min(PIECE, rows - start), rows // 10, seed=start)
        parquet.write_table(piece, folder / f"part-{start // PIECE:04}.parquet")


def seal_and_ask(folder: Path) -> dict[str, float]:
    """Seal what is in a folder, ask it, and return the seconds and the peak of this process.

    The first question of a process loads what is loaded once, and finds nothing in memory; that counts.
    """
    source = str(folder / "rows" / "part-*.parquet")
    start, cpu = time.perf_counter(), time.process_time()
    vault = dp.Vault.seal(
        source,
        to=folder / "people.vault",
        person="person",
        columns={"city": dp.Category(CITIES), "income": dp.Integer(0, INCOMES)},
        rows_per_person=ROWS_PER_PERSON,
        budget=dp.Budget(10),
        memory=MEMORY,
    )
    sealed, sealing = time.perf_counter(), time.process_time()
    sealing_peak = peak()
    with vault:
        release = vault.ask(f"{QUESTION} people GROUP BY city", epsilon=EPSILON)
    asked, asking, memory = time.perf_counter(), time.process_time(), peak()
    duckdb.execute(f"{QUESTION} '{source}' GROUP BY city").fetchall()
    return {
        "sealing": sealed - start,
        "sealing_cpu": sealing - cpu,
        "sealing_peak": sealing_peak,
        "asking": asked - sealed,
        "asking_cpu": asking - sealing,
        "raw_cpu": time.process_time() - asking,
        "peak": memory,
        "counted": sum(count or 0 for count in release.aggregates[0].values),
        "bytes": sum(path.stat().st_size for path in (folder / "people.vault").iterdir()),
    }


def peak() -> float:
    """The most memory this process has had, in gigabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def room(folder: Path, rows: int) -> str | None:
    """Return why the rows do not fit on the disk, in words, or None."""
    needed, free = rows * BYTES_PER_ROW, shutil.disk_usage(folder).free
    if free >= needed:
        return None
    return (
        f"{rows:,} rows need {needed / 1e9:.0f} GB of disk, and {folder} has {free / 1e9:.1f} GB free. "
        "Name another directory, or fewer rows: python -m bench.large 10000000 /mnt/large"
    )


def main(rows: int, directory: str | None) -> None:
    with tempfile.TemporaryDirectory(dir=directory) as name:
        folder = Path(name)
        if lacking := room(folder, rows):
            sys.exit(lacking)
        start = time.perf_counter()
        write(folder / "rows", rows)
        source = sum(path.stat().st_size for path in (folder / "rows").iterdir())
        print(f"{rows:,} rows, {source / 1e9:.2f} GB of Parquet, written in {time.perf_counter() - start:.0f} s")
        # A process of its own, so that what writing took is not counted.
        child = [sys.executable, "-m", "bench.large", "--seal-and-ask", name]
        found = json.loads(subprocess.run(child, check=True, stdout=subprocess.PIPE, text=True).stdout)
    print(
        f"sealing {found['sealing']:.1f} s ({found['sealing_cpu']:.1f} CPU), peak {found['sealing_peak']:.2f} GB, "
        f"sealed to {found['bytes'] / 1e9:.2f} GB"
    )
    print(f"asking {found['asking']:.2f} s ({found['asking_cpu']:.2f} CPU), {found['counted']:,.0f} rows counted")
    print(f"DuckDB without privacy, on the Parquet files: {found['raw_cpu']:.2f} CPU\n")
    figure("large_peak_gigabytes", found["peak"], 4, at_least=False)
    figure("large_sealing_seconds", found["sealing_cpu"], 120 * rows / ROWS, at_least=False)
    figure("large_ask_over_raw_duckdb", found["asking_cpu"] / found["raw_cpu"], 2, at_least=False)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--seal-and-ask"]:
        print(json.dumps(seal_and_ask(Path(sys.argv[2]))))
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else ROWS, sys.argv[2] if sys.argv[2:] else None)
