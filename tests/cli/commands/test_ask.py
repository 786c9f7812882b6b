"""Questions to a vault, as people and their pipelines ask them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import discreet as dp
from discreet.cli import exit_codes
from tests.cli import desk
from tests.cli.desk import PERSONS, run, told

COUNT = "select count(*) from people"
BY_CITY = "select city, count(*) as n, sum(paid) as s from people group by city"


def test_an_answer_has_its_error_bar_and_what_it_cost(here: Path) -> None:
    answer = run("ask", here, COUNT, "--epsilon", "1")
    assert answer.exit_code == 0, answer.output
    assert "± 6" in answer.stdout
    assert "This used 50 % of the budget; 50 % is left." in answer.stdout
    assert answer.stderr == ""


def test_the_same_question_again_is_free_and_has_the_same_answer(here: Path) -> None:
    first, second = (told("ask", here, COUNT, "--epsilon", "0.5") for _ in range(2))
    assert (first["free"], second["free"]) == (False, True)
    assert first["rows"] == second["rows"]
    assert desk.spent(here) == 0.5


def test_json_has_the_numbers_the_cost_and_the_label(here: Path) -> None:
    document = told("ask", here, BY_CITY, "--epsilon", "2")
    assert [row["city"] for row in document["rows"]] == ["Oslo", "Bergen", "Ålesund", "elsewhere", None]
    for row, truth in zip(document["rows"], (200, 200, 200, 0, 0), strict=True):
        assert row["n_low"] < row["n"] < row["n_high"]
        assert abs(row["n"] - truth) < 100  # scale 2 at most half of the budget: exceeded once in 10²⁰
    assert (document["cost"]["epsilon"], document["cost"]["delta"]) == (2, 0)
    assert document["confidence"] == 0.95
    receipt = document["receipt"]
    assert receipt["spent"] == {"exact": "2", "value": 2.0}
    assert document["left"] == receipt["left"] == {"exact": "0", "value": 0.0}
    assert "user_id" in document["label"]["Privacy"]["Unit"]


def test_csv_is_utf_8_in_any_terminal(here: Path) -> None:
    process = desk.started("ask", here, BY_CITY, "--epsilon", "1", "--csv", PYTHONIOENCODING="ascii")
    printed, said = process.communicate(timeout=600)
    assert (process.returncode, said) == (0, b"")
    rows = [*csv.DictReader(io.StringIO(printed.decode("utf-8")))]
    assert [row["city"] for row in rows] == ["Oslo", "Bergen", "Ålesund", "elsewhere", ""]
    assert [*rows[0]] == ["city", "n", "n_low", "n_high", "s", "s_low", "s_high"]


def test_times_are_written_as_times(here: Path) -> None:
    question = ("select median(day) as middle from people", "--epsilon", "1")
    (row,) = told("ask", here, *question)["rows"]
    assert row["middle_low"] <= row["middle"] <= row["middle_high"]
    assert row["middle"].startswith("2026-")
    assert run("ask", here, *question, "--csv").stdout.splitlines()[1].startswith("2026-")


def test_a_width_buys_the_cheapest_answer(here: Path) -> None:
    document = told("ask", here, COUNT, "--within", "30")
    assert document["rows"][0]["count_high"] - document["rows"][0]["count"] <= 30
    assert 0.15 < document["cost"]["epsilon"] < 0.25  # 2 rows, 95 %: 2·ln 20/30 = 0.2


def test_every_number_can_have_a_width_of_its_own(here: Path) -> None:
    answer = run("ask", here, BY_CITY, "--within", "n=20", "--within", "s=2000", "--csv")
    assert answer.exit_code == 0, answer.output
    row = next(csv.DictReader(io.StringIO(answer.stdout)))
    assert float(row["n_high"]) - float(row["n"]) <= 20
    assert float(row["s_high"]) - float(row["s"]) <= 2000
    missing = run("ask", here, BY_CITY, "--within", "n=20")
    assert "every number of the answer: n, s" in " ".join(missing.stderr.split())


def test_a_relative_width_is_found_step_by_step(here: Path) -> None:
    (row,) = told("ask", here, COUNT, "--within", "20 %")["rows"]
    assert abs(row["count"] - 2 * PERSONS) < 240


def test_a_relative_width_takes_what_the_account_has_and_if_it_is_not_reached_a_status_says_so(here: Path) -> None:
    run("budget", here, "--allot", "--analyst", "ana", "--epsilon", "0.004")
    question = ("ask", here, f"{COUNT} where age > 100", "--within", "5%", "--analyst", "ana")
    shown = run(*question)
    assert shown.exit_code == exit_codes.TOO_WIDE == 5
    assert "the budget does not reach further" in " ".join(shown.stdout.split())
    again = run(*question, "--json")  # free now, and as wide as it was
    assert again.exit_code == exit_codes.TOO_WIDE
    assert json.loads(again.stdout)["reached"] is False
    assert "the budget does not reach further" in again.stderr
    assert desk.spent(here) == pytest.approx(0.003)  # 0.001, and twice that


def test_a_relative_width_costs_no_more_than_it_is_allowed(here: Path) -> None:
    question = ("ask", here, f"{COUNT} where age > 100", "--within", "5%", "--epsilon", "0.005")
    shown = run(*question)
    assert shown.exit_code == exit_codes.TOO_WIDE
    assert "epsilon allows no further step" in " ".join(shown.stdout.split())
    assert desk.spent(here) == pytest.approx(0.003)  # a third step would make 0.007


def test_the_help_lists_what_can_go_wrong_with_a_question() -> None:
    shown = " ".join(run("ask", "--help").stdout.replace("│", " ").split())
    assert "1 The ledger is damaged or gone" in shown
    assert "5 Answered, but with a larger margin" in shown
    assert "many small questions cost less than their sum" in shown
    assert "--spend 5% is a share of the whole budget" in shown


def test_who_is_advised_to_ask_for_a_relative_width_is_told_what_it_takes(here: Path) -> None:
    refused = run("ask", here, "select median(age) from people", "--within", "5")
    assert refused.exit_code == exit_codes.REFUSED
    assert "or --within 5% (epsilon doubles until the margin is met" in refused.stderr


def test_a_question_can_come_from_a_pipe(here: Path) -> None:
    assert run("ask", here, "-", "--epsilon", "0.1", typed=f"{COUNT}\n").exit_code == 0


def test_output_fits_a_window_of_80_columns_and_has_no_colours_in_a_pipe(here: Path) -> None:
    for command in (
        ("ask", here, BY_CITY, "--epsilon", "0.1", "--label"),
        ("preview", here, BY_CITY, "--epsilon", "0.1"),
        ("describe", here),
        ("ledger", here),
        ("ledger", here, "entries"),
    ):
        printed = run(*command, NO_COLOR="").stdout
        assert max(map(len, printed.splitlines())) <= 80
        assert "\x1b" not in printed


# -- what is refused --------------------------------------------------------------------------------------------


def test_overspending_ends_with_3_and_a_share_that_fits(here: Path) -> None:
    run("ask", here, COUNT, "--epsilon", "1.5")
    refused = run("ask", here, "select count(*) from people where age >= 65", "--epsilon", "0.75")
    assert refused.exit_code == exit_codes.OVERSPENT
    assert refused.stdout == ""
    assert refused.stderr == (
        "discreet: Too expensive: it needs 1.5 times what is left. Try: --spend 25% (± 12), or --within 12.\n"
    )
    assert desk.spent(here) == 1.5
    answered = run("ask", here, "select count(*) from people where age >= 65", "--spend", "25%")
    assert answered.exit_code == 0
    assert "This used 25 % of the budget; 0 % is left." in answered.stdout
    broke = run("ask", here, "select count(*) from people where age >= 66", "--spend", "1%")
    assert broke.stderr == (
        "discreet: Nothing is left of the budget. Try: discreet budget people.vault --amend --epsilon 4 "
        "(by the curator).\n"
    )


@pytest.mark.parametrize(
    "options", [("--epsilon", "0.1", "--spend", "5%"), ("--spend", "5%", "--within", "5%"), ("--spend", "5")]
)
def test_a_question_has_one_cost(here: Path, options: tuple[str, ...]) -> None:
    assert run("ask", here, COUNT, *options).exit_code == exit_codes.BAD_INPUT
    assert desk.spent(here) == 0


def test_the_delta_of_keys_has_a_name_of_its_own(town: Path) -> None:
    assert run("ask", town, COUNT, "--spend", "1%", "--keys-delta", "1e-9").exit_code == 0
    assert run("ask", town, COUNT, "--spend", "1%", "--delta", "1e-9").exit_code == exit_codes.BAD_INPUT
    for command in ("oracle", "synthesize"):
        assert "--delta" not in run(command, "--help").stdout


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("select * from people", "Single rows are never shown"),
        ("select agee, count(*) from people group by agee", "Did you mean age?"),
        ("select count(*) from persons", "There is no table persons"),
        ("select user_id, count(*) from people group by user_id", "user_id"),
        ("drop table people", ""),
        ("select count(*", "This is not valid SQL"),
    ],
)
def test_what_a_vault_does_not_answer_ends_with_4_and_is_free(here: Path, question: str, words: str) -> None:
    refused = run("ask", here, question, "--epsilon", "1")
    assert refused.exit_code == exit_codes.REFUSED
    assert refused.stderr.startswith("discreet: ")
    assert words in refused.stderr
    assert "Traceback" not in refused.stderr
    assert desk.spent(here) == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "--epsilon 0.1, or --spend 5%, or --within 200, or --within 5%"),
        (("--epsilon", "1", "--within", "3"), "not both. Try: --epsilon 0.1"),
        (("--epsilon", "much"), "is not a number"),
        (("--epsilon", "-1"), "above 0"),
        (("--epsilon", "1", "--confidence", "95"), "confidence"),
        (("--within", "n=3", "--within", "4"), "by name"),
        (("--epsilon", "1", "--json", "--csv"), "Take one"),
        (("--epsilon", "1", "--save", "nowhere/a.json"), "Name a file in a folder that exists"),
        (("--epsilon", "1", "--plot", "a.gif"), ".svg"),
        (("--epsilon", "1", "--plot", "nowhere/a.svg"), "Name a file in a folder that exists"),
    ],
)
def test_bad_input_ends_with_2_before_anything_is_paid(here: Path, options: tuple[str, ...], words: str) -> None:
    refused = run("ask", here, COUNT, *options)
    assert refused.exit_code == exit_codes.BAD_INPUT
    assert words in refused.stderr
    assert refused.stdout == ""
    assert desk.spent(here) == 0


def test_a_place_without_a_vault_says_how_to_make_one(here: Path) -> None:
    refused = run("ask", "nowhere.vault", COUNT, "--epsilon", "1")
    assert refused.exit_code == exit_codes.BAD_INPUT
    assert "Try: discreet seal SOURCE --to nowhere.vault." in refused.stderr


def test_values_that_look_like_arguments_are_shown_as_they_are(here: Path) -> None:
    Path("odd.toml").write_text(desk.SCHEMA.replace('"Bergen"', '"name=me"'), encoding="utf-8")
    options = ("--schema", "odd.toml", "--each-row", "--epsilon", "1", "--to", "odd.vault")
    assert run("seal", "people.csv", *options).exit_code == 0
    shown = run("ask", "odd.vault", "select city, count(*) from odd group by city", "--epsilon", "1").stdout
    assert "name=me" in shown
    assert "see --label." in shown


# -- files ------------------------------------------------------------------------------------------------------


def test_an_answer_can_be_kept_and_drawn(here: Path) -> None:
    answer = run("ask", here, BY_CITY, "--epsilon", "1", "--save", "a.json", "--plot", "a.svg", "--json")
    assert answer.exit_code == 0, answer.output
    kept = dp.Release.load("a.json")
    assert kept["n"].values[0] == json.loads(answer.stdout)["rows"][0]["n"]
    assert "<svg" in Path("a.svg").read_text(encoding="utf-8")
    assert "Wrote a.json" in answer.stderr


# -- who asks ---------------------------------------------------------------------------------------------------


def test_an_analyst_is_named_by_an_option_or_by_the_environment(here: Path) -> None:
    run("budget", here, "--allot", "--analyst", "ana", "--epsilon", "0.3")
    assert run("ask", here, COUNT, "--epsilon", "0.2", "--analyst", "ana").exit_code == 0
    refused = run("ask", here, COUNT, "--epsilon", "0.15", DISCREET_ANALYST="ana")
    assert refused.exit_code == exit_codes.OVERSPENT
    assert 'left for analyst "ana"' in refused.stderr


def test_two_processes_that_ask_at_once_are_both_answered_and_both_charged(here: Path) -> None:
    ages = (30, 65)
    processes = [
        desk.started("ask", here, f"{COUNT} where age < {age}", "--epsilon", "0.5", "--json") for age in ages
    ]
    answers = [process.communicate(timeout=600)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert [json.loads(answer)["free"] for answer in answers] == [False, False]
    assert desk.spent(here) == 1
    assert run("ledger", here, "verify").exit_code == 0


# -- previews ---------------------------------------------------------------------------------------------------


def test_a_preview_costs_nothing_and_knows_the_width(here: Path) -> None:
    found = told("preview", here, COUNT, "--epsilon", "1")
    assert found["expected"][0]["margin"] == pytest.approx(6, abs=0.1)
    assert (found["affordable"], found["free"], found["cost"]["epsilon"]) == (True, False, 1)
    assert found["left"] == {"exact": "2", "value": 2.0}
    assert desk.spent(here) == 0
    shown = run("preview", here, COUNT, "--epsilon", "1").stdout
    assert "This would use 50 % of the budget; 100 % is left." in shown
    assert shown == run("preview", here, COUNT, "--spend", "50%").stdout


def test_a_preview_ends_with_3_where_the_budget_would_not_reach(here: Path) -> None:
    poor = run("preview", here, COUNT, "--epsilon", "3")
    assert poor.exit_code == exit_codes.OVERSPENT
    assert "This would use 150 % of the budget; 100 % is left: not enough." in poor.stdout


def test_a_preview_knows_what_is_free(here: Path) -> None:
    run("ask", here, COUNT, "--epsilon", "2")
    assert "Answered before, so it is free; 0 % is left." in run("preview", here, COUNT, "--epsilon", "2").stdout


def test_a_preview_of_a_relative_width_says_why_there_is_none(here: Path) -> None:
    refused = run("preview", here, COUNT, "--within", "5%")
    assert refused.exit_code == exit_codes.BAD_INPUT
    assert "depends on the answer" in refused.stderr
