"""Make and use what lasts: oracles, synthetic tables, models, holdouts and streams; and run audits.

Making is charged once. The header `discreet-product` of the reply has the id with which it is used.
"""

from __future__ import annotations

import asyncio
import base64
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeAlias

from litestar import Response, get, post
from litestar.params import JSONBody, PathParameter, QueryParameter

from discreet.serve.api import bodies
from discreet.serve.api.bodies import problems
from discreet.serve.api.questions import CHARGED, Key
from discreet.serve.api.replies import made, replied, used
from discreet.serve.api.vaults import VaultName
from discreet.serve.guards import Parts, WhoAsks

Id: TypeAlias = Annotated[str, PathParameter(max_length=64, description="The id in discreet-product")]
Answer: TypeAlias = Response[Any]
_FREE: dict[str, Any] = {"responses": problems(404, 422)}


@get("/vaults/{name:str}/products", responses=problems(404))
async def listed(name: VaultName, actor: WhoAsks, service: Parts) -> list[bodies.Made]:
    """List what the account made from a vault."""
    actor.expect("job")
    service.vaults.place_for(actor, name)
    found = await asyncio.to_thread(service.products.of, actor.name, name)
    return [bodies.Made(one.id, one.kind, one.purpose, one.arguments, one.made) for one in found]


# -- oracles ----------------------------------------------------------------------------------------------------


@post("/vaults/{name:str}/oracles/plan", status_code=200, **_FREE)
async def plan_oracle(
    name: VaultName, data: JSONBody[bodies.OraclePlanTerms], actor: WhoAsks, service: Parts
) -> Answer:
    """Say what an oracle is expected to answer. It is free."""
    actor.expect("preview", purpose=data.purpose, vault=name)
    reply = await service.questions.run(actor, name, "plan_oracle", data.arguments(), purpose=data.purpose)
    return replied(reply)


@post("/vaults/{name:str}/oracles", **CHARGED)
async def open_oracle(
    name: VaultName, data: JSONBody[bodies.OracleTerms], actor: WhoAsks, service: Parts, key: Key = None
) -> Answer:
    """Open an oracle, and charge it once."""
    return await made(service, actor, name, "oracle", "open_oracle", data, key)


@get("/oracles/{product:str}", **_FREE)
async def oracle(product: Id, actor: WhoAsks, service: Parts) -> Answer:
    """Describe an oracle of the account: what it spent, what it is about, and how many answers were free."""
    reply = await used(service, actor, "oracle", product, "describe_oracle")
    if reply.status == 200:
        told = await asyncio.to_thread(service.products.answers, product, 0)
        reply = replace(reply, body={**reply.body, "answered": told.count, "free": told.free})
    return replied(reply)


@post("/oracles/{product:str}/ask", **CHARGED)
async def ask_oracle(
    product: Id, data: JSONBody[bodies.OracleQuestion], actor: WhoAsks, service: Parts, key: Key = None
) -> Answer:
    """Ask an oracle. The ledger is not charged."""
    arguments = {"sql": data.sql, "unchecked": data.unchecked}
    return replied(await used(service, actor, "oracle", product, "ask_oracle", arguments, key))


# -- synthetic tables -------------------------------------------------------------------------------------------


@post("/vaults/{name:str}/synthetic", **CHARGED)
async def synthesize(
    name: VaultName, data: JSONBody[bodies.SyntheticTerms], actor: WhoAsks, service: Parts, key: Key = None
) -> Answer:
    """Make a synthetic table as a job, and charge it once."""
    return await made(service, actor, name, "synthetic", "synthesize", data, key)


@get("/synthetic/{product:str}/rows", **_FREE)
async def synthetic_rows(
    product: Id,
    actor: WhoAsks,
    service: Parts,
    form: Annotated[Literal["csv", "parquet", "json"], QueryParameter(required=False)] = "csv",
    rows: Annotated[int | None, QueryParameter(ge=1, le=1_000_000, required=False)] = None,
    seed: Annotated[int, QueryParameter(ge=0, le=2**31, required=False)] = 0,
) -> Answer:
    """Return rows of a synthetic table: CSV, Parquet or JSON. They are free."""
    arguments = {"form": form, "rows": rows, "seed": seed}
    reply = await used(service, actor, "synthetic", product, "synthetic_rows", arguments)
    if reply.status != 200:
        return replied(reply)
    return Response(base64.b64decode(reply.body["data"]), media_type=reply.body["media"])


@get("/synthetic/{product:str}/report", **_FREE)
async def synthetic_report(product: Id, actor: WhoAsks, service: Parts) -> Answer:
    """Report how wrong a synthetic table is. It is free."""
    return replied(await used(service, actor, "synthetic", product, "synthetic_report"))


# -- models -----------------------------------------------------------------------------------------------------


@post("/vaults/{name:str}/models", **CHARGED)
async def fit(
    name: VaultName, data: JSONBody[bodies.ModelTerms], actor: WhoAsks, service: Parts, key: Key = None
) -> Answer:
    """Fit a model as a job, and charge it once."""
    return await made(service, actor, name, "model", "fit", data, key)


@get("/models/{product:str}/card", **_FREE)
async def model_card(product: Id, actor: WhoAsks, service: Parts) -> Answer:
    """Return the card of a model."""
    return replied(await used(service, actor, "model", product, "model_card"))


@post("/models/{product:str}/predictions", status_code=200, request_max_body_size=8 * 2**20, **_FREE)
async def predict(product: Id, data: JSONBody[bodies.Rows], actor: WhoAsks, service: Parts) -> Answer:
    """Predict for rows that the request brings. It is free."""
    return replied(await used(service, actor, "model", product, "predict", {"rows": data.rows}))


# -- holdouts ---------------------------------------------------------------------------------------------------


@post("/vaults/{name:str}/holdouts", **CHARGED)
async def open_holdout(
    name: VaultName, data: JSONBody[bodies.HoldoutTerms], actor: WhoAsks, service: Parts, key: Key = None
) -> Answer:
    """Open a holdout, and charge it once."""
    return await made(service, actor, name, "holdout", "open_holdout", data, key)


@get("/holdouts/{product:str}", **_FREE)
async def holdout(product: Id, actor: WhoAsks, service: Parts) -> Answer:
    """Describe a holdout of the account, with its answers."""
    return replied(await used(service, actor, "holdout", product, "describe_holdout"))


@post("/holdouts/{product:str}/score", request_max_body_size=8 * 2**20, **CHARGED)
async def score(
    product: Id, data: JSONBody[bodies.Scored], actor: WhoAsks, service: Parts, key: Key = None
) -> Answer:
    """Score a model with a holdout. The ledger is not charged."""
    arguments = {"model": data.model, "name": data.name}
    return replied(await used(service, actor, "holdout", product, "score", arguments, key))


# -- streams ----------------------------------------------------------------------------------------------------


@post("/vaults/{name:str}/streams", **CHARGED)
async def open_stream(
    name: VaultName, data: JSONBody[bodies.StreamTerms], actor: WhoAsks, service: Parts, key: Key = None
) -> Answer:
    """Open a stream, and charge it once."""
    return await made(service, actor, name, "stream", "open_stream", data, key)


@get("/streams/{product:str}", **_FREE)
async def stream(product: Id, actor: WhoAsks, service: Parts) -> Answer:
    """Return the private numbers of a stream as they are."""
    return replied(await used(service, actor, "stream", product, "describe_stream"))


@post("/streams/{product:str}/ticks", **CHARGED)
async def add_ticks(
    product: Id, data: JSONBody[bodies.Ticks], actor: WhoAsks, service: Parts, key: Key = None
) -> Answer:
    """Add ticks to a stream, and return its private numbers. The ledger is not charged."""
    return replied(await used(service, actor, "stream", product, "add_ticks", {"ticks": data.ticks}, key))


# -- audits -----------------------------------------------------------------------------------------------------


@post("/audits", **CHARGED)
async def audit(data: JSONBody[bodies.AuditTerms], actor: WhoAsks, service: Parts, key: Key = None) -> Answer:
    """Attack shipped mechanisms as a job. No vault is read, and nothing is charged."""
    actor.expect("audit")
    arguments = {"names": data.names, "samples": data.samples}
    return replied(await service.questions.run(actor, "", "audit", arguments, key=key or ""))


ROUTES = [
    *(listed, plan_oracle, open_oracle, oracle, ask_oracle, synthesize, synthetic_rows, synthetic_report),
    *(fit, model_card, predict, open_holdout, holdout, score, open_stream, stream, add_ticks, audit),
]
