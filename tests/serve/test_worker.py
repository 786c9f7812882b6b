"""What leaves a worker process: answers, our own words, and of any other failure its type and line alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import discreet as dp
from discreet.errors import QuestionRefused
from discreet.serve.problems import failure, problem_of
from discreet.serve.tasks import TASKS, Result, Verb
from discreet.serve.worker import _Vaults, outcome
from discreet.serve.workers import Task, Worker

PRIVATE = "sentinel-7261"


def done(monkeypatch: pytest.MonkeyPatch, error: Exception) -> dict[str, Any]:
    """Carry out a verb that fails."""

    def fail(vault: object, arguments: Mapping[str, Any], tell: object) -> Result:
        raise error

    monkeypatch.setitem(TASKS, "fail", Verb(fail))
    task: dict[str, Any] = {
        "verb": "fail",
        "place": "",
        "analyst": "ana",
        "purpose": None,
        "arguments": {},
        "recorded": False,
    }
    return outcome(_Vaults(), task, lambda words, share: None)


@pytest.mark.parametrize(
    "error", [ValueError(PRIVATE), KeyError(PRIVATE), OSError(2, PRIVATE, PRIVATE), RuntimeError(f"at {PRIVATE}")]
)
def test_the_text_of_an_exception_stays_in_the_worker(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    found = done(monkeypatch, error)
    assert found["failed"] == type(error).__name__
    assert PRIVATE not in json.dumps(found)
    assert found["public"] is False  # it leaves on a tick


def test_our_own_words_leave_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    found = done(monkeypatch, QuestionRefused("Rows are not answered.", fix="Ask for a count."))
    assert problem_of(found["error"]).detail == "Rows are not answered."


@pytest.mark.parametrize("relative", [False, True])
def test_the_place_of_a_vault_stays_in_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, relative: bool
) -> None:
    """An oracle whose journal is gone, or belongs to another one, named the folders of the server."""
    place = tmp_path / "people.vault"
    columns = {"age": dp.Integer(0, 110)}
    rows = pyarrow.table({"who": [1, 2], "age": [30, 40]})
    opening: dict[str, Any] = {"columns": ["age"], "epsilon": "1", "within": "500"}
    budget = dp.Budget(4, "1e-6")
    with dp.Vault.seal(rows, to=place, name="people", person="who", columns=columns, budget=budget) as vault:
        vault.for_account(analyst="ana").oracle(**opening).close()
    monkeypatch.chdir(tmp_path)
    task: dict[str, Any] = {
        "verb": "describe_oracle",
        "place": "people.vault" if relative else str(place),
        "analyst": "ana",
        "purpose": None,
        "arguments": {"opening": opening},
        "recorded": False,
    }
    (journal,) = place.glob("*.oracle")
    journal.unlink()
    found = outcome(_Vaults(), task, lambda words, share: None)["error"]
    assert "is gone" in found["problem"]
    assert found["found"] == journal.name
    assert "An older one" in found["fix"][-1]["text"]  # a backup that is put back forgets what was spent since


def test_a_new_worker_has_the_rows_open_before_the_first_question(tmp_path: Path) -> None:
    place = tmp_path / "people.vault"
    columns = {"age": dp.Integer(0, 110)}
    rows = pyarrow.table({"who": [1, 2], "age": [30, 40]})
    dp.Vault.seal(rows, to=place, name="people", person="who", columns=columns, budget=dp.Budget(1)).close()
    worker = Worker([str(tmp_path / "none.vault"), str(place)])
    try:
        found = worker.run(Task("describe", str(place), "ana"))  # it needs no rows itself
        assert found["body"]["table"] == "people"
        opened = {path.resolve() for path in Path(f"/proc/{worker.process.pid}/fd").iterdir()}
        assert place / "rows.duckdb" in opened
    finally:
        worker.end()


def test_the_words_of_a_fault_of_ours_are_constant() -> None:
    for name in ("LedgerUnavailable", "ServiceFailed", "DatabaseUnavailable", "MissingPackage"):
        record = {"error": name, "problem": PRIVATE, "found": PRIVATE, "fix": [{"text": PRIVATE}]}
        shown = problem_of(record)
        assert shown.status >= 500
        assert PRIVATE not in str(shown)
    assert str(failure()) == str(failure())
