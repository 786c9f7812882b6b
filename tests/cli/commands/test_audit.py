"""`discreet audit`: undecided is neither 0 nor caught, --power, --budget and --samples do what they say."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from discreet.cli import app

MODULE = """
from discreet import noise, privacy
from discreet.audit import Subject

def many(count):
    return [count + int(noise.discrete_laplace(3)) for _ in range(4)]

too_many = Subject(name="too many", release=many, loss=privacy.Pure("4/3"), pairs=[(0, 1)])
coin = Subject(
    name="a coin", release=lambda bit: bit ^ noise.bernoulli("1/4"), loss=privacy.Pure("1.1"), pairs=[(0, 1)]
)
calls = 0

def counted(bit):
    global calls
    calls += 1
    return bit ^ noise.bernoulli("1/4")

from discreet.audit.blackbox import blackbox
single = Subject(name="one by one", release=counted, loss=privacy.Pure(2), pairs=[(0, 1)],
                 attacks={"black box": blackbox.attack})
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "subjects_of_mine.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield "subjects_of_mine"
    sys.modules.pop("subjects_of_mine", None)


def audit(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["audit", *arguments], env={"COLUMNS": "100", "NO_COLOR": "1"})


def test_an_enumeration_that_stops_before_its_end_is_undecided_and_ends_with_6(module: str) -> None:
    result = audit(f"{module}:too_many", "--budget", "200", "--samples", "1000")
    assert result.exit_code == 6, result.output
    assert "undecided" in result.stdout
    assert "1 undecided" in result.stdout
    assert "of the draws were enumerated" in result.stdout
    assert "nothing caught" in result.stdout


def test_undecided_is_in_the_json_and_in_the_page(module: str, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    result = audit(f"{module}:too_many", "--budget", "200", "--samples", "1000", "--json", "--html", str(page))
    document = json.loads(result.stdout)
    assert result.exit_code == 6
    assert (document["failed"], document["undecided"]) == (False, True)
    verdict = document["reports"][0]["verdicts"][0]
    assert verdict["undecided"] is True
    assert 1e-4 < verdict["unexplored"] < 1
    assert '<span class="undecided">undecided</span>' in page.read_text()


def test_a_budget_that_reaches_the_end_decides(module: str) -> None:
    result = audit(f"{module}:coin", "--budget", "100", "--samples", "1000")
    assert result.exit_code == 0, result.output
    assert "undecided" not in result.stdout


def test_samples_are_as_many_as_the_help_says_also_one_by_one(module: str) -> None:
    assert audit(f"{module}:single", "--samples", "4000").exit_code == 0
    made: int = sys.modules[module].calls
    assert made >= 2 * 4000  # on each of two tables
    assert made < 2 * 4000 + 1000


def test_power_tells_from_which_factor_on_weaker_noise_is_caught(module: str) -> None:
    result = audit("--power", f"{module}:coin", "--json")
    assert result.exit_code == 0, result.output
    (power,) = json.loads(result.stdout)["powers"]
    assert power["weakened"] == "claim"
    assert power["factor"] == 1.02
    assert "×1.02" in audit("--power", f"{module}:coin").stdout


def test_power_is_refused_in_the_museum() -> None:
    result = audit("--power", "--museum")
    assert result.exit_code == 2
    assert "Leave out --museum" in result.output
