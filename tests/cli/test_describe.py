"""What is public about a vault."""

from __future__ import annotations

from pathlib import Path

from discreet.cli import conversation
from tests.cli.desk import run, told


def test_a_description_says_what_may_be_asked_and_whom_it_protects(here: Path) -> None:
    shown = run("describe", here).stdout
    assert "whole numbers from 0 to 110" in shown
    assert "Protected is every user_id" in shown
    assert "2 rows of a person count in full" in " ".join(shown.split())
    assert "Budget: ε = 2" in shown


def test_a_description_is_public_by_itself(here: Path) -> None:
    for private in ("ledger.sqlite", "rows.duckdb"):
        (here / private).unlink()
    shown = run("describe", here)
    assert shown.exit_code == 0
    assert "whole numbers from 0 to 110" in shown.stdout
    assert told("describe", here)["columns"]["age"]["hi"] == 110


def test_a_place_without_a_vault_is_said_to_be_none(here: Path) -> None:
    assert run("describe", "people.csv").exit_code == conversation.BAD_INPUT
    assert run("describe", "nowhere").exit_code == conversation.BAD_INPUT
