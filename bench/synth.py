"""Synthetic tables of Adult: all 455 three-way marginals at δ = 1e-9, five runs, mean and spread.

The error is the mean over marginals of ‖M(D)/n − M(D̂)/n‖₁ (from 0 to 2; half of it is what private-pgm prints),
and the worst single cell as a share of the rows. "Answers" are from the model, "rows" from as many synthetic
rows as the table has. Beside Adult there are generated tables, for which no other system's figures are known
here. Noise is the product's own, exact and unseeded, so figures vary a little from run to run. Targets are the
best that AIM reached on one machine under its own accounting (answers .117, .274, .083 at ε = 1, 0.1, 10; rows
.1245 at ε = 1), in hundreds of CPU seconds. CPU seconds are of one thread, from codes to model, to all 455
answers, to rows.

Rows on all tables of bench/tables.py are measured by `bench.synth_rows`, which is run at the end, and AIM and MST
beside them by `bench.synth_peers`, which takes an hour.

    python -m bench.synth [path to adult.csv and adult-domain.json]     or DISCREET_ADULT=path
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import synth_rows
from bench.figures import ROOT, figure
from discreet.kernel import gaussian_budget as budget
from discreet.schema.metadata import UNIT
from discreet.synth.marginals import Domain
from discreet.synth.marginals.domain import Columns
from discreet.synth.measure import fit
from discreet.synth.sample import sample
from discreet.synth.synthesize import counts

DELTA = "1e-9"
RUNS = 5
ANSWERS = {"1": 0.117, "0.1": 0.274, "10": 0.083}
ROWS, WORST, FIT_SECONDS, ROW_SECONDS, MEGABYTES = 0.1245, 0.015, 10.0, 40.0, 1024.0


@dataclass(frozen=True)
class Table:
    """Rows of codes with their domain, and all three-way marginals as shares."""

    codes: NDArray[np.int64]
    domain: Domain
    truth: dict[Columns, NDArray[np.float64]]

    def errors(self, marginal: Callable[[Columns], NDArray[Any]]) -> tuple[float, float]:
        """Return the mean l1 distance and the worst cell."""
        means, worst = [], 0.0
        for columns, wanted in self.truth.items():
            found = marginal(columns).astype(float)
            off = np.abs(found / found.sum() - wanted)
            means.append(float(off.sum()))
            worst = max(worst, float(off.max()))
        return float(np.mean(means)), worst


@dataclass(frozen=True)
class Run:
    """What one run reached, and took."""

    answers: float
    worst: float
    seconds: float
    rows: float | None = None
    row_seconds: float | None = None


def adult(folder: Path) -> Table:
    """Read the table."""
    sizes = json.loads((folder / "adult-domain.json").read_text())
    with open(folder / "adult.csv", encoding="utf-8") as file:
        header = file.readline().strip().split(",")
        codes = np.loadtxt(file, delimiter=",", dtype=np.int64)
    kept = [i for i, name in enumerate(header) if name in sizes]
    domain = Domain(tuple(header[i] for i in kept), tuple(sizes[header[i]] for i in kept))
    inside = codes[:, kept]
    truth = {columns: domain.count(inside, columns) / len(inside) for columns in domain.sets(3)}
    return Table(inside, domain, truth)


def generated() -> dict[str, Table]:
    """Tables that nothing was tuned on but the three constants of the method: a tree, a mixture, a survey."""
    rng = np.random.default_rng(1)

    def drawn(laws: NDArray[np.float64], given: NDArray[np.int64]) -> NDArray[np.int64]:
        below = laws.cumsum(axis=1)[given] < rng.random(len(given))[:, None]
        return np.asarray(np.minimum(below.sum(axis=1), laws.shape[1] - 1), np.int64)

    def table(columns: list[NDArray[np.int64]], sizes: list[int]) -> Table:
        codes = np.stack(columns, axis=1)
        domain = Domain(tuple(f"c{i}" for i in range(len(sizes))), tuple(sizes))
        return Table(codes, domain, {c: domain.count(codes, c) / len(codes) for c in domain.sets(3)})

    sizes = rng.integers(2, 25, 12).tolist()
    tree = [drawn(rng.dirichlet(np.full(sizes[0], 0.5), 1), np.zeros(30_000, np.int64))]
    for size in sizes[1:]:
        parent = tree[int(rng.integers(len(tree)))]
        laws = 0.6 * rng.dirichlet(np.full(size, 0.3), int(parent.max()) + 1) + 0.4 * rng.dirichlet(np.ones(size))
        tree.append(drawn(laws, parent))
    kinds = rng.integers(0, 6, 20_000)
    levels = rng.integers(2, 20, 14).tolist()
    mixture = [drawn(rng.dirichlet(np.full(size, 0.5), 6), kinds) for size in levels]
    frailty, other = rng.normal(size=(2, 21_574))
    yes = rng.normal(-0.5, 1, 16), rng.uniform(1, 3, 16), rng.normal(0, 1, 16)
    odds = yes[0] + np.multiply.outer(frailty, yes[1]) + np.multiply.outer(other, yes[2])
    survey = (rng.random(odds.shape) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    survey[:, 9] = np.where(rng.random(len(survey)) < 0.7, survey[:, 7] ^ survey[:, 8], survey[:, 9])
    return {
        "tree of 12 columns": table(tree, sizes),
        "mixture of 6 kinds, 14 columns": table(mixture, levels),
        "survey of 16 yes or no": table(list(survey.T), [2] * 16),
    }


def independent(table: Table) -> float:
    """Return the error of exact one-way marginals, taken for independent."""
    ones = [table.domain.count(table.codes, (c,)) / len(table.codes) for c in range(len(table.domain))]

    def product(columns: Columns) -> NDArray[np.float64]:
        found = np.array(1.0)
        for column in columns:
            found = np.multiply.outer(found, ones[column])
        return found

    return table.errors(product)[0]


def run(table: Table, epsilon: str, *, rows: bool) -> Run:
    """Fit once, and compare."""
    start = time.process_time()
    model, released = fit(
        counts(table.codes, table.domain),
        table.domain,
        rho=budget.rho_of(epsilon, DELTA),
        contribution=UNIT,
        scale=float(UNIT),
    )
    answers, worst = table.errors(model.marginal)
    seconds = time.process_time() - start
    assert budget.spent(released.noises) <= budget.rho_of(epsilon, DELTA)
    if not rows:
        return Run(answers, worst, seconds)
    start = time.process_time()
    drawn = sample(model, len(table.codes))
    row_seconds = time.process_time() - start
    off, _ = table.errors(lambda columns: table.domain.count(drawn, columns))
    return Run(answers, worst, seconds, off, row_seconds)


def main() -> None:
    """Print everything, and the figures last."""
    given = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("DISCREET_ADULT")
    folder = Path(given) if given else ROOT.parent / "shared" / "data" / "adult"
    if not (folder / "adult.csv").exists():
        print(f"Adult is not at {folder}: give its folder, python -m bench.synth FOLDER. Nothing was measured.")
        return
    table = adult(folder)
    results = {epsilon: [run(table, epsilon, rows=True) for _ in range(RUNS)] for epsilon in ANSWERS}
    for epsilon, runs in results.items():
        answers, rows = ([getattr(r, name) for r in runs] for name in ("answers", "rows"))
        print(
            f"ε = {epsilon:>3}: answers {np.mean(answers):.4f} ({min(answers):.4f} to {max(answers):.4f}), "
            f"rows {np.mean(rows):.4f} ({min(rows):.4f} to {max(rows):.4f}), worst cell "
            f"{np.mean([r.worst for r in runs]):.4f}, {np.mean([r.seconds for r in runs]):.1f} CPU-s for answers, "
            f"{np.mean([r.row_seconds for r in runs]):.1f} for rows"
        )
    for name, other in generated().items():
        found = ", ".join(f"{run(other, e, rows=False).answers:.4f} at ε = {e}" for e in ("0.1", "1", "10"))
        print(f"{name}: answers {found}; {independent(other):.4f} if columns were independent (one run)")
    for epsilon, reach in ANSWERS.items():
        mean = float(np.mean([r.answers for r in results[epsilon]]))
        figure(f"synth_answers_epsilon_{epsilon}", mean, reach, at_least=False)
    one = results["1"]
    figure("synth_rows_epsilon_1", float(np.mean([r.rows or 2.0 for r in one])), ROWS, at_least=False)
    figure("synth_worst_cell_epsilon_1", float(np.mean([r.worst for r in one])), WORST, at_least=False)
    slowest = max(r.seconds for runs in results.values() for r in runs)
    figure("synth_answers_cpu_seconds", slowest, FIT_SECONDS, at_least=False)
    figure("synth_rows_cpu_seconds", max(r.row_seconds or 0.0 for r in one), ROW_SECONDS, at_least=False)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figure("synth_peak_megabytes", memory, MEGABYTES, at_least=False)
    synth_rows.main([])


if __name__ == "__main__":
    main()
