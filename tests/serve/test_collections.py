"""Local collections over HTTP: signed descriptors, batches of reports, estimates; with the client, both kinds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import discreet as dp
from discreet.errors import NotFound, ParameterError, QuestionRefused, ServiceFailed
from discreet.local import Answer, Collection, Device, signing
from discreet.local.device.wire import batch, frames
from tests.serve.conftest import Running
from tests.serve.console.test_pages import signed_in

pytestmark = pytest.mark.xdist_group("collections")
COLOURS = ["red", "green", "blue"]


@pytest.fixture
def client(running: Running) -> Iterator[dp.Client]:
    with dp.Client(running.address, token=running.tokens["ana"]) as made:
        yield made


def reports(collection: Collection, values: list[int]) -> bytes:
    return batch(frames(collection, collection.randomiser.encode(np.array(values)), identified=True))


def test_reports_of_devices_become_estimates_with_a_label(running: Running, client: dp.Client) -> None:
    made = client.collect("colours", COLOURS, epsilon=4, cohort=500)
    collection = made.opened()
    assert (collection.name, collection.labels) == ("colours", tuple(COLOURS))
    sent = reports(collection, [0] * 600 + [1] * 300)
    assert made.submit(reports(collection, [2] * 100)) == 100
    with pytest.raises(QuestionRefused, match="minimum cohort"):
        made.estimate()
    assert made.submit(sent) == 900
    assert made.submit(sent) == 0  # sent again, and counted once
    found = made.estimate()
    assert isinstance(found, Answer)
    shares = {label: (low, high) for label, _, low, high in found.rows()}
    # The deviation of a share is below 0.01: 0.1 beyond the interval has a chance below 1e-12.
    assert shares["red"][0] - 0.1 < 0.6 < shares["red"][1] + 0.1
    assert found.label.local
    assert found.receipt.cost.epsilon == 4
    assert (made.describe()["reports"], made.facts["rejected"]) == (1000, {"replayed": 900})
    assert made.id in client.collections()
    assert client.collection(made.id).estimate().rows() == found.rows()
    with running.client() as device:  # devices need no token, and are counted in the same place
        assert device.post(f"/s/{made.id}/reports", content=reports(collection, [0])).status_code == 204
        assert device.get(f"/s/{made.id}/estimates").json()["reports"] == 1001


def test_a_collection_that_was_signed_elsewhere_is_taken_with_its_key_only(
    client: dp.Client, tmp_path: Path
) -> None:
    today = datetime.now(UTC).date()
    designed = Collection.design(
        "typed", protocol="hcms", epsilon=4, window=(today, today), minimum_cohort=1
    )  # any texts: they cannot be listed
    private, public = signing.new_key()
    signed = signing.signed(designed, private)
    with pytest.raises(ParameterError, match="signature"):
        client.collect(signed=signed, key=signing.new_key()[1])
    made = client.collect(signed=signed, key=public)
    assert made.opened(public).id == designed.id
    with pytest.raises(ParameterError, match="signature"):
        made.opened(signing.new_key()[1])
    assert made.submit([Device(tmp_path, lifetime=8, per_period=8).report(designed, "tea")]) == 1
    with pytest.raises(ParameterError, match="candidates"):
        made.estimate()
    assert [label for label, *_ in made.estimate(["tea", "coffee"]).rows()] == ["tea", "coffee"]


def test_a_collection_of_another_account_is_not_there(running: Running, client: dp.Client) -> None:
    made = client.collect("mine", COLOURS, epsilon=1)
    collection = made.opened()
    with dp.Client(running.address, token=running.tokens["bo"]) as bo:
        other = bo.collection(made.id)
        for use in (other.describe, other.estimate, lambda: other.submit(reports(collection, [0]))):
            with pytest.raises(NotFound):
                use()
        assert made.id not in bo.collections()
    with running.client("audrey") as audrey:
        assert audrey.get("/api/v1/collections").status_code == 403


def test_a_collection_that_would_fill_the_memory_is_refused(client: dp.Client) -> None:
    today, (private, public) = datetime.now(UTC).date(), signing.new_key()
    for values in (1 << 21, 10**9):
        vast = Collection.design("vast", domain=values, protocol="grr", epsilon=1, window=(today, today))
        with pytest.raises(ParameterError, match="counts at most"):
            client.collect(signed=signing.signed(vast, private), key=public)


def test_what_is_not_a_batch_or_not_a_collection_is_refused(running: Running, client: dp.Client) -> None:
    made = client.collect("colours", COLOURS, epsilon=1)
    with pytest.raises(ParameterError, match="not a batch"):
        made.submit(b"nonsense")
    assert made.submit([b"\x00" * 26]) == 0  # a batch of frames that are none
    for terms in ({"epsilon": "1"}, {"epsilon": "0"}, {}, {"protocol": "no such", "epsilon": "1"}):
        with pytest.raises((ParameterError, ServiceFailed)):
            client.collect("x", None if terms == {"epsilon": "1"} else COLOURS, **terms)
    with running.client("ana") as raw:
        assert raw.post(f"/api/v1/collections/{made.id}/reports", content=b"x" * (2 << 20)).status_code == 413


def test_invitation_codes_are_shown_once_and_count_once(running: Running, client: dp.Client) -> None:
    made = client.collect("invited", ["yes", "no"], epsilon=1, codes=1, cohort=1)
    (code,) = made.facts["codes"]
    assert "codes" not in made.describe()
    sent = reports(made.opened(), [0])
    with running.client("ana", **{"discreet-code": code}) as raw:
        path = f"/api/v1/collections/{made.id}/reports"
        assert raw.post(path, content=sent).json() == {"counted": 1, "reports": 1}
        assert raw.post(path, content=reports(made.opened(), [0])).status_code == 403


def test_the_asynchronous_client_has_the_same_verbs(running: Running) -> None:
    async def used() -> tuple[int, int]:
        async with dp.AsyncClient(running.address, token=running.tokens["ana"]) as client:
            made = await client.collect("colours", COLOURS, epsilon=2, cohort=10)
            counted = await made.submit(reports(await made.opened(), [0] * 20))
            assert made.id in await client.collections()
            return counted, (await client.collection(made.id).estimate()).estimate.n

    assert asyncio.run(used()) == (20, 20)


def test_a_collection_without_a_form_has_no_page_of_a_respondent(running: Running, client: dp.Client) -> None:
    many = client.collect("words", [f"word {i}" for i in range(300)], epsilon=1, cohort=1)
    assert len(many.opened().labels or ()) == 300
    with running.client() as stranger:
        assert stranger.get(f"/s/{many.id}").status_code == 404
        assert stranger.get(f"/s/{many.id}/collection").status_code == 200
    many.submit(reports(many.opened(), list(range(300))))
    with signed_in(running, "ana") as ana:
        watched = ana.get(f"/surveys/{many.id}").text
    assert many.facts["key"] in watched  # for programs, in place of a link
    assert "words: 300 reports" in watched
    with signed_in(running, "bo") as bo:
        assert bo.get(f"/surveys/{many.id}").status_code == 404
