"""SmartNoise SQL on the benchmark's question: count and sum by city, ten rows a person, ε = 1, half for each.

A frame is first loaded into SQLite, which is counted by itself. Runs in an environment of its own and prints JSON.
Usage: `smartnoise_query.py PARQUET LIMIT`, where the process ends itself after LIMIT seconds.
"""

from __future__ import annotations

import json
import signal
import sys
import time
import warnings

import pandas
import snsql
from bench.people import CITIES, EPSILON, INCOMES, ROWS_PER_PERSON

RELEASES = 2
QUESTION = "SELECT city, COUNT(*) AS n, SUM(income) AS s FROM S.people GROUP BY city"
PEOPLE = {
    "max_ids": ROWS_PER_PERSON,
    "sample_max_ids": True,
    "censor_dims": False,
    "row_privacy": False,
    "person": {"type": "int", "private_id": True},
    "city": {"type": "string"},
    "income": {"type": "float", "lower": 0.0, "upper": float(INCOMES)},
}


def main(path: str, limit: int) -> None:
    signal.alarm(limit)
    warnings.filterwarnings("ignore")
    start = time.process_time()
    frame = pandas.read_parquet(path)
    each = snsql.Privacy(epsilon=EPSILON / 2, delta=0)
    reader = snsql.from_df(frame, privacy=each, metadata={"": {"S": {"people": PEOPLE}}})
    preparing = time.process_time() - start
    cpus, walls, answers = [], [], []
    for _ in range(RELEASES):
        cpu, wall = time.process_time(), time.perf_counter()
        found = {row[0]: row[1:] for row in reader.execute(QUESTION)[1:]}
        cpus.append(time.process_time() - cpu)
        walls.append(time.perf_counter() - wall)
        answers.append([[float(found[city][i]) for city in CITIES] for i in (0, 1)])
    print(
        json.dumps(
            {"preparing": preparing, "cpu": min(cpus), "wall": min(walls), "fixed": None, "answers": answers}
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
