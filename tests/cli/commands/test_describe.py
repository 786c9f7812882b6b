"""Test `discreet describe`: the public metadata of a vault."""

from __future__ import annotations

from pathlib import Path

from discreet.cli import exit_codes
from tests.cli.desk import run, told


def test_a_description_says_what_may_be_asked_and_whom_it_protects(here: Path) -> None:
    shown = run("describe", here).stdout
    assert "whole numbers from 0 to 110" in shown
    assert "Every person (user_id) is protected" in shown
    assert "2 rows of a person count in full" in " ".join(shown.split())
    assert "Budget: ε = 2" in shown


def test_whoever_asks_is_shown_every_value_of_a_list(here: Path) -> None:
    values = [f"T{i}'s" for i in range(100)]
    Path("many.toml").write_text(f'[columns.city]\ntype = "category"\nvalues = {values}\n', encoding="utf-8")
    options = ("--schema", "many.toml", "--person", "user_id", "--epsilon", "1", "--to", "many.vault")
    # No row has one of these values.
    shown = " ".join(run("seal", "people.csv", *options, "--anyway").stdout.split())
    assert "1 row of a person counts in full" in shown
    assert "T39's" in shown
    assert "T40's" not in shown
    assert "(--column" in shown
    shown = run("describe", "many.vault", "--column", "city").stdout
    assert "'T99''s'" in shown.split()  # as SQL has it
    assert told("describe", "many.vault", "--column", "city")["values"][99] == "T99's"
    refused = run("describe", "many.vault", "--column", "ciyt")
    assert refused.exit_code == exit_codes.BAD_INPUT
    assert "Did you mean city?" in refused.stderr


def test_a_description_is_public_by_itself(here: Path) -> None:
    for private in ("ledger.sqlite", "rows.duckdb"):
        (here / private).unlink()
    shown = run("describe", here)
    assert shown.exit_code == 0
    assert "whole numbers from 0 to 110" in shown.stdout
    assert told("describe", here)["columns"]["age"]["hi"] == 110


def test_a_place_without_a_vault_is_said_to_be_none(here: Path) -> None:
    assert run("describe", "people.csv").exit_code == exit_codes.BAD_INPUT
    assert run("describe", "nowhere").exit_code == exit_codes.BAD_INPUT
