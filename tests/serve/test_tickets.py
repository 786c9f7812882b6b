"""Surveys with blind tickets over HTTP: a code is exchanged once, a ticket counts once, in two servers as well."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

import discreet as dp
from discreet.errors import AlreadyRunning, NotFound, NotPermitted, ParameterError
from discreet.local import Collection, signing
from discreet.local.tickets import Issuer, Ticket, TicketRequest
from discreet.serve.accounts import Passes, database_at
from discreet.serve.accounts.secrets import digest
from discreet.serve.survey.counter import Counter
from discreet.serve.survey.surveys import Survey, Surveys
from discreet.serve.survey.tally import Tally
from tests.serve.conftest import Running
from tests.serve.console.test_pages import signed_in
from tests.serve.test_collections import reports

pytestmark = pytest.mark.xdist_group("collections")
TERMS: dict[str, Any] = {"epsilon": "1", "days": 9, "cohort": 1}


@pytest.fixture
def client(running: Running) -> Iterator[dp.Client]:
    with dp.Client(running.address, token=running.tokens["ana"]) as made:
        yield made


def another(running: Running) -> Surveys:
    """Return the surveys as another server process of the same folder and store sees them."""
    return Surveys(running.settings.folder, Passes(database_at(running.settings.accounts_place)))


@pytest.fixture(scope="module")
def survey(running: Running) -> tuple[Survey, list[str]]:
    return running.service.surveys.create("ana", "Tea?", ["yes", "no"], codes=30, tickets=True, **TERMS)


@pytest.fixture
def counter(running: Running, survey: tuple[Survey, list[str]]) -> Counter:
    return running.service.surveys.counter(survey[0])


@pytest.fixture
def code(survey: tuple[Survey, list[str]]) -> str:
    """Return a code that no test has used yet."""
    return survey[1].pop()


def ticket_for(counter: Counter, code: str) -> Ticket:
    assert counter.collection.tickets is not None
    request = TicketRequest.new(counter.collection.tickets)
    return request.ticket(counter.issue(code, request.blinded))


def test_a_client_exchanges_a_code_and_redeems_the_ticket(running: Running, client: dp.Client) -> None:
    made = client.collect("tea", ["yes", "no"], epsilon=1, codes=2, tickets=True, cohort=1)
    assert made.facts["tickets"]
    first, second = made.facts["codes"]
    assert made.opened().tickets is not None
    ticket = made.ticket(first)
    report = reports(made.opened(), [0])
    assert made.submit(report, ticket=ticket) == 1
    assert made.submit(report, ticket=ticket) == 0  # sent again after a lost reply: counted once, and not refused
    with pytest.raises(NotPermitted):
        made.submit(reports(made.opened(), [1]), ticket=ticket)
    with pytest.raises(NotPermitted, match="unknown or was used"):
        made.ticket(first)
    key = made.opened().tickets
    assert key is not None
    kept = TicketRequest.new(key)
    assert made.ticket(second, kept) == made.ticket(second, kept)  # a lost reply is fetched again
    told = made.describe()
    assert (told["reports"], told["exchanged"], told["redeemed"]) == (1, 2, 1)
    with signed_in(running, "ana") as ana:
        assert "2 of 2 codes exchanged for tickets, 1 tickets redeemed" in ana.get(f"/surveys/{made.id}").text


def test_the_asynchronous_client_exchanges_codes_too(running: Running) -> None:
    async def used() -> int:
        async with dp.AsyncClient(running.address, token=running.tokens["ana"]) as client:
            made = await client.collect("tea", ["yes", "no"], epsilon=1, codes=1, tickets=True, cohort=1)
            ticket = await made.ticket(made.facts["codes"][0])
            return await made.submit(reports(await made.opened(), [0]), ticket=ticket)

    assert asyncio.run(used()) == 1


def test_a_code_is_good_for_a_ticket_and_for_nothing_else(
    running: Running, survey: tuple[Survey, list[str]], counter: Counter, code: str
) -> None:
    unused = survey[1].pop()
    path = f"/s/{survey[0].id}/reports"
    report = reports(counter.collection, [0])
    ticket, before = str(ticket_for(counter, code)), counter.server.n
    with running.client() as stranger:

        def status(content: bytes, **headers: str) -> int:
            return stranger.post(path, content=content, headers=headers).status_code

        assert status(report) == 403
        assert status(report, **{"discreet-code": code}) == 403
        assert status(report, **{"discreet-code": unused}) == 403
        assert status(report, **{"discreet-ticket": ticket[:-2] + "AA"}) == 403
        assert status(reports(counter.collection, [0, 1]), **{"discreet-ticket": ticket}) == 422
        assert counter.server.n == before
        assert status(report, **{"discreet-ticket": ticket}) == 204
        assert counter.collection.tickets is not None
        blinded = TicketRequest.new(counter.collection.tickets).blinded
        for wrong in ("", "0" * 32, code):
            head = {"discreet-code": wrong}
            assert stranger.post(f"/s/{survey[0].id}/tickets", content=blinded, headers=head).status_code == 403
        assert stranger.post(f"/s/{survey[0].id}/tickets", content=b"x" * 5000).status_code == 413
        for place in ("tickets", "reports"):  # the page may be hosted elsewhere
            allowed = stranger.options(f"/s/{survey[0].id}/{place}")
            assert allowed.headers["access-control-allow-origin"] == "*"
            assert "set-cookie" not in allowed.headers
    assert counter.server.n == before + 1


def test_what_is_no_report_uses_up_no_ticket(counter: Counter, code: str) -> None:
    ticket = str(ticket_for(counter, code))
    other = Collection.design("other", domain=["yes", "no"], epsilon=1, window=("2026-01-01", "2099-12-31"))
    assert counter.take(reports(other, [0]), ticket=ticket) == 0
    with pytest.raises(ParameterError):
        counter.take(b"nonsense", ticket=ticket)
    assert counter.take(reports(counter.collection, [0]), ticket=ticket) == 1


def test_what_is_no_blinded_ticket_uses_up_no_code(counter: Counter, code: str) -> None:
    for wrong in (b"", b"\0" * 384, b"\xff" * 384, b"\1" * 256):
        with pytest.raises(ParameterError, match="blinded"):
            counter.issue(code, wrong)
    ticket_for(counter, code)


def test_of_two_servers_one_takes_a_ticket(
    running: Running, survey: tuple[Survey, list[str]], counter: Counter, code: str
) -> None:
    """Eight threads on two servers redeem one ticket for eight reports. The bug: a code that counts twice."""
    other = another(running).counter(survey[0])
    ticket, before = str(ticket_for(counter, code)), counter.server.n

    def redeem(server: Counter) -> int:
        try:
            return server.take(reports(counter.collection, [0]), ticket=ticket)
        except NotPermitted:
            return 0

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(redeem, [counter, other] * 4)) == 1
    for server in (counter, other):
        server.catch_up()  # each of them counts what the other has stored
    assert counter.server.n == other.server.n == before + 1


def test_of_two_servers_one_issues_a_ticket_for_a_code(
    running: Running, survey: tuple[Survey, list[str]], counter: Counter, code: str
) -> None:
    other = another(running).counter(survey[0])
    key = counter.collection.tickets
    assert key is not None

    def ask(server: Counter) -> int:
        try:
            server.issue(code, TicketRequest.new(key).blinded)
        except NotPermitted:
            return 0
        return 1

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(ask, [counter, other] * 2)) == 1


def test_a_server_that_was_killed_has_counted_a_report_and_its_ticket_or_neither(
    running: Running,
    survey: tuple[Survey, list[str]],
    counter: Counter,
    code: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Killed before the change was noted, and after. The same report may be sent again, and no other."""
    ticket, report, before = str(ticket_for(counter, code)), reports(counter.collection, [0]), counter.server.n

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    for step, counted in (("_write", 0), ("_apply", 1)):
        with monkeypatch.context() as patch:
            patch.setattr(Tally, step, killed)
            with pytest.raises(KeyboardInterrupt):
                counter.take(report, ticket=ticket)
        counter.catch_up()
        assert counter.server.n == before + counted
    with pytest.raises(NotPermitted):
        counter.take(reports(counter.collection, [1]), ticket=ticket)
    assert another(running).counter(survey[0]).take(report, ticket=ticket) == 0
    counter.catch_up()
    assert counter.server.n == before + 1


def test_two_orders_of_arrival_leave_the_same_survey(tmp_path: Path) -> None:
    """Codes are exchanged and tickets redeemed in two orders: every stored byte is the same.

    The bug it would catch: a person with the disk who matches the third code with the third report.
    """
    place = tmp_path / "accounts.sqlite"
    surveys = Surveys(tmp_path, Passes(database_at(str(place))))
    made, codes = surveys.create("ana", "Tea?", ["yes", "no"], codes=5, tickets=True, **TERMS)
    collection = surveys.counter(made).collection
    assert collection.tickets is not None
    requests = [TicketRequest.new(collection.tickets) for _ in codes]
    batches = [reports(collection, [i % 2]) for i in range(5)]
    empty, database = tmp_path / "empty", place.read_bytes()
    shutil.copytree(tmp_path / "surveys" / made.id, empty)

    def stored(exchanges: list[int], redemptions: list[int]) -> dict[str, bytes]:
        folder = tmp_path / "surveys" / made.id
        shutil.rmtree(folder)
        shutil.copytree(empty, folder)
        counter = Surveys(tmp_path, Passes(database_at(str(place)))).counter(made)
        signed = {i: counter.issue(codes[i], requests[i].blinded) for i in exchanges}
        for i in redemptions:
            assert counter.take(batches[i], ticket=str(requests[i].ticket(signed[i]))) == 1
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    assert stored([0, 1, 2, 3, 4], [0, 1, 2, 3, 4]) == stored([3, 1, 4, 0, 2], [2, 4, 0, 3, 1])
    assert place.read_bytes() == database
    counter = Surveys(tmp_path, Passes(database_at(str(place)))).counter(made)
    assert (counter.exchanged, counter.redeemed) == (5, 5)


def test_a_survey_of_an_older_version_is_taken_over_and_its_order_deleted(tmp_path: Path) -> None:
    """Reports in a file, passes in the accounts: they still count once, and the file is gone."""
    passes = Passes(database_at(str(tmp_path / "accounts.sqlite")))
    surveys = Surveys(tmp_path, passes)
    made, codes = surveys.create("ana", "Old?", ["yes", "no"], codes=3, **TERMS)
    opened, _ = surveys.create("ana", "Open?", ["yes", "no"], **TERMS)
    for survey in (made, opened):
        folder, collection = tmp_path / "surveys" / survey.id, surveys.counter(survey).collection
        sent = [reports(collection, [i]) for i in range(2)]
        for name in ("counted", "exchanged"):
            (folder / name).unlink()
        (folder / "reports").write_bytes(b"".join(len(one).to_bytes(4, "big") + one for one in sent) + b"\0\0\0")
        if survey is made:
            for code, one in zip(codes, sent, strict=False):
                passes.use(made.id, "code", digest(code), hashlib.sha256(one).hexdigest())
        counter = Surveys(tmp_path, passes).counter(survey)
        assert (counter.server.n, counter.unused) == (2, 1 if survey is made else 0)
        assert not (folder / "reports").exists()
        assert passes.of(survey.id) == []
        if survey is made:
            with pytest.raises(NotPermitted):
                counter.take(reports(collection, [0]), code=codes[1])
            assert counter.take(sent[1], code=codes[1]) == 0
            assert counter.take(reports(collection, [0]), code=codes[2]) == 1
        else:
            assert counter.take(sent[0]) == 0
            assert counter.take(reports(collection, [0])) == 1


def test_nothing_that_is_stored_joins_a_code_with_its_report(
    running: Running, survey: tuple[Survey, list[str]], counter: Counter, code: str
) -> None:
    """The rows of a code and of its ticket share no value, and the key is for the service's user alone."""
    ticket = ticket_for(counter, code)
    counter.take(reports(counter.collection, [0]), ticket=str(ticket))
    folder = running.settings.folder / "surveys" / survey[0].id
    assert (folder / "issuer.key").stat().st_mode & 0o077 == 0
    assert folder.stat().st_mode & 0o077 == 0
    stored = b"".join(path.read_bytes() for path in folder.iterdir())
    assert code.encode() not in stored
    assert ticket.message not in stored
    assert reports(counter.collection, [0])[:11] not in stored  # no report is kept, only counts
    entries = [
        {data[i : i + 16] for i in range(0, len(data), 16)} - {bytes(16)}
        for data in ((folder / name).read_bytes()[-96 * 32 :] for name in ("exchanged", "counted"))
    ]
    assert entries[0]
    assert entries[1]
    assert not entries[0] & entries[1]
    with database_at(running.settings.accounts_place).read() as run:
        assert run("SELECT * FROM passes WHERE survey = ?", survey[0].id) == []
    assert code not in running.log.getvalue()


def test_a_collection_with_a_key_from_elsewhere_takes_its_tickets_and_issues_none(
    running: Running, client: dp.Client
) -> None:
    """Another office issues the tickets, so that the service never sees a code."""
    office, (private, public) = Issuer.new(2048), signing.new_key()
    designed = Collection.design(
        "apart", domain=["yes", "no"], epsilon=1, window=("2026-01-01", "2099-12-31"), tickets=office.key
    )
    made = client.collect(signed=signing.signed(designed, private), key=public)
    with pytest.raises(NotFound, match="issues no tickets"):
        made.ticket("0" * 32)
    request = TicketRequest.new(office.key)
    ticket = request.ticket(office.sign(request.blinded))
    assert made.submit(reports(designed, [0]), ticket=ticket) == 1
    with pytest.raises(NotPermitted):
        made.submit(reports(designed, [0]))
    with running.client() as stranger:
        assert stranger.get(f"/s/{made.id}").status_code == 404  # its page could not exchange a code


def test_the_console_offers_three_ways_to_answer(running: Running) -> None:
    with signed_in(running, "ana") as ana:
        form = {"question": "Three?", "choices": "yes\nno", "codes": "3"}
        shown = {way: ana.post("/surveys", data={**form, "way": way}) for way in ("open", "codes", "tickets")}
        assert "invitation codes" not in shown["open"].text
        assert "0 of 3 codes used" in shown["codes"].text
        assert "0 of 3 codes exchanged for tickets" in shown["tickets"].text
        assert ana.post("/surveys", data={**form, "way": "tickets", "codes": "0"}).status_code == 422
        assert ana.post("/surveys", data={**form, "way": "both"}).status_code == 400


# -- a retried request makes one collection -----------------------------------------------------------------------


def test_a_request_with_a_key_makes_one_collection_and_shows_the_same_codes(
    running: Running, client: dp.Client
) -> None:
    before = len(client.collections())
    body = {"name": "once", "domain": ["yes", "no"], "epsilon": "1", "codes": 2}
    with running.client("ana", **{"Idempotency-Key": "made-once"}) as raw:
        with ThreadPoolExecutor(3) as threads:
            all_ = list(threads.map(lambda _: raw.post("/api/v1/collections", json=body), range(3)))
        first, *others = (reply.json() for reply in all_)
        assert [reply.status_code for reply in all_] == [201] * 3
        assert all(other == first for other in others)
        other = raw.post("/api/v1/collections", json={**body, "codes": 3})
        assert (other.status_code, other.json()["error"]) == (409, "AlreadyRunning")
    assert len(client.collections()) == before + 1
    with running.client("bo", **{"Idempotency-Key": "made-once"}) as bo:  # of another account it is another key
        assert bo.post("/api/v1/collections", json=body).json()["id"] != first["id"]
    again, codes = another(running).create(  # after a restart, or at another server
        "ana", "once", ["yes", "no"], epsilon="1", days=30, cohort=100, codes=2, protocol=None, key="made-once"
    )
    assert (again.id, codes) == (first["id"], first["codes"])
    folder = running.settings.folder / "surveys" / first["id"]
    stored = b"".join(path.read_bytes() for path in folder.iterdir())
    assert not any(code.encode() in stored for code in codes)
    with pytest.raises(AlreadyRunning):
        another(running).adopt("ana", first["signed"].encode(), bytes.fromhex(first["key"]), key="made-once")


def test_a_key_of_a_request_that_was_refused_may_be_sent_again(running: Running) -> None:
    with running.client("ana", **{"Idempotency-Key": "refused-first"}) as raw:
        bad: httpx2.Response = raw.post(
            "/api/v1/collections", json={"name": "x", "domain": ["a", "b"], "epsilon": "0"}
        )
        assert bad.status_code == 422
        good = raw.post("/api/v1/collections", json={"name": "x", "domain": ["a", "b"], "epsilon": "1"})
        assert good.status_code == 201


def test_a_folder_of_an_older_version_keeps_its_used_codes_used(running: Running, tmp_path: Path) -> None:
    made, codes = running.service.surveys.create("ana", "Old?", ["yes", "no"], codes=2, **TERMS)
    folder = running.settings.folder / "surveys" / made.id
    (folder / "used").write_text(f"{digest(codes[0])}\n")
    counter = another(running).counter(made)
    with pytest.raises(NotPermitted):
        counter.take(reports(counter.collection, [0]), code=codes[0])
    assert counter.take(reports(counter.collection, [0]), code=codes[1]) == 1
