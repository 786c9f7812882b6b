"""Measure sealing and questions on all tables of `bench.tables`, and sealing on tables of other types.

Rows are drawn from every table of `bench.tables` until there are five million, two for each person. Names of
tables or types choose among them: `python -m bench.costs_tables adult texts`. `bench.costs` measures one table in
more detail.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from pyarrow import parquet

import discreet as dp
from bench import tables
from bench.costs import FIXED, beside, cpu
from bench.figures import figure

ROWS, REPEATS = 5_000_000, 3
GROUP = 3e-6
"""Seconds that a group may cost beside 1.5 times the raw scan and the fixed costs."""


@dataclass(frozen=True, eq=False)
class Case:
    """Rows to seal, and questions to ask of them, each with its number of groups."""

    name: str
    rows: pa.Table
    columns: dict[str, Any]
    rows_per_person: int = 2
    reach: float | None = 1.5
    questions: dict[str, int] = field(default_factory=dict)


def drawn(table: tables.Table, size: int) -> Case:
    """Draw rows from a table, two for each person."""
    rng = np.random.default_rng(7)
    codes = table.codes[rng.integers(0, len(table), size)]
    large = tables.Table(table.name, table.names, table.sizes, codes, table.ordered)
    rows = large.arrow().append_column("person", pa.array(rng.permutation(size) // 2))
    widest = int(np.argmax(table.sizes))
    numbers = [table.names[i] for i in sorted(table.ordered)]
    questions = {"SELECT count(*) FROM people": 1}
    questions[f"SELECT {table.names[widest]}, count(*) FROM people GROUP BY 1"] = table.sizes[widest]
    if numbers:
        sums = [f"sum({numbers[i % len(numbers)]} + {i // len(numbers)})" for i in range(8)]
        questions[f"SELECT avg({numbers[0]}) FROM people"] = 1
        questions[f"SELECT {', '.join(sums)} FROM people"] = 1
    return Case(table.name, rows, table.schema(), questions=questions)


def shapes(n: int) -> Iterator[Case]:
    """Yield tables of single types, of other identifiers, and of persons with other numbers of rows."""
    rng = np.random.default_rng(3)
    person, words = rng.permutation(n) // 2, np.array([f"city {i}" for i in range(60)])
    long = np.array([f"{i:08x}-{i * 2654435761 % 2**32:08x}" for i in range(n // 2)])
    eight = {f"x{i}": rng.integers(0, 100, n) for i in range(8)}
    numbers = {name: dp.Integer(0, 99) for name in eight}
    days = np.datetime64("2020-01-01")

    def case(name: str, who: Any, columns: dict[str, Any], declared: dict[str, Any], allowed: int = 2) -> Case:
        return Case(name, pa.table({"person": who, **columns}), declared, allowed)

    yield case("integers", person, eight, numbers)
    yield case("text_identifiers", long[person], eight, numbers)
    yield case("far_identifiers", rng.integers(-(2**62), 2**62, n // 2)[person], eight, numbers)
    yield case("one_row_each", rng.permutation(n), eight, numbers, 1)
    yield case("most_over_bound", rng.geometric(20 / n, n), eight, numbers)
    yield case("some_over_bound", rng.integers(0, n // 10, n), eight, numbers, 10)
    yield case(
        "reals",
        person,
        {f"r{i}": rng.normal(50, 20, n) for i in range(8)},
        {f"r{i}": dp.Real(0, 100, step="0.1") for i in range(8)},
    )
    yield case(
        "dates",
        person,
        {f"d{i}": days + rng.integers(0, 1500, n) for i in range(4)},
        {f"d{i}": dp.Date("2020-01-01", "2024-12-31") for i in range(4)},
    )
    texts = {f"t{i}": words[rng.integers(0, 60, n)] for i in range(4)}
    yield case("categories", person, texts, {name: dp.Category(words.tolist()) for name in texts})
    yield case("texts", person, texts, {name: dp.Text() for name in texts})
    first = {"t0": texts["t0"], **eight}
    yield case("one_text", person, first, {"t0": dp.Text(), **numbers})
    yield case("one_text_many_rows", rng.integers(0, n // 5, n), first, {"t0": dp.Text(), **numbers}, 10)
    # Of every person over the bound some rows are chosen that may name a text, which takes a sort. No bound should
    # be such that half of all persons are over it, and nothing is promised for it.
    half = case("one_text_half_over_bound", rng.integers(0, n // 5, n), first, {"t0": dp.Text(), **numbers}, 5)
    yield replace(half, reach=None)


def measured(case: Case) -> None:
    """Print what sealing costs beside a sorted copy, and the questions beside the raw engine."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        file = folder / "people.parquet"
        parquet.write_table(case.rows, file)
        copying, sealing = [], []
        for i in range(REPEATS):
            with duckdb.connect(str(folder / f"{i}.duckdb")) as copy:
                query = f"CREATE TABLE people AS FROM '{file}' ORDER BY person"
                copying.append(cpu(lambda c=copy, q=query: c.execute(q)))  # type: ignore[misc]
            sealing.append(cpu(lambda i=i: sealed(case, file, folder / f"{i}.vault").close()))  # type: ignore[misc]
        name, ratio = f"sealing_{case.name}_over_sorted_copy", min(sealing) / min(copying)
        if case.reach is None:
            print(f"{name} {ratio:.4g}, without a reach")
        else:
            figure(name, ratio, case.reach, at_least=False)
        if case.questions:
            asked(case, folder)


def sealed(case: Case, file: Path, to: Path) -> dp.Vault:
    """Seal a file of a case."""
    return dp.Vault.seal(
        file,
        to=to,
        name="people",
        person="person",
        rows_per_person=case.rows_per_person,
        columns=case.columns,
        budget=dp.Budget(10**6, "1e-6"),
    )


def asked(case: Case, folder: Path) -> None:
    """Print the largest cost of a question beyond its fixed costs, beside the raw scan of a copy as it came."""
    worst = float("-inf")
    with dp.Vault(folder / "0.vault") as vault, duckdb.connect(str(folder / "raw.duckdb")) as raw:
        raw.execute(f"CREATE TABLE people AS FROM '{folder / 'people.parquet'}'")
        raw.execute("CHECKPOINT")
        for question, groups in case.questions.items():
            ours, plain = beside(vault, raw, question)
            print(f"    {1e3 * ours:8.1f} ms, raw {1e3 * plain:8.1f} ms: {question[:70]}")
            worst = max(worst, (ours - FIXED - GROUP * (groups - 1)) / plain)
    figure(f"questions_{case.name}_over_raw", worst, 1.5, at_least=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="tables and types; all by default")
    parser.add_argument("--rows", type=int, default=ROWS)
    given = parser.parse_args()
    wanted = frozenset(given.names)
    for table in tables.every():
        if not wanted or table.name in wanted:
            measured(drawn(table, given.rows))
    for case in shapes(given.rows):
        if not wanted or case.name in wanted:
            measured(case)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory of this process, with the tables that it makes: {peak:.2f} GiB")


if __name__ == "__main__":
    main()
