"""Render the pages of the console from templates that escape every value, and problems as pages.

A template is a file in `templates/`. All pages share `base.html`: its navigation shows what the role may do.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from litestar import MediaType, Request, Response
from litestar.exceptions import HTTPException

from discreet.errors import DiscreetError
from discreet.render import numbers
from discreet.render.terminal import plain
from discreet.serve import problems
from discreet.serve.accounts import Actor, Reply
from discreet.serve.accounts.replies import RUNNING
from discreet.serve.console import static
from discreet.serve.guards import actor_of, service_of
from discreet.serve.problems import Problem, failure, problem_of
from discreet.serve.service import Service

Page = Response[str]
"""A page."""


def page(
    template: str,
    actor: Actor | None = None,
    *,
    status: int = 200,
    headers: dict[str, str] | None = None,
    **values: Any,
) -> Page:
    """Return a page.

    Args:
        template: The name of the template, without its ending.
        actor: Who is signed in; None for pages of strangers.
        status: The status of HTTP.
        headers: Further headers.
        values: The values of the template. Each is escaped.
    """
    text = _environment().get_template(f"{template}.html").render(actor=actor, static=static.address, **values)
    return Response(text, media_type=MediaType.HTML, status_code=status, headers=headers or {})


def elsewhere(address: str) -> Page:
    """Send the browser to another page of ours, after a form. What is no sign of an address is written as %XX."""
    where = quote(address, safe="/?#=&%+,:;@!$'()*~-._")
    return Response("", media_type=MediaType.HTML, status_code=303, headers={"location": where})


def body_of(reply: Reply) -> dict[str, Any]:
    """Return the body of a reply, or raise its problem."""
    if reply.status == RUNNING:
        raise Refused(failure())
    if reply.status != 200:
        raise Refused(msgspec.convert(reply.body, Problem))
    found: dict[str, Any] = reply.body
    return found


class Refused(Exception):
    """A problem that a worker or a check reported, on its way to a page."""

    def __init__(self, problem: Problem):
        """Take the problem."""
        super().__init__(problem.title)
        self.problem = problem


def refuse(error: DiscreetError) -> NoReturn:
    """Raise an error as a problem."""
    raise Refused(problem_of(error))


# -- problems as pages ------------------------------------------------------------------------------------------


def refused(request: Request[Any, Any, Any], error: Refused) -> Page:
    """Show a problem."""
    return _shown(request, error.problem)


def own_error(request: Request[Any, Any, Any], error: DiscreetError) -> Page:
    """Show an error of Discreet's own: its words are public."""
    return _shown(request, problem_of(error))


def http_error(request: Request[Any, Any, Any], error: HTTPException) -> Page:
    """Show what the framework refused: a field that is missing, a body that is too long."""
    return _shown(request, problems.refused_by_framework(error.status_code, error.extra))


def failed(request: Request[Any, Any, Any], error: Exception) -> Page:
    """Show a fault of ours in constant words, and note its kind."""
    service_of(request).log.note(
        "failed", kind=type(error).__name__, route=str(request.scope.get("path_template", ""))
    )
    return _shown(request, failure())


HANDLERS: dict[int | type[Exception], Any] = {
    DiscreetError: own_error,
    Refused: refused,
    HTTPException: http_error,
    Exception: failed,
}
"""How the pages report errors: as pages, with the same statuses and words as the API."""


def provider_of(service: Service) -> str:
    """Return what the button of the provider is called; empty if there is no provider."""
    return "" if service.settings.oidc is None else service.settings.oidc.shown


def _shown(request: Request[Any, Any, Any], problem: Problem) -> Page:
    if problem.status == 401:
        shown = problem if request.method == "POST" else None
        return page("login", status=401, problem=shown, name="", provider=provider_of(service_of(request)))
    try:
        actor = actor_of(request)
    except KeyError:
        actor = None
    # A page that was refused because a question runs is loaded again by itself; a form is not sent again.
    again = problem.error == "AlreadyRunning" and request.method == "GET"
    headers = {"refresh": "1"} if again else {}
    return page("problem", actor, status=problem.status, headers=headers, problem=problem, again=again)


@cache
def _environment() -> Environment:
    serve = Path(__file__).parents[1]
    loader = FileSystemLoader([serve / "console" / "templates", serve / "survey" / "templates"])
    made = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters.update(plain=plain, lines=_lines, number=numbers.number, utc=numbers.utc, json=_json, day=_day)
    return made


def _lines(text: str) -> str:
    """Return a text of several lines without control characters but its line breaks."""
    return "\n".join(map(plain, text.splitlines()))


def _json(value: Any) -> str:
    return json.dumps(value, indent=1)


def _day(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()
