"""Preview and ask questions of a vault, and follow those that run: the example that other routes follow."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from litestar import Response, delete, get, post
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath, HeaderParameter, JSONBody
from litestar.response import ServerSentEvent
from litestar.response.sse import ServerSentEventMessage

from discreet.serve.accounts.replies import RUNNING
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
LATER = {202: ResponseSpec(Accepted, description="It goes on by itself; poll the address in Location")}
CHARGED: dict[str, Any] = {
    "status_code": 200,
    "responses": {**problems(404, 410, 422), **LATER},
    "opt": {BESIDE: True},  # a retried key waits for the reply of the first; any other request is refused
}
"""The options of every route that charges."""


@post("/vaults/{name:str}/preview", status_code=200, responses=problems(404, 422))
async def preview(name: VaultName, data: JSONBody[Question], actor: WhoAsks, service: Parts) -> Response[Any]:
    """Say what a question would cost and how accurate its answer would be. Nothing is charged."""
    actor.expect("preview", purpose=data.purpose, vault=name)
    return replied(await service.questions.run(actor, name, "preview", data.arguments(), purpose=data.purpose))


@post("/vaults/{name:str}/ask", **CHARGED)
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


@get("/questions/{question:str}", responses={**problems(404, 410, 422), **LATER}, opt={BESIDE: True})
async def poll(question: FromPath[str], actor: WhoAsks, service: Parts) -> Response[Any]:
    """Return the reply to a question or job of the account: 202 with its progress while it runs."""
    reply = await service.questions.poll(actor, question)
    return replied(reply, progress=service.questions.progress(actor, question))


@delete(
    "/questions/{question:str}",
    status_code=200,
    responses={**problems(404, 410, 422), **LATER},
    opt={BESIDE: True},
)
async def cancel(question: FromPath[str], actor: WhoAsks, service: Parts) -> Response[Any]:
    """Cancel a question or job that runs: 410. What was charged by then stays charged; else it cost nothing."""
    return replied(await service.questions.cancel(actor, question))


@get("/questions/{question:str}/events", opt={BESIDE: True}, responses=problems(404))
async def events(question: FromPath[str], actor: WhoAsks, service: Parts) -> ServerSentEvent:
    """Send the progress of a job as server-sent events, on its ticks, until it ended."""
    await service.questions.poll(actor, question)  # not found, if it is not theirs

    async def told() -> AsyncIterator[ServerSentEventMessage]:
        while await service.questions.next_tick(actor, question):
            now = service.questions.progress(actor, question)
            if now is not None:
                yield ServerSentEventMessage(
                    json.dumps({"words": now.words, "share": now.share}), event="progress"
                )
        ended = await service.questions.poll(actor, question)
        yield ServerSentEventMessage(json.dumps({"status": ended.status or RUNNING}), event="ended")

    return ServerSentEvent(told())
