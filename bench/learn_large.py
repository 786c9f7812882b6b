"""Ten million rows of fifty numbers classified, and a hundred million rows regressed: `make learn-large`.

The rows are written as Parquet, in pieces, to a temporary directory. Every step is a process of its own, whose CPU
seconds (of all threads) and peak of memory the system reports: a vault is sealed, a logistic regression is fitted
to it, and scikit-learn's lbfgs to the same rows without privacy, as 32-bit floats in memory, of which only the fit
counts. Then a linear regression is fitted to a vault of ten times as many rows of eight numbers, beside DuckDB
adding up the same products of columns from the Parquet files. A fit through hats has nine features per number:
451 columns, which lbfgs would hold in 18 GB. So it is given a tenth of the rows, and its CPU counts ten times. The
fit through hats is compared with lbfgs on the 50 columns themselves too, without a target: a tenth of the columns.

Usage: `python -m bench.learn_large [ROWS [DIRECTORY]]`. Ten million rows need 4 GB of disk.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow
from numpy.typing import NDArray
from pyarrow import parquet

import discreet as dp
from bench.figures import figure
from bench.learn_ours import DELTA, r_squared
from discreet import learn
from discreet.learn.feature_map import SCALE, FeatureMap

ROWS, PIECE = 10_000_000, 500_000
WIDE, NARROW = 50, 8
"""The columns to classify by, and to regress on."""
MORE = 10
"""The regression has as many times more rows."""
FEWER = 10
"""As many times fewer rows are given to lbfgs with hats, which holds its matrix in memory."""
TOP = 99
"""Numbers are whole, from 0 to this."""
EPSILON = 1
BYTES_PER_ROW = 400
"""On disk, for each row to classify: its source and its sealed copy, and those of ten rows to regress."""

Result = dict[str, float]


def effects(columns: int) -> NDArray[np.float64]:
    """Return the weight of each column in the truth."""
    return np.random.default_rng(columns).normal(0, 6 / np.sqrt(columns), columns)


def rows_of(columns: int, rows: int, seed: int) -> dict[str, NDArray[np.int16]]:
    """Draw rows: bell-shaped numbers, a class `y` by logistic odds, and a number `z` that is linear with noise."""
    rng = np.random.default_rng(seed)
    values = np.clip(np.rint(rng.normal(50, 18, (columns, rows))), 0, TOP).astype(np.int16)
    signal = effects(columns) @ (values / TOP - 0.5)
    table = {f"x{i}": values[i] for i in range(columns)}
    table["y"] = (rng.random(rows) < 1 / (1 + np.exp(-3 * signal))).astype(np.int16)
    table["z"] = np.clip(np.rint(50 + 20 * signal + rng.normal(0, 10, rows)), 0, TOP).astype(np.int16)
    return table


def write(folder: Path, columns: int, rows: int) -> None:
    """Write the rows in pieces."""
    folder.mkdir()
    for number, start in enumerate(range(0, rows, PIECE)):
        piece = pyarrow.table(rows_of(columns, min(PIECE, rows - start), 1 + number))
        parquet.write_table(piece, folder / f"part-{number:04}.parquet")


def sources(folder: Path) -> str:
    return str(folder / "rows" / "part-*.parquet")


def seal(folder: Path, columns: int) -> Result:
    """Seal the rows of a folder, each as a person of its own."""
    numbers = {f"x{i}": dp.Integer(0, TOP) for i in range(columns)}
    dp.Vault.seal(
        sources(folder),
        to=folder / "rows.vault",
        person=None,
        columns={**numbers, "y": dp.Category([0, 1]), "z": dp.Integer(0, TOP)},
        budget=dp.Budget(100, DELTA),
        memory="2GB",
    ).close()
    return {}


def features(columns: int) -> list[str]:
    return [f"x{i}" for i in range(columns)]


def classify(folder: Path, feature_map: str) -> Result:
    """Fit Discreet's logistic regression to the vault."""
    with dp.Vault(folder / "rows.vault") as vault:
        estimator = learn.LogisticRegression(feature_map="linear" if feature_map == "linear" else "hats")
        model = vault.fit(estimator, features=features(WIDE), target="y", epsilon=EPSILON)
    return {"accuracy": accuracy(model, lambda table: table)}


def lbfgs(folder: Path, feature_map: str) -> Result:
    """Fit scikit-learn's logistic regression to the same rows and features, without privacy."""
    from sklearn.linear_model import LogisticRegression

    hats = FeatureMap({name: dp.Integer(0, TOP, missing=0) for name in features(WIDE)})

    def scaled(table: dict[str, Any]) -> Any:
        if feature_map == "hats":
            return hats.rows({name: np.asarray(table[name], np.int64) for name in features(WIDE)}) / SCALE
        return np.stack([table[name] for name in features(WIDE)], axis=1) / TOP - 0.5

    parts = sorted((folder / "rows").glob("*.parquet"))
    rows = sum(parquet.read_metadata(part).num_rows for part in parts) // (FEWER if feature_map == "hats" else 1)
    matrix, target = np.empty((rows, hats.size if feature_map == "hats" else WIDE), np.float32), np.empty(rows)
    done = 0
    for part in parts:  # in pieces, so that nothing but the matrix is held
        table = parquet.read_table(part).slice(0, rows - done)
        columns = {name: table.column(name).to_numpy() for name in table.column_names}
        for start in range(0, table.num_rows, PIECE // 10):
            piece = slice(done, done + len(columns["y"][start : start + PIECE // 10]))
            matrix[piece] = scaled({name: one[start : start + PIECE // 10] for name, one in columns.items()})
            target[piece] = columns["y"][start : start + PIECE // 10]
            done = piece.stop
    begun = time.process_time()
    model = LogisticRegression(max_iter=1000, C=100 if feature_map == "hats" else 1).fit(matrix, target)
    seconds = time.process_time() - begun
    return {"cpu": seconds, "iterations": float(model.n_iter_[0]), "accuracy": accuracy(model, scaled)}


def accuracy(model: Any, prepared: Callable[[dict[str, Any]], Any]) -> float:
    """Return the share of new rows that a model puts into their class."""
    table = rows_of(WIDE, PIECE // 5, 0)
    given = prepared({name: table[name] for name in features(WIDE)})
    return float((np.asarray(model.predict(given)) == table["y"]).mean())


def regress(folder: Path, _: str) -> Result:
    """Fit Discreet's linear regression to the vault."""
    with dp.Vault(folder / "rows.vault") as vault:
        model = vault.fit(learn.LinearRegression(), features=features(NARROW), target="z", epsilon=EPSILON)
    table = rows_of(NARROW, PIECE // 5, 0)
    found = np.asarray(model.predict({name: table[name] for name in features(NARROW)}))
    return {"r2": r_squared(table["z"].astype(float), found)}


def raw_sums(folder: Path, _: str) -> Result:
    """Let DuckDB add up the columns and all products of two, from the Parquet files."""
    names = [*features(NARROW), "z"]
    products = [f"sum({a} * {b})" for i, a in enumerate(names) for b in names[i:]]
    listed = ", ".join(["count(*)", *(f"sum({name})" for name in names), *products])
    [found] = duckdb.execute(f"SELECT {listed} FROM '{sources(folder)}'").fetchall()
    return {"rows": float(found[0])}


STEPS: dict[str, Callable[[Path, str], Result]] = {
    "seal": lambda folder, columns: seal(folder, int(columns)),
    "classify": classify,
    "lbfgs": lbfgs,
    "regress": regress,
    "raw_sums": raw_sums,
}


def step(name: str, folder: Path, argument: str = "") -> Result:
    """Run a step in a process of its own, and return what it found and what it took."""
    command = [sys.executable, "-m", "bench.learn_large", "--step", name, str(folder), argument]
    found: Result = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    told = ", ".join(f"{key} {value:,.4g}" for key, value in found.items() if key not in ("cpu", "wall", "peak"))
    taken = f"{found['cpu']:>9.1f} CPU-s{found['wall']:>9.1f} s{found['peak']:>7.2f} GB"
    print(f"{name + ' ' + argument:16}{taken}   {told}", flush=True)
    return found


def measured(name: str, folder: Path, argument: str) -> Result:
    """Run a step in this process."""
    start, cpu = time.perf_counter(), time.process_time()
    found = STEPS[name](folder, argument)
    taken = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - start}
    return {**taken, "peak": peak(), **found}


def peak() -> float:
    """Return the most memory that this program has had, in gigabytes.

    Linux lets `ru_maxrss` begin with the memory of the process that started this one, which wrote the rows. Its
    status file counts from the start of the program.
    """
    status = Path("/proc/self/status")
    if status.exists():
        kilobytes = [line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        return int(kilobytes[0]) * 1024 / 1e9
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def main(rows: int, directory: str | None) -> None:
    """Print every step, and the figures last."""
    with tempfile.TemporaryDirectory(dir=directory) as name:
        folder = Path(name)
        needed, free = rows * BYTES_PER_ROW, shutil.disk_usage(folder).free
        if free < needed:
            sys.exit(
                f"{rows:,} rows need {needed / 1e9:.0f} GB of disk, and {folder} has {free / 1e9:.1f} GB free."
            )
        write(folder / "rows", WIDE, rows)
        print(f"{rows:,} rows of {WIDE} numbers, to classify at ε = {EPSILON}")
        step("seal", folder, str(WIDE))
        linear, hats = (step("classify", folder, kind) for kind in ("linear", "hats"))
        plainly, on_hats = step("lbfgs", folder), step("lbfgs", folder, "hats")
        for part in ("rows", "rows.vault"):
            shutil.rmtree(folder / part)
        write(folder / "rows", NARROW, MORE * rows)
        print(f"{MORE * rows:,} rows of {NARROW} numbers, to regress at ε = {EPSILON}")
        step("seal", folder, str(NARROW))
        regressed, sums = step("regress", folder), step("raw_sums", folder)
    print()
    figure("learn_large_peak_gigabytes", max(linear["peak"], hats["peak"]), 3, at_least=False)
    figure("learn_large_fit_over_lbfgs", linear["cpu"] / plainly["cpu"], 3, at_least=False)
    figure("learn_large_hats_fit_over_lbfgs", hats["cpu"] / (FEWER * on_hats["cpu"]), 3, at_least=False)
    print(f"hats over lbfgs on {WIDE} columns: {hats['cpu'] / plainly['cpu']:.2f}")
    figure("learn_large_regression_over_raw_duckdb", regressed["cpu"] / sums["cpu"], 3, at_least=False)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--step"]:
        print(json.dumps(measured(sys.argv[2], Path(sys.argv[3]), sys.argv[4])))
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else ROWS, sys.argv[2] if sys.argv[2:] else None)
