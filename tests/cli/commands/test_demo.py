"""The city that does not exist, and the tour through it."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow.compute as pc
import pytest

from discreet.cli import exit_codes
from discreet.cli.commands.demo import QUESTIONS
from discreet.cli.demo_data import DISTRICTS, FIRST, LAST, MODES, city
from tests.cli.desk import run, told


def test_the_city_is_plausible_and_has_the_faults_of_real_tables() -> None:
    trips = city(20_000)
    trips.validate(full=True)
    assert pc.count_distinct(trips["user_id"]).as_py() == 20_000
    assert set(pc.unique(trips["district"]).to_pylist()) == {*DISTRICTS}
    assert set(pc.unique(trips["mode"]).to_pylist()) == {*MODES, "e-scooter"}
    assert pc.min(trips["day"]).as_py() >= FIRST
    assert pc.max(trips["day"]).as_py() <= LAST
    assert trips["income"].null_count > 0
    assert pc.max(pc.value_counts(trips["user_id"]).field("counts")).as_py() > 8
    # An age of 999 has a chance of 1 in 5,000 with each person: it is missing here once in 50 cities.
    assert pc.max(trips["age"]).as_py() in range(78, 1000)


def test_a_city_of_many_is_built_in_about_a_second() -> None:
    start = time.process_time()
    city(100_000)
    assert time.process_time() - start < 3


def test_the_demo_asks_five_questions_and_shows_who_spent_what(tmp_path: Path) -> None:
    shown = run("demo", "--persons", "2000", "--keep", tmp_path / "demo")
    assert shown.exit_code == 0, shown.output
    for heading, question, _ in QUESTIONS:
        assert heading in shown.stdout
        assert question in shown.stdout
    assert "Free: answered from the record" in " ".join(shown.stdout.split())
    assert "a question may only count it. Write count(distinct user_id)." in " ".join(shown.stdout.split())
    assert "Too expensive: it needs " in shown.stdout
    assert "the whole vault" in shown.stdout
    assert (tmp_path / "demo" / "income.svg").is_file()
    vault = tmp_path / "demo" / "trips.vault"
    assert told("ledger", vault)["accounts"][0]["questions"] == 5
    again = told("ask", vault, "select count(distinct user_id) from trips", "--within", "200")
    assert again["free"] is True


@pytest.mark.parametrize("place", ["full", "file"])
def test_the_demo_overwrites_nothing(tmp_path: Path, place: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letters.txt").write_text("dear")
    (tmp_path / "file").write_text("dear")
    refused = run("demo", "--persons", "1000", "--keep", tmp_path / place)
    assert refused.exit_code == exit_codes.BAD_INPUT
    assert "exists already" in refused.stderr
