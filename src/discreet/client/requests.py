"""Define what a client sends, and how the verbs talk to it.

A verb is a generator: it yields a `Request`, gets the `Response`, and returns its result. So each is written once,
and a blocking and an asynchronous client both run it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import httpx2

from discreet.errors import ServiceFailed, from_json

T = TypeVar("T")
Flow: TypeAlias = Generator["Request", httpx2.Response, T]
"""A verb: yields requests, gets responses, returns a result."""
Progress: TypeAlias = Callable[[str, float], None]

PRODUCT = "discreet-product"
PATH = "/api/v1"


@dataclass(frozen=True)
class Request:
    """One request, with the key under which it is carried out once.

    Args:
        method: GET, POST …
        path: The path below the address of the service.
        body: The JSON to send; none by default.
        params: The query; none by default.
        content: The bytes to send instead of JSON; none by default.
        passes: Headers with an invitation code or a ticket; none by default.
        key: The idempotency key; a new one by default, which retries keep.
    """

    method: str
    path: str
    body: dict[str, Any] | None = None
    params: dict[str, Any] = field(default_factory=dict)
    content: bytes | None = None
    passes: dict[str, str] = field(default_factory=dict, repr=False)
    key: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    def headers(self) -> dict[str, str]:
        """Return the headers of the request."""
        kind = {} if self.content is None else {"Content-Type": "application/octet-stream"}
        return {**kind, **self.passes, **({"Idempotency-Key": self.key} if self.method == "POST" else {})}


def get(path: str, **params: Any) -> Flow[Any]:
    """Get JSON."""
    response = yield Request("GET", f"{PATH}/{path}", params=params)
    return checked(response).json()


def post(path: str, body: dict[str, Any], progress: Progress | None = None) -> Flow[httpx2.Response]:
    """Send JSON, and wait for the answer, also of a job that goes on by itself."""
    response = checked((yield Request("POST", f"{PATH}/{path}", body)))
    headers = response.headers
    while response.status_code == 202:
        if progress is not None:
            told = response.json()
            progress(told["words"], told["share"])
        response = checked((yield Request("GET", headers["location"])))  # the service waits a quantum itself
    if PRODUCT in headers:
        response.headers[PRODUCT] = headers[PRODUCT]
    return response


def checked(response: httpx2.Response) -> httpx2.Response:
    """Return a response, or raise the error that its problem tells."""
    if response.status_code < 400:
        return response
    try:
        problem = response.json()
    except ValueError:
        problem = None
    if not isinstance(problem, dict) or "error" not in problem:
        raise ServiceFailed(
            "The reply does not come from a service of Discreet.",
            found=f"status {response.status_code}",
            fix="Check the address.",
        )
    raise from_json(problem)
