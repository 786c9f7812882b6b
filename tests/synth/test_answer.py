"""Answers from a synthetic table: near the truth, in intervals that hold it with their confidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow
import pytest
from numpy.typing import NDArray

import discreet as dp
from discreet.errors import QuestionRefused
from discreet.synth import Synthetic
from discreet.synth.adaptive_bins import coarse, fine_axes
from discreet.synth.marginals import Measurement
from discreet.synth.marginals.domain import onto
from discreet.synth.released import Score
from tests.synth.tables import people, sealed


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synthetic]:
    with sealed(people(), tmp_path_factory.mktemp("answers") / "people.vault") as vault:
        yield vault.synthesize(epsilon=4)


@pytest.mark.parametrize(
    "condition",
    [
        "age >= 65",
        "city = 'Oslo' and married",
        "age < 30 and city <> 'Rome'",
        "married and age is null",
        "day >= '2024-07-01'",
    ],
)
def test_counts_lie_within_their_intervals(table: Synthetic, condition: str) -> None:
    """At confidence 1 − 1e-9 each, so that a false alarm has a probability below 1e-8."""
    frame = people().to_pandas()
    frame["day"] = frame["day"].astype(str)
    spelled = condition.replace("<>", "!=").replace(" = ", " == ").replace("age is null", "age != age")
    truth = len(frame.query(spelled))
    found = table.ask(f"select count(*) from people where {condition}", confidence="0.999999999")
    assert found.low <= truth <= found.high
    assert found.low <= found.value <= found.high
    assert abs(found.value - truth) < 300


def test_intervals_hold_the_truth_with_their_confidence(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Sixty tables of three columns, and four questions at 0.99 each: at most 32 of 240 intervals miss.

    The questions of one table share its noise. If they all miss together, nine tables of sixty that miss have a
    chance below 1e-8; if the noise were twice what is stated, some fifty intervals would miss.
    """
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (300, 3))
    rows = pyarrow.table({"who": range(300), **{name: codes[:, i] for i, name in enumerate("abc")}})
    missed = 0
    columns = {name: dp.Integer(0, 2, missing=0) for name in "abc"}
    with sealed(
        rows, tmp_path_factory.mktemp("coverage") / "v", columns=columns, budget=dp.Budget(500, "1e-9")
    ) as vault:
        for seed in range(60):
            made = vault.synthesize(epsilon=3, workload={("a", "b", "c"): 1.0 + seed})
            for low in range(2):
                for columns_asked in ("a", "b"):
                    found = made.ask(
                        f"select count(*) from people where {columns_asked} > {low}", confidence="0.99"
                    )
                    truth = int((codes[:, "abc".index(columns_asked)] > low).sum())
                    missed += not found.low <= truth <= found.high
    assert missed <= 32


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synthetic]:
    """Synthesize three columns of two values, whose measurements are replaced below."""
    rows = pyarrow.table({"who": [1, 2], **{name: [0, 1] for name in "abc"}})
    columns = {name: dp.Integer(0, 1, missing=0) for name in "abc"}
    with sealed(rows, tmp_path_factory.mktemp("three") / "v", columns=columns) as vault:
        yield vault.synthesize(epsilon=6)


def scored(three: Synthetic, codes: NDArray[np.int64], off: tuple[float, float], seed: int) -> Synthetic:
    """Return pairs with noise of the first deviation, and the distance of the three with that of the second."""
    rng, domain = np.random.default_rng(seed), three.domain
    pairs = [
        Measurement(c, domain.count(codes, c) + rng.normal(0, off[0], (2, 2)), off[0] ** 2) for c in domain.sets(2)
    ]
    made = replace(three, measurements=tuple(pairs), scores={}, stages={"triples": 3})
    away = np.abs(domain.count(codes, (0, 1, 2)) - made.model.marginal((0, 1, 2))).sum()
    score = Score((0, 1, 2), float(away + rng.normal(0, off[1])), off[1])
    return replace(made, scores={"triples": (score,)})


def test_an_interval_from_a_score_holds_the_truth_with_its_confidence(three: Synthetic) -> None:
    """The question holds all that the model misses, for which the bound is an equality.

    Of 200 intervals at 0.8, fewer than 130 hold with a chance below 1e-6.
    """
    cells = [c for c in product((0, 1), repeat=3) if sum(c) % 2 == 0]
    even = " or ".join(f"(a = {a} and b = {b} and c = {c})" for a, b, c in cells)
    held = 0
    for seed in range(200):
        codes = np.random.default_rng([7, seed]).integers(0, 2, (1000, 3))
        codes[:, 2] = codes[:, 0] ^ codes[:, 1] ^ (np.random.default_rng([8, seed]).random(1000) < 0.2)
        made = scored(three, codes, (8.0, 60.0), seed)
        found = made.ask(f"select count(*) from people where {even}", confidence="0.8")
        assert found.how == "scored"
        held += found.low <= (codes.sum(axis=1) % 2 == 0).sum() <= found.high
    assert held >= 130


def test_a_score_is_of_the_table_that_was_scored(three: Synthetic) -> None:
    """Pairs that contradict each other make a table of three columns with other pairs than theirs.

    Here that table is the truth, no noise is beyond what an interval allows for, and so each must hold it.
    """
    rng, domain, few = np.random.default_rng(0), three.domain, 0
    for _ in range(120):
        pairs = rng.multinomial(300_000, rng.dirichlet(np.full(8, 0.3))).reshape(2, 2, 2)
        found = [
            Measurement((0,), pairs.sum(axis=(1, 2)).astype(float), 25.0),
            *(
                Measurement(c, onto(pairs, (0, 1, 2), c) + rng.uniform(-25e3, 25e3, (2, 2)), 25e3**2)
                for c in domain.sets(2)
            ),
        ]
        made = replace(three, measurements=tuple(found), scores={}, stages={"triples": 4})
        truth = np.rint(made.model.marginal((0, 1, 2)))
        if any(np.abs(m.values - onto(truth, (0, 1, 2), m.columns)).max() > 3 * m.variance**0.5 for m in found):
            continue
        few += 1
        away = float(np.abs(truth - made.model.marginal((0, 1, 2))).sum())
        made = replace(made, scores={"triples": (Score((0, 1, 2), away, 5.0),)})
        for first, second in ("ab", "ac", "bc"):
            columns = domain.places((first, second))
            answer = made.ask(
                f"select count(*) from people where {first} = 0 and {second} = 1", confidence="0.9999"
            )
            assert answer.low <= onto(truth, (0, 1, 2), columns)[0, 1] <= answer.high
    assert few > 30


def test_how_many_rows_there_are_is_known_no_better_than_all_bins_of_a_skewed_column(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Of 512 levels most are empty, so that some bins are dozens of times as wide as others.

    Of 150 intervals at 0.9999, three or more miss with a chance below 1e-6. With one variance for all bins about
    eighteen would.
    """
    exact = np.bincount(np.minimum(np.random.default_rng(1).geometric(0.08, 30_000) - 1, 511), minlength=513)
    columns = {"x": dp.Integer(0, 511)}
    with sealed(
        pyarrow.table({"who": [1], "x": [0]}), tmp_path_factory.mktemp("skewed") / "v", columns=columns
    ) as vault:
        made = vault.synthesize(epsilon=6)
    fine, held = fine_axes(made.metadata, ["x"], None)[0], 0
    for seed in range(150):
        noisy = exact + np.random.default_rng([3, seed]).normal(0, 10.0, 513)
        axis, measured = coarse(fine, Measurement((0,), noisy, 100.0), made.metadata, keep=False)
        found = replace(made, axes=(axis,), measurements=(measured,)).ask(
            "select count(*) from people", confidence="0.9999"
        )
        held += found.low <= 30_000 <= found.high
    assert measured.variances.max() > 20 * measured.variances.min()
    assert held >= 148


def test_sums_and_averages_are_near_and_inside(table: Synthetic) -> None:
    frame = people().to_pandas()
    income = np.floor(frame["income"] / 100 + 0.5).clip(0, 2000) * 100
    total = table.ask("select sum(income) from people", confidence="0.999999999")
    assert total.low <= income.sum() <= total.high
    assert abs(total.value / income.sum() - 1) < 0.1
    mean = table.ask("select avg(age) from people where city = 'Oslo'", confidence="0.999999999")
    truth = frame[frame["city"] == "Oslo"]["age"].mean()
    assert mean.low <= truth <= mean.high
    assert abs(mean.value - truth) < 4


def test_a_confidence_next_to_certainty_has_an_interval(table: Synthetic) -> None:
    """In floats 1 − 1e-29 is 1, whose quantile is infinite."""
    question = "select count(*) from people where married"
    sure, likely = (table.ask(question, confidence=c) for c in ("0." + "9" * 29, "0.95"))
    assert 4 < sure.error / likely.error < 6


def test_questions_of_the_builder_are_answered(table: Synthetic) -> None:
    assert abs(float(table.ask(dp.where(age=(30, 40), city="Oslo"))) - 220) < 120


def test_an_interval_has_a_basis(table: Synthetic) -> None:
    assert table.ask("select count(*) from people where married").how == "measured"
    deep = table.ask("select count(*) from people where married and city = 'Oslo' and age < 50 and income < 9000")
    assert deep.how == "unknown"
    assert deep.low == 0
    assert deep.high >= table.total
    assert "were not measured together" in str(deep)


def test_a_cut_bin_widens_the_interval(table: Synthetic) -> None:
    axis = next(axis for axis in table.axes if axis.name == "income")

    def rows(i: int) -> float:
        span = f"income >= {100 * axis.starts[i]} and income < {100 * axis.starts[i + 1]}"
        return float(table.ask(f"select count(*) from people where {span}").value)

    # The fullest bin: what is unknown of an empty one is less than what two sums differ by.
    wide = max((i for i in range(1, len(axis.starts) - 1) if axis.starts[i + 1] - axis.starts[i] > 1), key=rows)
    edge, inside = 100 * axis.starts[wide], 100 * axis.starts[wide] + 100
    crisp, cut = (table.ask(f"select count(*) from people where income >= {x}") for x in (edge, inside))
    assert cut.error > crisp.error


@pytest.mark.parametrize(
    "question",
    [
        "select city, count(*) from people group by city",
        "select median(age) from people",
        "select sum(age * age) from people",
    ],
)
def test_questions_that_are_not_linear_queries_are_refused(table: Synthetic, question: str) -> None:
    with pytest.raises(QuestionRefused, match="A synthetic table"):
        table.ask(question)
