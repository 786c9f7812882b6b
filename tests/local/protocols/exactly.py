"""Check every protocol by enumeration over the bytes of its reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from discreet.audit import law
from discreet.errors import ParameterError
from discreet.local.primitives.fixed_point import epsilon_above
from discreet.local.protocols.protocol import Randomiser, Values
from discreet.local.server.estimate import Floats


def worst_ratio(randomiser: Randomiser, values: Iterable[int]) -> Fraction:
    """Return the largest ratio of probabilities of the same bytes, of laws that each add up to 1."""
    laws = [randomiser.law(value) for value in values]
    assert all(sum(each.values()) == 1 for each in laws)
    assert all(each.keys() == laws[0].keys() for each in laws)
    return max(P[seen] / Q[seen] for P, Q in permutations(laws, 2) for seen in P)


def the_loss_is_the_worst_ratio(randomiser: Randomiser, values: Iterable[int]) -> None:
    """Check that the stated ε is the logarithm of the worst ratio, rounded up at the twelfth place."""
    assert randomiser.loss.epsilon == epsilon_above(worst_ratio(randomiser, values))


def one_report(randomiser: Randomiser, value: int) -> Callable[[], bytes]:
    """Return a device that reports on a value."""
    return lambda: randomiser.encode(np.array([value])).tobytes()


def the_code_has_the_law(randomiser: Randomiser, values: Iterable[int], *, most: int = 100_000) -> None:
    """Check that the stated law is that of the code, enumerated draw by draw."""
    for value in values:
        stated = randomiser.law(value)
        found = law(one_report(randomiser, value), unexplored="1e-9", most=most)
        assert len(found.chances) == len(stated)
        for seen, chance in stated.items():
            low, high = found.chance(seen)
            assert low - 1e-15 <= chance <= high + found.unexplored + 1e-15


def estimates_of(randomiser: Randomiser, payload: bytes) -> Floats:
    """Return the estimate of a server from this one report."""
    state = randomiser.state()
    randomiser.add(state, np.frombuffer(payload, np.uint8)[None, :])
    return randomiser.estimate(state, 1).values


def mean_and_variance(randomiser: Randomiser, value: int) -> tuple[Floats, Floats]:
    """Return mean and variance of the estimate from one report on a value, from the law."""
    reports = [(float(chance), estimates_of(randomiser, seen)) for seen, chance in randomiser.law(value).items()]
    chances, found = np.array([p for p, _ in reports]), np.array([x for _, x in reports])
    mean = chances @ found
    return mean, chances @ (found - mean) ** 2


def reports_are_well_kept(randomiser: Randomiser, values: Values) -> None:
    """Check lengths, validity, sums of states, and the refusal of values outside the domain."""
    reports = randomiser.encode(values)
    assert reports.dtype == np.uint8
    assert reports.shape == (len(values), randomiser.payload_bytes)
    assert randomiser.valid(reports).all()
    parts, whole = [randomiser.state() for _ in range(2)], randomiser.state()
    half = len(values) // 2
    randomiser.add(parts[0], reports[:half])
    randomiser.add(parts[1], reports[half:])
    randomiser.add(whole, reports)
    assert whole.dtype == np.int64
    np.testing.assert_array_equal(parts[0] + parts[1], whole)
    assert randomiser.encode(np.zeros(0, np.int64)).shape == (0, randomiser.payload_bytes)
    assert type(randomiser)(**randomiser.parameters()) == randomiser
    assert all(type(each) is int for each in randomiser.parameters().values())
    with pytest.raises(ParameterError, match="from 0 to"):
        randomiser.encode(np.array([0, randomiser.domain]))
