"""Put the doors of HTTP together: API, console, health and metrics, with one form of errors and headers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from litestar import Litestar, MediaType, Request, Response, get
from litestar.datastructures import State
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import Components, OpenAPI, SecurityScheme
from litestar.types import Message, Scope

import discreet
from discreet.errors import DiscreetError, Fix
from discreet.serve.accounts import Actor
from discreet.serve.api import api
from discreet.serve.api.bodies import REQUESTS
from discreet.serve.console import console, entrance, respondents
from discreet.serve.guards import Parts, WhoAsks, actor_of, by_token
from discreet.serve.headers import dress
from discreet.serve.problems import MEDIA_TYPE, Problem, failure, problem_of, refused_by_framework
from discreet.serve.service import Service
from discreet.serve.settings import Settings


@get("/health", media_type=MediaType.TEXT, include_in_schema=False)
async def health() -> str:
    """Say that the server answers. It touches nothing."""
    return "ok"


@get("/metrics", media_type=MediaType.TEXT, include_in_schema=False, guards=[by_token])
async def metrics(actor: WhoAsks, service: Parts) -> str:
    """Return the counters, to a curator or an auditor: they show when others ask."""
    actor.expect("audit")
    return service.metrics.text()


def create_app(settings: Settings, service: Service | None = None) -> Litestar:
    """Return the application of ASGI. Its lifespan starts and ends the workers.

    Args:
        settings: The settings.
        service: The parts, if they were made before; made from the settings by default.
    """
    parts = service or Service.of(settings)

    @asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncIterator[None]:
        await parts.start()
        try:
            yield
        finally:
            await parts.stop()

    app = Litestar(
        [api, console, entrance, respondents, health, metrics],
        state=State({"service": parts}),
        lifespan=[lifespan],
        dependencies={
            "service": Provide(_service, sync_to_thread=False),
            "actor": Provide(_actor, sync_to_thread=False),
        },
        exception_handlers={DiscreetError: _refused, HTTPException: _http, Exception: _failed},
        request_max_body_size=settings.body_limit,
        before_send=[dress, _counted],
        logging_config=None,
        openapi_config=OpenAPIConfig(
            "Discreet",
            discreet.__version__,
            path="/schema",
            render_plugins=[],
            components=Components(security_schemes={"token": SecurityScheme("http", scheme="bearer")}),
        ),
    )
    _refuse_unknown_fields(app.openapi_schema)
    return app


def _service(state: State) -> Service:
    found: Service = state.service
    return found


def _actor(request: Request[Any, Any, Any]) -> Actor:
    return actor_of(request)


async def _counted(message: Message, scope: Scope) -> None:
    if message["type"] == "http.response.start":
        scope["litestar_app"].state.service.metrics.count("requests", status=str(message["status"]))


# -- errors -----------------------------------------------------------------------------------------------------


def _refused(_: Request[Any, Any, Any], error: DiscreetError) -> Response[Problem]:
    after = [fix.value for fix in error.fixes if isinstance(fix, Fix) and fix.parameter == "Retry-After"]
    problem = problem_of(error)
    headers = {"www-authenticate": "Bearer"} if problem.status == 401 else {}
    if after:
        headers["retry-after"] = str(max(1, round(after[0])))
    return _response(problem, headers)


def _http(_: Request[Any, Any, Any], error: HTTPException) -> Response[Problem]:
    """Report what the framework refused: a body that is not JSON, a missing page, a body that is too long."""
    headers = {name: value for name, value in (error.headers or {}).items() if name.lower() == "allow"}
    return _response(refused_by_framework(error.status_code, error.extra), headers)


def _failed(request: Request[Any, Any, Any], error: Exception) -> Response[Problem]:
    """Report a fault of ours in constant words: the text of an exception may hold a value."""
    service: Service = request.app.state.service
    service.log.note("failed", kind=type(error).__name__, route=str(request.scope.get("path_template", "")))
    return _response(failure(), {})


def _response(problem: Problem, headers: dict[str, str]) -> Response[Problem]:
    return Response(problem, status_code=problem.status, media_type=MEDIA_TYPE, headers=headers)


def _refuse_unknown_fields(openapi: OpenAPI) -> None:
    """State in the description that unknown fields are refused, which Litestar leaves out."""
    for body in REQUESTS:
        for name, schema in openapi.components.schemas.items():
            if name.endswith(body.__name__):
                schema.additional_properties = False
