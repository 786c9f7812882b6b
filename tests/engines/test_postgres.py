"""Rows in PostgreSQL: read only, stopped by an interrupt, with messages that quote no row."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from discreet.engines import case_folding
from discreet.engines.engine import Groups
from discreet.engines.nodes import Column, Compare, Int
from discreet.engines.postgres import Postgres, guarded
from discreet.engines.statement import Statement
from discreet.errors import DatabaseUnavailable, ParameterError
from discreet.postgres import Address, close, connected, execute, identifier, run
from tests.servers.postgres import Server

pytestmark = pytest.mark.xdist_group("postgres")

LIMITS = {"w": 4096, "c0": 127, "c1": 2**31 - 1}
WEIGHT = {"where": None, "keys": [], "sums": [Column("w")]}


@pytest.fixture
def address(postgres_address: str) -> Iterator[Address]:
    found = Address.of(postgres_address)
    schema = identifier(found.schema)
    with connected(found) as connection:
        run(
            connection,
            f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.rows (person bigint, w smallint, c0 smallint); "
            f"INSERT INTO {schema}.rows VALUES (1, 4096, 3), (1, 100, NULL), (2, 4096, 3); "
            f"COMMENT ON TABLE {schema}.rows IS 'it''s marked'; "
            f"{guarded(found.schema, 'rows', ['person', 'w', 'c0'])}",
        )
    yield found
    close(found)


@pytest.fixture
def engine(address: Address) -> Postgres:
    return Postgres(address, limits=LIMITS)


def total(engine: Postgres) -> int:
    return int(engine.run(engine.rows.sums(**WEIGHT)).sums[0, 0])  # type: ignore[arg-type]


def test_sums_and_persons_come_back_by_group(engine: Postgres) -> None:
    found = engine.run(engine.rows.sums(where=None, keys=[Column("c0")], sums=[Column("w")]))
    assert dict(zip(found.keys, found.sums.tolist(), strict=True)) == {(3,): [8192], (None,): [100]}
    capped = engine.run(engine.rows.persons(where=None, keys=[], cap=4096))
    assert (capped.keys, capped.sums.tolist()) == ([()], [[8192]])


def test_the_mark_is_the_comment_of_the_table(engine: Postgres, address: Address) -> None:
    assert engine.fingerprint() == "it's marked"
    with connected(address) as connection:
        run(connection, f"COMMENT ON TABLE {identifier(address.schema, 'rows')} IS NULL")
    assert engine.fingerprint() == ""
    with pytest.raises(DatabaseUnavailable, match="no longer exist"):
        Postgres(address, "absent").fingerprint()


CHANGES = {
    "added": "INSERT INTO {table} VALUES (3, 4096, 3)",
    "changed": "UPDATE {table} SET w = 1",
    "taken away": "DELETE FROM {table}",
    "emptied": "TRUNCATE {table}",
    "copied": "INSERT INTO {table} SELECT * FROM {table}",
    "as a replica": "SET session_replication_role = replica; INSERT INTO {table} VALUES (3, 4096, 3)",
}


@pytest.mark.parametrize("change", CHANGES)
def test_not_even_the_owner_changes_rows_by_mistake(change: str, engine: Postgres, address: Address) -> None:
    script = CHANGES[change].format(table=identifier(address.schema, "rows"))
    with pytest.raises(Exception, match="sealed rows are never changed"), connected(address) as connection:
        run(connection, script)
    assert total(engine) == 8292


ALTERED = {
    "written anew": "ALTER TABLE {table} ALTER COLUMN w TYPE smallint USING 4096::smallint",
    "widened": "ALTER TABLE {table} ALTER COLUMN person TYPE numeric",
    "dropped": "ALTER TABLE {table} DROP COLUMN w, ADD COLUMN w smallint DEFAULT 4096",
}


@pytest.mark.parametrize("change", ALTERED)
def test_not_even_the_owner_alters_a_column_by_mistake(change: str, engine: Postgres, address: Address) -> None:
    """No trigger fires then, so the weight of a person could change unnoticed."""
    script = ALTERED[change].format(table=identifier(address.schema, "rows"))
    with pytest.raises(Exception, match=r"trigger"), connected(address) as connection:
        run(connection, script)
    assert total(engine) == 8292


def test_what_writes_the_same_rows_elsewhere_is_let_through(address: Address, postgres: Server) -> None:
    table = identifier(address.schema, "rows")
    postgres.run(
        f"VACUUM FULL {table}",
        f"CREATE INDEX by_person ON {table} (person)",
        f"CLUSTER {table} USING by_person",
        f"ALTER TABLE {table} SET (fillfactor = 90)",
    )
    assert total(Postgres(address, limits=LIMITS, fingerprint="it's marked")) == 8292


AWAY = {
    "removed": "DROP TRIGGER never_changed ON {table}",
    "put to sleep": "ALTER TABLE {table} DISABLE TRIGGER never_changed",
    "awake for some": "ALTER TABLE {table} ENABLE TRIGGER never_changed",
    "of one change only": "DROP TRIGGER never_changed ON {table}; "
    "CREATE TRIGGER never_changed BEFORE DELETE ON {table} EXECUTE FUNCTION {function}(); "
    "ALTER TABLE {table} ENABLE ALWAYS TRIGGER never_changed",
    "gone with a column": "ALTER TABLE {table} DROP COLUMN c0 CASCADE",
    "of some columns only": "ALTER TABLE {table} ADD COLUMN c1 smallint",
    "passed by": "CREATE TABLE {table}s () INHERITS ({table})",
}


@pytest.mark.parametrize("how", AWAY)
def test_rows_that_somebody_could_have_changed_are_not_asked(how: str, address: Address) -> None:
    engine = Postgres(address, limits=LIMITS, fingerprint="it's marked")
    assert total(engine) == 8292
    statement = engine.rows.sums(**WEIGHT)  # type: ignore[arg-type]
    examples = engine.examples(engine.rows.selection({}))
    table, function = f"{identifier(address.schema)}.rows", identifier(address.schema, "rows_never_changed")
    with connected(address) as connection:
        run(connection, AWAY[how].format(table=table, function=function))
    for asking in (
        engine.fingerprint,
        lambda: engine.rows,
        lambda: engine.run(statement),
        lambda: examples.total(lambda batch: [batch.weights.sum(keepdims=True)]),
    ):
        with pytest.raises(
            ParameterError, match=r"not guarded against changes.*vault\.reseal.*ENABLE ALWAYS TRIGGER"
        ):
            asking()


def test_rows_that_took_the_place_of_others_are_not_asked(address: Address) -> None:
    engine = Postgres(address, limits=LIMITS, fingerprint="it's marked")
    statement = engine.rows.sums(**WEIGHT)  # type: ignore[arg-type]
    examples = engine.examples(engine.rows.selection({}))
    with connected(address) as connection:
        run(connection, f"COMMENT ON TABLE {identifier(address.schema, 'rows')} IS 'of another sealing'")
    for asking in (
        lambda: engine.rows,
        lambda: engine.run(statement),
        lambda: examples.total(lambda batch: [batch.weights.sum(keepdims=True)]),
    ):
        with pytest.raises(ParameterError, match=r"were sealed again after the question was planned.*Ask again"):
            asking()


def test_while_rows_are_read_nobody_takes_their_place(address: Address, postgres: Server) -> None:
    """The rows that were checked are the rows that are added up: the table stays locked in between."""
    engine, schema = Postgres(address, limits=LIMITS), identifier(address.schema)
    held = f"pg_locks WHERE relation = CAST('{schema}.rows' AS regclass) AND mode = 'AccessShareLock'"
    assert engine.run(Statement(held, (), ("COUNT(*)",))).sums.tolist() == [[1]]
    shown = "CASE current_setting('transaction_isolation') WHEN 'repeatable read' THEN 1 ELSE 0 END"
    assert engine.run(Statement("generate_series(1, 1)", (), (f"SUM({shown})",))).sums.tolist() == [[1]]


def test_no_time_limit_and_no_policy_of_a_role_comes_after_the_charge(address: Address, postgres: Server) -> None:
    schema = identifier(address.schema)
    postgres.run(
        "DROP ROLE IF EXISTS hasty",
        "CREATE ROLE hasty LOGIN",
        "ALTER ROLE hasty SET statement_timeout = 500",
        "ALTER ROLE hasty SET idle_in_transaction_session_timeout = 500",
        f"GRANT USAGE ON SCHEMA {schema} TO hasty",
        f"GRANT SELECT ON {schema}.rows TO hasty",
    )
    hasty = Postgres(Address.of(postgres.address(address.schema, user="hasty")), limits=LIMITS)
    slow = Statement(f"{schema}.rows, LATERAL pg_sleep(0.6)", (), ("SUM(w)",))
    assert hasty.run(slow).sums.tolist() == [[8292]]
    postgres.run(
        f"ALTER TABLE {schema}.rows ENABLE ROW LEVEL SECURITY",
        f"CREATE POLICY hiding ON {schema}.rows USING (person = 1)",
    )
    with pytest.raises(DatabaseUnavailable):
        total(hasty)
    postgres.run("DROP OWNED BY hasty", "DROP ROLE hasty")


def test_sums_of_integers_do_not_wrap_where_the_server_would(engine: Postgres) -> None:
    """SUM of INTEGERs is a BIGINT, and wraps without an error after 2^32 of the largest."""
    assert "BIGINT '0'" in engine.rows.sums(where=None, keys=[], sums=[Column("c1")]).totals[0]
    many = Statement("generate_series(1, 3)", (), ("SUM(4611686018427387904 + BIGINT '0')",))
    assert engine.run(many).sums.tolist() == [[3 * 2**62]]


def test_threads_ask_at_the_same_time(engine: Postgres) -> None:
    answers: list[int] = []
    threads = [threading.Thread(target=lambda: answers.extend(total(engine) for _ in range(5))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [8292] * 20


def test_it_connects_again_after_it_was_closed(engine: Postgres) -> None:
    assert total(engine) == 8292
    engine.close()
    engine.close()
    assert total(engine) == 8292


def test_it_connects_again_after_the_server_was_away(engine: Postgres, postgres: Server) -> None:
    assert total(engine) == 8292
    postgres.killed()
    postgres.back()
    assert total(engine) == 8292


def test_an_engine_goes_to_other_processes(engine: Postgres) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(total, (engine,)) == 8292


def test_a_forked_process_asks_through_a_connection_of_its_own(engine: Postgres, address: Address) -> None:
    # In a process of its own: pytest's has threads, and Python warns of forks among threads.
    code = (
        "import os, pickle, sys, warnings; warnings.simplefilter('ignore')\n"
        "from tests.engines.test_postgres import total\n"
        "engine = pickle.loads(sys.stdin.buffer.read())\n"
        "total(engine)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if total(engine) == 8292 else 3)\n"
        "print(os.waitpid(child, 0)[1], total(engine))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(engine), capture_output=True, timeout=600, check=True
    )
    assert ran.stdout.split() == [b"0", b"8292"]


def test_nothing_is_written_whatever_is_asked(engine: Postgres, address: Address) -> None:
    sneaky = Statement("generate_series(1, 1)", (), ("setval('public.counter', 7)",))
    with connected(address) as connection:
        run(connection, "CREATE SEQUENCE IF NOT EXISTS public.counter")
    with pytest.raises(DatabaseUnavailable, match="error 25006"):
        engine.run(sneaky)


INTERRUPTED = """
import pickle, sys
from discreet.engines.statement import Statement
from tests.engines.test_postgres import total
engine = pickle.loads(sys.stdin.buffer.read())
try:
    engine.run(Statement("generate_series(1, 1), LATERAL pg_sleep(600)", (), ("SUM(1)",)))
except KeyboardInterrupt:
    print("stopped", total(engine), flush=True)
"""


def sleepers(address: Address, wanted: int) -> None:
    """Wait until this many sessions sleep."""
    while True:
        with connected(address) as connection:
            text = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' AND state = 'active'"
            if execute(connection, f"{text} AND pid <> pg_backend_pid()") == [(wanted,)]:
                return
            execute(connection, "SELECT 1 FROM pg_sleep(0.02)")


def test_an_interrupt_stops_a_question_in_the_server_and_the_next_one_is_answered(
    engine: Postgres, address: Address
) -> None:
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdin is not None
            process.stdin.write(pickle.dumps(engine))
            process.stdin.close()
            process.stdin = None
            sleepers(address, 1)
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=600)[0] == b"stopped 8292\n"
        finally:
            process.kill()
    assert process.returncode == 0
    sleepers(address, 0)


def test_what_a_failing_server_says_of_a_row_is_not_repeated(engine: Postgres) -> None:
    quoting = Statement("(SELECT 'Ada Lovelace'::text AS name) AS r", (), ("SUM(CAST(name AS integer))",))
    with pytest.raises(DatabaseUnavailable, match=r"error 22P02.*not repeated here") as caught:
        engine.run(quoting)
    said = f"{caught.value} {caught.value.__cause__} {caught.value.__context__}"
    assert "Lovelace" not in said


def test_rows_that_are_gone_or_forbidden_are_told_in_words(
    engine: Postgres, address: Address, postgres: Server
) -> None:
    with pytest.raises(DatabaseUnavailable, match="no longer exist"):
        total(Postgres(address, "absent"))
    postgres.run("CREATE ROLE nosy LOGIN")
    nosy = Address.of(postgres.address(address.schema, user="nosy"))
    with pytest.raises(DatabaseUnavailable, match="may not read the rows"):
        total(Postgres(nosy))


def test_an_engine_shows_no_password(address: Address, postgres: Server) -> None:
    secret = Address.of(postgres.address(address.schema).replace("postgres@", "postgres:tiger@"))
    engine = Postgres(secret, limits=LIMITS)
    assert "tiger" not in repr(engine)
    with pytest.raises(DatabaseUnavailable) as caught:
        engine.run(Statement("nowhere", (), ("SUM(1)",)))
    assert "tiger" not in str(caught.value)


def test_no_letter_is_left_out_of_the_table_of_letters() -> None:
    """The table ends before the last character of Unicode, so that it is built quickly."""
    beyond = (chr(code) for code in range(case_folding._LAST, 0x110000) if not 0xD800 <= code < 0xE000)
    assert all(case_folding.folded(sign) == sign for sign in beyond)


def test_groups_of_no_rows_have_the_right_shape(engine: Postgres) -> None:
    empty = Compare("=", Column("c0"), Int(99))
    found: Groups = engine.run(engine.rows.sums(where=empty, keys=[Column("c0")], sums=[Column("w")] * 2))
    assert (found.keys, found.sums.shape) == ([], (0, 2))
