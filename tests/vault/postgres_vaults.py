"""Tables and vaults of a PostgreSQL server, looked into: what tests of them share."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from discreet.postgres import Address, connected, execute, identifier
from discreet.schema.metadata import TableMetadata
from discreet.sealing.sources import Source
from tests.servers.postgres import Server

numbers = itertools.count(1)
"""To give every table a name of its own."""


def loaded(server: Server, table: pa.Table, kinds: Sequence[str], schema: str = "public") -> Source:
    """The rows of a table as a table of the database."""
    address = Address.of(server.address())
    name = f"source_{next(numbers)}"
    columns = ", ".join(f"{identifier(c)} {kind}" for c, kind in zip(table.column_names, kinds, strict=True))
    values = ", ".join(
        f"CAST(CAST(${i + 1} AS TEXT) AS {kind})" if kind.startswith("numeric") else f"${i + 1}"
        for i, kind in enumerate(kinds)
    )
    bound = pa.table(
        [c.cast(pa.string()) if pa.types.is_decimal(c.type) else c for c in table.columns], table.column_names
    )
    with connected(address) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {identifier(schema, name)} ({columns})")
        cursor.executemany(f"INSERT INTO {identifier(schema, name)} VALUES ({values})", bound)
    return Source(server.address(), table=f"{schema}.{name}")


def rows_of(address: str, metadata: TableMetadata) -> list[dict[str, Any]]:
    """Every sealed row of a vault in a database. Nothing in the package reads rows like this."""
    where = Address.of(address)
    names = ["person", "w", *(f"c{i}" for i in range(len(metadata.columns)))]
    names += ["spot"] if metadata.has_text else []
    table = "rows" if metadata.version == 1 else f"rows_{metadata.version}"
    with connected(where) as connection:
        found = execute(connection, f"SELECT {', '.join(names)} FROM {identifier(where.schema, table)}")
    return [dict(zip(names, row, strict=True)) for row in found]
