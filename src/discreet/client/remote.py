"""Define the vaults, products and collections of a service.

Each verb is written once, in `flows`, `products` and `collections`, and is a method of both kinds of clients here
(`verb`). What a vault makes is of its own kind, so the makers are written for each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from discreet.client import collections, flows, products
from discreet.client.collections import Collecting
from discreet.client.flows import Place
from discreet.client.products import Product
from discreet.client.verb import Verb

if TYPE_CHECKING:
    from discreet.client.client import AsyncClient, Client

C = TypeVar("C", "Client", "AsyncClient")


@dataclass
class RemoteOracle(Product, Generic[C]):
    """An oracle of a service."""

    client: C = field(kw_only=True, repr=False)
    ask = Verb(products.ask_oracle)
    describe = Verb(products.describe_oracle)


@dataclass
class RemoteHoldout(Product, Generic[C]):
    """A holdout of a service."""

    client: C = field(kw_only=True, repr=False)
    score = Verb(products.score)
    describe = Verb(products.describe_holdout)


@dataclass
class RemoteStream(Product, Generic[C]):
    """A stream of a service."""

    client: C = field(kw_only=True, repr=False)
    add = Verb(products.add)
    extend = Verb(products.extend)
    release = Verb(products.release)


@dataclass
class RemoteCollection(Collecting, Generic[C]):
    """A local collection of a service."""

    client: C = field(kw_only=True, repr=False)
    describe = Verb(collections.describe)
    opened = Verb(collections.opened)
    ticket = Verb(collections.ticket)
    submit = Verb(collections.submit)
    estimate = Verb(collections.estimate)


@dataclass
class RemoteLedger(Place, Generic[C]):
    """The ledger of a vault of a service."""

    client: C = field(kw_only=True, repr=False)
    balance = Verb(products.balance)
    balances = Verb(products.balances)
    entries = Verb(products.entries)
    head = Verb(products.head)
    verify = Verb(products.verify)


@dataclass
class _Vault(Place, Generic[C]):
    """A vault of a service: the verbs of both kinds."""

    client: C = field(kw_only=True, repr=False)
    describe = Verb(flows.describe)
    ask = Verb(flows.ask)
    preview = Verb(flows.preview)
    releases = Verb(flows.releases)
    release = Verb(flows.release)
    plan_oracle = Verb(flows.plan_oracle)
    synthesize = Verb(flows.synthesize)
    fit = Verb(flows.fit)
    set_budget = Verb(flows.set_budget)


class PrintedLedger(RemoteLedger["Client"]):
    """The ledger of a vault of a service, which prints what is left."""

    def __str__(self) -> str:
        from discreet.ledger import render

        return render.text(self.name, self.balances())


@dataclass
class RemoteVault(_Vault["Client"]):
    """A vault of a service, with the verbs of `discreet.Vault`."""

    @property
    def ledger(self) -> PrintedLedger:
        """The ledger: balances, entries, verification."""
        return PrintedLedger(self.name, self.purpose, client=self.client)

    def oracle(self, columns: Any, **terms: Any) -> RemoteOracle[Client]:
        """Open an oracle over some columns on one charge. The parameters are those of `Vault.oracle`."""
        made = self.client.run(flows.open_oracle(self, columns, **terms))
        return RemoteOracle(self, *made, client=self.client)

    def holdout(self, target: str, features: Any = None, **terms: Any) -> RemoteHoldout[Client]:
        """Open a holdout on one charge. The parameters are those of `Vault.holdout`."""
        made = self.client.run(flows.open_holdout(self, target, features, **terms))
        return RemoteHoldout(self, *made, client=self.client)

    def stream(self, name: str, **terms: Any) -> RemoteStream[Client]:
        """Open a stream on one charge. The parameters are those of `Vault.stream`."""
        made = self.client.run(flows.open_stream(self, name, **terms))
        return RemoteStream(self, *made, client=self.client)


@dataclass
class AsyncRemoteVault(_Vault["AsyncClient"]):
    """A vault of a service, with the verbs of `discreet.Vault`, awaited."""

    @property
    def ledger(self) -> RemoteLedger[AsyncClient]:
        """The ledger: balances, entries, verification."""
        return RemoteLedger(self.name, self.purpose, client=self.client)

    async def oracle(self, columns: Any, **terms: Any) -> RemoteOracle[AsyncClient]:
        """Open an oracle over some columns on one charge. The parameters are those of `Vault.oracle`."""
        made = await self.client.run(flows.open_oracle(self, columns, **terms))
        return RemoteOracle(self, *made, client=self.client)

    async def holdout(self, target: str, features: Any = None, **terms: Any) -> RemoteHoldout[AsyncClient]:
        """Open a holdout on one charge. The parameters are those of `Vault.holdout`."""
        made = await self.client.run(flows.open_holdout(self, target, features, **terms))
        return RemoteHoldout(self, *made, client=self.client)

    async def stream(self, name: str, **terms: Any) -> RemoteStream[AsyncClient]:
        """Open a stream on one charge. The parameters are those of `Vault.stream`."""
        made = await self.client.run(flows.open_stream(self, name, **terms))
        return RemoteStream(self, *made, client=self.client)
