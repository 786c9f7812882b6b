"""Let a curator seal a table: choose it, declare its columns, see what becomes of them, choose the budget.

The report on the columns is private. It goes to the screen of the curator who has the rows anyway; no reply and no
log keeps it. The budget is chosen by what it buys, from public formulas: moving it reads no row.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
from litestar import Request, get, post
from litestar.connection import ASGIConnection
from litestar.datastructures import UploadFile
from litestar.handlers import BaseRouteHandler
from litestar.params import FromPath, URLEncodedBody

from discreet.errors import DiscreetError, ParameterError, SealingFailed
from discreet.rational import rational
from discreet.schema import from_json
from discreet.sealing.backends.duckdb import sweep
from discreet.serve.accounts import Actor
from discreet.serve.accounts.replies import RUNNING, Reply
from discreet.serve.console import consequence
from discreet.serve.console.pages import Page, Refused, body_of, elsewhere, page
from discreet.serve.console.uploads import Upload, Uploads
from discreet.serve.guards import BESIDE, Parts, WhoAsks, service_of
from discreet.serve.problems import Problem, problem_of
from discreet.serve.service import Service
from discreet.serve.verbs.curating import UNREADABLE

Form = URLEncodedBody[dict[str, str]]
KINDS = {
    "": "leave out",
    "integer": "whole number",
    "real": "number",
    "category": "one of a list",
    "boolean": "true or false",
    "date": "day",
    "datetime": "moment",
    "text": "any text",
}
_FIELDS = ("lo", "hi", "step", "values")
_NEEDED = {"integer": ("lo", "hi"), "real": ("lo", "hi", "step"), "date": ("lo", "hi"), "category": ("values",)}
_NEEDED |= {"datetime": ("lo", "hi", "step")}


def within_limit(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
    """Refuse an upload that is too large or does not say how large it is, before it is read."""
    limit = service_of(connection).settings.upload_limit
    length = connection.headers.get("content-length", "")
    if not length.isdigit() or int(length) > limit:
        raise Refused(
            Problem(
                "Too large",
                413,
                f"An upload has at most {limit // 2**20:,} MB.",
                "ServiceRefused",
                fixes=[{"text": "Ask the operator to put the file into the folder “tables”."}],
            )
        )


@get("/new")
async def new_page(actor: WhoAsks, service: Parts) -> Page:
    """Show the form for a table."""
    actor.expect("manage")
    tables = Uploads(service.settings.folder).registered()
    return page("new", actor, tables=tables, limit=service.settings.upload_limit // 2**20)


@post("/new", status_code=303, request_max_body_size=None, guards=[within_limit])
async def upload(request: Request[Any, Any, Any], actor: WhoAsks, service: Parts) -> Page:
    """Take a table: a file of the form, or one that the operator has put beside the vaults."""
    actor.expect("manage")
    uploads, form = Uploads(service.settings.folder), await request.form()
    chosen, file = form.get("table"), form.get("file")
    if isinstance(file, UploadFile) and file.filename:
        taken = await uploads.receive(actor.name, file)
    elif isinstance(chosen, str) and chosen:
        taken = uploads.register(actor.name, chosen)
    else:
        raise ParameterError("Choose a file, or a table of the list.")
    return elsewhere(f"/new/{taken.id}")


@get("/new/{upload_id:str}")
async def columns_page(upload_id: FromPath[str], actor: WhoAsks, service: Parts) -> Page:
    """Show the columns, with what their names and types suggest. No row is read."""
    found, columns = await _proposed(upload_id, actor, service)
    form = {"name": "".join(c if c.isalnum() else "_" for c in found.name.lower())[:40] or "people"}
    form |= {"rows": "1", "counts": "40", "margin": "20", "delta": "1e-9", "person": ""}
    for i, column in enumerate(columns):
        if column["identifies"] and not form["person"]:
            form["person"] = column["name"]
        form[f"type-{i}"] = "" if column["identifies"] else str(column.get("type", ""))
        form |= {f"{field}-{i}": str(column[field]) for field in ("lo", "hi", "step") if field in column}
    return _columns(actor, found, columns, form)


@post("/new/{upload_id:str}/check", status_code=200)
async def check(upload_id: FromPath[str], data: Form, actor: WhoAsks, service: Parts) -> Page:
    """Show what would become of each column. The report is for this curator's screen, and is stored nowhere."""
    found, columns = await _proposed(upload_id, actor, service)
    try:
        reply = await _read(service, actor, found, "check", declared(columns, data))
    except DiscreetError as error:
        return _columns(actor, found, columns, data, problem=problem_of(error))
    if reply.status != 200:
        return _columns(actor, found, columns, data, problem=msgspec.convert(reply.body, Problem))
    return _columns(actor, found, columns, data, report=reply.body)


@post("/new/{upload_id:str}/budget", status_code=200)
async def budget(upload_id: FromPath[str], data: Form, actor: WhoAsks, service: Parts) -> Page:
    """Show what a budget buys. No row is read, and nothing about the table is used."""
    actor.expect("manage")
    chosen, problem = _chosen(data)
    return page("bought", chosen=chosen, problem=problem)


@post("/new/{upload_id:str}/seal", status_code=303)
async def seal(upload_id: FromPath[str], data: Form, actor: WhoAsks, service: Parts) -> Page:
    """Seal the table as a job. If more than half of a column is unreadable, the curator confirms it first.

    The confirmation is for the columns as they were declared when the report was shown: after a change the report
    is shown again.
    """
    found, columns = await _proposed(upload_id, actor, service)
    try:
        name = data.get("name", "").strip()
        place = service.vaults.new_place(name)
        bought, wanted = _consequence(data), declared(columns, data)
        arguments = {
            "to": str(place),
            "name": name,
            "epsilon": str(bought.epsilon),
            "delta": str(bought.delta),
            **wanted,
        }
    except DiscreetError as error:
        return _columns(actor, found, columns, data, problem=problem_of(error))
    arguments["anyway"] = data.get("anyway") == _fingerprint(wanted)
    if not arguments["anyway"]:
        reply = await _read(service, actor, found, "check", wanted)
        if reply.status != 200:
            return _columns(actor, found, columns, data, problem=msgspec.convert(reply.body, Problem))
        if any(column["doubtful"] for column in reply.body["columns"].values()):
            problem = problem_of(SealingFailed(UNREADABLE, fix="Mend the columns, or confirm below the report."))
            return _columns(actor, found, columns, data, report=reply.body, problem=problem)
    await asyncio.to_thread(service.accounts.withdraw_all, name)  # of a vault that had this name and is gone
    reply = await _read(service, actor, found, "seal", arguments)
    if reply.status not in (200, RUNNING):
        return _columns(actor, found, columns, data, problem=msgspec.convert(reply.body, Problem))
    return elsewhere(f"/new/{found.id}/sealing/{name}/{reply.id}")


@get("/new/{upload_id:str}/sealing/{name:str}/{job:str}", opt={BESIDE: True})
async def progress(
    upload_id: FromPath[str], name: FromPath[str], job: FromPath[str], actor: WhoAsks, service: Parts
) -> Page:
    """Show how far the sealing is, and go to the vault once it is there. The upload is deleted then."""
    actor.expect("manage")
    reply = await service.questions.poll(actor, job)
    if reply.status == RUNNING:
        far = service.questions.progress(actor, job)
        return page("sealing", actor, name=name, far=far, headers={"refresh": "1"})
    if reply.status != 200:
        await _swept(service)
    body_of(reply)
    uploads = Uploads(service.settings.folder)
    await asyncio.to_thread(uploads.forget, uploads.find(actor.name, upload_id))
    return elsewhere(f"/vaults/{reply.body['table']}/access" if reply.body["table"] == name else "/")


def declared(columns: list[dict[str, Any]], form: Mapping[str, str]) -> dict[str, Any]:
    """Return what the curator declared, or refuse what has no meaning."""
    found: dict[str, dict[str, Any]] = {}
    for i, column in enumerate(columns):
        kind = form.get(f"type-{i}", "")
        if not kind:
            continue
        record: dict[str, Any] = {"type": kind}
        for field in _NEEDED.get(kind, ()):
            text = form.get(f"{field}-{i}", "").strip()
            if not text:
                raise ParameterError(f"The column {column['name']} needs: {', '.join(_NEEDED[kind])}.")
            record[field] = _field(kind, field, text)
        from_json(record)  # refuses what has no meaning
        found[column["name"]] = record
    person = form.get("person", "") or None
    if person is not None and person not in {column["name"] for column in columns}:
        raise ParameterError("The table has no such column.", found=person[:64])
    if not found:
        raise ParameterError("Choose at least one column to keep.")
    rows = form.get("rows", "1").strip()
    if not rows.isdecimal() or not 1 <= int(rows) <= 10**6:
        raise ParameterError("The rows of one person that count are a whole number from 1.", found=rows)
    return {"columns": found, "person": person, "rows_per_person": int(rows) if person else 1}


def _fingerprint(wanted: Mapping[str, Any]) -> str:
    """Return a name of what was declared, by which a confirmation is known to be about it."""
    return hashlib.sha256(json.dumps(wanted, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _confirms(columns: list[dict[str, Any]], form: Mapping[str, str], report: dict[str, Any] | None) -> str:
    """Return what the tick of a confirmation says; nothing if the report needs none."""
    doubtful = report is not None and any(column["doubtful"] for column in report["columns"].values())
    return _fingerprint(declared(columns, form)) if doubtful else ""


def _field(kind: str, field: str, text: str) -> Any:
    if field == "values":
        return [one.strip() for one in text.split(",") if one.strip()]
    if kind == "integer":
        try:
            return int(text)
        except ValueError:
            raise ParameterError("The bounds of whole numbers are whole numbers.", found=text[:40]) from None
    return text


def _consequence(form: Mapping[str, str]) -> consequence.Consequence:
    counts, rows = form.get("counts", ""), form.get("rows", "1")
    delta = rational(form.get("delta", "0") or "0", "delta")
    try:
        margin = float(rational(form.get("margin", "").strip() or "0", "margin"))  # which bounds its exponent
        chosen = consequence.of(int(counts), margin, delta, int(rows))
    except (ValueError, ZeroDivisionError, OverflowError):
        raise ParameterError(
            "Choose a number of counts and a margin.", found=f"{counts}, {form.get('margin')}"
        ) from None
    if not chosen.delta < Fraction(1, 100):
        raise ParameterError("δ is far below one over the number of people.", found=form.get("delta"))
    return replace(chosen)


def _chosen(form: Mapping[str, str]) -> tuple[consequence.Consequence | None, Problem | None]:
    try:
        return _consequence(form), None
    except DiscreetError as error:
        return None, problem_of(error)


async def _proposed(upload_id: str, actor: Actor, service: Service) -> tuple[Upload, list[dict[str, Any]]]:
    actor.expect("manage")
    found = Uploads(service.settings.folder).find(actor.name, upload_id)
    reply = await _read(service, actor, found, "propose", {})
    if reply.status == 422:  # no change of the columns makes it readable
        await asyncio.to_thread(Uploads(service.settings.folder).forget, found)
    return found, body_of(reply)["columns"]


async def _read(service: Service, actor: Actor, found: Upload, verb: str, arguments: dict[str, Any]) -> Reply:
    """Let a worker read a table within the limits of the settings, and remove what one that was ended left."""
    settings = service.settings
    uploaded = Uploads(settings.folder).received(found)
    limits = {"unpacked": settings.upload_unpacked if uploaded else 0, "memory": settings.upload_memory}
    given = {"source": found.source, "limits": limits, **arguments}
    reply = await service.questions.run(actor, "", verb, given, seconds=settings.upload_seconds)
    if reply.status not in (200, RUNNING):
        await _swept(service)
    return reply


async def _swept(service: Service) -> None:
    for folder in (Path(tempfile.gettempdir()), service.settings.folder):
        await asyncio.to_thread(sweep, folder)


def _columns(
    actor: Actor,
    found: Upload,
    columns: list[dict[str, Any]],
    form: Mapping[str, str],
    *,
    report: dict[str, Any] | None = None,
    problem: Problem | None = None,
) -> Page:
    chosen, wrong = _chosen(form)
    return page(
        "columns",
        actor,
        status=200 if problem is None else problem.status,
        upload=found,
        columns=columns,
        form=form,
        kinds=KINDS,
        report=report,
        confirms=_confirms(columns, form, report),
        problem=problem,
        chosen=chosen,
        wrong=wrong,
    )
