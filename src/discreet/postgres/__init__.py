"""A PostgreSQL server: its address, and connections to it that are lent for one transaction.

address        where it is, in words that never hold a password
connections    one thread, one transaction, no fork

with connected(Address.of("postgresql://ana:secret@db.example/health#people")) as connection:
    execute(connection, 'SELECT number FROM "people".entries WHERE analyst = ?', ["ana"])
"""

from discreet.postgres.address import Address, identifier, is_address
from discreet.postgres.connections import close, connected, detail, execute, from_driver, is_lost, run, sqlstate

__all__ = [
    "Address",
    "close",
    "connected",
    "detail",
    "execute",
    "from_driver",
    "identifier",
    "is_address",
    "is_lost",
    "run",
    "sqlstate",
]
