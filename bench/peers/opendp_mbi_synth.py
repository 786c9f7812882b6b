"""Synthesize a benchmark table with AIM or MST of OpenDP and private-pgm, in an environment of their own.

The setting is the published one: all sets of three columns, 80 MB for the model, 16 rounds for each column.
The mechanism spends the ρ that the caller gives, so both sides have the same zero-concentrated guarantee. Columns
are cut between all their values, which are public. One run. Prints JSON: the mean l1 distance of all three-way
marginals and the worst cell, of answers and of as many rows as the table has, and CPU seconds.
Usage: `opendp_mbi_synth.py AIM|MST TABLE RHO`
"""

from __future__ import annotations

import json
import sys
import time
from itertools import combinations
from typing import Any

import numpy as np
import opendp.prelude as dp
import polars as pl
from bench import tables


def released(table: tables.Table, mechanism: str, rho: float) -> Any:
    """Return the contingency table of a mechanism."""
    dp.enable_features("contrib")
    frame = pl.DataFrame({name: table.codes[:, i] for i, name in enumerate(table.names)}).lazy()
    context = dp.Context.compositor(
        data=frame, privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(rho=rho)
    )
    cuts = {name: list(range(size - 1)) for name, size in zip(table.names, table.sizes, strict=True)}
    algorithm = dp.mbi.AIM() if mechanism == "AIM" else dp.mbi.MST()
    return context.query(rho=rho).contingency_table(cuts=cuts, algorithm=algorithm).release()


def main() -> None:
    """Run one mechanism on one table."""
    mechanism, name, rho = sys.argv[1:]
    (table,) = tables.every(name)
    start = time.process_time()
    found = released(table, mechanism, float(rho))
    fitted = time.process_time() - start
    start = time.process_time()
    drawn = found.model.synthetic_data(len(table)).df
    rows = np.stack([np.asarray(drawn[column]) for column in table.names], axis=1).astype(np.int64)
    sampled = time.process_time() - start
    same = tables.Table(table.name, table.names, table.sizes, rows, table.ordered)
    means: dict[str, list[float]] = {"answers": [], "rows": []}
    worst = dict.fromkeys(means, 0.0)
    for columns in combinations(range(len(table.sizes)), 3):
        true = table.counts(columns) / len(table)
        answer = np.asarray(found.project([table.names[c] for c in columns]), float)
        for kind, counts in (("answers", answer), ("rows", same.counts(columns))):
            off = np.abs(counts / counts.sum() - true)
            means[kind].append(float(off.sum()))
            worst[kind] = max(worst[kind], float(off.max()))
    print(
        json.dumps(
            {
                "answers": float(np.mean(means["answers"])),
                "rows": float(np.mean(means["rows"])),
                "worst": worst["answers"],
                "worst_rows": worst["rows"],
                "seconds": fitted,
                "row_seconds": sampled,
            }
        )
    )


if __name__ == "__main__":
    main()
