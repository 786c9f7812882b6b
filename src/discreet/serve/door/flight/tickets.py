"""Write tickets: a question with its settings and a key, so that fetching it again is the same request.

A ticket gives no right. The account that sends it asks its question, and is charged for it, as if the text were
its own. The key is drawn with the ticket: the same ticket of the same account is carried out and charged once.
"""

from __future__ import annotations

import secrets
from typing import Annotated

import msgspec

from discreet.serve.door.flight.protobuf import Malformed, pack
from discreet.serve.door.refusals import PROTOCOL, Refusal

NAME = "TicketStatementQuery"


class Ticket(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A statement that waits to be fetched.

    Args:
        vault: The vault that is asked.
        sql: The statement.
        settings: What it may cost, as settings of the session by their full names.
        key: The idempotency key.
    """

    vault: str
    sql: str
    settings: dict[str, str]
    key: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")] = msgspec.field(
        default_factory=lambda: secrets.token_hex(16)
    )

    def packed(self) -> bytes:
        """Return the ticket as bytes.

        >>> from discreet.serve.door.flight.protobuf import blob, unpack
        >>> ticket = Ticket("trips", "select 1", {"discreet.epsilon": "0.1"})
        >>> read(blob(unpack(ticket.packed())[1], 1)) == ticket
        True
        """
        return pack(NAME, {1: msgspec.json.encode(self)})


def read(handle: bytes) -> Ticket:
    """Return the ticket of a handle, or refuse it."""
    try:
        return msgspec.json.decode(handle, type=Ticket)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Refusal("This ticket is not understood.", PROTOCOL, "Send the statement again.") from None


def statement_text(handle: bytes) -> str:
    """Return the text of a prepared statement: its handle is the text, so that the server keeps nothing."""
    try:
        return handle.decode()
    except UnicodeDecodeError:
        raise Malformed("not UTF-8") from None
