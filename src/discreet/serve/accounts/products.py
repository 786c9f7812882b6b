"""Keep what was made and lasts: oracles, synthetic tables, models, holdouts, streams, by an id.

A row holds the parameters of the opening, with which a worker finds the product again in the ledger. Its id is the
hash of these and of its owner: the same call again is the same product. Answers of an oracle are kept beside it,
for its page: most of them are free, and so are in no ledger.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from discreet.errors import NotFound
from discreet.serve.accounts.database import Database, Run


@dataclass(frozen=True)
class Product:
    """Something that an account made, and may use.

    Args:
        id: Its public name.
        owner: The account that made it, and whose budget paid.
        kind: "oracle", "synthetic", "model", "holdout" or "stream".
        vault: The vault.
        purpose: The purpose that paid as well; none by default.
        arguments: The parameters of the opening, as JSON.
        made: When it was asked for, in seconds since 1970.
    """

    id: str
    owner: str
    kind: str
    vault: str
    purpose: str | None
    arguments: dict[str, Any]
    made: int


@dataclass(frozen=True)
class Answers:
    """The answers of an oracle: how many, how many of them free, and the newest ones as JSON."""

    count: int
    free: int
    newest: list[dict[str, Any]]


class Products:
    """The products of a service."""

    def __init__(self, database: Database):
        """Take the store of the accounts."""
        self._database = database

    def keep(
        self, owner: str, kind: str, vault: str, purpose: str | None, arguments: dict[str, Any], now: int
    ) -> Product:
        """Keep what was made, and return it with its id."""
        id_ = product_id(owner, kind, vault, purpose, arguments)
        with self._database.write() as run:
            if not run("SELECT 1 FROM products WHERE id = ?", id_):
                values = (id_, owner, kind, vault, purpose or "", json.dumps(arguments), now)
                run("INSERT INTO products VALUES (?, ?, ?, ?, ?, ?, ?)", *values)
        return Product(id_, owner, kind, vault, purpose, arguments, now)

    def find(self, owner: str, kind: str, id_: str) -> Product:
        """Return a product to its owner."""
        with self._database.read() as run:
            found = _read(run, "id = ? AND owner = ? AND kind = ?", id_, owner, kind)
        if not found:
            raise NotFound(f"There is no such {kind} of yours.", found=id_[:64], fix="List what you made.")
        return found[0]

    def of(self, owner: str, vault: str) -> list[Product]:
        """Return what an account made from a vault, the newest first."""
        with self._database.read() as run:
            return _read(run, "owner = ? AND vault = ? ORDER BY made DESC, id", owner, vault)

    def note(self, id_: str, body: dict[str, Any], free: bool) -> None:
        """Keep an answer of an oracle."""
        with self._database.write() as run:
            ((last,),) = run("SELECT COALESCE(MAX(number), 0) FROM answers WHERE product = ?", id_)
            run("INSERT INTO answers VALUES (?, ?, ?, ?)", id_, last + 1, json.dumps(body), int(free))

    def answers(self, id_: str, most: int) -> Answers:
        """Return how many answers an oracle gave, how many of them were free, and the newest ones."""
        with self._database.read() as run:
            ((count, free),) = run("SELECT COUNT(*), COALESCE(SUM(free), 0) FROM answers WHERE product = ?", id_)
            rows = run("SELECT body FROM answers WHERE product = ? ORDER BY number DESC LIMIT ?", id_, most)
        return Answers(int(count), int(free), [json.loads(body) for (body,) in rows])


def product_id(owner: str, kind: str, vault: str, purpose: str | None, arguments: dict[str, Any]) -> str:
    """Return the id of a product.

    >>> product_id("ana", "oracle", "trips", None, {"columns": ["age"]})[:8]
    '5477bc4a'
    """
    text = json.dumps([owner, kind, vault, purpose, arguments], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _read(run: Run, where: str, *values: str) -> list[Product]:
    rows = run(f"SELECT id, owner, kind, vault, purpose, arguments, made FROM products WHERE {where}", *values)
    return [
        Product(id_, owner, kind, vault, purpose or None, json.loads(arguments), made)
        for id_, owner, kind, vault, purpose, arguments, made in rows
    ]
