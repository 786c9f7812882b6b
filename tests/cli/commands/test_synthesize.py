"""Synthetic tables from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import csv, parquet

from discreet.cli import exit_codes
from discreet.synth import Synthetic
from tests.cli import desk
from tests.cli.desk import run, told


def test_rows_and_a_report_come_out_and_the_same_again_is_free(town: Path) -> None:
    made = run("synthesize", town, "--epsilon", "4", "--out", "rows.parquet", "--report", "wrong.svg")
    assert made.exit_code == 0, made.output
    assert "mean distance" in made.stdout
    rows = parquet.read_table("rows.parquet")
    assert rows.column_names == ["age", "city", "paid", "day"]
    assert abs(rows.num_rows - 600) < 60
    assert "<svg" in Path("wrong.svg").read_text()
    charged = desk.spent(town)
    document = told("synthesize", town, "--epsilon", "4", "--rows", "50", "--out", "few.csv", "--save", "whole")
    assert document["free"]
    assert desk.spent(town) == charged
    assert csv.read_csv("few.csv").num_rows == 50
    assert Synthetic.load("whole").domain.names == ("age", "city", "paid", "day")
    assert set(document["report"]["mean_distance"]) >= {"1", "2"}
    assert document["rows"] == 50
    assert document["receipt"]["spent"]["value"] == pytest.approx(charged, rel=1e-5)  # of six digits
    assert document["left"] == document["receipt"]["left"]
    assert document["report"]["receipt"]["spent"] == {"exact": "0", "value": 0.0}


def test_a_comparison_with_the_vault_is_paid_for(town: Path) -> None:
    run("synthesize", town, "--epsilon", "2", "--columns", "age,city")
    before = desk.spent(town)
    compared = run("synthesize", town, "--epsilon", "2", "--columns", "age,city", "--compare", "1")
    assert "beside the vault" in compared.stdout
    after = desk.spent(town)
    assert after > before
    compared = run("synthesize", town, "--epsilon", "2", "--columns", "age,city", "--compare", "2%")
    assert compared.exit_code == 0
    assert desk.spent(town) == pytest.approx(after + 0.02 * told("ledger", town)["accounts"][0]["total"], rel=1e-4)


def test_a_synthetic_table_can_cost_a_share(town: Path) -> None:
    made = run("synthesize", town, "--spend", "10%", "--columns", "age,city")
    assert made.exit_code == 0, made.output
    account = told("ledger", town)["accounts"][0]
    assert account["spent"] == pytest.approx(account["total"] / 10, rel=1e-4)
    both = run("synthesize", town, "--spend", "10%", "--epsilon", "1", "--columns", "age,city")
    assert "Try: --epsilon 1, or --spend 20%." in both.stderr


def test_what_cannot_be_written_is_refused_before_it_is_paid_for(town: Path) -> None:
    for options in (
        ("--out", "rows.txt"),
        ("--out", "nowhere/rows.csv"),
        ("--save", "town.vault"),
        ("--report", "a"),
    ):
        refused = run("synthesize", town, "--epsilon", "1", *options)
        assert refused.exit_code == exit_codes.BAD_INPUT, options
        assert options[0] in refused.stderr
        assert "draw" not in refused.stderr  # a table is written
    assert desk.spent(town) == 0
