"""Find out who makes a request: the API by a bearer token, the console by a cookie.

* The API takes no cookie, so no page of another site can make a browser send a request with rights.
* The console takes no token. What changes something must come from our own page: `Sec-Fetch-Site: same-origin`,
  or, where a browser leaves that out, an `Origin` that is our host. A request with neither is refused.
* The name of the analyst comes from here, and from no parameter.
"""

from __future__ import annotations

import asyncio
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from litestar.connection import ASGIConnection
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.handlers import BaseRouteHandler

from discreet.errors import NotPermitted, NotSignedIn
from discreet.serve.accounts import Actor
from discreet.serve.limits.gate import place_of
from discreet.serve.service import Service

Request = ASGIConnection[Any, Any, Any, Any]
WhoAsks: TypeAlias = NamedDependency[Actor]
"""The parameter `actor` of a handler."""
Parts: TypeAlias = NamedDependency[Service]
"""The parameter `service` of a handler."""
BESIDE = "beside_questions"
"""The option of a handler that is answered while a question of the analyst runs, such as a poll."""


async def by_token(connection: Request, handler: BaseRouteHandler) -> None:
    """Let in who sends a valid token."""
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    service = service_of(connection)
    service.requests.take(client_place(connection))
    if scheme.lower() != "bearer" or not token:
        raise NotSignedIn("This request has no token.", fix="Send: Authorization: Bearer TOKEN.")
    await _remember(connection, handler, await asyncio.to_thread(service.accounts.by_token, token.strip()))


async def by_session(connection: Request, handler: BaseRouteHandler) -> None:
    """Let in who has a session."""
    service = service_of(connection)
    key = connection.cookies.get(cookie_name(service), "")
    if not key:
        raise NotSignedIn("You are not signed in.", fix="Sign in.")
    await _remember(connection, handler, await asyncio.to_thread(service.accounts.by_session, key))


def from_own_page(connection: Request, _: BaseRouteHandler) -> None:
    """Refuse a change that another site asked the browser for."""
    if connection.scope.get("method") in ("GET", "HEAD"):
        return
    site, origin = connection.headers.get("sec-fetch-site"), connection.headers.get("origin")
    own = (
        urlsplit(origin or "").netloc == connection.headers.get("host") if site is None else site == "same-origin"
    )
    if not own:
        raise NotPermitted(
            "This request comes from another site.", fix="Open the page of the service, and send it there."
        )


def service_of(connection: Request) -> Service:
    """Return the parts of the service."""
    found: Service = connection.app.state.service
    return found


def address_of(connection: Request) -> str:
    """Return the address of the service as the browser sees it: with TLS, whatever a proxy speaks to us."""
    scheme = "https" if service_of(connection).settings.secure else connection.base_url.scheme
    return f"{scheme}://{connection.headers.get('host', '')}"


def actor_of(connection: Request) -> Actor:
    """Return who makes the request."""
    found: Actor = connection.scope["state"]["actor"]
    return found


def cookie_name(service: Service) -> str:
    """Return the name of the cookie: with TLS, one that no other host or path can set."""
    return "__Host-discreet" if service.settings.secure else "discreet"


async def _remember(connection: Request, handler: BaseRouteHandler, actor: Actor) -> None:
    service = service_of(connection)
    service.requests.take(f"account {actor.name}")
    connection.scope["state"]["actor"] = actor
    if not handler.opt.get(BESIDE):
        await service.questions.expect_alone(actor.name)


def own_cookie(service: Service, name: str, value: str, lasts: int) -> Cookie:
    """Return a cookie for this host only, unseen by scripts, not sent by other sites' forms.

    Args:
        service: The parts of the service.
        name: Its name.
        value: Its value.
        lasts: After so many seconds the browser forgets it; 0 removes it.
    """
    return Cookie(
        name,
        value=value,
        path="/",
        httponly=True,
        samesite="lax",
        secure=service.settings.secure,
        max_age=lasts,
    )


def client_place(connection: Request) -> str:
    """Return the name under which the requests of a client's address are counted."""
    return f"address {place_of(connection.client.host if connection.client else '')}"
