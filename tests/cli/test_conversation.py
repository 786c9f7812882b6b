"""How commands end, and what the library says in the words of the command line."""

from __future__ import annotations

import pytest
import typer

from discreet.cli import conversation
from discreet.cli.conversation import conversing, in_options
from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    LedgerTampered,
    LedgerUnavailable,
    ParameterError,
    QuestionRefused,
)
from tests.cli.desk import run


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BudgetExceeded("x"), 3),
        (QuestionRefused("x"), 4),
        (ParameterError("x"), 2),
        (DiscreetError("x"), 2),
        (LedgerTampered("x"), 1),
        (LedgerUnavailable("x"), 75),
        (PermissionError(13, "Permission denied", "people.vault"), 2),
        (KeyboardInterrupt(), 130),
        (RuntimeError("x"), 70),
    ],
)
def test_every_ending_has_a_code_of_its_own(
    error: BaseException, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def command() -> None:
        raise error

    with pytest.raises(typer.Exit) as ended:
        conversing(command)()
    assert ended.value.exit_code == code
    said = capsys.readouterr()
    assert said.out == ""
    assert ("Traceback" in said.err) is (code == conversation.CRASHED)


@pytest.mark.parametrize(
    ("python", "options"),
    [
        ('Ask with epsilon="0.1".', "Ask with --epsilon 0.1."),
        ('Ask with epsilon="0.1", or with within="5%".', "Ask with --epsilon 0.1, or with --within 5%."),
        ("or within=200: what", "or --within 200: what"),
        ('purpose="yearly report".', '--purpose "yearly report".'),
        ('person="user_id", rows_per_person=8.', "--person user_id, --rows-per-person 8."),
        ("Vault.seal(…, to='a.vault').", "discreet seal SOURCE --to a.vault …."),
        ("Source('a.duckdb', table='people').", "--table people."),
        ('dp.Budget(2, delta="1e-9").', "--epsilon 2 --delta 1e-9."),
        ("Change it with ledger.amend.", "Change it with discreet budget VAULT --amend."),
        ("Pure(epsilon=1) has no amount", "Pure(epsilon=1) has no amount"),
        ("select count(*) where person = 5", "select count(*) where person = 5"),
    ],
)
def test_what_is_said_in_python_is_said_in_options(python: str, options: str) -> None:
    assert in_options(python) == options


@pytest.mark.parametrize(
    "command", ["propose", "seal", "ask", "preview", "describe", "ledger", "budget", "demo", "audit"]
)
def test_every_command_explains_itself_with_an_example(command: str) -> None:
    help_ = run(command, "--help")
    assert help_.exit_code == 0
    assert "Example" in help_.stdout
    assert f"discreet {command}" in help_.stdout
    assert command in run("--help").stdout
