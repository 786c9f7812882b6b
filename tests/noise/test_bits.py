from __future__ import annotations

import copy
import ctypes
import os
import pickle
import signal
import threading
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy import stats

from discreet import noise
from discreet.noise.bits import Keystream, system_bits

from .goodness import FALSE_ALARM

python_fork: Callable[[], int] = os.fork
raw_fork: Callable[[], int] = ctypes.PyDLL(None).fork  # runs none of Python's hooks


def in_child(draw: Callable[[], list[int]], fork: Callable[[], int] = python_fork) -> list[int]:
    """What `draw` returns in a forked process."""
    receive, send = os.pipe()
    if (child := fork()) == 0:
        signal.alarm(30)  # a child that hangs on an inherited lock dies
        os.write(send, repr(draw()).encode())
        os._exit(0)
    os.close(send)
    with os.fdopen(receive) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return [int(number) for number in said.strip("[]").split(",")]


def keys() -> Callable[[], bytes]:
    numbers = count()
    return lambda: next(numbers).to_bytes(32, "big")


def aes_ctr(key: bytes, size: int) -> bytes:
    return Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(bytes(size))


def test_the_stream_is_aes_in_counter_mode_under_one_key_after_another() -> None:
    new_key = keys()
    expected = b"".join(aes_ctr(new_key(), 64) for _ in range(4))
    stream = Keystream(keys(), bytes_per_key=64)
    drawn = b"".join(stream.words(size, np.uint8).tobytes() for size in (5, 100, 1, 0, 150))
    assert drawn == expected


def test_a_key_serves_for_one_mebibyte() -> None:
    keys_left = [bytes([i] * 32) for i in range(4)]
    stream = Keystream(keys_left.pop)
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
    assert repr(system_bits()).startswith("<discreet.noise.bits.Keystream object at ")


@pytest.mark.parametrize("fork", [python_fork, raw_fork], ids=["os.fork", "fork of C"])
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


def test_a_child_can_draw_although_a_thread_of_its_parent_held_the_lock() -> None:
    with system_bits()._lock:
        assert len(in_child(lambda: noise.discrete_laplace(3, 5).tolist())) == 5


def test_threads_share_a_generator_without_repeating_each_other() -> None:
    drawn: list[int] = []

    def work() -> None:
        mine = noise.uniform_below(2**63, 1000).tolist()
        mine += [noise.uniform_below(2**63) for _ in range(1000)]
        drawn.extend(mine)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # 16,000 draws of 2^63 coincide with probability 2^−36.
    assert len(set(drawn)) == len(drawn) == 16_000
