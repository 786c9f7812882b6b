"""From a file of rows to a vault, as a stranger types it."""

from __future__ import annotations

import os
import pty
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import discreet as dp
from discreet.cli import exit_codes
from discreet.sealing.draft import read_schema
from tests.cli import desk
from tests.cli.desk import OPTIONS, run, told


def test_a_draft_names_columns_and_shows_no_row(here: Path) -> None:
    drafted = run("propose", "people.csv")
    assert drafted.exit_code == 0
    assert "[columns.city]" in drafted.stdout
    assert "Oslo" not in drafted.stdout


def test_a_draft_does_not_overwrite_what_was_finished(here: Path) -> None:
    refused = run("propose", "people.csv", "--out", "people.toml")
    assert refused.exit_code == exit_codes.BAD_INPUT
    assert "may hold your work" in refused.stderr
    assert Path("people.toml").read_text(encoding="utf-8") == desk.SCHEMA


def test_an_unfinished_schema_is_refused_by_its_lines_and_leaves_nothing_behind(here: Path) -> None:
    assert run("propose", "people.csv", "--out", "draft.toml").exit_code == 0
    before = sorted(os.listdir())
    refused = run(
        "seal", "people.csv", "--schema", "draft.toml", "--each-row", "--epsilon", "2", "--to", "new.vault"
    )
    assert refused.exit_code == exit_codes.BAD_INPUT
    assert "draft.toml is not finished: it still says TODO (found: user_id.type (line " in refused.stderr
    assert sorted(os.listdir()) == before


def test_sealing_tells_nothing_about_the_rows(here: Path) -> None:
    said = []
    for name, persons in (("few", 3), ("many", 200)):
        Path(name).mkdir()
        Path(name, "people.csv").write_text(desk.table(persons), encoding="utf-8")
        result = run("seal", f"{name}/people.csv", *OPTIONS, "--to", f"{name}/people.vault")
        assert result.exit_code == 0, result.output
        assert result.stderr == ""
        said.append(result.stdout.replace(name, "…"))
    assert said[0] == said[1]


def test_odd_rows_are_sealed_and_counted(here: Path) -> None:
    rows = [
        "1;abc;Oslo;;02.01.2026",
        "1;30",
        '2;31;"quo""te";1e99;2026-02-30;x;y',
        ";;;;",
        "NaN;-5;=cmd();inf;",
        "",
    ]
    Path("odd.csv").write_text("\n".join(["user_id;age;city;paid;day", *rows]), encoding="utf-8")
    refused = run("seal", "odd.csv", *OPTIONS, "--to", "odd.vault")
    assert refused.exit_code == exit_codes.BAD_INPUT
    assert "More than half of column 'day' cannot be read" in refused.stderr
    assert "discreet seal SOURCE --check (shows which cells), or --anyway" in refused.stderr
    assert "02.01.2026" not in refused.stderr
    sealed = run("seal", "odd.csv", *OPTIONS, "--to", "odd.vault", "--anyway")
    assert sealed.exit_code == 0, sealed.output
    ((row,), error) = (told("ask", "odd.vault", "select count(*) from odd", "--epsilon", "1")["rows"], 40)
    assert abs(row["count"] - 5) < error  # exceeded once in 10⁸: Laplace noise of scale 2
    ages = told("ask", "odd.vault", "select city, avg(age) from odd group by city", "--epsilon", "1")["rows"]
    assert [row["city"] for row in ages] == ["Oslo", "Bergen", "Ålesund", "elsewhere", None]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--each-row", "--epsilon", "2"), "discreet propose SOURCE --out schema.toml"),
        (("--schema", "people.toml", "--epsilon", "2"), "--person user_id (if a person may have several rows)"),
        (("--schema", "people.toml", "--epsilon", "2", "--person", "user_id", "--each-row"), "contradict"),
        (("--schema", "people.toml", "--person", "user_id"), "Try: --epsilon 2, or --epsilon 2 --delta 1e-9"),
        (("--schema", "people.toml", "--person", "user", "--epsilon", "2"), "It has 'user_id', 'age'"),
        (("--schema", "people.toml", "--person", "city", "--epsilon", "2"), "Leave it out of the columns."),
        (
            ("--schema", "none.toml", "--person", "user_id", "--epsilon", "2"),
            "Try: discreet propose SOURCE (drafts one)",
        ),
        ((*OPTIONS, "--rows-per-person", "0"), "1 or more"),
        ((*OPTIONS, "--delta", "2"), "delta must not be above 1"),
        (
            (*OPTIONS, "--epsilon", "0"),
            "No question can ever be asked with this budget (found: 0). Try: --epsilon 2.",
        ),
        ((*OPTIONS, "--lookup", "zip"), "--lookup zip=regions.csv"),
    ],
)
def test_what_is_missing_or_wrong_is_asked_for(here: Path, options: tuple[str, ...], words: str) -> None:
    refused = run("seal", "people.csv", *options, "--to", "new.vault")
    assert refused.exit_code == exit_codes.BAD_INPUT
    assert words in refused.stderr
    assert not Path("new.vault").exists()


@pytest.mark.parametrize(
    ("budget", "column", "advice"),
    [
        (("--epsilon", "3", "--delta", "1e-6"), "without δ", "a budget without δ is better: leave out --delta."),
        (("--epsilon", "0.05"), "with δ = 1e-9", "a budget with δ is better: --delta 1e-9."),
    ],
)
def test_sealing_names_a_question_that_fits_and_the_kind_of_budget(
    here: Path, budget: tuple[str, ...], column: str, advice: str
) -> None:
    sealed = run("seal", "people.csv", *OPTIONS[:-2], *budget, "--to", "new.vault")
    lines = [line.split() for line in sealed.stdout.splitlines()]
    assert ["counts", "this", "budget", *column.split()] in lines
    assert [line[0] for line in lines if "±" in line] == ["1", "10", "100", "1,000"]
    assert advice in " ".join(sealed.stdout.split())
    command = sealed.stdout.strip().splitlines()[-1].strip()
    assert command == "discreet ask new.vault 'select count(*) from new' --spend 5%"
    assert run(*shlex.split(command)[1:]).exit_code == 0


@pytest.mark.parametrize("name", ["my people", "select", "Größe"])
def test_the_question_that_sealing_names_is_answered_whatever_the_vault_is_called(here: Path, name: str) -> None:
    sealed = run("seal", "people.csv", *OPTIONS, "--to", f"{name}.vault")
    command = sealed.stdout.strip().splitlines()[-1].strip()
    assert run(*shlex.split(command)[1:]).exit_code == 0


def test_a_column_that_is_misspelled_is_guessed(here: Path) -> None:
    options = [{"user_id": "User_ID"}.get(option, option) for option in OPTIONS]
    refused = run("seal", "people.csv", *options, "--to", "new.vault")
    assert "people.csv has no column 'User_ID'. Did you mean 'user_id'?" in " ".join(refused.stderr.split())


def test_the_help_says_with_which_status_a_check_ends() -> None:
    shown = " ".join(run("seal", "--help").stdout.replace("│", " ").split())
    assert "1 With --check, more than half of a column is unreadable." in shown


def test_sealing_again_offers_what_is_left(here: Path) -> None:
    run("seal", "people.csv", *OPTIONS[:-2], "--epsilon", "1", "--to", "new.vault")
    run("ask", "new.vault", "select count(*) from new", "--spend", "98%")
    again = run("seal", "people.csv", "--reseal", "--to", "new.vault")
    assert again.stdout.rstrip().endswith("--spend 2%")
    run("ask", "new.vault", "select count(*) from new", "--spend", "2%")
    broke = run("seal", "people.csv", "--reseal", "--to", "new.vault")
    assert "Nothing is left of the budget" in broke.stdout


def test_a_budget_that_hardly_promises_anything_is_sealed_with_a_word_on_stderr(here: Path) -> None:
    sealed = run("seal", "people.csv", *OPTIONS[:-2], "--epsilon", "1000", "--delta", "0.1", "--to", "new.vault")
    assert sealed.exit_code == 0
    assert "ε = 1000 protects little" in sealed.stderr
    assert "δ = 0.1 is large" in sealed.stderr
    assert "protects little" not in sealed.stdout


def test_a_vault_is_not_overwritten(here: Path) -> None:
    refused = run("seal", "people.csv", *OPTIONS, "--to", here)
    assert refused.exit_code == exit_codes.BAD_INPUT
    assert (
        "Try: --to people-2.vault (another directory), or discreet seal SOURCE --to people.vault --reseal"
        in refused.stderr
    )


def test_resealing_keeps_the_ledger_and_what_was_spent(here: Path) -> None:
    question = ("ask", here, "select count(*) from people", "--epsilon", "0.5")
    run(*question)
    resealed = run("seal", "people.csv", "--reseal", "--to", here)
    assert resealed.exit_code == 0, resealed.output
    assert "Version 2, under the same ledger" in resealed.stdout
    assert "may be deleted afterwards" in " ".join(resealed.stdout.split())
    assert desk.spent(here) == 0.5
    assert told(*question)["free"] is False  # other rows: another question
    assert desk.spent(here) == 1


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (("--epsilon", "3"), "discreet budget VAULT --amend"),
        (("--each-row",), "a person is a user_id"),
        (("--person", "city"), "a person is a user_id"),
    ],
)
def test_resealing_changes_neither_budget_nor_persons(here: Path, option: tuple[str, ...], words: str) -> None:
    refused = run("seal", "people.csv", "--reseal", *option, "--to", here)
    assert refused.exit_code == exit_codes.BAD_INPUT
    assert words in refused.stderr


def test_several_files_more_about_persons_and_public_tables_go_together(here: Path) -> None:
    Path("regions.csv").write_text("city,region\nOslo,east\nBergen,west\nÅlesund,west\n", encoding="utf-8")
    Path("members.csv").write_text(
        "user_id,member\n" + "".join(f"{i},yes\n" for i in range(300)), encoding="utf-8"
    )
    more = (
        '\n[columns.region]\ntype = "category"\nvalues = ["east", "west"]\n\n[columns.member]\ntype = "boolean"\n'
    )
    Path("more.toml").write_text(desk.SCHEMA + more, encoding="utf-8")
    options = ("--schema", "more.toml", "--person", "user_id", "--rows-per-person", "4", "--epsilon", "100")
    beside = ("--also", "members.csv", "--lookup", "city=regions.csv", "--name", "visits", "--to", "more.vault")
    sealed = run("seal", "people.csv", "people.csv", *options, *beside)
    assert sealed.exit_code == 0, sealed.output
    question = "select region, count(*) as n from visits where member group by region"
    rows = told("ask", "more.vault", question, "--epsilon", "40")["rows"]
    # Each file has two rows of 300 persons; noise of scale 0.1 exceeds 3 with a probability of 10⁻¹³.
    found = {row["region"]: row["n"] for row in rows}
    assert abs(found["east"] - 400) < 3
    assert abs(found["west"] - 800) < 3


def _stopped(process: subprocess.Popen[bytes]) -> bytes:
    """Press Ctrl-C, again if nothing happens: Python does not notice what comes just before a read that waits."""
    for _ in range(20):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=30)[1]
    raise AssertionError("it does not stop")


def test_control_c_while_sealing_leaves_nothing_behind(here: Path) -> None:
    os.mkfifo("slow.csv")
    process = desk.started("seal", "slow.csv", *OPTIONS, "--to", "slow.vault")
    with open("slow.csv", "w", encoding="utf-8"):  # returns when the command has begun to read
        before = {"people.csv", "people.toml", "people.vault", "slow.csv"}
        said = _stopped(process)
    assert process.returncode == exit_codes.STOPPED
    assert said == b"discreet: stopped.\n"
    assert {*os.listdir()} == before


GERMAN = """\
Kunde;Datum;Betrag;Ort
k1;26.12.2025;71,86;München
k1;24.12.2025;1.234,00;Köln

k2;heute;5,00;München
k3;01.02.2025;-;München
"""
GERMAN_SCHEMA = """\
[columns.Datum]
type = "date"
lo = "2025-01-01"
hi = "2025-12-31"

[columns.Betrag]
type = "real"
lo = 0
hi = 100
step = "0.01"
"""
NOTATED = GERMAN_SCHEMA.replace('hi = "2025-12-31"', 'hi = "2025-12-31"\nformat = "%d.%m.%Y"').replace(
    'step = "0.01"', 'step = "0.01"\ndecimal = ","\nthousands = "."'
)


def german(folder: Path, schema: str) -> tuple[str, ...]:
    Path("kunden.csv").write_text(GERMAN, encoding="latin-1")
    Path("kunden.toml").write_text(schema, encoding="utf-8")
    return ("seal", "kunden.csv", "--encoding", "latin-1", "--schema", "kunden.toml", "--person", "Kunde")


def test_a_file_with_commas_and_german_dates_does_not_seal_without_a_word(here: Path) -> None:
    command = german(here, GERMAN_SCHEMA)
    refused = run(*command, "--epsilon", "2", "--to", "kunden.vault")
    assert refused.exit_code == exit_codes.BAD_INPUT
    assert "Declare column 'Datum' with format = \"%d.%m.%Y\"." in refused.stderr
    assert 'Declare column \'Betrag\' with decimal = "," and thousands = ".".' in refused.stderr
    assert not Path("kunden.vault").exists()


def test_a_check_reports_every_column_and_seals_nothing(here: Path) -> None:
    before = sorted(os.listdir())
    command = german(here, NOTATED)
    checked = run(*command, "--check")
    assert checked.exit_code == 0, checked.output
    lines = [" ".join(line.split()) for line in checked.stdout.splitlines()]
    assert "4 rows of 3 persons. 1 of them have more than 1 row, and their rows are scaled down." in lines
    assert "Datum 3 0 0 0 1" in lines
    assert "Betrag 2 0 1 0 1" in lines
    assert "Datum: unreadable, and therefore missing: 'heute' (line 5)." in lines
    assert sorted(os.listdir()) == sorted([*before, "kunden.csv", "kunden.toml"])
    assert run(*german(here, GERMAN_SCHEMA), "--check").exit_code == exit_codes.CAUGHT


def test_the_report_is_printed_on_a_terminal_and_not_into_a_file(here: Path) -> None:
    command = (*german(here, NOTATED), "--epsilon", "2")
    piped = run(*command, "--to", "piped.vault")
    assert piped.exit_code == 0, piped.output
    assert "heute" not in piped.output
    assert "unreadable" not in piped.stdout
    shown, status = on_a_terminal(*command, "--to", "shown.vault")
    assert status == 0, shown
    assert "'heute' (line 5)" in shown
    assert "This report is private" in shown


def test_bounds_are_learned_for_a_share_of_the_budget(here: Path) -> None:
    learned = run(
        *("seal", "people.csv", *OPTIONS, "--to", "new.vault", "--learn", "paid=20%"),
    )
    assert learned.exit_code == exit_codes.BAD_INPUT  # its bounds are in the schema
    assert "there is nothing to learn" in learned.stderr
    Path("people.toml").write_text(desk.SCHEMA.replace("hi = 100\n", 'hi = "TODO"\n'), encoding="utf-8")
    learned = run("seal", "people.csv", *OPTIONS, "--to", "new.vault", "--learn", "paid=20%")
    assert learned.exit_code == 0, learned.output
    assert "bounds learned from the rows" in " ".join(learned.stdout.split())
    assert told("describe", "new.vault")["columns"]["paid"]["bounds_cost"].startswith("20 % of the budget")
    assert told("ledger", "new.vault")["accounts"][0]["spent"] == pytest.approx(0.4)
    wrong = run("seal", "people.csv", *OPTIONS, "--to", "other.vault", "--learn", "paid=200%")
    assert "at most 100 %" in wrong.stderr


def on_a_terminal(*arguments: str, answers: str = "") -> tuple[str, int]:
    """Run a command on a terminal, type answers, and return what was shown, and its exit status."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "discreet", *arguments]
    env = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, env=env)
    os.close(theirs)
    os.write(ours, answers.encode())
    shown = b""
    with suppress(OSError):  # the terminal is gone when the command has ended
        while chunk := os.read(ours, 4096):
            shown += chunk
    os.close(ours)
    return shown.decode().replace("\r\n", "\n"), process.wait()


def test_on_a_terminal_the_schema_is_asked_for_and_can_be_sealed(here: Path) -> None:
    german(here, NOTATED)
    Path("kunden.toml").unlink()
    answers = "\n".join(
        [
            "",  # Kunde identifies the person
            *("", "2025-01-01", "2025-12-31", "%d.%m.%Y"),  # Datum is a date
            *("", "", "100", "", ","),  # Betrag is real, from 0
            *("category", "München, Köln"),  # Ort
            "",
        ]
    )
    shown, status = on_a_terminal(
        "propose", "kunden.csv", "--encoding", "latin-1", "--out", "kunden.toml", answers=answers
    )
    assert status == 0, shown
    assert "--encoding latin-1 --schema kunden.toml --person Kunde --epsilon 2 --to kunden.vault --check" in shown
    assert read_schema("kunden.toml") == {
        "Datum": dp.Date("2025-01-01", "2025-12-31", format="%d.%m.%Y"),
        "Betrag": dp.Real(0, 100, "0.01", decimal=","),
        "Ort": dp.Category(["München", "Köln"]),
    }
    assert "heute" not in shown + Path("kunden.toml").read_text(encoding="utf-8")


def test_without_a_terminal_the_draft_is_written(here: Path) -> None:
    drafted = run("propose", "people.csv", "--out", "draft.toml")
    assert drafted.exit_code == 0
    assert "replace every TODO in it, check every guess" in " ".join(drafted.stdout.split())
    assert "a guess from the name: check it" in Path("draft.toml").read_text(encoding="utf-8")


def test_cells_of_several_lines_need_an_option(here: Path) -> None:
    text = 'user_id,age,city,paid,day\n1,30,"Os\nlo",5,2026-01-01\n'
    Path("lines.csv").write_text(text, encoding="utf-8")
    refused = run("seal", "lines.csv", *OPTIONS, "--to", "lines.vault")
    assert refused.exit_code == exit_codes.BAD_INPUT
    assert "opens a cell in line 2 and does not close on that line. Try: --multiline" in refused.stderr
    assert run("seal", "lines.csv", *OPTIONS, "--to", "lines.vault", "--multiline").exit_code == 0
