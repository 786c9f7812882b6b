"""Linear regression: exact sensitivities, the same moments on every engine, hostile tables, vaults, JSON."""

from __future__ import annotations

import itertools
import json
import math
import pickle
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression as Plain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from discreet.engines.engine import Engine
from discreet.engines.examples import WHOLE, MemoryExamples, StoredExamples
from discreet.errors import BudgetExceeded, ParameterError
from discreet.learn.estimator import PrivateEstimator
from discreet.learn.feature_map import SCALE, FeatureMap
from discreet.learn.label import array_label
from discreet.learn.linear_regression import LinearRegression, Ridge, _Regression
from discreet.learn.methods.problem import Problem
from discreet.learn.price import Price
from discreet.learn.statistics.design import Design
from discreet.learn.statistics.moments import InEngine, by_rows, moments, weight
from discreet.learn.statistics.noisy_sums import divided
from discreet.learn.training import Task, silent
from discreet.ledger.costs import cost
from discreet.mechanisms import Gaussian, Laplace
from discreet.schema import Boolean, Category, Column, Integer, Real
from tests.engines.test_engines import ENGINES, HOSTILE, PEOPLE, Load
from tests.oracle.servers import SERVERS, loaded
from tests.synth.tables import people, sealed

COLUMNS: dict[str, Column] = {
    "age": Integer(0, 6),
    "city": Category(["a", "b", "c"], missing="a"),
    "paid": Boolean(),
    "owes": Integer(0, 4, missing=0),
}
OUTCOME = Integer(0, 3)
KINDS = ["bigint", "bigint", "text", "double precision", "boolean", "date"]
MARKS = {name: [pytest.mark.xdist_group(name)] for name in ("postgres", "spark")}


def task(columns: dict[str, Column] | None = None, outcome: Column = OUTCOME, *, several: bool = False) -> Task:
    return Task(columns or COLUMNS, "y", outcome, several=several)


def design(kind: str, columns: dict[str, Column] | None = None) -> Design:
    return Design(FeatureMap(columns or COLUMNS, kind), OUTCOME)  # type: ignore[arg-type]


def every_row() -> Iterator[dict[str, int]]:
    """Every row that the schema allows, missing values too."""
    codes = [range(-1 if column.filling is None else 0, column.levels or 0) for column in COLUMNS.values()]
    for values in itertools.product(*codes, range(-1, 4)):
        yield dict(zip([*COLUMNS, "y"], values, strict=True))


def examples(rows: list[dict[str, int]], weights: list[int] | None = None) -> MemoryExamples:
    codes = {name: np.array([row[name] for row in rows], np.int64) for name in [*COLUMNS, "y"]}
    return MemoryExamples(codes, np.array(weights if weights is not None else [WHOLE] * len(rows), np.int64))


def released(made: Design, rows: MemoryExamples) -> list[np.ndarray[Any, Any]]:
    """Return the two vectors of integers that get noise."""
    exact = by_rows(rows, made, "y")
    vectors = []
    for pairs in (made.pairs, made.target_pairs):
        i, j = np.array(pairs).T
        vectors.append(np.array(divided(exact[i, j], WHOLE), object))
    return vectors


def loss(mechanism: Gaussian | Laplace, moved: np.ndarray[Any, Any]) -> Fraction:
    """Return the exact loss of a shift: the largest log-ratio of Laplace noise, or the ρ of Gaussian noise."""
    if isinstance(mechanism, Laplace):
        return Fraction(int(np.abs(moved).sum())) / mechanism.scale
    return Fraction(int((moved**2).sum())) / (2 * mechanism.variance)


# -- privacy ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["hats", "linear"])
def test_some_row_attains_each_sensitivity_and_none_exceeds_it(kind: str) -> None:
    """Enumerates all rows of a small schema, one by one."""
    made, found = design(kind), np.zeros((4,), object)
    for row in every_row():
        squares, products = released(made, examples([row]))
        norms = [(squares**2).sum(), np.abs(squares).sum(), (products**2).sum(), np.abs(products).sum()]
        found = np.maximum(found, norms)
    bounds = [made.l2_squared, made.l1, made.target_l2_squared, made.target_l1]
    assert all(most <= bound for most, bound in zip(found, bounds, strict=True))
    # The l1 norm of hats is largest halfway between two knots, which these few levels do not reach.
    assert found[[0, 2, 3]].tolist() == [bounds[0], bounds[2], bounds[3]]
    assert kind == "hats" or found[1] == bounds[1]


@pytest.mark.parametrize("price", [Price.alone(1, "1e-6"), Price.alone(1), Price.alone("0.01", "1e-9")])
def test_the_loss_of_every_neighbour_is_within_the_price(price: Price) -> None:
    """Adds persons of one and several rows to a table, and computes the exact loss of the whole release.

    Half the noise is caught: the largest loss is above 90 % of what was paid for the moments."""
    pick = np.random.default_rng(0)
    rows = list(every_row())
    for kind in ("hats", "linear"):
        plan = _Regression(Problem(task(), None, (FeatureMap(COLUMNS, kind),)), price, 1.0)
        made, mechanisms = plan.designs[kind], [sums.mechanism for sums in plan.sums(plan.designs[kind])]
        table = [rows[i] for i in pick.integers(len(rows), size=50)]
        base = released(made, examples(table))
        persons = [[row] for row in rows[:: len(rows) // 150]]
        persons += [
            [rows[i] for i in pick.integers(len(rows), size=int(size))] for size in pick.integers(2, 9, size=30)
        ]
        worst = Fraction(0)
        for person in persons:
            shares = pick.multinomial(WHOLE, np.ones(len(person)) / len(person)).tolist()
            more = released(made, examples([*table, *person], [WHOLE] * len(table) + shares))
            each = [loss(mechanism, a - b) for mechanism, a, b in zip(mechanisms, more, base, strict=True)]
            worst = max(worst, sum(each, Fraction(0)))
        paid = price.epsilon if price.pure else price.rho
        assert paid is not None
        assert worst <= paid
        assert worst > Fraction(9, 10) * paid


def test_what_is_charged_is_the_price_and_covers_every_part() -> None:
    for price in (Price.alone(1, "1e-6"), Price.alone("0.3")):
        for choice in ("auto", "hats", "linear"):
            charged = cost(Ridge(feature_map=choice).plan(task(), price).losses)
            paid, found = (price.epsilon, charged.epsilon) if price.pure else (price.rho, charged.rho)
            assert paid is not None
            assert found is not None
            assert Fraction(999, 1000) * paid < found <= paid


def test_rounding_down_moves_a_sum_by_less_than_one_more() -> None:
    """A person of weights that do not divide evenly: the rounded vectors still move within the bound."""
    made = design("linear")
    rows, pick = list(every_row()), np.random.default_rng(2)
    worst = 0.0
    for _ in range(200):
        table = [rows[i] for i in pick.integers(len(rows), size=5)]
        weights = pick.integers(0, WHOLE + 1, size=5).tolist()
        person = [rows[i] for i in pick.integers(len(rows), size=3)]
        shares = pick.multinomial(WHOLE, [0.3, 0.3, 0.4]).tolist()
        base = released(made, examples(table, weights))
        more = released(made, examples(table + person, weights + shares))
        worst = max(worst, float(((more[0] - base[0]) ** 2).sum()))
    root = math.isqrt(made.l2_squared) + 1 + math.isqrt(len(made.pairs)) + 1
    assert worst <= root**2


# -- moments ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["hats", "linear"])
def test_the_released_entries_determine_the_whole_matrix(kind: str) -> None:
    made, rows = design(kind), [row for row in every_row() if row["y"] >= 0]
    pick = np.random.default_rng(1)
    exact = by_rows(examples([rows[i] for i in pick.integers(len(rows), size=300)]), made, "y").astype(float)
    vectors = [exact[tuple(np.array(pairs).T)] for pairs in (made.pairs, made.target_pairs)]
    assert np.array_equal(made.matrix(*vectors), exact)


@pytest.fixture(scope="module", params=[pytest.param(name, marks=MARKS.get(name, [])) for name in ENGINES])
def load(request: pytest.FixtureRequest) -> Iterator[Load]:
    with ENGINES[request.param](request) as loader:
        yield loader


@pytest.fixture(scope="module")
def engine(load: Load) -> Engine:
    return load(HOSTILE)


@pytest.mark.parametrize("several", [True, False])
def test_engines_add_up_the_same_integers_as_rows_do(engine: Engine, several: bool) -> None:
    names = ("age", "far", "income", "city", "insured", "at", *(() if several else ("town",)))
    columns = {name: PEOPLE.columns[name] for name in names}
    made = Design(FeatureMap(columns, "linear"), PEOPLE.columns["wide"])
    named = {name: PEOPLE.sealed_name(name) for name in (*names, "wide")}
    rows = engine.examples(engine.rows.selection(named, several=several))
    assert isinstance(rows, StoredExamples)
    assert InEngine.of(rows, made, "wide") is not None
    assert moments(rows, made, "wide").tolist() == by_rows(rows, made, "wide").tolist()
    [counted] = rows.total(lambda batch: [np.asarray(batch.weights, np.int64).sum(keepdims=True)])
    assert weight(rows) == counted[0]


def test_an_empty_table_has_moments_of_zero(load: Load) -> None:
    columns = {"age": PEOPLE.columns["age"], "city": PEOPLE.columns["city"]}
    made = Design(FeatureMap(columns, "linear"), PEOPLE.columns["wide"])
    engine = load([])
    rows = engine.examples(engine.rows.selection({"age": "c0", "city": "c3", "y": "c9"}))
    assert not moments(rows, made, "y").any()


# -- answers ----------------------------------------------------------------------------------------------------


def diabetes() -> tuple[dict[str, Column], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    data, target = load_diabetes(return_X_y=True, scaled=False)
    columns: dict[str, Column] = {}
    for i, column in enumerate(data.T):
        low, high = math.floor(column.min()), math.ceil(column.max())
        columns[f"x{i}"] = Real(low, high, step="0.01")
    return columns, data, target


def test_with_much_budget_it_is_least_squares() -> None:
    columns, data, target = diabetes()
    model = LinearRegression(epsilon=10_000, columns=columns, target_column=Integer(0, 400))
    with pytest.raises(ParameterError):
        model.fit(data, target[:-1])
    plain = Plain().fit(data, target)
    fitted = model.fit(data, target)
    assert fitted.score(data, target) == pytest.approx(plain.score(data, target), abs=0.01)
    found = [fitted.coefficients_[name].value for name in ("x2", "x3")]
    assert found == pytest.approx(plain.coef_[2:4].tolist(), rel=0.3)


def test_ridge_learns_from_few_rows() -> None:
    """0.5 without noise, and less than 0 with a wrong matrix. Noise as of ε = 1.3 once gave less than 0.2."""
    columns, data, target = diabetes()
    made: dict[str, Any] = {"columns": columns, "target_column": Integer(0, 400), "delta": "1e-5"}
    scores = [Ridge(epsilon=20, **made).fit(data, target).score(data, target) for _ in range(5)]
    assert np.median(scores) > 0.2


def test_hats_are_chosen_where_rows_are_many() -> None:
    age = np.arange(30_000) % 100
    made: dict[str, Any] = {"columns": {"age": Integer(0, 99)}, "target_column": Integer(0, 50)}
    model = Ridge(epsilon=1, delta="1e-6", **made).fit({"age": age}, np.abs(age - 50))
    assert model.feature_map_.kind == "hats"
    assert model.score({"age": age}, np.abs(age - 50)) > 0.8
    few = Ridge(epsilon="0.01", delta="1e-6", **made).fit({"age": age[:100]}, np.abs(age[:100] - 50))
    assert few.feature_map_.kind == "linear"


def test_intervals_hold_about_as_often_as_they_say() -> None:
    """95 % are wanted of 200; 85 % or fewer have a probability below 10⁻⁶."""
    pick, truth, held = np.random.default_rng(3), 0.6, 0
    columns: dict[str, Column] = {"a": Integer(0, 100, missing=0), "b": Integer(0, 100, missing=0)}
    made, price = LinearRegression(), Price.alone(1, "1e-6")
    wanted = Task(columns, "y", Integer(0, 200))
    training = made.plan(wanted, price)
    label = array_label(wanted, training, price)
    for _ in range(200):
        a, b = pick.integers(0, 101, size=(2, 2000))
        y = np.rint(np.clip(40 + truth * a + 0.3 * b + pick.normal(0, 15, 2000), 0, 200)).astype(int)
        rows = MemoryExamples({"a": a, "b": b, "y": y}, np.full(2000, WHOLE))
        low, high = made.released(wanted, training.run(rows, silent), label).coefficients_["a"].interval
        assert low is not None
        assert high is not None
        held += low <= truth <= high
    assert held > 170


HOSTILE_TABLES = {
    "no rows": ([], []),
    "one row": ([3], [1.0]),
    "constant": ([5] * 50, [2] * 50),
    "all missing": ([None] * 30, [1] * 30),
    "no targets": ([1, 2, 3], [None, None, None]),
    "beyond the range": ([10**15, -(10**15)], [float("inf"), -1e300]),
    "not numbers": (["x", "y"], ["a", "b"]),
}


@pytest.mark.parametrize("name", HOSTILE_TABLES)
@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_no_table_makes_it_raise_or_leave_the_range(name: str, delta: Any) -> None:
    values, target = HOSTILE_TABLES[name]
    given: dict[str, Any] = {"columns": {"a": Integer(0, 9)}, "target_column": Integer(0, 7), "delta": delta}
    for model in (
        Ridge(epsilon=1, **given),
        LinearRegression(epsilon=1, **given),
        Ridge(epsilon=1, regularisation=0, **given),
    ):
        predicted = model.fit({"a": pyarrow.array(values)}, target).predict({"a": [0, 9, None]})
        assert np.isfinite(predicted).all()
        assert predicted.min() >= 0
        assert predicted.max() <= 7


def test_a_target_that_is_no_number_is_refused_before_a_charge() -> None:
    with pytest.raises(ParameterError, match="predicts a number"):
        Ridge().plan(task(outcome=Category(["a", "b"])), Price.alone(1))
    with pytest.raises(ParameterError, match="at most 2,000 features"):
        Ridge().plan(task({"a": Category(list(range(3000)))}), Price.alone(1))
    with pytest.raises(ParameterError, match="must be declared"):
        Ridge(epsilon=1, columns=COLUMNS).fit({name: [1] for name in COLUMNS}, [1])
    with pytest.raises(ParameterError, match="regularisation"):
        Ridge(regularisation=-1).plan(task(), Price.alone(1))


# -- scikit-learn's face ----------------------------------------------------------------------------------------


def test_it_is_cloned_pickled_written_and_put_into_a_pipeline(tmp_path: Path) -> None:
    age = np.arange(1000) % 10
    model = Ridge(epsilon=5, columns=Integer(0, 9), target_column=Integer(0, 20), regularisation=0.5)
    assert clone(model).get_params() == model.get_params()
    chain = make_pipeline(FunctionTransformer(lambda X: X), model).fit(age[:, None], 2 * age)
    assert chain.score(age[:, None], 2 * age) > 0.5
    fitted = chain[-1]
    wanted = fitted.predict(age[:, None])
    fitted.save(tmp_path / "model.json")
    copies = [
        pickle.loads(pickle.dumps(fitted)),
        Ridge.from_json(json.loads(json.dumps(fitted.to_json()))),
        PrivateEstimator.load(tmp_path / "model.json"),
    ]
    for copy in copies:
        assert np.array_equal(copy.predict(age[:, None]), wanted)
        assert copy.coefficients_ == fitted.coefficients_
        assert copy.label.receipt == fitted.label.receipt
    assert fitted.coefficients_["intercept"].basis == "normal approximation"
    assert "Least squares" in str(fitted)


# -- vaults -----------------------------------------------------------------------------------------------------


def check_vault(vault: Any) -> None:
    before = vault.ledger.balance().spent.rho
    fitted = vault.fit(
        Ridge(feature_map="linear"), target="income", features=["age", "city", "married"], epsilon=4
    )
    spent = vault.ledger.balance().spent.rho
    assert spent > before
    again = vault.fit(Ridge(feature_map="linear"), target="income", features=["age", "city", "married"], epsilon=4)
    assert again.free
    assert again.coefficients_ == fitted.coefficients_
    assert vault.ledger.balance().spent.rho == spent
    with pytest.raises(ParameterError, match="predicts a number"):
        vault.fit(Ridge(), target="city", epsilon=1)
    with pytest.raises(BudgetExceeded):
        vault.fit(Ridge(), target="income", epsilon=900)
    assert vault.ledger.balance().spent.rho == spent
    rows = people(3000).to_pandas()
    assert fitted.score(rows[["age", "city", "married"]], rows["income"]) > 0.1


def test_a_vault_pays_once(tmp_path: Path) -> None:
    with sealed(people(3000), tmp_path / "people.vault", rows_per_person=2) as vault:
        check_vault(vault)
        spent = vault.ledger.balance().spent.rho
        hats = vault.fit(Ridge(), target="income", epsilon=4)
        assert hats.feature_map_.kind == "hats"
        paid = Price.alone(4, "1e-9").rho
        assert paid is not None
        assert vault.ledger.balance().spent.rho - spent <= paid


@pytest.mark.parametrize("server", SERVERS)
def test_a_vault_in_a_server_pays_once(server: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    source, address, options = loaded(server, people(3000), KINDS, request, tmp_path)
    with sealed(source, address, **options) as vault:
        check_vault(vault)


def test_a_row_of_the_matrix_has_the_size_of_the_map() -> None:
    made = design("hats")
    rows = made.rows({name: np.array([-1, 0]) for name in COLUMNS}, np.array([0, 3]))
    assert rows.shape == (2, made.size + 1)
    assert np.abs(rows).max() == SCALE
