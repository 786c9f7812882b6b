"""Connect to a PostgreSQL server: its address, and connections that are lent for one transaction.

    address       the address, shown without its password
    connections   one thread, one transaction, no fork
    triggers      triggers that keep a table as it is

with connected(Address.of("postgresql://ana:secret@db.example/health#people")) as connection:
    execute(connection, 'SELECT number FROM "people".entries WHERE analyst = ?', ["ana"])
"""

from discreet.postgres.address import Address, check_path, identifier, is_address, is_nearly_address
from discreet.postgres.connections import (
    close,
    connected,
    detail,
    execute,
    from_driver,
    is_lost,
    opened,
    run,
    sqlstate,
)
from discreet.postgres.triggers import guard

__all__ = [
    "Address",
    "check_path",
    "close",
    "connected",
    "detail",
    "execute",
    "from_driver",
    "guard",
    "identifier",
    "is_address",
    "is_lost",
    "is_nearly_address",
    "opened",
    "run",
    "sqlstate",
]
