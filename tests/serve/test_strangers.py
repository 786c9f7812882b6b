"""What strangers and narrow tokens can do to others: lock them out, pass for them, or lengthen their own reach."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from discreet.serve.accounts import Role
from discreet.serve.tasks import TASKS
from discreet.serve.workers import Task
from tests.serve.conftest import PASSWORD, Running, sealed, started
from tests.serve.console.test_pages import signed_in

MOST = 3
OWN = {"sec-fetch-site": "same-origin"}


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("strict")
    sealed(folder)
    made = started(folder, logins_per_minute=MOST)
    made.tokens["curator"] = made.service.accounts.first_run() or ""
    made.account("ana", Role.ANALYST, "visits")
    made.account("cora", Role.CURATOR)
    yield made
    made.stop()


def at(running: Running, address: str) -> httpx2.Client:
    """Return a client at another address of this machine."""
    way = httpx2.HTTPTransport(local_address=address)
    return httpx2.Client(base_url=running.address, transport=way, headers=OWN, timeout=60)


def statuses(client: httpx2.Client, path: str, form: dict[str, str], **headers: str) -> list[int]:
    return [client.post(path, data=form, headers=headers).status_code for _ in range(MOST + 1)]


def test_a_stranger_who_guesses_invitations_or_tokens_locks_out_nobody_else(strict: Running) -> None:
    """The bug it would catch: one limit for all addresses, which a stranger uses up for everybody."""
    join = {"code": "none", "name": "eve", "password": PASSWORD}
    with at(strict, "127.0.0.2") as eve, at(strict, "127.0.0.3") as bea:
        assert statuses(eve, "/join", join) == [404] * MOST + [429]
        assert bea.post("/join", data=join).status_code == 404
    with at(strict, "127.0.0.4") as eve, at(strict, "127.0.0.5") as bea:
        assert statuses(eve, "/login", {"password": "dsc_none"}) == [401] * MOST + [429]
        assert bea.post("/login", data={"password": strict.tokens["curator"]}).status_code == 303


def guesses(running: Running, name: str, *addresses: str) -> list[int]:
    """Send wrong passwords for a name from each address, and return the statuses."""
    found = []
    for address in addresses:
        with at(running, address) as eve:
            found += statuses(eve, "/login", {"name": name, "password": "a wrong password"})
    return found


@pytest.fixture
def curated(tmp_path: Path) -> Iterator[Running]:
    made = started(tmp_path, logins_per_minute=MOST)
    for name in ("ana", "cora"):
        made.account(name, Role.CURATOR)
    for rate in (made.service.logins, made.service.guesses):
        rate._clock = lambda: 0.0  # no attempt comes back while a test runs, however slow the machine is
    yield made
    made.stop()


def test_a_stranger_who_knows_a_name_does_not_keep_its_owner_out(curated: Running) -> None:
    """The bug it would catch: ten wrong passwords a minute, from anywhere, and the curator cannot sign in."""
    right = {"name": "cora", "password": PASSWORD}
    with at(curated, "127.0.0.2") as cora:
        assert cora.post("/login", data=right).status_code == 303
        assert cora.post("/logout").status_code == 303
        # One address cannot use a name up: a browser that is not known gets in.
        assert guesses(curated, "cora", "127.0.0.3") == [401] * MOST + [429]
        with at(curated, "127.0.0.4") as new:
            assert new.post("/login", data=right).status_code == 303
        # Three of them can. The browser that is known gets in, also at the address of a stranger.
        guesses(curated, "cora", "127.0.0.5", "127.0.0.6", "127.0.0.2")
        with at(curated, "127.0.0.7") as new:
            assert new.post("/login", data=right).status_code == 429
            assert new.post("/login", data={"password": curated.tokens["cora"]}).status_code == 303
        assert cora.post("/login", data=right).status_code == 303
        form = {"old": PASSWORD, "password": "another long password"}
        assert cora.post("/account/password", data=form).status_code == 303
        assert cora.post("/login", data={**right, "password": "another long password"}).status_code == 303


def test_guesses_are_bounded_for_a_name_over_all_addresses_and_for_a_browser_that_is_known(
    curated: Running,
) -> None:
    """The bugs it would catch: a limit for each address alone, or a mark that lifts it, or opens another name."""
    places = [f"127.0.0.{i}" for i in range(20, 26)]
    known = guesses(curated, "cora", *places)
    unknown = guesses(curated, "nobody", *[f"127.0.1.{i}" for i in range(6)])
    assert known == unknown  # which names there are is not shown
    assert known.count(401) == 3 * MOST
    with at(curated, "127.0.0.30") as ana:
        assert ana.post("/login", data={"name": "ana", "password": PASSWORD}).status_code == 303
        assert ana.cookies["discreet-device"] not in (ana.cookies["discreet"], "")
        assert ana.post("/login", data={"name": "cora", "password": PASSWORD}).status_code == 429
        wrong = {"name": "ana", "password": "a wrong password"}
        assert statuses(ana, "/login", wrong) == [401] * MOST + [429]
        assert ana.post("/login", data={"name": "ana", "password": PASSWORD}).status_code == 429
    with at(
        curated, "127.0.0.31"
    ) as eve:  # a mark that a browser invents is none, and a wrong password makes none
        cookie = {"cookie": "discreet-device=invented"}
        assert eve.post("/login", data={"name": "cora", "password": PASSWORD}, headers=cookie).status_code == 429
        refused = eve.post("/login", data=wrong, headers=cookie)
        assert (refused.status_code, refused.headers.get("set-cookie")) == (401, None)


def test_an_address_is_not_what_a_header_says(tmp_path: Path) -> None:
    """The bug it would catch: each attempt to sign in chooses another X-Forwarded-For. There is no proxy here."""
    made = started(tmp_path, logins_per_minute=MOST)
    try:
        with at(made, "127.0.0.1") as eve:
            said = [{"x-forwarded-for": f"192.0.2.{i}"} for i in range(2)]
            found = [statuses(eve, "/login", {"password": "dsc_wrong"}, **one)[0] for one in said]
    finally:
        made.stop()
    assert found == [401, 429]


def test_a_narrow_token_neither_sees_nor_ends_wider_ones_of_its_owner(strict: Running) -> None:
    """The bug it would catch: a token for previews that leaked, and revokes all others."""
    accounts, place = strict.service.accounts, "/api/v1/people/ana/tokens"
    strict.tokens["previews"] = accounts.new_token("ana", verbs=["describe", "preview"], vaults=["visits"])
    (own,) = [one for one in accounts.tokens("ana") if one.vaults == {"visits"}]
    wider = [one for one in accounts.tokens("ana") if one != own]
    with strict.client("previews") as previews:
        assert [one["id"] for one in previews.get(place).json()] == [own.id]
        assert {previews.delete(f"{place}/{one.id}").status_code for one in wider} == {404}
        assert not any(one.revoked for one in accounts.tokens("ana"))
        assert previews.delete(f"{place}/{own.id}").status_code == 204
    with strict.client("ana") as ana:
        assert len(ana.get(place).json()) == 1 + len(wider)


def test_a_narrow_token_makes_no_token_of_another_person(strict: Running) -> None:
    """The bug it would catch: "manage" for one vault that asks in the name of ana, or of a curator, who pays."""
    accounts = strict.service.accounts
    strict.tokens["narrow"] = accounts.new_token("curator", vaults=["visits"])
    strict.tokens["manager"] = accounts.new_token("curator", verbs=["manage"])
    known = {who: accounts.tokens(who) for who in ("ana", "cora")}
    for who, (one, *_) in known.items():
        place = f"/api/v1/people/{who}/tokens"
        with strict.client("narrow") as narrow:
            assert narrow.post(place, json={"vaults": ["visits"], "verbs": ["ask"]}).status_code == 403
            assert narrow.get(place).status_code == 403
            assert narrow.delete(f"{place}/{one.id}").status_code == 403
        with strict.client("manager") as manager:
            for verbs in (["ask"], ["manage", "ask"], None):
                assert manager.post(place, json={"verbs": verbs}).status_code == 403
            assert manager.get(place).status_code == 200
    assert {who: accounts.tokens(who) for who in ("ana", "cora")} == known
    with strict.client("curator") as curator:
        made = curator.post("/api/v1/people/ana/tokens", json={"verbs": ["ask"]})
        assert accounts.by_token(made.json()["secret"]).verbs == {"ask"}
    with strict.client("narrow") as narrow:  # one's own, as narrow as the token that makes it
        assert narrow.post("/api/v1/people/curator/tokens", json={"vaults": ["visits"]}).status_code == 201


def test_a_name_of_a_survey_that_is_too_long_is_not_there(strict: Running) -> None:
    with at(strict, "127.0.0.1") as eve:
        for name in ("a" * 300, "a" * 5000, "\u00b2" * 40):
            assert eve.get(f"/s/{name}").status_code == 404


def test_an_upload_is_read_by_a_worker_for_uploads_alone(strict: Running, tmp_path: Path) -> None:
    """A curator's check reads the rows of an upload. The bug: what analysts ask waits behind it, and times it."""
    ran: list[Task] = []
    pools = (strict.service.public, strict.service.pool)
    runs = [pool.run for pool in pools]

    def noting(run: Any) -> Any:
        def noted(task: Task, *more: object) -> object:
            ran.append(task)
            return run(task, *more)

        return noted

    for pool in pools:
        pool.run = noting(pool.run)  # type: ignore[method-assign]
    try:
        with signed_in(strict, "cora") as cora:
            table = {"file": ("people.csv", b"who,age\n1,30\n2,40\n")}
            place = cora.post("/new", files=table).headers["location"]
            form = {"name": "people", "person": "who", "rows": "1", "type-1": "integer", "lo-1": "0", "hi-1": "99"}
            shown = cora.post(f"{place}/check", data={**form, "counts": "40", "margin": "20", "delta": "1e-9"})
            assert shown.status_code == 200
            assert "2" in shown.text
    finally:
        for pool, run in zip(pools, runs, strict=True):
            pool.run = run  # type: ignore[method-assign]
    assert ran == []
    with strict.service.accounts.database.read() as read:
        assert read("SELECT * FROM replies WHERE verb = ?", "check") == []  # the report is stored nowhere
    assert TASKS["check"].public
