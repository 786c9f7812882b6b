"""Asking a vault beside raw DuckDB, OpenDP, PipelineDP and SmartNoise SQL, in one run.

Everyone answers the same question of the same two million rows: the count and the sum of incomes of fifty cities,
ten rows a person, ε = 1 without δ for both together. Times are CPU seconds of all threads, the best of several;
the time of a vault is that of the whole of `ask`, from SQL to a release that is recorded in the ledger, of a
question that was never asked before. Peers read what they need into their own form first where they must
("preparing"); sealing is ours.

Errors are mean absolute differences of the counts, from two truths: from the plain counts, which no one can reach
who lets a person count ten rows at most, and from what all of them estimate, the sum over persons of their ten
rows' share of a city. (To keep ten of n rows at random has just that mean.)
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray
from pyarrow import parquet

import discreet as dp
from bench.figures import ask_peer, figure
from bench.people import CITIES, EPSILON, INCOMES, PERSONS, ROWS, ROWS_PER_PERSON, people

REPEATS = 15
SEALINGS = 3
LIMIT = 180
FIXED = 0.010
"""Seconds that asking may take whatever the size of the table."""

PEERS = {
    "OpenDP": ("opendp_polars", "opendp_query"),
    "PipelineDP": ("pipelinedp", "pipelinedp_query"),
    "SmartNoise SQL": ("smartnoise", "smartnoise_query"),
}
RAW = "SELECT city, count(*), sum(income) FROM people GROUP BY city"


@dataclass(frozen=True)
class Result:
    """What one system took, in seconds, and what it answered: counts and sums by city, once for every release."""

    cpu: float
    wall: float
    preparing: float = 0.0
    fixed: float | None = None
    answers: Sequence[Any] = ()

    def error(self, truth: NDArray[np.float64], column: int = 0) -> float:
        return float(np.mean([np.abs(np.array(answer[column]) - truth) for answer in self.answers]))


def clocks(work: Callable[[], object]) -> tuple[float, float]:
    """Return the CPU and the wall seconds of `work`, done once."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def best(runs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return min(cpu for cpu, _ in runs), min(wall for _, wall in runs)


def seal(source: Any, to: Path) -> dp.Vault:
    return dp.Vault.seal(
        source,
        to=to,
        name="people",
        person="person",
        columns={"city": dp.Category(CITIES), "income": dp.Integer(0, INCOMES)},
        rows_per_person=ROWS_PER_PERSON,
        budget=dp.Budget(10**6),
    )


def ask(releases: list[Any], vault: dp.Vault, i: int) -> None:
    """Ask the question. Neither its text nor its price has been seen before, so that no record can answer it."""
    question = f"SELECT city, count(*) AS n{i}, sum(income) AS s{i} FROM people GROUP BY city"
    releases.append(vault.ask(question, epsilon=EPSILON, confidence=f"0.9{i:04}"))


def by_city(release: Any) -> list[list[float]]:
    """Return counts and sums in the order of the cities; a vault also answers for rows without one."""
    place = {city: i for i, city in enumerate(release.keys["city"])}
    return [[answer.values[place[city]] for city in CITIES] for answer in release.aggregates]


def ours_and_raw(folder: Path) -> tuple[Result, Result, Result]:
    """Measure the vault and DuckDB in turns, so that a busy machine slows both."""
    file = folder / "people.parquet"
    raw = duckdb.connect(str(folder / "people.duckdb"))
    raw.execute(f"CREATE TABLE people AS FROM '{file}'")
    raw.execute("CHECKPOINT")
    few = people(3, PERSONS)
    sealings = [clocks(partial(seal, file, folder / f"{i}.vault")) for i in range(SEALINGS)]
    plain, on_parquet, asking, fixed = [], [], [], []
    releases: list[Any] = []
    with dp.Vault(folder / "0.vault") as vault, seal(few, folder / "few.vault") as tiny:
        for sealed in (vault, tiny):
            ask([], sealed, 0)  # loads what is loaded once
        for i in range(1, REPEATS + 1):
            plain.append(clocks(lambda: raw.execute(RAW).fetchnumpy()))
            on_parquet.append(clocks(lambda: raw.execute(RAW.replace("people", f"'{file}'")).fetchnumpy()))
            asking.append(clocks(partial(ask, releases, vault, i)))
            fixed.append(clocks(partial(ask, [], tiny, i)))
    raw.close()
    answers = [by_city(release) for release in releases]
    ours = Result(*best(asking), preparing=best(sealings)[0], fixed=best(fixed)[0], answers=answers)
    return ours, Result(*best(plain)), Result(*best(on_parquet))


def peer(name: str, file: Path) -> Result | None:
    """Ask a peer, or say why it did not answer."""
    try:
        return Result(**ask_peer(*PEERS[name], str(file), str(LIMIT)))
    except subprocess.CalledProcessError as failure:
        late = failure.returncode == -14  # SIGALRM
        why = f"it took more than {LIMIT} s" if late else f"{Path(failure.cmd[0]).name} failed, see above"
        print(f"{name} is left out: {why}.")
        return None


def truths(file: Path) -> dict[str, NDArray[np.float64]]:
    """The counts of all cities: plain, and with everybody's rows weighed as ten at most; and sums likewise."""
    rows = (
        f"(SELECT *, least(1, {ROWS_PER_PERSON} / count(*) OVER (PARTITION BY person)) AS w, "
        f"least(income, {INCOMES}) AS v FROM '{file}')"
    )
    query = f"SELECT count(*) AS plain, sum(w) AS bounded, sum(income) AS money, sum(w * v) AS spent FROM {rows}"
    found = duckdb.execute(f"{query} GROUP BY city ORDER BY city").fetchnumpy()
    return {name: np.asarray(column, np.float64) for name, column in found.items()}


def line(name: str, result: Result, truth: dict[str, NDArray[np.float64]]) -> str:
    def seconds(value: float | None) -> str:
        return f"{value:12.4f}" if value else f"{'—':>12}"

    times = "".join(map(seconds, (result.preparing, result.cpu, result.wall, result.fixed)))
    if not result.answers:
        return f"{name:22}{times}"
    plain, bounded = result.error(truth["plain"]), result.error(truth["bounded"])
    spent = result.error(truth["spent"], 1)
    return f"{name:22}{times}{plain:12,.1f}{bounded:12.1f}{spent:14.3g}"


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "people.parquet"
        parquet.write_table(people(ROWS, PERSONS), file)
        truth = truths(file)
        ours, raw, on_parquet = ours_and_raw(Path(directory))
        peers = {name: found for name in PEERS if (found := peer(name, file))}

    heads = ("preparing", "asking", "(wall)", "on 3 rows", "counts ±", "bounded ±", "their sums ±")
    print(f"{'CPU seconds, errors':22}" + "".join(f"{head:>{max(12, len(head) + 2)}}" for head in heads))
    results = {"DuckDB, no privacy": raw, "DuckDB on Parquet": on_parquet, "Discreet": ours, **peers}
    for name, result in results.items():
        print(line(name, result, truth))
    print()

    figure("ask_over_raw_duckdb", (ours.cpu - FIXED) / raw.cpu, 2, at_least=False)
    figure("ask_fixed_milliseconds", 1e3 * (ours.fixed or 0), 10, at_least=False)
    if opendp := peers.get("OpenDP"):
        figure("opendp_over_ask", opendp.cpu / ours.cpu, 20, at_least=True)
        figure("sealing_over_opendp_query", ours.preparing / opendp.cpu, 1, at_least=False)
        # What bounding leaves out is the same for all and far above the noise: that ratio can only be a tie.
        for figure_name, of, reach in (
            ("error_over_opendp", "plain", 1.01),
            ("bounded_error_over_opendp", "bounded", 1),
        ):
            figure(figure_name, ours.error(truth[of]) / opendp.error(truth[of]), reach, at_least=False)


if __name__ == "__main__":
    main()
