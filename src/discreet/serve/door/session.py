"""Carry out the statements of one connection: commands, catalogue queries and questions.

    select … from pg_class …             catalogue: free
    select * from trips limit 0          types of the declared columns: free
    select distinct city from trips      the declared values: free
    select city, count(*) from trips …   preview for its columns (free), then the vault (charged once, then free)
    explain select …                     the plan and its cost: free

Columns of an answer stand where the statement selected them, so that tools find them by place. The ends of the
intervals follow after all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

import discreet
from discreet.errors import DiscreetError
from discreet.query.parse.tool_statements import Statement, statements
from discreet.release.release import Release
from discreet.render.numbers import percent
from discreet.serve.door.analyst import Analyst
from discreet.serve.door.catalogue import Catalogue
from discreet.serve.door.refusals import NOT_SUPPORTED, READ_ONLY, Refusal, refusal_of
from discreet.serve.door.results import KINDS, TEXT, Column, Result
from discreet.serve.door.variables import VERSION, Variables, command

_TRANSACTION = {"begin": b"T", "start": b"T", "commit": b"I", "end": b"I", "rollback": b"I", "abort": b"I"}
_TAGS = {
    "begin": "BEGIN",
    "start": "START TRANSACTION",
    "commit": "COMMIT",
    "end": "COMMIT",
    "rollback": "ROLLBACK",
    "abort": "ROLLBACK",
    "savepoint": "SAVEPOINT",
    "release": "RELEASE",
    "discard": "DISCARD ALL",
    "deallocate": "DEALLOCATE",
    "unlisten": "UNLISTEN",
    "listen": "LISTEN",
    "lock": "LOCK TABLE",
    "analyze": "ANALYZE",
}
_MOST_CURSORS = 20
_SHORT = 4096  # characters that are parsed without leaving the event loop
_DECLARED = "These are the declared values, and free. Which of them occur is private: count them to see."


class Session:
    """The statements of one connection.

    Args:
        analyst: The client that has signed in.
        variables: The settings of the connection.
        catalogue: The public facts about the vault.
        begins: How a client of this door can begin with a price, as a sentence; empty by default.
    """

    def __init__(self, analyst: Analyst, variables: Variables, catalogue: Catalogue, *, begins: str = "") -> None:
        """Take the parts."""
        self.analyst, self.variables, self.catalogue, self._begins = analyst, variables, catalogue, begins
        self.block = b"I"
        self._cursors: dict[str, tuple[Result, int]] = {}

    def having(self, variables: Variables) -> Session:
        """Return a session of the same client with other settings, for one statement."""
        return Session(self.analyst, variables, self.catalogue, begins=self._begins)

    async def execute(self, statement: Statement, key: str = "") -> Result:
        """Carry out a statement.

        Args:
            statement: The statement.
            key: The idempotency key of a question, if the client can send it again; none by default.
        """
        try:
            if statement.command:
                return await self._command(statement)
            if statement.reads_catalogue:
                return await self._look_up(statement)
            found = await self._question(statement, key)
            self.variables.notices = " ".join(found.notices)
            return found
        except DiscreetError as error:
            raise refusal_of(error) from None

    async def columns(self, statement: Statement) -> Sequence[Column]:
        """Return the columns that a statement will return; none of one without rows. It is free."""
        try:
            if statement.command in ("show", "explain"):
                return (
                    [Column("QUERY PLAN")]
                    if statement.command == "explain"
                    else (await self.execute(statement)).columns
                )
            if statement.command == "fetch":
                return self._cursor(statement.words)[1].columns
            if statement.command:
                return []
            without = statement.without_values()
            if without.reads_catalogue or self._public(statement):
                return (await self._look_up(without)).columns
            sql, _ = without.question(self.catalogue.table, self.analyst.vault)
            keys = {name: one for name, one in self.variables.price.items() if name == "keys_delta"}
            previewed = await self.analyst.preview(sql, {"epsilon": "1", **keys}, None)  # types need no price
            return [column for column, _ in self._ordered(previewed["columns"])]
        except DiscreetError as error:
            raise refusal_of(error) from None

    # -- catalogue and questions ------------------------------------------------------------------------------

    async def _look_up(self, statement: Statement) -> Result:
        shown = {name.lower(): value for name, value in self.variables.all().items()}
        version = f"PostgreSQL {VERSION} (Discreet {discreet.__version__})"
        facts = {**shown, "user": self.analyst.name, "version": version}
        found, known = await asyncio.to_thread(self.catalogue.answer, statement, facts)
        if not known:
            self.analyst.service.metrics.count("door_catalogue_unknown")
        return found

    async def _question(self, statement: Statement, key: str) -> Result:
        if self._public(statement):
            found = await self._look_up(statement)
            return found if statement.types_only else replace(found, notices=[_DECLARED])
        sql, notes = statement.question(self.catalogue.table, self.analyst.vault)
        price, purpose = self.variables.price, self.variables.purpose
        if not price:
            raise self._no_price()
        # A relative margin cannot be previewed: what it costs depends on the answers on the way. Types can.
        relative = str(price.get("within", "")).endswith("%")
        previewed = await self.analyst.preview(sql, {"epsilon": "1"} if relative else price, purpose)
        ordered = self._ordered(previewed["columns"])
        columns = [column for column, _ in ordered]
        if statement.types_only:
            return Result(columns)
        free = bool(previewed["free"]) and not relative
        body = await self.analyst.ask(sql, price, purpose, free=free, key=key)
        release = Release.from_json(body)
        arrow = release.to_arrow()
        table = arrow.to_pydict()
        listed = [[_fitting(value, kind) for value in table[column.name]] for column, kind in ordered]
        notices = [*notes, *_notices(release, self.variables)]
        return Result(columns, [*zip(*listed, strict=True)], notices=notices, about=arrow.schema.metadata or {})

    def _public(self, statement: Statement) -> bool:
        """Return whether a query about the table is answered from public facts: types, or declared values."""
        types = statement.types_only and not statement.aggregates
        return types or self.catalogue.lists_values(statement)

    def _ordered(self, columns: Sequence[Mapping[str, str]]) -> list[tuple[Column, str]]:
        """Return the columns as they were selected, then the ends of the intervals, each with its kind."""
        ends = [one for one in columns if one["part"] in ("low", "high")] if self.variables.intervals else []
        chosen = [*(one for one in columns if one["part"] in ("key", "value")), *ends]
        return [(Column(one["name"], KINDS.get(one["type"], TEXT)), one["type"]) for one in chosen]

    # -- commands ---------------------------------------------------------------------------------------------

    async def _command(self, statement: Statement) -> Result:
        word, words = statement.command, statement.words
        if word in ("set", "show", "reset"):
            return command(self.variables, words)
        if word in _TRANSACTION:
            savepoint = word == "rollback" and "to" in [one.lower() for one in words]
            self.block = self.block if savepoint else _TRANSACTION[word]
            return Result(tag=_TAGS[word])
        if word == "declare":
            return await self._declare(statement)
        if word == "fetch":
            return self._fetch(words)
        if word == "close":
            self._cursors = {} if words[-1].lower() == "all" else {
                name: cursor for name, cursor in self._cursors.items() if name != words[-1]
            }  # fmt: skip
            return Result(tag="CLOSE CURSOR")
        if word == "explain" and statement.query is not None:
            return await self._explain(statement)
        if word == "discard":
            self.variables.reset("all")
        if word in _TAGS:
            return Result(tag=_TAGS[word])
        if word in ("insert", "update", "delete", "create", "drop", "alter", "truncate", "grant", "merge", "copy"):
            raise Refusal("Nothing can be changed here.", READ_ONLY, "A vault answers select, and nothing else.")
        raise Refusal(f"{word.upper()[:40]} is not understood.", NOT_SUPPORTED, "A vault answers select.")

    def _no_price(self) -> Refusal:
        return Refusal(
            "Say first what a question may cost.",
            "22023",
            "Run SET discreet.epsilon = '0.1', or SET discreet.spend = '1%', or SET discreet.within = '200'."
            f" {self._begins}".rstrip(),
        )

    async def _explain(self, statement: Statement) -> Result:
        sql, _ = statement.question(self.catalogue.table, self.analyst.vault)
        if not self.variables.price:
            raise self._no_price()
        found = await self.analyst.preview(sql, self.variables.price, self.variables.purpose)
        lines = [*str(found["plan"]).splitlines(), str(found["verdict"])]
        return Result([Column("QUERY PLAN")], [(line,) for line in lines], "EXPLAIN")

    async def _declare(self, statement: Statement) -> Result:
        if len(self._cursors) >= _MOST_CURSORS or len(statement.words) < 2:
            raise Refusal("Too many cursors are open.", "53400", "Close one.")
        found = await self.execute(Statement(query=statement.query))
        self._cursors[statement.words[1]] = found, 0
        return Result(tag="DECLARE CURSOR", notices=found.notices)

    def _fetch(self, words: Sequence[str]) -> Result:
        name, found, at = self._cursor(words)
        counts = [word for word in words[1:-1] if word.isdecimal()]
        rest = words[1:-1] and any(word.lower() == "all" for word in words[1:-1])
        until = len(found.rows) if rest else at + (int(counts[0][:9]) if counts else 1)
        rows = found.rows[at:until]
        self._cursors[name] = found, at + len(rows)
        return Result(found.columns, rows, f"FETCH {len(rows)}")

    def _cursor(self, words: Sequence[str]) -> tuple[str, Result, int]:
        if len(words) < 2 or words[-1] not in self._cursors:
            raise Refusal("There is no such cursor.", "34000")
        return words[-1], *self._cursors[words[-1]]


async def parsed(text: str) -> list[Statement]:
    """Return the statements of a text. A long one is read outside of the event loop."""
    if len(text) <= _SHORT:
        return statements(text)
    return await asyncio.to_thread(statements, text)


def _fitting(value: Any, kind: str) -> Any:
    """Return a value in the type that was announced."""
    if value is None:
        return None
    if kind == "real":
        return float(value)
    if kind == "text":
        return str(value)
    if kind == "datetime" and isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    return value


def _notices(release: Release, variables: Variables) -> list[str]:
    receipt = release.receipt
    cost = "This was answered before, so it is free" if release.free else f"This used {receipt.used}"
    ends = (
        "Columns _low and _high are the ends of"
        if variables.intervals
        else "Numbers have noise; see discreet.intervals for"
    )
    notes = dict.fromkeys(answer.note for answer in release.aggregates if answer.note)
    listed = [f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in notes]
    return [
        f"{cost}; {receipt.remaining}. {ends} {percent(float(release.confidence))} confidence intervals.",
        *listed,
    ]
