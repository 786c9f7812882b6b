"""Test projective spaces: points, orthogonality, and fast sums over hyperplanes."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.local.primitives.galois_fields import field
from discreet.local.primitives.projective_space import points, space

SPACES = [
    (2, 2),
    (2, 3),
    (2, 5),
    (3, 3),
    (3, 4),
    (4, 3),
    (5, 3),
    (7, 2),
    (8, 3),
    (9, 3),
    (16, 3),
    (25, 2),
    (27, 3),
]
every_space = pytest.mark.parametrize(("q", "t"), SPACES)


def coordinates(q: int, t: int) -> list[tuple[int, ...]]:
    """Points as their definition reads: the highest coordinate but zero is 1, in the order of their numbers."""
    vectors = (tuple(number // q**place % q for place in range(t)) for number in range(1, q**t))
    return [v for v in vectors if next(x for x in reversed(v) if x) == 1]


@every_space
def test_points_are_those_of_the_definition(q: int, t: int) -> None:
    expected = [sum(x * q**place for place, x in enumerate(point)) for point in coordinates(q, t)]
    assert space(q, t).vectors(np.arange(points(q, t))).tolist() == expected


@every_space
def test_any_two_points_are_met_by_as_many_others(q: int, t: int) -> None:
    """The design that makes the protocol pure: s points are orthogonal to one, and i to two."""
    met = np.array([space(q, t).orthogonal(index) for index in range(points(q, t))]).astype(np.int64)
    common = met @ met.T
    inside, both = points(q, t - 1), points(q, t - 2)
    np.testing.assert_array_equal(common, np.where(np.eye(len(met)) > 0, inside, both))
    f, point = field(q), coordinates(q, t)
    first, last = point[0], point[-1]
    total = 0
    for a, b in zip(first, last, strict=True):
        total = int(f.plus[total, f.times[a, b]])
    assert met[0, -1] == (total == 0)


@every_space
def test_sums_over_hyperplanes_are_what_adding_up_gives(q: int, t: int) -> None:
    here, total = space(q, t), points(q, t)
    h = (np.arange(total) * 7919 + 13) % 1009 * 10**9
    met = np.array([here.orthogonal(index) for index in range(total)])
    for count in (1, total // 2 + 1, total):
        np.testing.assert_array_equal(here.incidences(h, count), met[:count] @ h)


@every_space
def test_choices_and_points_are_one_to_one(q: int, t: int) -> None:
    here, rest = space(q, t), q ** (t - 1)
    for index in {0, 1, points(q, t) // 2, points(q, t) - 1}:
        met, among, beside = here.orthogonal(index), np.arange(points(q, t - 1)), np.arange(rest)
        u = np.full(len(among), index)
        inside = here.related(u, np.ones(len(u), np.bool_), among, np.zeros_like(u))
        assert sorted(inside) == np.flatnonzero(met).tolist()
        u = np.full(rest, index)
        outside = here.related(u, np.zeros(rest, np.bool_), np.zeros_like(u), beside)
        assert sorted(outside) == np.flatnonzero(~met).tolist()
