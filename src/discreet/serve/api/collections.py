"""Run local collections: make one, give its signed descriptor, count batches of reports, return estimates.

Reports were randomised on devices, so counting them is charged to no vault: every device charges itself. A report
id counts once, so a batch may be sent again after a lost connection. Devices without a token send their reports to
`/s/{id}/reports`, which counts them in the same place.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

from litestar import Request, Response, get, post
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import OpenAPIFormat, OpenAPIMediaType, OpenAPIType, Operation, RequestBody, Schema
from litestar.params import JSONBody, PathParameter, QueryParameter

from discreet.errors import Fix, ParameterError
from discreet.serve.accounts import Actor
from discreet.serve.api.bodies import Collecting, Counted, NewCollection, problems
from discreet.serve.api.questions import Key
from discreet.serve.guards import Parts, WhoAsks
from discreet.serve.service import Service
from discreet.serve.survey.counter import SMALL, Counter, passes_of
from discreet.serve.survey.surveys import LARGEST, Survey, Surveys

CollectionId = Annotated[str, PathParameter(max_length=64, description="The id of a collection")]


@dataclass
class _TakesBatch(Operation):
    """The description of a route whose body is bytes, which the framework cannot see."""

    def __post_init__(self) -> None:
        bytes_ = OpenAPIMediaType(Schema(type=OpenAPIType.STRING, format=OpenAPIFormat.BINARY))
        self.request_body = RequestBody({"application/octet-stream": bytes_}, description="A batch", required=True)


@get("/collections", responses=problems())
async def listed(actor: WhoAsks, service: Parts) -> list[Collecting]:
    """List the collections of the account; to a curator, all of them."""
    actor.expect("collect")
    found = await asyncio.to_thread(service.surveys.of, actor)
    return [await _told(service, one) for one in found]


@post("/collections", request_max_body_size=LARGEST, responses=problems(422))
async def make(data: JSONBody[NewCollection], actor: WhoAsks, service: Parts, key: Key = None) -> Collecting:
    """Make a collection. Its invitation codes are shown this once, and again to a retry with the same key."""
    actor.expect("collect")
    made, codes = await asyncio.to_thread(_made, service.surveys, actor.name, data, key or "")
    service.log.note("collection made", analyst=actor.name, id=made.id)
    return await _told(service, made, codes)


@get("/collections/{collection:str}", responses=problems(404))
async def described(collection: CollectionId, actor: WhoAsks, service: Parts) -> Collecting:
    """Return a collection: its signed descriptor for devices, and how many reports were counted."""
    return await _told(service, _own(service, actor, collection))


@post(
    "/collections/{collection:str}/reports",
    status_code=200,
    request_max_body_size=LARGEST,
    responses=problems(404, 422),
    operation_class=_TakesBatch,
)
async def count(
    collection: CollectionId, request: Request[Any, Any, Any], actor: WhoAsks, service: Parts
) -> Counted:
    """Count a batch of reports: the bytes that `discreet.local` and `clients/js` make, at most 1 MB."""
    counter = await _counter(service, _own(service, actor, collection))
    counted = await asyncio.to_thread(counter.take, await request.body(), **passes_of(request.headers))
    return Counted(counted, counter.server.n)


@post(
    "/collections/{collection:str}/tickets",
    status_code=200,
    media_type="application/octet-stream",
    request_max_body_size=SMALL,
    responses={**problems(404, 422), 200: ResponseSpec(bytes, media_type="application/octet-stream")},
    operation_class=_TakesBatch,
)
async def issue(
    collection: CollectionId, request: Request[Any, Any, Any], actor: WhoAsks, service: Parts
) -> Response[bytes]:
    """Sign a blinded ticket (RFC 9474) for the invitation code in the header `discreet-code`.

    The same blinded ticket is signed again, so a lost reply can be asked for again. Another one is refused.
    """
    counter = await _counter(service, _own(service, actor, collection))
    signature = await asyncio.to_thread(counter.issue, passes_of(request.headers)["code"], await request.body())
    return Response(signature, media_type="application/octet-stream")


@get(
    "/collections/{collection:str}/estimates",
    responses={**problems(404, 422), 200: ResponseSpec(dict[str, Any], description="A release of local privacy")},
)
async def estimates(
    collection: CollectionId,
    actor: WhoAsks,
    service: Parts,
    candidates: Annotated[list[str] | None, QueryParameter(required=False, max_items=200)] = None,
) -> Response[Any]:
    """Return the estimates with their intervals, label and receipt. Texts need `candidates`."""
    counter = await _counter(service, _own(service, actor, collection))
    return Response((await asyncio.to_thread(counter.estimate, candidates)).to_json())


def _own(service: Service, actor: Actor, id_: str) -> Survey:
    actor.expect("collect")
    return service.surveys.find_for(actor, id_)


async def _counter(service: Service, survey: Survey) -> Counter:
    return await asyncio.to_thread(service.surveys.counter, survey)


async def _told(service: Service, survey: Survey, codes: list[str] | None = None) -> Collecting:
    counter = await _counter(service, survey)
    await asyncio.to_thread(counter.catch_up)  # other servers count too
    found, (first, last) = counter.collection, counter.collection.window
    return Collecting(
        id=survey.id,
        name=found.name,
        key=survey.key,
        signed=counter.envelope.decode(),
        reports=counter.server.n,
        rejected={reason: count for reason, count in counter.server.rejected.items() if count},
        minimum_cohort=found.minimum_cohort,
        first_day=first.isoformat(),
        last_day=last.isoformat(),
        epsilon=found.epsilon,
        invited=survey.invited,
        tickets=survey.tickets,
        exchanged=counter.exchanged if survey.invited else 0,
        redeemed=counter.redeemed if survey.tickets else 0,
        labels=list(found.labels) if found.digest is not None and found.labels is not None else None,
        codes=codes or [],
    )


def _made(surveys: Surveys, owner: str, data: NewCollection, key: str) -> tuple[Survey, list[str]]:
    """Design a collection, or take one that was signed elsewhere."""
    if data.signed is not None and data.key is not None:
        return surveys.adopt(owner, data.signed.encode(), bytes.fromhex(data.key), data.domain, key=key), []
    if data.name is None or data.domain is None or data.epsilon is None:
        raise ParameterError(
            "A collection has a name, a domain and an epsilon; or it is signed, with the key that verifies it.",
            fix=[Fix("epsilon", "1"), "List the values of the domain, two or more."],
        )
    return surveys.create(
        owner,
        data.name,
        data.domain,
        epsilon=data.epsilon,
        days=data.days,
        cohort=data.cohort,
        codes=data.codes,
        tickets=data.tickets,
        protocol=data.protocol,
        key=key,
    )


ROUTES = [listed, make, described, count, issue, estimates]
