"""Turn a reply of `Questions` into an HTTP response; make and use products."""

from __future__ import annotations

import asyncio
from typing import Any

from litestar import Response

from discreet.serve.accounts import Actor, Reply
from discreet.serve.accounts.products import product_id
from discreet.serve.accounts.replies import RUNNING
from discreet.serve.api.bodies import Accepted, Priced
from discreet.serve.problems import MEDIA_TYPE
from discreet.serve.questions import Progress
from discreet.serve.service import Service

QUESTION = "discreet-question"
"""The header that names the question of a reply, so that it can be found again."""
PRODUCT = "discreet-product"
"""The header that names what a request made: an oracle, a table, a model, a holdout, a stream."""
ASK_ORACLE = "ask_oracle"
_NOTED = ("question", "estimate", "how", "checked", "free", "cost", "total")  # of an answer, without its label


def replied(reply: Reply, *, product: str = "", progress: Progress | None = None) -> Response[Any]:
    """Return 200 with the answer, 202 with the address to poll, or the problem."""
    headers = {name: value for name, value in ((QUESTION, reply.id), (PRODUCT, product)) if value}
    if reply.status == RUNNING:
        where = f"/api/v1/questions/{reply.id}"
        words, share = ("running", 0.0) if progress is None else (progress.words, progress.share)
        return Response(
            Accepted(reply.id, where, words=words, share=share),
            status_code=202,
            headers={**headers, "location": where},
        )
    media = "application/json" if reply.status == 200 else MEDIA_TYPE
    return Response(reply.body, status_code=reply.status, media_type=media, headers=headers)


async def make(
    service: Service, actor: Actor, vault: str, kind: str, verb: str, data: Priced, key: str | None
) -> tuple[Reply, str]:
    """Make a product and charge it, for every door. Return the reply, and the id with which it is used.

    Args:
        service: The parts.
        actor: Who asks.
        vault: The name of the vault.
        kind: What is made, such as "oracle".
        verb: The verb of the workers.
        data: The parameters from the request.
        key: The idempotency key, if the client sent one.
    """
    actor.expect("job", purpose=data.purpose, vault=vault)
    arguments, purpose = data.arguments(), data.purpose
    begun = service.accounts.now()  # shown with it: when it was ready would tell how long rows were read

    def keep(_: Any) -> object:
        return service.products.keep(actor.name, kind, vault, purpose, arguments, begun)

    reply = await service.questions.run(actor, vault, verb, arguments, purpose=purpose, key=key or "", done=keep)
    return reply, product_id(actor.name, kind, vault, purpose, arguments)


async def made(
    service: Service, actor: Actor, vault: str, kind: str, verb: str, data: Priced, key: str | None
) -> Response[Any]:
    """Make a product, and reply with its id in the header `discreet-product`. See `make` for the parameters."""
    reply, id_ = await make(service, actor, vault, kind, verb, data, key)
    return replied(reply, product=id_)


async def used(
    service: Service,
    actor: Actor,
    kind: str,
    id_: str,
    verb: str,
    arguments: dict[str, Any] | None = None,
    key: str | None = None,
) -> Reply:
    """Use a product of the account. Nothing is charged to the ledger.

    Args:
        service: The parts.
        actor: Who asks.
        kind: What it is, such as "oracle".
        id_: Its id.
        verb: The verb of the workers.
        arguments: The parameters from the request; none by default.
        key: The idempotency key, if the client sent one.
    """
    found = await asyncio.to_thread(service.products.find, actor.name, kind, id_)
    actor.expect("job", purpose=found.purpose, vault=found.vault)
    whole = {**(arguments or {}), "opening": found.arguments}

    def note(body: dict[str, Any]) -> None:
        service.products.note(id_, {name: body[name] for name in _NOTED}, body["free"])

    done = note if verb == ASK_ORACLE else None
    return await service.questions.run(
        actor, found.vault, verb, whole, purpose=found.purpose, key=key or "", done=done
    )
