"""Show the form that makes a product, its cost before the charge, and make it.

What it would use of the budget, and what an oracle would answer, follow from public facts: looking is free. Making
is charged once. What takes long goes on as a job, and a refusal brings the form back with what can be afforded.
"""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlencode

import msgspec
from litestar import Request, get, post
from litestar.params import FromPath, URLEncodedBody

from discreet.errors import DiscreetError, NotFound
from discreet.serve.accounts import Actor
from discreet.serve.accounts.products import product_id
from discreet.serve.accounts.replies import RUNNING
from discreet.serve.accounts.secrets import new_id
from discreet.serve.api.bodies import Priced
from discreet.serve.api.replies import make
from discreet.serve.api.vaults import VaultName
from discreet.serve.console.pages import Page, body_of, elsewhere, page
from discreet.serve.console.products import models, oracles, synthetic
from discreet.serve.console.products.kind import Form, Kind, offers
from discreet.serve.console.vault import in_words
from discreet.serve.guards import Parts, WhoAsks
from discreet.serve.problems import Problem, problem_of
from discreet.serve.service import Service

KINDS = {kind.name: kind for kind in (oracles.KIND, synthetic.KIND, models.KIND)}
"""The kinds of products that have pages."""
Sent = URLEncodedBody[dict[str, str]]
_MOST = 4000  # characters of a form that an address repeats


def kind_of(name: str) -> Kind:
    """Return a kind of product by its name in an address."""
    if name not in KINDS:
        raise NotFound("There is no such kind of product.", found=name[:64])
    return KINDS[name]


@get("/vaults/{name:str}/products/{kind:str}")
async def form_page(
    name: VaultName, kind: FromPath[str], request: Request[Any, Any, Any], actor: WhoAsks, service: Parts
) -> Page:
    """Show the form, filled in by the address. After a job that was refused, it says why, with offers."""
    actor.expect("job", vault=name)
    form = {field: str(value)[:300] for field, value in request.query_params.items()}
    problem = None
    if job := form.pop("job", ""):
        reply = await service.questions.poll(actor, job)
        if reply.status not in (200, RUNNING):
            problem = msgspec.convert(reply.body, Problem)
    return await _page(kind_of(kind), name, actor, service, form, problem=problem)


@post("/vaults/{name:str}/products/{kind:str}/cost", status_code=200)
async def cost(name: VaultName, kind: FromPath[str], data: Sent, actor: WhoAsks, service: Parts) -> Page:
    """Show the cost alone: the script puts it into the page while the analyst types."""
    found = kind_of(kind)
    planned, problem = await _planned(found, name, actor, service, data)
    return page("product_cost", vault=name, kind=found, planned=planned, problem=problem, offers=[])


@post("/vaults/{name:str}/products/{kind:str}/preview", status_code=200)
async def preview(name: VaultName, kind: FromPath[str], data: Sent, actor: WhoAsks, service: Parts) -> Page:
    """Show the form with its cost, for browsers without script. Nothing is charged."""
    found = kind_of(kind)
    planned, problem = await _planned(found, name, actor, service, data)
    return await _page(found, name, actor, service, data, planned=planned, problem=problem)


@post("/vaults/{name:str}/products/{kind:str}", status_code=303)
async def make_page(name: VaultName, kind: FromPath[str], data: Sent, actor: WhoAsks, service: Parts) -> Page:
    """Make it and charge it, then go to its page, or to its job."""
    found = kind_of(kind)
    actor.expect("job", vault=name)
    described = body_of(await service.questions.run(actor, name, "describe", {}))
    try:
        terms = found.terms(data, described)
        actor.expect("job", purpose=terms.purpose, vault=name)
    except DiscreetError as error:
        return await _page(found, name, actor, service, data, problem=problem_of(error))
    reply, id_ = await make(service, actor, name, found.name, found.verb, terms, data.get("key"))
    where = f"/vaults/{name}/products/{kind}"
    if reply.status == 200:
        return elsewhere(f"{where}/{id_}")
    if reply.status == RUNNING:
        return elsewhere(f"{where}/{id_}/jobs/{reply.id}?{again(data)}")
    return await _page(found, name, actor, service, data, problem=msgspec.convert(reply.body, Problem))


def again(form: Form) -> str:
    """Return a form as the query of an address, so that it can be filled in again; nothing if it is too long."""
    written = urlencode({field: value for field, value in form.items() if value and field != "key"})
    return written if len(written) <= _MOST else ""


async def _planned(
    kind: Kind, name: str, actor: Actor, service: Service, form: Form
) -> tuple[dict[str, Any] | None, Problem | None]:
    """Return what a product would use of the budget and, of an oracle, what it is expected to answer."""
    actor.expect("preview", vault=name)
    described = body_of(await service.questions.run(actor, name, "describe", {}))
    try:
        terms: Priced = kind.terms(form, described)
        plan = None if kind.plan is None else kind.plan(form, described)
        actor.expect("preview", purpose=terms.purpose, vault=name)
    except DiscreetError as error:
        return None, problem_of(error)
    id_ = product_id(actor.name, kind.name, name, terms.purpose, terms.arguments())
    if any(one.id == id_ for one in await asyncio.to_thread(service.products.of, actor.name, name)):
        return {"words": "You made this before, so it is free.", "affordable": True, "sentences": []}, None
    price = {"kind": kind.name, "epsilon": terms.epsilon, "spend": terms.spend}
    reply = await service.questions.run(actor, name, "quote", price, purpose=terms.purpose)
    if reply.status != 200:
        return None, msgspec.convert(reply.body, Problem)
    found: dict[str, Any] = {**reply.body, "sentences": []}
    if plan is not None:
        reply = await service.questions.run(actor, name, "plan_oracle", plan.arguments(), purpose=terms.purpose)
        if reply.status != 200:
            return None, msgspec.convert(reply.body, Problem)
        found["sentences"] = reply.body["words"].splitlines()
    return found, None


async def _page(
    kind: Kind,
    name: str,
    actor: Actor,
    service: Service,
    form: Form,
    *,
    planned: dict[str, Any] | None = None,
    problem: Problem | None = None,
) -> Page:
    described = body_of(await service.questions.run(actor, name, "describe", {}))
    filled = {"by": "spend", "epsilon": "0.5", **kind.defaults, **form, "key": new_id()}
    if not form and kind.name != "model":  # few columns are all ticked at first; texts cannot be used
        names = [column["name"] for column in described["columns"] if column["type"] != "text"]
        filled |= {f"use-{i}": column for i, column in enumerate(names)} if len(names) <= 8 else {}
    return page(
        f"new_{kind.name}",
        actor,
        status=200 if problem is None else problem.status,
        vault=name,
        kind=kind,
        described={**described, "columns": in_words(described["columns"])},
        form=filled,
        ticked={value for field, value in filled.items() if field.startswith("use-")},
        planned=planned,
        problem=problem,
        offers=offers(filled, problem),
        purposes=sorted({one for grant in actor.grants if grant.vault == name for one in grant.purposes}),
        estimators=models.ESTIMATORS,
    )


PAGES = [form_page, cost, preview, make_page]
"""The pages that make products."""
