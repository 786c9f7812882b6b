"""Learn from data about people with differential privacy.

    Vault        seal a table, ask it in SQL, never overspend: Vault.seal, vault.ask, vault.preview, vault.ledger
    Client       the vaults of a service, with the same verbs; AsyncClient for asynchronous code
    Source       a table of a file or a database, where a name alone does not say enough
    Budget       what may be spent
    Integer …    what a column may hold: Integer, Real, Category, Boolean, Date, Datetime, Text
    select       a question without SQL's quotes, and where

    noise        random bits to exact integer noise
    privacy      what a guarantee is, and how guarantees add up
    mechanisms   one private release each
    oracle       many queries, few of them paid: vault.oracle, and multiplicative weights, MWEM, BLR
    learn        models that remember no person, with scikit-learn's face: vault.fit (needs `discreet[learn]`)
    validity     findings that survive adaptive analysis: a holdout that may be reused, and the theorems behind it
    synth        synthetic tables with the marginals of the sealed rows: vault.synthesize
    stream       counts that stay private at every moment: vault.stream, counters, windows, alarms
    local        reports that devices randomise themselves: protocols, clients, servers
    plots        pictures of costs and risks (needs `discreet[plots]`)
    audit        attacks on all of these, and on anything else that claims to be private

>>> import discreet as dp
>>> count = dp.mechanisms.Exact(1042, 1)
>>> mechanism = dp.mechanisms.Laplace(scale=10)
>>> noisy = mechanism.release(count)
>>> mechanism.loss
DiscreteLaplace(scale=Fraction(10, 1), sensitivity=1)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet import (
        audit,
        errors,
        learn,
        local,
        mechanisms,
        noise,
        oracle,
        plots,
        privacy,
        stream,
        synth,
        validity,
    )
    from discreet.client.client import AsyncClient, Client
    from discreet.ledger import Budget, Ledger
    from discreet.query.builder import select, where
    from discreet.release.release import Release
    from discreet.schema import Boolean, Category, Date, Datetime, Integer, Real, Text
    from discreet.sealing.sources import Source
    from discreet.vault.vault import Vault

__version__ = "0.1.0"

_SCHEMA = ("Boolean", "Category", "Date", "Datetime", "Integer", "Real", "Text")
_HOMES = {
    "AsyncClient": "client.client",
    "Client": "client.client",
    "Budget": "ledger",
    "Ledger": "ledger",
    "Release": "release.release",
    "Source": "sealing.sources",
    "Vault": "vault.vault",
    "select": "query.builder",
    "where": "query.builder",
    **dict.fromkeys(_SCHEMA, "schema"),
}

__all__ = [
    "AsyncClient",
    "Boolean",
    "Budget",
    "Category",
    "Client",
    "Date",
    "Datetime",
    "Integer",
    "Ledger",
    "Real",
    "Release",
    "Source",
    "Text",
    "Vault",
    "__version__",
    "audit",
    "errors",
    "learn",
    "local",
    "mechanisms",
    "noise",
    "oracle",
    "plots",
    "privacy",
    "select",
    "stream",
    "synth",
    "validity",
    "where",
]


def __getattr__(name: str) -> Any:
    # Layers are loaded when they are first used, so that `import discreet` costs next to nothing.
    if name in _HOMES:
        return getattr(importlib.import_module(f"discreet.{_HOMES[name]}"), name)
    if name in __all__:
        return importlib.import_module(f"discreet.{name}")
    raise AttributeError(f"module 'discreet' has no attribute {name!r}; it has {', '.join(__all__)}.")


def __dir__() -> list[str]:
    return __all__
