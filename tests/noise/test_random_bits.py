from __future__ import annotations

import copy
import os
import pickle
import random
import threading
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy import stats

from discreet import noise
from discreet.noise.random_bits import Generator, generation, system_bits
from tests.noise.goodness import FALSE_ALARM
from tests.noise.interruptions import at_every_line, forked_midway, in_child, python_fork, raw_fork

forks = pytest.mark.parametrize("fork", [python_fork, raw_fork], ids=["os.fork", "fork of C"])


def keys() -> Callable[[], bytes]:
    numbers = count()
    return lambda: next(numbers).to_bytes(32, "big")


def aes_ctr(key: bytes, size: int) -> bytes:
    return Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(bytes(size))


def test_the_stream_is_aes_in_counter_mode_under_one_key_after_another() -> None:
    new_key = keys()
    expected = b"".join(aes_ctr(new_key(), 64) for _ in range(4))
    stream = Generator(keys(), bytes_per_key=64)
    drawn = b"".join(stream.words(size, np.uint8).tobytes() for size in (5, 100, 1, 0, 150))
    assert drawn == expected


def test_a_key_serves_for_one_mebibyte() -> None:
    keys_left = [bytes([i] * 32) for i in range(4)]
    stream = Generator(keys_left.pop)
    stream.words(3 << 17, np.uint64)
    assert len(keys_left) == 1
    stream.words(1, np.uint8)
    assert not keys_left


def test_bytes_are_even() -> None:
    counts = np.bincount(system_bits().words(1_000_000, np.uint8), minlength=256)
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


def test_integers_of_any_width_fill_their_range() -> None:
    assert {system_bits().integer(3) for _ in range(300)} == set(range(8))
    assert 0 <= system_bits().integer(1000) < 2**1000


@pytest.mark.parametrize("copier", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_generator_cannot_be_copied(copier: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        copier(system_bits())


def test_a_generator_does_not_show_its_state() -> None:
    assert repr(system_bits()).startswith("<discreet.noise.random_bits.Generator object at ")


@forks
@pytest.mark.parametrize(
    "draw",
    [
        lambda: noise.discrete_laplace(10**9, 20).tolist(),
        lambda: [noise.discrete_laplace(10**9) for _ in range(20)],
        lambda: [noise.discrete_gaussian(10**18) for _ in range(20)],
        lambda: [noise.uniform_below(2**100) for _ in range(20)],
    ],
    ids=["array", "reserve", "gaussian reserve", "integers"],
)
def test_parent_and_children_never_draw_the_same_noise(
    draw: Callable[[], list[int]], fork: Callable[[], int]
) -> None:
    draw()  # so that there is a stream and a reserve to inherit
    family = [in_child(draw, fork), in_child(draw, fork), draw()]
    # Twenty draws of scale 10^9 coincide in one place or another with probability below 1e-6, in two below 1e-12.
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert len(set(family[one]) & set(family[other])) <= 1


def test_a_child_whose_process_id_is_that_of_its_parent_has_bits_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ids are used again: a child may get the one of a process that died, whose stream it has inherited."""
    monkeypatch.setattr(os, "getpid", lambda: 1)

    def draw() -> list[int]:
        return [noise.uniform_below(2**100), noise.uniform_below(2**60)]

    draw()
    assert not set(in_child(draw)) & set(draw())


@forks
def test_a_generator_held_across_a_fork_goes_on_differently_in_parent_and_child(fork: Callable[[], int]) -> None:
    bits = system_bits()

    def draw() -> list[int]:
        return bits.words(20, np.uint64).tolist()  # type: ignore[no-any-return]

    draw()  # so that there is a key to inherit
    assert not set(in_child(draw, fork)) & set(draw())


@forks
@pytest.mark.parametrize("line", range(1, 30, 4))
def test_a_fork_amid_a_draw_repeats_no_words_but_those_already_under_way(
    line: int, fork: Callable[[], int]
) -> None:
    bits = Generator(lambda: os.urandom(32))

    def draw() -> list[int]:
        return bits.words(3 << 15, np.uint64)[-20:].tolist()  # type: ignore[no-any-return]  # 3/4 of a key

    parent, child = forked_midway(draw, line, fork)
    assert not set(parent) & set(child)


@forks
def test_every_forked_child_is_a_generation_of_its_own(fork: Callable[[], int]) -> None:
    def family() -> list[int]:
        return [generation(), *in_child(lambda: [generation()], fork)]

    family_tree = [generation(), *in_child(family, fork)]
    assert len(set(family_tree)) == 3
    assert generation() == family_tree[0]


def test_a_child_with_the_process_id_of_its_parent_is_another_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 1)
    parent = generation()
    assert in_child(lambda: [generation()]) != [parent]


@pytest.mark.parametrize(
    "draw",
    [
        lambda count: [noise.discrete_laplace(2**51) for _ in range(count)],
        lambda count: noise.uniform_below(2**63, (count,)).tolist(),
        lambda count: [noise.uniform_below(2**63) for _ in range(count)],
    ],
    ids=["reserve", "array", "integers"],
)
def test_a_draw_may_interrupt_another_at_any_line(draw: Callable[[int], list[int]]) -> None:
    """A signal handler that draws would wait for ever on a lock that the draw below it holds."""

    seldom = random.Random(1)  # so that the reserve runs out in the draw below as well, and at each of its lines

    def interrupted() -> list[int]:
        between: list[int] = []
        return (
            at_every_line(lambda: between.extend(draw(seldom.choice((0, 0, 0, 1)))), lambda: draw(2000)) + between
        )

    drawn = in_child(interrupted)  # where an alarm ends what hangs
    # Two of ten thousand draws of scale 2^51 coincide with probability below 1e-8.
    assert len(set(drawn)) == len(drawn) > 2000


def test_a_draw_that_fails_amid_its_words_leaves_a_generator_that_works() -> None:
    class Interrupted(Exception):
        pass

    def interruption() -> None:
        raise Interrupted

    for _ in range(3):
        with pytest.raises(Interrupted):
            at_every_line(interruption, lambda: noise.discrete_laplace(3, 5))
    assert noise.discrete_laplace(3, 5).shape == (5,)


def test_a_child_can_draw_although_a_thread_of_its_parent_was_drawing() -> None:
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            noise.discrete_laplace(3, 100_000)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(5):
            assert len(in_child(lambda: noise.discrete_laplace(3, 5).tolist())) == 5
    finally:
        stop.set()
        thread.join()


def test_threads_share_a_generator_without_repeating_each_other() -> None:
    drawn: list[int] = []

    def work() -> None:
        mine = noise.uniform_below(2**63, 1000).tolist()
        mine += [noise.uniform_below(2**63) for _ in range(1000)]
        mine += [noise.discrete_laplace(2**52) for _ in range(500)]
        drawn.extend(mine)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # 16,000 draws of 2^63 coincide with probability 2^−36, 4,000 of scale 2^52 with probability below 1e-9.
    assert len(set(drawn)) == len(drawn) == 20_000
