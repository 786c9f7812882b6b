"""The client against a real service: the same verbs, objects and errors as a local vault; retries charge once."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow
import pytest

import discreet as dp
from discreet.errors import (
    BudgetExceeded,
    DatabaseUnavailable,
    NotFound,
    NotSignedIn,
    ParameterError,
    QuestionRefused,
)
from discreet.serve.accounts import Role
from tests.serve.conftest import Running, started

ROWS = 1000
COUNT = "select count(*) from people"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("client")
    rows = pyarrow.table({"who": list(range(ROWS)), "age": [20 + i % 60 for i in range(ROWS)]})
    place, columns = Path(folder) / "people.vault", {"age": dp.Integer(0, 110)}
    dp.Vault.seal(
        rows, to=place, name="people", person="who", columns=columns, budget=dp.Budget(20, "1e-6")
    ).close()
    made = started(folder)
    made.tokens["curator"] = made.service.accounts.first_run() or ""
    made.account("ana", Role.ANALYST, "people")
    yield made
    made.stop()


@pytest.fixture
def client(service: Running) -> Iterator[dp.Client]:
    with dp.Client(service.address, token=service.tokens["ana"]) as made:
        yield made


def test_a_notebook_changes_one_line(service: Running, client: dp.Client) -> None:
    vault = client.vault("people")
    assert (client.vaults(), client.whoami()["name"]) == (["people"], "ana")
    before = vault.preview(COUNT, epsilon="0.5")
    assert (before.recorded, before.affordable) == (False, True)
    answer = vault.ask(COUNT, epsilon="0.5")
    with dp.Vault(service.settings.folder / "people.vault", analyst="ana") as local:
        same = local.ask(COUNT, epsilon="0.5")
        assert (same.free, same.value, same.interval) == (True, answer.value, answer.interval)
        assert local.preview(COUNT, epsilon="0.5").to_json() == vault.preview(COUNT, epsilon="0.5").to_json()
        assert vault.ledger.balance() == local.ledger.balance()
        assert vault.ledger.verify() == vault.ledger.head() == local.ledger.head()
    assert str(answer) == str(type(answer).from_json(answer.to_json()))
    assert vault.ask(dp.select("count(*)"), epsilon=0.5).value == answer.value
    assert vault.release(vault.releases()[-1]["number"]).value == answer.value
    assert "ana" in str(vault.ledger)


def test_products_of_a_service_have_the_verbs_of_local_ones(client: dp.Client) -> None:
    vault = client.vault("people")
    assert vault.plan_oracle(["age"], epsilon=2, within=50).floor >= 0
    oracle = vault.oracle(["age"], epsilon=2, within=50)
    answer = oracle.ask(f"{COUNT} where age >= 50")
    assert answer.low < ROWS / 2 < answer.high
    told: list[str] = []
    table = vault.synthesize(["age"], epsilon=2, rows=7, progress=lambda words, share: told.append(words))
    assert (table.to_arrow().num_rows, table.receipt.free) == (7, False)
    assert told
    stream = vault.stream("visits", epsilon=1, horizon=50)
    stream.add(100)
    assert abs((stream.extend([100, 100]).value or 0) - 300) < 200
    assert stream.release().ticks[-1] == 3


def test_refusals_raise_the_errors_of_a_local_vault(client: dp.Client, service: Running) -> None:
    vault = client.vault("people")
    with pytest.raises(BudgetExceeded) as over:
        vault.ask(f"{COUNT} where age > 77", epsilon=100)
    assert over.value.fixes
    with pytest.raises(QuestionRefused):
        vault.ask("select who from people", epsilon="0.1")
    with pytest.raises(NotFound):
        client.vault("absent").ask(COUNT, epsilon="0.1")
    with dp.Client(service.address, token="dsc_wrong") as stranger, pytest.raises(NotSignedIn):
        stranger.vaults()
    with dp.Client("http://127.0.0.1:9", token="x", retries=0) as nowhere, pytest.raises(DatabaseUnavailable):
        nowhere.vaults()


def test_an_address_without_its_scheme_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(ParameterError, match=r'address="http://127\.0\.0\.1:8470"'):
        dp.Client("127.0.0.1:8470", token="dsc_")


def test_the_asynchronous_client_has_the_same_verbs(service: Running) -> None:
    async def asked() -> tuple[float | None, float | None]:
        async with dp.AsyncClient(service.address, token=service.tokens["ana"]) as client:
            vault = client.vault("people")
            first = await vault.ask(f"{COUNT} where age > 33", epsilon="0.25")
            assert (await vault.preview(f"{COUNT} where age > 33", epsilon="0.25")).recorded
            assert (await vault.ledger.balance()).charges > 0
            oracle = await vault.oracle(["age"], epsilon=2, within=50)
            assert (await oracle.ask(COUNT)).low < ROWS
            return first.value, (await vault.ask(f"{COUNT} where age > 33", epsilon="0.25")).value

    first, second = asyncio.run(asked())
    assert first == second


def _message(connection: socket.socket) -> bytes:
    """Read one message of HTTP, whose head and body may arrive apart."""
    read = b""
    while part := connection.recv(65536):
        read += part
        head, complete, body = read.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: *(\d+)", head.lower())
        if complete and len(body) >= int(length[1] if length else 0):
            break
    return read


def test_a_reply_that_is_lost_on_the_way_is_sent_again_and_charged_once(service: Running) -> None:
    """A proxy cuts the first connection after the request went through; the retry gets the stored reply."""
    host, _, port = service.address.removeprefix("http://").partition(":")
    cut = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as proxy:

        def serve() -> None:
            for connections in range(2):
                inward, _ = proxy.accept()
                with inward, socket.create_connection((host, int(port))) as outward:
                    outward.sendall(_message(inward))
                    reply = _message(outward)
                    if connections:
                        inward.sendall(reply)
                    else:
                        cut.set()

        thread = threading.Thread(target=serve)
        thread.start()
        before = service.spent("people")
        address = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        with dp.Client(address, token=service.tokens["ana"]) as client:
            answer = client.vault("people").ask(f"{COUNT} where age > 44", epsilon="0.5")
        thread.join(60)
    assert cut.is_set()
    with dp.Vault(service.settings.folder / "people.vault") as local:
        assert local.ask(f"{COUNT} where age > 44", epsilon="0.5").value == answer.value
        charges = [entry for entry in local.ledger.entries() if entry.kind == "charge"]
    assert sum("age > 44" in entry.content["question"] for entry in charges) == 1
    assert service.spent("people") > before
