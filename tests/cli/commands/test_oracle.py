"""Many questions on one charge, as people and their pipelines ask them."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.cli import exit_codes
from tests.cli import desk
from tests.cli.desk import run

OLD = "select count(*) from people where age >= 65"
TERMS = ("--columns", "age,city", "--epsilon", "28", "--within", "0.15")


def test_answers_have_intervals_and_the_oracle_is_charged_once(town: Path) -> None:
    first = run("oracle", town, OLD, "select avg(paid) from people", *TERMS[2:], "--columns", "age,city,paid")
    assert first.exit_code == 0, first.output
    assert OLD in first.stdout
    assert "Most answers can be free" in first.stdout
    assert "with 0.95" in first.stdout
    assert "promise every" in first.stdout
    assert "with 0.9," not in first.stdout  # an average is made of two, which share what may be wrong
    charged = desk.spent(town)
    again = run("oracle", town, OLD, *TERMS[2:], "--columns", "age,city,paid")
    assert again.exit_code == 0
    assert "free" in again.stdout
    assert desk.spent(town) == charged


def test_json_has_amounts_as_fractions_and_as_numbers(town: Path) -> None:
    said = run("oracle", town, *TERMS, OLD, "--json")
    (answer,) = map(json.loads, said.stdout.splitlines())
    for name in ("cost", "spent", "total"):
        assert answer[name]["value"] == answer[f"{name}_rho"] == float(Fraction(answer[name]["exact"]))
    assert answer["receipt"]["spent"] == answer["total"]
    assert (answer["receipt"]["unit"], answer["receipt"]["left"]["value"] >= 0) == ("rho", True)


def test_questions_come_from_a_pipe_and_one_that_is_refused_keeps_no_other_from_its_answer(town: Path) -> None:
    oslo = "select count(*) from people where city = 'Oslo'"
    piped = f"{OLD};\n\n-- how many live in Oslo?\nselect median(age) from people\n{oslo}\n"
    said = run("oracle", town, *TERMS, "--json", typed=piped)
    assert said.exit_code == exit_codes.REFUSED
    first, second = map(json.loads, said.stdout.splitlines())
    assert (first["question"], second["checked"]) == (OLD, True)
    assert first["low"] <= first["value"] <= first["high"]
    assert abs(second["value"] - 200) < 150
    assert first["total_rho"] == pytest.approx(7.84917, rel=1e-5)  # what is (28, 1e-6)-DP by itself
    refused = json.loads(said.stderr)
    assert (refused["error"], refused["line"]) == ("QuestionRefused", 4)
    assert refused["question"] == "select median(age) from people"
    again = run("oracle", town, *TERMS, typed=piped)
    assert again.exit_code == exit_codes.REFUSED
    assert "discreet: line 4: select median(age) from people\n  " in again.stderr
    assert "Ask the vault" in again.stderr


def test_what_is_missing_is_said_before_anything_is_charged(town: Path) -> None:
    for options, words in (
        (("--epsilon", "1"), "--columns age,city,paid,day"),
        (("--epsilon", "1", "--columns", "age", "--bins", "age"), "--bins age=20"),
        (("--epsilon", "1", "--columns", "age", "--prior", "gone.csv"), "does not exist (found: gone.csv)"),
        (("--epsilon", "1", "--columns", "aeg"), "aeg"),
    ):
        refused = run("oracle", town, OLD, *options)
        assert refused.exit_code == exit_codes.BAD_INPUT, refused.output
        assert words in refused.stderr
    assert desk.spent(town) == 0


def test_a_vault_without_a_delta_is_told_what_it_takes(here: Path) -> None:
    refused = run("oracle", here, OLD, *TERMS)
    assert refused.exit_code == exit_codes.BAD_INPUT
    amended = "discreet budget people.vault --amend --epsilon 2 --delta 1e-9 (by the curator, with a reason)"
    assert f"Try: {amended}." in refused.stderr
    assert desk.spent(here) == 0


def test_opening_says_that_no_answer_will_be_free_and_what_would_make_them_so(town: Path) -> None:
    # A number of rows: of a share, the noisy number of rows would decide about the next oracle.
    terms = ("--columns", "age,city", "--within", "36")
    for option, given in (("--epsilon", "4"), ("--spend", "2%")):
        shown = " ".join(run("oracle", town, OLD, *terms, option, given).stdout.split())
        assert "of the oracle's budget is used" in shown
        assert "ew answer" in shown  # no new answer, or few answers
        better = re.search(rf"More would be free with .*{option} (\S+): that is another oracle, with", shown)
        assert better is not None, shown
        other = run("oracle", town, OLD, *terms, option, better[1])
        assert "Most answers can be free" in other.stdout


@pytest.mark.parametrize("options", [(), ("--epsilon", "1", "--spend", "5%")])
def test_an_oracle_has_one_cost(town: Path, options: tuple[str, ...]) -> None:
    refused = run("oracle", town, OLD, "--columns", "age", *options)
    assert refused.exit_code == exit_codes.BAD_INPUT
    assert "Try: --epsilon 1, or --spend 20%." in refused.stderr


def test_a_budget_that_does_not_reach_has_its_exit_status(town: Path) -> None:
    refused = run("oracle", town, OLD, "--columns", "age", "--epsilon", "100")
    assert refused.exit_code == exit_codes.OVERSPENT
    assert desk.spent(town) == 0
