"""Sign in by a provider in a real browser, with and without script: the policy of pages lets the way through."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from discreet.serve.accounts import Role
from discreet.serve.settings import Oidc
from tests.serve.conftest import Running, started
from tests.servers.oidc import CLIENT, SECRET, Provider, provider

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, Provider]]:
    listening = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    with provider(f"{address}/login/oidc/callback") as office:
        oidc = Oidc(office.issuer, CLIENT, address, client_secret=SECRET, label="the office")
        made = started(tmp_path_factory.mktemp("vaults"), sockets=[listening], logins_per_minute=1000, oidc=oidc)
        made.service.accounts.add("ana", Role.ANALYST, provider=True)
        yield made, office
        made.stop()


@pytest.fixture
def running(there: tuple[Running, Provider]) -> Running:
    return there[0]


@pytest.mark.parametrize("script", [True, False])
def test_a_button_signs_in_and_an_invitation_makes_an_account(
    there: tuple[Running, Provider], visit: Any, script: bool
) -> None:
    running, office = there
    office.behave()
    window = visit(320, java_script_enabled=script)
    window.go("/")
    assert window.fits()
    window.page.get_by_role("link", name="Sign in with the office").click()
    window.page.wait_for_url(f"{running.address}/")
    window.page.get_by_role("link", name="ana").wait_for()
    assert {cookie["name"] for cookie in window.context.cookies()} == {"discreet"}

    name = f"kim{int(script)}"
    office.behave(claims={"sub": name, "preferred_username": name})
    second = visit(320, java_script_enabled=script)
    second.go("/login")
    second.page.get_by_role("link", name="Sign in with the office").click()
    second.page.get_by_label("Invitation").fill(running.service.accounts.invite(Role.AUDITOR, by="curator"))
    assert second.fits()
    second.page.get_by_role("button", name="Make the account").click()
    second.page.wait_for_url(f"{running.address}/")
    assert "auditor" in second.page.content()
