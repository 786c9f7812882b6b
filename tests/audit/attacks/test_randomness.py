from __future__ import annotations

import gc
import os
import secrets
import signal
from collections.abc import Callable
from itertools import count, cycle
from typing import Any

import pytest

from discreet import noise
from discreet.audit.attacks import randomness
from discreet.audit.attacks.randomness import ChildFailed, in_child
from discreet.errors import ParameterError
from discreet.noise.random_bits import system_bits


@pytest.mark.parametrize(
    "draw",
    [
        lambda: noise.discrete_laplace(10**9),
        lambda: noise.discrete_laplace(10**9, 4),
        lambda: noise.discrete_gaussian(10**18),
        lambda: noise.discrete_gaussian(10**18, 4),
        lambda: noise.uniform_below(2**64),
        lambda: noise.uniform_below(2**100),
        lambda: noise.uniform_below(2**63, 2),
        lambda: [noise.bernoulli("1/3") for _ in range(64)],
        lambda: noise.bernoulli("1/3", 64),
        lambda: [noise.bernoulli_exp("1/2") for _ in range(64)],
        lambda: noise.bernoulli_exp("1/2", 64),
    ],
    ids=[
        *("laplace reserve", "laplace array", "gaussian reserve", "gaussian array", "uniform", "wide uniform"),
        *("uniform array", "coins from reserve", "coins", "exponential coins from reserve", "exponential coins"),
    ],
)
def test_no_shipped_function_draws_the_same_noise_twice(draw: Callable[[], Any]) -> None:
    draw()  # so that there is a reserve to inherit
    verdict = randomness.attack(draw, name="it")
    assert verdict.words == "it has no second holder: tried a repetition, a fork."
    assert not verdict.caught
    assert verdict.attack == "randomness"


def test_the_shipped_generator_is_neither_shared_nor_copied() -> None:
    verdict = randomness.attack(lambda bits: bits.integer(64), generator=system_bits(), name="it")
    assert not verdict.caught
    assert verdict.words.endswith(
        "a copy, which is refused, a deep copy, which is refused, a pickle, which is refused."
    )


@pytest.mark.parametrize(
    ("period", "words"), [(1, "after 1 draw."), (3, "after 3 draws."), (16, "after 16 draws.")]
)
def test_a_short_period_is_caught(period: int, words: str) -> None:
    again = cycle([secrets.randbits(64) for _ in range(period)])
    verdict = randomness.attack(lambda: next(again), name="it")
    assert verdict.caught
    assert verdict.words == f"it repeats itself {words}"


def test_a_state_that_a_child_inherits_is_caught() -> None:
    numbers = count(secrets.randbits(64))
    verdict = randomness.attack(lambda: next(numbers), name="it")
    assert verdict.caught
    assert "shared after a fork: one child and another child have the same first 16 draws" in verdict.words


def test_a_cache_that_a_child_inherits_is_caught_although_the_generator_behind_it_is_fresh() -> None:
    reserve = [secrets.randbits(64) for _ in range(37)]

    def draw() -> int:
        return reserve.pop() if reserve else secrets.randbits(64)

    verdict = randomness.attack(draw)
    assert verdict.caught
    assert "have the same first 5 draws" in verdict.words


def test_children_that_differ_from_their_parent_but_not_from_each_other_are_caught() -> None:
    parent, numbers = os.getpid(), count()

    def draw() -> int:
        return secrets.randbits(64) if os.getpid() == parent else next(numbers)

    assert randomness.attack(draw).caught


class Reseeded:
    """Has a new state in every child, but copies share the state."""

    def __init__(self) -> None:
        self.pid, self.state = os.getpid(), secrets.randbits(128)

    def draw(self) -> int:
        if self.pid != os.getpid():
            self.__init__()  # type: ignore[misc]
        self.state = self.state * 0x2360ED051FC65DA44385DF649FCCF645 + 1 & 2**128 - 1
        return self.state >> 64


class CopiedAfresh(Reseeded):
    __copy__ = __deepcopy__ = lambda self, *_: type(self)()


def test_a_generator_that_shares_its_stream_with_its_copies_is_caught() -> None:
    verdict = randomness.attack(Reseeded.draw, generator=Reseeded(), name="it")
    assert verdict.caught
    assert verdict.words == "it shares its stream with a copy, a deep copy, a pickle of it."


def test_a_pickle_alone_is_enough() -> None:
    verdict = randomness.attack(CopiedAfresh.draw, generator=CopiedAfresh(), name="it")
    assert verdict.words == "it shares its stream with a pickle of it."


def test_a_generator_whose_copy_is_itself_has_one_holder() -> None:
    class Single(Reseeded):
        __copy__ = __deepcopy__ = lambda self, *_: self

        def __reduce_ex__(self, protocol: object) -> Any:
            raise TypeError("One holder.")

    assert not randomness.attack(Single.draw, generator=Single()).caught


def test_too_few_draws_to_tell_anything_are_refused() -> None:
    with pytest.raises(ParameterError, match="count must be a whole number, 4 or more"):
        randomness.attack(lambda: 4, count=0)


def test_a_child_that_cannot_draw_is_reported() -> None:
    parent = os.getpid()

    def draw() -> int:
        if os.getpid() != parent:
            raise OSError("no entropy here")
        return secrets.randbits(64)

    verdict = randomness.attack(draw)
    assert not verdict.caught
    assert "a fork, without success (The forked process failed (found: OSError: no entropy here))" in verdict.words


def test_a_child_that_hangs_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(randomness, "_PATIENCE", 0.1)
    with pytest.raises(ChildFailed, match="gave no answer in time"):
        in_child(signal.pause)


def test_a_child_that_is_killed_is_reported() -> None:
    with pytest.raises(ChildFailed, match="it died"):
        in_child(lambda: os.kill(os.getpid(), signal.SIGKILL))


def test_a_system_without_fork_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    verdict = randomness.attack(lambda: noise.uniform_below(2**64))
    assert not verdict.caught
    assert "a fork, without success (This system has no fork)" in verdict.words


def test_children_leave_neither_zombies_nor_open_files() -> None:
    gc.collect()  # what earlier tests left open is closed at any time, so one file for each child must add up
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(30):
        child = in_child(os.getpid)
        with pytest.raises(ChildProcessError):
            os.waitpid(child, 0)
    assert len(os.listdir("/proc/self/fd")) <= before


def test_long_answers_of_a_child_arrive_complete() -> None:
    assert in_child(lambda: list(range(100_000))) == list(range(100_000))
