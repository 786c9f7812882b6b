"""The console in a real browser: a curator seals, an analyst asks, an auditor looks, a respondent answers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from discreet.local import Aggregator
from discreet.local.device.wire import unpacked
from discreet.serve.accounts import Role
from discreet.serve.survey.surveys import surveys_of
from tests.serve.conftest import PASSWORD, Running

pytestmark = pytest.mark.xdist_group("browser")
PHONE = {"color_scheme": "dark"}


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
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("heading", name="Answer").wait_for()
    assert running.spent("people") > 0
    spent = running.spent("people")
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
    surveys = surveys_of(running.service)
    made, _ = surveys.create("ana", "Do you smoke?", ["yes", "no"], epsilon="1", days=10, cohort=1)
    phone = visit(320, **PHONE)
    phone.go(f"/s/{made.id}#key={made.key}")
    page = phone.page
    page.get_by_label("yes").check()
    page.get_by_role("button", name="Try the coin").click()
    assert "ten phones like yours would say" in page.locator("#thrown").inner_text()
    assert phone.fits()
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


def test_an_altered_collection_shows_a_refusal_and_no_form(running: Running, visit: Any) -> None:
    surveys = surveys_of(running.service)
    made, _ = surveys.create("ana", "Do you vote?", ["yes", "no"], epsilon="1", days=10, cohort=1)
    counter = surveys.counter(made)
    counter.envelope = counter.envelope.replace(b"Do you vote?", b"Do you lie??")
    phone = visit(320)
    phone.go(f"/s/{made.id}#key={made.key}")
    phone.page.get_by_text("Do not answer this").wait_for()
    assert phone.page.locator("#form").is_hidden()
    other, _ = surveys.create("ana", "Another one?", ["yes", "no"], epsilon="1", days=10, cohort=1)
    phone.go(f"/s/{other.id}#key={made.key}")  # a link whose key is not that of the survey
    phone.page.get_by_text("Do not answer this").wait_for()
    assert phone.page.locator("#form").is_hidden()


def test_pages_fit_a_phone_and_obey_the_policy(running: Running, visit: Any) -> None:
    running.service.accounts.add("cura", Role.CURATOR, PASSWORD)
    curator = visit(320, **PHONE)
    curator.sign_in("cura")
    pages = ["/", "/vaults/visits", "/vaults/visits/ask", "/vaults/visits/access", "/vaults/visits/spending"]
    for path in [*pages, "/vaults/visits/releases", "/people", "/account", "/surveys", "/audit", "/new", "/join"]:
        assert curator.go(path).status == 200, path
        assert curator.fits(), path
        assert curator.unnamed() == [], path
