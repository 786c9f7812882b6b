"""`discreet stream`: lines become private totals, and a day becomes a picture."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.desk import run


def test_each_line_is_a_tick_and_each_tick_has_a_private_total() -> None:
    done = run(
        "stream", "count", "--epsilon", "30", "--delta", "1e-3", "--horizon", "10", "--json", typed="5\n\n7\n100\n"
    )
    assert done.exit_code == 0, done.output
    shown = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["tick"] for one in shown] == [1, 2, 3]
    assert abs(shown[-1]["value"] - 112) < 20
    assert shown[-1]["low"] < shown[-1]["value"] < shown[-1]["high"]
    words = run("stream", "count", "--horizon", "10", "--every", "2", typed="5\n7\n100\n").stdout.splitlines()
    assert [line.split(":")[0] for line in words] == ["tick 2", "tick 3"]
    assert all("with 95 %" in line for line in words)


def test_the_state_goes_on_and_a_bad_line_loses_nothing(tmp_path: Path) -> None:
    command = ("stream", "count", "--horizon", "5", "--state", tmp_path / "a.stream", "--json")
    bad = run(*command, typed="1\n2\n-3\n4\n")
    assert bad.exit_code == 2
    assert "line 3" in bad.stderr
    assert len(bad.stdout.splitlines()) == 2
    more = run(*command, typed="3\n4\n5\n6\n")
    assert more.exit_code == 3
    assert [json.loads(line)["tick"] for line in more.stdout.splitlines()] == [3, 4, 5]
    assert "horizon" in more.stderr
    other = run("stream", "count", "--horizon", "6", "--state", tmp_path / "a.stream", typed="1\n")
    assert other.exit_code == 2
    assert "other terms" in " ".join(other.stderr.split())


@pytest.mark.parametrize("wrong", [("--epsilon", "0"), ("--seconds", "0"), ("--horizon", "0"), ("--events", "0")])
def test_options_without_meaning_are_refused(wrong: tuple[str, str]) -> None:
    assert run("stream", "count", *wrong, typed="1\n").exit_code == 2


def test_with_seconds_a_line_is_an_event() -> None:
    command = [
        sys.executable,
        "-m",
        "discreet",
        "stream",
        "count",
        "--seconds",
        "600",
        "--epsilon",
        "30",
        "--json",
    ]
    done = subprocess.run(command, input="a visit\n" * 300, capture_output=True, text=True, check=True)
    shown = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["tick"] for one in shown] == [1]
    assert abs(shown[0]["value"] - 300) < 30


def test_the_demo_counts_a_day_and_draws_it(tmp_path: Path) -> None:
    done = run("stream", "demo", "--visits", "3000", "--out", tmp_path / "day.svg")
    assert done.exit_code == 0, done.output
    assert "24:00" in done.stdout
    assert "times the variance" in done.stdout
    text = (tmp_path / "day.svg").read_text()
    assert "error of the total" in text
    assert "visits in the last hour" in text
    assert run("stream", "demo", "--out", tmp_path / "day.txt").exit_code != 0
    assert "discreet stream demo --out" in run("stream", "demo").stdout


def test_odd_lines_are_refused_or_counted_and_never_crash(tmp_path: Path) -> None:
    for odd in ("9" * 5000, "99999999999", "nan", "1e3", "1,5", "٣"):
        done = run("stream", "count", "--horizon", "10", typed=f"1\n{odd}\n")
        assert done.exit_code == 2, odd
        assert len(done.stdout.splitlines()) == 1
    missing = run("stream", "count", "--state", tmp_path / "nowhere" / "a.stream", typed="1\n")
    assert missing.exit_code == 2
    assert "--state visits.stream" in " ".join(missing.stderr.split())
    assert run("stream", "count", "--horizon", "10", typed="").exit_code == 0


def test_a_last_line_without_its_end_is_an_event() -> None:
    """At ε = 2000 there is noise with a chance of about e^−2000."""
    command = [sys.executable, "-m", "discreet", "stream", "count", "--seconds", "600", "--json"]
    command += ["--epsilon", "2000", "--delta", "0", "--horizon", "1"]
    done = subprocess.run(command, input="one\ntwo\nthree", capture_output=True, text=True, check=True)
    assert round(json.loads(done.stdout)["value"]) == 3
