"""The recorder records every mechanism, answers from its tape, and restores all classes."""

from __future__ import annotations

import inspect
import threading
from dataclasses import dataclass
from typing import Any

import pytest

import discreet.mechanisms
from discreet import noise
from discreet.audit.replay.recorder import listened, recording, replaying
from discreet.audit.replay.replay import replay
from discreet.audit.replay.tape import Diverged
from discreet.mechanisms import (
    AboveThreshold,
    Exact,
    Laplace,
    NumericSparse,
    Sensitivity,
    Sparse,
)
from discreet.mechanisms.threshold_run import NumericRun, Run
from discreet.privacy import Session
from tests.audit.computations import (
    ONE,
    PEOPLE,
    Rows,
    count_in_bath,
)


def public_methods() -> dict[tuple[type, str], Any]:
    return {(owner, name): vars(owner)[name] for owner, name in listened()}


def test_every_public_mechanism_is_recorded() -> None:
    public = [getattr(discreet.mechanisms, name) for name in discreet.mechanisms.__all__]
    for mechanism in (
        thing for thing in public if hasattr(thing, "loss") and thing is not discreet.mechanisms.Mechanism
    ):
        owner = next(kind for kind in inspect.getmro(mechanism) if "release" in vars(kind))
        assert (owner, "release") in listened()
    assert {(Run, "ask"), (NumericRun, "ask"), (Session, "charge")} <= listened()


def test_a_derived_mechanism_is_recorded() -> None:
    @dataclass(frozen=True)
    class Wider(Laplace):
        def release(self, exact: Exact) -> Any:
            return 2 * super().release(exact)

    with recording(seed=1) as tape:
        noisy = Wider(scale=1).release(exact=Exact(3, sensitivity=1))
    assert [(call.what, call.answer) for call in tape.calls] == [("Wider.release", noisy)]


def test_calls_within_a_call_count_once() -> None:
    exact = Exact([5, 50], Sensitivity(each=1))
    with recording(seed=1) as tape:
        NumericSparse(epsilon=1, threshold=9).release(exact)
        NumericSparse(epsilon=1, threshold=9).start().ask(Exact(5, sensitivity=1))
    assert [call.what for call in tape.calls] == ["NumericSparse.release", "NumericSparse.ask"]


@pytest.mark.parametrize("error", [None, ZeroDivisionError, KeyboardInterrupt])
def test_classes_are_restored(error: type[BaseException] | None) -> None:
    before = public_methods()

    def inside() -> None:
        with recording(seed=1), recording(seed=2):
            assert not any(vars(owner)[name] is method for (owner, name), method in before.items())
            if error:
                raise error

    if error:
        with pytest.raises(error):
            inside()
    else:
        inside()
    after = public_methods()
    assert all(after[place] is method for place, method in before.items())


def test_classes_are_restored_after_an_audit_that_was_interrupted() -> None:
    def interrupted(rows: Rows) -> None:
        raise KeyboardInterrupt

    before = public_methods()
    with pytest.raises(KeyboardInterrupt):
        replay(interrupted, PEOPLE)
    assert all(public_methods()[place] is method for place, method in before.items())


def test_other_threads_are_untouched() -> None:
    drawn: list[Any] = []

    def elsewhere() -> None:
        drawn.extend(Laplace(scale=10**12).release(Exact(0, sensitivity=1)) for _ in range(4))

    with recording(seed=1) as tape:
        count_in_bath(PEOPLE)
    with replaying(tape) as again:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert (len(tape.calls), len(again.calls)) == (1, 0)
    assert len(set(drawn)) == 4  # two of four alike: about 6 in 10¹²
    assert not any(noise.testing.is_test_noise(value) for value in drawn)


def test_blocks_in_two_threads_at_once_do_not_take_each_others_calls() -> None:
    before, tapes = public_methods(), {}
    inside, leave = threading.Barrier(2), threading.Barrier(2)

    def record(number: int) -> None:
        with recording(seed=number) as tape:
            inside.wait(60)
            Laplace(scale=number + 1).release(Exact(number, sensitivity=1))
            leave.wait(60)
        tapes[number] = [(int(call.value), call.parameters["mechanism"].scale) for call in tape.calls]

    threads = [threading.Thread(target=record, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tapes == {0: [(0, 1)], 1: [(1, 2)]}
    assert all(public_methods()[place] is method for place, method in before.items())


def test_what_a_caller_does_to_a_released_value_does_not_reach_the_tape() -> None:
    def spoiling() -> list[int]:
        noisy: Any = ONE.release(Exact([1, 2], sensitivity=1))
        seen = noisy.tolist()
        noisy[:] = 0
        return list(seen)

    with recording(seed=1) as tape:
        first = spoiling()
    for _ in range(2):
        with replaying(tape):
            assert spoiling() == first


def test_a_run_that_is_answered_from_the_tape_keeps_counting() -> None:
    def ask(count: int) -> tuple[bool, int]:
        run = AboveThreshold(epsilon=1, threshold=100).start()
        return run.ask(Exact(count, sensitivity=1)), run.left

    with recording(seed=1) as tape:
        assert ask(10_000) == (True, 0)
    with replaying(tape):
        assert ask(-10_000) == (True, 0)


def test_questions_to_another_run_are_a_departure() -> None:
    def ask(second: bool) -> None:
        runs = [Sparse(epsilon=1, threshold=10**6, positives=9).start() for _ in range(2)]
        for run in (runs[0], runs[1], runs[second]):
            run.ask(Exact(3, sensitivity=1))

    with recording(seed=1) as tape:
        ask(False)
    with replaying(tape) as again, pytest.raises(Diverged, match="another run"):
        ask(True)
    assert again.departure == "call 3 (Sparse.ask) belongs to another run or session"


def test_a_replay_that_departed_once_is_over() -> None:
    with recording(seed=1) as tape:
        count_in_bath(PEOPLE)
    with replaying(tape) as again:
        with pytest.raises(Diverged, match="other parameters"):
            Laplace(scale=2).release(Exact(1, sensitivity=1))
        with pytest.raises(Diverged, match="other parameters"):
            count_in_bath(PEOPLE)
    assert not again.calls


def test_the_same_seed_gives_the_same_audit() -> None:
    def leaky(rows: Rows) -> Any:
        return count_in_bath(rows) + len(rows)

    first, second = (replay(leaky, PEOPLE, seed=11, limit=3).words for _ in range(2))
    assert first == second
    assert any(replay(leaky, PEOPLE, seed=seed, limit=3).words != first for seed in range(5))
