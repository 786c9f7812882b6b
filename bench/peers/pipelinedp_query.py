"""PipelineDP's local backend on the benchmark's question: count and sum by city, ten rows a person, ε = 1.

It works on Python objects, so reading them is counted by itself. Runs in an environment of its own and prints
JSON. Usage: `pipelinedp_query.py PARQUET LIMIT`, where the process ends itself after LIMIT seconds.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from typing import Any

import pipeline_dp
import pyarrow.parquet
from bench.people import CITIES, EPSILON, INCOMES, ROWS_PER_PERSON


def release(rows: list[tuple[int, str, float]]) -> Any:
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=float(EPSILON), total_delta=0)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    parameters = pipeline_dp.AggregateParams(
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        metrics=[pipeline_dp.Metrics.COUNT, pipeline_dp.Metrics.SUM],
        max_contributions=ROWS_PER_PERSON,
        min_value=0.0,
        max_value=float(INCOMES),
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: row[2],
    )
    answer = engine.aggregate(rows, parameters, extractors, public_partitions=CITIES)
    accountant.compute_budgets()
    found = sorted(answer)
    return [[answer.count for _, answer in found], [answer.sum for _, answer in found]]


def main(path: str, limit: int) -> None:
    signal.alarm(limit)
    start = time.process_time()
    table = pyarrow.parquet.read_table(path, columns=["person", "city", "income"])
    rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    read, wall = time.process_time(), time.perf_counter()
    answer = release(rows)
    print(
        json.dumps(
            {
                "preparing": read - start,
                "cpu": time.process_time() - read,
                "wall": time.perf_counter() - wall,
                "fixed": None,
                "answers": [answer],
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
