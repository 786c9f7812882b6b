"""The binary tree: sensitivity by enumeration, its estimate from below, and looks at a private state."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.noise.testing import scripted
from discreet.privacy.losses import Pure, ZeroConcentrated
from discreet.stream.factorisations import epochs
from discreet.stream.factorisations.epochs import Epochs, length_of
from discreet.stream.factorisations.toeplitz import ToeplitzSums
from discreet.stream.factorisations.tree import TreeSums
from discreet.stream.factorisations.units import Person


def released_nodes(counts: list[int], **options: Any) -> list[int]:
    """Return the exact sums of all nodes that close, in their order: what each draw of noise is added to."""
    sums, seen = TreeSums(Pure(1), len(counts), **options), list[int]()

    class Nodes(TreeSums):
        def _close(self, level: int) -> tuple[Any, float]:
            seen.append(int(self._open[level]))
            return super()._close(level)

    sums.__class__ = Nodes  # the shipped code with a view of what it closes
    with scripted(lambda asked: 0):
        for count in counts:
            sums.push(count)
    assert sums.value == sum(counts)
    return seen


@pytest.mark.parametrize("horizon", [1, 2, 3, 5, 8, 13])
def test_an_event_is_in_one_node_of_each_level(horizon: int) -> None:
    zero = released_nodes([0] * horizon)
    changes = []
    for tick in range(horizon):
        moved = released_nodes([int(tick == place) for place in range(horizon)])
        changes.append(sum(abs(a - b) for a, b in zip(moved, zero, strict=True)))
    assert max(changes) <= horizon.bit_length() == TreeSums(Pure(1), horizon).sensitivity_l1


@pytest.mark.parametrize(("events", "apart"), [(2, 0), (2, 1), (3, 2), (3, 4)])
def test_a_person_changes_nodes_by_no_more_than_the_bound(events: int, apart: int) -> None:
    horizon, worst = 13, 0
    bound = TreeSums(ZeroConcentrated(1), horizon, unit=Person(events, apart)).sensitivity_squared
    for places in itertools.combinations_with_replacement(range(horizon), events):
        if all(b - a >= apart for a, b in itertools.pairwise(places)):
            counts = [places.count(place) for place in range(horizon)]
            worst = max(worst, sum(node**2 for node in released_nodes(counts)))
    assert worst <= bound
    assert worst >= bound / 2


@pytest.mark.parametrize("pan_private", [False, True])
def test_the_estimate_from_below_has_the_variance_of_its_closed_form(pan_private: bool) -> None:
    """20,000 keys: a sample variance has a standard deviation of 1 %."""
    keys, horizon = 20_000, 15
    sums = TreeSums(ZeroConcentrated(Fraction(1, 200)), horizon, keys=keys, pan_private=pan_private)
    values = sums.push_many(np.full((horizon, keys), 2))
    for tick in range(1, horizon + 1):
        digits = [level for level in range(4) if tick >> level & 1]
        wanted = float(sums.scale) * (1 + pan_private) * sum(1 / (2 - 2.0**-level) for level in digits)
        assert values[tick - 1].var() == pytest.approx(wanted, rel=0.07)


@pytest.mark.parametrize("loss", [Pure(1), ZeroConcentrated("0.1")])
def test_intervals_hold_at_every_tick(loss: Any) -> None:
    keys, horizon = 5000, 20
    sums = TreeSums(loss, horizon, keys=keys)
    for tick in range(1, horizon + 1):
        sums.push(np.ones(keys, np.int64))
        inside = np.abs(sums.value - tick) <= sums.margins(np.array([tick]), Fraction(1, 20))[0]
        assert inside.mean() > 0.95 - 6 * np.sqrt(0.05 * 0.95 / keys)


def test_no_exact_sum_is_in_a_private_state() -> None:
    """A state of counts far apart has no number that noise does not cover: two runs never agree in one."""
    with noise.deterministic(3):
        first = TreeSums(Pure("0.001"), 100, pan_private=True)
    with noise.deterministic(4):
        second = TreeSums(Pure("0.001"), 100, pan_private=True)
    for sums, seed in ((first, 5), (second, 6)):
        with noise.deterministic(seed):
            for _ in range(37):
                sums.push(10)
    held = [{int(one) for one in sums.state()["open"]} for sums in (first, second)]
    assert not held[0] & held[1]
    assert not held[0] & set(range(0, 371, 10))


def test_a_refresh_adds_noise_to_every_open_node_and_margins_say_so() -> None:
    sums = TreeSums(ZeroConcentrated(1), 8, pan_private=True)
    for _ in range(3):
        sums.push(1)
    before = sums.state()["open"]
    sums.refresh()
    assert sums.state()["draws"] == [3] * 4
    assert len(before) == 4
    sums.push(1)
    wide = sums.margins(np.array([4]), Fraction(1, 20))[0]
    plain = TreeSums(ZeroConcentrated(1), 8, pan_private=True).margins(np.array([4]), Fraction(1, 20))[0]
    assert wide > plain


def test_a_sum_over_many_epochs_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epochs, "FIRST", 4)
    monkeypatch.setattr(epochs, "GROWTH", 2)
    sums = Epochs(lambda length: ToeplitzSums(Fraction(5000), length))
    values = sums.push_many(np.full(50, 10))
    assert sums.epoch == 3
    assert np.allclose(values, 10 * np.arange(1, 51), atol=1)
    again = Epochs(lambda length: ToeplitzSums(Fraction(5000), length))
    again.restore(sums.state())
    again.push(10)
    assert again.tick == 51
    assert again.value == pytest.approx(510, abs=1)


def test_epochs_go_on_and_their_intervals_hold() -> None:
    keys, ticks = 2000, 1100
    sums = Epochs(lambda length: ToeplitzSums(Fraction(1, 2), length, keys=keys))
    values = sums.push_many(np.ones((ticks, keys), np.int64))
    assert sums.tick == ticks
    assert sums.epoch == 1
    assert length_of(0) == 1024
    margins = sums.margins(np.array([1000, 1100]), Fraction(1, 20))
    for tick, margin in zip((1000, 1100), margins, strict=True):
        inside = (np.abs(values[tick - 1] - tick) <= margin).mean()
        assert 0.95 - 6 * np.sqrt(0.05 * 0.95 / keys) < inside < 0.98
