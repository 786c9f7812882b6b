"""The profile of one or two releases, added up atom by atom, against long arithmetic."""

from __future__ import annotations

import mpmath as mp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.privacy.pld.atoms import Atoms
from discreet.privacy.pld.direct_sum import DirectSum

LOSSES = st.floats(-30, 30).map(lambda x: x * 1e-3) | st.floats(-30, 30)
MASSES = st.floats(0, 1).map(lambda x: x**9) | st.floats(0, 1)
RELEASE = st.lists(st.tuples(LOSSES, MASSES), min_size=1, max_size=6)


def atoms(pairs: list[tuple[float, float]]) -> Atoms:
    return Atoms(np.array([x for x, _ in pairs]), np.array([mass for _, mass in pairs]))


def exact(releases: list[list[tuple[float, float]]], epsilon: float) -> mp.mpf:
    with mp.workdps(60):
        sums = [(mp.mpf(0), mp.mpf(1))]
        for pairs in releases:
            sums = [(a + mp.mpf(x), m * mp.mpf(mass)) for a, m in sums for x, mass in pairs]
        return mp.fsum(m * -mp.expm1(epsilon - z) for z, m in sums if z > epsilon)


@settings(deadline=None, max_examples=200)
@given(st.lists(RELEASE, min_size=1, max_size=2), st.floats(0, 40) | st.floats(0, 0.05), st.booleans())
def test_bounds_hold_and_are_close(
    releases: list[list[tuple[float, float]]], epsilon: float, at_an_atom: bool
) -> None:
    if at_an_atom:  # where all digits of a term cancel
        epsilon = max(0.0, sum(pairs[0][0] for pairs in releases))
    found, truth = DirectSum([atoms(pairs) for pairs in releases]), exact(releases, epsilon)
    low, high = found.lower(epsilon), found.upper(epsilon)
    assert low <= truth <= high
    assert high - low <= 1e-8 * float(truth) + 1e-13
