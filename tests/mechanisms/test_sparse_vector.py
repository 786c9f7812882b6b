"""Runs: what they answer, when they halt, and what they refuse."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

import pytest

from discreet import noise
from discreet.errors import BudgetExceeded, DiscreetError, ParameterError, SensitivityExceeded
from discreet.mechanisms import AboveThreshold, Exact, NumericSparse, Sensitivity, Sparse
from discreet.mechanisms.sensitivity import Direction
from discreet.mechanisms.threshold_run import Run

HIGH, LOW = Exact(10**9, 1), Exact(-(10**9), 1)
KINDS = [AboveThreshold(1, 0), Sparse(1, 0, positives=2), NumericSparse(1, 0, positives=3)]


@pytest.mark.parametrize("mechanism", KINDS, ids=str)
def test_a_run_halts_after_its_last_positive(mechanism: Sparse) -> None:
    run = mechanism.start()
    for left in reversed(range(mechanism.positives)):
        assert not run.ask(LOW)
        assert run.ask(HIGH)
        assert run.left == left
    for exact in (HIGH, LOW):
        with pytest.raises(BudgetExceeded, match=r"mechanism\.start\(\)"):
            run.ask(exact)


def test_negatives_are_free() -> None:
    run = AboveThreshold(1, 0).start()
    assert not any(run.ask(LOW) for _ in range(2_000))
    assert run.left == 1


def test_a_vector_is_answered_up_to_the_last_positive() -> None:
    high, low = 10**9, -(10**9)
    exact = Exact([low, high, low, high, high, low], Sensitivity(each=1))
    assert Sparse(1, 0, positives=2).release(exact).tolist() == [False, True, False, True]
    assert Sparse(1, 0, positives=9).release(exact).tolist() == [False, True, False, True, True, False]
    numbers = NumericSparse(1, 0, positives=1).release(exact)
    assert numbers[0] is None
    assert abs(numbers[1] - high) < 1000
    assert len(numbers) == 2


def test_extreme_queries_and_thresholds_do_not_wrap() -> None:
    assert not AboveThreshold("1e-9", 2**62 - 1).start().ask(Exact(-(2**80), 1))
    assert AboveThreshold("1e-9", -(2**62) + 1).start().ask(Exact(2**80, 1))
    with pytest.raises(ParameterError, match="threshold"):
        AboveThreshold(1, 2**62)
    with pytest.raises(ParameterError, match="threshold"):
        AboveThreshold(1, -(2**62))


@pytest.mark.parametrize("take", [copy.copy, copy.deepcopy, pickle.dumps, lambda run: run.__getstate__()])
@pytest.mark.parametrize("mechanism", KINDS, ids=str)
def test_a_run_cannot_be_doubled(mechanism: Sparse, take: Any) -> None:
    with pytest.raises(TypeError, match="twice"):
        take(mechanism.start())


def test_a_run_shows_nothing_of_its_line() -> None:
    run = AboveThreshold(1, threshold=7_000_000).start()
    assert repr(run) == "<run with 1 positive left>"
    with pytest.raises(AttributeError):
        run.left = 2  # type: ignore[misc]
    assert {name for name in dir(run) if not name.startswith("_")} == {"ask", "left"}


def test_a_run_refuses_what_is_too_sensitive_before_it_answers() -> None:
    run = AboveThreshold(1, 0, sensitivity=2).start()
    with pytest.raises(SensitivityExceeded):
        run.ask(Exact(10**9, 3))
    with pytest.raises(ParameterError, match="one integer"):
        run.ask(Exact([10**9], 1))
    with pytest.raises(SensitivityExceeded, match="monotonic"):
        AboveThreshold(1, 0, monotonic=True).start().ask(HIGH)
    assert run.left == 1


def going(direction: Direction, value: int = 0) -> Exact:
    return Exact(value, Sensitivity(each=1, monotonic=direction))


@pytest.mark.parametrize(("first", "other"), [("up", "down"), ("down", "up")])
def test_a_monotonic_run_keeps_the_direction_of_its_first_query(first: Direction, other: Direction) -> None:
    run = Sparse(1, 0, positives=3, monotonic=True).start()
    refusals = set()
    for value in (-(10**9), 10**9):
        run.ask(going(first, value))
        with pytest.raises(SensitivityExceeded, match=f'"{first}".*"{other}"') as refusal:
            run.ask(going(other, value))
        refusals.add(str(refusal.value))
    assert len(refusals) == 1
    assert run.left == 2


def test_a_query_that_was_refused_draws_no_noise_and_gives_no_direction() -> None:
    numbers = []
    for interrupted in (False, True):
        with noise.deterministic(5):
            run = NumericSparse(1, -(10**6), positives=9, monotonic=True).start()
            if interrupted:
                with pytest.raises(SensitivityExceeded):
                    run.ask(Exact(0, Sensitivity(each=2, monotonic="up")))
            numbers.append([int(run.ask(going("down")))])
            if interrupted:
                with pytest.raises(SensitivityExceeded):
                    run.ask(going("up"))
            numbers[-1].append(int(run.ask(going("down"))))
    assert numbers[0] == numbers[1]


def test_a_general_run_takes_queries_of_every_direction() -> None:
    run = Sparse(1, 0, positives=9).start()
    for exact in (going("up"), going("down"), Exact(0, 1)):
        assert run.ask(exact) in (True, False)


def test_threads_share_the_positives_of_a_run() -> None:
    run = Sparse(1, 0, positives=50).start()

    def ask(_: int) -> bool:
        try:
            return bool(run.ask(HIGH))
        except BudgetExceeded:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(400))) == 50


def _ask_in_child(run: Run, process: int, queue: Any) -> None:
    try:
        with mock.patch("os.getpid", return_value=process):  # ids come again once there were enough processes
            run.ask(HIGH)
    except DiscreetError as refusal:
        queue.put(str(refusal))
    else:
        queue.put("answered")


def test_a_forked_child_cannot_go_on_with_the_run_of_its_parent() -> None:
    context = multiprocessing.get_context("fork")
    queue, run = context.Queue(), AboveThreshold(1, 0).start()
    child = context.Process(target=_ask_in_child, args=(run, os.getpid(), queue))
    child.start()
    assert "another process" in queue.get(timeout=600)
    child.join()
    assert run.ask(HIGH)


def test_a_run_from_test_bits_marks_its_answers() -> None:
    with noise.deterministic(5):
        answers = [m.start().ask(HIGH) for m in KINDS]
    assert all(isinstance(answer, noise.TestNoise) for answer in answers)


def test_the_mark_of_a_line_from_test_bits_stays_on_what_it_decides_later() -> None:
    with noise.deterministic(5):
        runs = [mechanism.start() for mechanism in KINDS]
    assert all(isinstance(run.ask(HIGH), noise.TestNoise) for run in runs)


@pytest.mark.parametrize("bad", [0, -1, 1.5, True])
def test_a_number_of_positives_that_has_no_meaning_is_refused(bad: Any) -> None:
    with pytest.raises(ParameterError, match="positives"):
        Sparse(1, 0, positives=bad)
