"""Scores find the differences of laws, and the chosen event is the one that promises the largest loss."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit.attacks.clopper_pearson import lower, upper
from discreet.audit.attacks.outcomes import Raised
from discreet.audit.blackbox.events import Event, choose
from discreet.audit.blackbox.features import finest_bit, whole
from discreet.audit.blackbox.samples import Group, Outcomes, kind_in_words, merged, seen
from discreet.audit.blackbox.scores import Score, learned
from discreet.audit.blackbox.subsample import gathered

RNG = np.random.default_rng
THIRD = 2**53 // 3 / 2**53  # with as many digits as a double drawn at random


def chosen(P: Any, Q: Any, *, alpha: float = 1e-3) -> Event:
    """Return the event chosen by one half of each sample, after learning from the other half."""
    halves = [(side[::2], side[1::2]) for side in (P, Q)]
    scores = learned(*([seen(first)] for first, _ in halves))
    second = [[seen(rest)] for _, rest in halves]
    return choose(scores, *second, alpha=alpha, deltas=np.zeros(1), claimed=np.zeros(1))


def shuffled(answers: Any) -> Any:
    order = RNG(5).permutation(len(answers))
    return answers[order] if isinstance(answers, np.ndarray) else [answers[i] for i in order]


def rate(event: Event, answers: Any) -> float:
    return int(event.hits(seen(answers))[event.at]) / len(answers)


# -- what is looked at ------------------------------------------------------------------------------------------


@given(st.floats(allow_nan=False, allow_infinity=False).filter(bool))
def test_the_finest_bit_of_a_double_is_that_of_its_exact_fraction(x: float) -> None:
    multiple = Fraction(x) / Fraction(2) ** int(finest_bit(np.array([x]))[0])
    assert multiple.denominator == 1
    assert multiple.numerator % 2 == 1


@given(st.integers(-(2**63), 2**63 - 1).filter(bool))
def test_the_finest_bit_of_an_integer_is_the_power_of_two_that_divides_it(n: int) -> None:
    assert finest_bit(np.array([n]))[0] == (n & -n).bit_length() - 1


def test_doubles_without_a_finest_bit_are_told_apart() -> None:
    strange = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, -math.nan])
    assert finest_bit(strange).tolist() == [2000, 2001, 2002, 2003, 2004, 2004]


def test_answers_are_the_same_only_if_an_observer_cannot_tell_them_apart() -> None:
    rows = seen(np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [math.nan, 1.0], [-math.nan, 1.0], [0.0, 1.0]]))
    codes = whole(rows["float", "float"]).tolist()
    assert codes[0] == codes[5]
    assert codes[3] == codes[4]
    assert len(set(codes)) == 4


# -- sorting by kind --------------------------------------------------------------------------------------------


def test_answers_are_sorted_by_kind_and_equal_ones_counted() -> None:
    error = Raised("ValueError", "no")
    found = seen([1, True, 1.0, 1, None, "a", "a", error, (1, 2.5), [1, 2.5], 2**70, -0.0])
    assert {kind: group.counts.tolist() for kind, group in found.items()} == {
        "int": [2],
        "bool": [1],
        "float": [1, 1],
        "None": [1],
        "str": [2],
        "raised ValueError": [1],
        ("int", "float"): [2],
        "huge int": [1],
    }


@given(
    st.lists(st.sampled_from([True, 1, 1.0, 2, 2.0, (1,), (True,), (1.0,), "1", None]), min_size=1, max_size=12)
)
def test_the_kind_of_an_answer_does_not_depend_on_the_other_answers(answers: list[Any]) -> None:
    together = {kind: group.total for kind, group in seen(answers).items()}
    alone = {kind: group.total for kind, group in merged(seen([answer]) for answer in answers).items()}
    assert together == alone


@pytest.mark.parametrize(
    "array",
    [
        np.array([True, False, True]),
        np.array([3, -3, 3], dtype=np.int16),
        np.array([1.5, math.nan, -0.0], dtype=np.float32),
        np.array([[1, 2], [3, 4], [1, 2]]),
        np.array([[[0.5, 1.5]], [[2.5, -0.0]], [[0.5, 1.5]]]),
        np.array([1, 2**64 - 1, 1], dtype=np.uint64),
        np.array(["a", "b", "a"]),
        np.array([None, 2, "x"], dtype=object),
        np.zeros((3, 0)),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_a_batch_is_seen_just_like_its_answers_one_by_one(array: Any) -> None:
    at_once, single = seen(array), merged(seen([answer]) for answer in array.tolist())
    assert list(at_once) == list(single)
    for kind, group in at_once.items():
        counted: list[dict[int, int]] = [{}, {}]
        for counts, side in zip(counted, (group, single[kind]), strict=True):
            for code, count in zip(whole(side).tolist(), side.counts.tolist(), strict=True):
                counts[code] = counts.get(code, 0) + count
        assert counted[0] == counted[1]


def test_of_many_wide_answers_an_even_sample_is_kept_and_all_are_counted() -> None:
    def part(number: int) -> Outcomes:
        return {"wide": Group(np.full((50, 2**14), number), np.ones(50, np.int64))}

    sample, totals = gathered(map(part, range(40)))
    assert totals == {"wide": 2_000}
    assert 128 <= len(sample["wide"]) <= 256  # of 2^14 numbers each: 2^22 at most, and half of that at least
    assert len(set(sample["wide"].numbers[:, 0].tolist())) == 40


def test_kinds_have_names() -> None:
    assert [kind_in_words(kind) for kind in ("None", (), ("int", ("int",)))] == [
        "None",
        "a list of 0",
        "a list of 2",
    ]


# -- scores -----------------------------------------------------------------------------------------------------


@given(
    st.lists(st.floats(), min_size=1, max_size=30), st.lists(st.floats(-5, 5), min_size=1, max_size=5, unique=True)
)
def test_a_score_counts_what_is_at_or_above_each_threshold_and_leaves_nan_out(
    xs: list[float], ts: list[float]
) -> None:
    score = Score({"float": lambda g: g.numbers[:, 0]}, lambda t, above: "", thresholds=np.sort(np.array(ts)))
    above, known = score.above({**seen(np.array(xs)), **seen(["no number"])})
    assert above.tolist() == [sum(x >= t for x in xs) for t in sorted(ts)]
    assert known == sum(not math.isnan(x) for x in xs)


CASES: dict[str, tuple[Any, Any, float, str]] = {
    # P, Q, the ε that must be shown, what the words must name
    "a shifted tail": (RNG(1).geometric(0.3, 20_000), RNG(2).geometric(0.3, 20_000) + 1, 5.0, "below 2"),
    "a spread": (RNG(3).integers(-99, 100, 20_000), RNG(4).integers(-49, 50, 20_000), 6.0, "the number is"),
    "parity": (
        RNG(5).integers(0, 10**6, 20_000) * 2,
        RNG(6).integers(0, 10**6, 20_000) * 2 + 1,
        6.0,
        "finest set",
    ),
    "rounding": (RNG(7).random(20_000), RNG(8).integers(0, 2**30, 20_000) / 2**30, 6.0, "finest"),
    "the sign of zero": (np.full(20_000, -0.0), RNG(9).choice([0.0, -0.0], 20_000), 0.6, "0.0"),
    "an atom among doubles": (
        np.append(RNG(1).random(18_000), [THIRD] * 2_000),
        RNG(2).random(20_000),
        4.0,
        "0.333",
    ),
    "NaN": (np.where(RNG(1).random(20_000) < 0.1, np.nan, 1.0), np.ones(20_000), 4.0, "NaN"),
    "words": (["yes", "no"] * 10_000, ["yes", "no", "no", "no"] * 5_000, 0.6, "'yes'"),
    "lengths": ([[1.5], [1.5, 2.5]] * 10_000, [[1.5]] * 20_000, 6.0, "a list of 2"),
    "an exception": ([Raised("E", "x"), 1, 2, 3] * 5_000, [1, 2, 3, 4] * 5_000, 6.0, "raised E"),
    "one number under one kind": ([None, "x", 7.5] * 6_000, [None, "x", 8.5] * 6_000, 6.0, "float"),
    "correlated entries": (
        (lambda z: np.stack([z, z], axis=1))(RNG(1).integers(0, 10**6, 20_000)),
        (lambda z: np.stack([z, z[::-1]], axis=1))(RNG(2).integers(0, 10**6, 20_000)),
        -1.0,  # neither linear nor in any one entry: nothing must go wrong
        "",
    ),
    "a difference of entries": (
        (lambda z: np.stack([z, z + RNG(3).integers(0, 500, len(z))], axis=1))(RNG(1).integers(0, 9999, 20_000)),
        (lambda z: np.stack([z, z - RNG(4).integers(0, 500, len(z))], axis=1))(RNG(2).integers(0, 9999, 20_000)),
        4.0,
        "a classifier",
    ),
    "the greatest of many": (
        RNG(1).integers(0, 10**5, (8_000, 20)) + (np.arange(20) == RNG(3).integers(0, 20, (8_000, 1))) * 10**5,
        RNG(2).integers(0, 10**5, (8_000, 20)),
        6.0,
        "",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_chosen_event_shows_the_difference_of_the_laws(case: str) -> None:
    P, Q, least, name = CASES[case]
    # Shuffled, so that both halves follow the same law. Seeds are fixed: there is no false alarm.
    P, Q = shuffled(P), shuffled(Q)
    event = chosen(P, Q)
    likely, other = (rate(event, side) for side in ((Q, P) if event.swapped else (P, Q)))
    n = len(P)
    shown = math.log(float(lower(round(likely * n), n, 1e-3)) / float(upper(round(other * n), n, 1e-3)))
    assert shown >= least
    assert name in event.words


def test_of_equal_laws_no_event_promises_anything() -> None:
    P, Q = (RNG(seed).normal(size=(8_000, 5)).round(2) for seed in (1, 2))
    event = chosen(P, Q)
    fresh = [rate(event, RNG(seed).normal(size=(20_000, 5)).round(2)) for seed in (3, 4)]
    assert abs(fresh[0] - fresh[1]) < 0.03


def test_a_rare_event_does_not_rank_above_a_certain_one() -> None:
    # Value 9 was seen on one side only, but twelve times: that promises less than a ratio of 3 among thousands.
    P = np.repeat([0, 1, 9], [7_488, 2_500, 12])
    Q = np.repeat([0, 1], [2_500, 7_500])
    event = chosen(RNG(1).permutation(P), RNG(2).permutation(Q), alpha=1e-6)
    assert rate(event, np.array([0])) != rate(event, np.array([1]))


def test_a_value_seen_a_few_times_ranks_below_one_that_is_surely_more_likely() -> None:
    P, Q = ["often"] * 3000 + ["rare"] * 10 + ["else"] * 6990, ["often"] * 300 + ["else"] * 9700
    score = learned([seen(P)], [seen(Q)])[-1]
    assert score.words(float(score.thresholds[-1]), True) == "the answer is 'often'"


def test_an_event_that_looks_good_by_chance_is_not_chosen() -> None:
    """A shift by 1 of twelve entries with noise of scale 10: among thousands of events, rare ones look good."""

    def sample(shift: int, seed: int, count: int) -> Any:
        return shift + np.rint(RNG(seed).laplace(0, 10, (count, 12))).astype(np.int64)

    for seed in range(6):
        event = chosen(sample(0, 4 * seed, 30_000), sample(1, 4 * seed + 1, 30_000))
        rates = [rate(event, sample(shift, 4 * seed + 2 + shift, 100_000)) for shift in (0, 1)]
        assert abs(math.log(rates[0] / rates[1])) > 0.3
        assert min(rates) > 0.01


def test_the_delta_is_chosen_where_the_claim_is_exceeded_most() -> None:
    P, Q = np.repeat([0, 1], [9_000, 1_000]), np.repeat([0, 1], [10_000, 0])
    sample: list[list[Outcomes]] = [[seen(P)], [seen(Q)]]
    scores = learned(*sample)
    deltas, claimed = np.array([0.0, 0.01, 0.2]), np.array([math.inf, 2.0, 1.0])
    event = choose(scores, *sample, alpha=1e-6, deltas=deltas, claimed=claimed)
    assert event.choice == 1
    assert not event.swapped
    assert event.words == "the number is 1 or more"
