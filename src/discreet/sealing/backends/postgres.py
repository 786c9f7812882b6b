"""Seal inside a PostgreSQL database: in one transaction, so that no row leaves it.

Intermediate results are temporary tables, which are dropped when the transaction ends. Private tables are for
their owner alone: rights that other roles have by default, through PUBLIC or ALTER DEFAULT PRIVILEGES, are
revoked. If the server fails, its message is not repeated, because it may quote a row; the log of the server has
it. An interrupt (Ctrl-C) stops the statement in the server, and its transaction leaves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from discreet.engines.postgres import guarded, stoppable
from discreet.errors import Fix, ParameterError, SealingFailed
from discreet.postgres import Address, connected, execute, from_driver, identifier, is_address, run
from discreet.sealing.sources import Reading, Source, postgres, renamed

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection

    from discreet.sealing.backends import SealedRows
    from discreet.sealing.backends.duckdb import Progress

LOOKING = "SET TRANSACTION READ ONLY; SET LOCAL search_path = pg_catalog, pg_temp; "
"""The first statements of a transaction that only looks something up."""

_READS_TEXTS = 160_000  # the first version that can check whether a text is a number
_GRANTEES = """
    SELECT DISTINCT pg_catalog.quote_ident(r.rolname) FROM pg_catalog.pg_class c
    CROSS JOIN LATERAL pg_catalog.aclexplode(c.relacl) a JOIN pg_catalog.pg_roles r ON r.oid = a.grantee
    WHERE c.oid = pg_catalog.to_regclass(?) AND a.grantee <> c.relowner
"""
_COLUMNS = """
    SELECT attname::text FROM pg_catalog.pg_attribute
    WHERE attrelid = pg_catalog.to_regclass(?) AND attnum > 0 ORDER BY attnum
"""
_IDENTITY = "SELECT pg_catalog.pg_postmaster_start_time()::text, pg_catalog.current_database()::text"


class Database:
    """A backend: one transaction of the database in which the rows are, and stay."""

    dialect = "postgres"

    def __init__(self, connection: Connection, address: Address, table: str):
        self._connection, self._address, self._name = connection, address, table
        self._table = identifier(address.schema, table)
        ((self._version,),) = execute(
            connection, "SELECT pg_catalog.current_setting('server_version_num')::integer"
        )

    def opened(self, source: Source, wanted: Iterable[str] | None, name: str) -> Reading:
        """Find a table or a view, and the declared types of its columns."""
        where = self._address_of(source)
        old = {new: column for column, new in source.rename.items()}
        kept = None if wanted is None else {old.get(column, column) for column in wanted}
        found = postgres.relation(self._connection, source, where.fragment)
        return renamed(Reading(postgres.read(found, kept, name), found.types, collations=found.collations), source)

    def store(self, name: str, query: str, stage: str, progress: Progress | None) -> str:
        """Keep rows in a temporary table."""
        stored = f"pg_temp.{identifier(name)}"
        self._run(f"CREATE TEMP TABLE {identifier(name)} ON COMMIT DROP AS {query}", stage, progress)
        # The planner needs statistics for joins, and the server does not analyze temporary tables by itself.
        self._run(f"ANALYZE {stored}", stage, None)
        return stored

    def answer(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return execute(self._connection, query)

    def write(self, rows: SealedRows, fingerprint: str, stage: str, progress: Progress | None) -> None:
        """Write the table and its fingerprint, for its owner alone, and guard it against accidental changes."""
        self._run(f"CREATE TABLE {self._table} AS {rows.query}", stage, progress)
        columns = [name for (name,) in execute(self._connection, _COLUMNS, [self._table])]
        guard = guarded(self._address.schema, self._name, columns)
        finish = f"COMMENT ON TABLE {self._table} IS '{fingerprint}'; ANALYZE {self._table}; {guard}"
        self._run(finish, "writing rows", progress)
        make_private(self._connection, self._table)

    def _address_of(self, source: Source) -> Address:
        if is_address(source.data):
            where = Address.of(str(source.data))
            if where.uri == self._address.uri or _identity(where) == _identity(self._address):
                return where
        raise ParameterError(
            f"{source.display_name} is not in the database of {self._address}, into which it is to be sealed.",
            fix=[
                Fix("to", "people.vault", note="seals into a directory"),
                "Or load it into a table of that database first.",
            ],
        )

    def _run(self, script: str, stage: str, progress: Progress | None) -> None:
        check_readable(script, self._version)
        if progress is not None:
            progress(stage, 0.0)
        failure = ""
        try:
            stoppable(self._connection, lambda: run(self._connection, script))
        except Exception as error:
            if not from_driver(error):
                raise
            failure = postgres.reason(error)
        if failure:  # raised here, so that its context has no error that quotes a row
            raise SealingFailed(f"The rows could not be sealed: {failure}")
        if progress is not None:
            progress(stage, 1.0)


def check_readable(script: str, version: int) -> None:
    """Refuse a script that calls a function which an old server does not have."""
    if version < _READS_TEXTS and "PG_INPUT_IS_VALID" in script:
        raise ParameterError(
            "A column of texts is declared as numbers or dates, which needs PostgreSQL 16 or later.",
            found=f"PostgreSQL {version // 10_000}",
            fix=[
                Fix("to", "people.vault", note="seals into a directory"),
                "Or read a view that casts the texts.",
            ],
        )


def make_private(connection: Connection, table: str) -> None:
    """Revoke the rights that other roles than the owner have by default."""
    grantees = ["PUBLIC", *(name for (name,) in execute(connection, _GRANTEES, [table]))]
    run(connection, f"REVOKE ALL ON {table} FROM {', '.join(grantees)}")


def pass_on(connection: Connection, old: str, new: str) -> None:
    """Grant SELECT on a new table to the roles that have it on the old one."""
    if grantees := [
        name for (name,) in execute(connection, f"{_GRANTEES} AND a.privilege_type = 'SELECT'", [old])
    ]:
        run(connection, f"GRANT SELECT ON {new} TO {', '.join(grantees)}")


def _identity(address: Address) -> tuple[Any, ...]:
    """Return what identifies a database of a server, whatever address reaches it."""
    with connected(address, LOOKING) as connection:
        return execute(connection, _IDENTITY)[0]
