"""Connect to a service, blocking or asynchronous: tokens, retries, vaults.

A request is sent again after a lost connection, after 503, and, as long as the service says when, after 409 and
429. It keeps its idempotency key, so that it is carried out and charged once.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from discreet.client import flows, products
from discreet.client.flows import Place
from discreet.client.products import Product
from discreet.client.requests import Flow, Request, get
from discreet.errors import DatabaseUnavailable, extra

with extra("client", "The client needs httpx2"):
    import httpx2

T = TypeVar("T")
P = ParamSpec("P")
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


def _unreachable(address: str) -> DatabaseUnavailable:
    return DatabaseUnavailable(
        "The service cannot be reached.",
        found=address,
        fix="Check the address, and try again: a request that was charged is not charged twice.",
    )


class Client:
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
        self._address, self._patience = address, _Patience(retries)
        headers = {"Authorization": f"Bearer {token.encode('ascii', 'ignore').decode()}"}
        self._http = httpx2.Client(base_url=address, headers=headers, timeout=timeout)

    def vault(self, name: str, *, purpose: str | None = None) -> RemoteVault:
        """Return a vault by its name, for a purpose if one is charged as well."""
        return RemoteVault(name, purpose, client=self)

    def vaults(self) -> list[str]:
        """Return the names of the vaults that the account may use."""
        return [one["name"] for one in self.run(get("vaults"))]

    def whoami(self) -> dict[str, Any]:
        """Return whom the token stands for, and what it may be used for."""
        found: dict[str, Any] = self.run(get("whoami"))
        return found

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


class AsyncClient:
    """A service, over HTTP, for asynchronous code. Its vaults have the verbs of `discreet.Vault`, awaited.

    Args:
        address: The address of the service, such as "https://vaults.example".
        token: The token of the account.
        retries: How often a request is sent again; 8 by default.
        timeout: How many seconds to wait for a reply; 60 by default.
    """

    def __init__(self, address: str, *, token: str, retries: int = 8, timeout: float = 60):
        """Take the address and the token. Nothing is sent yet."""
        self._address, self._patience = address, _Patience(retries)
        headers = {"Authorization": f"Bearer {token.encode('ascii', 'ignore').decode()}"}
        self._http = httpx2.AsyncClient(base_url=address, headers=headers, timeout=timeout)

    def vault(self, name: str, *, purpose: str | None = None) -> AsyncRemoteVault:
        """Return a vault by its name, for a purpose if one is charged as well."""
        return AsyncRemoteVault(name, purpose, client=self)

    async def vaults(self) -> list[str]:
        """Return the names of the vaults that the account may use."""
        return [one["name"] for one in await self.run(get("vaults"))]

    async def whoami(self) -> dict[str, Any]:
        """Return whom the token stands for, and what it may be used for."""
        found: dict[str, Any] = await self.run(get("whoami"))
        return found

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
    }


# -- vaults and products ----------------------------------------------------------------------------------------


def _blocking(flow: Callable[Concatenate[Any, P], Flow[T]]) -> Callable[Concatenate[Any, P], T]:
    """Return a verb as a method that blocks."""

    @functools.wraps(flow)
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        done: T = self.client.run(flow(self, *args, **kwargs))
        return done

    return method


def _awaited(flow: Callable[Concatenate[Any, P], Flow[T]]) -> Callable[Concatenate[Any, P], Awaitable[T]]:
    """Return a verb as a method that is awaited."""

    @functools.wraps(flow)
    async def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        done: T = await self.client.run(flow(self, *args, **kwargs))
        return done

    return method


@dataclass
class RemoteOracle(Product):
    """An oracle of a service."""

    client: Client = field(kw_only=True, repr=False)
    ask = _blocking(products.ask_oracle)
    describe = _blocking(products.describe_oracle)


@dataclass
class RemoteHoldout(Product):
    """A holdout of a service."""

    client: Client = field(kw_only=True, repr=False)
    score = _blocking(products.score)
    describe = _blocking(products.describe_holdout)


@dataclass
class RemoteStream(Product):
    """A stream of a service."""

    client: Client = field(kw_only=True, repr=False)
    add = _blocking(products.add)
    extend = _blocking(products.extend)
    release = _blocking(products.release)


@dataclass
class RemoteLedger(Place):
    """The ledger of a vault of a service."""

    client: Client = field(kw_only=True, repr=False)
    balance = _blocking(products.balance)
    balances = _blocking(products.balances)
    entries = _blocking(products.entries)
    head = _blocking(products.head)
    verify = _blocking(products.verify)

    def __str__(self) -> str:
        from discreet.ledger import render

        return render.text(self.name, self.balances())


@dataclass
class RemoteVault(Place):
    """A vault of a service, with the verbs of `discreet.Vault`."""

    client: Client = field(kw_only=True, repr=False)
    describe = _blocking(flows.describe)
    ask = _blocking(flows.ask)
    preview = _blocking(flows.preview)
    releases = _blocking(flows.releases)
    release = _blocking(flows.release)
    plan_oracle = _blocking(flows.plan_oracle)
    synthesize = _blocking(flows.synthesize)
    fit = _blocking(flows.fit)
    set_budget = _blocking(flows.set_budget)

    @property
    def ledger(self) -> RemoteLedger:
        """The ledger: balances, entries, verification."""
        return RemoteLedger(self.name, self.purpose, client=self.client)

    def oracle(self, columns: Any, **terms: Any) -> RemoteOracle:
        """Open an oracle over some columns on one charge. The parameters are those of `Vault.oracle`."""
        made = self.client.run(flows.open_oracle(self, columns, **terms))
        return RemoteOracle(self, *made, client=self.client)

    def holdout(self, target: str, features: Any = None, **terms: Any) -> RemoteHoldout:
        """Open a holdout on one charge. The parameters are those of `Vault.holdout`."""
        made = self.client.run(flows.open_holdout(self, target, features, **terms))
        return RemoteHoldout(self, *made, client=self.client)

    def stream(self, name: str, **terms: Any) -> RemoteStream:
        """Open a stream on one charge. The parameters are those of `Vault.stream`."""
        made = self.client.run(flows.open_stream(self, name, **terms))
        return RemoteStream(self, *made, client=self.client)


@dataclass
class AsyncRemoteOracle(Product):
    """An oracle of a service, awaited."""

    client: AsyncClient = field(kw_only=True, repr=False)
    ask = _awaited(products.ask_oracle)
    describe = _awaited(products.describe_oracle)


@dataclass
class AsyncRemoteHoldout(Product):
    """A holdout of a service, awaited."""

    client: AsyncClient = field(kw_only=True, repr=False)
    score = _awaited(products.score)
    describe = _awaited(products.describe_holdout)


@dataclass
class AsyncRemoteStream(Product):
    """A stream of a service, awaited."""

    client: AsyncClient = field(kw_only=True, repr=False)
    add = _awaited(products.add)
    extend = _awaited(products.extend)
    release = _awaited(products.release)


@dataclass
class AsyncRemoteLedger(Place):
    """The ledger of a vault of a service, awaited."""

    client: AsyncClient = field(kw_only=True, repr=False)
    balance = _awaited(products.balance)
    balances = _awaited(products.balances)
    entries = _awaited(products.entries)
    head = _awaited(products.head)
    verify = _awaited(products.verify)


@dataclass
class AsyncRemoteVault(Place):
    """A vault of a service, with the verbs of `discreet.Vault`, awaited."""

    client: AsyncClient = field(kw_only=True, repr=False)
    describe = _awaited(flows.describe)
    ask = _awaited(flows.ask)
    preview = _awaited(flows.preview)
    releases = _awaited(flows.releases)
    release = _awaited(flows.release)
    plan_oracle = _awaited(flows.plan_oracle)
    synthesize = _awaited(flows.synthesize)
    fit = _awaited(flows.fit)
    set_budget = _awaited(flows.set_budget)

    @property
    def ledger(self) -> AsyncRemoteLedger:
        """The ledger: balances, entries, verification."""
        return AsyncRemoteLedger(self.name, self.purpose, client=self.client)

    async def oracle(self, columns: Any, **terms: Any) -> AsyncRemoteOracle:
        """Open an oracle over some columns on one charge. The parameters are those of `Vault.oracle`."""
        made = await self.client.run(flows.open_oracle(self, columns, **terms))
        return AsyncRemoteOracle(self, *made, client=self.client)

    async def holdout(self, target: str, features: Any = None, **terms: Any) -> AsyncRemoteHoldout:
        """Open a holdout on one charge. The parameters are those of `Vault.holdout`."""
        made = await self.client.run(flows.open_holdout(self, target, features, **terms))
        return AsyncRemoteHoldout(self, *made, client=self.client)

    async def stream(self, name: str, **terms: Any) -> AsyncRemoteStream:
        """Open a stream on one charge. The parameters are those of `Vault.stream`."""
        made = await self.client.run(flows.open_stream(self, name, **terms))
        return AsyncRemoteStream(self, *made, client=self.client)
