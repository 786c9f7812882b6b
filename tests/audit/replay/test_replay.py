"""Record and replay lets honest computations pass, and catches the mistakes that real libraries made."""

from __future__ import annotations

import json
import math
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.audit.inputs.neighbours import bases
from discreet.audit.replay.recorder import primitive
from discreet.audit.replay.replay import findings, replay
from discreet.audit.replay.tape import Diverged
from discreet.errors import ParameterError, SensitivityExceeded
from discreet.mechanisms import (
    Exact,
    Exponential,
    Gaussian,
    Laplace,
    Sensitivity,
)
from discreet.privacy import Pure, Session
from tests.audit.computations import (
    HONEST,
    ONE,
    PEOPLE,
    VISITS,
    Rows,
    caught,
    clamped_sum,
    count_in_bath,
    histogram,
    passes,
    whole,
)

# -- honest computations pass -----------------------------------------------------------------------------------


@pytest.mark.parametrize("computation", HONEST, ids=lambda f: f.__name__)
def test_an_honest_computation_passes_on_all_neighbours(computation: Callable[[Rows], Any]) -> None:
    assert "no value exceeded its declared sensitivity" in passes(computation).words


def test_a_sum_bounded_per_person_passes_whatever_ids_people_have() -> None:
    def bounded(rows: Rows) -> Any:
        spent: dict[Any, int] = {}
        for row in rows:
            spent[row["id"]] = min(100, spent.get(row["id"], 0) + whole(row["cost"], 100))
        return Laplace(scale=100, sensitivity=100).release(Exact(sum(spent.values()), sensitivity=100))

    passes(bounded, VISITS, person="id")


def test_a_released_value_is_plain_in_a_replay_as_it_is_outside() -> None:
    def written(rows: Rows) -> str:
        return json.dumps([count_in_bath(rows), {count_in_bath(rows): 1}, histogram(rows)])

    passes(written)


def test_the_same_exception_on_both_sides_is_not_a_finding_and_is_mentioned() -> None:
    words = replay(lambda rows: ONE.release(Exact(len(rows), sensitivity=2)), PEOPLE).words
    assert "raised the same exception" in words


def test_an_exception_on_every_table_after_a_release_is_not_a_finding() -> None:
    def refused(rows: Rows) -> Any:
        try:
            return Laplace(scale=1).release(Exact(len(rows), sensitivity=7))
        except SensitivityExceeded:
            return count_in_bath(rows)

    passes(refused)


# -- dishonest ones are caught ----------------------------------------------------------------------------------


def test_a_mean_over_the_number_of_rows_is_caught() -> None:
    words = caught(lambda rows: clamped_sum(rows) / max(1, len(rows)), name="a mean")
    assert words.startswith("a mean: the table")
    assert "the result changes although every release is held fixed" in words


def test_categories_from_the_data_are_caught() -> None:
    def by_city(rows: Rows) -> Any:
        counts = Counter(row["city"] for row in rows)
        return ONE.release(Exact([0, *counts.values()], sensitivity=1))

    assert "has a value of shape (5,) instead of (4,)" in caught(by_city)


def test_categories_from_the_data_released_one_by_one_are_caught() -> None:
    def by_city(rows: Rows) -> Any:
        return [ONE.release(Exact(n, sensitivity=1)) for n in Counter(row["city"] for row in rows).values()]

    assert "one more call, 4, Laplace.release" in caught(by_city)


def test_an_exception_on_a_missing_value_is_caught() -> None:
    def total(rows: Rows) -> Any:
        return Laplace(scale=50, sensitivity=100).release(
            Exact(sum(max(0, min(100, row["age"])) for row in rows), sensitivity=100)
        )

    words = caught(total, limit=None)
    assert "whose age is None: it raises TypeError" in words
    assert "on the table itself it returns" in words


def test_a_loop_that_the_exact_data_stop_is_caught() -> None:
    def until_enough(rows: Rows) -> Any:
        return [count_in_bath(rows) for row in rows if row["city"] == "Bath"]

    assert {finding.kind for finding in findings(until_enough, PEOPLE, limit=5)} >= {"flow"}
    assert "one more call, 3" in caught(until_enough)


def test_a_call_that_no_longer_happens_is_caught() -> None:
    def only_in_company(rows: Rows) -> Any:
        return count_in_bath(rows) if len(rows) >= len(PEOPLE) else 0

    # The result alone would not show it: the release on one table may be 0 by chance.
    assert any("does not happen" in finding.words for finding in findings(only_in_company, PEOPLE))


def test_another_kind_of_mechanism_is_caught() -> None:
    def either(rows: Rows) -> Any:
        mechanism: Any = ONE if len(rows) % 2 else Gaussian(variance=1)
        return mechanism.release(Exact(len(rows), sensitivity=1))

    assert "call 1 is Laplace.release instead of Gaussian.release" in caught(either)


def test_a_sum_that_wraps_around_is_caught() -> None:
    def wrapping(rows: Rows) -> Any:
        total = np.int32(2**31 - 60)
        for row in rows:
            total = total + np.int32(whole(row["age"], 100))
        return Laplace(scale=100, sensitivity=100).release(Exact(int(total), sensitivity=100))

    words = caught(wrapping)
    assert "changes by 42949" in words
    assert "(each), but the declared sensitivity is 100" in words


def test_a_person_with_unbounded_rows_is_caught() -> None:
    def visits(rows: Rows) -> Any:
        return ONE.release(Exact(len(rows), sensitivity=1))

    passes(visits, VISITS)
    words = caught(visits, VISITS, person="id")
    assert "with a person of 1,000 rows" in words
    assert "changes by 1000 (each), but the declared sensitivity is 1" in words


def test_code_that_takes_one_id_for_another_is_caught() -> None:
    """Clamped to ±10 per person, but "1" and 1 are merged: then one person turns −10 into +10."""

    def balance(rows: Rows) -> Any:
        totals: Counter[str] = Counter()
        for row in rows:
            totals[str(row["id"])] += row["move"] if row["move"] in (-10, 10, 30) else 0
        clamped = sum(max(-10, min(10, total)) for total in totals.values())
        return Laplace(scale=10, sensitivity=10).release(Exact(clamped, sensitivity=10))

    rows: Rows = [{"id": 1, "move": -10}, {"id": "1", "move": 30}, {"id": 2, "move": 10}]
    assert "without id '1'" in caught(balance, rows, limit=None, person="id")


def test_a_person_whose_id_is_written_in_two_ways_is_one_person() -> None:
    def people(rows: Rows) -> Any:
        return ONE.release(Exact(len({str(row["id"]) for row in rows}), sensitivity=1))

    assert "ids written in two ways, without id 1" in caught(people, VISITS, limit=None, person="id")


def test_a_scale_from_the_data_is_caught() -> None:
    def by_range(rows: Rows) -> Any:
        most = max((whole(row["age"], 1000) for row in rows), default=0) + 1
        return Laplace(scale=most, sensitivity=1000).release(Exact(len(rows), sensitivity=1))

    assert "has other parameters: mechanism=Laplace(scale=" in caught(by_range)


def test_a_sensitivity_from_the_data_is_caught() -> None:
    def by_size(rows: Rows) -> Any:
        return Laplace(scale=1, sensitivity=10**6).release(Exact(0, sensitivity=len(rows) + 1))

    assert "declares Sensitivity(" in caught(by_size)


def test_an_unnoised_value_that_is_returned_is_caught() -> None:
    words = caught(lambda rows: (count_in_bath(rows), len(rows) > 2))
    assert "held fixed" in words
    assert "False) becomes" in words


@dataclass
class Answer:
    """A result as a record, whose repr leaves out the middle of its long vector."""

    vector: Any


class Silent:
    """A result whose repr does not show its values."""

    def __init__(self, number: int):
        self.number, self.itself = number, self


@pytest.mark.parametrize(
    "hidden",
    [
        lambda rows: Answer(np.where(np.arange(5000) == 2500, len(rows), 0)),
        lambda rows: [{"model": Silent(len(rows))}],
    ],
    ids=["in a record", "in an object"],
)
def test_an_unnoised_value_inside_a_result_is_caught(hidden: Callable[[Rows], Any]) -> None:
    assert "the result changes" in caught(hidden, limit=3)


class Slotted:
    __slots__ = ("number",)

    def __init__(self, number: int):
        self.number = number


class Unwritten(Silent):
    """A result without a repr."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


@pytest.mark.parametrize(
    "hidden",
    [
        lambda rows: Slotted(len(rows)),
        lambda rows: Unwritten(len(rows)),
        lambda rows: {"all": (row["age"] for row in rows)},
        lambda rows: True if len(rows) % 2 else 1,
        lambda rows: float(2) if len(rows) % 2 else 2,
        lambda rows: math.nan if len(rows) % 2 else "NaN",
    ],
    ids=["in slots", "in what cannot be written", "in a generator", "in True or 1", "in 2 or 2.0", "in NaN"],
)
def test_what_only_a_close_look_shows_is_caught(hidden: Callable[[Rows], Any]) -> None:
    assert "the result changes" in caught(lambda rows: (count_in_bath(rows), hidden(rows)), limit=3)


def test_results_that_show_nothing_are_refused() -> None:
    async def later(rows: Rows) -> int:
        return len(rows)

    with pytest.raises(ParameterError, match="a coroutine, which is not awaited"):
        replay(later, PEOPLE)
    with pytest.raises(ParameterError, match="a function that shows nothing"):
        replay(lambda rows: (count_in_bath(rows), lambda: rows), PEOPLE)


def test_an_exit_that_depends_on_the_data_is_caught() -> None:
    def leaves(rows: Rows) -> Any:
        if any(row["weight"] != row["weight"] for row in rows):
            sys.exit(3)
        return count_in_bath(rows)

    assert "it raises SystemExit: 3; on the table itself it returns" in caught(leaves, limit=None)


def test_a_primitive_that_ends_python_is_recorded_as_any_other_that_raises() -> None:
    @primitive
    def out(value: Any, *, sensitivity: int) -> None:
        sys.exit(3)

    def caught_out(rows: Rows) -> str:
        with pytest.raises(SystemExit):
            out(len(rows), sensitivity=1)
        return "out"

    assert not replay(caught_out, PEOPLE, limit=3).caught


def test_a_note_that_an_exception_carries_is_caught() -> None:
    def noted(rows: Rows) -> None:
        error = ValueError("bad")
        error.add_note(f"of {len(rows)} rows")
        raise error

    assert "ValueError: bad\nof 5 rows" in caught(noted, limit=3)


def test_an_honest_result_may_be_an_object() -> None:
    passes(lambda rows: Silent(count_in_bath(rows)), limit=10)


def test_the_words_name_what_else_was_found_and_what_was_tried() -> None:
    def thrice(rows: Rows) -> Any:
        return [ONE.release(Exact(7 * len(rows), sensitivity=1)) for _ in range(3)], len(rows)

    words = caught(thrice, limit=5)
    assert "And 3 more. Tried" in words
    assert f"Tried {len(findings(thrice, PEOPLE, limit=5)) // 4} neighbours of" in words


def test_a_direction_that_is_not_kept_is_caught() -> None:
    def older_than_the_young(rows: Rows) -> Any:
        difference = sum(1 if whole(row["age"], 100) >= 40 else -1 for row in rows)
        votes = Exact([difference, 0], Sensitivity(entries=1, each=1, monotonic="up"))
        return Exponential(1, monotonic=True).release(votes)

    assert 'goes down although "up" was declared' in caught(older_than_the_young)


def test_a_leaving_person_lowers_what_goes_up() -> None:
    for rows in (PEOPLE, PEOPLE[:1]):
        assert not [f for f in findings(clamped_sum, rows) if f.kind == "distance"]


def test_noise_that_is_not_recorded_is_caught() -> None:
    generator = np.random.default_rng(1)
    words = caught(lambda rows: len(rows) + generator.laplace())
    assert "run twice: the result changes" in words
    assert "@primitive" in words


def test_unrecorded_randomness_in_an_exact_value_is_caught() -> None:
    generator = np.random.default_rng(1)

    def sampled(rows: Rows) -> Any:
        chosen = int(sum(generator.integers(1000) for _ in range(3)))
        return (
            ONE.release(Exact(chosen, sensitivity=10**6))
            if chosen < 0
            else Gaussian(variance=1, sensitivity=10**6).release(Exact(chosen, sensitivity=10**6))
        )

    assert "run twice: an exact value changes" in caught(sampled)


def test_a_session_that_outlives_the_run_is_caught() -> None:
    session = Session(Pure(1))

    def spending(rows: Rows) -> Any:
        session.charge(Pure(1))
        return count_in_bath(rows)

    assert "keeps state from one run to the next" in caught(spending)


def test_a_release_from_another_thread_is_caught() -> None:
    def threaded(rows: Rows) -> list[Any]:
        answers: list[Any] = []
        release = threading.Thread(
            target=lambda: answers.append(Laplace(scale=10**9).release(Exact(len(rows), sensitivity=1)))
        )
        release.start()
        release.join()
        return answers

    assert "stay in one thread" in caught(threaded)


def test_code_that_catches_everything_cannot_hide_a_departure() -> None:
    def secretive(rows: Rows) -> str:
        for _ in rows:
            try:
                count_in_bath(rows)
            except:  # noqa: E722
                return "fine"
        return "fine"

    assert "one more call, 5" in caught(secretive)


def test_an_exception_that_ends_a_replay_is_not_caught_by_code_that_catches_exceptions() -> None:
    assert not issubclass(Diverged, Exception)


# -- what is asked of it ----------------------------------------------------------------------------------------


def test_a_limit_bounds_the_neighbours_of_each_table() -> None:
    tables = len(list(bases(PEOPLE)))
    assert f"{2 * tables} neighbours of {tables} tables" in passes(count_in_bath, limit=2).words


def test_no_rows_and_an_unknown_person_column_are_refused() -> None:
    with pytest.raises(ParameterError, match="a table to start from"):
        replay(count_in_bath, [])
    with pytest.raises(ParameterError, match=r"No row has the column 'name'.*\['age', 'weight', 'city'\]"):
        replay(count_in_bath, PEOPLE, person="name")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"computation": 3}, r"must be a function of the rows \(found: int\)"),
        ({"rows": [1, 2]}, r"a list of dictionaries, one for each row \(found: row 0 is of type int\)"),
        ({"rows": [{"age": 1}, None]}, "row 1 is of type NoneType"),
        ({"rows": "age"}, "row 0 is of type str"),
        ({"rows": 7}, "row 0 is of type int"),
        ({"rows": pd.DataFrame({"age": [1]})}, r'row 0 is of type str.*frame.to_dict\("records"\)'),
        ({"limit": 0}, r"limit must be a whole number, 1 or more \(found: 0\)"),
        ({"limit": -1}, r"limit must be a whole number, 1 or more \(found: -1\)"),
        ({"seed": 1.5}, r"seed must be a whole number, 0 or more \(found: 1.5\)"),
        ({"seed": -1}, "seed must be a whole number"),
    ],
)
def test_parameters_without_a_meaning_are_refused_with_an_explanation(options: dict[str, Any], says: str) -> None:
    given: dict[str, Any] = {"computation": count_in_bath, "rows": PEOPLE} | options
    with pytest.raises(ParameterError, match=says):
        replay(given.pop("computation"), given.pop("rows"), **given)


def test_cells_of_any_kind_are_taken() -> None:
    cells = [object(), [1, [2]], {"a": 1}, np.array([1, 2]), Unwritten(1), len]
    passes(number_of_rows, [{"cell": cell} for cell in cells], limit=5)
    passes(number_of_rows, [{"id": cell} for cell in cells], limit=5, person="id")


def number_of_rows(rows: Rows) -> Any:
    return Laplace(scale=1, sensitivity=1000).release(Exact(len(rows), sensitivity=1000))


def test_a_computation_that_releases_nothing_is_reported_as_such() -> None:
    verdict = replay(lambda rows: 7, PEOPLE)
    assert not verdict.caught
    assert "released nothing" in verdict.words


def test_a_norm_that_is_not_known_is_refused() -> None:
    with pytest.raises(ParameterError, match='norm must be "l1" or "l2"'):
        primitive(norm="l3")  # type: ignore[call-overload]
