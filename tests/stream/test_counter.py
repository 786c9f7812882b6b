"""Counters: intervals that hold, input that is refused without loss, results that are `Released`."""

from __future__ import annotations

import copy
import math
import os
import pickle
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.errors import BudgetExceeded, DiscreetError, LawTooWide, NotForRelease, ParameterError
from discreet.privacy.losses import Pure, ZeroConcentrated
from discreet.release import Released
from discreet.stream import Counter, Distinct, Histogram, Person, Quantiles, StreamAnswer, Windowed

PRICE: dict[str, Any] = {"epsilon": 1, "delta": "1e-9"}
KINDS: list[dict[str, Any]] = [
    {**PRICE, "horizon": 200},
    {**PRICE},
    {"epsilon": 1, "horizon": 200},
    {**PRICE, "horizon": 200, "method": "sqrt"},
    {**PRICE, "horizon": 200, "method": "tree"},
    {**PRICE, "horizon": 200, "pan_private": True},
    {**PRICE, "horizon": 200, "unit": Person(events=3)},
    {**PRICE, "horizon": 200, "unit": Person(events=3, apart=20)},
]


@pytest.mark.parametrize("terms", KINDS, ids=str)
def test_every_value_is_released_and_near_the_truth(terms: dict[str, Any]) -> None:
    counter = Counter(**terms)
    curve = counter.extend([10] * 100)
    assert isinstance(curve, Released)
    assert len(curve.ticks) == len(curve.estimate.values) == 100
    counter.add(10)
    answer = counter.release()
    assert answer.ticks == (101,)
    assert counter.tick == 101
    assert answer.value is not None
    assert answer.margin is not None
    # A normal number is farther off with a chance below 1e-20, and a sum of four Laplace ones below 1e-10.
    assert abs(answer.value - 1010) < 5 * answer.margin
    assert counter.value == answer.estimate
    again = StreamAnswer.from_json(answer.to_json())
    assert again.estimate == answer.estimate
    assert again.ticks == answer.ticks
    assert again.label.guarantee == answer.label.guarantee
    assert "Protected" in " ".join(answer.label.notes)


def test_epsilon_means_what_it_means_elsewhere() -> None:
    assert Counter(epsilon=2, horizon=10).loss == Pure(2)
    assert Counter(rho="0.1", horizon=10).loss == ZeroConcentrated("0.1")
    promise = Counter(**PRICE, horizon=10).label.receipt.promise
    assert promise.epsilon <= 1
    assert promise.delta <= 1e-9
    assert promise.epsilon > 0.999


def test_a_person_of_k_events_has_k_times_the_noise_and_less_if_events_are_apart() -> None:
    def spread(unit: Any) -> float:
        return float(Counter(**PRICE, horizon=1000, unit=unit).label.noise[0].spread or 0)

    assert spread(Person(5)) == pytest.approx(5 * spread("event"))
    assert Counter(**PRICE, horizon=1000, each=3).label.noise[0].spread == pytest.approx(3 * spread("event"))
    assert spread(Person(5, apart=100)) < 3.5 * spread("event")


BAD = [-1, 1.5, math.nan, math.inf, "12", None, 2**31, True, [1], 10**400, -(2**70), b"1", np.float64("nan")]


@pytest.mark.parametrize("bad", BAD, ids=repr)
def test_a_count_that_is_none_is_refused_and_nothing_is_lost(bad: Any) -> None:
    counter = Counter(**PRICE, horizon=5)
    counter.add(3)
    before = counter.value
    with pytest.raises(ParameterError, match="Nothing was added"):
        counter.add(bad)
    assert counter.tick == 1
    assert counter.value == before


@pytest.mark.parametrize(
    "bad", [[1, -1], [math.nan], [[1]], "ab", [1.5], [2**40], [None], {1}, [[1], [1, 2]]], ids=repr
)
def test_counts_with_one_that_is_none_are_refused_as_a_whole(bad: Any) -> None:
    counter = Counter(**PRICE, horizon=5)
    with pytest.raises(ParameterError, match="Nothing was added"):
        counter.extend(bad)
    assert counter.tick == 0


def test_after_the_horizon_the_value_stays_and_the_message_says_what_to_do() -> None:
    counter = Counter(**PRICE, horizon=3)
    counter.extend([1, 2])
    with pytest.raises(BudgetExceeded, match=r"horizon=6 .*horizon=None"):
        counter.extend([1, 2])
    counter.add(1)
    with pytest.raises(BudgetExceeded, match="0 of them are left"):
        counter.add(1)
    assert counter.tick == 3
    assert counter.value.value is not None


@pytest.mark.parametrize(
    "terms",
    [
        {},
        {"epsilon": 1, "rho": 1},
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": 1, "horizon": 0},
        {"epsilon": 1, "horizon": 1.5},
        {"epsilon": 1, "delta": "1e-9", "horizon": 10**10},
        {"epsilon": 1, "unit": "user"},
        {"epsilon": 1, "method": "blt"},
        {"epsilon": 1, "delta": "1e-9", "method": "fast"},
        {"epsilon": 1, "delta": "1e-9", "method": "blt", "pan_private": True},
        {"epsilon": 1, "delta": "1e-9", "method": "sqrt", "horizon": 10**6},
        {"epsilon": 1, "confidence": 1},
        {"epsilon": 1, "each": 0},
    ],
    ids=str,
)
def test_terms_without_meaning_are_refused(terms: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Counter(**terms)


def test_noise_that_would_leave_int64_is_refused_when_the_counter_is_made() -> None:
    with pytest.raises(LawTooWide):
        Counter(rho="1e-25", horizon=10**6)


def test_a_stream_is_not_copied_and_does_not_go_on_in_a_forked_process() -> None:
    counter = Counter(**PRICE, horizon=5)
    for double in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="used twice"):
            double(counter)
    child = os.fork()
    if not child:
        try:
            counter.add(1)
        except DiscreetError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    counter.add(1)


def test_a_counter_of_test_bits_is_marked() -> None:
    with noise.deterministic(1):
        answer = Counter(**PRICE, horizon=5).extend([1, 2])
    assert answer.test_bits
    with pytest.raises(NotForRelease):
        pickle.dumps(answer)


@pytest.mark.parametrize("terms", [*KINDS[:3], KINDS[5]], ids=str)
def test_a_counter_that_drew_test_bits_later_is_marked_from_then_on(terms: dict[str, Any]) -> None:
    counter = Counter(**terms)
    with noise.deterministic(1):
        counter.add(1)
    assert counter.release().test_bits
    window = Windowed(2, **PRICE)
    with noise.deterministic(1):
        window.add(1)
    for _ in range(5):
        window.add(1)
    assert window.release().test_bits


def test_a_histogram_counts_declared_keys_and_no_others() -> None:
    pages = Histogram(["home", "cart", "rest"], epsilon=20, delta="1e-6", horizon=50, other="rest")
    for _ in range(10):
        pages.add({"home": 30, "cart": 5})
        pages.add(["home", "unknown", "cart"])
    answer = pages.release()
    assert answer.keys == ("home", "cart", "rest")
    assert isinstance(answer, Released)
    assert np.allclose(np.array(answer.estimate.values, float), [310, 60, 10], atol=15)
    before = pages.tick
    for bad in ({"home": -1}, {"home": math.nan}):
        with pytest.raises(ParameterError, match="Nothing was added"):
            pages.add(bad)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="Nothing was added"):
        pages.extend([[1, 2]])
    with pytest.raises(BudgetExceeded):
        pages.extend(np.ones((40, 3), int))
    assert pages.tick == before
    for keys in ([], ["a", "a"], "ab"):
        with pytest.raises(ParameterError, match="declared"):
            Histogram(keys, epsilon=1)
    with pytest.raises(ParameterError, match="other"):
        Histogram(["a"], epsilon=1, other="b")


def test_a_window_forgets_and_its_intervals_hold() -> None:
    """400 windows, each looked at once: the chance of 50 and more outside is below 1e-8 if the intervals hold."""
    outside = 0
    for run in range(400):
        hour = Windowed(12, epsilon=3, delta="1e-6")
        answer = hour.extend([100] * 20 + [1] * (3 + run % 12))
        truth = 100 * max(0, 9 - run % 12) + min(12, 3 + run % 12)
        low, high = answer.estimate.low[-1], answer.estimate.high[-1]
        assert low is not None
        assert high is not None
        outside += not low <= truth <= high
    assert outside < 50
    hour.add(2)
    assert hour.release().ticks == (20 + 3 + 399 % 12 + 1,)
    assert not hour.extend([]).ticks


def test_quantiles_follow_the_values_and_their_intervals_hold() -> None:
    rng, outside = np.random.default_rng(3), 0
    for _ in range(150):
        waits = Quantiles(np.linspace(0, 10, 41), epsilon=1, delta="1e-6", horizon=20)
        values = rng.normal(5, 1, 2000)
        for part in np.split(values, 4):
            waits.add(part)
        answer = waits.at("0.3")
        truth = np.sort(values)[600]
        low, high = answer.estimate.low[0], answer.estimate.high[0]
        assert low is not None
        assert high is not None
        outside += not low <= truth <= high
    assert outside < 28  # 150 tries at 5 %: 28 and more have a chance below 1e-8
    assert isinstance(answer, Released)
    assert answer.keys == ("0.3",)
    assert waits.value.value == waits.at("0.5").value


def test_a_tree_of_bins_divides_the_charge_among_its_levels() -> None:
    one, many = (Quantiles(range(bins + 1), rho=1, horizon=9).label.noise[0].spread for bins in (1, 64))
    assert many == pytest.approx(7**0.5 * (one or 0))


def test_quantiles_take_any_number_and_refuse_what_is_none() -> None:
    waits = Quantiles([0, 1, 2, 5], rho=50, horizon=20)
    waits.add([math.nan, -5, math.inf, 1.5] * 100)
    found = waits.at("0.4", "0.6", "0.9").estimate.values
    assert found == (1.0, 2.0, 5.0)
    with pytest.raises(ParameterError):
        waits.add(["a"])  # type: ignore[list-item]
    for edges in ([], [1], [2, 1], [0, math.nan], "ab"):
        with pytest.raises(ParameterError, match="edges"):
            Quantiles(edges, rho=1)  # type: ignore[arg-type]
    for share in (0, 1, 2, "-0.1"):
        with pytest.raises(ParameterError, match="share"):
            waits.at(share)
    with pytest.raises(ParameterError, match="delta"):
        Quantiles([0, 1], epsilon=1)
    assert waits.tick == 1


def test_events_of_a_wrong_kind_are_refused_and_lose_nothing() -> None:
    """A text is no list of keys or users: its letters would be counted."""
    pages = Histogram(["a", "b"], epsilon=1, horizon=5)
    users = Distinct(16, epsilon=1)
    waits = Quantiles([0, 1, 2], epsilon=1, delta="1e-9", horizon=5)
    streams: list[Any] = [pages, users, waits]
    for stream in streams:
        for wrong in (None, "ab", 3.5):
            with pytest.raises(ParameterError, match="Nothing was added"):
                stream.add(wrong)
        assert stream.tick == 0
    pages.add([["a"], "b"])  # type: ignore[list-item]  # a key that cannot be looked up is not declared
    assert pages.tick == 1


def test_no_ticks_are_shown_as_none() -> None:
    assert "no ticks" in str(Counter(epsilon=1, horizon=5).extend([]))


def test_a_label_says_what_a_stream_does_and_nothing_about_sealed_tables() -> None:
    """A stream scales nothing down and cannot be asked who is over the bound: to say so would be false."""
    counter, users = Counter(epsilon=1, horizon=5, unit=Person(8)), Distinct(16, epsilon=1)
    for answer, unit in ((counter.release(), "at most 8 events"), (users.release(), "all events")):
        text = " ".join(str(answer.label).split())
        assert unit in answer.label.unit
        assert "two streams" in answer.label.neighbours
        wrong = ("each of these rows", "over_bound", "2,147,483", "sealed", "vault")
        assert not any(words in text for words in wrong)
        assert StreamAnswer.from_json(answer.to_json()).label.facts == answer.label.facts
        assert answer.label.checklist()
