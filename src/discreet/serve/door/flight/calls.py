"""Answer the calls of Flight SQL: statements, prepared statements, the catalogue, and settings of the session.

    GetFlightInfo, GetSchema      the columns of a statement and a ticket: free, from public facts
    DoGet                         the rows of a ticket: a question is charged here, and nowhere else
    DoAction                      prepare and close statements, settings of the session
    DoPut, DoExchange, others     refused: a vault takes no rows and no updates, and has no transactions

A statement goes the way of the PostgreSQL door (`session`): the same parsing, settings, turns, limits and workers.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from discreet.query.parse.tool_statements import Statement
from discreet.serve.door.flight import facts, tables, tickets
from discreet.serve.door.flight.client import Caller, Client, settings
from discreet.serve.door.flight.grpc import Call
from discreet.serve.door.flight.protobuf import Fields, Malformed, blob, decode, encode, pack, text, unpack
from discreet.serve.door.flight.statuses import TOO_LARGE, UNKNOWN
from discreet.serve.door.flight.tickets import Ticket
from discreet.serve.door.refusals import NOT_SUPPORTED, READ_ONLY, SYNTAX, Refusal
from discreet.serve.door.results import Result
from discreet.serve.door.session import Session, parsed
from discreet.serve.door.variables import PREFIX

SERVICE = "/arrow.flight.protocol.FlightService/"
AT_ONCE = frozenset(SERVICE + name for name in ("Handshake", "DoPut", "DoExchange"))
"""Calls that are answered before a message arrives: signing in, and what is refused whatever follows."""

MOST_WAITING = 1 << 28
"""The most bytes of answers that wait for their readers, at the whole door."""

_COMMAND = 2  # the kind of a descriptor that holds a command
_CLOSED = 1
_SETTING = ("set", "reset")
_TRANSACTIONS = ("begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release")
_PREPARED = "CommandPreparedStatementQuery"


@dataclass
class Waiting:
    """The answers of a door that wait for their readers."""

    size: int = 0

    @contextmanager
    def for_reader(self, size: int) -> Iterator[None]:
        """Count the bytes of an answer while it is read, or refuse it: slow readers must not fill the memory."""
        if self.size + size > MOST_WAITING:
            raise Refusal("Too many answers wait to be read.", TOO_LARGE, "Read or close them, and try again.")
        self.size += size
        try:
            yield
        finally:
            self.size -= size


class Calls:
    """The calls of one client.

    Args:
        client: Who calls.
        waiting: The answers of the door that are not read yet.
    """

    def __init__(self, client: Client, waiting: Waiting) -> None:
        """Take the client."""
        self._client, self._waiting = client, waiting

    async def answer(self, call: Call) -> AsyncGenerator[bytes, None]:
        """Answer one call with messages. A refusal is raised, and leaves by `statuses.told`.

        All that is answered to a token waits for the turn of its account: a call beside a question would measure
        how busy the machine is.
        """
        caller = await self._client.caller(call)
        async with caller.turn():
            messages = [*await _answered(caller)]
        with self._waiting.for_reader(sum(map(len, messages))):
            for message in messages:
                yield message


async def _answered(caller: Caller) -> Iterable[bytes]:
    call = caller.call
    name = call.path.removeprefix(SERVICE)
    if name == "Handshake":
        call.replied["authorization"] = f"Bearer {caller.token}"  # the client's own, which it sends from now on
        return []
    if name in ("DoPut", "DoExchange"):
        raise _read_only()
    known: dict[str, Callable[[Caller], Awaitable[Iterable[bytes]]]] = {
        "GetFlightInfo": _info,
        "GetSchema": _schema,
        "DoGet": _get,
        "DoAction": _action,
        "ListActions": _actions,
    }
    if name not in known or not call.path.startswith(SERVICE):
        raise Refusal("This call is not known here.", UNKNOWN)
    return await known[name](caller)


# -- statements ---------------------------------------------------------------------------------------------------


async def _info(caller: Caller) -> list[bytes]:
    """Return the columns of a command and a ticket for its rows. It is free."""
    command = _command(caller.call.message)
    name, fields = unpack(command)
    if name in facts.COMMANDS:
        table = await _catalogue(caller, name, fields)
        schema, ticket, rows = table.schema, command, table.num_rows
    else:
        sql = _sql(name, fields)
        session = await caller.session()
        chosen = session.variables.having(settings(caller.call))
        statement, schema = await _described(session.having(chosen), sql)
        # A driver may drop a result without columns unread. So what is set is set here, in the order of calls.
        if statement.command in _SETTING:
            await session.execute(statement)
        ticket, rows = Ticket(session.analyst.vault, sql, chosen.own).packed(), -1
    endpoint = encode({1: encode({1: ticket})})
    described = encode({1: _COMMAND, 2: command})
    return [encode({1: tables.schema_bytes(schema), 2: described, 3: endpoint, 4: rows, 5: -1})]


async def _schema(caller: Caller) -> list[bytes]:
    """Return the columns of a command. It is free."""
    name, fields = unpack(_command(caller.call.message))
    if name in facts.COMMANDS:
        schema = (await _catalogue(caller, name, fields)).schema
    else:
        _, schema = await _described(await _chosen(caller), _sql(name, fields))
    return [encode({1: tables.schema_bytes(schema)})]


async def _get(caller: Caller) -> Iterable[bytes]:
    """Return the rows of a ticket. A question is charged here, once for each ticket."""
    name, fields = unpack(blob(decode(caller.call.message), 1))
    if name != tickets.NAME:
        return tables.stream(await _catalogue(caller, name, fields))
    ticket = tickets.read(blob(fields, 1))
    session, statement = await caller.session(ticket.vault), await _statement(ticket.sql)
    if statement.command in _SETTING:
        return tables.stream(tables.table_of(Result()))  # it was set when its ticket was made
    # What a question may cost was fixed with its ticket.
    fixed = session.having(session.variables.having(ticket.settings))
    result = await fixed.execute(statement, key=ticket.key)
    session.variables.notices = fixed.variables.notices
    return tables.stream(tables.table_of(result), " ".join(result.notices))


async def _chosen(caller: Caller) -> Session:
    """Return the session of a call with the settings of its headers."""
    session = await caller.session()
    return session.having(session.variables.having(settings(caller.call)))


async def _described(session: Session, sql: str) -> tuple[Statement, pa.Schema]:
    statement = await _statement(sql)
    return statement, tables.schema_of(await session.columns(statement))


async def _catalogue(caller: Caller, name: str, fields: Fields) -> pa.Table:
    if name not in facts.COMMANDS:
        raise Refusal("This command is not known here.", UNKNOWN)
    return facts.COMMANDS[name]((await caller.session()).catalogue, fields)


# -- actions ------------------------------------------------------------------------------------------------------


async def _action(caller: Caller) -> list[bytes]:
    action = decode(caller.call.message)
    kind, body = text(action, 1), blob(action, 2)
    match kind:
        case "CreatePreparedStatement":
            return [encode({1: await _prepared(caller, unpack(body)[1])})]
        case "ClosePreparedStatement":
            return []  # the handle is the statement, and nothing was kept
        case "SetSessionOptions":
            await _set(caller, decode(body))
            return [encode({1: b""})]
        case "GetSessionOptions":
            session = await caller.session()
            shown = {"catalog": session.analyst.vault, **session.variables.own}
            entries = [encode({1: name.encode(), 2: encode({1: one.encode()})}) for name, one in shown.items()]
            return [encode({1: encode({1: entries})})]
        case "CloseSession":
            caller.forget()
            return [encode({1: encode({1: _CLOSED})})]
        case "BeginTransaction" | "EndTransaction" | "BeginSavepoint" | "EndSavepoint":
            raise _no_transactions()
        case _:
            raise Refusal("This action is not known here.", UNKNOWN)


async def _actions(_: Caller) -> list[bytes]:
    names = ("CreatePreparedStatement", "ClosePreparedStatement", "SetSessionOptions", "GetSessionOptions")
    return [encode({1: name.encode()}) for name in (*names, "CloseSession")]


async def _prepared(caller: Caller, fields: Fields) -> bytes:
    """Return a prepared statement with its columns. It is free."""
    if blob(fields, 2):
        raise _no_transactions()
    sql = text(fields, 1)
    _, schema = await _described(await _chosen(caller), sql)
    columns = {2: tables.schema_bytes(schema)} if schema.names else {}
    return pack("ActionCreatePreparedStatementResult", {1: sql.encode(), **columns})


async def _set(caller: Caller, fields: Fields) -> None:
    """Change settings of the session: `catalog` is the vault, all others are those of SET. Empty ones reset."""
    for entry in fields.get(1, []):
        pair = decode(_bytes(entry))
        name, value = text(pair, 1).lower(), text(decode(blob(pair, 2)), 1)
        if name == "catalog":
            caller.choose(value)
            continue
        variables = (await caller.session()).variables
        full = name if name.startswith(PREFIX) else PREFIX + name
        if value:
            variables.set(full, value)
        else:
            variables.reset(full)


# -- messages -----------------------------------------------------------------------------------------------------


def _command(message: bytes) -> bytes:
    """Return the command of a descriptor."""
    return blob(decode(message), 2)


def _sql(name: str, fields: Fields) -> str:
    """Return the text of a command that is a statement, or refuse it."""
    if name == _PREPARED:
        return tickets.statement_text(blob(fields, 1))
    if name == "CommandStatementQuery":
        if blob(fields, 2):
            raise _no_transactions()
        return text(fields, 1)
    if name in ("CommandStatementUpdate", "CommandPreparedStatementUpdate", "CommandStatementIngest"):
        raise _read_only()
    raise Refusal("This command is not known here.", UNKNOWN)


async def _statement(sql: str) -> Statement:
    """Return the one statement of a text, or refuse it."""
    found = await parsed(sql)
    if len(found) != 1:
        raise Refusal("A call has one statement.", SYNTAX, "Send statements one by one.")
    command = found[0].command
    if command in _TRANSACTIONS:
        raise _no_transactions()
    if command and command not in (*_SETTING, "show", "explain"):
        raise _read_only()
    if found[0].parameters:
        raise Refusal(
            "Parameters are not taken at this door.", NOT_SUPPORTED, "Write the values into the statement."
        )
    return found[0]


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise Malformed("number instead of bytes")
    return value


def _read_only() -> Refusal:
    hint = "A vault answers select. Tables are sealed by the curator."
    return Refusal("A vault takes no rows and no updates.", READ_ONLY, hint)


def _no_transactions() -> Refusal:
    return Refusal("A vault has no transactions.", UNKNOWN, "Connect with autocommit.")
