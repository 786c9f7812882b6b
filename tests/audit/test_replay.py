"""Record and replay lets honest computations pass, and catches the mistakes that real libraries made."""

from __future__ import annotations

import inspect
import json
import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet.mechanisms
from discreet import noise
from discreet.audit.distance import Bound, differences, excesses
from discreet.audit.neighbours import bases
from discreet.audit.recorder import listened, primitive, recording, replaying
from discreet.audit.replay import findings, replay
from discreet.audit.tape import Diverged
from discreet.audit.verdict import Verdict
from discreet.errors import BudgetExceeded, ParameterError, SensitivityExceeded
from discreet.mechanisms import (
    AboveThreshold,
    Exact,
    Exponential,
    Gaussian,
    Laplace,
    NumericSparse,
    PermuteAndFlip,
    ReportNoisyMax,
    Sensitivity,
    Sparse,
)
from discreet.mechanisms.runs import NumericRun, Run
from discreet.privacy import DiscreteLaplace, PoissonSubsampled, Pure, Session, ZeroConcentrated, losses

Rows = list[dict[str, Any]]
PEOPLE: Rows = [
    {"age": 34, "weight": 70.5, "city": "Bath"},
    {"age": 51, "weight": 81.0, "city": "York"},
    {"age": 19, "weight": 55.25, "city": "Bath"},
    {"age": 78, "weight": 64.0, "city": "Ely"},
]
VISITS: Rows = [{"id": i, "cost": cost} for i, cost in [(1, 20), (2, 35), (1, 10), (3, 80), (1, 5)]]
CITIES = ["Bath", "York", "Ely"]
ONE = Laplace(scale=1)


def whole(value: Any, most: int) -> int:
    """Any value as an integer of 0 … most; what is no number counts as 0."""
    if not isinstance(value, int | float) or math.isnan(value):
        return 0
    return math.floor(max(0, min(most, value)))


def caught(computation: Callable[[Rows], Any], rows: Rows = PEOPLE, limit: int | None = 20, **options: Any) -> str:
    """Why the computation was caught: mostly a few neighbours are enough."""
    verdict = replay(computation, rows, limit=limit, seed=7, **options)
    assert verdict.caught, verdict.words
    assert verdict.attack == "replay"
    return verdict.words


def passes(computation: Callable[[Rows], Any], rows: Rows = PEOPLE, **options: Any) -> Verdict:
    verdict = replay(computation, rows, seed=7, **options)
    assert not verdict.caught, verdict.words
    assert "nothing" not in verdict.words
    return verdict


# -- honest computations pass -----------------------------------------------------------------------------------


def count_in_bath(rows: Rows) -> Any:
    return ONE.release(Exact(sum(row["city"] == "Bath" for row in rows), sensitivity=1))


def clamped_sum(rows: Rows) -> Any:
    total = sum(whole(row["age"], 100) for row in rows)
    return Laplace(scale=50, sensitivity=100).release(Exact(total, Sensitivity(each=100, monotonic="up")))


def histogram(rows: Rows) -> dict[str, int]:
    counts = Counter(row["city"] for row in rows)
    noisy = Gaussian(variance=4).release(Exact([counts[city] for city in CITIES], sensitivity=1))
    return {city: int(count) for city, count in zip(CITIES, noisy, strict=True)}  # type: ignore[arg-type]


def noisy_mean(rows: Rows) -> float:
    return float(clamped_sum(rows) / max(1, ONE.release(Exact(len(rows), sensitivity=1))))


def chosen_city(rows: Rows) -> str:
    counts = Counter(row["city"] for row in rows)
    votes = Exact([counts[city] for city in CITIES], Sensitivity(entries=1, each=1, monotonic="up"))
    names = dict(enumerate(CITIES))
    return names[ReportNoisyMax(1, monotonic=True).release(votes)] + names[PermuteAndFlip(1).release(votes)]


def first_threshold_passed(rows: Rows) -> list[bool]:
    run, answers = AboveThreshold(epsilon=1, threshold=2).start(), []
    for age in (80, 60, 40, 20, 0):
        if not run.left:
            break
        answers.append(run.ask(Exact(sum(whole(row["age"], 100) >= age for row in rows), sensitivity=1)))
    return answers


def numbers_above(rows: Rows) -> Any:
    ages = [sum(whole(row["age"], 100) >= age for row in rows) for age in (60, 40, 20)]
    run = NumericSparse(epsilon=2, threshold=1, positives=2).start()
    single = [run.ask(Exact(count, sensitivity=1)) for count in ages if run.left]
    many = NumericSparse(epsilon=2, threshold=1).release(Exact(ages, Sensitivity(each=1)))
    return single, many, Sparse(epsilon=1, threshold=2).release(Exact(ages, Sensitivity(each=1)))


def adaptive(rows: Rows) -> list[int]:
    """What comes next depends on what was released, which is what a session is for."""
    session, answers = Session(Pure(3)), []
    while session.can_afford(Pure(1)):
        session.charge(Pure(1))
        answers.append(count_in_bath(rows))
        if answers[-1] > 2:
            session.charge(losses.Exponential(1))
            answers.append(Exponential(1).release(Exact([len(rows), 3], Sensitivity(each=1))))
    return answers


def sample_count(rows: Rows) -> Any:
    """The coins of the sample are drawn from our noise, and come out the same in the replay."""
    answers: list[Any] = []
    for _ in range(9):
        coin = noise.bernoulli("1/2")
        answers += [ONE.release(Exact(len(rows) if coin else 0, sensitivity=1)), bool(coin)]
    return answers


def stream(rows: Rows) -> Iterator[Any]:
    yield count_in_bath(rows)


def mutating(rows: Rows) -> Any:
    number = len(rows)
    rows.clear()
    return ONE.release(Exact(number, sensitivity=1))


HONEST = [
    *(count_in_bath, clamped_sum, histogram, noisy_mean, chosen_city, first_threshold_passed, numbers_above),
    *(adaptive, sample_count, stream, mutating),
]


@pytest.mark.parametrize("computation", HONEST, ids=lambda f: f.__name__)
def test_an_honest_computation_passes_on_all_neighbours(computation: Callable[[Rows], Any]) -> None:
    assert "no value moved further than declared" in passes(computation).words


def test_a_sum_bounded_per_person_passes_whatever_ids_people_have() -> None:
    def bounded(rows: Rows) -> Any:
        spent: dict[Any, int] = {}
        for row in rows:
            spent[row["id"]] = min(100, spent.get(row["id"], 0) + whole(row["cost"], 100))
        return Laplace(scale=100, sensitivity=100).release(Exact(sum(spent.values()), sensitivity=100))

    passes(bounded, VISITS, person="id")


def test_a_released_value_is_plain_in_a_replay_as_it_is_outside() -> None:
    def written(rows: Rows) -> str:
        return json.dumps([count_in_bath(rows), {count_in_bath(rows): 1}, histogram(rows)])

    passes(written)


def test_the_same_exception_on_both_sides_is_no_finding_and_is_said() -> None:
    words = replay(lambda rows: ONE.release(Exact(len(rows), sensitivity=2)), PEOPLE).words
    assert "raised the same exception" in words


def test_an_exception_that_everyone_gets_after_a_release_is_no_finding() -> None:
    def refused(rows: Rows) -> Any:
        try:
            return Laplace(scale=1).release(Exact(len(rows), sensitivity=7))
        except SensitivityExceeded:
            return count_in_bath(rows)

    passes(refused)


# -- dishonest ones are caught ----------------------------------------------------------------------------------


def test_a_mean_over_the_number_of_rows_is_caught() -> None:
    words = caught(lambda rows: clamped_sum(rows) / max(1, len(rows)), name="a mean")
    assert words.startswith("a mean: the table")
    assert "the result changes although every release is held fixed" in words


def test_categories_from_the_data_are_caught() -> None:
    def by_city(rows: Rows) -> Any:
        counts = Counter(row["city"] for row in rows)
        return ONE.release(Exact([0, *counts.values()], sensitivity=1))

    assert "has a value of shape (5,) instead of (4,)" in caught(by_city)


def test_categories_from_the_data_released_one_by_one_are_caught() -> None:
    def by_city(rows: Rows) -> Any:
        return [ONE.release(Exact(n, sensitivity=1)) for n in Counter(row["city"] for row in rows).values()]

    assert "call 4 more, Laplace.release" in caught(by_city)


def test_an_exception_on_a_missing_value_is_caught() -> None:
    def total(rows: Rows) -> Any:
        return Laplace(scale=50, sensitivity=100).release(
            Exact(sum(max(0, min(100, row["age"])) for row in rows), sensitivity=100)
        )

    words = caught(total, limit=None)
    assert "whose age is None: it raises TypeError" in words
    assert "and on the table itself it gives" in words


def test_a_loop_that_the_exact_data_stop_is_caught() -> None:
    def until_enough(rows: Rows) -> Any:
        return [count_in_bath(rows) for row in rows if row["city"] == "Bath"]

    assert {finding.kind for finding in findings(until_enough, PEOPLE, limit=5)} >= {"flow"}
    assert "call 3 more" in caught(until_enough)


def test_a_call_that_no_longer_happens_is_caught() -> None:
    def only_in_company(rows: Rows) -> Any:
        return count_in_bath(rows) if len(rows) >= len(PEOPLE) else 0

    # The result alone would not tell: what is released on one table may happen to be 0.
    assert any("does not happen" in finding.words for finding in findings(only_in_company, PEOPLE))


def test_another_kind_of_mechanism_is_caught() -> None:
    def either(rows: Rows) -> Any:
        mechanism: Any = ONE if len(rows) % 2 else Gaussian(variance=1)
        return mechanism.release(Exact(len(rows), sensitivity=1))

    assert "call 1 is Laplace.release instead of Gaussian.release" in caught(either)


def test_a_sum_that_wraps_around_is_caught() -> None:
    def wrapping(rows: Rows) -> Any:
        total = np.int32(2**31 - 60)
        for row in rows:
            total = total + np.int32(whole(row["age"], 100))
        return Laplace(scale=100, sensitivity=100).release(Exact(int(total), sensitivity=100))

    words = caught(wrapping)
    assert "moves by 42949" in words
    assert "(each), and 100 was declared" in words


def test_a_person_with_unbounded_rows_is_caught() -> None:
    def visits(rows: Rows) -> Any:
        return ONE.release(Exact(len(rows), sensitivity=1))

    passes(visits, VISITS)
    words = caught(visits, VISITS, person="id")
    assert "with a person of 1,000 rows" in words
    assert "moves by 1000 (each), and 1 was declared" in words


def test_code_that_takes_one_id_for_another_is_caught() -> None:
    """Clamped to ±10 per person, but "1" and 1 are merged: then one person turns −10 into +10."""

    def balance(rows: Rows) -> Any:
        totals: Counter[str] = Counter()
        for row in rows:
            totals[str(row["id"])] += row["move"] if row["move"] in (-10, 10, 30) else 0
        clamped = sum(max(-10, min(10, total)) for total in totals.values())
        return Laplace(scale=10, sensitivity=10).release(Exact(clamped, sensitivity=10))

    rows: Rows = [{"id": 1, "move": -10}, {"id": "1", "move": 30}, {"id": 2, "move": 10}]
    assert "without id '1'" in caught(balance, rows, limit=None, person="id")


def test_a_person_whose_id_is_written_in_two_ways_is_one_person() -> None:
    def people(rows: Rows) -> Any:
        return ONE.release(Exact(len({str(row["id"]) for row in rows}), sensitivity=1))

    assert "ids written in two ways, without id 1" in caught(people, VISITS, limit=None, person="id")


def test_a_scale_from_the_data_is_caught() -> None:
    def by_range(rows: Rows) -> Any:
        most = max((whole(row["age"], 1000) for row in rows), default=0) + 1
        return Laplace(scale=most, sensitivity=1000).release(Exact(len(rows), sensitivity=1))

    assert "has other parameters: mechanism=Laplace(scale=" in caught(by_range)


def test_a_sensitivity_from_the_data_is_caught() -> None:
    def by_size(rows: Rows) -> Any:
        return Laplace(scale=1, sensitivity=10**6).release(Exact(0, sensitivity=len(rows) + 1))

    assert "declares Sensitivity(" in caught(by_size)


def test_an_unnoised_value_that_is_returned_is_caught() -> None:
    words = caught(lambda rows: (count_in_bath(rows), len(rows) > 2))
    assert "held fixed" in words
    assert "False) becomes" in words


@dataclass
class Answer:
    """A result as a record: the middle of its long vector is left out where it is written."""

    vector: Any


class Silent:
    """A result that does not show what it holds."""

    def __init__(self, number: int):
        self.number, self.itself = number, self


@pytest.mark.parametrize(
    "hidden",
    [
        lambda rows: Answer(np.where(np.arange(5000) == 2500, len(rows), 0)),
        lambda rows: [{"model": Silent(len(rows))}],
    ],
    ids=["in a record", "in an object"],
)
def test_an_unnoised_value_inside_a_result_is_caught(hidden: Callable[[Rows], Any]) -> None:
    assert "the result changes" in caught(hidden, limit=3)


def test_an_honest_result_may_be_an_object() -> None:
    passes(lambda rows: Silent(count_in_bath(rows)), limit=10)


def test_the_words_name_what_else_was_found_and_what_was_tried() -> None:
    def thrice(rows: Rows) -> Any:
        return [ONE.release(Exact(7 * len(rows), sensitivity=1)) for _ in range(3)], len(rows)

    words = caught(thrice, limit=5)
    assert "And 3 more. Tried" in words
    assert f"Tried {len(findings(thrice, PEOPLE, limit=5)) // 4} neighbours of" in words


def test_a_direction_that_is_not_kept_is_caught() -> None:
    def older_than_the_young(rows: Rows) -> Any:
        difference = sum(1 if whole(row["age"], 100) >= 40 else -1 for row in rows)
        votes = Exact([difference, 0], Sensitivity(entries=1, each=1, monotonic="up"))
        return Exponential(1, monotonic=True).release(votes)

    assert 'moves down although "up" was declared' in caught(older_than_the_young)


def test_a_leaving_person_lowers_what_goes_up() -> None:
    for rows in (PEOPLE, PEOPLE[:1]):
        assert not [f for f in findings(clamped_sum, rows) if f.kind == "distance"]


def test_noise_that_is_not_recorded_is_caught() -> None:
    generator = np.random.default_rng(1)
    words = caught(lambda rows: len(rows) + generator.laplace())
    assert "run twice: the result changes" in words
    assert "@primitive" in words


def test_unrecorded_randomness_in_an_exact_value_is_caught() -> None:
    generator = np.random.default_rng(1)

    def sampled(rows: Rows) -> Any:
        chosen = int(sum(generator.integers(1000) for _ in range(3)))
        return (
            ONE.release(Exact(chosen, sensitivity=10**6))
            if chosen < 0
            else Gaussian(variance=1, sensitivity=10**6).release(Exact(chosen, sensitivity=10**6))
        )

    assert "run twice: an exact value changes" in caught(sampled)


def test_a_session_that_outlives_the_run_is_caught() -> None:
    session = Session(Pure(1))

    def spending(rows: Rows) -> Any:
        session.charge(Pure(1))
        return count_in_bath(rows)

    assert "keeps something from one run to the next" in caught(spending)


def test_a_release_from_another_thread_is_caught() -> None:
    def threaded(rows: Rows) -> list[Any]:
        answers: list[Any] = []
        release = threading.Thread(
            target=lambda: answers.append(Laplace(scale=10**9).release(Exact(len(rows), sensitivity=1)))
        )
        release.start()
        release.join()
        return answers

    assert "stay in one thread" in caught(threaded)


def test_code_that_catches_everything_cannot_hide_a_departure() -> None:
    def secretive(rows: Rows) -> str:
        for _ in rows:
            try:
                count_in_bath(rows)
            except:  # noqa: E722
                return "fine"
        return "fine"

    assert "call 5 more" in caught(secretive)


def test_an_exception_that_ends_a_replay_is_not_caught_by_code_that_catches_exceptions() -> None:
    assert not issubclass(Diverged, Exception)


# -- primitives -------------------------------------------------------------------------------------------------


@primitive
def with_noise(value: Any, *, sensitivity: Any, epsilon: Any = 1, generator: Any = None) -> Any:
    return value + np.random.default_rng().laplace(scale=float(sensitivity) / float(epsilon), size=np.shape(value))


@primitive(norm="l2")
def with_normal_noise(value: Any, *, sensitivity: float) -> Any:
    return value + np.random.default_rng().normal(scale=sensitivity, size=np.shape(value))


def weights(rows: Rows) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([w if isinstance(w := row["weight"], float) else 0.0 for row in rows])


def test_a_clip_that_lets_nan_pass_is_caught() -> None:
    words = caught(lambda rows: with_noise(np.floor(np.clip(weights(rows), 0, 100)).sum(), sensitivity=100))
    assert "whose weight is nan: call 1, with_noise, moves by inf (l1), and 100 was declared" in words


def test_a_clip_of_numbers_passes() -> None:
    passes(lambda rows: with_noise(np.floor(np.clip(np.nan_to_num(weights(rows)), 0, 100)).sum(), sensitivity=100))


def test_vectors_are_measured_in_the_norm_that_was_declared() -> None:
    def moments(rows: Rows) -> Any:
        return np.array([3.0, 4.0]) * len(rows)

    passes(lambda rows: with_normal_noise(moments(rows), sensitivity=5))
    passes(lambda rows: with_noise(moments(rows), sensitivity=7))
    assert "moves by 7 (l1), and 5 was declared" in caught(lambda rows: with_noise(moments(rows), sensitivity=5))


def test_a_sensitivity_of_zero_and_one_that_is_no_number_allow_nothing() -> None:
    assert "and 0 was declared" in caught(lambda rows: with_normal_noise(float(len(rows)), sensitivity=0.0))
    assert Bound(math.nan).limit == Bound(None).limit == -1
    assert Bound(math.inf).limit == math.inf


def test_parameters_of_a_primitive_that_depend_on_the_data_are_caught() -> None:
    words = caught(lambda rows: with_noise(0.0, sensitivity=1, epsilon=len(rows) + 1))
    assert "has other parameters: epsilon=" in words
    assert "declares Bound(" in caught(lambda rows: with_noise(0.0, sensitivity=len(rows) + 1))


def test_a_generator_made_in_each_run_is_the_same_parameter() -> None:
    passes(lambda rows: with_noise(len(rows), sensitivity=1, generator=np.random.default_rng(5)))


def test_outside_a_recording_a_primitive_runs_as_it_is() -> None:
    calls = []

    @primitive
    def plain(value: int, *, sensitivity: int) -> int:
        calls.append(sensitivity)
        return value

    assert (plain(3, sensitivity=1), calls, plain.__name__) == (3, [1], "plain")


def test_distances_are_exact() -> None:
    assert differences(0.1 + 0.2, 0.3) == [Fraction(0.3) - Fraction(0.1 + 0.2)]
    assert differences([math.nan, math.inf], [math.nan, math.inf]) == []
    assert differences([1.0, -math.inf], [math.nan, math.inf]) == [math.inf, math.inf]
    assert differences(2**70, 2**70 + 1) == [1]
    assert differences(np.int64(-(2**62)), np.int64(2**62)) == [2**63]
    assert differences([1, None, "a"], [2, None, "b"]) == [1, math.inf]
    last_place = list(excesses(Bound(1.0), differences(0.0, 1.0000000000000002), joins=True))
    assert str(last_place[0]) == "moves by 1 + 2.22045e-16 (l1), and 1 was declared"
    assert not list(excesses(Bound(1.0), differences(0.0, 1.0), joins=True))


@pytest.mark.parametrize(
    ("declared", "moves", "norm"),
    [
        (Sensitivity(entries=1, each=5), [1, 1], "entries"),
        (Sensitivity(entries=3, each=1), [2], "each"),
        (Sensitivity(entries=3, each=3, l1=4), [2, 3], "l1"),
        (Sensitivity(entries=3, each=3, l2_squared=9), [-3, 1], "l2_squared"),
    ],
)
def test_every_norm_that_is_declared_is_measured(declared: Sensitivity, moves: list[Any], norm: str) -> None:
    assert norm in {excess.norm for excess in excesses(declared, moves, joins=True)}
    assert not list(excesses(declared, [1], joins=False))


# -- losses -----------------------------------------------------------------------------------------------------


def test_a_loss_that_covers_what_was_released_passes() -> None:
    passes(noisy_mean, loss=[Pure(1), Pure(2)])
    passes(histogram, loss=Gaussian(variance=4).loss)
    passes(histogram, loss=ZeroConcentrated("1/8"))
    passes(first_threshold_passed, loss=Pure(1))
    passes(lambda rows: with_noise(len(rows), sensitivity=1, epsilon=2), loss=Pure(2))


def test_a_loss_that_was_exceeded_is_caught() -> None:
    verdict = replay(lambda rows: [count_in_bath(rows), count_in_bath(rows)], PEOPLE, loss=Pure(1))
    assert verdict.caught
    assert (verdict.claimed, verdict.found, verdict.delta) == (1.0, 2.0, 0.0)
    assert "what moves costs ε = 2 at δ = 0 (2 × DiscreteLaplace(" in verdict.words


def test_a_gaussian_that_costs_more_than_declared_is_caught() -> None:
    caught(histogram, loss=Gaussian(variance=5).loss)
    caught(histogram, loss=Pure(1))


def test_the_epsilon_of_a_primitive_counts() -> None:
    caught(lambda rows: with_noise(len(rows), sensitivity=1, epsilon=2), loss=Pure(1))


def test_parts_that_share_nobody_cost_once_and_parts_that_share_someone_do_not() -> None:
    def by_city(rows: Rows) -> Any:
        return [ONE.release(Exact(sum(row["city"] == c for row in rows), sensitivity=1)) for c in CITIES]

    def in_each_part(rows: Rows) -> Any:
        parts = ({row["id"] for row in rows if ((row["cost"] or 0) > 15) is large} for large in (True, False))
        return [ONE.release(Exact(len(part), sensitivity=1)) for part in parts]

    passes(by_city, loss=Pure(1))
    passes(in_each_part, VISITS, loss=Pure(1))
    assert "what moves costs ε = 2" in caught(in_each_part, VISITS, person="id", loss=Pure(1))


def test_a_session_that_is_charged_too_little_is_caught() -> None:
    def underpaid(rows: Rows) -> Any:
        Session(Pure(1)).charge(Pure("1/2"))
        return count_in_bath(rows)

    def paid(rows: Rows) -> Any:
        Session(Pure(1)).charge(ONE.loss)  # type: ignore[arg-type]
        return count_in_bath(rows)

    passes(paid, loss=Pure(1))
    assert "and 0.5 was charged" in caught(underpaid)
    assert any("the session" in finding.words for finding in findings(paid, PEOPLE, limit=5, loss=Pure("9/10")))


def test_a_charge_that_depends_on_the_data_is_caught() -> None:
    def by_size(rows: Rows) -> None:
        Session(Pure(100)).charge(Pure(len(rows)))

    assert "call 1 (Session.charge) has other parameters: loss=Pure" in caught(by_size)


def test_a_charge_that_was_refused_pays_for_nothing() -> None:
    def unpaid(rows: Rows) -> Any:
        with pytest.raises(BudgetExceeded):
            Session(Pure("1/2")).charge(Pure(1))
        return count_in_bath(rows)

    assert "and 0 was charged" in caught(unpaid)


def test_a_loss_of_a_secret_sample_is_taken_as_that_of_everyone() -> None:
    passes(count_in_bath, loss=PoissonSubsampled(DiscreteLaplace(1), "1/10"))


# -- the recorder -----------------------------------------------------------------------------------------------


def public_methods() -> dict[tuple[type, str], Any]:
    return {(owner, name): vars(owner)[name] for owner, name in listened()}


def test_every_public_mechanism_is_listened_to() -> None:
    public = [getattr(discreet.mechanisms, name) for name in discreet.mechanisms.__all__]
    for mechanism in (
        thing for thing in public if hasattr(thing, "loss") and thing is not discreet.mechanisms.Mechanism
    ):
        owner = next(kind for kind in inspect.getmro(mechanism) if "release" in vars(kind))
        assert (owner, "release") in listened()
    assert {(Run, "ask"), (NumericRun, "ask"), (Session, "charge")} <= listened()


def test_a_mechanism_that_somebody_derives_is_listened_to() -> None:
    @dataclass(frozen=True)
    class Wider(Laplace):
        def release(self, exact: Exact) -> Any:
            return 2 * super().release(exact)

    with recording(seed=1) as tape:
        noisy = Wider(scale=1).release(exact=Exact(3, sensitivity=1))
    assert [(call.what, call.answer) for call in tape.calls] == [("Wider.release", noisy)]


def test_calls_within_a_call_count_once() -> None:
    exact = Exact([5, 50], Sensitivity(each=1))
    with recording(seed=1) as tape:
        NumericSparse(epsilon=1, threshold=9).release(exact)
        NumericSparse(epsilon=1, threshold=9).start().ask(Exact(5, sensitivity=1))
    assert [call.what for call in tape.calls] == ["NumericSparse.release", "NumericSparse.ask"]


@pytest.mark.parametrize("error", [None, ZeroDivisionError, KeyboardInterrupt])
def test_classes_are_given_back_as_they_were(error: type[BaseException] | None) -> None:
    before = public_methods()

    def inside() -> None:
        with recording(seed=1), recording(seed=2):
            assert not any(vars(owner)[name] is method for (owner, name), method in before.items())
            if error:
                raise error

    if error:
        with pytest.raises(error):
            inside()
    else:
        inside()
    after = public_methods()
    assert all(after[place] is method for place, method in before.items())


def test_classes_are_given_back_after_an_audit_that_was_interrupted() -> None:
    def interrupted(rows: Rows) -> None:
        raise KeyboardInterrupt

    before = public_methods()
    with pytest.raises(KeyboardInterrupt):
        replay(interrupted, PEOPLE)
    assert all(public_methods()[place] is method for place, method in before.items())


def test_other_threads_are_untouched() -> None:
    drawn: list[Any] = []

    def elsewhere() -> None:
        drawn.extend(Laplace(scale=10**12).release(Exact(0, sensitivity=1)) for _ in range(4))

    with recording(seed=1) as tape:
        count_in_bath(PEOPLE)
    with replaying(tape) as again:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert (len(tape.calls), len(again.calls)) == (1, 0)
    assert len(set(drawn)) == 4  # two of four alike: about 6 in 10¹²
    assert not any(noise.testing.is_test_noise(value) for value in drawn)


def test_blocks_in_two_threads_at_once_do_not_take_each_others_calls() -> None:
    before, tapes = public_methods(), {}
    inside, leave = threading.Barrier(2), threading.Barrier(2)

    def record(number: int) -> None:
        with recording(seed=number) as tape:
            inside.wait(60)
            Laplace(scale=number + 1).release(Exact(number, sensitivity=1))
            leave.wait(60)
        tapes[number] = [(int(call.value), call.parameters["mechanism"].scale) for call in tape.calls]

    threads = [threading.Thread(target=record, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tapes == {0: [(0, 1)], 1: [(1, 2)]}
    assert all(public_methods()[place] is method for place, method in before.items())


def test_what_a_caller_does_to_a_released_value_does_not_reach_the_tape() -> None:
    def spoiling() -> list[int]:
        noisy: Any = ONE.release(Exact([1, 2], sensitivity=1))
        seen = noisy.tolist()
        noisy[:] = 0
        return list(seen)

    with recording(seed=1) as tape:
        first = spoiling()
    for _ in range(2):
        with replaying(tape):
            assert spoiling() == first


def test_a_run_that_is_answered_from_tape_goes_on_counting() -> None:
    def ask(count: int) -> tuple[bool, int]:
        run = AboveThreshold(epsilon=1, threshold=100).start()
        return run.ask(Exact(count, sensitivity=1)), run.left

    with recording(seed=1) as tape:
        assert ask(10_000) == (True, 0)
    with replaying(tape):
        assert ask(-10_000) == (True, 0)


def test_questions_to_another_run_are_a_departure() -> None:
    def ask(second: bool) -> None:
        runs = [Sparse(epsilon=1, threshold=10**6, positives=9).start() for _ in range(2)]
        for run in (runs[0], runs[1], runs[second]):
            run.ask(Exact(3, sensitivity=1))

    with recording(seed=1) as tape:
        ask(False)
    with replaying(tape) as again, pytest.raises(Diverged, match="another run"):
        ask(True)
    assert again.departure == "call 3 (Sparse.ask) belongs to another run or session"


def test_a_replay_that_departed_once_is_over() -> None:
    with recording(seed=1) as tape:
        count_in_bath(PEOPLE)
    with replaying(tape) as again:
        with pytest.raises(Diverged, match="other parameters"):
            Laplace(scale=2).release(Exact(1, sensitivity=1))
        with pytest.raises(Diverged, match="other parameters"):
            count_in_bath(PEOPLE)
    assert not again.calls


def test_the_same_seed_gives_the_same_audit() -> None:
    def leaky(rows: Rows) -> Any:
        return count_in_bath(rows) + len(rows)

    first, second = (replay(leaky, PEOPLE, seed=11, limit=3).words for _ in range(2))
    assert first == second
    assert any(replay(leaky, PEOPLE, seed=seed, limit=3).words != first for seed in range(5))


# -- what is asked of it ----------------------------------------------------------------------------------------


def test_a_limit_bounds_the_neighbours_of_each_table() -> None:
    tables = len(list(bases(PEOPLE)))
    assert f"{2 * tables} neighbours of {tables} tables" in passes(count_in_bath, limit=2).words


def test_rows_that_say_nothing_are_refused() -> None:
    with pytest.raises(ParameterError, match="a table to start from"):
        replay(count_in_bath, [])
    with pytest.raises(ParameterError, match=r"No row has a column 'name'.*\['age', 'weight', 'city'\]"):
        replay(count_in_bath, PEOPLE, person="name")


def test_a_computation_that_releases_nothing_is_told_so() -> None:
    verdict = replay(lambda rows: 7, PEOPLE)
    assert not verdict.caught
    assert "released nothing" in verdict.words


def test_a_norm_that_is_not_known_is_refused() -> None:
    with pytest.raises(ParameterError, match='norm must be "l1" or "l2"'):
        primitive(norm="l3")  # type: ignore[call-overload]
