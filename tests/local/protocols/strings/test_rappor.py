"""Test RAPPOR: the exact cost of one report and of a lifetime, estimates with errors, attacks over time."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import noise
from discreet.audit import Subject
from discreet.audit.attacks import exact
from discreet.errors import ParameterError
from discreet.local.primitives.fixed_point import epsilon_above
from discreet.local.primitives.hash_family import fingerprints
from discreet.local.primitives.randomness import FRESH, SCALE, Keyed
from discreet.local.protocols.strings.rappor import Rappor
from tests.local.protocols.exactly import reports_are_well_kept, the_code_has_the_law, worst_ratio

HALF, QUARTER = SCALE // 2, SCALE // 4


def test_the_loss_of_one_report_is_what_the_bytes_show() -> None:
    tiny = Rappor(4, bits=4, hashes=1, cohorts=2, f=HALF, p=QUARTER, q=3 * QUARTER)
    assert tiny.loss.epsilon == epsilon_above(worst_ratio(tiny, range(4)))
    reports_are_well_kept(tiny, np.arange(4))
    two = Rappor(9, bits=6, hashes=2, cohorts=1, f=HALF, p=HALF, q=3 * QUARTER, seed=1)
    assert two.loss.epsilon == epsilon_above(worst_ratio(two, range(9)))  # some two values share no bit


def test_the_code_has_the_law() -> None:
    the_code_has_the_law(Rappor(3, bits=2, hashes=1, cohorts=1, f=HALF, p=QUARTER, q=SCALE, seed=2), (0, 1))


def test_losses_are_the_formulas_of_the_paper() -> None:
    chrome = Rappor(10, bits=128, hashes=2, cohorts=8, f=HALF, p=HALF, q=3 * QUARTER)
    q, p = 0.6875, 0.5625
    assert [float(each) for each in chrome.reported] == [q, p]
    assert float(chrome.loss.epsilon) == pytest.approx(2 * math.log(q * (1 - p) / (p * (1 - q))), abs=1e-11)
    assert float(chrome.lifetime.epsilon) == pytest.approx(4 * math.log(3), abs=1e-11)


@pytest.mark.parametrize(("lifetime", "each"), [("4", "1"), ("2", "1.9"), ("0.5", "0.1")])
def test_parameters_come_from_the_losses_asked_for(lifetime: str, each: str) -> None:
    made = Rappor.for_losses(10, lifetime=lifetime, each=each)
    assert Fraction(lifetime) - Fraction(1, 10**9) < made.lifetime.epsilon <= Fraction(lifetime)
    assert Fraction(each) - Fraction(1, 10**9) < made.loss.epsilon <= Fraction(each)


# -- a lifetime of reports --------------------------------------------------------------------------------


def ratio_of_a_bit(randomiser: Rappor, reports: int, *, memoised: bool) -> Fraction:
    """The worst ratio of a sequence of reports of one bit, set against not set. Their order says nothing."""
    f, p, q = (Fraction(each, SCALE) for each in (randomiser.f, randomiser.p, randomiser.q))

    def likelihood(kept: Fraction, ones: int) -> Fraction:
        if not memoised:
            return (kept * q + (1 - kept) * p) ** ones * (1 - kept * q - (1 - kept) * p) ** (reports - ones)
        sent = [side**ones * (1 - side) ** (reports - ones) for side in (q, p)]
        return kept * sent[0] + (1 - kept) * sent[1]

    ratios = (likelihood(1 - f / 2, ones) / likelihood(f / 2, ones) for ones in range(reports + 1))
    return max(max(ratio, 1 / ratio) for ratio in ratios)


@pytest.mark.parametrize("reports", [1, 2, 10, 100])
def test_kept_bits_never_cost_more_than_the_lifetime_promises(reports: int) -> None:
    made = Rappor.for_losses(10, lifetime=4, each=1)
    assert epsilon_above(ratio_of_a_bit(made, reports, memoised=True) ** 4) <= made.lifetime.epsilon


def test_redrawn_bits_break_the_promise_within_a_week() -> None:
    made = Rappor.for_losses(10, lifetime=4, each=1)
    assert epsilon_above(ratio_of_a_bit(made, 1, memoised=False) ** 4) == made.loss.epsilon
    broken = [
        t
        for t in range(1, 8)
        if epsilon_above(ratio_of_a_bit(made, t, memoised=False) ** 4) > made.lifetime.epsilon
    ]
    assert broken == [5, 6, 7]


TINY = Rappor(2, bits=2, hashes=1, cohorts=1, f=HALF, p=0, q=SCALE, seed=2)


def twice_kept(value: int) -> bytes:
    kept = TINY.permanent(np.array([value]), FRESH)
    return TINY.instant(kept).tobytes() + TINY.instant(kept).tobytes()


def twice_redrawn(value: int) -> bytes:
    return TINY.encode(np.array([value])).tobytes() + TINY.encode(np.array([value])).tobytes()


@pytest.mark.parametrize(("release", "caught"), [(twice_kept, False), (twice_redrawn, True)])
def test_the_auditor_tells_kept_from_redrawn_in_the_code_itself(release: object, caught: bool) -> None:
    subject = Subject(name="two reports", release=release, loss=TINY.lifetime, pairs=[(0, 1)])  # type: ignore[arg-type]
    assert exact.attack(subject).caught is caught


def guessed(reports: int, *, memoised: bool, devices: int = 100) -> float:
    """Return how often the likeliest value, given all reports of a device, is the true one."""
    made = Rappor.for_losses(32, lifetime=4, each=1, bits=64, cohorts=1)
    filters = made._equations(made_items(32)).matrix(0).astype(bool)
    right = 0
    with noise.deterministic(9):
        for device in range(devices):
            value = np.array([device % 32])
            sums = np.zeros(64)
            if memoised:
                kept = made.permanent(value, FRESH)
                sent = made.instant(np.repeat(kept, reports, axis=0))
            else:
                sent = made.instant(made.permanent(np.repeat(value, reports), FRESH))
            sums = np.unpackbits(sent[:, 2:], axis=1, bitorder="little").sum(0)
            scores = sums @ filters / filters.sum(0)
            right += int(np.argmax(scores) == value[0])
    return right / devices


def made_items(domain: int) -> np.ndarray:
    return fingerprints(code.to_bytes(8, "little") for code in range(domain))


def test_a_year_of_redrawn_reports_shows_the_value_and_of_kept_ones_does_not() -> None:
    """Of 100 devices, at 1000 reports: redrawn all but certain (binomial tail at 0.99: 1e-11), kept below half."""
    assert guessed(1000, memoised=False) > 0.85
    assert guessed(1000, memoised=True) < 0.5


# -- estimates ---------------------------------------------------------------------------------------------------


def expected_state(randomiser: Rappor, frequencies: np.ndarray, devices: int) -> np.ndarray:
    """Return what cohorts of so many devices report on average, from the law of every value."""
    table = np.zeros((randomiser.cohorts, randomiser.bits))
    for value, share in enumerate(frequencies):
        for seen, chance in randomiser.law(value).items():
            bits = np.unpackbits(np.frombuffer(seen[2:], np.uint8), count=randomiser.bits, bitorder="little")
            table[seen[0]] += float(chance) * randomiser.cohorts * devices * share * bits
    state: np.ndarray = np.concatenate([np.rint(table.ravel()), np.full(randomiser.cohorts, devices)])
    return state.astype(np.int64)


def test_least_squares_are_unbiased() -> None:
    made = Rappor(5, bits=6, hashes=2, cohorts=3, f=HALF, p=HALF, q=3 * QUARTER)
    truth = np.array([0.5, 0.2, 0.2, 0.1, 0])
    found = made.estimate(expected_state(made, truth, 10**12), 3 * 10**12)
    assert found.values == pytest.approx(truth, abs=1e-9)
    assert made.nonnegative(expected_state(made, truth, 10**12), 3 * 10**12).values == pytest.approx(
        truth, abs=1e-6
    )


def test_stated_errors_are_those_of_the_law() -> None:
    """Of devices drawn from a population into cohorts of a given size; estimates are linear in the bits."""
    made, each = Rappor(3, bits=4, hashes=2, cohorts=2, f=HALF, p=QUARTER, q=3 * QUARTER), 10**10
    truth = np.array([0.7, 0.2, 0.1])
    state = expected_state(made, truth, each)
    base, variance = made.estimate(state, 2 * each), np.zeros(3)
    for cohort in range(2):
        slopes = np.zeros((4, 3))
        for bit in range(4):
            more = state.copy()
            more[cohort * 4 + bit] += each
            slopes[bit] = (made.estimate(more, 2 * each).values - base.values) / each
        sent, chances = [], []
        for value, share in enumerate(truth):
            for seen, chance in made.law(value).items():
                if seen[0] == cohort:
                    sent.append(
                        np.unpackbits(np.frombuffer(seen[2:], np.uint8), count=4, bitorder="little") @ slopes
                    )
                    chances.append(2 * share * float(chance))
        mean = np.array(chances) @ np.array(sent)
        variance += each * (np.array(chances) @ (np.array(sent) - mean) ** 2)
    assert base.standard_errors == pytest.approx(np.sqrt(variance), rel=1e-6)


def test_errors_over_many_collections_are_those_stated() -> None:
    """100 collections of 3000 devices, 12 values: mean z² is 1 within six deviations."""
    made = Rappor.for_losses(12, lifetime=8, each=4, bits=16, cohorts=8)
    weights = 1 / np.arange(1, 13)
    generator, z = np.random.default_rng(5), []
    for seed in range(100):
        values = generator.choice(12, 3000, p=weights / weights.sum())
        with noise.deterministic(seed):
            reports = made.encode(values)
        state = made.state()
        made.add(state, reports)
        found = made.estimate(state, 3000)
        z.append((found.values - weights / weights.sum()) / found.standard_errors)
    assert np.mean(np.square(z)) == pytest.approx(1, abs=0.25)
    assert abs(np.mean(z)) < 6 / math.sqrt(1200)


def test_strings_that_nobody_listed_beforehand_can_be_decoded() -> None:
    """6 standard errors, false alarm below 1e-8."""
    made, n = Rappor.for_losses(2, lifetime=8, each=6, bits=32, cohorts=16), 20_000
    words = fingerprints([b"wombat", b"quokka", b"numbat", b"dingo"])
    with noise.deterministic(6):
        kept = made.permanent_items(words[np.repeat([0, 1], n // 2)], FRESH)
        reports = made.instant(kept)
    state = made.state()
    made.add(state, reports)
    for found in (made.frequencies(state, n, words), made.nonnegative(state, n, words)):
        assert (np.abs(found.values - [0.5, 0.5, 0, 0]) < 6 * found.standard_errors).all()
    assert (made.nonnegative(state, n, words).values >= 0).all()
    assert "biased" in made.nonnegative(state, n, words).kind


def test_a_lie_moves_an_estimate_by_the_influence_at_most_and_some_lie_does() -> None:
    made, each = Rappor(3, bits=4, hashes=1, cohorts=2, f=HALF, p=QUARTER, q=3 * QUARTER), 10**9
    base = expected_state(made, np.full(3, 1 / 3), each)
    moved = []
    for payload in made.law(0):
        state = base.copy()
        made.add(state, np.frombuffer(payload, np.uint8)[None, :])
        state[made.cohorts * made.bits + payload[0]] -= 1  # in place of an honest report without information
        moved.append(2 * each * (made.estimate(state, 2 * each).values - made.estimate(base, 2 * each).values))
    assert np.ptp(moved, axis=0).max() == pytest.approx(made.influence, rel=0.35)
    assert np.ptp(moved, axis=0).max() <= made.influence * 1.001


# -- devices -----------------------------------------------------------------------------------------------------


def test_a_device_keeps_its_cohort_and_its_permanent_bits() -> None:
    made = Rappor.for_losses(100, lifetime=4, each=1)
    cohort = made.cohort(1, Keyed(b"secret", b"cohort"))
    kept = [made.permanent(np.array([7]), Keyed(b"secret", b"value 7"), cohort) for _ in range(2)]
    np.testing.assert_array_equal(kept[0], kept[1])
    other = made.permanent(np.array([8]), Keyed(b"secret", b"value 8"), cohort)
    assert (other[0, :2] == kept[0][0, :2]).all()
    assert (other != kept[0]).any()
    assert (made.instant(kept[0]) != made.instant(kept[0])).any()


def test_keyed_reports_are_the_words_of_the_stream() -> None:
    """Do what a client in another language does: cohort, replacements, fair coins; ones, zeros."""
    made = Rappor(5, bits=4, hashes=2, cohorts=3, f=HALF, p=QUARTER, q=3 * QUARTER)
    stream = Keyed(b"key", b"context")
    cohort = stream.below(3, 1)
    item = fingerprints([(2).to_bytes(8, "little")])
    bits = np.zeros(4, bool)
    bits[made._set(cohort[:, None], item[:, None, :])] = True
    replaced, fair = stream.coins(HALF, 4), stream.coins(HALF, 4)
    kept = np.where(replaced, fair, bits)
    ones, zeros = stream.coins(made.q, 4), stream.coins(made.p, 4)
    sent = np.packbits(np.where(kept, ones, zeros), bitorder="little")
    assert made.encode(np.array([2]), Keyed(b"key", b"context")).tolist() == [[cohort[0], 0, sent[0]]]


def test_what_has_no_meaning_is_refused() -> None:
    with pytest.raises(ParameterError, match="q must be above p"):
        Rappor(5, 8, 2, 4, HALF, HALF, HALF)
    with pytest.raises(ParameterError, match=r"below 2\^63"):
        Rappor(5, 8, 2, 4, HALF, QUARTER, HALF, seed=2**63)
    with pytest.raises(ParameterError, match="hashes"):
        Rappor(5, 8, 65, 4, HALF, QUARTER, HALF)
    with pytest.raises(ParameterError, match="less than all reports together"):
        Rappor.for_losses(5, lifetime=1, each=1)
    crowded = Rappor(50, 4, 1, 2, HALF, QUARTER, HALF)
    with pytest.raises(ParameterError, match="do not distinguish 50 candidates"):
        crowded.estimate(np.ones_like(crowded.state()), 2)
    assert crowded.valid(np.array([[1, 0, 15], [2, 0, 0], [0, 0, 16]], np.uint8)).tolist() == [True, False, False]
