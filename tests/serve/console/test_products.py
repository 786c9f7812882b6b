"""Pages of oracles, synthetic tables and models over a socket: one charge, offers, jobs, labels and files."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from discreet import learn
from discreet.serve.accounts import Role
from discreet.serve.api.replies import PRODUCT
from tests.serve.conftest import ROWS, Running
from tests.serve.console.conftest import windows
from tests.serve.console.test_pages import signed_in

pytestmark = pytest.mark.xdist_group("team")
PRODUCTS = "/vaults/people/products"


@pytest.fixture(scope="module")
def cleo(team: Running) -> Iterator[httpx2.Client]:
    with signed_in(team, "cleo") as client:
        yield client


def ended(client: httpx2.Client, response: httpx2.Response) -> httpx2.Response:
    """Follow the pages of a job until it ended, and return the page that it leads to."""
    while response.status_code == 303 or response.headers.get("refresh"):
        where = response.headers["location"] if response.status_code == 303 else str(response.url)
        response = client.get(where)
    return response


def hidden(page: str, button: str) -> dict[str, str]:
    """Return the hidden fields of the form that has a button."""
    form = next(form for form in page.split("<form")[1:] if button in form.partition("</form>")[0])
    fields = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', form.partition("</form>")[0])
    return dict(fields)


def greek(page: str) -> list[str]:
    """Return the Greek letters of a page that is shown before one asks for more."""
    return re.findall("[α-ωΑ-Ω]", re.sub(r"(?s)<details.*?</details>", "", page))


def test_a_job_is_cancelled_costs_nothing_and_the_form_comes_back(team: Running, cleo: httpx2.Client) -> None:
    columns = {f"use-{i}": name for i, name in enumerate(("age", "city", "ill"))}
    before = team.spent("people")
    sent = cleo.post(f"{PRODUCTS}/synthetic", data={**columns, "by": "spend", "spend": "3", "key": "cancelled"})
    where, _, query = sent.headers["location"].partition("?")  # its worker has to start first
    assert "Cancel</button>" in cleo.get(sent.headers["location"]).text
    assert cleo.post(f"{where}/cancel?{query}").status_code == 303
    back = ended(cleo, cleo.get(sent.headers["location"]))
    assert "The job was cancelled." in back.text
    assert 'value="ill" checked' in back.text  # the form as it was
    assert team.spent("people") == before


def test_an_oracle_is_planned_for_free_opened_once_and_counts_its_free_answers(
    team: Running, cleo: httpx2.Client
) -> None:
    form = {"use-0": "age", "use-1": "city", "within": "100", "by": "spend", "spend": "5", "key": "once"}
    before = team.spent("people")
    planned = cleo.post(f"{PRODUCTS}/oracle/preview", data=form).text
    assert "This would use 5 % of the budget" in planned
    assert "answers can be paid for one by one" in planned
    assert team.spent("people") == before
    opened = cleo.post(f"{PRODUCTS}/oracle", data=form)
    place, spent = opened.headers["location"], team.spent("people")
    assert spent > before
    assert "You made this before, so it is free." in cleo.post(f"{PRODUCTS}/oracle/preview", data=form).text
    assert cleo.post(f"{PRODUCTS}/oracle", data=form).headers["location"] == place
    assert "0 questions answered, 0 of them free" in cleo.get(place).text
    for city in ("Oslo", "Bergen"):
        sql = f"select count(*) from people where city = '{city}'"
        assert cleo.post(f"{place}/ask", data={"sql": sql}).status_code == 303
    with team.client("cleo") as program:  # the API asks the same oracle, and is counted
        sql = "select count(*) from people where age > 50"
        asked = program.post(f"/api/v1/oracles/{place.rpartition('/')[2]}/ask", json={"sql": sql})
        assert asked.json()["free"]
        same = {"columns": ["age", "city"], "within": "100", "spend": "5%"}
        again = program.post("/api/v1/vaults/people/oracles", json=same)  # one path: it is the same oracle
        assert again.headers[PRODUCT] == place.rpartition("/")[2]
    shown = cleo.get(place).text
    assert html.unescape(shown).count(f"dp.Client('{team.address}', token=") == 1  # copy as Python works as it is
    assert "3 questions answered, 3 of them free" in shown
    assert "This used 5 % of the budget, once." in shown
    assert re.search(r"\d+(\.\d+)? % of the budget of the whole vault is left", shown)
    assert not greek(shown)
    answer = re.search(r"Oslo.*?</code></th><td class=\"number\">([\d,.]+) ", shown)
    assert answer is not None
    assert abs(float(answer[1].replace(",", "")) - ROWS / 2) < 200
    assert json.loads(cleo.get(f"{place}/files/label.yaml").text)["table"] == "people"
    assert team.spent("people") == spent
    assert f'href="{place}"' in cleo.get("/vaults/people").text


def test_a_refused_product_offers_something_affordable(team: Running, cleo: httpx2.Client) -> None:
    form = {"use-0": "age", "within": "100", "by": "spend", "spend": "99.9", "name": "large", "key": "large"}
    spent = team.spent("people")
    assert spent > 0
    refused = cleo.post(f"{PRODUCTS}/oracle", data=form)
    assert refused.status_code == 403
    job = ended(cleo, cleo.post(f"{PRODUCTS}/synthetic", data={"use-0": "age", "by": "spend", "spend": "99.9"}))
    assert job.status_code == 403
    assert team.spent("people") == spent
    offer = hidden(job.text, ">Spend ")
    assert (offer["by"], offer["use-0"]) == ("spend", "age")
    assert float(offer["spend"].rstrip("%")) < 99.9
    cheap = {**hidden(refused.text, ">Spend "), "spend": "1%"}
    assert cleo.post(f"{PRODUCTS}/oracle", data=cheap).status_code == 303
    assert team.spent("people") > spent


def test_an_oracle_that_is_used_up_offers_its_guess(team: Running, cleo: httpx2.Client) -> None:
    form = {"use-0": "age", "use-1": "city", "within": "12", "by": "spend", "spend": "0.2", "name": "small"}
    place = cleo.post(f"{PRODUCTS}/oracle", data=form).headers["location"]  # two answers, by its plan
    spent, last = team.spent("people"), 30
    while (refused := cleo.post(f"{place}/ask", data={"sql": over(last)})).status_code == 303:
        last += 1
        assert last < 40
    assert refused.status_code == 403
    guess = {"unchecked": "1", "sql": over(last)}
    assert hidden(refused.text, "Take its guess").items() >= {"unchecked": "1"}.items()
    assert cleo.post(f"{place}/ask", data=guess).status_code == 303
    shown = cleo.get(place).text
    assert "not checked against the rows" in shown
    assert re.search(r"\d questions answered, 1 of them free", shown)
    assert team.spent("people") == spent


def over(age: int) -> str:
    return f"select count(*) from people where age > {age}"


def test_a_synthetic_table_is_a_job_with_a_report_and_rows(team: Running, cleo: httpx2.Client) -> None:
    form = {"use-0": "age", "use-1": "city", "by": "spend", "spend": "2", "key": "table"}
    sent = cleo.post(f"{PRODUCTS}/synthetic", data=form)
    assert "/jobs/" in sent.headers["location"]
    shown = ended(cleo, sent)
    assert shown.status_code == 200
    place = shown.url.path
    assert "mean distance" in shown.text
    assert not greek(shown.text)
    assert shown.text.count('<svg class="intervals"') == 2
    assert "Rows for each value of age" in shown.text  # by density: bins are of unequal width
    assert "Rows of the synthetic table by city" in shown.text
    spent = team.spent("people")
    rows = cleo.get(f"{place}/files/rows.csv", params={"rows": "7"})
    assert "attachment" in rows.headers["content-disposition"]
    assert [len(line.split(",")) for line in rows.text.splitlines()] == [2] * 8
    assert cleo.get(f"{place}/files/rows.parquet").content[:4] == b"PAR1"
    assert cleo.get(f"{place}/files/rows.exe").status_code == 404
    assert cleo.get(f"{place}/files/rows.csv", params={"rows": "-1"}).status_code == 422
    assert team.spent("people") == spent


def test_a_model_is_trained_as_a_job_drawn_and_predicts(team: Running, cleo: httpx2.Client) -> None:
    form = {"target": "ill", "estimator": "LogisticRegression", "use-0": "age", "by": "spend", "spend": "10"}
    shown = ended(cleo, cleo.post(f"{PRODUCTS}/model", data={**form, "key": "model"}))
    place = shown.url.path
    assert "What each value of age adds to the log-odds" in shown.text
    assert not greek(shown.text)
    old, young = (cleo.post(f"{place}/predict", data={"value-0": age}).text for age in ("79", "21"))
    assert "ill: true" in old
    assert "ill: false" in young
    wrong = cleo.post(f"{place}/predict", data={"value-0": "old"})
    assert wrong.status_code == 422
    assert learn.from_json(cleo.get(f"{place}/files/model.json").json()).task_.target == "ill"
    assert "# LogisticRegression of ill" in cleo.get(f"{place}/files/card.md").text


def test_a_share_that_is_granted_pays_for_that_share_of_the_budget(team: Running) -> None:
    team.account("shared")
    team.account("cura", Role.CURATOR)
    with signed_in(team, "cura") as curator:
        form = {"user": "shared", "share": "4"}
        assert curator.post("/vaults/people/grant", data=form).status_code == 303
    form = {"use-0": "age", "within": "100", "by": "spend", "name": "shared"}
    with signed_in(team, "shared") as shared:
        assert "100 % of the budget of shared is left" in shared.get("/vaults/people").text
        assert shared.post(f"{PRODUCTS}/oracle", data={**form, "spend": "1"}).status_code == 303
        assert "75 % of the budget of shared is left" in shared.get("/vaults/people").text
        assert shared.post(f"{PRODUCTS}/oracle", data={**form, "spend": "3"}).status_code == 303
        assert shared.post(f"{PRODUCTS}/oracle", data={**form, "spend": "0.1"}).status_code == 403


def test_products_are_made_on_a_phone_with_the_keyboard(team: Running, browser: Any) -> None:
    team.account("pia", Role.ANALYST, "people")
    with windows(browser, team) as opened:
        phone = opened(320, color_scheme="dark")
        phone.sign_in("pia")
        page = phone.page

        def shown() -> None:
            assert phone.fits(), page.url
            assert phone.unnamed() == [], page.url
            assert phone.barriers() == [], page.url

        phone.go("/vaults/people")
        page.get_by_role("link", name="Open an oracle").press("Enter")
        page.get_by_text("This would use 20 %").wait_for()  # the plan follows the form
        page.get_by_label("Share of the budget in percent").fill("3")
        page.get_by_text("This would use 3 %").wait_for()
        shown()
        page.get_by_label("Share of the budget in percent").press("Enter")
        page.get_by_label("Ask it").fill("select count(*) from people where ill")
        page.get_by_role("button", name="Ask the oracle").press("Enter")
        page.get_by_text("1 question answered").wait_for()
        shown()

        phone.go("/vaults/people/products/synthetic?use-1=city")
        page.get_by_label("Share of the budget in percent").fill("1")
        page.get_by_text("This would use 1 %").wait_for()
        shown()
        page.get_by_role("button", name="Make a synthetic table").press("Enter")
        page.get_by_role("heading", name="How wrong is it?").wait_for()
        shown()
        with page.expect_download() as download:
            page.get_by_role("link", name="Rows (CSV)").click()
        assert Path(download.value.path()).read_text().startswith('"city"')

        phone.go("/vaults/people/products/model")
        shown()
        page.get_by_label("Predict").select_option("ill")
        page.get_by_role("checkbox", name="age").check()
        page.get_by_label("Share of the budget in percent").fill("99")
        page.get_by_text("not enough").wait_for()
        page.get_by_role("button", name="Train a model").press("Enter")
        page.get_by_role("alert").wait_for()  # refused, with something affordable one click away
        shown()
        assert page.get_by_role("button", name=re.compile("^Spend .* of the budget")).count() == 1
        assert page.get_by_role("checkbox", name="age").is_checked()  # the form as it was


def test_products_belong_to_the_account_that_made_them(team: Running, cleo: httpx2.Client) -> None:
    team.account("dora", Role.ANALYST, "people")
    mine = re.search(r'href="(/vaults/people/products/oracle/[0-9a-f]+)"', cleo.get("/vaults/people").text)
    assert mine is not None
    with signed_in(team, "dora") as dora:
        assert dora.get(mine[1]).status_code == 404
        assert dora.post(f"{mine[1]}/ask", data={"sql": "select count(*) from people"}).status_code == 404
        assert dora.get(f"{mine[1]}/files/label.yaml").status_code == 404
    with signed_in(team, "audrey") as audrey:
        assert audrey.get(f"{PRODUCTS}/oracle").status_code == 403
        assert audrey.post(f"{PRODUCTS}/model", data={}).status_code == 403
    assert cleo.get(f"{PRODUCTS}/stream").status_code == 404
    elsewhere = mine[1].replace("/vaults/people/", "/vaults/other/")
    assert [cleo.get(f"{elsewhere}{rest}").status_code for rest in ("", "/files/label.yaml")] == [404, 404]
