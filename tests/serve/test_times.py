"""What the service says about when things happened tells nothing about how long rows were read."""

from __future__ import annotations

import json
import os
import signal
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.ledger.entry import digest
from discreet.ledger.entry import sealed as sealed_entry
from discreet.serve.accounts import Role
from tests.serve.conftest import Running, sealed, started

pytestmark = pytest.mark.xdist_group("team")


def _got(running: Running, who: str, path: str) -> Any:
    with running.client(who) as client:
        return client.get(f"/api/v1/vaults/people/{path}").json()


def _charges(running: Running) -> dict[int, str]:
    """Return the times of all charges, from the ledger itself."""
    with dp.Vault(running.settings.folder / "people.vault") as vault:
        return {entry.number: entry.time for entry in vault.ledger.entries() if entry.kind == "charge"}


def _asked(running: Running, sql: str, **price: str) -> Any:
    with running.client("ana") as ana:
        answer = ana.post("/api/v1/vaults/people/ask", json={"sql": sql, **price})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_an_answer_bears_the_time_of_its_charge_and_not_that_of_its_end(team: Running) -> None:
    """Release less charge is how long rows were read, to the microsecond: ticks would hide nothing."""
    answer = _asked(team, "select count(*) from people where age > 31", epsilon="0.01")
    charged = max(_charges(team).values())
    assert answer["at"] == charged
    assert _got(team, "ana", "releases")["releases"][-1]["at"] == charged


def test_the_steps_of_a_question_bear_the_time_of_the_first_charge(team: Running) -> None:
    """A later step is charged once the rows of the one before were read."""
    before = set(_charges(team))
    answer = _asked(team, "select count(*) from people where age < 60", within="1%")
    steps = [time for number, time in _charges(team).items() if number not in before]
    assert len(steps) > 1
    assert set(steps) == {answer["at"]}
    assert {one["at"] for one in _got(team, "ana", "releases")["releases"][-len(steps) :]} == {answer["at"]}


def test_the_ledger_shows_no_time_of_a_release(team: Running) -> None:
    _asked(team, "select count(*) from people where age > 32", epsilon="0.01")
    charges = _charges(team)
    every = _got(team, "audrey", "ledger/entries")["entries"]
    assert {charges[one["charge"]] == one["at"] for one in every if one["kind"] == "release"} == {True}
    last = every[-1]
    assert last["kind"] == "release"
    some = _got(team, "audrey", f"ledger/entries?after={last['number'] - 1}")["entries"]
    assert [one["at"] for one in some] == [charges[last["charge"]]]
    own = _got(team, "ana", "ledger/entries")["entries"]
    assert {one["at"] for one in own} <= {time[:10] for time in charges.values()}


def test_no_hash_of_the_ledger_tells_when_an_answer_was_recorded(team: Running) -> None:
    """An analyst knows all that the head is a hash of but its time, and tries the microseconds of a second."""
    _asked(team, "select count(*) from people where age > 33", epsilon="0.01")
    head = _got(team, "ana", "ledger")["head"]
    own = _got(team, "ana", "ledger/entries")["entries"][-1]
    answer = json.dumps(_got(team, "ana", f"releases/{head['number']}"), ensure_ascii=False)
    content = {"charge": own["number"], "question": digest(own["question"]), "answer": answer}
    charged = _charges(team)[own["number"]]
    assert sealed_entry(own["hash"], head["number"], charged, "release", content).hash == head["hash"]


def test_a_product_bears_the_time_at_which_it_was_asked_for(team: Running) -> None:
    before = set(_charges(team))
    team.account("tia", Role.ANALYST, "people")
    with team.client("tia") as tia:
        terms = {"columns": ["age", "city", "ill"], "epsilon": "0.5"}
        sent = tia.post("/api/v1/vaults/people/synthetic", json=terms)
        assert sent.status_code == 202
        with tia.stream("GET", f"{sent.headers['location']}/events") as events:
            assert [*events.iter_lines()]
        assert tia.get(sent.headers["location"]).status_code == 200
        id_ = sent.headers["discreet-product"]
        made = next(one["made"] for one in tia.get("/api/v1/vaults/people/products").json() if one["id"] == id_)
    (charged,) = [time for number, time in _charges(team).items() if number not in before]
    assert made <= datetime.fromisoformat(charged).timestamp()


def test_a_job_that_computes_is_ended_at_its_tick(tmp_path: Path) -> None:
    """If it ended when its owner says so, what was recorded by then would tell how long it computes."""
    sealed(tmp_path)
    running = started(tmp_path, quantum=2.0)
    running.account("ana", Role.ANALYST, "visits")
    with running.client("ana") as ana:
        sent = ana.post("/api/v1/vaults/visits/synthetic", json={"columns": ["age"], "epsilon": "1"})
        running.log.wait_for('"computing"', '"synthesize"')
        for worker in running.service.jobs.processes:  # so that it does not end by itself
            os.kill(worker, signal.SIGSTOP)
        assert ana.delete(sent.headers["location"]).status_code == 410
    running.stop()
    lines = [json.loads(line) for line in running.log.getvalue().splitlines()]
    at = {line["event"]: datetime.fromisoformat(line["at"]) for line in lines}
    lasted = (at["question"] - at["accepted"]).total_seconds()
    assert 1.0 < lasted < 3.0
