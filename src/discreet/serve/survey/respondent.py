"""Serve the page of a respondent and take reports: no cookie, no account, no address in a log.

The page may also be hosted elsewhere, so the collection and the reports are open to pages of other origins. They
carry no credentials: there is nothing that another site could make a browser send.
"""

from __future__ import annotations

import asyncio
import io
import zipfile
from typing import Any

from litestar import HttpMethod, Request, Response, get, post, route
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.params import FromPath

from discreet.errors import NotFound
from discreet.serve.console import static
from discreet.serve.console.pages import Page, page
from discreet.serve.guards import Parts, address_of, client_place, service_of
from discreet.serve.survey.client import files
from discreet.serve.survey.counter import SMALL, passes_of
from discreet.serve.survey.surveys import LARGEST

_OPEN = {
    "access-control-allow-origin": "*",
    "access-control-allow-headers": "content-type, discreet-code, discreet-ticket",
    "cross-origin-resource-policy": "cross-origin",
}
_PREFLIGHT = {**_OPEN, "access-control-allow-methods": "POST"}


def gently(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
    """Limit how often one address asks, without a note of who it was."""
    service_of(connection).requests.take(f"survey {client_place(connection)}")


@get("/s/{survey_id:str}", guards=[gently])
async def respond(survey_id: FromPath[str], service: Parts) -> Page:
    """Show the page. It is the same for everyone, and it verifies the collection before it shows a form."""
    surveys = service.surveys
    found = surveys.find(survey_id)
    if not (await asyncio.to_thread(surveys.counter, found)).has_form:
        raise NotFound("This collection has no page: devices report to it.", found=found.id)
    where = f"/s/{found.id}"
    return page(
        "survey",
        service=where,
        collection=f"{where}/collection",
        root="/survey/",
        invited=found.invited,
        tickets=found.tickets,
        saved=False,
    )


@get("/s/{survey_id:str}/collection", guards=[gently])
async def collection(survey_id: FromPath[str], service: Parts) -> Response[bytes]:
    """Return the signed collection."""
    surveys = service.surveys
    counter = await asyncio.to_thread(surveys.counter, surveys.find(survey_id))
    return Response(counter.envelope, media_type="application/json", headers=_OPEN)


@post("/s/{survey_id:str}/reports", status_code=204, request_max_body_size=LARGEST, guards=[gently])
async def reports(survey_id: FromPath[str], request: Request[Any, Any, Any], service: Parts) -> Response[None]:
    """Count randomised reports."""
    counter = await asyncio.to_thread(service.surveys.counter, service.surveys.find(survey_id))
    await asyncio.to_thread(counter.take, await request.body(), **passes_of(request.headers))
    return Response(None, status_code=204, headers=_OPEN)


@post("/s/{survey_id:str}/tickets", status_code=200, request_max_body_size=SMALL, guards=[gently])
async def tickets(survey_id: FromPath[str], request: Request[Any, Any, Any], service: Parts) -> Response[bytes]:
    """Sign a blinded ticket for an invitation code."""
    counter = await asyncio.to_thread(service.surveys.counter, service.surveys.find(survey_id))
    signature = await asyncio.to_thread(counter.issue, passes_of(request.headers)["code"], await request.body())
    return Response(signature, media_type="application/octet-stream", headers=_OPEN)


@route("/s/{survey_id:str}/reports", http_method=[HttpMethod.OPTIONS], status_code=204)
async def allowed(survey_id: FromPath[str]) -> Response[None]:
    """Tell a browser that pages of other origins may send reports, without credentials."""
    return Response(None, status_code=204, headers=_PREFLIGHT)


@route("/s/{survey_id:str}/tickets", http_method=[HttpMethod.OPTIONS], status_code=204)
async def allowed_tickets(survey_id: FromPath[str]) -> Response[None]:
    """Tell a browser that pages of other origins may ask for tickets, without credentials."""
    return Response(None, status_code=204, headers=_PREFLIGHT)


@get("/s/{survey_id:str}/estimates", guards=[gently])
async def estimates(survey_id: FromPath[str], service: Parts) -> Response[Any]:
    """Return the estimates: a release of local privacy, for everyone."""
    surveys = service.surveys
    counter = await asyncio.to_thread(surveys.counter, surveys.find(survey_id))
    return Response((await asyncio.to_thread(counter.estimate)).to_json(), headers=_OPEN)


@get("/s/{survey_id:str}/page.zip", guards=[gently])
async def saved(survey_id: FromPath[str], request: Request[Any, Any, Any], service: Parts) -> Response[bytes]:
    """Return the page with all its files, to be read and hosted elsewhere. It sends reports to this service."""
    surveys = service.surveys
    found = surveys.find(survey_id)
    counter = await asyncio.to_thread(surveys.counter, found)
    shown = page(
        "survey",
        service=f"{address_of(request)}/s/{found.id}",
        collection="collection.json",
        root="",
        invited=found.invited,
        tickets=found.tickets,
        saved=True,
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("index.html", shown.content)
        archive.writestr("collection.json", counter.envelope)
        for name, content in files().items():
            archive.writestr(name, content)
    headers = {"content-disposition": 'attachment; filename="survey.zip"'}
    return Response(packed.getvalue(), media_type="application/zip", headers=headers)


@get("/survey/{path:path}")
async def file(path: FromPath[str]) -> Response[bytes]:
    """Return a file of the respondent's page."""
    name = str(path).lstrip("/")
    if name not in files():
        raise NotFound("There is no such file.", found=name[:64])
    return static.served(name, files()[name])


OPEN = [allowed, allowed_tickets, respond, collection, reports, tickets, estimates, saved, file]
"""The routes of strangers. They take no cookie and set none, so another site gains nothing by them. What answers
OPTIONS comes first: the framework gives a path that has no such handler yet one of its own, which stays."""
