"""Choices from finite classes: exactly private on small tables, recorded on vaults, as good as promised."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.audit.attacks import exact
from discreet.audit.attacks.exact import law
from discreet.audit.inputs.subject import Subject
from discreet.errors import BudgetExceeded, DiscreetError, NotForRelease, ParameterError
from discreet.learn import finite
from discreet.learn.finite import selection
from discreet.learn.finite.mechanism import Choosing
from discreet.learn.statistical_queries import Rule, Sample, error_rate, literals
from discreet.learn.statistical_queries.exact_sums import SampleSums
from discreet.learn.statistical_queries.query import condition
from discreet.learn.statistical_queries.rules import errors
from discreet.ledger import Budget
from discreet.ledger.costs import cost
from discreet.mechanisms import Exact, Exponential, PermuteAndFlip, Sensitivity
from discreet.privacy.losses import Loss, Pure
from discreet.privacy.session import Session
from discreet.release import Released
from discreet.schema import Boolean, Column, Integer
from discreet.schema.metadata import UNIT
from discreet.vault.vault import Vault
from tests.learn.statistical_queries import tables

TINY: dict[str, Column] = {"x": Integer(0, 1), "y": Boolean()}
KINDS = [(x, y) for x in (0, 1, None) for y in (False, True)]
ALL = [list(rows) for size in range(3) for rows in itertools.combinations_with_replacement(KINDS, size)]
PAIRS = [(rows, [*rows, more]) for rows in ALL for more in KINDS]
CHOOSING: list[Choosing] = ["exponential", "permute and flip"]


def tiny(choosing: Choosing, epsilon: int = 1) -> Any:
    """Return the choice of a hypothesis on a tiny table, by its index."""
    hypotheses = finite.stumps(TINY, ["x"], cuts=1)
    mechanism = finite.mechanism_for(
        Fraction(epsilon), True, weight=UNIT, candidates=len(hypotheses), choosing=choosing
    )
    label = condition(hypotheses.metadata, "y")
    trees = [errors(tree, label, whole=1) for tree in hypotheses.trees]

    @cache
    def scores(rows: tuple[tuple[Any, bool], ...]) -> Exact:
        sums = SampleSums(Sample.of({"x": [x for x, _ in rows], "y": [y for _, y in rows]}, TINY))
        return selection.scores(sums, sums.prepare(trees))

    return lambda rows: int(mechanism.release(scores(tuple(rows))))


def subject(choosing: Choosing, loss: Loss, pairs: Any = PAIRS) -> Subject:
    return Subject(name=choosing, release=tiny(choosing), loss=loss, pairs=pairs)


@pytest.mark.parametrize("pairs", [PAIRS[:42], pytest.param(PAIRS, marks=pytest.mark.slow)], ids=["one", "two"])
@pytest.mark.parametrize("choosing", CHOOSING)
def test_the_loss_of_a_choice_is_at_most_epsilon_on_all_neighbours_of_all_small_tables(
    choosing: Choosing, pairs: Any
) -> None:
    """All tables of at most one row, or of two, and everyone who may join them: 42 or 168 pairs, both ways."""
    verdict = exact.attack(subject(choosing, Pure(1), pairs))
    assert not verdict.caught, verdict.words
    assert 0.7 < (verdict.found or 0) <= 1 + 1e-9


@pytest.mark.parametrize("choosing", CHOOSING)
def test_a_choice_that_charges_half_is_caught(choosing: Choosing) -> None:
    assert exact.attack(subject(choosing, Pure("0.5"), PAIRS[:12])).caught


def test_a_choice_whose_scores_are_not_monotonic_is_caught() -> None:
    """With correct minus wrong predictions as scores, e^{ε·score/Δ} loses more than ε: errors are needed."""
    mechanism = Exponential(1, sensitivity=2, monotonic=True)

    def release(rows: list[tuple[int, bool]]) -> int:
        scores = [sum(1 if (x >= cut) == y else -1 for x, y in rows) for cut in (0, 1, 2)]
        return int(mechanism.release(Exact([2 * s for s in scores], Sensitivity(each=2, monotonic="up"))))

    pairs = [([], [(0, True)]), ([(1, False)] * 4, [(1, False)] * 4 + [(0, True)])]
    assert exact.attack(Subject(name="signed scores", release=release, loss=Pure(1), pairs=pairs)).caught


def test_the_law_of_a_choice_is_that_of_the_exponential_mechanism() -> None:
    rows = [(1, True), (1, True), (0, False), (0, True)]
    release = tiny("exponential", epsilon=2)
    found = law(lambda: release(rows))
    wrong = np.array([1, 3, 1, 3])  # true, false, x >= 1, x < 1
    want = np.exp(-2.0 * wrong) / np.exp(-2.0 * wrong).sum()
    for index, chance in enumerate(want):
        low, high = found.chance(index)
        assert low - 1e-12 <= chance <= high + 1e-12


@pytest.mark.parametrize("choosing", CHOOSING)
def test_the_excess_is_as_promised(choosing: Choosing) -> None:
    """A false alarm takes 30 failures of probability 0.05 in 100 runs: less than 1e-12."""
    rows = tables.sample(300)
    hypotheses = finite.stumps(rows, ["age", "city"], cuts=10)
    wrong = {text: error_rate(Rule(text), "ill", rows) * 300 for text in hypotheses.texts}
    best, failures = min(wrong.values()), 0
    for _ in range(100):
        found = finite.choose(rows, hypotheses, label="ill", epsilon="0.5", mechanism=choosing)
        failures += wrong[found.condition] - best > (found.excess.interval[1] or 0)
    assert failures < 30


def test_the_better_mechanism_is_taken() -> None:
    pure = finite.mechanism_for(Fraction(1), True, weight=UNIT, candidates=50)
    approximate = finite.mechanism_for(Fraction(1, 50), False, weight=UNIT, candidates=50)
    assert isinstance(pure, PermuteAndFlip)
    assert isinstance(approximate, Exponential)
    assert Fraction(1, 51) < cost(approximate.loss).rho <= Fraction(1, 50)


@pytest.mark.parametrize("count", [0, 1])
def test_any_table_gives_a_choice(count: int) -> None:
    rows = tables.sample(count)
    for hypotheses in (
        finite.stumps(rows, ["age"], cuts=3),
        finite.thresholds(rows, "pay", cuts=5),
        finite.conjunctions(rows, ["age", "city"], cuts=1),
        finite.predicates(rows, ["age > 3 and ill is null"]),
    ):
        assert finite.choose(rows, hypotheses, label="ill", epsilon=1).condition in hypotheses.texts


def test_a_huge_weight_counts_one_row() -> None:
    table = Sample.of({"x": [1, 0], "y": [True, False]}, TINY, weights=[1e300, float("nan")])
    sums = SampleSums(table)
    wrong = errors(condition(table.metadata, "false"), condition(table.metadata, "y"), whole=1)
    assert sums.run(sums.prepare([wrong])) == [UNIT]


# -- classes ------------------------------------------------------------------------------------------------------


def test_classes() -> None:
    people = tables.sample(0)
    assert len(finite.stumps(people, cuts=4)) == 2 + 8 + 8 + 8 + 2
    assert len(finite.thresholds(people, "age", cuts=9)) == 11
    conjunctions = finite.conjunctions(people, ["city", "ill"], most=2)
    assert len(conjunctions) == 1 + (8 + 2) + 8 * 2
    assert conjunctions.columns == ("city", "ill")
    assert finite.stumps(people, ["age"]).digest != finite.stumps(people, ["pay"]).digest
    with pytest.raises(ParameterError, match="no order"):
        finite.thresholds(people, "city")
    with pytest.raises(ParameterError, match="from 1 to"):
        finite.predicates(people, [])
    with pytest.raises(ParameterError, match="too many"):
        finite.conjunctions({f"c{i}": Integer(0, 99) for i in range(30)}, most=5, cuts=50)


def test_a_class_of_another_schema_is_refused() -> None:
    with pytest.raises(ParameterError, match="other columns"):
        finite.choose(tables.sample(5), finite.stumps(TINY), label="ill", epsilon=1)
    with pytest.raises(ParameterError, match="needs an epsilon"):
        finite.choose(tables.sample(5), finite.stumps(tables.COLUMNS), label="ill", spend="5%")
    wrong: Any = "the best guess"
    with pytest.raises(ParameterError, match="no such mechanism"):
        finite.choose(tables.sample(5), finite.stumps(tables.COLUMNS), label="ill", epsilon=1, mechanism=wrong)


def test_a_session_pays_for_choices_and_refuses_the_one_too_many() -> None:
    session, stumps = Session(Pure(2)), finite.stumps(tables.COLUMNS, ["age"])
    for _ in range(2):
        finite.choose(tables.sample(5), stumps, label="ill", epsilon=1, session=session)
    with pytest.raises(BudgetExceeded):
        finite.choose(tables.sample(5), stumps, label="ill", epsilon="0.1", session=session)


# -- over a vault -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[Budget(100), Budget(100, "1e-9")], ids=["pure", "delta"])
def vault(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    place = tmp_path_factory.mktemp("finite") / "v"
    with tables.sealed(place, tables.rows(), budget=request.param) as opened:
        yield opened


def test_a_vault_gives_a_recorded_choice_and_the_same_call_again_is_free(vault: Vault) -> None:
    hypotheses = finite.conjunctions(vault.table(), ["age", "city"], most=2, cuts=4)
    before = vault.ledger.balance()
    found = finite.choose(vault.table(), hypotheses, label="ill", epsilon=2)
    after = vault.ledger.balance()
    again = finite.choose(vault.table(), hypotheses, label="ill", epsilon=2)
    assert isinstance(found, finite.SealedChoice)
    assert isinstance(again, finite.SealedChoice)
    assert isinstance(found, Released)
    assert after.charges == before.charges + 1
    assert vault.ledger.balance().spent == after.spent
    assert again.condition == found.condition
    assert (again.free, again.receipt.free, found.receipt.free) == (True, True, False)
    assert float(found.receipt.promise.epsilon) <= 2 + 1e-9
    assert found.label.product == "a hypothesis of a finite class"
    assert set(found.label.columns) == {"age", "city", "ill"}
    assert "errors more than the best of" in str(found)
    assert error_rate(found, "ill", tables.sample()) < 0.45


def test_a_choice_survives_json(vault: Vault) -> None:
    found = finite.choose(vault.table(), finite.stumps(vault.table(), ["age"]), label="ill", epsilon=2)
    assert isinstance(found, finite.SealedChoice)
    back = finite.SealedChoice.from_json(json.loads(json.dumps(found.to_json())))
    assert back == found
    rows = tables.rows(50)
    assert back.predict(rows).tolist() == found.predict(Sample.of(rows, tables.COLUMNS)).tolist()
    with pytest.raises(ParameterError, match="reads"):
        finite.SealedChoice.from_json({})
    with pytest.raises(ParameterError, match="damaged"):
        finite.SealedChoice.from_json({**found.to_json(), "hypotheses": "many"})


def test_the_charge_is_the_loss_of_the_mechanism(vault: Vault) -> None:
    before = vault.ledger.balance()
    finite.choose(vault.table(), finite.stumps(vault.table(), ["pay"]), label="ill", spend="1%")
    spent = vault.ledger.balance().used - before.used
    total = before.total or Fraction(0)
    assert total / 102 < spent <= total / 100


def test_another_cost_label_or_class_is_another_choice(vault: Vault) -> None:
    charges = vault.ledger.balance().charges
    stumps = finite.stumps(vault.table(), ["city"])
    others: list[dict[str, Any]] = [
        {},
        {"epsilon": 1},
        {"label": "not ill"},
        {"mechanism": "exponential", "epsilon": "0.5"},
    ]
    for changes in others:
        finite.choose(vault.table(), stumps, **{"label": "ill", "epsilon": "0.25", **changes})
    assert vault.ledger.balance().charges == charges + 4


@pytest.mark.parametrize(
    "changes",
    [{"epsilon": 0}, {"label": "height > 3"}, {"epsilon": None}, {"spend": "5%"}, {"epsilon": 1000}],
)
def test_what_is_refused_costs_nothing(vault: Vault, changes: dict[str, Any]) -> None:
    before = vault.ledger.balance().spent
    with pytest.raises((DiscreetError, BudgetExceeded)):
        finite.choose(vault.table(), finite.stumps(vault.table()), **{"label": "ill", "epsilon": 1, **changes})
    assert vault.ledger.balance().spent == before


def test_choices_from_test_bits_are_not_recorded_or_pickled(tmp_path: Path) -> None:
    with noise.deterministic(1):
        rehearsal = tables.sealed(tmp_path / "v", tables.rows(50))
    with rehearsal as vault:
        stumps = finite.stumps(vault.table(), ["age"])
        with noise.deterministic(1):
            found = finite.choose(vault.table(), stumps, label="ill", epsilon=1)
        assert isinstance(found, finite.SealedChoice)
        assert found.test_bits
        with pytest.raises(NotForRelease):
            found.expect_release("save")
        real = finite.choose(vault.table(), stumps, label="ill", epsilon=1)
        assert isinstance(real, finite.SealedChoice)
        assert not real.free


def test_many_hypotheses_on_many_rows(tmp_path: Path) -> None:
    with tables.sealed(tmp_path / "v", tables.rows(4_000)) as vault:
        hypotheses = finite.conjunctions(vault.table(), ["age", "city", "pay"], most=3, cuts=5)
        assert len(hypotheses) > 1000
        found = finite.choose(vault.table(), hypotheses, label="ill", epsilon=10)
        best = finite.choose(tables.sample(4_000), hypotheses, label="ill", epsilon=10**6)
        exact_rows = tables.sample(4_000)
        gap = error_rate(found, "ill", exact_rows) - error_rate(best, "ill", exact_rows)
        assert gap * 4_000 <= 40


def test_the_default_columns_are_all_but_strings() -> None:
    assert len(literals(tables.COLUMNS, cuts=2)) == len(finite.stumps(tables.COLUMNS, cuts=2)) - 2
