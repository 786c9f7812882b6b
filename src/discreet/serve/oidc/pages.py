"""Sign in by the provider: send the browser there, take it back, and let a person with an invitation in.

* The way to the provider is a link, not a form: the policy `form-action 'self'` covers where a form is redirected.
  A link on another site does not begin a sign-in.
* A cookie of ten minutes binds the sign-in to the browser. It goes to people who press the button, to no stranger.
* A session gets a new key at the end, as with a password, and an older one of this browser ends.
* Whatever the provider or a library says about an error is not shown: the page has our words, the log a reason.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from litestar import Request, Response, get, post
from litestar.datastructures import Cookie
from litestar.params import FromQuery, QueryParameter, URLEncodedBody

from discreet.errors import DiscreetError, NotFound, NotPermitted, NotSignedIn, ParameterError
from discreet.serve.accounts import Login
from discreet.serve.accounts.identities import LASTS
from discreet.serve.accounts.records import expect_name
from discreet.serve.accounts.secrets import new_key
from discreet.serve.console.pages import Page, page
from discreet.serve.guards import Parts, client_place, cookie_name, own_cookie
from discreet.serve.oidc.records import Identity, ProviderFailed, SignInFailed, SignsIn
from discreet.serve.problems import Problem, problem_of, unreachable
from discreet.serve.service import Service


class Invited(msgspec.Struct, forbid_unknown_fields=True):
    """The invitation of a person whom the provider signed in, and the state of that sign-in."""

    code: Annotated[str, msgspec.Meta(max_length=128)]
    state: Annotated[str, msgspec.Meta(max_length=128)]


@get("/login/oidc", status_code=303)
async def begin(request: Request[Any, Any, Any], service: Parts, link: FromQuery[bool] = False) -> Response[Any]:
    """Send the browser to the provider; with `link`, to link the account that is signed in."""
    provider = _provider(service)
    _counted(request, service)
    if request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        raise NotPermitted("This request comes from another site.", fix="Open the page of the service.")
    account = (await _signed_in(request, service)) if link else ""
    login = Login(new_key(), new_key(), account)
    state, key = await asyncio.to_thread(service.identities.begin, login)
    try:
        address = await asyncio.to_thread(provider.address_for, state, login)
    except (SignInFailed, DiscreetError) as error:
        return _refused(service, error)
    return Response(None, status_code=303, headers={"location": address}, cookies=[_cookie(service, key)])


@get("/login/oidc/callback", status_code=303)
async def callback(
    request: Request[Any, Any, Any],
    service: Parts,
    reply: Annotated[str | None, QueryParameter(name="code", max_length=4096, required=False)] = None,
    state_: Annotated[str | None, QueryParameter(name="state", max_length=128, required=False)] = None,
    issuer: Annotated[str | None, QueryParameter(name="iss", max_length=1024, required=False)] = None,
) -> Response[Any]:
    """Take the browser back from the provider, and begin a session, or ask for an invitation."""
    provider = _provider(service)
    _counted(request, service)
    try:
        login = await asyncio.to_thread(
            service.identities.take, state_ or "", request.cookies.get(_name(service), "")
        )
        if not reply:
            raise NotSignedIn("The provider did not sign you in.", fix="Try again, or ask its operator.")
        who = await asyncio.to_thread(provider.identity_of, reply, issuer, login)
        if login.account:
            return await _linked(request, service, login, who)
        account = await asyncio.to_thread(service.identities.account_of, who.subject, who.name)
        if account is None:
            return await _uninvited(service, who)
        return await _session(request, service, account)
    except (SignInFailed, DiscreetError) as error:
        return _refused(service, error)


@post("/join/oidc", status_code=303)
async def join(data: URLEncodedBody[Invited], request: Request[Any, Any, Any], service: Parts) -> Response[Any]:
    """Make the account of a person whom the provider signed in, with an invitation, and begin a session."""
    _provider(service)
    _counted(request, service)
    try:
        login = await asyncio.to_thread(
            service.identities.take, data.state, request.cookies.get(_name(service), "")
        )
        if not login.subject:
            raise NotSignedIn("The provider has not signed you in yet.", fix="Begin again.")
        made = await asyncio.to_thread(service.identities.accept, data.code.strip(), login)
        return await _session(request, service, made.name)
    except DiscreetError as error:
        return _refused(service, error)


OPEN = [begin, callback, join]


async def _session(request: Request[Any, Any, Any], service: Service, account: str) -> Response[Any]:
    """Begin a session with a new key, and end an older one of this browser."""
    from discreet.serve.console.session import cookie

    key = await asyncio.to_thread(service.accounts.begin_session, account)
    if old := request.cookies.get(cookie_name(service)):
        await asyncio.to_thread(service.accounts.end_session, old)
    service.log.note("signed in", by="provider")
    cookies = [cookie(service, key), _cookie(service, "")]
    return Response(None, status_code=303, headers={"location": "/"}, cookies=cookies)


async def _linked(request: Request[Any, Any, Any], service: Service, login: Login, who: Identity) -> Response[Any]:
    """Link the account that is still signed in."""
    if await _signed_in(request, service) != login.account:
        raise NotPermitted("Another account was signed in meanwhile.", fix="Begin again.")
    await asyncio.to_thread(service.identities.link, login.account, who.subject)
    service.log.note("linked", analyst=login.account)
    return Response(None, status_code=303, headers={"location": "/account"}, cookies=[_cookie(service, "")])


async def _uninvited(service: Service, who: Identity) -> Response[Any]:
    """Ask a person without an account for an invitation."""
    try:
        expect_name(who.name)
    except ParameterError:
        raise NotPermitted(
            "The provider reports no name that an account can have: small letters, digits and . - _ @.",
            fix="Ask the operator to name another claim (oidc.claim).",
        ) from None
    login = Login(subject=who.subject, name=who.name)
    state, key = await asyncio.to_thread(service.identities.begin, login)
    shown = page("invited", name=who.name, state=state)
    shown.set_cookie(_cookie(service, key))
    return shown


def _refused(service: Service, error: Exception) -> Page:
    """Show the sign-in page with a problem, in our words, and forget the sign-in."""
    if isinstance(error, ProviderFailed):
        problem = unreachable()
    elif isinstance(error, DiscreetError):
        problem = problem_of(error)
    else:
        problem = _unproven()
    reason = getattr(error, "reason", type(error).__name__)
    service.log.note("sign-in refused", by="provider", reason=reason)
    assert service.settings.oidc is not None
    shown = page("login", status=problem.status, problem=problem, name="", provider=service.settings.oidc.shown)
    shown.set_cookie(_cookie(service, ""))
    return shown


def _unproven() -> Problem:
    return problem_of(
        NotSignedIn(
            "The provider's reply does not prove who you are.",
            fix="Sign in again. If it stays so, the operator finds the reason in the log.",
        )
    )


def _provider(service: Service) -> SignsIn:
    if service.provider is None:
        raise NotFound("This service has no provider.", fix="Sign in with a password.")
    return service.provider


async def _signed_in(request: Request[Any, Any, Any], service: Service) -> str:
    key = request.cookies.get(cookie_name(service), "")
    return (await asyncio.to_thread(service.accounts.by_session, key)).name


def _counted(request: Request[Any, Any, Any], service: Service) -> None:
    service.logins.take(client_place(request))


def _name(service: Service) -> str:
    return f"{cookie_name(service)}-sign-in"


def _cookie(service: Service, key: str) -> Cookie:
    """Return the cookie that binds a sign-in to its browser; an empty key removes it."""
    return own_cookie(service, _name(service), key, LASTS if key else 0)
