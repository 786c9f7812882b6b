"""Pages over a socket without a browser: rights, confirmations, private reports, invitations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection

import httpx2
import numpy as np
import pyarrow
import pytest

import discreet as dp
from discreet.errors import NotPermitted
from discreet.local import Collection
from discreet.local.device.wire import batch, frames
from discreet.schema import Column
from discreet.serve.accounts import Passes, Role, database_at
from discreet.serve.survey.surveys import Surveys
from tests.serve.conftest import PASSWORD, Running

pytestmark = pytest.mark.xdist_group("console pages")
OWN = {"Sec-Fetch-Site": "same-origin"}
CURATOR_PAGES = ("/people", "/new", "/vaults/visits/access", "/vaults/visits/spending", "/audit")


@pytest.fixture(scope="module")
def curator(running: Running) -> Iterator[httpx2.Client]:
    running.service.accounts.add("cura", Role.CURATOR, PASSWORD)
    with signed_in(running, "cura") as client:
        yield client


@contextmanager
def signed_in(running: Running, name: str) -> Iterator[httpx2.Client]:
    with running.client(**OWN) as client:
        assert client.post("/login", data={"name": name, "password": PASSWORD}).status_code == 303
        yield client


def test_an_analyst_sees_no_page_of_a_curator(running: Running) -> None:
    with signed_in(running, "ana") as ana:
        assert [ana.get(path).status_code for path in CURATOR_PAGES] == [403] * len(CURATOR_PAGES)
        assert ana.get("/vaults/hidden").status_code == 404
        forms = {"/vaults/visits/raise": {"epsilon": "9", "reason": "x", "typed": "visits 9"}}
        forms |= {"/vaults/visits/grant": {"user": "ana"}, "/people/invite": {"role": "curator"}}
        assert [ana.post(path, data=form).status_code for path, form in forms.items()] == [403] * 3
    with running.client() as stranger:
        assert [stranger.get(path).status_code for path in CURATOR_PAGES] == [401] * len(CURATOR_PAGES)


def test_a_form_of_another_site_changes_nothing(running: Running, curator: httpx2.Client) -> None:
    for path in ("/people/invite", "/vaults/visits/revoke", "/new", "/surveys", "/account/password"):
        assert curator.post(path, data={}, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_a_budget_is_raised_with_a_reason_and_a_typed_confirmation_only(
    running: Running, curator: httpx2.Client
) -> None:
    def left() -> str:
        return curator.get("/vaults/visits").text.partition("The budget in numbers")[2]

    before = left()
    for form in (
        {"epsilon": "9", "reason": "", "typed": "visits 9"},
        {"epsilon": "9", "reason": "a second year", "typed": "visits 8"},
        {"epsilon": "nan", "reason": "a second year", "typed": "visits nan"},
    ):
        assert curator.post("/vaults/visits/raise", data=form).status_code == 422
    assert left() == before
    form = {"epsilon": "9", "reason": "a second year", "typed": "visits 9"}
    assert curator.post("/vaults/visits/raise", data=form).status_code == 303
    assert left() != before
    spending = curator.get("/vaults/visits/spending").text
    assert "a second year (by cura)" in spending
    assert "typed visits 9" in spending


def test_a_grant_to_a_name_that_no_account_has_leaves_nothing_in_the_ledger(curator: httpx2.Client) -> None:
    assert curator.post("/vaults/visits/grant", data={"user": "nemo", "share": "50 %"}).status_code == 404
    assert "nemo" not in curator.get("/vaults/visits/spending").text


def test_the_private_report_is_stored_nowhere(running: Running, curator: httpx2.Client) -> None:
    table = b"user_id,age\n" + b"".join(b"%d,%s\n" % (i, b"sentinel-7261" if i == 3 else b"40") for i in range(50))
    found = curator.post("/new", files={"file": ("people.csv", table)})
    place = found.headers["location"]
    form = {"type-1": "integer", "lo-1": "0", "hi-1": "110", "person": "user_id", "rows": "1"}
    report = curator.post(f"{place}/check", data={**form, "counts": "40", "margin": "20", "delta": "1e-9"})
    assert "sentinel-7261" in report.text
    folder = running.settings.folder
    kept = [path for path in folder.rglob("*") if path.is_file() and b"sentinel-7261" in path.read_bytes()]
    assert [path.name for path in kept] == ["source.csv"]
    assert kept[0].stat().st_mode & 0o077 == kept[0].parent.stat().st_mode & 0o077 == 0
    assert "sentinel-7261" not in running.log.getvalue()
    with signed_in(running, "ana") as ana:
        assert ana.get(place).status_code == 403
    running.service.accounts.add("other", Role.CURATOR, PASSWORD)
    with signed_in(running, "other") as other:
        assert other.get(place).status_code == 404


def test_a_table_that_is_mostly_unreadable_is_sealed_after_a_confirmation_only(
    running: Running, curator: httpx2.Client
) -> None:
    table = b"user_id,age\n" + b"".join(b"%d,%s\n" % (i, b"forty" if i % 5 else b"40") for i in range(50))
    place = curator.post("/new", files={"file": ("mostly.csv", table)}).headers["location"]
    form = {"type-1": "integer", "lo-1": "0", "hi-1": "110", "person": "user_id", "rows": "1", "name": "mostly"}
    form |= {"counts": "40", "margin": "20", "delta": "1e-9"}
    vault = running.settings.folder / "mostly.vault"
    for confirmed in ({}, {"anyway": "yes"}, {"anyway": "1"}):  # no one ticks what was not shown
        refused = curator.post(f"{place}/seal", data={**form, **confirmed})
        assert refused.status_code == 422
        assert "More than half of a column cannot be read" in refused.text
        assert "For your eyes only" in refused.text
        assert not vault.exists()
    ticked = re.search(r'name="anyway" value="([0-9a-f]+)"', refused.text)
    assert ticked is not None
    changed = curator.post(f"{place}/seal", data={**form, "hi-1": "120", "anyway": ticked[1]})
    assert changed.status_code == 422  # other bounds than those of the report
    assert not vault.exists()
    done = followed(curator, curator.post(f"{place}/seal", data={**form, "anyway": ticked[1]}))
    assert done.url.path == "/vaults/mostly/access"
    assert vault.exists()


def test_a_new_vault_does_not_inherit_the_analysts_of_one_that_had_its_name(
    running: Running, curator: httpx2.Client
) -> None:
    running.service.accounts.grant("ana", "phoenix", by="cura")  # the vault was deleted since
    table = b"user_id,age\n" + b"".join(b"%d,40\n" % i for i in range(50))
    place = curator.post("/new", files={"file": ("phoenix.csv", table)}).headers["location"]
    form = {"type-1": "integer", "lo-1": "0", "hi-1": "110", "person": "user_id", "rows": "1", "name": "phoenix"}
    followed(curator, curator.post(f"{place}/seal", data=form | {"counts": "40", "margin": "20", "delta": "1e-9"}))
    with signed_in(running, "ana") as ana:
        assert ana.get("/vaults/phoenix").status_code == 404
        assert ana.get("/vaults/visits").status_code == 200


def followed(curator: httpx2.Client, done: httpx2.Response) -> httpx2.Response:
    """Follow a sealing to its end."""
    while done.status_code == 303 or done.headers.get("refresh"):
        done = curator.get(done.headers["location"] if done.status_code == 303 else str(done.url))
    return done


def test_an_upload_that_is_too_large_is_refused_before_it_is_read(
    running: Running, curator: httpx2.Client
) -> None:
    sent = HTTPConnection(running.address.partition("//")[2], timeout=60)
    sent.putrequest("POST", "/new")
    cookie = "; ".join(f"{name}={value}" for name, value in curator.cookies.items())
    length = str(running.settings.upload_limit + 1)
    kind = "multipart/form-data; boundary=x"
    headers = {**OWN, "Cookie": cookie, "Content-Length": length, "Content-Type": kind}
    for name, value in headers.items():
        sent.putheader(name, value)
    sent.endheaders()  # and no body: the reply comes before it
    assert sent.getresponse().status == 413
    sent.close()


def test_a_link_to_an_answer_never_charges(running: Running) -> None:
    with signed_in(running, "ana") as ana:
        before = running.spent()
        asked = {"sql": "select count(*) from visits where age > 71", "by": "spend", "spend": "1%"}
        assert ana.get("/vaults/visits/answer", params=asked).headers["location"].startswith("/vaults/visits/ask?")
        assert running.spent() == before
        assert ana.post("/vaults/visits/ask", data={**asked, "key": "k"}).status_code == 303
        spent = running.spent()
        assert spent > before
        shown = ana.get("/vaults/visits/answer", params=asked)
        assert "Free: answered from the record" in shown.text
        begins = {"csv": b"count,count_low,count_high\r\n", "arrow": b"ARROW1", "parquet": b"PAR1", "json": b"{"}
        begins |= {"yaml": b"{", "png": b"\x89PNG", "svg": b"<svg", "vl.json": b"{"}
        for ending, begin in begins.items():
            got = ana.get("/vaults/visits/answer", params={**asked, "file": ending})
            assert got.content.startswith(begin), ending
            assert got.headers["content-disposition"] == f'attachment; filename="visits.{ending}"'
        assert "vega-lite" in got.json()["$schema"]
        formula = {**asked, "sql": 'select count(*) as "=1+1" from visits where age > 71'}
        ana.post("/vaults/visits/ask", data={**formula, "key": "formula"})
        named = ana.get("/vaults/visits/answer", params={**formula, "file": "csv"}).text
        assert named.startswith("'=1+1,'=1+1_low,"), named
    assert running.spent() == spent


def test_every_chart_and_every_charge_says_what_it_is_of(running: Running, curator: httpx2.Client) -> None:
    asked = {"sql": "select count(*), avg(age) from visits where age > 72", "by": "spend", "spend": "1%"}
    with signed_in(running, "ana") as ana:
        assert ana.post("/vaults/visits/ask", data={**asked, "key": "two charts"}).status_code == 303
        shown = ana.get("/vaults/visits/answer", params=asked).text
    captions = re.findall("<figcaption>([^<]+)<", shown)
    assert captions == ["count(*), with intervals.", "avg(age), with intervals."]
    spending = curator.get("/vaults/visits/spending").text
    assert "<code>select count(*), avg(age) from visits where age &gt; 72</code>" in spending


def test_an_invitation_makes_one_account(running: Running, curator: httpx2.Client) -> None:
    shown = curator.post("/people/invite", data={"role": "analyst"}).text
    code = re.search(r'shown-once">([^<]+)<', shown)
    assert code is not None
    form = {"code": code[1], "name": "newcomer", "password": PASSWORD}
    with running.client(**OWN) as stranger:
        assert stranger.post("/join", data=form).status_code == 303
        assert stranger.post("/join", data={**form, "name": "second"}).status_code == 404
        assert "set-cookie" not in stranger.get("/join").headers


def test_a_code_counts_once_and_reports_survive_a_restart(running: Running) -> None:
    surveys = running.service.surveys
    made, codes = surveys.create("ana", "Tea?", ["yes", "no"], epsilon="1", days=5, cohort=1, codes=2)
    counter = surveys.counter(made)
    reports = [_report(counter.collection) for _ in range(3)]
    assert counter.take(reports[0], code=codes[0]) == 1
    for report, code in ((reports[1], codes[0]), (reports[1], None), (reports[1], "0" * 32)):
        with pytest.raises(NotPermitted):
            counter.take(report, code=code)
    again = Surveys(running.settings.folder, Passes(database_at(running.settings.accounts_place))).counter(made)
    assert (again.server.n, again.unused) == (1, 1)
    assert again.take(reports[0], code=codes[1]) == 0  # a replay, which uses up no code
    assert again.unused == 1
    stored = b"".join(path.read_bytes() for path in (running.settings.folder / "surveys" / made.id).iterdir())
    assert not any(code.encode() in stored for code in codes)


def _report(collection: Collection) -> bytes:
    return batch(frames(collection, collection.randomiser.encode(np.zeros(1, np.int64)), identified=True))


def test_a_form_that_was_not_filled_in_yet_is_not_refused(running: Running) -> None:
    """An oracle cannot have a column of texts, so it is not ticked, and no error greets the analyst."""
    rows = pyarrow.table({"who": [1, 2], "age": [30, 40], "shop": ["a", "b"]})
    columns: dict[str, Column] = {"age": dp.Integer(0, 110), "shop": dp.Text()}
    place, budget = running.settings.folder / "shops.vault", dp.Budget("4", "1e-6")
    dp.Vault.seal(rows, to=place, name="shops", person="who", columns=columns, budget=budget).close()
    running.service.accounts.grant("bo", "shops", by="curator")
    with signed_in(running, "bo") as bo:
        shown = bo.get("/vaults/shops/products/oracle").text
    assert 'value="age" checked' in shown
    assert 'value="shop" checked' not in shown
    assert 'role="alert"' not in shown


def test_a_survey_that_waits_says_so_in_plain_words(running: Running) -> None:
    made, _ = running.service.surveys.create("ana", "Wait?", ["yes", "no"], epsilon="1", days=5, cohort=1200)
    with signed_in(running, "ana") as ana:
        shown = ana.get(f"/surveys/{made.id}").text
    assert "once there are 1,200 answers" in shown
    assert "cohort" not in shown
