"""Store the ledger in a schema of a PostgreSQL server, for teams: one table, and triggers that guard it.

* One writer: a write begins with LOCK TABLE … IN EXCLUSIVE MODE, for which others wait, up to `timeout` seconds,
  and which readers do not notice. Only then is its snapshot taken (REPEATABLE READ), so it sees all that was
  committed before. Were the lock ever void, two writers would insert the same number, and the second would fail.
* Durable: COMMIT returns when the charge is on the server's disk, also where synchronous_commit is off, and on
  the disks of its synchronous standbys if it has any. A stronger setting (remote_apply) is left alone.
* An unknown outcome is not taken for a good one: if the server is lost while it commits, `write` raises, so that
  nothing is released. The charge may have been made.
* One state: a reader's transaction is REPEATABLE READ, READ ONLY.
* No search_path, collation or row-level policy of the server or of a role decides what is read: the path is set to
  our schema, texts are compared byte by byte (COLLATE "C"), and a policy that would hide rows is an error.

Rights: the role that makes the ledger owns it, and at first no other role may even read it. A role that charges
needs USAGE on the schema, and SELECT, INSERT and UPDATE on the table: UPDATE for LOCK TABLE alone, since the
triggers refuse every update. To record answers or to set budgets takes more: `postgres_rights`, granted by
`trust`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from discreet.errors import DatabaseUnavailable, LedgerMissing, LedgerTampered, LedgerUnavailable
from discreet.ledger.entry import RESTORE, Entry
from discreet.ledger.store import MISSING_LEDGER, SCHEMA, Rows, newer_layout, removed_trigger
from discreet.ledger.store import postgres_rights as rights
from discreet.postgres import (
    Address,
    close,
    connected,
    detail,
    execute,
    from_driver,
    guard,
    identifier,
    is_lost,
    run,
    sqlstate,
)

if TYPE_CHECKING:
    from discreet.postgres.connections import Connection

_MARK = "discreet ledger, layout "  # the comment of the table, by which we know it
_LONGEST_WAIT = 2**31 - 1  # milliseconds; lock_timeout takes no more

_TABLE = """
    CREATE TABLE {table} (
        number BIGINT PRIMARY KEY,
        time TEXT COLLATE "C" NOT NULL,
        kind TEXT COLLATE "C" NOT NULL,
        body TEXT COLLATE "C" NOT NULL,
        hash TEXT COLLATE "C" NOT NULL,
        analyst TEXT COLLATE "C",
        purpose TEXT COLLATE "C",
        question TEXT COLLATE "C",
        charge BIGINT UNIQUE
    );
    CREATE INDEX entries_by_analyst ON {table} (analyst, number) WHERE analyst IS NOT NULL;
    CREATE INDEX entries_by_purpose ON {table} (purpose, number) WHERE purpose IS NOT NULL;
    CREATE INDEX entries_by_question ON {table} (question, number) WHERE question IS NOT NULL;
    COMMENT ON TABLE {table} IS '{mark}';
"""
_TRIGGERS = {
    "never_changed": (
        "BEFORE UPDATE ON {table} FOR EACH STATEMENT",
        "RAISE EXCEPTION 'a ledger is never changed';",
    ),
    "never_shortened": (
        "BEFORE DELETE OR TRUNCATE ON {table} FOR EACH STATEMENT",
        "RAISE EXCEPTION 'a ledger is never shortened';",
    ),
    "only_continued": (
        "BEFORE INSERT ON {table} FOR EACH ROW",
        """DECLARE last BIGINT;
            BEGIN
                EXECUTE format('SELECT max(number) FROM %s', TG_RELID::regclass) INTO last;
                IF NEW.number IS DISTINCT FROM coalesce(last, 0) + 1 THEN
                    RAISE EXCEPTION 'a ledger is only continued';
                END IF;
                RETURN NEW;
            END;""",
    ),
    rights.TRIGGER: (rights.EVENT, rights.BODY),
}
# Unqualified, where the path is set to our schema: a statement without parameters is answered in one round.
_FACTS = """
    SELECT obj_description(to_regclass('entries'), 'pg_class'), set_config('synchronous_commit',
        CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)
"""
# Whether we may look into the schema, if there is a table of this name in it.
_THERE = """
    SELECT pg_catalog.has_schema_privilege(n.oid, 'USAGE') FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relname = 'entries'
"""
_OTHERS = """
    SELECT DISTINCT pg_catalog.quote_ident(r.rolname) FROM pg_catalog.pg_class c
    CROSS JOIN LATERAL pg_catalog.aclexplode(c.relacl) a JOIN pg_catalog.pg_roles r ON r.oid = a.grantee
    WHERE c.oid = pg_catalog.to_regclass(?) AND a.grantee <> c.relowner
"""
_AWAKE = "SELECT tgname::text FROM pg_trigger WHERE tgrelid = 'entries'::regclass AND tgenabled = 'A'"
_UNSAFE = "SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off'"


class PostgresStore:
    """One schema of a server, many processes, threads and machines.

    `within` is a transaction of the caller, which makes the ledger together with its vault: all of it, or nothing.
    Such a store is for `Ledger.create` alone.
    """

    def __init__(self, address: str | Address, *, timeout: float = 30, within: Connection | None = None):
        self._address = address if isinstance(address, Address) else Address.of(address)
        self._schema = identifier(self._address.schema)
        self._table = f"{self._schema}.entries"
        self._timeout, self._within = timeout, within

    @property
    def name(self) -> str:
        """The address, without a password."""
        return self._address.words

    def create(self, opening: Entry) -> None:
        """Make the schema if there is none, the table and its first entry, all in one transaction."""
        with self._transaction("SET TRANSACTION ISOLATION LEVEL READ COMMITTED") as connection:
            if execute(connection, "SELECT pg_catalog.to_regnamespace(?) IS NULL", [self._schema])[0][0]:
                run(connection, f"CREATE SCHEMA {self._schema}")
            run(connection, _TABLE.format(table=self._table, mark=f"{_MARK}{SCHEMA}"))
            for name in _TRIGGERS:
                self._guard(connection, name)
            self._make_rights(connection)
            # What others have by ALTER DEFAULT PRIVILEGES is for tables that are not private.
            others = ["PUBLIC", *(name for (name,) in execute(connection, _OTHERS, [self._table]))]
            run(connection, f"REVOKE ALL ON {self._table} FROM {', '.join(others)}; {self._settings}")
            self._rows(connection).append(opening)

    @contextmanager
    def write(self) -> Iterator[Rows]:
        """Open the only writing transaction."""
        with self._ledger(f"LOCK TABLE {self._table} IN EXCLUSIVE MODE") as connection:
            yield self._rows(connection)

    @contextmanager
    def read(self) -> Iterator[Rows]:
        """Open a reading transaction."""
        with self._ledger("SET TRANSACTION READ ONLY") as connection:
            yield self._rows(connection)

    def check(self) -> None:
        """Look for the triggers, and whether the server waits for its disk."""
        with self._ledger("SET TRANSACTION READ ONLY") as connection:
            triggers = {row[0] for row in execute(connection, _AWAKE)}
            unsafe = [row[0] for row in execute(connection, _UNSAFE)]
            older = set() if self._rightful(connection) else {rights.TRIGGER}
        if missing := sorted(_TRIGGERS.keys() - triggers - older):
            raise removed_trigger(self.name, missing[0])
        if unsafe:
            raise LedgerUnavailable(
                f"The entries of {self.name} are in order, but its server runs with {unsafe[0]} = off: a power "
                "cut can lose charges after they were answered.",
                fix=f"Run ALTER SYSTEM SET {unsafe[0]} = on, and SELECT pg_reload_conf().",
            )

    def guarded(self) -> bool:
        """Return whether the server checks which role appends which entry. In older ledgers it does not."""
        with self._ledger("SET TRANSACTION READ ONLY") as connection:
            return self._rightful(connection)

    def expect_right_to_record(self) -> None:
        """Refuse a role that could not record an answer, before it is charged for one."""
        with self._ledger("SET TRANSACTION READ ONLY") as connection:
            allowed = execute(connection, rights.ALLOWED, [f"{self._schema}.{rights.MAY_RELEASE}()"])[0][0]
        if allowed is False:
            raise self._forbidden("it may charge, but not record an answer, so nothing was charged")

    def trust(self, role: str, *, budgets: bool = False) -> None:
        """Let a role charge and record answers, and with `budgets` set budgets. Only the owner can do this.

        A ledger that an older Discreet made gets the trigger that checks these rights.
        """
        name, functions = identifier(role), [rights.MAY_RELEASE, *([rights.MAY_AMEND] if budgets else [])]
        with self._ledger(f"LOCK TABLE {self._table} IN EXCLUSIVE MODE") as connection:
            if not execute(connection, rights.OWNED, [self._table])[0][0]:
                raise self._forbidden("only its owner can trust a role")
            if not self._rightful(connection):
                self._guard(connection, rights.TRIGGER)
                self._make_rights(connection)
            run(connection, f"GRANT USAGE ON SCHEMA {self._schema} TO {name}")
            run(connection, f"GRANT SELECT, INSERT, UPDATE ON {self._table} TO {name}")
            for each in functions:
                run(connection, f"GRANT EXECUTE ON FUNCTION {self._schema}.{each}() TO {name}")

    def close(self) -> None:
        """Close idle connections. The ledger opens new ones when it is used again."""
        close(self._address)

    @property
    def _settings(self) -> str:
        wait = math.ceil(min(max(self._timeout * 1000, 1), _LONGEST_WAIT))  # 0 would be: for ever
        return (
            f"SET LOCAL search_path = pg_catalog, {self._schema}, pg_temp; SET LOCAL row_security = off; "
            f"SET LOCAL lock_timeout = {wait}"
        )

    def _guard(self, connection: Connection, name: str) -> None:
        event, body = _TRIGGERS[name]
        function = f"{self._schema}.entries_{name}"
        run(connection, guard(self._table, function=function, name=name, event=event, body=body))

    def _make_rights(self, connection: Connection) -> None:
        run(connection, rights.FUNCTIONS.format(schema=self._schema))
        for function in (f"{self._schema}.{rights.MAY_RELEASE}()", f"{self._schema}.{rights.MAY_AMEND}()"):
            others = ["PUBLIC", *(name for (name,) in execute(connection, rights.GRANTEES, [function]))]
            run(connection, f"REVOKE ALL ON FUNCTION {function} FROM {', '.join(others)}")

    def _rightful(self, connection: Connection) -> bool:
        return bool(execute(connection, rights.GUARDED, [f"{self._schema}.entries_{rights.TRIGGER}()"])[0][0])

    def _rows(self, connection: Connection) -> Rows:
        return Rows(lambda text, parameters: execute(connection, text, parameters))

    @contextmanager
    def _ledger(self, first: str) -> Iterator[Connection]:
        """A transaction on what is a ledger, and not one from the future. `first` comes before its snapshot."""
        begin = f"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; {self._settings}; {first}"
        with self._transaction(begin) as connection:
            mark = re.fullmatch(rf"{_MARK}(\d+)", execute(connection, _FACTS)[0][0] or "")
            if mark is None:
                raise self._no_ledger(connection)
            if int(mark[1]) > SCHEMA:
                raise newer_layout(self.name, int(mark[1]))
            yield connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Connection]:
        """A transaction that is committed if its block ends, and leaves nothing if it raises."""
        if self._within is not None:
            yield self._within
            return
        committing = False
        try:
            with connected(self._address, begin) as connection:
                yield connection
                committing = True
        except DatabaseUnavailable as error:
            raise LedgerUnavailable(error.problem, found=error.found, fix=error.fixes) from error
        except Exception as error:
            if not from_driver(error):
                raise
            raise self._explained(error, committing) from error

    def _no_ledger(self, connection: Connection) -> LedgerUnavailable:
        match execute(connection, _THERE, [self._address.schema]):
            case []:
                return self._absent()
            case [(False,)]:
                return self._forbidden("no USAGE on its schema")
            case _:
                return LedgerMissing(
                    f"The table entries at {self.name} is not a ledger.",
                    fix="Choose another schema for the ledger.",
                )

    def _absent(self) -> LedgerMissing:
        return LedgerMissing(f"There is no ledger at {self.name}.", fix=MISSING_LEDGER)

    def _occupied(self) -> LedgerUnavailable:
        return LedgerUnavailable(
            f"There is something at {self.name} already: a table called entries.",
            fix="Open it, or choose another schema.",
        )

    def _explained(self, error: Exception, committing: bool) -> LedgerUnavailable | LedgerTampered:
        match sqlstate(error):
            case "42P01" | "3F000":
                return self._absent()
            case "42P06" | "42P07" | "42710" | "42723":  # another process was faster
                return self._occupied()
            case "23505" if detail(error, "SCHEMA_NAME") == "pg_catalog":  # between our check and our insert
                return self._occupied()
            case "55P03":
                problem = f"was locked by another process for {self._timeout:g} seconds"
                fix = "Try again, or end that process."
            case "25006":
                problem = "can only be read: the server is a standby, or the session is read-only"
                fix = "Use the address of the primary."
            case "42501":
                return self._forbidden(_reason(error))
            case "53100":
                problem = "could not grow: the disk of its server is full. Nothing was written"
                fix = "Make room and ask again."
            case "22021" | "22P05":
                problem = (
                    "cannot hold this text: a NUL, or a character that the encoding of its database lacks. "
                    "Nothing was written"
                )
                fix = "Use another name, or a database in UTF8."
            case "57014":
                problem = "was interrupted, by you or by the server's statement_timeout. Nothing was written"
                fix = "Ask again."
            case "XX001" | "XX002":
                return LedgerTampered(f"The ledger {self.name} is damaged.", found=_reason(error), fix=RESTORE)
            case _ if is_lost(error):
                problem, fix = _lost(committing)
            case _:
                problem = f"could not be read or written ({_reason(error)})"
                fix = "Nothing may be released until it can be."
        return LedgerUnavailable(f"The ledger {self.name} {problem}.", fix=fix)

    def _forbidden(self, reason: str) -> LedgerUnavailable:
        return LedgerUnavailable(
            f"The ledger {self.name} is closed to this user ({reason}).",
            fix=[
                f"Its owner can run: GRANT USAGE ON SCHEMA {self._schema} TO …; GRANT SELECT, INSERT, UPDATE ON "
                f"{self._table} TO …; GRANT EXECUTE ON FUNCTION {self._schema}.{rights.MAY_RELEASE}() TO …;",
                "To make a ledger, a user needs CREATE on the database.",
            ],
        )


def _lost(committing: bool) -> tuple[str, str]:
    if committing:
        return (
            "was lost while it committed: the entry may be there or not, so nothing may be released",
            "When the server is back, look for the charge among those without a release.",
        )
    return "was lost: its server went away. Nothing was written", "Try again when it is back."


def _reason(error: Exception) -> str:
    """Return the server's message without its details, which may quote a row, and without our statement."""
    return detail(error, "MESSAGE_PRIMARY") or "the driver gave no reason"
