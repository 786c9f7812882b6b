"""The console in a real browser: a curator seals, an analyst asks, an auditor looks, a respondent answers."""

from __future__ import annotations

import base64
import io
import re
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from discreet.local import Aggregator
from discreet.local.device.wire import unpacked
from discreet.local.tickets import Issuer
from discreet.serve.accounts import Role
from discreet.serve.console.pages import page
from discreet.serve.console.products.making import kind_of
from discreet.serve.questions import Progress
from tests.serve.conftest import PASSWORD, Running
from tests.serve.test_collections import reports

pytestmark = pytest.mark.xdist_group("browser")
PHONE = {"color_scheme": "dark"}
TERMS: dict[str, Any] = {"epsilon": "1", "days": 10, "cohort": 1}


def test_a_curator_seals_a_table_and_an_analyst_asks_it(running: Running, visit: Any, tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    rows = [f"{i},{'n/a' if i % 100 == 0 else 20 + i % 60},{'Oslo' if i % 3 else 'Bergen'}" for i in range(900)]
    table.write_text("\n".join(["user_id,age,city", *rows]))
    running.service.accounts.set_password("curator", PASSWORD)

    curator = visit()
    curator.sign_in("curator")
    page = curator.page
    page.get_by_role("link", name="Seal a table").click()
    page.get_by_label("Upload a CSV").set_input_files(table)
    page.get_by_role("button", name="Go on").click()
    page.get_by_label("Kind of city").select_option("category")
    page.get_by_label("Values of city").fill("Bergen, Oslo")
    assert page.get_by_label("Highest age").input_value() == "110"  # guessed from the name
    page.get_by_role("button", name="What becomes of the rows?").click()
    report = page.get_by_role("region", name="Report on the columns")
    assert report.get_by_role("row", name="age").inner_text().split("\t") == ["age", "891", "0", "0", "0", "9"]
    assert curator.barriers() == []

    page.get_by_role("textbox", name="Counts").fill("10")
    page.get_by_role("textbox", name="Each with a margin").fill("5")
    page.get_by_text("10 counts at ± 5").wait_for()  # a sentence and a picture follow, without a row
    page.get_by_label("Name of the vault").fill("people")
    page.get_by_role("button", name="Seal", exact=True).click()
    page.wait_for_url("**/vaults/people/access")
    assert not any((running.settings.folder / ".uploads").iterdir())  # the upload is gone
    page.locator("select[name=user]").select_option("ana")
    page.get_by_role("button", name="Grant").click()
    page.get_by_role("row", name="ana spends from the whole").wait_for()

    analyst = visit()
    analyst.sign_in("ana")
    page = analyst.page
    page.get_by_role("link", name="people").click()
    page.get_by_text("100 % of the budget of the whole vault is left.").wait_for()
    assert "ε" not in page.get_by_role("main").inner_text()  # no Greek by default
    page.get_by_role("link", name="Ask a question").click()
    page.get_by_label("Question in SQL").fill("select city, count(*) from people group by city")
    page.get_by_label("Share of the budget in percent").fill("20")
    page.get_by_text("This would use 20 %").wait_for()  # the preview follows the typing
    assert running.spent("people") == 0  # and costs nothing
    assert analyst.barriers() == []
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("heading", name="Answer").wait_for()
    assert running.spent("people") > 0
    spent = running.spent("people")
    assert analyst.barriers() == []
    assert page.get_by_role("img", name=re.compile("by city, with intervals")).count() == 1
    assert {"Bergen", "Oslo"} <= set(page.get_by_role("region", name="The answer as a table").inner_text().split())
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    first, *others = Path(download.value.path()).read_text().splitlines()
    assert (first, len(others)) == ("city,count,count_low,count_high", 3)  # and null

    page.get_by_text("This used 20 % of the budget").wait_for()
    link = page.get_by_label("Link to this answer").inner_text()
    curator.page.goto(link)  # another person sees the recorded answer
    curator.page.get_by_text("Free: answered from the record").wait_for()
    assert running.spent("people") == spent

    page.get_by_role("link", name="Ask something else").click()
    page.get_by_label("Question in SQL").fill("select count(*) from people where age > 40")
    page.get_by_label("Share of the budget in percent").fill("95")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("alert").wait_for()  # refused, with something affordable one click away
    assert analyst.barriers() == []
    assert running.spent("people") == spent
    page.get_by_role("button", name=re.compile("^Spend .* of the budget")).first.click()
    page.get_by_role("heading", name="Answer").wait_for()
    assert running.spent("people") > spent


def test_pages_work_without_script(running: Running, visit: Any) -> None:
    analyst = visit(java_script_enabled=False)
    analyst.sign_in("ana")
    analyst.go("/vaults/visits/ask")
    analyst.page.get_by_label("Question in SQL").fill("select count(*) from visits where age > 33")
    analyst.page.get_by_role("button", name="Preview").click()  # pages work without script
    analyst.page.get_by_text("This would use 1 %").wait_for()
    analyst.page.get_by_role("button", name="Ask", exact=True).click()
    analyst.page.get_by_role("heading", name="Answer").wait_for()
    assert running.spent() > 0


def test_a_respondent_sends_one_randomised_frame_and_nothing_else(running: Running, visit: Any) -> None:
    surveys = running.service.surveys
    made, _ = surveys.create("ana", "Do you smoke?", ["yes", "no"], epsilon="1", days=10, cohort=1)
    phone = visit(320, **PHONE)
    phone.go(f"/s/{made.id}#key={made.key}")
    page = phone.page
    page.get_by_label("yes").check()
    page.get_by_role("button", name="Try the coin").click()
    assert "ten phones like yours would say" in page.locator("#thrown").inner_text()
    assert phone.fits()
    assert phone.barriers() == []
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Send my answer").click()
    page.get_by_text("Thank you").wait_for()

    sent = [(url, body) for method, url, body in phone.requests if method == "POST"]
    assert [url for url, _ in sent] == [f"{running.address}/s/{made.id}/reports"]
    assert {url.split("/")[2] for _, url, _ in phone.requests} == {running.address.split("/")[2]}
    assert not any(made.key in url.partition("#")[0] for _, url, _ in phone.requests)
    assert page.locator("#bytes").inner_text() == sent[0][1].hex()
    frames = unpacked(sent[0][1])
    assert frames is not None
    assert frames.shape == (1, 26)  # version, collection, id and one byte: the same for both answers
    counter = surveys.counter(made)
    assert Aggregator(counter.collection, identified=True).update(sent[0][1]) == counter.server.n == 1
    assert phone.context.cookies() == []
    assert "13 %" in page.locator("#spent").inner_text()
    assert phone.barriers() == []

    page.reload()
    page.get_by_label("no").check()
    page.get_by_role("button", name="Send my answer").click()
    page.get_by_text("Nothing is sent").wait_for()
    page.reload()
    page.get_by_role("button", name="Stop for good").click()
    page.get_by_text("nothing was sent").wait_for()  # said when the browser's database has it
    page.reload()
    page.get_by_text("You stopped for good").wait_for()
    assert page.locator("#form").is_hidden()
    assert len([1 for method, _, _ in phone.requests if method == "POST"]) == 1


def test_a_ticket_keeps_a_code_apart_from_the_answer(running: Running, visit: Any) -> None:
    surveys = running.service.surveys
    made, codes = surveys.create("ana", "Do you drink?", ["yes", "no"], **TERMS, codes=2, tickets=True)
    counter = surveys.counter(made)
    phone = visit(320, **PHONE)
    phone.go(f"/s/{made.id}#key={made.key}")
    page = phone.page
    page.get_by_label("yes").check()
    page.get_by_label("Your invitation code").fill("0" * 32)
    page.get_by_role("button", name="Get my ticket").click()
    page.get_by_text("try another code").wait_for()  # the mixed answer is kept: no second one is paid for
    page.reload()
    page.get_by_text("It needs a code").wait_for()
    page.get_by_label("Your invitation code").fill(codes[0])
    page.get_by_role("button", name="Get my ticket").click()
    page.get_by_role("heading", name="Send your answer later").wait_for()
    assert phone.fits()
    assert phone.unnamed() == []
    assert phone.barriers() == []
    assert [path for path, _, _ in phone.posted] == ["tickets", "tickets"]  # and no report yet
    assert (counter.exchanged, counter.redeemed, counter.server.n) == (1, 0, 0)
    page.reload()  # the ticket waits in this browser, without the code
    page.get_by_role("button", name="Send it now").click()
    page.get_by_text("Thank you").wait_for()
    assert (counter.exchanged, counter.redeemed, counter.server.n) == (1, 1, 1)

    _, (_, blinded, with_code), (path, report, with_report) = phone.posted
    assert path == "reports"
    assert with_code["discreet-code"] == codes[0]
    assert "discreet-code" not in with_report
    assert "discreet-ticket" not in with_code
    ticket = with_report["discreet-ticket"]
    bare = base64.urlsafe_b64decode(ticket + "=" * (-len(ticket) % 4))
    first, second = blinded + codes[0].encode(), bare + report
    pieces = {first[i : i + 8] for i in range(len(first) - 7)}  # by chance equal with probability below 1e-12
    assert not any(second[i : i + 8] in pieces for i in range(len(second) - 7))
    assert page.locator("#ticket").inner_text() == ticket
    assert phone.context.cookies() == []
    kept = page.evaluate("indexedDB.databases().then(all => all.map(each => each.name))")
    assert any(name.startswith("discreet-ticket-") for name in kept)
    with running.client() as other:  # the same ticket is good for no other answer
        again = reports(counter.collection, [0])
        head = {"discreet-ticket": ticket}
        assert other.post(f"/s/{made.id}/reports", content=report, headers=head).status_code == 204
        assert other.post(f"/s/{made.id}/reports", content=again, headers=head).status_code == 403
    assert counter.server.n == 1


def test_a_ticket_that_another_key_signed_is_not_sent(running: Running, visit: Any) -> None:
    surveys = running.service.surveys
    made, codes = surveys.create("ana", "Do you run?", ["yes", "no"], **TERMS, codes=1, tickets=True)
    counter = surveys.counter(made)
    other, own = Issuer.new(3072), counter._issuer
    assert own is not None
    while other.key.modulus < own.key.modulus:  # a smaller one refuses messages above it: 6 in 100
        other = Issuer.new(3072)
    counter._issuer = other  # a server that signs with a key for this respondent alone
    phone = visit(320)
    phone.go(f"/s/{made.id}#key={made.key}")
    phone.page.get_by_label("no").check()
    phone.page.get_by_label("Your invitation code").fill(codes[0])
    phone.page.get_by_role("button", name="Get my ticket").click()
    phone.page.get_by_text("not a signature by the key of this collection").wait_for()
    assert [path for path, _, _ in phone.posted] == ["tickets"]


def test_a_page_that_is_hosted_elsewhere_sends_its_answer_here(
    running: Running, visit: Any, tmp_path: Path
) -> None:
    made, codes = running.service.surveys.create(
        "ana", "Do you swim?", ["yes", "no"], **TERMS, codes=1, tickets=True
    )
    with running.client() as stranger:
        zipped = stranger.get(f"/s/{made.id}/page.zip").content
    zipfile.ZipFile(io.BytesIO(zipped)).extractall(tmp_path)
    elsewhere = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files, directory=str(tmp_path)))
    thread = threading.Thread(target=elsewhere.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        page = visit(320).page
        page.goto(f"http://127.0.0.1:{elsewhere.server_port}/index.html#key={made.key}")
        page.get_by_label("no").check()
        page.get_by_label("Your invitation code").fill(codes[0])
        page.get_by_role("button", name="Get my ticket").click()
        page.get_by_role("button", name="Send it now").click()
        page.get_by_text("Thank you").wait_for()
    finally:
        elsewhere.shutdown()
        elsewhere.server_close()
        thread.join()
    assert running.service.surveys.counter(made).server.n == 1


class _Files(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def test_an_altered_collection_shows_a_refusal_and_no_form(running: Running, visit: Any) -> None:
    surveys = running.service.surveys
    made, _ = surveys.create("ana", "Do you vote?", ["yes", "no"], epsilon="1", days=10, cohort=1)
    counter = surveys.counter(made)
    counter.envelope = counter.envelope.replace(b"Do you vote?", b"Do you lie??")
    phone = visit(320)
    phone.go(f"/s/{made.id}#key={made.key}")
    phone.page.get_by_text("Do not answer this").wait_for()
    assert phone.barriers() == []
    assert phone.page.locator("#form").is_hidden()
    other, _ = surveys.create("ana", "Another one?", ["yes", "no"], epsilon="1", days=10, cohort=1)
    phone.go(f"/s/{other.id}#key={made.key}")  # a link whose key is not that of the survey
    phone.page.get_by_text("Do not answer this").wait_for()
    assert phone.page.locator("#form").is_hidden()


def test_pages_fit_a_phone_and_obey_the_policy(running: Running, visit: Any) -> None:
    running.service.accounts.add("cura", Role.CURATOR, PASSWORD)
    curator = visit(320, **PHONE)
    curator.sign_in("cura")
    made, _ = running.service.surveys.create("cura", "Tea?", ["yes", "no"], **TERMS, codes=2, tickets=True)
    pages = ["/", "/vaults/visits", "/vaults/visits/ask", "/vaults/visits/access", "/vaults/visits/spending"]
    pages += ["/vaults/visits/releases", "/people", "/account", "/surveys", "/audit", "/new", "/join"]
    for path in [*pages, f"/surveys/{made.id}"]:  # the last one loads itself again
        assert curator.go(path).status == 200, path
        assert curator.fits(), path
        assert curator.unnamed() == [], path
        assert curator.barriers() == [], path
    stranger = visit(320)
    for path, status in (("/login", 200), ("/s/absent", 404)):
        assert stranger.go(path).status == status
        assert stranger.barriers() == []


def _filled(text: str, route: Any) -> None:
    route.fulfill(body=text, content_type="text/html")


def test_pages_that_soon_pass_or_tell_of_faults_have_no_barriers(running: Running, visit: Any) -> None:
    actor = running.service.accounts.by_token(running.service.accounts.new_token("curator"))
    broken = {"name": "visits", "number": 0, "problem": "An entry was changed.", "command": "# visits"}
    shown: dict[str, dict[str, Any]] = {
        "waiting": {},
        "job": {"kind": kind_of("synthetic"), "far": Progress("fitting", 0.4), "cancel": "/"},
        "invited": {"name": "ana", "state": "1"},
        "audit": {"ledgers": [broken], "powers": []},
    }
    window = visit(320)
    for name, values in shown.items():
        text = page(name, None if name == "invited" else actor, **values).content
        window.page.route(f"**/shown/{name}", partial(_filled, text))
        window.go(f"/shown/{name}")
        assert window.fits(), name
        assert window.unnamed() == [], name
        assert window.barriers() == [], name


def test_barriers_on_a_page_are_found(visit: Any) -> None:
    window = visit()
    window.go("/login")
    window.page.evaluate("document.querySelector('h1').style.color = '#bbb'")  # by the debugger
    window.page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    found = " ".join(window.barriers())
    assert "button-name" in found
    assert "light: serious color-contrast" in found
