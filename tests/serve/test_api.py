"""The HTTP API over a socket: tokens, previews, charges, keys, refusals and headers."""

from __future__ import annotations

import json

import pytest

from discreet.ledger import Entry
from discreet.serve.headers import HEADERS
from tests.serve.conftest import Running

COUNT = "select count(*) from visits"


def test_a_token_says_who_asks_and_which_vaults_are_there(running: Running) -> None:
    with running.client("ana") as client:
        assert client.get("/api/v1/whoami").json() == {
            "name": "ana",
            "role": "analyst",
            "verbs": ["ask", "collect", "describe", "job", "ledger", "preview"],
            "vaults": ["visits"],
        }
        assert client.get("/api/v1/vaults").json() == [{"name": "visits", "purposes": []}]
        described = client.get("/api/v1/vaults/visits").json()
        assert [column["name"] for column in described["columns"]] == ["age"]
        hidden, absent = (client.get(f"/api/v1/vaults/{name}") for name in ("hidden", "absent"))
        assert hidden.status_code == absent.status_code == 404
        assert hidden.text.replace("hidden", "absent") == absent.text


def test_a_preview_costs_nothing(running: Running) -> None:
    before = running.spent()
    with running.client("ana") as client:
        found = client.post("/api/v1/vaults/visits/preview", json={"sql": COUNT, "epsilon": "0.5"})
    assert found.status_code == 200
    assert found.json()["cost"]["spent"]["exact"] == "1/2"
    assert running.spent() == before


def test_a_retried_key_is_charged_once_and_gets_the_same_reply(running: Running) -> None:
    before, sql = running.spent(), f"{COUNT} where age > 30"
    first, second = (running.ask("ana", sql, epsilon="0.25", key="k1") for _ in range(2))
    assert first.status_code == second.status_code == 200
    assert first.content == second.content
    assert running.spent() - before == running.spent() - before == 1 / 4
    other = running.ask("ana", COUNT, epsilon="0.25", key="k1")
    assert (other.status_code, other.json()["error"]) == (409, "AlreadyRunning")


def test_the_analyst_of_the_token_is_charged(running: Running) -> None:
    assert running.ask("bo", f"{COUNT} where age > 41", epsilon="0.1").status_code == 200
    charged = [entry.content.get("analyst") for entry in _entries(running) if entry.kind == "charge"]
    assert charged[-1] == "bo"
    named = running.ask("bo", COUNT, epsilon="0.1", analyst="ana")
    assert named.status_code == 400
    assert "analyst" in named.json()["detail"]


def test_a_refusal_over_budget_is_a_problem_with_fixes_and_what_is_left(running: Running) -> None:
    before = running.spent()
    refused = running.ask("ana", f"{COUNT} where age > 50", epsilon="100")
    assert (refused.status_code, refused.headers["content-type"]) == (403, "application/problem+json")
    problem = refused.json()
    assert problem["error"] == "BudgetExceeded"
    assert problem["fixes"]
    assert problem["left"][0]["left"]["exact"]
    assert running.spent() == before


def test_a_question_about_rows_is_refused_by_its_text(running: Running) -> None:
    refused = running.ask("ana", "select who, age from visits", epsilon="0.1")
    assert (refused.status_code, refused.json()["error"]) == (422, "QuestionRefused")


def test_a_revoked_token_gets_403_and_nothing_is_charged(running: Running) -> None:
    accounts, before = running.service.accounts, running.spent()
    running.tokens["gone"] = accounts.new_token("ana", label="gone")
    (made,) = (token for token in accounts.tokens("ana") if token.label == "gone")
    accounts.revoke_token("ana", made.id)
    refused = running.ask("gone", f"{COUNT} where age > 60", epsilon="0.1")
    assert (refused.status_code, refused.json()["error"]) == (403, "NotPermitted")
    assert running.spent() == before


def test_a_token_does_no_more_than_its_scope(running: Running) -> None:
    running.tokens["narrow"] = running.service.accounts.new_token("ana", verbs=["preview"], vaults=["visits"])
    assert running.ask("narrow", COUNT, epsilon="0.1").status_code == 403
    assert running.ask("audrey", COUNT, epsilon="0.1").status_code == 403
    running.tokens["elsewhere"] = running.service.accounts.new_token("ana", vaults=["other"])
    assert running.ask("elsewhere", COUNT, epsilon="0.1").status_code == 404


def test_every_status_has_the_security_headers(running: Running) -> None:
    with running.client("ana") as ana, running.client() as stranger:
        responses = [
            stranger.get("/health"),
            stranger.get("/login"),
            stranger.get("/api/v1/whoami"),
            stranger.get("/no/such/page"),
            stranger.delete("/health"),
            ana.get("/metrics"),
            ana.get("/api/v1/vaults/absent"),
            ana.post("/api/v1/vaults/visits/ask", content=b"{"),
            ana.post("/api/v1/vaults/visits/ask", content=b"x" * (running.settings.body_limit + 1)),
        ]
    assert [one.status_code for one in responses] == [200, 200, 401, 404, 405, 403, 404, 400, 413]
    for one in responses:
        assert {name: one.headers.get(name) for name in HEADERS} == HEADERS
        assert "server" not in one.headers
        assert "set-cookie" not in one.headers


def test_the_log_has_no_text_of_a_question(running: Running) -> None:
    running.ask("ana", f"{COUNT} where age > 77", epsilon="0.01")
    lines = [json.loads(line) for line in running.log.getvalue().splitlines()]
    assert any(line["event"] == "question" for line in lines)
    assert "select" not in running.log.getvalue()


def test_the_metrics_are_for_curators_and_auditors(running: Running) -> None:
    with running.client("audrey") as client:
        assert client.get("/metrics").status_code == 200  # which is counted, whatever was asked before
        assert 'discreet_requests_total{status="200"}' in client.get("/metrics").text


@pytest.mark.parametrize("amount", ["0", "1/0", "-1", "nan"])
def test_an_amount_without_a_meaning_is_refused(running: Running, amount: str) -> None:
    before = running.spent()
    assert running.ask("ana", COUNT, epsilon=amount).status_code in (400, 422)
    assert running.spent() == before


def test_the_description_refuses_unknown_fields(running: Running) -> None:
    with running.client() as client:
        schema = client.get("/schema/openapi.json").json()
    assert schema["components"]["schemas"]["Question"]["additionalProperties"] is False


def _entries(running: Running) -> list[Entry]:
    import discreet as dp

    with dp.Vault(running.settings.folder / "visits.vault") as vault:
        return list(vault.ledger.entries())
