"""The private boosters as estimators: what they cost, what they learn, what they refuse, and what they show."""

from __future__ import annotations

import json
import pickle
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import check_estimator

from discreet import privacy
from discreet.audit import replay
from discreet.engines.examples import WHOLE, MemoryExamples
from discreet.errors import ParameterError
from discreet.learn.boosting.boosted_histograms import BoostedHistograms
from discreet.learn.boosting.boosted_stumps import BoostedStumps, concentrated
from discreet.learn.boosting.margins import margins
from discreet.learn.price import Price
from discreet.learn.training import Task, silent
from discreet.ledger import Budget
from discreet.schema import Boolean, Category, Column, Integer, Real
from discreet.vault.vault import Vault
from tests.learn.hostile_rows import ROWS, sealed_fit
from tests.learn.test_scikit_learn import EXEMPT

X, Y = load_breast_cancer(return_X_y=True)
# Public ranges, as a laboratory would declare them: a little wider than any value.
TOPS = [40, 50, 250, 3000, 1, 1, 1, 1, 1, 1, 5, 8, 40, 800, 1, 1, 1, 1, 1, 1, 50, 60, 300, 5000, 1, 2, 2, 1, 1, 1]
COLUMNS = {f"x{i}": Real(0, top, step=str(Fraction(top, 1000)), missing=0) for i, top in enumerate(TOPS)}
KINDS: list[Any] = [BoostedStumps, BoostedHistograms]
TASK = Task({"age": Integer(0, 99), "kind": Category(["a", "b"])}, "ill", Boolean())


def fitted(kind: Any, **parameters: Any) -> Any:
    given = {"epsilon": 2, "delta": "1e-5", "columns": COLUMNS, "classes": [0, 1], **parameters}
    return kind(**given).fit(X, Y)


@pytest.mark.parametrize(("kind", "least"), [(BoostedStumps, 0.93), (BoostedHistograms, 0.85)])
def test_it_learns_from_a_few_hundred_persons(kind: Any, least: float) -> None:
    model = fitted(kind, epsilon=8)
    assert roc_auc_score(Y, model.decision_function(X)) > least
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)
    assert set(model.predict(X)) <= {0, 1}
    assert model.n_features_in_ == 30


@pytest.mark.parametrize("kind", KINDS)
def test_margins_are_those_of_the_score_and_certificates_say_what_they_are(kind: Any) -> None:
    model = fitted(kind)
    found = margins(model, X, Y).last
    assert np.array_equal(found > 0, (2 * Y - 1) * model.decision_function(X) > 0)
    score = (2 * Y - 1) * model.decision_function(X)
    assert np.corrcoef(found, score)[0, 1] == pytest.approx(1)
    assert model.margins(X, Y).last == pytest.approx(found)
    private, raw = model.certificate(), model.certificate(X, Y)
    assert private.private
    assert not raw.private
    assert "Not private" in str(raw)
    assert private.vacuous  # 569 persons are too few, and it says so
    assert "vacuous" in str(private)
    noisy = model.noisy_margins_
    assert abs(sum(noisy.counts) / 4096 - 569) < 8 * noisy.slack(40, 0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_without_a_certificate_says_how_to_get_one(kind: Any) -> None:
    model = fitted(kind, certificate_share=0)
    assert model.noisy_margins_ is None
    with pytest.raises(ParameterError, match="certificate_share"):
        model.certificate()
    assert len(model.certificate(X, Y).bounds) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_is_copied_by_json_and_by_pickle(kind: Any) -> None:
    model = fitted(kind)
    scores = model.decision_function(X[:20])
    for copy in (kind.from_json(json.loads(json.dumps(model.to_json()))), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(copy.decision_function(X[:20]), scores)
        assert str(copy.certificate()) == str(model.certificate())
    assert clone(model).get_params() == model.get_params()
    assert kind.__name__ in str(model)


@pytest.mark.parametrize(
    ("kind", "short"),
    [
        (BoostedStumps, {"rounds": 20}),
        pytest.param(BoostedHistograms, {"epochs": 2}, marks=pytest.mark.slow),  # the same base, checked once
    ],
)
def test_it_passes_the_checks_of_scikit_learn_but_for_those_that_privacy_forbids(kind: Any, short: Any) -> None:
    columns = Real(-10, 10, step="0.01")
    given = {
        "epsilon": 50,
        "delta": "1e-5",
        "columns": columns,
        "classes": [0, 1],
        "certificate_share": 0,
        **short,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(kind(**given), on_fail=None, on_skip=None)
    failed = {result["check_name"]: str(result["exception"]) for result in found if result["status"] == "failed"}
    assert {name: why for name, why in failed.items() if name not in EXEMPT} == {}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_charged_proves_what_is_promised(kind: Any) -> None:
    for epsilon, delta in (("0.1", "1e-6"), ("1", "1e-5"), ("4", "1e-9")):
        price = Price.alone(epsilon, delta)
        losses = kind().plan(TASK, price).losses
        if kind is BoostedStumps:
            assert privacy.epsilon(losses, delta) <= float(epsilon)
            assert privacy.epsilon(losses, delta) > 0.9 * float(epsilon)
        else:  # Gaussian noise only: the promise is that of Gaussian DP
            [loss] = losses
            assert float(price.rho or 0) * 0.999 < loss.rho <= (price.rho or 0)
            gaussian = privacy.GaussianDP(Fraction(price.mu))
            assert privacy.epsilon(gaussian, delta) <= float(epsilon) * (1 + 1e-9)
    pure = kind().plan(TASK, Price.alone(2)).losses
    assert privacy.epsilon(pure, 0) == pytest.approx(2, rel=1e-6)
    assert privacy.epsilon(pure, 0) <= 2 * (1 + 1e-12)


def test_stumps_stay_below_the_most_that_a_ledger_pays() -> None:
    price = Price(Fraction(1), Fraction(1, 10**5), Fraction(1, 30), most=Fraction(1, 1000))
    assert concentrated(price) == Fraction(1, 1000)
    share = Price(Fraction(1), Fraction(1, 10**5), Fraction(1, 500), Fraction(1, 500), proves=False)
    assert concentrated(share) == Fraction(1, 500)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [0, 1, 5])
@pytest.mark.parametrize("delta", ["1e-5", 0])
def test_few_rows_and_one_class_raise_nothing(kind: Any, rows: int, delta: Any) -> None:
    model = kind(epsilon=1, delta=delta, columns=TASK.features, classes=["no", "yes"])
    data = {"age": [float("nan"), 200, None, -5, 3][:rows], "kind": ["a", "z", None, "", "b"][:rows]}
    model.fit(data, ["yes"] * rows)
    assert set(model.predict({"age": [1, None], "kind": ["a", "?"]})) <= {"no", "yes"}
    assert np.all(np.isfinite(model.decision_function({"age": [1, None], "kind": ["a", "?"]})))
    assert str(model.certificate())


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (BoostedStumps(rounds=0), "rounds"),
        (BoostedStumps(step=0), "step"),
        (BoostedStumps(step=float("nan")), "step"),
        (BoostedStumps(bins=1), "bins"),
        (BoostedStumps(certificate_share=1), "certificate_share"),
        (BoostedHistograms(epochs=0), "epochs"),
        (BoostedHistograms(rate=0), "rate"),
        (BoostedHistograms(count_share=0), "count_share"),
        (BoostedHistograms(certificate_share=-1), "certificate_share"),
    ],
)
def test_parameters_without_a_meaning_are_refused_before_any_row_is_read(model: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        model.plan(TASK, Price.alone(1, "1e-5"))


@pytest.mark.parametrize("kind", KINDS)
def test_more_than_two_classes_and_too_many_values_are_refused(kind: Any) -> None:
    three = Task(TASK.features, "kind3", Category(["a", "b", "c"]))
    with pytest.raises(ParameterError, match="two classes"):
        kind().plan(three, Price.alone(1, "1e-5"))
    wide = Task({"zip": Category(list(range(10_000)))}, "ill", Boolean())
    with pytest.raises(ParameterError, match="8,192"):
        kind().plan(wide, Price.alone(1, "1e-5"))


SMALL: list[Any] = [BoostedStumps(rounds=3, bins=4), BoostedHistograms(epochs=1, bins=4)]


def trained(model: Any, price: Price) -> Any:
    """Return the function from rows of codes to the model that is released."""

    def run(rows: list[dict[str, Any]]) -> Any:
        persons: dict[str, list[tuple[int, ...]]] = {}
        for row in rows:
            codes = (row.get(name) for name in ("age", "kind", "ill"))
            known = tuple(c if isinstance(c, int) and -1 <= c < 100 else -1 for c in codes)
            persons.setdefault(repr(row.get("who")), []).append(known)
        listed = [(*row, WHOLE // len(own)) for own in persons.values() for row in own]
        age, kind, ill, weights = np.array(listed, np.int64).reshape(-1, 4).T
        return model.plan(TASK, price).run(MemoryExamples({"age": age, "kind": kind, "ill": ill}, weights), silent)

    return run


@pytest.mark.parametrize("model", SMALL)
@pytest.mark.parametrize("price", [Price.alone(3, "1e-6"), Price.alone(3)], ids=["approximate", "pure"])
def test_no_neighbour_shows_in_a_model(model: Any, price: Price) -> None:
    """Every exact value changes by no more than its mechanism was built for, and nothing else changes."""
    rows = [{"who": 1, "age": 3, "kind": 0, "ill": 1}, {"who": 1, "age": 90, "kind": 1, "ill": 0}]
    rows += [{"who": 2, "age": -1, "kind": 1, "ill": -1}, {"who": 3, "age": 40, "kind": -1, "ill": 1}]
    loss = None if isinstance(model, BoostedHistograms) and not price.pure else model.plan(TASK, price).losses
    verdict = replay(trained(model, price), rows, person="who", loss=loss, limit=12)
    assert not verdict.caught, verdict.words


@pytest.mark.parametrize("model", SMALL)
def test_a_vault_fits_it_once_and_answers_again_for_nothing(model: Any, tmp_path: Any) -> None:
    rows = pyarrow.table(
        {"who": [1, 1, 2, 3] * 50, "age": [30, 70, None, 5] * 50, "ill": [True, False, None, True] * 50}
    )
    columns: dict[str, Column] = {"age": Integer(0, 110), "ill": Boolean()}
    budget = Budget(3, "1e-6")
    with Vault.seal(
        rows, to=tmp_path / "v", person="who", rows_per_person=4, columns=columns, budget=budget
    ) as vault:
        made = vault.fit(model, target="ill", epsilon=1)
        spent = vault.ledger.balance().spent
        again = vault.fit(model, target="ill", epsilon=1)
        assert again.free
        assert vault.ledger.balance().spent == spent
        assert np.array_equal(again.decision_function({"age": [5, 80]}), made.decision_function({"age": [5, 80]}))
        assert made.receipt.promise.epsilon == 1
        vault.fit(model, target="ill", spend="10%")
        balance = vault.ledger.balance()
        paid, whole = (balance.spent.rho or 0) - (spent.rho or 0), balance.rho or 0
        assert 0.099 * float(whole) < float(paid) <= 0.1 * float(whole)


@pytest.mark.slow
@pytest.mark.parametrize("model", SMALL)
@pytest.mark.parametrize("delta", ["1e-6", 0])
def test_no_neighbour_shows_in_a_model_of_a_vault(model: Any, delta: Any) -> None:
    verdict = replay(sealed_fit(model, target="ill", budget=Budget(30, delta)), ROWS, person="who", limit=8)
    assert not verdict.caught, verdict.words
