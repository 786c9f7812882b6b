"""Test dBitFlip: the loss from the bytes, the variance from the law, one report for a lifetime."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from discreet import noise
from discreet.audit import law
from discreet.errors import ParameterError
from discreet.local.primitives.randomness import FRESH, SCALE
from discreet.local.protocols.numeric.dbitflip import BitFlip
from tests.local.protocols.exactly import (
    estimates_of,
    mean_and_variance,
    reports_are_well_kept,
    the_code_has_the_law,
    the_loss_is_the_worst_ratio,
)


@pytest.mark.parametrize(("domain", "bits"), [(4, 1), (4, 2), (3, 3)])
@pytest.mark.parametrize("epsilon", ["0.5", "3"])
def test_the_loss_is_what_the_bytes_show(domain: int, bits: int, epsilon: str) -> None:
    randomiser = BitFlip.for_epsilon(domain, epsilon, bits=bits)
    the_loss_is_the_worst_ratio(randomiser, range(domain))
    the_code_has_the_law(randomiser, (0, domain - 1))
    assert float(epsilon) - 1e-9 < randomiser.loss.epsilon <= Fraction(epsilon)
    reports_are_well_kept(randomiser, np.arange(domain))


def test_every_set_of_buckets_is_as_likely() -> None:
    found = law(lambda: tuple(BitFlip(5, 3, SCALE // 4).buckets(1, FRESH)[0].tolist()), unexplored="1e-12")
    assert len(found.chances) == 10
    for buckets in combinations(range(5), 3):
        low, high = found.chance(buckets)
        assert low - 1e-12 <= 0.1 <= high + 1e-12


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_the_estimate_is_unbiased_with_the_variance_of_the_paper(bits: int) -> None:
    randomiser = BitFlip.for_epsilon(4, 1, bits=bits)
    mean, variance = mean_and_variance(randomiser, 2)
    flip = randomiser.flip / SCALE
    noisy = flip * (1 - flip) / (1 - 2 * flip) ** 2
    assert mean == pytest.approx(np.eye(4)[2], abs=1e-9)
    assert variance == pytest.approx([4 / bits * (noisy + f) - f for f in np.eye(4)[2]])


def test_estimates_are_within_their_errors_of_the_truth() -> None:
    """20,000 devices, 10 buckets: 6 standard errors each, false alarm below 2e-8."""
    randomiser, n = BitFlip.for_epsilon(10, 2, bits=3), 20_000
    values = np.repeat(np.arange(10), [9000, 5000, 3000, 1000, 1000, 1000, 0, 0, 0, 0])
    with noise.deterministic(4):
        reports = randomiser.encode(values)
    state = randomiser.state()
    randomiser.add(state, reports)
    found = randomiser.estimate(state, n)
    truth = np.bincount(values, minlength=10) / n
    assert (np.abs(found.values - truth) < 6 * found.standard_errors).all()


def test_stated_errors_are_those_of_the_law() -> None:
    """All devices hold bucket 2, and the state is what is expected of them: the plug-in variance is exact."""
    randomiser, n = BitFlip.for_epsilon(4, 1, bits=2), 10**15
    asked, flip = np.full(4, n // 2), randomiser.flip / SCALE
    ones = np.rint(asked * np.where(np.arange(4) == 2, 1 - flip, flip)).astype(np.int64)
    found = randomiser.estimate(np.concatenate([asked, ones]), n)
    assert found.standard_errors == pytest.approx(np.sqrt(mean_and_variance(randomiser, 2)[1] / n), rel=1e-6)


def test_influence_is_the_widest_that_two_reports_differ() -> None:
    randomiser = BitFlip.for_epsilon(4, 1, bits=2)
    seen = np.array([estimates_of(randomiser, payload) for payload in randomiser.law(0)])
    assert randomiser.influence == pytest.approx(np.ptp(seen, axis=0).max())


def test_a_device_has_one_set_of_buckets_and_one_answer_for_each_case() -> None:
    randomiser = BitFlip.for_epsilon(20, 1, bits=3)
    reports = [randomiser.remembered(value, b"secret", b"collection").tobytes() for value in range(20)]
    assert reports == [randomiser.remembered(value, b"secret", b"collection").tobytes() for value in range(20)]
    assert len({report[:6] for report in reports}) == 1
    assert len(set(reports)) <= 4
    mine = np.frombuffer(reports[0][:6], "<u2").tolist()
    assert len({report for value, report in enumerate(reports) if value not in mine}) == 1
    assert reports != [randomiser.remembered(value, b"other", b"collection").tobytes() for value in range(20)]


def test_remembered_reports_of_many_devices_estimate_the_truth() -> None:
    """2000 keys: 6 standard errors, false alarm below 2e-8."""
    randomiser = BitFlip.for_epsilon(5, 2, bits=2)
    reports = np.vstack([randomiser.remembered(i % 2, b"%d" % i, b"c") for i in range(2000)])
    assert randomiser.valid(reports).all()
    state = randomiser.state()
    randomiser.add(state, reports)
    found = randomiser.estimate(state, 2000)
    assert (np.abs(found.values - [0.5, 0.5, 0, 0, 0]) < 6 * found.standard_errors).all()


def test_lists_that_no_device_makes_are_no_reports() -> None:
    randomiser = BitFlip(5, 2, SCALE // 4)
    lists = [[0, 0, 4, 0, 3], [4, 0, 0, 0, 3], [1, 0, 1, 0, 0], [0, 0, 5, 0, 0], [0, 0, 4, 0, 4]]
    assert randomiser.valid(np.array(lists, np.uint8)).tolist() == [True, False, False, False, False]


@pytest.mark.parametrize(
    ("parameters", "said"), [((1, 1, 2**62), "domain"), ((4, 5, 2**62), "bits"), ((4, 2, 2**63), "flip")]
)
def test_what_has_no_meaning_is_refused(parameters: tuple[int, int, int], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        BitFlip(*parameters)
