"""Share a table of people, its schema, and a way to run commands, among the tests of the commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from discreet.cli import app

SCHEMA = """\
[columns.age]
type = "integer"
lo = 0
hi = 110

[columns.city]
type = "category"
values = ["Oslo", "Bergen", "Ålesund"]
other = "elsewhere"

[columns.paid]
type = "real"
lo = 0
hi = 100
step = 0.5

[columns.day]
type = "date"
lo = "2026-01-01"
hi = "2026-12-31"
"""
PERSONS = 300
OPTIONS = ("--schema", "people.toml", "--person", "user_id", "--rows-per-person", "2", "--epsilon", "2")


def table(persons: int = PERSONS) -> str:
    """A CSV of two visits each: every third person lives in Oslo, and half are 65 or older."""
    cities = ("Oslo", "Bergen", "Ålesund")
    lines = [
        f"{i},{65 + i % 20 if i % 2 else 20 + i % 40},{cities[i % 3]},{i % 90},2026-{1 + i % 12:02d}-11"
        for i in range(persons)
        for _ in range(2)
    ]
    return "\n".join(["user_id,age,city,paid,day", *lines, ""])


def run(*arguments: str | Path, typed: str | None = None, **environment: str) -> Result:
    """Type a command in a window of 80 columns."""
    env = {"COLUMNS": "80", "NO_COLOR": "1", **environment}
    return CliRunner().invoke(app, [*map(str, arguments)], env=env, input=typed)


def told(*arguments: str | Path) -> Any:
    """What a command prints as JSON."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def started(*arguments: str | Path, **environment: str) -> subprocess.Popen[bytes]:
    """A command in a process of its own."""
    command = [sys.executable, "-m", "discreet", *map(str, arguments)]
    env = {**os.environ, "COLUMNS": "80", **environment}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)


def spent(vault: Path) -> float:
    """What the whole vault has spent, in the amount that it adds up."""
    return float(told("ledger", vault)["accounts"][0]["spent"])
