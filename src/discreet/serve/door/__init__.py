"""Open doors for the tools people have: the wire protocol of PostgreSQL, with TLS and a token as password.

    server        Door: PostgreSQL: TLS, sign in, cancel requests
    flight/       FlightDoor: Arrow Flight SQL, for ADBC
    listener      connections of a door, within limits
    reception     sign in, at all doors: one turn, one limit, one catalogue
    tls           the certificate, made at the first run if none is given
    messages      the messages of the protocol, each within a limit
    connection    one client: simple and extended queries, portals
    session       carry out statements: commands, catalogue, questions
    variables     SET and SHOW: what a question may cost
    analyst       rights, turns, rates, and the way to the workers
    catalogue     public columns as an empty database, for tools that look around
    results       values as text and binary
    refusals      errors as SQLSTATE and hint

What a statement is (command, catalogue, question) and what BI tools mean by it: `query/parse/tool_*.py`.
"""

from discreet.serve.door.reception import Reception
from discreet.serve.door.server import Door

__all__ = ["Door", "Reception"]
