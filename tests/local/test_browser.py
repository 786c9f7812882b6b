"""Test the JavaScript client in a real browser: the bytes of Python, and a device that remembers every report."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from discreet.local.collection import signing
from discreet.local.collection.collection import Collection
from discreet.local.device.device import permanent_answer
from discreet.local.device.wire import unpacked
from discreet.local.server.aggregator import Aggregator
from tests.local import vectors
from tests.local.collections_of import WINDOW
from tests.servers.browser import CLIENT, Browser, Server, Tab

pytestmark = pytest.mark.xdist_group("browser")

COUNTED = "const counted = (text) => [String(Number(text ?? 0) + 1), Number(text ?? 0) + 1];"


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.stopped()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.stopped()


@pytest.fixture
def tab(browser: Browser, server: Server) -> Tab:
    return browser.tab(server.origin)


def test_a_browser_makes_the_bytes_of_python(tab: Tab) -> None:
    script = """
      const { checks } = await import("/vectors.js");
      const all = checks(shared).map(async ([name, check]) => {
        try { await check(); } catch (error) { return `${name}: ${error.message}`; }
      });
      return await Promise.all(all);"""
    failures = tab.run(script, shared=json.loads(vectors.PATH.read_text()))
    assert len(failures) > 100
    assert [each for each in failures if each] == []


def test_the_page_of_the_readme_reports_once_and_is_counted(tab: Tab, server: Server) -> None:
    readme = (CLIENT / "README.md").read_text()
    (page,) = re.findall(r"```js\n(.*?)```", readme, re.DOTALL)
    survey = Collection.design("colours", domain=["red", "green"], epsilon=1, window=("2026-01-01", "2099-12-31"))
    private, public = signing.new_key()
    script = """
      Object.assign(globalThis, { envelope, publicKey: client.fromHex(key) });
      await import(URL.createObjectURL(new Blob([page], { type: "text/javascript" })));"""
    names = {"page": page.replace("./index.js", f"{server.origin}/index.js"), "key": public.hex()}
    for _ in range(2):
        tab.run(script, envelope=signing.signed(survey, private).decode(), **names)
    assert Aggregator(survey, identified=True).update(server.posted()) == 1
    assert server.silent()


def test_tabs_and_workers_take_turns(browser: Browser, server: Server) -> None:
    take_turns = f"""{COUNTED}
      const turn = () => new WebStorage("turns").transaction(counted);
      const turns = await Promise.all(Array.from({{ length: 30 }}, turn));"""
    inside = f'import {{ WebStorage }} from "{server.origin}/index.js";{take_turns} postMessage(turns);'
    by_a_worker = """
      const source = URL.createObjectURL(new Blob([inside], { type: "text/javascript" }));
      const worker = new Worker(source, { type: "module" });
      return await new Promise((resolve, reject) => {
        worker.onmessage = ({ data }) => resolve(data);
        worker.onerror = (event) => reject(new Error(event.message));
      });"""
    tabs = [browser.tab(server.origin) for _ in range(3)]
    begun = [tabs[0].begin(by_a_worker, inside=inside)]
    begun += [tab.begin(f"const {{ WebStorage }} = client;{take_turns} return turns;") for tab in tabs[1:]]
    turns = [turn for tab, number in zip(tabs, begun, strict=True) for turn in tab.result(number)]
    assert sorted(turns) == list(range(1, 91))


def test_a_change_that_throws_leaves_the_state_as_it_was(tab: Tab) -> None:
    script = f"""{COUNTED}
      const storage = new client.WebStorage("throws");
      await storage.transaction(counted);
      const refusal = new client.BudgetExceeded("no");
      const same = await storage.transaction(() => {{ throw refusal; }}).catch((error) => error === refusal);
      return [same, await storage.transaction(counted)];"""
    assert tab.run(script) == [True, 2]


def test_a_page_that_has_reported_or_refused_does_not_keep_others_from_deleting_the_database(tab: Tab) -> None:
    script = f"""{COUNTED}
      const storage = new client.WebStorage("deleted");
      await storage.transaction(counted);
      await storage.transaction(() => {{ throw new Error("no"); }}).catch(() => null);
      await new Promise((resolve, reject) => {{
        const request = indexedDB.deleteDatabase("deleted");
        request.onblocked = () => reject(new Error("another connection has the database open"));
        request.onsuccess = resolve;
      }});
      return await storage.transaction(counted);"""
    assert tab.run(script) == 1


def test_a_change_waits_for_the_disk(tab: Tab) -> None:
    """A browser that is killed does not show this, since its machine goes on and writes what it was given."""
    script = f"""{COUNTED}
      const asked = [];
      const begin = IDBDatabase.prototype.transaction;
      IDBDatabase.prototype.transaction = function (...options) {{
        const begun = begin.apply(this, options);
        asked.push([begun.mode, begun.durability]);
        return begun;
      }};
      await new client.WebStorage("disk").transaction(counted);
      return asked;"""
    assert tab.run(script) == [["readwrite", "strict"]]


def test_a_state_for_which_there_is_no_room_is_refused_and_the_old_one_stays(
    browser: Browser, server: Server, tab: Tab
) -> None:
    change = """
      const state = "x".repeat(length);
      const storage = new client.WebStorage("room");
      return await storage.transaction((text) => [state, text?.length]).catch((error) => error.message);"""
    browser.call("Storage.overrideQuotaForOrigin", tab.session, origin=server.origin, quotaSize=50_000)
    assert tab.run(change, length=10) is None
    refusal = tab.run(change, length=60_000)
    browser.call("Storage.overrideQuotaForOrigin", tab.session, origin=server.origin)
    assert str(refusal).startswith(
        'This browser does not keep the state of the device in its database "room" (Quota'
    )
    assert tab.run(change, length=20) == 10


def test_a_database_that_the_browser_closes_or_cannot_open_is_a_refusal(tab: Tab) -> None:
    script = """
      indexedDB.open("newer", 2);
      const forgotten = () => {
        const request = new XMLHttpRequest();
        request.open("GET", "/forget", false); // the transaction waits for it
        request.send();
        return ["state", request.status];
      };
      const tried = (name) => new client.WebStorage(name).transaction(forgotten).catch((error) => error.message);
      return [await tried("newer"), await tried("closed")];"""
    newer, closed = tab.run(script)
    assert 'in its database "newer" (VersionError: ' in str(newer)
    assert 'in its database "closed" (' in str(closed)


def test_a_browser_that_is_killed_when_a_report_arrives_knows_that_it_was_sent(
    browser: Browser, server: Server
) -> None:
    """A new secret gives another answer for 300 values, each bit of which is equal with a chance below 2/3."""
    survey = Collection.design(
        "places", domain=300, protocol="oue", epsilon=1, longitudinal="memoised", window=WINDOW, minimum_cohort=1
    )
    private, public = signing.new_key()
    names = {"envelope": signing.signed(survey, private).decode(), "key": public.hex()}
    report = """
      const now = new Date(`2026-05-${day}T12:00:00Z`);
      const collection = await client.opened(envelope, client.fromHex(key), now);
      const device = new client.Device(new client.WebStorage(), { lifetime: "8", perPeriod: "8", now: () => now });
      const frame = device.report(collection, 7);
      const body = await frame.then((sent) => client.batch([sent]), (refusal) => refusal.message);
      await fetch("/reports", { method: "POST", body });"""
    server.on_arrival = browser.killed
    browser.tab(server.origin).begin(report, day="01", **names)
    first = server.posted()
    server.on_arrival = None
    browser.restart()
    tab = browser.tab(server.origin)
    tab.run(report, day="01", **names)
    assert b"has its report of this period" in server.posted()
    tab.run(report, day="02", **names)
    assert _payload(server.posted(), survey) == _payload(first, survey)
    state = tab.run("return await new client.WebStorage().transaction((text) => [text, text]);")
    answer, _ = permanent_answer(survey, survey.one(7), bytes.fromhex(json.loads(state)["secret"]))
    assert answer == _payload(first, survey)
    assert Aggregator(survey, identified=True).update(first) == 1


def _payload(batch: bytes, survey: Collection) -> bytes:
    rows = unpacked(batch)
    assert rows is not None
    return rows[0, -survey.randomiser.payload_bytes :].tobytes()
