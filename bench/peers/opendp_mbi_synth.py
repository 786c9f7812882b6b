"""Synthesize a benchmark table with AIM or MST of OpenDP and private-pgm, in an environment of their own.

The setting is the published one: all sets of three columns, 80 MB for the model, 16 rounds for each column.
The mechanism spends the ρ that the caller gives, so both sides have the same zero-concentrated guarantee. Columns
are cut between all their values, which are public. One run. Prints JSON: the mean l1 distance of all three-way
marginals, of answers and of as many rows as the table has (the better of two ways to draw them), the worst cell of
answers, and CPU seconds.
Usage: `opendp_mbi_synth.py AIM|MST TABLE RHO`
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import opendp.extras.mbi._mst as mst
import opendp.prelude as dp
import polars as pl
from bench import tables


class Fits:
    """The estimator of both mechanisms, which says on standard error how often it was called."""

    def __init__(self) -> None:
        """Start at none."""
        self.number = 0

    def __call__(self, *terms: Any, **options: Any) -> Any:
        """Fit."""
        self.number += 1
        print(f"fit {self.number}", file=sys.stderr, flush=True)
        return dp.mbi.mirror_descent(*terms, **options)


def released(table: tables.Table, mechanism: str, rho: float) -> Any:
    """Return the contingency table of a mechanism."""
    dp.enable_features("contrib")
    # OpenDP 0.16 asks for one unit in the last place more than it allotted to selections, and refuses itself.
    mst.prior = lambda loss: loss * (1 - 1e-12)
    frame = pl.DataFrame({name: table.codes[:, i] for i, name in enumerate(table.names)}).lazy()
    context = dp.Context.compositor(
        data=frame, privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(rho=rho)
    )
    cuts = {name: list(range(size - 1)) for name, size in zip(table.names, table.sizes, strict=True)}
    algorithm = {"AIM": dp.mbi.AIM, "MST": dp.mbi.MST}[mechanism](estimator=Fits())
    return context.query(rho=rho).contingency_table(cuts=cuts, algorithm=algorithm).release()


def main() -> None:
    """Run one mechanism on one table."""
    mechanism, name, rho = sys.argv[1:]
    (table,) = tables.every(name)
    start = time.process_time()
    found = released(table, mechanism, float(rho))
    fitted = time.process_time() - start
    start = time.process_time()
    # "round" is the default of both packages. It leaves rows in order, which ties columns that the model does not.
    drawn = {f"rows {way}": found.model.synthetic_data(len(table), way).to_dict() for way in ("round", "sample")}
    sampled = (time.process_time() - start) / len(drawn)
    sides: dict[str, Callable[[tuple[int, ...]], Any]] = {
        "answers": lambda columns: np.asarray(found.project([table.names[c] for c in columns]), float)
    }
    for kind, values in drawn.items():
        rows = np.stack([np.asarray(values[column]) for column in table.names], axis=1).astype(np.int64)
        sides[kind] = tables.Table(table.name, table.names, table.sizes, rows, table.ordered).counts
    means: dict[str, list[float]] = {kind: [] for kind in sides}
    worst = dict.fromkeys(means, 0.0)
    for columns in combinations(range(len(table.sizes)), 3):
        true = table.counts(columns) / len(table)
        for kind, counted in sides.items():
            counts = counted(columns)
            off = np.abs(counts / counts.sum() - true)
            means[kind].append(float(off.sum()))
            worst[kind] = max(worst[kind], float(off.max()))
    errors = {kind: float(np.mean(found)) for kind, found in means.items()}
    print(
        json.dumps(
            {
                "answers": errors["answers"],
                "rows": min(errors["rows round"], errors["rows sample"]),
                "rows_round": errors["rows round"],
                "rows_sample": errors["rows sample"],
                "worst": worst["answers"],
                "seconds": fitted,
                "row_seconds": sampled,
            }
        )
    )


if __name__ == "__main__":
    main()
