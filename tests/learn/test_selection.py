"""A private search: what it charges, what it releases, and what it keeps secret."""

from __future__ import annotations

import json
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

from discreet import noise
from discreet.engines.examples import WHOLE, MemoryExamples
from discreet.errors import ParameterError
from discreet.learn.linear_classifier import LogisticRegression
from discreet.learn.methods.gradient_descent import GradientDescent
from discreet.learn.price import Price
from discreet.learn.selection import PrivateSearch, counted_right, drawn
from discreet.learn.training import Task, silent
from discreet.ledger import Budget
from discreet.ledger.costs import cost
from discreet.noise.testing import Asked, scripted
from discreet.privacy.pld.normal import gaussian_delta
from discreet.privacy.theorems.selection import Logarithmic, delta
from discreet.schema import Boolean, Category, Column, Integer
from discreet.vault.vault import Vault

COLUMNS: dict[str, Column] = {"age": Integer(0, 99)}
TASK = Task(COLUMNS, "old", Boolean())
GRID = {"regularisation": [1, 1000]}


def search(**given: Any) -> PrivateSearch:
    base = LogisticRegression(columns=COLUMNS, classes=[0, 1], method=given.pop("method", "output_perturbation"))
    return PrivateSearch(base, given.pop("grid", GRID), **given)


def rows(count: int = 400) -> MemoryExamples:
    age = np.arange(count) % 100
    return MemoryExamples({"age": age, "old": (age >= 50).astype(np.int64)}, np.full(count, WHOLE, np.int16))


@pytest.mark.parametrize("method", ["output_perturbation", "objective_perturbation", "gradient_descent"])
def test_each_candidate_draws_noise_enough_for_the_whole_search(method: str) -> None:
    """The variances that a run draws, as one μ, against the profile of the search."""
    price = Price.alone(1, "1e-6")
    asked: list[Asked] = []

    def choose(one: Asked) -> int:
        asked.append(one)
        return 1 if one.law == "bernoulli" else 0  # one candidate, the first setting, and no noise

    with scripted(choose):
        search(method=method, candidates=10).plan(TASK, price).run(rows(), silent)
    score = [one.parameter for one in asked if one.law == "discrete_gaussian"][-1]
    assert isinstance(score, Fraction)
    mu = math.sqrt(WHOLE**2 / (score - 9) / Fraction(1, 10))  # the score takes a tenth of the square
    assert delta(mu * (1 - 1e-5), Logarithmic.of_mean(10), 1.0) <= 1e-6
    assert delta(mu * 1.01, Logarithmic.of_mean(10), 1.0) > 1e-6, "the budget is used"


def test_a_ledger_is_charged_gaussian_privacy_within_the_price() -> None:
    known = Price.alone(1, "1e-6")
    vault = Price(known.epsilon, known.delta, known.rho, known.rho)
    charged = cost(search().plan(TASK, vault).losses)
    assert 0.99 * float(known.rho or 0) < float(charged.rho) <= float(known.rho or 0)
    assert charged.delta == 0
    assert gaussian_delta(math.sqrt(2 * float(charged.rho)), 1.0)[1] <= 1e-6


def test_a_pure_search_charges_its_epsilon() -> None:
    training = search().plan(TASK, Price.alone(1))
    assert cost(training.losses).epsilon == 1
    state = training.run(rows(), silent)
    assert set(state["settings"]) == {"regularisation"}


def test_a_candidate_of_a_pure_search_draws_noise_for_half_of_its_epsilon() -> None:
    asked: list[Asked] = []

    def choose(one: Asked) -> int:
        asked.append(one)
        return 1 if one.law == "bernoulli" else 0

    with scripted(choose):
        search(candidates=10).plan(TASK, Price.alone(1)).run(rows(), silent)
    score = [one.parameter for one in asked if one.law == "discrete_laplace"][-1]
    assert score == WHOLE / (Fraction(1, 2) * Fraction(1, 10))


def test_the_number_of_candidates_has_its_law() -> None:
    """Each of the first numbers within 6 deviations: a right sampler fails once in 10⁸ times."""
    law, count = Logarithmic.of_mean(3), 10_000
    found = Counter(drawn(law) for _ in range(count))
    g = float(law.gamma)
    for k in range(1, 6):
        p = (1 - g) ** k / k / -math.log(g)
        assert abs(found[k] - count * p) < 6 * math.sqrt(count * p)


def test_a_search_is_the_estimator_that_it_found_and_says_what_it_keeps_secret() -> None:
    age = np.arange(5000) % 100
    model = search(epsilon=4, delta="1e-6", candidates=12, grid={"regularisation": [4, 500_000]})
    model.fit({"age": age}, (age >= 30).astype(int))
    assert (model.predict({"age": [5, 60, 95]}) == model.best_estimator_.predict({"age": [5, 60, 95]})).all()
    assert model.best_estimator_.regularisation in (4, 500_000)
    assert model.predict_proba({"age": [5]}).shape == (1, 2)
    assert any("secret" in note for note in model.label.notes)
    assert model.receipt.promise.epsilon == 4


def test_a_search_comes_back_from_json() -> None:
    age = np.arange(1000) % 100
    model = search(epsilon=2, delta="1e-6").fit({"age": age}, (age >= 50).astype(int))
    again = PrivateSearch.from_json(json.loads(json.dumps(model.to_json())))
    assert again.best_params_ == model.best_params_
    assert (again.predict({"age": age}) == model.predict({"age": age})).all()


def test_the_score_counts_persons_and_not_rows() -> None:
    examples = rows(100)
    made = LogisticRegression()
    state = search().plan(TASK, Price.alone(8, "1e-6")).run(examples, silent)["model"]
    whole = int(counted_right(made, TASK, state, examples)[0])
    halves = MemoryExamples(
        {name: np.repeat(codes, 2) for name, codes in examples.codes.items()}, np.full(200, WHOLE // 2, np.int16)
    )
    assert int(counted_right(made, TASK, state, halves)[0]) == whole


def test_no_progress_tells_the_number_of_candidates() -> None:
    told: list[tuple[str, float]] = []
    search(candidates=20).plan(TASK, Price.alone(1)).run(rows(), lambda what, done: told.append((what, done)))
    assert told == [("searching", 0.0)]


def test_test_bits_are_marked() -> None:
    with noise.deterministic(3):
        assert search().plan(TASK, Price.alone(1)).run(rows(), silent)["test_bits"]


def test_a_vault_pays_for_a_search_of_three_classes(tmp_path: Path) -> None:
    table = {"age": [str(i % 100) for i in range(60)], "kind": ["abc"[i % 3] for i in range(60)]}
    columns: dict[str, Column] = {"age": Integer(0, 99), "kind": Category(["a", "b", "c"])}
    base = LogisticRegression(method=GradientDescent(steps=2))
    with Vault.seal(
        pyarrow.table(table), to=tmp_path / "people.vault", person=None, columns=columns, budget=Budget(3, "1e-6")
    ) as vault:
        tuned = PrivateSearch(base, {"feature_map": ["hats", "linear"]})
        model = vault.fit(tuned, target="kind", epsilon=1)
        again = vault.fit(tuned, target="kind", epsilon=1)
        assert 0 < vault.ledger.balance().spent.rho <= (Price.alone(1, "1e-6").rho or 0)
    assert model.best_params_["feature_map"] in ("hats", "linear")
    assert again.free
    assert again.best_params_ == model.best_params_


@pytest.mark.parametrize(
    "wrong",
    [
        {"grid": {}},
        {"grid": {"epsilon": [1]}},
        {"grid": {"depth": [1]}},
        {"score_share": 0},
        {"candidates": 1},
        {"method": "posterior_sampling"},
        {"method": GradientDescent(batch="0.1")},
    ],
)
def test_what_has_no_proof_or_no_meaning_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        search(**wrong).plan(TASK, Price.alone(1, "1e-6"))


def test_only_linear_classifiers_are_tuned() -> None:
    with pytest.raises(ParameterError, match="linear classifier"):
        PrivateSearch(object(), GRID).plan(TASK, Price.alone(1))
