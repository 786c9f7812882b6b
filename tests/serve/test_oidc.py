"""Sign-in by a provider of OpenID Connect, a real process on loopback with real signatures, and attacks on it."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from discreet.errors import ParameterError
from discreet.serve.accounts import Role
from discreet.serve.settings import Oidc, Settings
from tests.serve.conftest import PASSWORD, Running, started
from tests.servers.oidc import CLIENT, SECRET, Provider, provider

pytestmark = pytest.mark.xdist_group("oidc")
OWN = {"Sec-Fetch-Site": "same-origin"}
NOW = int(time.time())


@pytest.fixture(scope="module")
def login(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, Provider]]:
    folder = tmp_path_factory.mktemp("vaults")
    (folder / "secret").write_text(f"{SECRET}\n")
    listening = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    with provider(f"{address}/login/oidc/callback") as there:
        oidc = Oidc(there.issuer, CLIENT, address, client_secret_file=str(folder / "secret"), label="the office")
        made = started(folder, sockets=[listening], logins_per_minute=10_000, oidc=oidc)
        made.service.accounts.first_run()
        made.service.accounts.add("ana", Role.ANALYST, provider=True)
        made.service.accounts.add("bo", Role.ANALYST, PASSWORD)
        assert came_back((made, there)).status_code == 303  # "ana" is linked, so that a right token would do
        yield made, there
        made.stop()


def browser(running: Running, **headers: str) -> httpx2.Client:
    return httpx2.Client(base_url=running.address, headers=headers, timeout=60, verify=False)


def way_back(login: tuple[Running, Provider], client: httpx2.Client, path: str = "/login/oidc") -> str:
    """Go to the provider, and return the address that it sends the browser back to."""
    begun = client.get(path)
    assert begun.status_code == 303, begun.text
    back = login[1].client.get(begun.headers["location"])
    assert back.headers["location"].startswith(f"{login[0].address}/login/oidc/callback?")
    return str(back.headers["location"])


def came_back(login: tuple[Running, Provider], **how: Any) -> httpx2.Response:
    """Sign in in a new browser, at a provider that behaves so."""
    running, there = login
    there.behave(**how)
    with browser(running) as client:
        return client.get(way_back(login, client))


def person(name: str | None, subject: str) -> dict[str, Any]:
    return {"claims": {"preferred_username": name, "sub": subject}}


def test_a_person_with_an_account_signs_in_and_gets_a_session_of_the_service(
    login: tuple[Running, Provider],
) -> None:
    running, there = login
    there.behave()
    with browser(running) as client:
        assert "Sign in with the office" in client.get("/login").text
        assert "Sign in with the office" in client.get("/").text
        assert "set-cookie" not in client.get("/login").headers
        client.cookies.set("discreet", "chosen-by-an-attacker", domain="127.0.0.1")
        done = client.get(way_back(login, client))
        assert (done.status_code, done.headers["location"]) == (303, "/")
        key = client.cookies["discreet"]
        assert "chosen" not in key
        home = client.get("/")
        assert home.status_code == 200
        assert "ana" in home.text
        client.get(way_back(login, client))
        assert client.cookies["discreet"] != key
    with browser(running, Cookie=f"discreet={key}") as old:
        assert old.get("/").status_code == 401
    assert came_back(login, twist="elliptic").status_code == 303


WRONG: dict[str, dict[str, Any]] = {
    "nonce": {"claims": {"nonce": "another"}},
    "no nonce": {"claims": {"nonce": None}},
    "audience": {"claims": {"aud": "another service"}},
    "the audience of another service by this party": {"claims": {"aud": "another service", "azp": CLIENT}},
    "audiences without a party": {"claims": {"aud": [CLIENT, "another service"]}},
    "another party": {"claims": {"aud": [CLIENT], "azp": "another service"}},
    "issuer": {"claims": {"iss": "https://evil.example"}},
    "expired": {"claims": {"exp": NOW - 3600, "iat": NOW - 3700}},
    "no end": {"claims": {"exp": None}},
    "an end that is a text": {"claims": {"exp": "9999999999"}},
    "of tomorrow": {"claims": {"iat": NOW + 86_400, "exp": NOW + 90_000}},
    "of yesterday": {"claims": {"iat": NOW - 86_400}},
    "not yet": {"claims": {"nbf": NOW + 86_400}},
    "no subject": {"claims": {"sub": None}},
    "unsigned": {"twist": "none"},
    "signed with the public key": {"twist": "hmac"},
    "another key of the same name": {"twist": "forged"},
    "altered": {"twist": "altered"},
    "a key that the token brings along": {"twist": "own key"},
    "the name of a key of another kind": {"twist": "key of another kind"},
    "mix-up": {"back": {"iss": "https://evil.example"}},
    "a code that was never given": {"back": {"code": "guessed"}},
    "no code": {"back": {"code": None, "error": "access_denied", "error_description": "<b>private</b>"}},
    "another state": {"back": {"state": "x" * 43}},
    "no state": {"back": {"state": None}},
}


@pytest.mark.parametrize("how", WRONG.values(), ids=list(WRONG))
def test_what_does_not_prove_a_person_is_refused(login: tuple[Running, Provider], how: dict[str, Any]) -> None:
    refused = came_back(login, **how)
    assert refused.status_code == 401
    assert "again" in refused.text
    assert "discreet=" not in refused.headers.get("set-cookie", "")
    for private in ("private", SECRET, "eyJ", "Error", "jose", "evil.example"):
        assert private not in refused.text
    assert SECRET not in login[0].log.getvalue()
    assert "eyJ" not in login[0].log.getvalue()


def test_a_state_belongs_to_its_browser_and_is_used_once(login: tuple[Running, Provider]) -> None:
    running, there = login
    there.behave()
    with browser(running) as attacker, browser(running) as victim:
        theirs = way_back(login, attacker)
        way_back(login, victim)  # the victim has a sign-in of their own under way
        assert victim.get(theirs).status_code == 401  # not signed in as the attacker
        again, key = way_back(login, attacker), attacker.cookies["discreet-sign-in"]
        assert attacker.get(again).status_code == 303
        refused = there.behave()["refused"]
        with browser(running, Cookie=f"discreet-sign-in={key}") as replayed:
            assert replayed.get(again).status_code == 401
        assert there.behave()["refused"] == refused  # the provider was not even asked
        # The attacker puts a code of the victim into a sign-in of their own: PKCE.
        stolen, own = way_back(login, victim), way_back(login, attacker)
        code = re.search("code=([^&]+)", stolen)
        assert code is not None
        before = there.behave()["refused"]
        assert attacker.get(re.sub("code=[^&]+", f"code={code[1]}", own)).status_code == 401
        assert there.behave()["refused"] == before + 1
        # A code that was used is put into a new sign-in.
        done = way_back(login, victim)
        assert victim.get(done).status_code == 303
        code, again = re.search("code=([^&]+)", done), way_back(login, victim)
        assert code is not None
        assert victim.get(re.sub("code=[^&]+", f"code={code[1]}", again)).status_code == 401
        assert there.behave()["refused"] == before + 2
    with browser(running, **{"Sec-Fetch-Site": "cross-site"}) as led:
        assert led.get("/login/oidc").status_code == 403


def test_keys_are_kept_and_a_rotation_is_noticed_but_forged_keys_fetch_nothing(
    login: tuple[Running, Provider],
) -> None:
    before = login[1].behave()["fetched"]
    assert came_back(login, rotate=True).status_code == 303
    assert came_back(login).status_code == 303
    for _ in range(3):
        assert came_back(login, twist="forged kid").status_code == 401
    assert login[1].behave()["fetched"] <= before + 1


def test_a_name_does_not_take_over_an_account(login: tuple[Running, Provider]) -> None:
    running, _ = login
    # The last two are called, for good, as an account and as the subject of another person are.
    for name, subject in (("curator", "2"), ("bo", "3"), ("ana", "4"), ("eve", "curator"), ("eve", " 1")):
        found = came_back(login, **person(name, subject))
        assert "You have no account yet" in found.text
        assert "discreet=" not in found.headers["set-cookie"]
    assert came_back(login, **person("renamed", "1")).status_code == 303  # the subject counts
    running.service.accounts.disable("ana")
    assert came_back(login).status_code == 403
    running.service.accounts.disable("ana", disabled=False)
    running.service.identities.expect("ana")
    assert came_back(login, **person("ana", "5")).status_code == 303
    assert "You have no account yet" in came_back(login).text
    running.service.identities.expect("ana")
    assert came_back(login).status_code == 303


def test_an_invitation_gives_the_right_and_the_provider_does_not(login: tuple[Running, Provider]) -> None:
    running, there = login
    code = running.service.accounts.invite(Role.AUDITOR, by="curator")
    there.behave(claims={"preferred_username": "kim", "sub": "77", "role": "curator", "groups": ["curator"]})
    for given, wanted in (("wrong", 404), (code, 303)):
        with browser(running, **OWN) as kim:
            page = kim.get(way_back(login, kim))
            state = re.search('name="state" value="([^"]+)"', page.text)
            assert state is not None
            form = {"code": given, "state": state[1]}
            with browser(running, **OWN) as other:
                assert other.post("/join/oidc", data={**form, "state": "x"}).status_code == 401
            assert kim.post("/join/oidc", data=form, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
            assert kim.post("/join/oidc", data=form).status_code == wanted
    with browser(running) as kim:
        assert kim.get(way_back(login, kim)).status_code == 303
        assert "auditor" in kim.get("/").text
    assert {user.name: user.role for user in running.service.accounts.users()}["kim"] is Role.AUDITOR
    for name in ("Kim", "kim/..", None):
        assert came_back(login, **person(name, "78")).status_code == 403


def test_a_person_links_the_account_that_is_signed_in(login: tuple[Running, Provider]) -> None:
    running, there = login
    with browser(running, **OWN) as bo:
        assert bo.get("/login/oidc?link=true").status_code == 401
        bo.post("/login", data={"name": "bo", "password": PASSWORD})
        assert "Link this account" in bo.get("/login").text
        assert 'href="/login/oidc?link=true"' in bo.get("/account").text
        there.behave(**person("someone", "99"))
        assert bo.get(way_back(login, bo, "/login/oidc?link=true")).headers["location"] == "/account"
        back = way_back(login, bo, "/login/oidc?link=true")
        bo.post("/logout")
        assert bo.get(back).status_code == 401
    assert came_back(login, **person("someone", "99")).status_code == 303
    with browser(running, **OWN) as bo:
        bo.post("/login", data={"name": "bo", "password": PASSWORD})
        there.behave()
        assert bo.get(way_back(login, bo, "/login/oidc?link=true")).status_code == 403  # "ana" has that person


def test_a_provider_that_is_gone_or_not_the_one_of_the_settings_is_reported_in_our_words(tmp_path: Path) -> None:
    with provider("http://127.0.0.1:1/login/oidc/callback") as there:
        oidc = Oidc(there.issuer, CLIENT, "http://127.0.0.1:1", client_secret="wrong")
        running = started(tmp_path, oidc=oidc, logins_per_minute=1000)
        with browser(running) as client:
            for how in (
                {"status": 500},
                {"about": {"issuer": "https://evil.example"}},
                {"about": {"token_endpoint": "ftp://evil.example/token"}},
                {"about": {"jwks_uri": "http://evil.example/jwks"}},
            ):
                there.behave(**how)
                failed = client.get("/login/oidc")
                assert failed.status_code == 503
                assert "cannot be reached" in failed.text
                assert "evil" not in failed.text
            there.behave()
            for gone in (False, True):
                back = there.client.get(client.get("/login/oidc").headers["location"]).headers["location"]
                if gone:
                    there.process.kill()
                    there.process.wait(60)
                refused = client.get(back.replace("http://127.0.0.1:1", running.address))
                assert refused.status_code == (503 if gone else 401)  # or the secret is wrong
                assert "private" not in refused.text
        running.stop()


def test_an_address_that_is_not_verified_is_no_name_and_a_provider_that_names_itself_must(tmp_path: Path) -> None:
    """The bugs it would catch: an account for who types another person's address; a code of another provider."""
    listening = socket.create_server(("127.0.0.1", 0))
    address, name = f"http://127.0.0.1:{listening.getsockname()[1]}", "ana@example.org"
    with provider(f"{address}/login/oidc/callback") as there:
        oidc = Oidc(there.issuer, CLIENT, address, client_secret=SECRET, claim="email")
        running = started(tmp_path, sockets=[listening], oidc=oidc, logins_per_minute=1000)
        login = (running, there)
        running.service.accounts.add(name, Role.CURATOR, provider=True)
        about = {"about": {"authorization_response_iss_parameter_supported": True}}
        for verified in (False, None, "true", 1):
            told = came_back(login, claims={"email": name, "email_verified": verified}, **about)
            assert told.status_code == 403
            assert "discreet=" not in told.headers["set-cookie"]
        right = {"claims": {"email": name, "email_verified": True}, **about}
        assert came_back(login, back={"iss": None}, **right).status_code == 401
        assert came_back(login, **right).status_code == 303
        running.stop()


def test_no_parameter_chooses_where_a_browser_goes_after_a_sign_in(login: tuple[Running, Provider]) -> None:
    running, there = login
    there.behave()
    evil = "https://evil.example/"
    more = "&".join(f"{name}={evil}" for name in ("next", "redirect_uri", "return_to", "continue"))
    with browser(running, **OWN) as client:
        assert evil not in client.get(f"/login?{more}").text
        form = {"name": "bo", "password": PASSWORD}
        assert client.post(f"/login?{more}", data=form).headers["location"] == "/"
        begun = client.get(f"/login/oidc?{more}", headers={"host": "evil.example"})
        assert begun.headers["location"].startswith(f"{there.issuer}/")
        assert "evil" not in begun.headers["location"]
        done = client.get(f"{way_back(login, client)}&{more}")
        assert (done.status_code, done.headers["location"]) == (303, "/")
        for path in ("//evil.example", "//evil.example/..", "/%2Fevil.example/", "/%5Cevil.example", "/login/"):
            found = client.get(f"{running.address}{path}")
            assert "evil" not in found.headers.get("location", "")


def test_settings_are_checked_and_the_secret_is_not_shown(tmp_path: Path) -> None:
    config = tmp_path / "discreet.toml"
    config.write_text('[oidc]\nissuer = "https://login.example"\nclient_id = "discreet"\n')
    environment = {
        "DISCREET_SERVE_OIDC_CLIENT_SECRET": SECRET,
        "DISCREET_SERVE_OIDC_ADDRESS": "https://vaults.example/",
    }
    found = Settings.read(tmp_path, config=config, environment=environment)
    assert found.oidc is not None
    assert (found.oidc.redirect, found.oidc.secret()) == ("https://vaults.example/login/oidc/callback", SECRET)
    assert SECRET not in repr(found)
    for wrong in (
        {"DISCREET_SERVE_OIDC_ADDRESS": "http://vaults.example"},
        {**environment, "DISCREET_SERVE_OIDC_ISSUER": "http://login.example"},
        {**environment, "DISCREET_SERVE_OIDC_CLIENT_SECRET_FILE": str(config)},
        {"DISCREET_SERVE_OIDC_ADDRESS": "https://a.example", "DISCREET_SERVE_OIDC_CLIENT_SECRET_FILE": "nowhere"},
        {**environment, "DISCREET_SERVE_OIDC_NONSENSE": "1"},
        {},
    ):
        with pytest.raises(ParameterError):
            Settings.read(tmp_path, config=config, environment=wrong)
