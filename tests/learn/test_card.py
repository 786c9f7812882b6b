"""A card says what a reader needs: predictions, guarantee, method, noise, cost, and how to use it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.learn import LinearSVC, LogisticRegression
from discreet.learn.card import LIMITS, document, facts, markdown, text
from discreet.schema import Boolean, Category
from discreet.vault.vault import Vault
from tests.learn.people import sealed


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    with sealed(tmp_path_factory.mktemp("card")) as made:
        yield made


@pytest.fixture(scope="module")
def model(vault: Vault) -> LogisticRegression:
    return vault.fit(LogisticRegression(), target="rich", epsilon=1)


def test_the_facts_come_first(model: LogisticRegression) -> None:
    found = facts(model)
    assert found["Predicts"] == "rich from age, town"
    assert found["Classes"] == "False, True"
    assert found["Protects"] == "one person: all rows with the same who"
    assert found["Guarantee"].startswith("ε = 1 at δ = 0.000001. An attacker who starts at even odds")
    assert "Objective perturbation" in found["Method"]
    assert "the objective: Gaussian noise" in found["Noise"]
    assert "% of the budget" in found["Cost"]
    assert found["Regularisation"].startswith("λ = ")


def test_a_terminal_has_80_columns(model: LogisticRegression) -> None:
    assert str(model) == text(model)
    assert max(map(len, str(model).split("\n"))) <= 80


def test_markdown_has_the_facts_the_shapes_the_limits_and_how_to_load_it(model: LogisticRegression) -> None:
    card = model.card("rich.json")
    assert card.startswith("# LogisticRegression of rich, fitted to people\n")
    assert 'learn.load("rich.json")' in card
    assert "| age | whole numbers from 16 to 90 |" in card
    assert "What each value adds to the log-odds of true" in card
    assert "| town | Oslo " in card
    assert all(limit in card for limit in LIMITS)
    tables = [line for line in card.split("\n") if line.startswith("|")]
    assert all(line.replace("\\|", "").count("|") == 3 for line in tables)


def test_names_from_outside_are_escaped() -> None:
    columns = {"<img src=x>|`a`": Boolean(), "b": Boolean()}
    made = LogisticRegression(epsilon=1, columns=columns, classes=["no\x1b[2J", "<b>yes</b>"])
    made.fit({name: [True, False] for name in columns}, ["<b>yes</b>", "no"])
    page, card = made._repr_html_(), markdown(made)
    assert "<img" not in page
    assert "<b>yes" not in page
    assert "\\<img src=x\\>\\|\\`a\\`" in card
    assert "\x1b" not in card + str(made)


def test_a_notebook_has_pictures_and_the_label(model: LogisticRegression) -> None:
    page = model._repr_html_()
    assert page.count("<svg") == 2
    assert "<summary>Label</summary>" in page
    assert "Neighbours" in page
    assert document(model).startswith("<!doctype html>")
    assert all(limit in document(model) for limit in LIMITS), "a reader of the page did not fit the model"


def test_many_classes_are_not_all_listed() -> None:
    names = [f"class {i}" for i in range(20)]
    made = LogisticRegression(epsilon=1, columns={"a": Category(["x", "y"])}, classes=["class 0", "class 1"])
    made.fit({"a": ["x", "y"]}, names[:2])
    made.classes_ = names  # type: ignore[assignment]
    assert facts(made)["Classes"].endswith("class 11 and 8 more")


def test_a_recorded_model_has_the_same_card_but_for_what_is_left(vault: Vault, model: LogisticRegression) -> None:
    vault.fit(LinearSVC(), target="rich", spend="5%")
    again = vault.fit(LogisticRegression(), target="rich", epsilon=1)
    assert again.free
    first, second = facts(model), facts(again)
    assert {name for name in first if first[name] != second[name]} == {"Cost"}


def test_a_fit_without_a_ledger_says_so(tmp_path: Path) -> None:
    made = LogisticRegression(epsilon=1, columns={"a": Boolean()}, classes=[0, 1]).fit({"a": [True]}, [1])
    assert "no ledger" in facts(made)["Cost"]
    assert "fits on the same people add up" in made.card()
