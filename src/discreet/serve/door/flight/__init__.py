"""Open a door for ADBC and other clients of Arrow Flight SQL, with TLS and a token.

    server      FlightDoor: listen
    grpc        calls over HTTP/2, within limits; every error leaves here
    statuses    errors as statuses of gRPC
    client      who calls: token, vault, settings
    calls       the calls of Flight SQL
    tickets     a question with its price and its key
    facts       catalogs, schemas, tables and types, from public facts
    tables      results as Arrow
    protobuf    messages as bytes

Parsing, settings, rights, turns, limits and the way to the workers are those of the PostgreSQL door.
"""

from discreet.serve.door.flight.server import FlightDoor

__all__ = ["FlightDoor"]
