"""Products over HTTP: oracles, synthetic tables, models, holdouts, streams and audits, some as jobs."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from discreet.oracle import OracleAnswer
from discreet.serve.api.replies import PRODUCT
from discreet.stream import StreamAnswer
from discreet.synth import Synthetic
from discreet.validity import HoldoutAnswer
from tests.serve.conftest import ROWS, Running

pytestmark = pytest.mark.xdist_group("team")


def post(client: httpx2.Client, path: str, body: dict[str, Any], **headers: str) -> httpx2.Response:
    response = client.post(f"/api/v1/{path}", json=body, headers=headers)
    assert response.status_code in (200, 201, 202), response.text
    return response


def ended(client: httpx2.Client, response: httpx2.Response) -> httpx2.Response:
    """Follow a job by its events until it ended, and return its reply."""
    assert response.status_code == 202, response.text
    where = response.headers["location"]
    with client.stream("GET", f"{where}/events") as events:
        assert events.headers["content-type"].startswith("text/event-stream")
        told = [line.removeprefix("event: ") for line in events.iter_lines() if line.startswith("event: ")]
    assert told[-1] == "ended"
    return client.get(where)


def test_an_oracle_is_planned_opened_and_asked_on_one_charge(team: Running) -> None:
    terms = {"columns": ["age", "city"], "epsilon": "4", "within": "100"}
    with team.client("ana") as ana:
        before = team.spent("people")
        assert "answers" in post(ana, "vaults/people/oracles/plan", terms).json()["words"]
        assert team.spent("people") == before
        opened = post(ana, "vaults/people/oracles", terms)
        after, id_ = team.spent("people"), opened.headers[PRODUCT]
        assert after > before
        asked = post(ana, f"oracles/{id_}/ask", {"sql": "select count(*) from people where city = 'Oslo'"})
        answer = OracleAnswer.from_json(asked.json())
        assert answer.low < ROWS / 2 < answer.high
        assert post(ana, "vaults/people/oracles", terms).headers[PRODUCT] == id_
        described = ana.get(f"/api/v1/oracles/{id_}").json()
        assert (described["columns"], described["answered"]) == (["age", "city"], 1)
        assert [one["id"] for one in ana.get("/api/v1/vaults/people/products").json()] == [id_]
        assert team.spent("people") == after
    with team.client("curator") as curator:
        assert curator.get(f"/api/v1/oracles/{id_}").status_code == 404


def test_a_synthetic_table_is_a_job_with_rows_and_a_report(team: Running) -> None:
    terms = {"columns": ["age", "city"], "epsilon": "4"}
    with team.client("ana") as ana:
        response = post(ana, "vaults/people/synthetic", terms, **{"Idempotency-Key": "table"})
        id_, charged = response.headers[PRODUCT], team.spent("people")
        table = Synthetic.from_json(ended(ana, response).json())
        assert table.domain.names == ("age", "city")
        csv = ana.get(f"/api/v1/synthetic/{id_}/rows", params={"rows": 10})
        assert csv.headers["content-type"].startswith("text/csv")
        assert len(csv.text.strip().splitlines()) == 11
        parquet = ana.get(f"/api/v1/synthetic/{id_}/rows", params={"form": "parquet", "rows": 5})
        assert parquet.content[:4] == b"PAR1"
        as_json = ana.get(f"/api/v1/synthetic/{id_}/rows", params={"form": "json", "rows": 5}).json()
        assert [set(row) for row in as_json] == [{"age", "city"}] * 5
        assert ana.get(f"/api/v1/synthetic/{id_}/report").json()["notes"]
        assert post(ana, "vaults/people/synthetic", terms, **{"Idempotency-Key": "table"}).status_code == 200
        assert team.spent("people") >= charged


def test_a_model_is_fitted_as_a_job_scored_by_a_holdout_and_predicts(team: Running) -> None:
    terms = {"estimator": "LogisticRegression", "target": "ill", "features": ["age"], "epsilon": "4"}
    with team.client("ana") as ana:
        response = post(ana, "vaults/people/models", terms)
        model, id_ = ended(ana, response).json(), response.headers[PRODUCT]
        assert model["schema"] == "discreet model 1"
        assert "LogisticRegression" in ana.get(f"/api/v1/models/{id_}/card").json()["card"]
        predicted = post(ana, f"models/{id_}/predictions", {"rows": {"age": [21, 79]}}).json()
        assert predicted == {"target": "ill", "predictions": [False, True]}
        lacking = ana.post(f"/api/v1/models/{id_}/predictions", json={"rows": {}})
        assert (lacking.status_code, lacking.json()["error"]) == (422, "ParameterError")
        for ages in ([10**30], [41, "x"]):
            odd = ana.post(f"/api/v1/models/{id_}/predictions", json={"rows": {"age": ages}})
            assert (odd.status_code, odd.json()["error"]) == (422, "ParameterError")
        opened = post(ana, "vaults/people/holdouts", {"target": "ill", "features": ["age"], "epsilon": "4"})
        spent = team.spent("people")
        scored = post(ana, f"holdouts/{opened.headers[PRODUCT]}/score", {"model": model})
        assert 0.5 < HoldoutAnswer.from_json(scored.json()).value <= 1
        assert team.spent("people") == spent
        damaged = ana.post(f"/api/v1/holdouts/{opened.headers[PRODUCT]}/score", json={"model": {"schema": "x"}})
        assert damaged.status_code == 422


def test_a_stream_counts_ticks_on_one_charge(team: Running) -> None:
    with team.client("ana") as ana:
        opened = post(ana, "vaults/people/streams", {"name": "visits", "epsilon": "1", "horizon": 100})
        spent = team.spent("people")
        added = post(ana, f"streams/{opened.headers[PRODUCT]}/ticks", {"ticks": [100, 200, 300]}).json()
        assert added["tick"] == 3
        assert abs((StreamAnswer.from_json(added["answer"]).value or 0) - 600) < 300
        assert ana.get(f"/api/v1/streams/{opened.headers[PRODUCT]}").json()["tick"] == 3
        assert team.spent("people") == spent


def test_a_batch_of_ticks_is_added_whole_or_not_at_all(team: Running) -> None:
    with team.client("ana") as ana:
        few = post(ana, "vaults/people/streams", {"name": "few", "epsilon": "0.1", "horizon": 4}).headers[PRODUCT]
        keyed = {"name": "keyed", "epsilon": "0.1", "horizon": 9, "keys": ["home", "cart"]}
        pages = post(ana, "vaults/people/streams", keyed).headers[PRODUCT]
        for stream, ticks, status in (
            (few, [1, 2, 3, 4, 5], 403),
            (few, [1, {"home": 1}], 422),
            (pages, [{"home": 1}, 7], 422),
        ):
            refused = ana.post(f"/api/v1/streams/{stream}/ticks", json={"ticks": ticks})
            assert refused.status_code == status, refused.text
            assert ana.get(f"/api/v1/streams/{stream}").json()["tick"] == 0
        assert post(ana, f"streams/{few}/ticks", {"ticks": [1, 2, 3, 4]}).json()["tick"] == 4


def test_an_audit_is_a_job_of_auditors_that_can_be_cancelled(team: Running) -> None:
    with team.client("audrey") as audrey, team.client("ana") as ana:
        assert ana.post("/api/v1/audits", json={}).status_code == 403
        name = "Laplace(scale=1, sensitivity=1)"
        found = ended(audrey, post(audrey, "audits", {"names": [name], "samples": 1000})).json()
        assert [report["subject"] for report in found["reports"]] == [name]
        running = post(audrey, "audits", {})
        where = running.headers["location"]
        assert audrey.get("/api/v1/whoami").status_code == 409
        assert audrey.get(where).status_code == 202
        cancelled = audrey.delete(where)
        assert (cancelled.status_code, cancelled.json()["error"]) == (410, "Cancelled")
        assert audrey.get(where).status_code == 410
        assert audrey.get("/api/v1/whoami").status_code == 200


def test_releases_and_ledger_show_what_each_role_may_see(team: Running) -> None:
    sql = "select count(*) from people where age > 50"
    with team.client("ana") as ana, team.client("audrey") as audrey, team.client("curator") as curator:
        asked = post(ana, "vaults/people/ask", {"sql": sql, "epsilon": "0.1"}).json()
        listed = ana.get("/api/v1/vaults/people/releases").json()["releases"]
        last = [one for one in listed if one["schema"].startswith("discreet release")][-1]
        got = ana.get(f"/api/v1/vaults/people/releases/{last['number']}").json()
        assert got["aggregates"] == asked["aggregates"]
        assert ana.get("/api/v1/vaults/people/releases/1").status_code == 404
        post(curator, "vaults/people/ask", {"sql": f"{sql} and city = 'Oslo'", "epsilon": "0.1"})
        own = ana.get("/api/v1/vaults/people/ledger/entries").json()["entries"]
        assert {entry["analyst"] for entry in own} == {"ana"}
        every = audrey.get("/api/v1/vaults/people/ledger/entries").json()["entries"]
        assert {"opening", "charge", "release"} <= {entry["kind"] for entry in every}
        assert not [entry for entry in every if "answer" in entry]
        line = audrey.get("/api/v1/vaults/people/ledger/verification").json()["line"]
        again = audrey.get("/api/v1/vaults/people/ledger/verification", params={"since": line})
        assert again.json()["line"] == line
        other = audrey.get("/api/v1/vaults/people/ledger/verification", params={"since": f"2:{'0' * 64}"})
        assert other.status_code == 422
        assert "line that was kept is not one of them" in other.json()["detail"]
        assert ana.get(f"/api/v1/vaults/people/releases/{10**30}").status_code == 404
        accounts = audrey.get("/api/v1/vaults/people/ledger").json()["accounts"]
        assert {one["analyst"] for one in accounts} >= {None, "ana", "curator"}


def test_a_curator_manages_people_grants_tokens_and_budgets(team: Running) -> None:
    with team.client("curator") as curator, team.client("ana") as ana:
        assert ana.post("/api/v1/people", json={"name": "bo"}).status_code == 403
        assert post(curator, "people", {"name": "bo"}).json()["role"] == "analyst"
        token = post(curator, "people/bo/tokens", {"label": "first", "verbs": ["describe", "ask"]}).json()[
            "secret"
        ]
        with httpx2.Client(base_url=team.address, headers={"Authorization": f"Bearer {token}"}, timeout=60) as bo:
            assert bo.get("/api/v1/vaults/people").status_code == 404
            assert curator.put("/api/v1/people/bo/grants/people", json={"purposes": ["report"]}).status_code == 200
            assert bo.get("/api/v1/vaults/people").status_code == 200
            allotted = {"epsilon": "0.01", "delta": "1e-6", "analyst": "bo"}
            assert curator.put("/api/v1/vaults/people/budgets", json=allotted).status_code == 200
            question = {"sql": "select count(*) from people", "epsilon": "1"}
            refused = bo.post("/api/v1/vaults/people/ask", json=question)
            assert (refused.status_code, refused.json()["error"]) == (403, "BudgetExceeded")
            assert bo.get("/api/v1/vaults/people/ledger").status_code == 403
            (known,) = curator.get("/api/v1/people/bo/tokens").json()
            assert curator.delete(f"/api/v1/people/bo/tokens/{known['id']}").status_code == 204
            assert bo.get("/api/v1/whoami").status_code == 403
        whole = curator.put("/api/v1/vaults/people/budgets", json={"epsilon": "90", "delta": "1e-6"})
        assert (whole.status_code, whole.json()["error"]) == (422, "ParameterError")
        assert ana.put("/api/v1/vaults/people/budgets", json=allotted).status_code == 403
        assert post(curator, "invitations", {}).json()["secret"]
        assert curator.delete("/api/v1/people/bo/grants/people").status_code == 204
        assert json.loads(curator.get("/api/v1/grants").content)[0]["user"] == "ana"
