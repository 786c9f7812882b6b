"""Replay understands partition selection: its keys are secret, and what it keeps is released at its own loss."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from discreet.audit.replay.recorder import recording
from discreet.mechanisms.exact import ExactByKey
from discreet.privacy import Session, ZeroConcentrated
from discreet.query.plan.partition_selection import Partition, selection, sensitivity
from tests.audit.computations import Rows, caught, passes

PER_PERSON = 2
CHOSEN = selection(rho=8, delta="1e-3", rows_per_person=PER_PERSON, unit=1)
"""It keeps a town of four persons or more, as a rule."""

TOWNS: Rows = [
    *({"id": person, "town": town} for person in range(6) for town in ("Bath", "York")),
    {"id": 6, "town": "Foula"},
    {"id": 6, "town": "Unst"},
    {"id": 6, "town": "Yell"},
]


def presence(rows: Rows, *, per_person: int = PER_PERSON, each: int = 1) -> ExactByKey:
    """Count the persons in each town: the first towns of a person, and each person at most `each` times."""
    visits: dict[Any, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows:
        visits[row["id"]][repr(row["town"])] += 1
    counts: dict[Partition, int] = defaultdict(int)
    for towns in visits.values():
        for town, times in list(towns.items())[:per_person]:
            counts[town,] += min(times, each)
    return ExactByKey(counts, sensitivity(PER_PERSON, unit=1))


def kept(rows: Rows, **bounds: int) -> list[Partition]:
    return CHOSEN.release(presence(rows, **bounds), most=10)


def test_partition_selection_passes_at_its_own_losses() -> None:
    with recording(seed=7) as tape:
        assert kept(TOWNS) == [("'Bath'",), ("'York'",)]
    assert [(call.what, call.losses) for call in tape.calls] == [("Selection.release", CHOSEN.losses)]
    passes(kept, TOWNS, person="id", loss=CHOSEN.losses, limit=60)


def test_a_person_in_more_partitions_than_the_bound_is_caught() -> None:
    words = caught(lambda rows: kept(rows, per_person=3), TOWNS, person="id", limit=60)
    assert "Selection.release, changes by 3 (entries), but the declared sensitivity is 2" in words


def test_a_person_who_counts_more_than_once_in_a_partition_is_caught() -> None:
    twice = [*TOWNS, {"id": 0, "town": "Bath"}]
    words = caught(lambda rows: kept(rows, each=2), twice, person="id", limit=60)
    assert "Selection.release, changes by 2 (each), but the declared sensitivity is 1" in words


HALF = selection(rho=4, delta="1e-3", rows_per_person=PER_PERSON, unit=1)


@pytest.mark.parametrize(
    "claimed",
    [HALF.losses, CHOSEN.losses[:1], selection(8, "1e-4", PER_PERSON, unit=1).losses],
    ids=["half of ρ", "no δ", "a tenth of δ"],
)
def test_partitions_at_less_than_their_losses_are_caught(claimed: Any) -> None:
    assert "was declared" in caught(kept, TOWNS, person="id", loss=claimed, limit=60)


def test_partitions_that_charge_only_their_noise_are_caught() -> None:
    def charged(rows: Rows) -> Any:
        Session(ZeroConcentrated(9)).charge(CHOSEN.losses[0])  # type: ignore[arg-type]
        return kept(rows)

    words = caught(charged, TOWNS, person="id", limit=60)
    assert "Approximate(epsilon=0, delta=1/1000)" in words
    assert "was charged" in words


@pytest.mark.parametrize(
    ("leak", "words"),
    [
        (lambda rows: CHOSEN.release(presence(rows), most=len(rows)), "has other parameters: most="),
        (lambda rows: (kept(rows), len({repr(row["town"]) for row in rows})), "the result changes"),
        (lambda rows: kept(rows) if len({repr(row["town"]) for row in rows}) > 4 else [], "does not happen"),
    ],
    ids=["most from the rows", "the number of candidates", "no call without candidates"],
)
def test_what_else_depends_on_the_candidates_is_caught(leak: Callable[[Rows], Any], words: str) -> None:
    assert words in caught(leak, TOWNS, person="id", limit=60)
