"""Test the exit codes of commands, and their help."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
import typer

from discreet.cli import exit_codes, output
from discreet.cli.exit_codes import reporting_errors
from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    LedgerMissing,
    LedgerTampered,
    LedgerUnavailable,
    ParameterError,
    QuestionRefused,
)
from discreet.kernel.spend import STAYS
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
        (LedgerMissing("x"), 1),  # trying again does not help
        (PermissionError(13, "Permission denied", "people.vault"), 2),
        (OSError(errno.ENOSPC, "No space left on device", "people.parquet"), 2),
        (OSError("x"), 70),
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
        reporting_errors(command)()
    assert ended.value.exit_code == code
    said = capsys.readouterr()
    assert said.out == ""
    assert ("Traceback" in said.err) is (code == exit_codes.CRASHED)


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_half_a_file_is_not_left_behind(tmp_path: Path, error: BaseException) -> None:
    """A table whose last rows are missing looks like a whole one."""

    def half(file: Path) -> None:
        file.write_text("age\n31\n", encoding="utf-8")
        raise error

    def none(file: Path) -> None:
        raise error

    kept = tmp_path / "kept.csv"
    kept.write_text("age\n", encoding="utf-8")
    for file, writer in ((tmp_path / "new.csv", half), (kept, none)):
        with pytest.raises((DiscreetError, KeyboardInterrupt)):
            output.write("--out", file, writer)
    assert [file.name for file in tmp_path.iterdir()] == ["kept.csv"]


def test_an_interrupt_says_what_was_charged_and_where_to_see_it(capsys: pytest.CaptureFixture[str]) -> None:
    def command(*, vault: str) -> None:
        stop = KeyboardInterrupt()
        stop.add_note(STAYS)
        raise stop

    with pytest.raises(typer.Exit):
        reporting_errors(command)(vault="people.vault")
    said = capsys.readouterr().err
    assert said.startswith("discreet: stopped. This was stopped after it was charged. The charge stays")
    assert said.rstrip().endswith("discreet ledger people.vault.")


@pytest.mark.parametrize(
    "command", ["propose", "seal", "ask", "preview", "describe", "ledger", "budget", "demo", "audit"]
)
def test_every_command_explains_itself_with_an_example(command: str) -> None:
    help_ = run(command, "--help")
    assert help_.exit_code == 0
    assert "Example" in help_.stdout
    assert f"discreet {command}" in help_.stdout
    assert command in run("--help").stdout
