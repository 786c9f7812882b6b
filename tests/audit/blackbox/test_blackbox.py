"""The black-box attack catches broken claims, stays below the true loss, and accepts answers of any type.

Attacks run at a confidence of 1 − 1e-7 or more where a verdict is asserted: that is the rate of false alarms of
"not caught" and of "not above the truth". What must be caught is so by a wide margin.
"""

from __future__ import annotations

import copy
import itertools
import math
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from discreet import noise, privacy
from discreet.audit.attacks.clopper_pearson import lower, upper
from discreet.audit.blackbox.blackbox import LowerBound, attack, lower_bound
from discreet.audit.inputs.subject import Subject
from discreet.errors import ParameterError
from discreet.mechanisms import Exact, Gaussian, Laplace

SURE = "0.9999999"


def batch_of(mechanism: Laplace | Gaussian) -> Callable[[int, int], Any]:
    """Independent copies of one question, each of sensitivity 1."""
    return lambda value, count: mechanism.release(Exact(np.full(count, value), sensitivity=1))


def subject(loss: privacy.Loss, batch: Any, pairs: Any = ((0, 1),), release: Any = None) -> Subject:
    return Subject(
        name="a test", release=release or (lambda data: batch(data, 1)[0]), loss=loss, pairs=pairs, batch=batch
    )


def float_laplace(value: float, count: int) -> NDArray[np.float64]:
    """Laplace noise as textbooks write it, in doubles."""
    uniform = (noise.uniform_below(2**53 - 1, count) + 1) / 2**53
    sign = 2 * noise.bernoulli("1/2", count).astype(int) - 1
    noisy: NDArray[np.float64] = value + sign * np.log(uniform)
    return noisy


# -- how much is found ------------------------------------------------------------------------------------------


def test_most_of_the_loss_of_laplace_noise_is_found_and_never_more() -> None:
    mechanism = Laplace.for_epsilon(1)
    found = lower_bound(mechanism.release, 0, 1, batch=batch_of(mechanism), confidence=SURE)
    assert 0.9 < found.epsilon <= 1
    assert found.rates[0] > found.bounds[0]
    assert found.rates[1] < found.bounds[1]


def test_most_of_the_loss_of_gaussian_noise_is_found_at_its_delta() -> None:
    mechanism = Gaussian.for_budget(1, "1e-5")
    batch = batch_of(mechanism)
    found = lower_bound(mechanism.release, 0, 1, batch=batch, delta="1e-5", samples=10**7, confidence=SURE)
    assert 0.65 < found.epsilon <= 1
    assert found.delta == 1e-5


def test_a_million_releases_of_wide_integers_and_of_doubles_take_little_time() -> None:
    wide = lower_bound(abs, 0, 10**6, batch=batch_of(Laplace(10**6)), samples=10**6)
    assert 0.9 < wide.epsilon <= 1.01  # at 99.9 %
    real = lower_bound(
        abs, 0, 10**9, batch=lambda v, n: np.round(v + 1e9 * float_laplace(0, n), -3), samples=10**6
    )
    assert 0.9 < real.epsilon <= 1.01


def test_a_small_shift_of_every_entry_is_seen_by_looking_at_all_of_them() -> None:
    def batch(shift: int, count: int) -> Any:
        return shift + noise.discrete_laplace(10, (count, 12))  # ε = 0.1 each, 1.2 for all

    together = lower_bound(abs, 0, 1, batch=batch, samples=100_000)
    single = lower_bound(abs, 0, 1, batch=lambda shift, count: batch(shift, count)[:, 3], samples=100_000)
    assert single.epsilon < 0.15  # at 99.9 %, and 0.15 is out of reach of luck
    assert together.epsilon > 0.2


def test_single_releases_and_batches_show_the_same_loss() -> None:
    def release(bit: int) -> bool:
        return bool(bit) ^ noise.bernoulli("1/4")

    one = lower_bound(release, 0, 1, samples=20_000, confidence=SURE)
    many = lower_bound(
        release, 0, 1, samples=20_000, confidence=SURE, batch=lambda bit, n: noise.bernoulli("1/4", n) ^ bool(bit)
    )
    for found in (one, many):
        assert 0.85 < found.epsilon <= math.log(3)


# -- false alarms -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("law", "confidence", "audits"),
    [pytest.param("equal", "0.8", 150, marks=pytest.mark.slow), ("response", "0.9", 200)],
)
def test_no_more_bounds_are_too_high_than_the_confidence_allows(law: str, confidence: str, audits: int) -> None:
    """The test itself fails with probability 1e-7, if each bound is too high with probability 1 − confidence.

    Five entries of a hundred values leave much room for choosing by luck: bounds from the very samples that chose
    the event are too high more often than not.
    """

    def batch(bit: int, count: int) -> Any:
        return (
            noise.uniform_below(100, (count, 5)) if law == "equal" else noise.bernoulli("1/4", count) ^ bool(bit)
        )

    truth = 0.0 if law == "equal" else math.log(3)
    found = [lower_bound(abs, 0, 1, batch=batch, samples=800, confidence=confidence) for _ in range(audits)]
    too_high = sum(bound.epsilon > truth for bound in found)
    assert too_high <= stats.binom.isf(1e-7, audits, 1 - float(confidence))


@pytest.mark.parametrize(
    "mechanism", [Laplace.for_epsilon(1), Gaussian(variance=1), Gaussian.for_budget(1, "1e-5")], ids=repr
)
def test_mechanisms_whose_claims_hold_are_not_caught(mechanism: Laplace | Gaussian) -> None:
    verdict = attack(subject(mechanism.loss, batch_of(mechanism), [(0, 1), (5, 4), (7, 7)]), confidence=SURE)
    assert not verdict.caught
    assert verdict.claimed is not None
    assert verdict.found is not None
    assert verdict.found <= verdict.claimed


# -- what is caught ---------------------------------------------------------------------------------------------


def test_half_the_scale_is_caught() -> None:
    verdict = attack(subject(privacy.Pure(1), batch_of(Laplace("1/2"))))
    assert verdict.caught
    assert verdict.attack == "black box"
    assert verdict.claimed == 1
    assert verdict.found is not None
    assert 1.8 < verdict.found <= 2
    assert verdict.delta == 0
    assert verdict.confidence == 0.999999
    assert verdict.seconds > 0
    assert "the number is" in verdict.words.lower()
    assert "the claim is 1.000" in verdict.words


def test_too_little_gaussian_noise_is_caught_at_a_delta_of_its_own_choice() -> None:
    verdict = attack(subject(privacy.DiscreteGaussian(variance=4), batch_of(Gaussian(variance=1))))
    assert verdict.caught
    assert verdict.delta > 0


def test_a_claim_with_a_delta_is_tried_at_that_delta() -> None:
    def batch(bit: int, count: int) -> Any:
        """Publish the bit once in fifty times, and otherwise toss a fair coin."""
        return np.where(noise.bernoulli("1/50", count), 2 + bit, noise.bernoulli("1/2", count))

    kept = attack(subject(privacy.Approximate("0.01", "1/50"), batch), confidence=SURE)
    broken = attack(subject(privacy.Approximate("0.01", "1/100"), batch))
    assert (kept.caught, broken.caught) == (False, True)
    assert broken.delta == 0.01


def test_the_finest_bit_of_doubles_reveals_the_value() -> None:
    verdict = attack(subject(privacy.Laplace(scale=1), float_laplace))
    assert verdict.caught
    assert "finest" in verdict.words
    assert verdict.found is not None
    assert verdict.found > 5


def test_an_exception_on_one_of_two_neighbours_is_caught_also_where_batches_raise() -> None:
    def release(rows: list[int]) -> int:
        if noise.bernoulli("1/20"):
            rows = rows[1:]  # some resampling, say
        return max(rows) * 0 + noise.discrete_laplace(1)

    def batch(rows: list[int], count: int) -> list[int]:
        return [release(rows) for _ in range(count)]

    for watched in (None, batch):
        claim = Subject(name="max", release=release, loss=privacy.Pure(1), pairs=[([3], [3, 3])], batch=watched)
        verdict = attack(claim, samples=10_000)
        assert verdict.caught
        assert "raised ValueError" in verdict.words


def test_sparse_vector_that_never_stops_is_caught() -> None:
    """Lyu, Su and Li 2017, algorithm 6: noise on each answer only at the scale of one, never stopping."""

    def batch(answers: tuple[int, ...], count: int) -> Any:
        threshold = noise.discrete_laplace(2, (count, 1))
        return np.array(answers) + noise.discrete_laplace(2, (count, len(answers))) >= threshold

    below, above = (0,) * 5 + (1,) * 5, (1,) * 5 + (0,) * 5
    assert attack(subject(privacy.SparseVector(1), batch, [(below, above)])).caught


def test_only_one_pair_of_many_needs_to_leak() -> None:
    pairs = [(k, k + 1) for k in range(6)]
    verdict = attack(
        subject(privacy.Pure(1), lambda k, n: np.where(k == 4, 9, 0) + noise.discrete_laplace(1, n), pairs)
    )
    assert verdict.caught
    assert "on 3" in verdict.words
    assert "on 4" in verdict.words


@pytest.mark.parametrize(("batch", "tries"), [(None, 1), (lambda bit, n: np.full(n, bit), 2)])
def test_alpha_is_split_over_two_bounds_all_pairs_and_the_two_ways_of_making_releases(
    batch: Any, tries: int
) -> None:
    tell = subject(privacy.Pure(1), batch, [(0, 0)] * 9 + [(0, 1)], release=lambda bit: bit)
    found = attack(tell, samples=2_000, confidence="0.99").found
    share = 0.01 / (2 * 10 * tries)
    assert found is not None
    assert math.isclose(math.exp(found), float(lower(1000, 1000, share) / upper(0, 1000, share)), rel_tol=1e-8)


# -- whatever answers there are ---------------------------------------------------------------------------------


STRANGE: list[Any] = [
    math.nan,
    math.inf,
    -math.inf,
    -0.0,
    0.0,
    None,
    "",
    "NaN",
    b"\0",
    2**64,
    -(2**20_000),
    5e-324,
    1e308,
]
STRANGE += [
    [],
    [1],
    [1, None],
    (),
    {"a": math.nan},
    {1, 2},
    np.zeros((2, 0)),
    np.float32(0.1),
    np.int8(-1),
    True,
    1,
    1.0,
]
STRANGE += [object, np.array(["x"]), 1j, -(2**63), 2**63 - 1, np.uint64(2**64 - 1)]


def test_unusual_answers_are_told_apart_and_none_raises() -> None:
    def release(offset: int) -> Any:
        return STRANGE[int(noise.uniform_below(len(STRANGE) - 1)) + offset]

    found = lower_bound(release, 0, 1, samples=20_000)
    assert 2 < found.epsilon < 10  # the first answer and the last are given by one side only


@pytest.mark.parametrize("answer", STRANGE, ids=lambda answer: type(answer).__name__)
def test_one_unusual_answer_every_time_shows_no_loss(answer: Any) -> None:
    assert lower_bound(lambda _: answer, 0, 1, samples=400).epsilon == 0


@pytest.mark.parametrize(
    "answers",
    [
        np.array([math.nan, math.inf, -0.0, 0.0]),
        np.array([[math.nan, 1e308], [-math.inf, -1e308]]),
        np.array([-(2**63), 2**63 - 1]),
        np.array([2**64 - 1, 0], dtype=np.uint64),
        np.array(["a", "bc"]),
        np.array([1 + 2j, 0]),
        np.array([None, 3, "x"], dtype=object),
        np.array([np.longdouble(1) / 3]),
        np.zeros((3, 0)),
        np.zeros((2, 2, 2), dtype=bool),
        np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"),
        np.zeros(2, dtype=[("a", int), ("b", float)]),
    ],
    ids=lambda answers: f"{answers.dtype}{answers.shape}",
)
def test_batches_of_every_type_are_taken_and_equal_laws_not_told_apart(answers: Any) -> None:
    found = lower_bound(
        abs, 0, 1, batch=lambda _, n: answers[noise.uniform_below(len(answers), n)], samples=2_000, confidence=SURE
    )
    assert found.epsilon == 0


class Unwritten:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def test_data_without_a_repr_is_accepted() -> None:
    found = attack(
        subject(privacy.Pure(1), None, [(Unwritten(), Unwritten())], release=lambda data: 1), samples=400
    )
    assert "on (an Unwritten that cannot be written)" in found.words


def exits(bit: int) -> int:
    return sys.exit(0) if bit else 7


def yields(bit: int) -> Iterator[int]:
    yield bit


@pytest.mark.parametrize(
    "release",
    [exits, yields, lambda bit: (Fraction(bit), "x"), lambda bit: {"all": yields(bit)}],
    ids=["an end", "a generator", "a fraction", "a generator inside"],
)
def test_exits_and_generators_are_answers(release: Callable[[int], Any]) -> None:
    assert lower_bound(release, 0, 1, samples=400).epsilon > 2


def test_long_doubles_are_told_apart_beyond_double_precision() -> None:
    last = np.finfo(np.longdouble).eps
    assert lower_bound(lambda bit: 1 + bit * last, 0, 1, samples=400).epsilon > 2
    assert lower_bound(abs, 0, 1, batch=lambda bit, n: np.full(n, 1 + bit * last), samples=400).epsilon > 2


@pytest.mark.parametrize("kept", [np.zeros(2), [0, 0], {"n": 0}], ids=["array", "list", "dict"])
def test_an_answer_that_the_mechanism_overwrites_later_counts_as_it_was_released(kept: Any) -> None:
    place = "n" if isinstance(kept, dict) else 0

    def alternating(bit: int) -> Any:
        kept[place] = 1 if bit else 1 - kept[place]
        return kept

    assert lower_bound(alternating, 0, 1, samples=400).rates == (0.5, 0.0)  # as seen later, all would be alike


@pytest.mark.slow
def test_wide_answers_take_little_memory_and_time() -> None:
    """Each answer has 20,000 doubles, of which one leaks: it is found among them all."""

    def wide(bit: int) -> Any:
        answer = drawn[int(noise.uniform_below(len(drawn)))].copy()
        answer[12_345] += 3 * bit
        return answer

    drawn = np.random.default_rng(1).normal(size=(64, 20_000))
    tracemalloc.start()
    found = lower_bound(wide, 0, 1, samples=400)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.epsilon > 1  # which no event without entry 12345 can reach, be it that entry or a classifier
    assert most < 1e9


# -- data that stays as it is -----------------------------------------------------------------------------------


@dataclass
class Held:
    rows: list[int]


def emptied(rows: Any) -> int:
    total = int(sum(rows))
    rows.clear()
    return total


def reversed_in_place(rows: Any) -> Any:
    rows[:] = rows[::-1].copy()
    return rows[0]


@pytest.mark.parametrize(
    ("release", "pair"),
    [
        (emptied, ([5, 1], [5])),
        (lambda data: emptied(data["rows"]), ({"rows": [5]}, {"rows": []})),
        (lambda data: emptied(data.rows), (Held([5]), Held([]))),
        (lambda data: emptied(data[0]), (([5],), ([],))),
        (reversed_in_place, (np.arange(3), np.arange(4))),
    ],
)
@pytest.mark.parametrize("many", [False, True], ids=["one by one", "in batches"])
def test_a_mechanism_that_changes_its_data_is_refused(release: Any, pair: Any, many: bool) -> None:
    batch = (lambda data, n: [release(data) for _ in range(n)]) if many else None
    fresh = copy.deepcopy(pair)
    with pytest.raises(ParameterError, match=r"changes its data.*copy.deepcopy"):
        lower_bound(release, *fresh, samples=400, batch=batch)


def test_a_change_that_comes_late_is_refused_too() -> None:
    calls = itertools.count()

    def late(rows: list[int]) -> int:
        if next(calls) == 700:
            rows.pop()
        return 1

    with pytest.raises(ParameterError, match="changes its data"):
        lower_bound(late, [1], [2], samples=400)


def test_data_that_is_used_up_by_reading_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"uses up \(found: list_iterator\)\. Try: D=list\(data\)"):
        lower_bound(sum, iter([1]), iter([2]), samples=400)


def test_data_of_any_type_that_does_not_change_is_accepted() -> None:
    for data in ([1, math.nan], {"a": {1, 2}}, np.array(["x"], dtype=object), Unwritten(), len, itself([])):
        assert lower_bound(lambda _: 1, data, data, samples=400).epsilon == 0


def itself(ring: list[Any]) -> list[Any]:
    ring.append(ring)
    return ring


# -- the record -------------------------------------------------------------------------------------------------


def coin(**options: Any) -> LowerBound:
    return lower_bound(abs, 0, 1, batch=lambda bit, n: noise.bernoulli("1/4", n) ^ bool(bit), **options)


def test_the_bound_is_what_the_rates_say() -> None:
    found = coin(samples=10_000, delta="0.05")
    assert math.isclose(found.epsilon, math.log((found.bounds[0] - 0.05) / found.bounds[1]), rel_tol=1e-9)
    assert (found.delta, found.confidence, found.samples) == (0.05, 0.999, 10_000)
    assert found.direction in {"D against D2", "D2 against D"}
    assert (found.rates[1], 1 - found.rates[0]) in found.attained


def test_progress_is_reported_to_the_end() -> None:
    told: list[tuple[int, int]] = []
    coin(samples=30_000, progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (60_000, 60_000)


def test_the_picture_has_the_declared_curve_and_a_point_for_each_test() -> None:
    found = coin(samples=10_000)
    layers = found.plot(privacy.Pure(1)).to_dict()["layer"]
    assert {row["curve"] for row in layers[0]["data"]["values"]} == {"declared"}
    assert [(row["false alarms"], row["misses"]) for row in layers[-1]["data"]["values"]] == list(found.attained)


def test_every_measured_test_is_possible() -> None:
    mechanism = Laplace.for_epsilon(1)
    found = lower_bound(abs, 0, 1, batch=batch_of(mechanism), samples=100_000)
    declared = privacy.tradeoff(mechanism.loss)
    alarms, misses = np.array(found.attained).T
    # Six standard deviations of each of the two rates, of which the curve's steepest part magnifies one by e.
    slack = 6 * (1 + math.e) * math.sqrt(0.25 / 50_000)
    assert np.all(misses >= np.interp(alarms, declared.alpha, declared.beta) - slack)


# -- what has no meaning ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"confidence": 1}, "confidence must be above 0 and below 1"),
        ({"confidence": "99.9"}, "confidence must be"),
        ({"confidence": 0}, "confidence must be"),
        ({"samples": 199}, r"At least 200 samples are needed to learn from \(found: 199\)"),
        ({"samples": 1.5}, "whole number"),
        ({"delta": 1}, "delta must be 0 or more and below 1"),
        ({"delta": "-1e-9"}, "delta must be"),
        ({"batch": 7}, r"batch must be a function \(found: int\)"),
        ({"progress": "yes"}, "progress must be a function"),
        ({"batch": lambda data, n: np.zeros(n + 1)}, r"must return \d+ releases along its first axis"),
        ({"batch": lambda data, n: 3.0}, r"along its first axis \(found: float\)"),
        ({"batch": lambda data, n: 1 / 0}, r"found: ZeroDivisionError: division by zero\)\. Try: batch=None"),
    ],
)
def test_parameters_without_a_meaning_are_refused_with_an_explanation(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        lower_bound(abs, 0, 1, **options)


def test_what_cannot_be_called_or_has_no_neighbours_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"mechanism must be a function \(found: Laplace\)"):
        lower_bound(Laplace(1), 0, 1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="no pair of neighbours"):
        attack(subject(privacy.Pure(1), abs, pairs=[]))
