"""Test `discreet ledger` and `discreet budget`: accounts, the hash chain, and allotments."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from discreet.cli import exit_codes
from tests.cli.desk import OPTIONS, run, told

COUNT = "select count(*) from people"


def test_the_ledger_shows_every_account(here: Path) -> None:
    run("budget", here, "--allot", "--analyst", "ana", "--epsilon", "0.5")
    run("ask", here, COUNT, "--epsilon", "0.25", "--analyst", "ana")
    shown = run("ledger", here).stdout
    assert "the whole vault" in shown
    assert 'analyst "ana"' in shown
    whole, ana = told("ledger", here)["accounts"]
    assert (whole["spent"], whole["left"], whole["questions"]) == (0.25, 1.75, 1)
    assert (ana["name"], ana["spent"], ana["largest_question"]) == ("ana", 0.25, 0.25)


def test_entries_tell_who_asked_what_and_why_a_budget_changed(here: Path) -> None:
    run("budget", here, "--allot", "--analyst", "ana", "--epsilon", "0.5", "--reason", "the yearly report")
    run("ask", here, COUNT, "--epsilon", "0.25", "--analyst", "ana")
    shown = run("ledger", here, "entries").stdout
    assert "allotment: the yearly report" in shown
    assert "ana  12.5 % of the budget" in shown
    assert "select count(*) from people" in shown
    kinds = [entry["kind"] for entry in told("ledger", here, "entries")]
    assert kinds == ["opening", "allotment", "charge", "release"]
    assert [entry["number"] for entry in told("ledger", here, "entries", "--after", "3")] == [4]


def test_a_ledger_that_holds_prints_the_line_to_keep(here: Path) -> None:
    kept = run("ledger", here, "verify").stdout.split()[-1]
    run("ask", here, COUNT, "--epsilon", "0.25")
    again = run("ledger", here, "verify", "--since", kept)
    assert again.exit_code == 0
    assert "entry 1 is the one that was kept" in " ".join(again.stdout.split())


def test_a_ledger_that_was_changed_ends_with_1(here: Path) -> None:
    run("ask", here, COUNT, "--epsilon", "0.25")
    kept = run("ledger", here, "verify").stdout.split()[-1]
    forged = kept[:-1] + ("0" if kept[-1] != "0" else "1")
    assert run("ledger", here, "verify", "--since", forged).exit_code == exit_codes.CAUGHT
    with sqlite3.connect(here / "ledger.sqlite") as connection:
        names = [name for (name,) in connection.execute("select name from sqlite_master where type = 'trigger'")]
        for name in names:
            connection.execute(f"drop trigger {name}")
        changed = connection.execute("update entries set body = replace(body, '1/4', '1/8') where kind = 'charge'")
        assert changed.rowcount == 1
    connection.close()
    caught = run("ledger", here, "verify")
    assert caught.exit_code == exit_codes.CAUGHT
    assert "was changed" in caught.stderr
    assert run("ask", here, COUNT, "--epsilon", "0.1").exit_code == exit_codes.CAUGHT


@pytest.mark.parametrize(
    "arguments",
    [("verify", "--since", "11"), ("--since", f"1:{'0' * 64}"), ("verify", "--after", "1"), ("nonsense",)],
)
def test_what_makes_no_sense_ends_with_2(here: Path, arguments: tuple[str, ...]) -> None:
    assert run("ledger", here, *arguments).exit_code == exit_codes.BAD_INPUT


def test_a_lost_ledger_is_said_to_be_lost(here: Path) -> None:
    (here / "ledger.sqlite").unlink()
    for command in (("ledger", here), ("ask", here, COUNT, "--epsilon", "0.1")):
        lost = run(*command)
        assert lost.exit_code == exit_codes.CAUGHT  # trying again does not help
        assert "backup" in lost.stderr
        assert "Ledger." not in lost.stderr


def test_one_entry_is_spoken_of_as_one(here: Path) -> None:
    assert run("ledger", here, "verify").stdout.startswith("The only entry is unchanged, and its sums are right.")


# -- budgets ----------------------------------------------------------------------------------------------------


def test_the_curator_amends_the_budget_but_never_below_what_was_spent(here: Path) -> None:
    run("ask", here, COUNT, "--epsilon", "1")
    assert run("budget", here, "--amend", "--epsilon", "3", "--reason", "a second year", "--yes").exit_code == 0
    assert told("ledger", here)["accounts"][0]["left"] == 2
    less = run("budget", here, "--amend", "--epsilon", "0.5")
    assert less.exit_code == exit_codes.BAD_INPUT
    assert told("ledger", here)["accounts"][0]["epsilon"] == 3


RAISED = ("--amend", "--epsilon", "3", "--reason", "a second year")


def test_a_budget_is_not_raised_without_a_reason_and_a_confirmation(here: Path) -> None:
    before = told("ledger", here)
    reasonless = run("budget", here, "--amend", "--epsilon", "3", "--yes")
    assert reasonless.exit_code == exit_codes.BAD_INPUT
    assert "Try: --reason 'a second year'." in reasonless.stderr
    for typed in ("", "yes\n", "2\n"):
        refused = run("budget", here, *RAISED, typed=typed)
        assert refused.exit_code == exit_codes.BAD_INPUT
        assert "was not confirmed" in refused.stderr
    assert told("ledger", here) == before


@pytest.mark.parametrize(("given", "typed", "kept"), [((), "3\n", "typed 3"), (("--yes",), "", "--yes")])
def test_the_ledger_keeps_why_a_budget_was_raised_and_how_that_was_confirmed(
    here: Path, given: tuple[str, ...], typed: str, kept: str
) -> None:
    raised = run("budget", here, *RAISED, *given, typed=typed)
    assert raised.exit_code == 0, raised.stderr
    assert ("only the larger budget is promised" in " ".join(raised.stderr.split())) == (not given)
    entry = told("ledger", here, "entries")[-1]
    assert (entry["kind"], entry["body"]["reason"], entry["body"]["confirmed"]) == (
        "amendment",
        "a second year",
        kept,
    )
    assert f"amendment: a second year (confirmed: {kept})" in run("ledger", here, "entries").stdout


def test_a_budget_is_lowered_without_a_word(here: Path) -> None:
    assert run("budget", here, "--amend", "--epsilon", "1").exit_code == 0
    assert told("ledger", here)["accounts"][0]["epsilon"] == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--epsilon", "1"), "Try: --allot (a new budget), or --amend"),
        (("--allot", "--amend", "--epsilon", "1"), "cannot be combined"),
        (("--allot", "--analyst", "ana"), "The ε of the budget is missing. Try: --epsilon 0.5."),
        (("--allot", "--epsilon", "1"), "purpose"),
        (("--amend", "--analyst", "ana", "--epsilon", "1"), "allot"),
    ],
)
def test_a_budget_that_is_half_said_is_asked_for(here: Path, options: tuple[str, ...], words: str) -> None:
    refused = run("budget", here, *options)
    assert refused.exit_code == exit_codes.BAD_INPUT
    assert words in refused.stderr


def test_an_allotment_has_the_delta_of_the_whole_so_that_it_can_pay_for_the_same_questions(here: Path) -> None:
    assert run("seal", "people.csv", *OPTIONS, "--delta", "1e-6", "--to", "gauss.vault").exit_code == 0
    run("budget", "gauss.vault", "--allot", "--analyst", "ana", "--epsilon", "1")
    assert told("ledger", "gauss.vault")["accounts"][1]["delta"] == 1e-6
    answer = run("ask", "gauss.vault", "select count(*) from gauss", "--epsilon", "0.1", "--analyst", "ana")
    assert answer.exit_code == 0, answer.output


def test_an_allotment_above_the_whole_is_given_with_a_word(here: Path) -> None:
    shown = run("budget", here, "--allot", "--analyst", "ana", "--epsilon", "9")
    assert shown.exit_code == 0
    assert "more than the budget of the whole vault" in shown.stderr


def test_a_budget_that_hardly_promises_anything_is_given_with_a_word_on_stderr(here: Path) -> None:
    why = ("--reason", "a rehearsal", "--yes")
    raised = run("budget", here, "--amend", "--epsilon", "1000", "--delta", "0.1", "--json", *why)
    assert raised.exit_code == 0
    assert "ε = 1000 protects little" in raised.stderr
    assert "far below one over the number of persons" in raised.stderr
    assert json.loads(raised.stdout)["accounts"][0]["epsilon"] == 1000


def test_a_strict_vault_answers_only_those_with_an_account(here: Path) -> None:
    assert run("seal", "people.csv", *OPTIONS, "--strict", "--to", "strict.vault").exit_code == 0
    question = ("ask", "strict.vault", "select count(*) from strict", "--epsilon", "0.1")
    assert run(*question).exit_code == exit_codes.OVERSPENT
    refused = run(*question, "--analyst", "ana")
    assert "Try: discreet budget strict.vault --allot --analyst ana (by the curator" in refused.stderr
    run("budget", "strict.vault", "--allot", "--analyst", "ana", "--epsilon", "0.3")
    assert run(*question, "--analyst", "ana").exit_code == 0
