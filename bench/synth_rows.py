"""Rows beside answers on all tables of bench/tables.py, at ε = 0.1, 1 and 10 and δ = 1e-9, one run each.

The error is the mean of ‖M(D)/n − M(D̂)/n‖₁ over all sets of three columns that the model answers (2²² cells at
most), and over all pairs where some sets are larger. The reach for rows is 1.5 times the error of the answers, or
of a bootstrap of the true rows (as many rows drawn from them with replacement: what a new sample of the same
people would show), whichever is larger. CPU seconds are of one thread.

    python -m bench.synth_rows [table[:ε] …]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import tables
from bench.figures import figure
from discreet.kernel import gaussian_budget as budget
from discreet.schema.metadata import UNIT
from discreet.synth.marginals import Domain
from discreet.synth.marginals.domain import Columns
from discreet.synth.marginals.model import MOST_CELLS
from discreet.synth.measure import fit
from discreet.synth.rows.residual import fit_of
from discreet.synth.sample import sample
from discreet.synth.synthesize import counts

DELTA = "1e-9"
EPSILONS = ("0.1", "1", "10")
REACH = 1.5


@dataclass(frozen=True)
class Errors:
    """The mean l1 distance of marginals, and the worst cell, as shares of the rows."""

    mean: float
    worst: float


def errors(table: tables.Table, marginal: Callable[[Columns], NDArray[Any]]) -> Errors:
    """Return how far marginals are from those of a table."""
    means, worst = [], 0.0
    for columns in sets(table):
        found = marginal(columns).astype(float)
        off = np.abs(found / found.sum() - table.counts(columns) / len(table))
        means.append(float(off.sum()))
        worst = max(worst, float(off.max()))
    return Errors(float(np.mean(means)), worst)


def sets(table: tables.Table) -> list[Columns]:
    """Return the sets of columns that are compared."""
    domain = Domain(table.names, table.sizes)
    answered = [columns for columns in domain.sets(3) if domain.cells(columns) <= MOST_CELLS]
    return answered if len(answered) == len(domain.sets(3)) else [*domain.sets(2), *answered]


def bootstrap(table: tables.Table) -> Errors:
    """Return the error of as many rows, drawn from the true ones."""
    again = table.codes[np.random.default_rng(1).integers(0, len(table), len(table))]
    same = tables.Table(table.name, table.names, table.sizes, again, table.ordered)
    return errors(table, same.counts)


def measured(table: tables.Table, epsilon: str, floor: Errors) -> None:
    """Fit a table once, draw rows, and print what they reach."""
    domain = Domain(table.names, table.sizes)
    start = time.process_time()
    model, _ = fit(
        counts(table.codes, domain),
        domain,
        rho=budget.rho_of(epsilon, DELTA),
        contribution=UNIT,
        scale=float(UNIT),
    )
    fitted = time.process_time() - start
    start = time.process_time()
    rows = sample(model, len(table))
    drawn = time.process_time() - start
    answers = errors(table, model.marginal)
    found = errors(table, lambda columns: domain.count(rows, columns))
    print(
        f"{table.name:11} ε = {epsilon:>3}: answers {answers.mean:.4f} (worst cell {answers.worst:.4f}), rows "
        f"{found.mean:.4f} ({found.worst:.4f}), bootstrap {floor.mean:.4f}; {fitted:.1f} CPU-s for the model, "
        f"{drawn:.1f} for rows. {fit_of(rows, model)}"
    )
    reach = REACH * max(answers.mean, floor.mean)
    figure(f"synth_rows_{table.name}_epsilon_{epsilon}", found.mean, reach, at_least=False)


def main(chosen: Sequence[str]) -> None:
    """Measure all tables, or those that are named."""
    names = list(dict.fromkeys(name.partition(":")[0] for name in chosen))
    for table in tables.every(*names):
        floor = bootstrap(table)
        for epsilon in EPSILONS:
            if not chosen or {table.name, f"{table.name}:{epsilon}"} & set(chosen):
                measured(table, epsilon, floor)


if __name__ == "__main__":
    main(sys.argv[1:])
