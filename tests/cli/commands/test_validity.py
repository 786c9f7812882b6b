"""Plans and the demonstration of a reusable holdout, from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.desk import run, told


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_plan_names_a_method_and_says_why() -> None:
    shown = run("validity", "plan", "10000", "--queries", "1000", "--purpose", "screening")
    assert shown.exit_code == 0, shown.output
    assert "guess_and_check" in shown.stdout
    assert "To screen many statistics" in shown.stdout
    document = told("validity", "plan", "10000", "--queries", "1000", "--purpose", "screening")
    assert document["method"] == "guess_and_check"
    assert len(document["options"]) == 5


def test_an_unknown_purpose_is_refused_with_those_that_are_known() -> None:
    refused = run("validity", "plan", "10000", "--purpose", "fun")
    assert refused.exit_code != 0
    assert "screening" in refused.output


def test_the_demonstration_draws_both_holdouts() -> None:
    shown = run("validity", "demo", "--rows", "400", "--features", "300", "--out", "both.svg")
    assert shown.exit_code == 0, shown.output
    assert "guarded holdout" in shown.stdout
    assert "<svg" in Path("both.svg").read_text()
