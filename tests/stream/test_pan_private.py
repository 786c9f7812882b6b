"""What an intruder finds: in the file, in the state, and in the memory of the process beside it."""

from __future__ import annotations

import gc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.audit.attacks import exact
from discreet.audit.inputs.subject import Subject
from discreet.errors import BudgetExceeded
from discreet.noise.random_bits import Keystream
from discreet.noise.sampler_cache import Reserve
from discreet.noise.testing import Asked, scripted
from discreet.privacy.losses import Pure
from discreet.stream import Counter, Distinct, Histogram


def found_in_memory() -> list[Any]:
    """Return every key of random bits in the process, by how much of it was used, and every draw in reserve."""
    gc.unfreeze()  # also what was there when the tests began: tests/conftest.py
    gc.collect()
    objects = gc.get_objects()
    # By type: isinstance would also ask every object for its class, and so run code of other packages.
    keys = [(id(one), one._left) for one in objects if type(one) is Keystream]
    held = [(id(one), list(one._drawn)) for one in objects if type(one) is Reserve]
    return [sorted(keys), sorted(held)]


def distinct() -> Any:
    return Distinct(64, epsilon=2, releases=3, looks=2)


STREAMS: dict[str, Any] = {
    "laplace": lambda: Counter(epsilon=1, horizon=64, pan_private=True),
    "gaussian": lambda: Counter(epsilon=1, delta="1e-9", horizon=64, pan_private=True),
    "without end": lambda: Counter(epsilon=1, pan_private=True),
    "keys": lambda: Histogram(["a", "b"], epsilon=1, horizon=64, pan_private=True),
    "distinct": distinct,
}


def test_the_memory_holds_no_noise_of_a_private_state_and_no_key_that_it_came_from() -> None:
    """A key gives all bits of its stream, those that were used and those to come, and so does a draw in reserve.

    With either of them one look at the memory shows exact sums: the noise of open nodes, or of their releases.
    """
    before = found_in_memory()
    streams = {kind: make() for kind, make in STREAMS.items()}
    for kind, stream in streams.items():
        for count in (3, 4, 5):
            stream.add({"a": count} if kind == "keys" else ["x"] * count if kind == "distinct" else count)
            stream.release()
        stream.refresh()
    assert found_in_memory() == before


def test_the_same_look_finds_the_noise_of_an_ordinary_stream() -> None:
    """So the test above would see it: the reserve of this law, and the key that it was drawn with."""
    before = found_in_memory()
    counter = Counter(epsilon="0.987", horizon=64)
    counter.add(1)
    assert found_in_memory() != before


def test_open_nodes_of_keys_do_not_keep_the_noise_of_other_nodes_alive() -> None:
    pages = Histogram(["a", "b"], epsilon=1, horizon=64, pan_private=True)
    for _ in range(5):
        pages.add({"a": 1})
    nodes = pages._sums._open  # type: ignore[attr-defined]
    assert all(np.asarray(node).base is None for node in nodes)


def test_every_state_of_distinct_users_has_its_part_of_epsilon() -> None:
    """A user visits before and after an announced look. With the odds of one look both bits would show it."""

    def release(looks: int) -> Any:
        def run(users: list[str]) -> Any:
            count = Distinct(2, epsilon=2, looks=looks)
            count.add(users)
            seen = [count.look()["bits"]]
            count._bits, count._refreshed = count._begun(), 1
            count.add(users)
            return [*seen, count.look()["bits"]]

        return run

    # Two looks and no release: they may show half of ε.
    subjects = [
        Subject(name="two looks", release=release(looks), loss=Pure(1), pairs=[([], ["a"])]) for looks in (1, 2)
    ]
    one, two = (exact.attack(subject, unexplored="1e-3", most=20_000).caught for subject in subjects)
    assert one
    assert not two


def test_a_look_that_was_not_agreed_on_is_refused_for_free() -> None:
    users = Distinct(64, epsilon=1)
    before = users.look()
    with pytest.raises(BudgetExceeded, match="looks=2"):
        users.refresh()
    assert users.look() == before
    several = Distinct(64, epsilon=1, looks=3)
    several.refresh()
    several.refresh()
    with pytest.raises(BudgetExceeded, match="looks=4"):
        several.refresh()
    assert "3 looks" in " ".join(several.label.notes)


def test_releases_share_the_half_of_epsilon_that_looks_leave() -> None:
    """The noise that is drawn, asked of the sampler itself: k releases of scale 2k/ε are (ε/2)-DP together."""
    for releases in (1, 5):
        users, asked = Distinct(8, epsilon=2, releases=releases), list[Asked]()

        def choose(one: Asked, seen: list[Asked] = asked) -> int:
            seen.append(one)
            return 0

        with scripted(choose):
            count = Distinct(8, epsilon=2, releases=releases)
            count.release()
        assert asked[-1] == Asked("discrete_laplace", Fraction(releases))
        assert users.label.noise[0].spread == releases
