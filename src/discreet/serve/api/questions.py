"""Preview and ask questions of a vault: the example that other routes follow."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Response, get, post
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath, HeaderParameter, JSONBody

from discreet.serve.api.bodies import Accepted, Question, problems
from discreet.serve.api.replies import replied
from discreet.serve.api.vaults import VaultName
from discreet.serve.guards import BESIDE, Parts, WhoAsks

Key = Annotated[
    str | None,
    HeaderParameter(
        name="Idempotency-Key",
        pattern=r"^[!-~]{1,128}$",
        required=False,
        description="The same key and request is carried out and charged once, however often it is sent",
    ),
]
_LATER = {202: ResponseSpec(Accepted, description="It goes on by itself; poll the address in Location")}


@post("/vaults/{name:str}/preview", status_code=200, responses=problems(404, 422))
async def preview(name: VaultName, data: JSONBody[Question], actor: WhoAsks, service: Parts) -> Response[Any]:
    """Say what a question would cost and how accurate its answer would be. Nothing is charged."""
    actor.expect("preview", purpose=data.purpose, vault=name)
    return replied(await service.questions.run(actor, name, "preview", data.arguments(), purpose=data.purpose))


@post(
    "/vaults/{name:str}/ask",
    status_code=200,
    responses={**problems(404, 422), **_LATER},
    opt={BESIDE: True},
)
async def ask(
    name: VaultName,
    data: JSONBody[Question],
    actor: WhoAsks,
    service: Parts,
    key: Key = None,
) -> Response[Any]:
    """Answer a question and charge it. The account of the token pays."""
    actor.expect("ask", purpose=data.purpose, vault=name)
    reply = await service.questions.run(actor, name, "ask", data.arguments(), purpose=data.purpose, key=key or "")
    return replied(reply)


@get("/questions/{question:str}", responses={**problems(404, 422), **_LATER}, opt={BESIDE: True})
async def poll(question: FromPath[str], actor: WhoAsks, service: Parts) -> Response[Any]:
    """Return the reply to a question of the account: 202 while it runs."""
    return replied(await service.questions.poll(actor, question))
