"""Sessions of the console: keys that the server draws, no cookie for strangers, no change from another site."""

from __future__ import annotations

import httpx2

from tests.serve.conftest import PASSWORD, Running

OWN = {"Sec-Fetch-Site": "same-origin"}


def sign_in(client: httpx2.Client, **headers: str) -> httpx2.Response:
    return client.post("/login", data={"name": "ana", "password": PASSWORD}, headers={**OWN, **headers})


def test_a_session_opens_the_console_and_not_the_api(running: Running) -> None:
    with running.client() as client:
        assert client.get("/").status_code == 401
        response = sign_in(client)
        assert response.status_code == 303
        cookie = response.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert "ana" in client.get("/").text
        assert client.get("/api/v1/whoami").status_code == 401
        assert client.post("/logout", headers=OWN).status_code == 303
    with running.client(Cookie=cookie.partition(";")[0]) as old:
        assert old.get("/").status_code == 401


def test_a_key_that_a_browser_brings_is_never_adopted(running: Running) -> None:
    with running.client(Cookie="discreet=chosen-by-an-attacker") as client:
        response = sign_in(client)
        assert response.status_code == 303
        assert "chosen-by-an-attacker" not in response.headers["set-cookie"]
    with running.client(Cookie="discreet=chosen-by-an-attacker") as attacker:
        assert attacker.get("/").status_code == 401


def test_a_wrong_token_on_the_sign_in_page_is_explained_to_a_person(running: Running) -> None:
    with running.client(**OWN) as client:
        refused = client.post("/login", data={"name": "", "password": "dsc_half-of-a-token"})
        assert refused.status_code == 401
        assert "Copy all of it" in refused.text
        assert "Authorization" not in refused.text
        assert "set-cookie" not in refused.headers
    with running.client(Authorization="Bearer dsc_half-of-a-token") as program:  # a program is told about headers
        assert "Authorization: Bearer" in program.get("/api/v1/whoami").text


def test_a_token_does_not_open_the_console(running: Running) -> None:
    with running.client("ana") as client:
        assert client.get("/").status_code == 401


def test_a_change_from_another_site_is_refused(running: Running) -> None:
    with running.client() as client:
        data = {"name": "ana", "password": PASSWORD}
        evil: tuple[dict[str, str], ...] = (
            {},
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
            {"Origin": "http://evil.example"},
        )
        assert [client.post("/login", data=data, headers=one).status_code for one in evil] == [403] * 4
        assert client.post("/login", data=data, headers={"Origin": running.address}).status_code == 303


def test_a_wrong_password_and_an_unknown_name_get_the_same_reply(running: Running) -> None:
    with running.client() as client:
        wrong = client.post("/login", data={"name": "ana", "password": "x" * 20}, headers=OWN)
        unknown = client.post("/login", data={"name": "nadia", "password": "x" * 20}, headers=OWN)
    assert wrong.status_code == unknown.status_code == 401
    assert wrong.content == unknown.content
    assert "set-cookie" not in wrong.headers
