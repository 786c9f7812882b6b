"""Connect to a service, blocking or asynchronous: tokens, retries, vaults.

A request is sent again after a lost connection, after 503, and, as long as the service says when, after 409 and
429. It keeps its idempotency key, so that it is carried out and charged once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from discreet.client import collections
from discreet.client.remote import AsyncRemoteVault, RemoteCollection, RemoteVault
from discreet.client.requests import Flow, Request, get
from discreet.client.verb import Verb
from discreet.errors import DatabaseUnavailable, Fix, ParameterError, extra

with extra("client", "The client needs httpx2"):
    import httpx2

T = TypeVar("T")
_AGAIN = (409, 429, 503)


@dataclass(frozen=True)
class _Patience:
    """How often a request is sent again, and how long to wait before."""

    retries: int

    def wait(self, response: httpx2.Response | None, attempt: int) -> float | None:
        """Return the seconds to wait before the next attempt; None if there is none."""
        if attempt >= self.retries:
            return None
        if response is None:
            return _pause(attempt)
        after = str(response.headers.get("retry-after", ""))
        if response.status_code not in _AGAIN or (response.status_code != 503 and not after):
            return None
        return float(after) if after.isdigit() else _pause(attempt)


def _pause(attempt: int) -> float:
    return float(min(0.1 * 2**attempt, 5.0))


def _expect_address(address: str) -> None:
    """Refuse an address without its scheme at once: sending to it would fail again and again."""
    if not address.startswith(("http://", "https://")):
        raise ParameterError(
            "The address of a service begins with http:// or https://.",
            found=address,
            fix=Fix("address", f"http://{address}"),
        )


def _unreachable(address: str) -> DatabaseUnavailable:
    return DatabaseUnavailable(
        "The service cannot be reached.",
        found=address,
        fix="Check the address, and try again: a request that was charged is not charged twice.",
    )


def _vaults(_: Any) -> Flow[list[str]]:
    """Return the names of the vaults that the account may use."""
    return [one["name"] for one in (yield from get("vaults"))]


def _collections(_: Any) -> Flow[list[str]]:
    """Return the ids of the local collections of the account."""
    return [one["id"] for one in (yield from get("collections"))]


def _whoami(_: Any) -> Flow[dict[str, Any]]:
    """Return whom the token stands for, and what it may be used for."""
    found: dict[str, Any] = yield from get("whoami")
    return found


class _Service:
    """What both kinds of clients share: the address, patience, and verbs that need no vault."""

    vaults = Verb(_vaults)
    """Return the names of the vaults that the account may use."""
    collections = Verb(_collections)
    """Return the ids of the local collections of the account."""
    whoami = Verb(_whoami)
    """Return whom the token stands for, and what it may be used for."""

    def __init__(self, address: str, *, token: str, retries: int, timeout: float):
        """Take the address and the token. Nothing is sent yet."""
        _expect_address(address)
        self._address, self._patience = address, _Patience(retries)
        headers = {"Authorization": f"Bearer {token.encode('ascii', 'ignore').decode()}"}
        self._terms: dict[str, Any] = {"base_url": address, "headers": headers, "timeout": timeout}

    @property
    def client(self) -> Self:
        """The client itself, whose verbs it runs."""
        return self


class Client(_Service):
    """A service, over HTTP. Its vaults have the verbs of `discreet.Vault`.

    Args:
        address: The address of the service, such as "https://vaults.example".
        token: The token of the account.
        retries: How often a request is sent again; 8 by default.
        timeout: How many seconds to wait for a reply; 60 by default.

    >>> client = Client("http://127.0.0.1:8470", token="dsc_…")
    >>> client.vault("trips")
    RemoteVault(name='trips', purpose=None)
    """

    def __init__(self, address: str, *, token: str, retries: int = 8, timeout: float = 60):
        """Take the address and the token. Nothing is sent yet."""
        super().__init__(address, token=token, retries=retries, timeout=timeout)
        self._http = httpx2.Client(**self._terms)

    def vault(self, name: str, *, purpose: str | None = None) -> RemoteVault:
        """Return a vault by its name, for a purpose if one is charged as well."""
        return RemoteVault(name, purpose, client=self)

    def collection(self, id_: str) -> RemoteCollection[Client]:
        """Return a local collection by its id."""
        return RemoteCollection(id_, client=self)

    def collect(
        self, name: str = "", domain: Sequence[str] | None = None, **terms: Any
    ) -> RemoteCollection[Client]:
        """Make a local collection. The parameters are those of `discreet.client.collections.make`."""
        facts = self.run(collections.make(name, domain, **terms))
        return RemoteCollection(facts["id"], facts, client=self)

    def run(self, flow: Flow[T]) -> T:
        """Run a verb: send what it yields, and return its result."""
        try:
            request = next(flow)
            while True:
                request = flow.send(self._sent(request))
        except StopIteration as end:
            result: T = end.value
            return result

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _sent(self, request: Request) -> httpx2.Response:
        attempt = 0
        while True:
            response: httpx2.Response | None = None
            with suppress(httpx2.TransportError):
                response = self._http.request(**_arguments(request))
            wait = self._patience.wait(response, attempt)
            if wait is None:
                if response is None:
                    raise _unreachable(self._address)
                return response
            attempt += 1
            time.sleep(wait)


class AsyncClient(_Service):
    """A service, over HTTP, for asynchronous code. Its vaults have the verbs of `discreet.Vault`, awaited.

    Args:
        address: The address of the service, such as "https://vaults.example".
        token: The token of the account.
        retries: How often a request is sent again; 8 by default.
        timeout: How many seconds to wait for a reply; 60 by default.
    """

    def __init__(self, address: str, *, token: str, retries: int = 8, timeout: float = 60):
        """Take the address and the token. Nothing is sent yet."""
        super().__init__(address, token=token, retries=retries, timeout=timeout)
        self._http = httpx2.AsyncClient(**self._terms)

    def vault(self, name: str, *, purpose: str | None = None) -> AsyncRemoteVault:
        """Return a vault by its name, for a purpose if one is charged as well."""
        return AsyncRemoteVault(name, purpose, client=self)

    def collection(self, id_: str) -> RemoteCollection[AsyncClient]:
        """Return a local collection by its id."""
        return RemoteCollection(id_, client=self)

    async def collect(
        self, name: str = "", domain: Sequence[str] | None = None, **terms: Any
    ) -> RemoteCollection[AsyncClient]:
        """Make a local collection. The parameters are those of `discreet.client.collections.make`."""
        facts = await self.run(collections.make(name, domain, **terms))
        return RemoteCollection(facts["id"], facts, client=self)

    async def run(self, flow: Flow[T]) -> T:
        """Run a verb: send what it yields, and return its result."""
        try:
            request = next(flow)
            while True:
                request = flow.send(await self._sent(request))
        except StopIteration as end:
            result: T = end.value
            return result

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _sent(self, request: Request) -> httpx2.Response:
        attempt = 0
        while True:
            response: httpx2.Response | None = None
            with suppress(httpx2.TransportError):
                response = await self._http.request(**_arguments(request))
            wait = self._patience.wait(response, attempt)
            if wait is None:
                if response is None:
                    raise _unreachable(self._address)
                return response
            attempt += 1
            await asyncio.sleep(wait)


def _arguments(request: Request) -> dict[str, Any]:
    return {
        "method": request.method,
        "url": request.path,
        "headers": request.headers(),
        "params": request.params,
        **({} if request.body is None else {"json": request.body}),
        **({} if request.content is None else {"content": request.content}),
    }
