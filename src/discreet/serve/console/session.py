"""Sign in and out: begin a session with a key that the server draws, and end it."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from litestar import MediaType, Request, Response, get, post
from litestar.datastructures import Cookie
from litestar.params import URLEncodedBody

from discreet.serve.guards import Parts, cookie_name
from discreet.serve.service import Service


class Login(msgspec.Struct, forbid_unknown_fields=True):
    """What the form sends: a name and a password, or a token with the whole scope as the password alone."""

    password: Annotated[str, msgspec.Meta(max_length=1024)]
    name: Annotated[str, msgspec.Meta(max_length=64)] = ""


_FORM = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Sign in – Discreet</title>
<main><h1>Discreet</h1>
<form method="post" action="/login">
<p><label>Name <input name="name" autocomplete="username"></label></p>
<p><label>Password or token
<input name="password" type="password" autocomplete="current-password" required></label></p>
<p><button>Sign in</button></p>
</form></main></html>
"""


@get("/login", media_type=MediaType.HTML)
async def form() -> str:
    """Show the form."""
    return _FORM


@post("/login", status_code=303)
async def sign_in(
    data: URLEncodedBody[Login],
    request: Request[Any, Any, Any],
    service: Parts,
) -> Response[None]:
    """Begin a session. The key of an older session of this browser ends, and is never used again."""
    service.logins.take(f"address {request.client.host if request.client else ''}")
    service.logins.take(f"name {data.name}")
    name = cookie_name(service)
    if data.name:
        key = await asyncio.to_thread(service.accounts.sign_in, data.name, data.password)
    else:
        key = await asyncio.to_thread(service.accounts.sign_in_with_token, data.password)
    if old := request.cookies.get(name):
        await asyncio.to_thread(service.accounts.end_session, old)
    service.log.note("signed in", by="password" if data.name else "token")
    return Response(None, status_code=303, headers={"location": "/"}, cookies=[cookie(service, key)])


@post("/logout", status_code=303)
async def sign_out(request: Request[Any, Any, Any], service: Parts) -> Response[None]:
    """End the session, and remove the cookie."""
    await asyncio.to_thread(service.accounts.end_session, request.cookies.get(cookie_name(service), ""))
    gone = Cookie(
        cookie_name(service),
        value="",
        path="/",
        httponly=True,
        samesite="lax",
        secure=service.settings.secure,
        max_age=0,
    )
    return Response(None, status_code=303, headers={"location": "/login"}, cookies=[gone])


def cookie(service: Service, key: str) -> Cookie:
    """Return the cookie of a session: for this host only, unseen by scripts, not sent by other sites' forms."""
    return Cookie(
        cookie_name(service),
        value=key,
        path="/",
        httponly=True,
        samesite="lax",
        secure=service.settings.secure,
        max_age=service.settings.session_longest,
    )
