"""Define the vaults, products and collections of a service, blocking and asynchronous.

Each verb is written once, in `flows`, `products` and `collections`; here it becomes a method of both kinds.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from discreet.client import collections, flows, products
from discreet.client.collections import Collecting
from discreet.client.flows import Place
from discreet.client.products import Product
from discreet.client.requests import Flow

if TYPE_CHECKING:
    from discreet.client.client import AsyncClient, Client

T = TypeVar("T")
P = ParamSpec("P")


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
class RemoteCollection(Collecting):
    """A local collection of a service."""

    client: Client = field(kw_only=True, repr=False)
    describe = _blocking(collections.describe)
    opened = _blocking(collections.opened)
    submit = _blocking(collections.submit)
    estimate = _blocking(collections.estimate)


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
class AsyncRemoteCollection(Collecting):
    """A local collection of a service, awaited."""

    client: AsyncClient = field(kw_only=True, repr=False)
    describe = _awaited(collections.describe)
    opened = _awaited(collections.opened)
    submit = _awaited(collections.submit)
    estimate = _awaited(collections.estimate)


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
