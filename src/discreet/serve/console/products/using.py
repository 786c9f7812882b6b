"""Show what was made, with its label and its files; ask an oracle; predict with a model.

Everything here was charged when it was made, or is post-processing. A product is for the account that made it.
"""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any
from urllib.parse import urlencode

import msgspec
from litestar import Request, Response, get, post
from litestar.params import FromPath, FromQuery

from discreet.errors import DiscreetError, NotFound
from discreet.release.estimate import Estimate
from discreet.release.serialize import read_estimate
from discreet.render import numbers
from discreet.serve.accounts import Actor, Product
from discreet.serve.accounts.replies import RUNNING
from discreet.serve.api.replies import ASK_ORACLE, used
from discreet.serve.api.vaults import VaultName
from discreet.serve.console.pages import Page, body_of, elsewhere, page
from discreet.serve.console.products.kind import Kind, number
from discreet.serve.console.products.making import Sent, kind_of
from discreet.serve.console.products.models import value_of
from discreet.serve.console.vault import left_of
from discreet.serve.guards import Parts, WhoAsks, address_of
from discreet.serve.problems import Problem, problem_of
from discreet.serve.service import Service

_SHOWN = 50  # answers of an oracle on its page


@get("/vaults/{name:str}/products/{kind:str}/{product:str}")
async def product_page(
    name: VaultName,
    kind: FromPath[str],
    product: FromPath[str],
    request: Request[Any, Any, Any],
    actor: WhoAsks,
    service: Parts,
    sql: FromQuery[str] = "",
) -> Page:
    """Show what was made. An oracle's page repeats the question that was asked last."""
    return await _page(kind_of(kind), name, product, request, actor, service, sql=sql[:20_000])


def python(address: str, product: Product) -> str:
    """Return how Python makes the same product, free, because it is the same.

    >>> made = Product("id", "ana", "oracle", "trips", None, {"columns": ["age"], "spend": "5%"}, 0)
    >>> print(python("https://vaults.example", made))
    import discreet as dp
    <BLANKLINE>
    client = dp.Client('https://vaults.example', token="…")
    vault = client.vault('trips')
    made = vault.oracle(columns=['age'], spend='5%')
    """
    given, first = dict(product.arguments), ""
    if product.kind == "model":
        first = f"dp.learn.{given.pop('estimator')}(), "
    method = {"oracle": "oracle", "synthetic": "synthesize", "model": "fit"}[product.kind]
    purpose = f", purpose={product.purpose!r}" if product.purpose else ""
    names = sorted(given, key=lambda name: name in ("epsilon", "spend"))  # the price comes last
    terms = ", ".join(f"{name}={given[name]!r}" for name in names)
    return (
        f'import discreet as dp\n\nclient = dp.Client({address!r}, token="…")\n'
        f"vault = client.vault({product.vault!r}{purpose})\nmade = vault.{method}({first}{terms})"
    )


@post("/vaults/{name:str}/products/{kind:str}/{product:str}/ask", status_code=303)
async def ask(
    name: VaultName,
    kind: FromPath[str],
    product: FromPath[str],
    data: Sent,
    request: Request[Any, Any, Any],
    actor: WhoAsks,
    service: Parts,
) -> Page:
    """Ask an oracle. The ledger is not charged; most answers are free, and others use the oracle's own budget."""
    found, where = _expect(kind, "oracle"), f"/vaults/{name}/products/oracle/{product}"
    await _own(found, name, product, actor, service)
    sql = data.get("sql", "").replace("\r\n", "\n")[:20_000]
    arguments = {"sql": sql, "unchecked": data.get("unchecked") == "1"}
    reply = await used(service, actor, "oracle", product, ASK_ORACLE, arguments, data.get("key"))
    if reply.status == 200:
        return elsewhere(f"{where}?{urlencode({'sql': sql})}#answers")
    if reply.status == RUNNING:
        return elsewhere(f"/answers/{reply.id}?{urlencode({'to': where})}")
    problem = msgspec.convert(reply.body, Problem)
    unchecked = any(fix.get("parameter") == "unchecked" for fix in problem.fixes)
    return await _page(
        found, name, product, request, actor, service, problem=problem, sql=sql, unchecked=unchecked
    )


@post("/vaults/{name:str}/products/{kind:str}/{product:str}/predict", status_code=200)
async def predict(
    name: VaultName,
    kind: FromPath[str],
    product: FromPath[str],
    data: Sent,
    request: Request[Any, Any, Any],
    actor: WhoAsks,
    service: Parts,
) -> Page:
    """Predict for a person whose values were typed. It is free, and the values are not stored."""
    found = _expect(kind, "model")
    await _own(found, name, product, actor, service)
    body = body_of(await used(service, actor, "model", product, found.shown_by))
    try:
        features = enumerate(body["features"].items())
        rows = {feature: [value_of(data.get(f"value-{i}", ""), column)] for i, (feature, column) in features}
    except DiscreetError as error:
        return await _page(found, name, product, request, actor, service, typed=data, problem=problem_of(error))
    reply = await used(service, actor, "model", product, "predict", {"rows": rows})
    if reply.status != 200:
        problem = msgspec.convert(reply.body, Problem)
        return await _page(found, name, product, request, actor, service, typed=data, problem=problem)
    said = reply.body["predictions"][0]
    words = numbers.number(said) if isinstance(said, float) else str(said)
    words = words.lower() if isinstance(said, bool) else words
    return await _page(found, name, product, request, actor, service, typed=data, prediction=words)


@get("/vaults/{name:str}/products/{kind:str}/{product:str}/files/{file:str}")
async def file(
    name: VaultName,
    kind: FromPath[str],
    product: FromPath[str],
    file: FromPath[str],
    actor: WhoAsks,
    service: Parts,
    rows: FromQuery[str] = "",
    seed: FromQuery[str] = "",
) -> Response[bytes]:
    """Download a file: rows, a report, a card, the model itself, or the label."""
    found = kind_of(kind)
    if file not in found.files:
        raise NotFound("There is no such file.", found=file[:64])
    await _own(found, name, product, actor, service)
    if file.startswith("rows."):
        count = number({"rows": rows}, "rows")
        arguments = {"form": file.partition(".")[2], "rows": count and min(count, 1_000_000)}
        arguments["seed"] = number({"seed": seed}, "seed") or 0
        body = body_of(await used(service, actor, found.name, product, "synthetic_rows", arguments))
        content = base64.b64decode(body["data"])
    else:
        verb = "model_file" if file == "model.json" else found.shown_by
        body = body_of(await used(service, actor, found.name, product, verb))
        content = _written(file, body)
    headers = {"content-disposition": f'attachment; filename="{name}-{file}"'}
    return Response(content, media_type=found.files[file], headers=headers)


def _expect(kind: str, wanted: str) -> Kind:
    """Return the kind that a verb belongs to. (The router takes a fixed word in a path for the only one.)"""
    if kind != wanted:
        raise NotFound("This kind of product has no such page.", found=kind[:64])
    return kind_of(kind)


async def _own(kind: Kind, name: str, product: str, actor: Actor, service: Service) -> Product:
    """Return a product to the account that made it, at the address of its vault only."""
    found = await asyncio.to_thread(service.products.find, actor.name, kind.name, product)
    if found.vault != name:
        raise NotFound(f"There is no such {kind.name} of this vault.", found=product[:64])
    return found


def _written(file: str, body: dict[str, Any]) -> bytes:
    if file == "card.md":
        return str(body["card"]).encode()
    parts = {"label.yaml": "label", "report.json": "comparison", "model.json": "model"}
    # JSON is YAML 1.2, and needs no package to be written.
    return (json.dumps(body[parts[file]], ensure_ascii=False, indent=1) + "\n").encode()


async def _page(
    kind: Kind,
    name: str,
    product: str,
    request: Request[Any, Any, Any],
    actor: Actor,
    service: Service,
    *,
    problem: Problem | None = None,
    **values: Any,
) -> Page:
    found = await _own(kind, name, product, actor, service)
    described = body_of(await service.questions.run(actor, name, "describe", {}, purpose=found.purpose))
    body = body_of(await used(service, actor, kind.name, product, kind.shown_by))
    answers = await asyncio.to_thread(service.products.answers, product, _SHOWN) if kind.name == "oracle" else None
    return page(
        kind.name,
        actor,
        status=200 if problem is None else problem.status,
        vault=name,
        kind=kind,
        product=found,
        python=python(address_of(request), found),
        accounts=[left_of(account) for account in described["accounts"]],
        made=kind.drawn(body, described),
        answers=answers,
        newest=[_told(one) for one in answers.newest] if answers else [],
        problem=problem,
        **{"sql": "", "unchecked": False, "typed": {}, "prediction": None, **values},
    )


def _told(answer: dict[str, Any]) -> dict[str, str]:
    """Return an answer of an oracle in words: the question, the number with its interval, and its price."""
    estimate: Estimate = read_estimate(answer["estimate"])
    value = float(estimate.value or 0.0)
    low, high = estimate.interval
    if not answer["checked"]:
        shown = f"{numbers.number(value)} (not checked against the rows)"
    else:
        (cell,) = numbers.column([value], [low], [high], "number")
        shown = f"{cell.value} {cell.rest}" if cell.rest.startswith("±") else f"{cell.value} ({cell.rest})"
    part = answer["cost"]["value"] / answer["total"]["value"] if answer["total"]["value"] else 0.0
    price = "free" if answer["free"] else f"{numbers.number(100 * part, 2)} % of the oracle's budget"
    return {"question": answer["question"], "number": shown, "price": price}


PAGES = [product_page, ask, predict, file]
"""The pages of what was made."""
