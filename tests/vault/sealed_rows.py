"""Small sealed tables for tests: rows with the weights that sealing gives, in the real engine."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.engines.duckdb import DuckDB
from discreet.query import ir
from discreet.query.answer.postprocess import After
from discreet.query.question import Aggregate, Key, Question, Term
from discreet.schema.metadata import UNIT

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Described:
    rows_per_person: int = 1


def weighed(rows: Sequence[Row], rows_per_person: int) -> list[dict[str, Any]]:
    """Add what sealing adds: a weight, and a spot on the first rows of every person."""
    counts, seen = Counter(row["person"] for row in rows), Counter[Any]()
    result = []
    for row in rows:
        n = counts[row["person"]]
        seen[row["person"]] += 1
        w = UNIT if n <= rows_per_person else UNIT * rows_per_person // n
        result.append({**row, "w": w, "spot": seen[row["person"]] <= rows_per_person})
    return result


@contextmanager
def engine_with(rows: Sequence[Row], rows_per_person: int = 1, **types: str) -> Iterator[DuckDB]:
    """The engine over sealed rows; columns c0, c1, … are INTEGER unless said."""
    import duckdb

    columns = {
        "person": "BIGINT",
        "w": "SMALLINT",
        "spot": "BOOLEAN",
        **{name: types.get(name, "INTEGER") for name in ("c0", "c1", "c2")},
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"CREATE TABLE rows ({', '.join(f'{n} {t}' for n, t in columns.items())})")
            values = [[row.get(name) for name in columns] for row in weighed(rows, rows_per_person)]
            if values:
                import pyarrow as pa

                read = pa.table({name: [row[i] for row in values] for i, name in enumerate(columns)})
                connection.register("given", read)
                connection.execute(f"INSERT INTO rows SELECT {', '.join(columns)} FROM given")
        limits = {name: 2**62 if kind == "BIGINT" else 2**31 - 1 for name, kind in columns.items()}
        engine = DuckDB(path, limits={**limits, "w": UNIT}, threads=1)
        try:
            yield engine
        finally:
            engine.close()


def term(column: str = "c0", low: int = 0, high: int = 10, scale: Any = 1, offset: Any = 0, **rest: Any) -> Term:
    return Term(ir.sealed(column), low, high, Fraction(scale), Fraction(offset), **rest)


def key(column: str = "c1", groups: int = 3, *, missing: bool = False) -> Key:
    return Key(column, ir.sealed(column), tuple(range(groups)), missing)


def text_key(column: str = "c2") -> Key:
    return Key(column, ir.sealed(column), None, missing=True)


def aggregate(kind: str, over: Term | None = None, probability: Any = None, name: str | None = None) -> Aggregate:
    rank = None if probability is None else Fraction(probability)
    return Aggregate(kind, over, rank, name or kind)


def question(*aggregates: Aggregate, keys: Sequence[Key] = (), where: Any = None) -> Question:
    names = (*(key.name for key in keys), *(a.name for a in aggregates))
    return Question("rows", where, tuple(keys), aggregates, After(), "text", names)
