"""Keep what was replied to an idempotency key, so that a retried request is carried out once, even after a crash.

A row is written before the question starts, and completed when it ends. A row that another server process left
incomplete belongs to a process that was killed: the question may be started again only where the kernel makes
that free (`Verb.resumable`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from discreet.errors import AlreadyRunning, DiscreetError, NotFound, from_json
from discreet.serve.accounts.database import Database
from discreet.serve.accounts.secrets import new_id

RUNNING = 0
"""The status of a question that has not ended."""

_COLUMNS = "id, owner, idempotency, fingerprint, verb, vault, server, status, body, begun"


@dataclass(frozen=True)
class Reply:
    """A question that was accepted, and what was replied once it ended.

    Args:
        id: A public name that cannot be guessed.
        owner: The account that asked.
        key: The idempotency key that the client sent, or the id.
        fingerprint: The hash of the request.
        verb: What was asked for.
        vault: The vault.
        server: The server process that runs it.
        status: The status of HTTP, or `RUNNING`.
        body: The JSON that was replied.
        begun: When it was accepted, in seconds since 1970.
    """

    id: str
    owner: str
    key: str
    fingerprint: str
    verb: str
    vault: str
    server: str
    status: int = RUNNING
    body: Any = None
    begun: int = 0

    @property
    def error(self) -> DiscreetError | None:
        """The error that was replied, for doors that do not speak HTTP; None for an answer."""
        return None if self.status in (RUNNING, 200) else from_json(self.body)


class Replies:
    """The replies of a service.

    Args:
        database: The store of the accounts.
        server: The name of this server process, drawn when it starts.
    """

    def __init__(self, database: Database, server: str):
        """Take the store."""
        self._database, self.server = database, server

    def accept(
        self, owner: str, key: str, fingerprint: str, verb: str, vault: str, now: int
    ) -> tuple[Reply, bool]:
        """Return the row of a key, and whether it is new. A row that is not new and `RUNNING` was left by a crash.

        An analyst has one question at a time, so no other task of this process works on the row.
        """
        with self._database.write() as run:
            rows = run(f"SELECT {_COLUMNS} FROM replies WHERE owner = ? AND idempotency = ?", owner, key or "\n")
            if rows:
                found = _read(rows[0])
                if found.fingerprint != fingerprint:
                    raise AlreadyRunning(
                        "This idempotency key belongs to another request. Nothing was charged.",
                        found=key[:64],
                        fix="Send a new key with a new request.",
                    )
                if found.status == RUNNING:
                    run("UPDATE replies SET server = ? WHERE id = ?", self.server, found.id)
                return found, False
            id_ = new_id()
            made = Reply(id_, owner, key or id_, fingerprint, verb, vault, self.server, begun=now)
            values = (id_, owner, made.key, fingerprint, verb, vault, self.server, RUNNING, "", now)
            run(f"INSERT INTO replies ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", *values)
            return made, True

    def complete(self, id_: str, status: int, body: Any) -> None:
        """Store what is replied."""
        with self._database.write() as run:
            run("UPDATE replies SET status = ?, body = ? WHERE id = ?", status, json.dumps(body), id_)

    def forget(self, id_: str) -> None:
        """Forget a question that did not start: its key may be sent again."""
        with self._database.write() as run:
            run("DELETE FROM replies WHERE id = ? AND status = ?", id_, RUNNING)

    def find(self, owner: str, id_: str) -> Reply:
        """Return a reply to its owner."""
        with self._database.read() as run:
            rows = run(f"SELECT {_COLUMNS} FROM replies WHERE id = ? AND owner = ?", id_, owner)
        if not rows:
            raise NotFound("There is no such question of yours.", found=id_[:64])
        return _read(rows[0])

    def cancel(self, id_: str, now: int) -> None:
        """Ask the server that runs a question to cancel it."""
        with self._database.write() as run:
            if not run("SELECT 1 FROM cancellations WHERE id = ?", id_):
                run("INSERT INTO cancellations (id, begun) VALUES (?, ?)", id_, now)

    def cancelled(self, id_: str) -> bool:
        """Return whether another server was asked to cancel a question."""
        with self._database.read() as run:
            return bool(run("SELECT 1 FROM cancellations WHERE id = ?", id_))

    def sweep(self, before: int) -> None:
        """Delete replies that were begun before a time."""
        with self._database.write() as run:
            run("DELETE FROM replies WHERE begun < ?", before)
            run("DELETE FROM cancellations WHERE begun < ?", before)


def _read(row: tuple[Any, ...]) -> Reply:
    id_, owner, key, fingerprint, verb, vault, server, status, body, begun = row
    replied = json.loads(body) if body else None
    return Reply(id_, owner, key, fingerprint, verb, vault, server, status, replied, begun)
