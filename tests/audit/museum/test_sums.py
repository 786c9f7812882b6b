from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from discreet.audit.museum import sums
from discreet.audit.museum.exhibit import Exhibit
from discreet.audit.replay.recorder import recording
from discreet.audit.replay.replay import findings

Rows = list[dict[str, Any]]


@pytest.mark.parametrize(
    ("exhibit", "said"),
    [
        (sums.NAN, ["hours is nan", "changes by inf (l1), but the declared sensitivity is 60"]),
        (sums.FLOAT_ORDER, ["without row 0", "changes by 3712 (l1), but the declared sensitivity is 60"]),
        (sums.OVERFLOW, ["with a copy of row", "but the declared sensitivity is 1073741824"]),
        (sums.DENOMINATOR, ["sensitivity=25.0", "sensitivity=33.3"]),
        (sums.BOUNDS, ["but the declared sensitivity is 0"]),
        (
            sums.CONTRIBUTION,
            ["with a person of 1,000 rows", "changes by 1000 (l1), but the declared sensitivity is 1"],
        ),
    ],
    ids=lambda part: part.name if isinstance(part, Exhibit) else "",
)
def test_the_words_name_the_neighbour_and_the_change_of_the_sum(exhibit: Exhibit, said: list[str]) -> None:
    words = exhibit.broken().words
    assert all(part in words for part in said), words


def test_nothing_but_nan_gets_past_the_clip() -> None:
    """NaN and None, which a data frame reads as NaN: a table that already holds one of them shows nothing more."""
    rows = [{"hours": 38.5}, {"hours": 12.0}]
    where = {finding.words for finding in findings(sums.clipped_sum, rows, seed=1)}
    assert where
    assert all("nan" in words or "None" in words or "extreme" in words for words in where), where


def test_rounding_alone_changes_the_sum_by_more_than_its_sensitivity() -> None:
    """Every time is within the minute: no neighbour here is out of bounds."""
    start = 1_750_000_000
    rows: Rows = [{"time": float(start + second)} for second in range(40)]
    moved = [finding for finding in findings(sums.sum_then_shift, rows, seed=1) if "without row" in finding.words]
    assert max(finding.excess for finding in moved) > 10


def test_in_32_bits_one_penny_makes_the_sum_overflow() -> None:
    full: Rows = [{"pence": 2**30}, {"pence": 2**30 - 1}]
    with recording(seed=1) as tape:
        sums.sum_in_32_bits(full)
        sums.sum_in_32_bits([*full, {"pence": 1}])
        sums.saturated_sum([*full, {"pence": 1}])
    assert [call.value for call in tape.calls] == [2**31 - 1, -(2**31), 2**31 - 1]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None, "12", 10**400, -1, 1e308])
def test_any_value_is_brought_within_the_bounds(value: Any) -> None:
    assert 0 <= sums.within(value, 0, 60) <= 60


@pytest.mark.parametrize("release", [sums.mean_of_noisy_parts, sums.squares_by_both_bounds, sums.filled_sum])
def test_what_is_mended_answers_on_an_empty_table(release: Callable[[Rows], float]) -> None:
    assert math.isfinite(release([]))


def test_a_patient_with_five_visits_changes_the_count_by_five() -> None:
    rows = [{"patient": name} for name in ("ann", "ann", "bob", "ann", "ann", "ann")]
    worst = [f for f in findings(sums.count_of_rows, rows, person="patient", seed=1) if "'ann'" in f.words]
    assert "changes by 5 (l1), but the declared sensitivity is 1" in worst[0].words
    assert worst[0].excess == 5
