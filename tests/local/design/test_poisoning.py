"""Test the bound on malicious reports: it holds, and it is nearly attained."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import noise
from discreet.errors import ParameterError
from discreet.local.design.poisoning import poisoning
from discreet.local.protocols.frequency.grr import GRR
from discreet.local.protocols.frequency.hadamard import Hadamard
from discreet.local.protocols.frequency.local_hashing import OLH
from discreet.local.protocols.frequency.projective_geometry import Projective
from discreet.local.protocols.frequency.subset_selection import Subset
from discreet.local.protocols.frequency.unary import OUE, SUE
from discreet.local.protocols.numeric.means import Duchi, Hybrid, Piecewise
from discreet.local.protocols.numeric.one_bit_mean import OneBitMean
from discreet.local.protocols.numeric.square_wave import SquareWave
from discreet.local.protocols.protocol import Randomiser
from discreet.local.server.estimate import norm_sub

PROTOCOLS: list[Randomiser] = [
    *(made.for_epsilon(6, 1) for made in (GRR, OUE, SUE, Subset, Hadamard, Projective, SquareWave)),
    OLH(6, 3, 2**63, prime=7),
    *(made.for_epsilon(11, 1) for made in (OneBitMean, Duchi, Piecewise, Hybrid)),
]
N = 400


@pytest.mark.parametrize("randomiser", PROTOCOLS, ids=lambda made: made.name)
def test_no_lie_moves_an_estimate_further_than_its_bound_and_some_lie_does(randomiser: Randomiser) -> None:
    """A fifth of the devices send one report instead of theirs, and every report is tried."""
    honest = randomiser.encode(np.arange(N) % randomiser.domain)
    malicious = N // 5

    def estimated(reports: np.ndarray) -> np.ndarray:
        state = randomiser.state()
        randomiser.add(state, reports)
        return randomiser.estimate(state, N).values

    before = estimated(honest)
    bound = poisoning(randomiser, randomiser.estimate(_state(randomiser, honest), N), "0.2")
    assert bound.malicious == malicious
    worst, single = 0.0, np.frombuffer(b"".join(randomiser.law(0)), np.uint8).reshape(-1, randomiser.payload_bytes)
    for report in single:
        reports = honest.copy()
        reports[:malicious] = report
        worst = max(worst, float(np.abs(estimated(reports) - before).max()))
    assert worst <= bound.shift * (1 + 1e-9)
    extremes = [estimated(np.repeat(report[None, :], N, axis=0)) for report in single]
    assert (np.max(extremes, 0) - np.min(extremes, 0)).max() == pytest.approx(
        float(randomiser.influence), rel=1e-6
    )


def _state(randomiser: Randomiser, reports: np.ndarray) -> np.ndarray:
    state = randomiser.state()
    randomiser.add(state, reports)
    return state


numbers = st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=2, max_size=8)


@given(numbers, st.floats(0.001, 0.3))
def test_the_consistent_version_moves_by_twice_the_bound_at_most(
    pairs: list[tuple[float, float]], t: float
) -> None:
    before = np.array([value for value, _ in pairs])
    after = before + t * np.array([move for _, move in pairs])
    assert np.abs(norm_sub(after) - norm_sub(before)).max() <= 2 * t + 1e-9


def test_so_many_malicious_reports_undo_an_interval() -> None:
    survey = GRR.for_epsilon(2, 1)
    with noise.deterministic(3):
        estimate = survey.estimate(_state(survey, survey.encode(np.zeros(10_000, np.int64))), 10_000)
    found = poisoning(survey, estimate, "0.01", "0.95")
    low, high = estimate.interval("0.95")
    assert found.undone * survey.influence == pytest.approx(float(high[0] - low[0]) / 2)
    assert poisoning(survey, estimate, str(found.undone)).shift == pytest.approx(float(high[0] - low[0]) / 2)
    assert f"({found.malicious:,})" in str(found)


def test_more_than_everybody_cannot_lie() -> None:
    survey = GRR.for_epsilon(2, 1)
    with pytest.raises(ParameterError, match="from 0 to 1"):
        poisoning(survey, survey.estimate(np.array([5, 5]), 10), "1.5")
