"""Persons are counted, numbered and weighed the same, whatever their identifiers and however they are counted."""

from __future__ import annotations

import contextlib
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.duckdb import DuckDB
from discreet.engines.nodes import Column as Code
from discreet.engines.statement import FULL, OTHERS
from discreet.errors import SealingFailed
from discreet.schema import Column, Integer, Text
from discreet.schema.metadata import UNIT
from discreet.sealing.backends.tally import fits, tallied
from discreet.sealing.seal import seal
from tests.vault.sealed_tables import scratch, sealed, tables, types

Row = tuple[int | None, str | None, str | None]
"""A person, and two texts."""

LETTERS = st.sampled_from([None, "", "a", "b", "c"])
ROWS: st.SearchStrategy[list[Row]] = st.lists(
    st.tuples(st.none() | st.integers(0, 4), LETTERS, LETTERS), max_size=14
)

KINDS: dict[str, tuple[Callable[[int], Any], pa.DataType]] = {
    "a byte with a sign": (lambda i: -128 + i * 63, pa.int8()),
    "close together": (lambda i: 10**12 - i, pa.int64()),
    "unsigned, close together": (lambda i: 2**63 - 6 + i, pa.uint64()),
    "unsigned, beyond what has a sign": (lambda i: 2**63 - 2 + i, pa.uint64()),
    "apart, in 32 bits": (lambda i: i * 10**8, pa.int32()),
    "the largest distance": (lambda i: (2**31 - 3) * i // 4 - 1, pa.int64()),
    "too far apart": (lambda i: (2**31 - 2) * i // 4, pa.int64()),
    "all over": (lambda i: (i - 2) * 2**62 - (i == 4), pa.int64()),
    "a decimal": (lambda i: i, pa.decimal128(20, 0)),
    "a truth": (lambda i: i % 2 == 0, pa.bool_()),
    "a text": (lambda i: f"p{i}", pa.string()),
}
COLUMNS: dict[str, Column] = {"s": Text(), "t": Text(), "u": Integer(0, 99)}


def source(rows: list[Row], kind: str) -> pa.Table:
    identifier, declared = KINDS[kind]
    who = [None if person is None else identifier(person) for person, *_ in rows]
    return pa.table(
        {
            "who": pa.array(who, declared),
            "s": pa.array([s for _, s, _ in rows], pa.string()),
            "t": pa.array([t for *_, t in rows], pa.string()),
            "u": pa.array(range(len(rows)), pa.int64()),
        }
    )


def person_of(row: Row, kind: str) -> Any:
    return None if row[0] is None else KINDS[kind][0](row[0])


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=8)
@given(ROWS, st.integers(1, 3))
def test_rows_of_one_person_are_together_and_weigh_what_is_allowed(
    kind: str, rows: list[Row], allowed: int
) -> None:
    with scratch() as place:
        seal(source(rows, kind), to=place / "v", person="who", rows_per_person=allowed, columns=COLUMNS, threads=1)
        result = sealed(place / "v")
    assert sorted(row["c2"] for row in result) == list(range(len(rows)))
    sizes = Counter(person_of(row, kind) for row in rows)
    numbers: dict[Any, int] = {}
    spots, texts = Counter[Any](), dict[tuple[Any, int], list[Any]]()
    for row in result:
        own = rows[row["c2"]]
        person = person_of(own, kind)
        assert (row["c0"], row["c1"]) == own[1:]
        assert numbers.setdefault(person, row["person"]) == row["person"]
        n = sizes[person]
        assert row["w"] == (UNIT if n <= allowed else UNIT * allowed // n)
        spots[person] += row["spot"]
        for i in (0, 1):
            if allowed > 1 and row[f"once{i}"]:
                texts.setdefault((person, i), []).append(row[f"c{i}"])
    assert len({*numbers.values()}) == len(sizes), "no two persons have one number"
    assert spots == {person: min(n, allowed) for person, n in sizes.items()}
    for (person, _), marked in texts.items():
        assert len({*marked}) == len(marked) == sizes[person], (
            "a mark is true for all rows of a person or for none"
        )


@pytest.mark.parametrize("kind", ["close together", "apart, in 32 bits", "a text"])
@settings(deadline=None, max_examples=8)
@given(ROWS, st.integers(2, 4))
def test_persons_by_text_are_counted_as_if_gathered_one_by_one(kind: str, rows: list[Row], allowed: int) -> None:
    expected: dict[Any, Counter[Any]] = {}
    sizes = Counter(row[0] for row in rows)
    for person, s, t in rows:
        n = sizes[person]
        expected.setdefault((s, t), Counter())[person] += UNIT if n <= allowed else UNIT * allowed // n
    with scratch() as place:
        seal(source(rows, kind), to=place / "v", person="who", rows_per_person=allowed, columns=COLUMNS, threads=1)
        with contextlib.closing(DuckDB(place / "v" / "rows.duckdb", limits={"w": UNIT, "c2": 99})) as engine:
            asked = engine.rows.persons(where=None, keys=[Code("c0"), Code("c1")], cap=UNIT)
            assert asked.lean is not None
            counted = engine.run(asked)
    found = {key: int(total) for key, (total,) in zip(counted.keys, counted.sums, strict=True)}
    assert found == {key: sum(min(UNIT, w) for w in each.values()) for key, each in expected.items()}


def test_numbers_of_persons_have_32_bits(tmp_path: Path) -> None:
    for i, kind in enumerate(["close together", "all over", "a text"]):
        place = tmp_path / f"v{i}"
        seal(source([(0, "a", "a"), (4, "b", "b")], kind), to=place, person="who", columns=COLUMNS)
        assert types(place)["person"] == "INTEGER"


def test_a_column_in_which_most_persons_have_a_text_twice_is_not_marked(tmp_path: Path) -> None:
    """All persons repeat the first text and none the second, so only the second tells who is apart."""
    rows: list[Row] = [(i // 3 % 5, "always", f"{i}") for i in range(15)]
    for kind in ("close together", "a text"):
        place = tmp_path / kind.replace(" ", "-")
        seal(source(rows, kind), to=place, person="who", rows_per_person=3, columns=COLUMNS)
        full = [row["c2"] for row in sealed(place, table=FULL)]
        result = sealed(place)
        assert not any(row["once0"] for row in result)
        assert sorted(row["c2"] for row in result if row["once1"]) == sorted(full)
        assert len(full) >= 9, "two of 45 pairs of texts may share a bit by chance, rarely more"


@pytest.mark.parametrize("kind", ["close together", "a text"])
def test_persons_with_a_text_twice_are_stored_apart_with_full_weight(tmp_path: Path, kind: str) -> None:
    rows: list[Row] = [(i // 2, f"{i}", f"{i}" if i > 3 else "same") for i in range(10)]
    seal(source(rows, kind), to=tmp_path / "v", person="who", rows_per_person=2, columns=COLUMNS)
    assert tables(tmp_path / "v") == {FULL, OTHERS}
    apart = sealed(tmp_path / "v", table=OTHERS)
    assert {0, 1, 2, 3} <= {row["c2"] for row in apart}
    assert all(row["w"] == UNIT and row["spot"] for row in apart)
    whole = sealed(tmp_path / "v", table=FULL)
    assert {"w", "spot", "once0", "once1"}.isdisjoint(whole[0]), "what is the same for every row is not stored"
    assert len(whole) + len(apart) == 10


def test_few_numbers_are_counted_in_arrays() -> None:
    assert fits(2 * 10**6, 10**6, 1)
    assert not fits(5 * 10**6, 10**6, 0), "more places than rows"
    assert not fits(2**27, 2**27, 0), "more than 256 MiB"


def test_many_rows_of_many_persons_are_counted_in_parts(tmp_path: Path) -> None:
    """200,000 rows are several batches, and 7 of 100,000 persons have more than two rows."""
    who = np.concatenate([np.arange(100_000), np.arange(100_000), np.repeat(np.arange(7), 3)])
    table = pa.table({"who": who, "n": who % 100})
    seal(table, to=tmp_path / "v", person="who", rows_per_person=2, columns={"n": Integer(0, 99)})
    weights = Counter(row["w"] for row in sealed(tmp_path / "v"))
    assert weights == {UNIT: 2 * 99_993, UNIT * 2 // 5: 35}


def test_a_failure_of_the_engine_while_persons_are_counted_quotes_no_row() -> None:
    broken = "SELECT CASE WHEN range < 70000 THEN 0 ELSE error('secret row')::INTEGER END FROM range(80000)"
    with duckdb.connect() as connection, pytest.raises(SealingFailed) as failure:
        tallied(connection, broken, 2, [], "weighing persons", None)
    assert "secret" not in "".join(traceback.format_exception(failure.value))
