"""Speak PostgreSQL's protocol with one client that has signed in: simple and extended queries.

Simple: a text with statements, each answered in turn. Extended: Parse, Bind, Describe, Execute and Close on named
statements and portals; an error skips everything until Sync. A portal may be read in parts. Describe is free.

Of a fault on our side the client gets constant words, and the log the name of its class: the text of an exception
may hold a value.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from discreet.errors import DiscreetError
from discreet.query.parse.tool_statements import Statement
from discreet.serve.door import results
from discreet.serve.door.analyst import Analyst
from discreet.serve.door.messages import Fields, Gone, Wire, format_at, malformed
from discreet.serve.door.refusals import CANCELLED, PROTOCOL, SYNTAX, WRONG_VALUE, Refusal, failure, refusal_of
from discreet.serve.door.results import KINDS, Result
from discreet.serve.door.session import Session, parsed

MOST_PREPARED = 500
"""The most prepared statements, and the most portals, of a connection."""

_BATCH = 500  # rows between two waits for a slow client
_KINDS = {oid: kind for kind, oid in KINDS.items()} | {
    **dict.fromkeys((results.INT2, results.INT4, results.OID), "integer"),
    **dict.fromkeys((results.FLOAT4, results.NUMERIC), "real"),
}
_TEXTS = {0, results.TEXT, results.VARCHAR, results.UNKNOWN, results.BPCHAR, results.NAME}


@dataclass
class Prepared:
    """A prepared statement: the statement, or None for an empty text, and the types of its parameters."""

    statement: Statement | None
    oids: list[int]


@dataclass
class Portal:
    """A statement with its values, and how far its result has been read."""

    statement: Statement | None
    formats: list[int]
    result: Result | None = None
    at: int = 0


@dataclass
class Connection:
    """One client.

    Args:
        wire: The messages.
        analyst: Who has signed in.
        session: Carries out statements.
    """

    wire: Wire
    analyst: Analyst
    session: Session
    prepared: dict[str, Prepared] = field(default_factory=dict)
    portals: dict[str, Portal] = field(default_factory=dict)
    _task: asyncio.Task[None] | None = None
    _cancelled: bool = False

    async def run(self) -> None:
        """Answer messages until the client says goodbye."""
        skipping = False
        while True:
            await self.wire.flush()
            letter, fields = await self.wire.read()
            if letter == b"X":
                return
            if skipping and letter != b"S":
                continue
            skipping = False
            try:
                await self._handled(letter, fields)
            except Refusal as refusal:
                self.wire.error(refusal)
                if refusal.fatal:
                    return
                skipping = letter not in (b"Q", b"S")
            if letter in (b"Q", b"S"):
                if letter == b"S" and self.session.block == b"I":
                    self.portals.clear()  # they end with their transaction
                self.wire.ready(self.session.block)

    def cancel(self) -> None:
        """Stop waiting for a question. It goes on, is charged and recorded."""
        if self._task is not None:
            self._cancelled = True
            self._task.cancel()

    async def _handled(self, letter: bytes, fields: Fields) -> None:
        """Handle one message in the turn of the account, so that a cancel request can end the wait for it."""
        self._cancelled = False
        self._task = asyncio.create_task(self._in_turn(letter, fields))
        try:
            await self._task
        except asyncio.CancelledError:
            if not self._cancelled:
                self._task.cancel()
                raise
            raise Refusal(
                "Cancelled. A question that had begun goes on, and is charged.",
                CANCELLED,
                "Send it again: once it is recorded, it is free.",
            ) from None
        except (Refusal, Gone):
            raise
        except DiscreetError as error:
            raise refusal_of(error) from None
        except Exception as error:
            self.analyst.service.log.note("failed", door="postgresql", kind=type(error).__name__)
            raise failure() from None
        finally:
            self._task = None

    async def _in_turn(self, letter: bytes, fields: Fields) -> None:
        async with self.analyst.turn():
            if letter in b"QPDE":
                self.analyst.service.requests.take(f"account {self.analyst.name}")
                await self.analyst.actor()
            await self._message(letter, fields)

    async def _message(self, letter: bytes, fields: Fields) -> None:
        match letter:
            case b"Q":
                await self._simple(fields)
            case b"P":
                await self._parse(fields)
            case b"B":
                self._bind(fields)
            case b"D":
                await self._describe(fields)
            case b"E":
                await self._execute(fields)
            case b"C":
                kind, name = fields.raw(1), fields.text()
                (self.prepared if kind == b"S" else self.portals).pop(name, None)
                self.wire.send(b"3")
            case b"S" | b"H":
                return
            case b"d" | b"c" | b"f":
                return  # the end of a copy that was refused
            case _:
                raise Refusal("This message is not known here.", PROTOCOL, fatal=True)

    # -- simple -----------------------------------------------------------------------------------------------

    async def _simple(self, fields: Fields) -> None:
        text = fields.text()
        fields.end()
        found = await parsed(text)
        if not found:
            self.wire.send(b"I")
        for statement in found:
            if statement.parameters:
                raise Refusal("There is no value for a parameter.", "42P02")
            result = await self.session.execute(statement)
            if result.columns:
                self.wire.columns(result.columns)
            await self._rows(result, result.rows, [])
            self.wire.complete(result.tag_of(len(result.rows)))

    async def _rows(self, result: Result, rows: Sequence[Sequence[object]], formats: Sequence[int]) -> None:
        for notice in result.notices:
            self.wire.notice(notice)
        if result.status is not None:
            self.wire.status(*result.status)
        for place, row in enumerate(rows):
            self.wire.row(result.columns, row, formats)
            if place % _BATCH == _BATCH - 1:
                await self.wire.flush()

    # -- extended ---------------------------------------------------------------------------------------------

    async def _parse(self, fields: Fields) -> None:
        name, text = fields.text(), fields.text()
        given = fields.numbers(4)
        fields.end()
        found = await parsed(text)
        if len(found) > 1:
            raise Refusal("A prepared statement is one statement.", SYNTAX, "Send them one by one.")
        if name and name in self.prepared:
            raise Refusal("There is already a prepared statement with this name.", "42P05")
        if len(self.prepared) >= MOST_PREPARED:
            raise Refusal("Too many prepared statements.", "53400", "Close some of them.")
        statement = found[0] if found else None
        inferred = [] if statement is None else statement.parameter_kinds(self.session.catalogue.kinds)
        listed = [*given, *[0] * (len(inferred) - len(given))]
        oids = [
            oid or KINDS[kind] for oid, kind in zip(listed, [*inferred, *["text"] * len(listed)], strict=False)
        ]
        self.prepared[name] = Prepared(statement, oids)
        self.wire.send(b"1")

    def _bind(self, fields: Fields) -> None:
        portal, name = fields.text(), fields.text()
        formats, values = fields.numbers(2), fields.values()
        wanted = fields.numbers(2)
        fields.end()
        prepared = self._prepared(name)
        if len(values) != len(prepared.oids):
            raise Refusal("The number of values is not the number of parameters.", PROTOCOL)
        if len(self.portals) >= MOST_PREPARED:
            raise Refusal("Too many portals.", "53400", "Close some of them.")
        if any(one not in (0, 1) for one in [*formats, *wanted]):
            raise malformed()
        statement = prepared.statement
        if statement is not None and values:
            statement = _bound(statement, prepared.oids, values, formats)
        self.portals[portal] = Portal(statement, wanted)
        self.wire.send(b"2")

    async def _describe(self, fields: Fields) -> None:
        kind, name = fields.raw(1), fields.text()
        fields.end()
        if kind == b"S":
            prepared = self._prepared(name)
            self.wire.parameters(prepared.oids)
            statement, formats = prepared.statement, list[int]()
        elif kind == b"P":
            portal = self._portal(name)
            statement, formats = portal.statement, portal.formats
        else:
            raise malformed()
        columns = [] if statement is None else await self.session.columns(statement)
        if columns:
            self.wire.columns(columns, formats)
        else:
            self.wire.send(b"n")

    async def _execute(self, fields: Fields) -> None:
        name, limit = fields.text(), fields.int32()
        fields.end()
        portal = self._portal(name)
        if portal.statement is None:
            self.wire.send(b"I")
            return
        first = portal.result is None
        if portal.result is None:
            portal.result = await self.session.execute(portal.statement)
        result = portal.result
        until = portal.at + limit if limit > 0 else len(result.rows)
        rows = result.rows[portal.at : until]
        await self._rows(result if first else Result(result.columns), rows, portal.formats)
        portal.at += len(rows)
        if portal.at < len(result.rows):
            self.wire.send(b"s")
        else:
            self.wire.complete(result.tag_of(len(rows)))

    def _prepared(self, name: str) -> Prepared:
        if name not in self.prepared:
            raise Refusal("There is no such prepared statement.", "26000")
        return self.prepared[name]

    def _portal(self, name: str) -> Portal:
        if name not in self.portals:
            raise Refusal("There is no such portal.", "34000")
        return self.portals[name]


def _bound(
    statement: Statement, oids: Sequence[int], values: Sequence[bytes | None], formats: Sequence[int]
) -> Statement:
    found: list[tuple[str | None, str]] = []
    try:
        for place, (value, oid) in enumerate(zip(values, oids, strict=True)):
            binary = format_at(formats, place) == 1
            text = None if value is None else results.read_parameter(value, oid, binary=binary)
            found.append((text, "text" if oid in _TEXTS else _KINDS.get(oid, "text")))
        return statement.bound(found)
    except (ValueError, OverflowError) as error:
        if isinstance(error, DiscreetError):
            raise
        raise Refusal("The value of a parameter is not of its type.", WRONG_VALUE) from None
