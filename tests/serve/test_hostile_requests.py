"""Requests that are written to break something: scopes of tokens, addresses, numbers, texts that grow, disks."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from typing import Any

import pytest

from discreet.errors import NotPermitted
from discreet.query.parse.tool_statements import statements
from discreet.release.release import Release
from discreet.serve.accounts import Role
from discreet.serve.accounts.records import EVERYWHERE
from discreet.serve.survey import counter as counting
from discreet.serve.survey import surveys as keeping
from tests.serve.conftest import PASSWORD, Running
from tests.serve.console.test_pages import signed_in
from tests.serve.test_collections import reports

pytestmark = pytest.mark.xdist_group("collections")
TERMS: dict[str, Any] = {"epsilon": "1", "days": 9, "cohort": 1}
FACTS = {"database": "visits", "user": "ana", "version": "14", "schema": "public"}


def test_a_token_for_one_vault_makes_no_account_for_all(running: Running) -> None:
    """The bug it would catch: a curator's token for "visits" that adds a curator with a password."""
    running.tokens["narrow"] = running.service.accounts.new_token("curator", vaults=["visits"])
    people = {user.name for user in running.service.accounts.users()}
    with running.client("narrow") as narrow:
        add = {"name": "mallory", "role": "curator", "password": PASSWORD}
        assert narrow.post("/api/v1/people", json=add).status_code == 403
        assert narrow.post("/api/v1/invitations", json={"role": "curator"}).status_code == 403
        assert narrow.put("/api/v1/people/audrey", json={"open": True, "provider": True}).status_code == 403
        assert narrow.post("/api/v1/people/ana/tokens", json={"vaults": ["hidden"]}).status_code == 403
        assert narrow.post("/api/v1/people/ana/tokens", json={}).status_code == 403
        running.service.accounts.grant("bo", "hidden", by="curator")
        listed = {one["vault"] for one in narrow.get("/api/v1/grants").json()}
        assert listed == {"visits"}
        assert narrow.put("/api/v1/people/bo/grants/visits", json={"purposes": []}).status_code == 200
        assert narrow.put("/api/v1/people/bo/grants/hidden", json={"purposes": []}).status_code == 404
    running.service.accounts.withdraw("bo", "hidden")
    assert {user.name for user in running.service.accounts.users()} == people
    assert EVERYWHERE not in running.service.accounts.by_token(running.tokens["narrow"]).vaults


def test_what_belongs_to_an_account_is_not_there_for_another(running: Running) -> None:
    """Questions, files and surveys by their ids, as another analyst, an auditor and a curator see them."""
    asked = running.ask("ana", "select count(*) from visits where age > 61", epsilon="0.01", key="mine")
    question = asked.headers["discreet-question"]
    made, _ = running.service.surveys.create("ana", "Mine?", ["yes", "no"], **TERMS)
    for who in ("bo", "audrey", "curator"):
        with running.client(who) as other:
            assert other.get(f"/api/v1/questions/{question}").status_code == 404
            assert other.delete(f"/api/v1/questions/{question}").status_code == 404
            assert other.get(f"/api/v1/questions/{question}/events").status_code == 404
    with signed_in(running, "bo") as bo:
        assert bo.get(f"/answers/{question}").status_code == 404
        assert bo.get(f"/surveys/{made.id}").status_code == 404
    with running.client("bo") as bo:
        for path in (f"collections/{made.id}", f"collections/{made.id}/estimates"):
            assert bo.get(f"/api/v1/{path}").status_code == 404
        assert bo.post(f"/api/v1/collections/{made.id}/tickets", content=b"").status_code == 404


def test_a_reply_is_there_only_for_logins_that_may_use_its_vault(running: Running) -> None:
    """A token for another vault, and any login after the grant was taken back, by the id of a question."""
    running.account("una", Role.ANALYST, "visits", "hidden")
    running.tokens["una elsewhere"] = running.service.accounts.new_token("una", vaults=["hidden"])
    asked = running.ask("una", "select count(*) from visits where age > 58", epsilon="0.01", key="scoped")
    place = f"/api/v1/questions/{asked.headers['discreet-question']}"
    with running.client("una elsewhere") as elsewhere:
        assert elsewhere.get(place).status_code == 404
        assert elsewhere.delete(place).status_code == 404
        assert elsewhere.get(f"{place}/events").status_code == 404
    with running.client("una") as una:
        assert una.get(place).json() == asked.json()
        running.service.accounts.withdraw("una", "visits")
        assert una.get(place).status_code == 404


def test_a_release_does_not_show_an_analyst_who_paid_for_it(running: Running) -> None:
    """The record has the accounts of the analyst who asked: name, purpose, and what they have left."""
    running.service.accounts.grant("ana", "visits", by="curator", purposes=["study"])
    asked = running.ask("ana", "select count(*) from visits where age > 57", epsilon="0.01", purpose="study")
    assert asked.status_code == 200
    with running.client("bo") as bo, running.client("ana") as ana, running.client("audrey") as audrey:
        number = bo.get("/api/v1/vaults/visits/releases").json()["releases"][-1]["number"]
        place = f"/api/v1/vaults/visits/releases/{number}"
        seen = bo.get(place)
        assert (
            Release.from_json(seen.json())["count(*)"].values == Release.from_json(asked.json())["count(*)"].values
        )
        assert '"ana"' not in seen.text
        assert '"study"' not in seen.text
        assert '"ana"' in ana.get(place).text
        assert '"study"' in audrey.get(place).text
    with signed_in(running, "bo") as page:
        assert "study" not in page.get(f"/vaults/visits/releases/{number}").text
    running.service.accounts.grant("ana", "visits", by="curator")


def test_the_link_of_an_answer_shows_no_account_of_a_purpose_to_others(running: Running) -> None:
    running.ask("ana", "select count(*) from visits where age > 56", epsilon="0.01")
    wanted = {"sql": "select count(*) from visits where age > 56", "by": "epsilon", "epsilon": "0.01"}
    with signed_in(running, "bo") as bo:
        for form in ("json", "yaml"):
            got = bo.get("/vaults/visits/answer", params={**wanted, "purpose": "merger", "file": form})
            assert got.status_code == 200
            assert "merger" not in got.text


def test_an_address_is_never_a_header_or_another_site(running: Running) -> None:
    question = running.ask("ana", "select count(*) from visits where age > 62", epsilon="0.01", key="to").headers[
        "discreet-question"
    ]
    with signed_in(running, "ana") as ana:
        for to in ("https://evil.example/", "//evil.example", "/vaults/visits", "/vaults/other/x", "\\evil"):
            assert ana.get("/answers/" + question, params={"to": to}).headers["location"] == "/vaults/visits"
        split = "/vaults/visits/answer?sql=1\r\nSet-Cookie: discreet=chosen\r\n\r\n<script>"
        there = ana.get("/answers/" + question, params={"to": split})
        assert (there.status_code, there.headers.get("set-cookie")) == (303, None)
        assert there.headers["location"].startswith("/vaults/visits/answer?sql=1%0D%0ASet-Cookie:%20")
        assert (
            ana.get("/answers/" + question, params={"to": "/vaults/visits/ask?sql=a%20b"})
            .headers["location"]
            .endswith("sql=a%20b")
        )  # what is encoded already stays so


def test_numbers_that_are_none_are_refused_and_take_no_time(running: Running) -> None:
    running.service.accounts.add("cleo", Role.CURATOR, PASSWORD)
    begun = time.process_time()
    with signed_in(running, "cleo") as curator:
        form = {"question": "How many?", "choices": "yes\nno"}
        for field in ("days", "cohort", "codes"):
            for text in ("²", "1e9", "-1", "", "9" * 3000):
                sent = curator.post("/surveys", data={**form, "way": "codes", field: text})
                assert sent.status_code == 422, (field, text)
        assert curator.post("/account/tokens", data={"label": "x", "days": "²"}).status_code == 422
        for margin in ("1e9999999", "1e-9999999", "²", "nan"):
            bought = curator.post("/new/none/budget", data={"counts": "40", "margin": margin})
            assert bought.status_code == 200
            assert 'role="alert"' in bought.text, margin
    assert time.process_time() - begun < 5  # 1e9999999 as a fraction takes a minute


GROWS = [
    "select " + "replace(" * 6 + "'a'" + ",'a','aaaaaaaaaa')" * 6,
    "select " + "concat(" * 5 + "'a'" + f",'{'b' * 20_000}')" * 3 + ")" * 2,
    "select x||x from (select x||x as x from (select x||x as x from (select '" + "a" * 9000 + "' as x) a) b) c",
    "with a as (select '" + "a" * 9000 + "' as x), b as (select x||x as x from a) select x||x from b",
    "with recursive t as (select 'a' as x union all select x||x from t) select x from t",
    "select " + ",".join("a" * 600) + " from (select '" + "y" * 30_000 + "' as a) x, generate_series(1, 100000)",
    "with x as (select '" + "y" * 20_000 + "' as a) select * from x b, x c, x d, x e, generate_series(1, 9999)",
    "select regexp_replace('" + "a" * 300 + "', '', '" + "b" * 300 + "', 'g')",
    "select concat(x, x) from (select string_agg('a', '') as x from generate_series(1, 9)) a, pg_type, pg_class"
    + " where concat(x, x, x, x, x, x, x, x) <> ''",
]


@pytest.mark.parametrize("sql", GROWS, ids=range(len(GROWS)))
def test_a_catalogue_query_whose_texts_grow_is_not_computed(sql: str) -> None:
    (statement,) = statements(sql)
    assert statement.catalogue_query(FACTS) is None


def test_catalogue_rows_are_fetched_within_a_bound_of_memory() -> None:
    """A long text in many rows: 2 GB if all rows were fetched. The limit of the address space is 2 GB above."""
    code = (
        "import resource\nfrom discreet.serve.door.catalogue import Catalogue\n"
        "from discreet.serve.door.refusals import Refusal\n"
        "from discreet.query.parse.tool_statements import statements\n"
        "made = Catalogue('v', {'table': 'v', 'columns': [], 'person': 'who'})\n"
        "sql = \"select a from (select '\" + 'y' * 20000 + \"' as a) x, generate_series(1, 100000)\"\n"
        "try:\n made.answer(statements(sql)[0], {'user': 'ana', 'version': '14'})\n"
        "except Refusal:\n print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, preexec_fn=limited)
    assert int(ran.stdout) < 700_000, ran.stderr  # kilobytes


def test_surveys_fill_neither_the_memory_nor_the_disk(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "MOST_OPEN", 2)
    surveys = running.service.surveys
    made = [surveys.create("ana", f"Question {i}?", ["yes", "no"], **TERMS)[0] for i in range(4)]
    first = surveys.counter(made[0])
    assert first.take(reports(first.collection, [0])) == 1
    for one in made:
        surveys.counter(one)
    again = surveys.counter(made[0])
    assert again is not first
    assert again.take(reports(again.collection, [0, 1])) == 2
    assert first.take(reports(first.collection, [1])) == 1  # a request that still had it
    assert len(surveys._open) == 2
    again.catch_up()
    assert again.server.n == 4
    monkeypatch.setattr(counting, "MOST_REPORTS", 13)
    with pytest.raises(NotPermitted, match="full"):
        again.take(reports(again.collection, [0] * 10))
    assert again.server.n == 4
