"""Sign in and out: begin a session with a key that the server draws, and end it.

Attempts with a password are counted: those of a browser in which this name has signed in before apart from all
others (`accounts/devices`), so that a stranger who knows a name does not keep its owner out.
"""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from typing import Annotated, Any

import msgspec
from litestar import Request, Response, get, post
from litestar.connection import ASGIConnection
from litestar.datastructures import Cookie
from litestar.handlers import BaseRouteHandler
from litestar.params import URLEncodedBody

from discreet.errors import AlreadyRunning, NotSignedIn
from discreet.serve.accounts.devices import LASTS
from discreet.serve.accounts.secrets import digest
from discreet.serve.console.pages import Page, page, provider_of
from discreet.serve.guards import Parts, by_session, client_place, cookie_name, own_cookie, service_of
from discreet.serve.service import Service


async def in_turn(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Let in who has a session. While a question of theirs runs, a page waits for its turn, a few ticks at most.

    It looks again every quantum after it arrived, so it shows no more about the question than a poll does.
    """
    settings = service_of(connection).settings
    for _ in range(math.ceil(settings.deadline / settings.quantum)):
        with suppress(AlreadyRunning):  # which comes a quantum later
            await by_session(connection, handler)
            return
    await by_session(connection, handler)


class Login(msgspec.Struct, forbid_unknown_fields=True):
    """What the form sends: a name and a password, or a token with the whole scope as the password alone."""

    password: Annotated[str, msgspec.Meta(max_length=1024)]
    name: Annotated[str, msgspec.Meta(max_length=64)] = ""


@get("/login")
async def form(request: Request[Any, Any, Any], service: Parts) -> Page:
    """Show the form; to a person who is signed in, the way to link the account with the provider as well."""
    provider, key, linking = provider_of(service), request.cookies.get(cookie_name(service)), ""
    if provider and key:
        with suppress(NotSignedIn):
            linking = (await asyncio.to_thread(service.accounts.by_session, key)).name
    return page("login", problem=None, name="", provider=provider, linking=linking)


@post("/login", status_code=303)
async def sign_in(
    data: URLEncodedBody[Login],
    request: Request[Any, Any, Any],
    service: Parts,
) -> Response[None]:
    """Begin a session. The key of an older session of this browser ends, and is never used again."""
    name, mark = cookie_name(service), request.cookies.get(_device(service), "")
    cookies = []
    if data.name:
        await _counted(request, service, data.name, mark)
        key = await asyncio.to_thread(service.accounts.sign_in, data.name, data.password)
        made = await asyncio.to_thread(service.devices.remember, data.name, mark)
        cookies = [own_cookie(service, _device(service), made, LASTS)]
    else:
        service.logins.take(client_place(request))
        key = await asyncio.to_thread(service.accounts.sign_in_with_token, data.password)
    if old := request.cookies.get(name):
        await asyncio.to_thread(service.accounts.end_session, old)
    service.log.note("signed in", by="password" if data.name else "token")
    return Response(None, status_code=303, headers={"location": "/"}, cookies=[cookie(service, key), *cookies])


async def _counted(request: Request[Any, Any, Any], service: Service, name: str, mark: str) -> None:
    """Count an attempt to sign in with a password, or refuse it. Names without an account are counted as well."""
    known: bool = await asyncio.to_thread(service.devices.knows, mark, name)
    if known:
        service.logins.take(f"device {digest(mark)}")
        return
    service.logins.take(client_place(request))  # first: an address that is refused uses up no attempt of a name
    service.guesses.take(name)


@post("/logout", status_code=303)
async def sign_out(request: Request[Any, Any, Any], service: Parts) -> Response[None]:
    """End the session, and remove the cookie."""
    await asyncio.to_thread(service.accounts.end_session, request.cookies.get(cookie_name(service), ""))
    gone = own_cookie(service, cookie_name(service), "", 0)
    return Response(None, status_code=303, headers={"location": "/login"}, cookies=[gone])


def _device(service: Service) -> str:
    return f"{cookie_name(service)}-device"


def cookie(service: Service, key: str) -> Cookie:
    """Return the cookie of a session."""
    return own_cookie(service, cookie_name(service), key, service.settings.session_longest)
