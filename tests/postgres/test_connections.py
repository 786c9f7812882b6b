"""Addresses never show a password; a transaction is kept or not, and never shared, broken or inherited."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DatabaseUnavailable, ParameterError
from discreet.postgres import (
    Address,
    close,
    connected,
    execute,
    from_driver,
    identifier,
    is_address,
    run,
    sqlstate,
)
from tests.ledger.processes import Tell, alone, forked
from tests.servers.postgres import CAREFUL, Server

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection

pytestmark = pytest.mark.xdist_group("postgres")


# -- addresses --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words", "schema"),
    [
        ("postgresql://ana:pw@db.example/health#people", "postgresql://ana@db.example/health#people", "people"),
        ("postgres://db.example/health", "postgresql://db.example/health", None),
        ("POSTGRESQL://db/health#x", "postgresql://db/health#x", "x"),
        ("postgresql://ana:p%40w%23@h1:5432,[::1]:5433/d", "postgresql://ana@h1:5432,[::1]:5433/d", None),
        ("postgresql:///d?host=/run/pg&user=ana#p", "postgresql:///d?host=/run/pg&user=ana#p", "p"),
        ("postgresql://h/d?password=pw&sslpassword=pw&sslmode=require", "postgresql://h/d", None),
        ("postgresql://h/d?sslkey=/keys/pw&passfile=/pw&scram_client_key=pw", "postgresql://h/d", None),
        (
            "postgresql://h/d#Leute%20in%20%22Ö%22%23",
            "postgresql://h/d#Leute%20in%20%22%C3%96%22%23",
            'Leute in "Ö"#',
        ),
        ("postgresql://ana:a:b:pw@h/d", "postgresql://ana@h/d", None),
        ("postgresql://", "postgresql://", None),
    ],
)
def test_an_address_says_where_and_not_how_to_get_in(text: str, words: str, schema: str | None) -> None:
    address = Address.of(text)
    assert (str(address), repr(address), address.fragment) == (words, words, schema)
    assert "pw" not in f"{address} {address!r} {[address]}"
    assert Address.of(words).words == words
    assert is_address(text)


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://ana:se@cret@host/db",  # libpq would look for the host cret@host, and say so
        "postgresql://ana:se/cret@host/db",
        "postgresql://ana:12/cret@host/db",
        "postgresql://ana:se?cret@host/db",
        "postgresql://ana:12?cret=1@host/db",
        "postgresql://ana:12?secret",
        "postgresql://ana:se#cret@host/db",
        "postgresql://ana:12#cret@host/db#people",
        "postgresql://ana:secret@host/db#peo#ple",
        "postgresql://ana:se%zzcret@host/db",
        "postgresql://ana:se%00cret@host/db",
        "postgresql://ana:secret@ho st/db",
        "postgresql://ana:secret@ho\nst/db",
        "postgresql://ana:secret@[::1/db",
        "postgresql://ana:secret@host:port/db",
        "postgresql://ana:secret@ho\u2100st/db",  # urllib's own refusal quotes it
        "postgresql://ana:secret@host/db#%ff%00",
        "postgresql://ana:secret@host/db#" + "x" * 64,
    ],
)
def test_an_address_that_can_be_misread_is_refused_unseen(text: str) -> None:
    with pytest.raises(ParameterError) as refused:
        Address.of(text)
    assert "cret" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_what_is_no_address_is_a_path(tmp_path: object) -> None:
    assert not any(
        map(is_address, ["people.vault", "/postgresql://", "sqlite://x", tmp_path, None, b"postgresql://"])
    )
    with pytest.raises(ParameterError, match="not the address of a PostgreSQL server"):
        Address.of("people.vault")


def test_an_address_without_a_schema_says_so_when_one_is_needed() -> None:
    with pytest.raises(ParameterError, match=r'does not name a schema .*Write "postgresql://u@h/d#people"'):
        _ = Address.of("postgresql://u:pw@h/d").schema


@given(st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=20))
def test_a_quoted_name_is_one_name(name: str) -> None:
    if not name or len(name.encode()) > 63:
        with pytest.raises(ParameterError):
            identifier(name)
        return
    quoted = identifier(name)
    assert quoted[1:-1].replace('""', "").count('"') == 0
    assert quoted[1:-1].replace('""', '"') == name


# -- transactions -----------------------------------------------------------------------------------------------


@pytest.fixture
def address(postgres_address: str) -> Iterator[Address]:
    address = Address.of(postgres_address)
    with connected(address) as connection:
        run(connection, f"CREATE SCHEMA {identifier(address.schema)}; CREATE TABLE {table(address)} (x BIGINT)")
    yield address
    close(address)


def table(address: Address) -> str:
    return identifier(address.schema, "t")


def insert(address: Address, x: int, then: Callable[[Connection], None] | None = None) -> None:
    with connected(address) as connection:
        execute(connection, f"INSERT INTO {table(address)} VALUES (?)", [x])
        if then is not None:
            then(connection)


def rows(address: Address) -> list[int]:
    with connected(address) as connection:
        return [x for (x,) in execute(connection, f"SELECT x FROM {table(address)} ORDER BY x")]


def session(address: Address) -> int:
    """The server's process behind the connection that is lent next."""
    with connected(address) as connection:
        return int(execute(connection, "SELECT pg_backend_pid()")[0][0])


def test_a_block_that_ends_is_kept_and_one_that_raises_is_not(address: Address) -> None:
    def interrupted(connection: Connection) -> None:
        raise KeyboardInterrupt

    insert(address, 1)
    lent = session(address)
    with pytest.raises(KeyboardInterrupt):
        insert(address, 2, interrupted)
    assert rows(address) == [1]
    assert session(address) == lent  # there is nothing wrong with the connection


def test_a_block_that_swallowed_an_error_does_not_end_as_if_all_were_well(address: Address) -> None:
    def swallow(connection: Connection) -> None:
        with pytest.raises(connection.Error):
            execute(connection, "SELECT 1 / 0")

    with pytest.raises(DatabaseUnavailable, match="has failed, so nothing of it can be kept"):
        insert(address, 1, swallow)  # PostgreSQL would answer COMMIT with a quiet ROLLBACK
    assert rows(address) == []


def test_a_block_that_ended_its_transaction_by_hand_is_told(address: Address) -> None:
    with pytest.raises(DatabaseUnavailable):
        insert(address, 1, lambda connection: run(connection, "ROLLBACK"))
    assert rows(address) == []


def test_values_come_back_as_they_went(address: Address) -> None:
    values = [None, 0, -(2**63), 2**63 - 1, "", "'; --", "é\u2028😀", "?", "$1"]
    with connected(address) as connection:
        for value in values:
            kind = "text" if isinstance(value, str) else "bigint"
            assert execute(connection, f"SELECT ?::{kind}, '?' AS \"?\"", [value]) == [(value, "?")]
        assert execute(connection, "SHOW client_encoding") == [("UTF8",)]
        assert execute(connection, f"DELETE FROM {table(address)}") == []


def test_a_connection_is_used_again_and_another_thread_gets_another(address: Address) -> None:
    first = session(address)
    assert session(address) == first
    with connected(address) as mine:
        found: list[int] = []
        thread = threading.Thread(target=lambda: found.append(session(address)))
        thread.start()
        thread.join()
        assert execute(mine, "SELECT pg_backend_pid()") == [(first,)]
    assert found != [first]
    close(address)
    assert session(address) not in (first, *found)


def test_threads_never_share_a_connection(address: Address) -> None:
    def work(n: int) -> None:
        for k in range(10):
            insert(address, 10 * n + k)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rows(address) == list(range(80))


def test_a_connection_that_broke_while_idle_is_replaced(postgres: Server, address: Address) -> None:
    insert(address, 1)
    postgres.run(f"SELECT pg_terminate_backend({session(address)}, 5000)")
    insert(address, 2)
    assert rows(address) == [1, 2]


def test_a_connection_that_breaks_in_use_is_not_lent_again(postgres: Server, address: Address) -> None:
    def broken_off(connection: Connection) -> None:
        postgres.run(f"SELECT pg_terminate_backend({lost}, 5000)")

    lost = session(address)
    with pytest.raises(Exception) as broken:
        insert(address, 1, broken_off)
    assert from_driver(broken.value)
    assert sqlstate(broken.value) in ("", "57P01")
    assert rows(address) == []
    assert session(address) != lost


def test_a_connection_whose_statement_was_interrupted_is_not_lent_again(address: Address) -> None:
    # A second request to cancel may be under way, and would meet the transaction of another.
    interrupted = session(address)
    with pytest.raises(Exception, match="canceling statement") as stopped, connected(address) as connection:
        run(connection, "SET LOCAL statement_timeout = 10; SELECT pg_sleep(60)")
    assert sqlstate(stopped.value) == "57014"
    assert session(address) != interrupted


def test_an_error_of_the_server_has_its_five_characters(address: Address) -> None:
    with pytest.raises(Exception) as refused, connected(address) as connection:
        execute(connection, "SELECT 1 FROM nowhere")
    assert from_driver(refused.value)
    assert sqlstate(refused.value) == "42P01"
    assert not from_driver(ValueError())
    assert sqlstate(ValueError()) == ""


def test_a_nul_is_refused_by_the_server_and_in_a_name_by_us(address: Address) -> None:
    with pytest.raises(Exception, match="0x00") as refused, connected(address) as connection:
        execute(connection, "SELECT ?", ["a\0b"])
    assert sqlstate(refused.value) == "22021"
    with pytest.raises(ParameterError, match="contain a NUL"):
        identifier("a\0b")


# -- the way in -------------------------------------------------------------------------------------------------


def refusal(text: str) -> str:
    with pytest.raises(DatabaseUnavailable) as refused, connected(Address.of(text)):
        pass
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__
    return str(refused.value)


@pytest.fixture
def careful(postgres: Server) -> Iterator[Callable[[str], str]]:
    postgres.run(f"CREATE ROLE {CAREFUL} LOGIN PASSWORD 'op@n:/#%se same'")
    yield lambda password: postgres.address(user=f"{CAREFUL}:{password}")
    postgres.run(f"DROP ROLE {CAREFUL}")


def test_a_password_opens_and_is_never_shown(careful: Callable[[str], str]) -> None:
    with connected(Address.of(careful("op%40n%3A%2F%23%25se%20same"))) as connection:
        assert execute(connection, "SELECT current_user::text") == [(CAREFUL,)]
    close(Address.of(careful("op%40n%3A%2F%23%25se%20same")))
    said = refusal(careful("tiger%20lily"))
    assert 'password authentication failed for user "careful"' in said
    assert "Check user and password" in said
    assert "tiger" not in said
    assert "Check user and password" in refusal(careful("").replace(":@", "@"))


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("postgresql://u:tiger@/d?host=/nowhere#p", "Check host and port"),
        ("postgresql://u:tiger@127.0.0.1:1/d#p", "Check host and port"),
        ("postgresql://u:tiger@nowhere.invalid/d#p", "Check host and port"),
        ("postgresql://u:tiger@nowhere.tiger/d#p", r"host name \"nowhere\.…\""),
        ("postgresql://u@h/d?password=tiger&sslmode=tiger", r"invalid sslmode value: \"…\""),
        ("postgresql://u:tiger@h/d?tiger_=1", "invalid URI query parameter"),
    ],
)
def test_a_server_that_is_not_there_is_named_without_the_password(place: str, said: str) -> None:
    text = refusal(place)
    assert Address.of(place).words.replace("tiger", "") in text.replace("tiger", "")
    reason = text.partition("cannot be reached: ")[2]
    assert "tiger" not in reason
    assert re.search(said, text)


def test_a_user_or_a_database_that_is_not_there_is_named(postgres: Server) -> None:
    assert "Check the user." in refusal(postgres.address(user="nobody"))
    assert "Check the database." in refusal(postgres.address(database="nothing"))


def test_a_server_that_stops_the_driver_on_its_way_in_is_quoted_and_its_statement_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import adbc_driver_manager
    import adbc_driver_postgresql

    def stopped(uri: str) -> None:
        raise adbc_driver_manager.OperationalError(
            "CANCELLED: [libpq] Failed to execute query 'SELECT attrelid FROM pg_attribute': ERROR: …",
            status_code=adbc_driver_manager.AdbcStatusCode.CANCELLED,
            sqlstate="57014",
            details=[(b"PG_DIAG_MESSAGE_PRIMARY", b"canceling statement due to statement timeout")],  # type: ignore[list-item]
        )

    monkeypatch.setattr(adbc_driver_postgresql, "connect", stopped)
    assert refusal("postgresql://h/d") == (
        "The server of postgresql://h/d cannot be reached: canceling statement due to statement timeout. "
        "Try again, or raise that timeout."
    )


def test_without_the_driver_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)
    with pytest.raises(DatabaseUnavailable, match=r"pip install 'discreet\[postgres\]'"):
        insert(Address.of("postgresql://u:pw@h/d#p"), 1)


# -- forks ------------------------------------------------------------------------------------------------------


def test_a_child_has_connections_of_its_own(address: Address) -> None:
    mine = session(address)
    children = forked([lambda tell: tell(f"{session(address)}")] * 3)
    assert [child.status for child in children] == [0, 0, 0], children
    assert len({mine, session(address), *(int(child.told[0]) for child in children)}) >= 4


def test_a_child_inherits_no_idle_connection(postgres: Server, address: Address) -> None:
    # The session of a parent that dies would live on as long as the child.
    def count(tell: Tell) -> None:
        tell(f"{sum(map(leads_to_the_server, os.listdir('/proc/self/fd')))}")

    def leads_to_the_server(descriptor: str) -> bool:
        try:
            with socket.socket(fileno=os.dup(int(descriptor))) as end:
                return str(postgres.folder) in str(end.getpeername())
        except OSError:
            return False

    session(address)
    assert alone(count).told == ["0"]
    with connected(address):
        assert alone(count).told == ["1"]  # which it can neither use nor close


def test_a_fork_inside_of_a_transaction_leaves_it_to_the_parent(address: Address) -> None:
    def use(tell: Tell) -> None:
        for attempt in (
            lambda: execute(connection, "SELECT 1"),
            lambda: connection.commit(),
            lambda: connection.rollback(),
        ):
            try:
                attempt()
            except DatabaseUnavailable as error:
                tell(f"{error}")
        connection.close()
        insert(address, 2)  # through a connection of its own

    with connected(address) as connection:
        execute(connection, f"INSERT INTO {table(address)} VALUES (?)", [1])
        child = alone(use)
        assert child.status == 0, child
        assert len(child.told) == 3
        assert all("forked inside a transaction" in line for line in child.told)
        execute(connection, f"INSERT INTO {table(address)} VALUES (?)", [3])
    assert rows(address) == [1, 2, 3]


def test_a_block_that_a_child_leaves_is_not_committed_and_not_rolled_back_by_it(address: Address) -> None:
    def leave() -> None:
        with connected(address) as connection:
            execute(connection, f"INSERT INTO {table(address)} VALUES (?)", [1])
            children.append(os.fork())

    children: list[int] = []
    try:
        leave()
    except DatabaseUnavailable:
        os._exit(0 if children == [0] else 1)
    except BaseException:
        os._exit(1)
    if children == [0]:
        os._exit(1)
    assert os.waitpid(children[0], 0)[1] == 0
    assert rows(address) == [1]


def test_a_child_that_ends_with_all_of_pythons_clean_up_does_not_end_the_session_of_its_parent(
    address: Address,
) -> None:
    code = (
        "import os, sys\n"
        "from discreet.postgres import Address, connected, execute\n"
        "with connected(Address.of(sys.argv[1])) as idle: pass\n"
        "with connected(Address.of(sys.argv[1])) as connection:\n"
        "    before = execute(connection, 'SELECT pg_backend_pid()')\n"
        "    child = os.fork()\n"
        "    if child == 0: del connection, idle; sys.exit()\n"
        "    assert os.waitpid(child, 0)[1] in (0, 256)\n"
        "    assert execute(connection, 'SELECT pg_backend_pid()') == before\n"
        "print('same session')\n"
    )
    run_it = [sys.executable, "-W", "error", "-c", code, f"{address.uri}#{identifier('p')[1:-1]}"]
    ended = subprocess.run(run_it, capture_output=True, text=True)
    assert (ended.stdout.strip(), ended.stderr) == ("same session", "")


def test_a_fork_while_other_threads_are_in_transactions(address: Address) -> None:
    stop, written = threading.Event(), list[int]()

    def write(n: int) -> None:
        while not stop.is_set():
            insert(address, n)
            written.append(n)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    try:
        children = [alone(lambda tell: insert(address, 100)) for _ in range(5)]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert [child.status for child in children] == [0] * 5, children
    assert rows(address) == sorted(written) + [100] * 5


def test_the_session_of_a_killed_process_ends(postgres: Server, address: Address) -> None:
    def die(tell: Tell) -> None:
        with connected(address) as connection:
            tell(str(execute(connection, "SELECT pg_backend_pid()")[0][0]))
            run(connection, f"LOCK TABLE {table(address)}")
            os.kill(os.getpid(), signal.SIGKILL)

    with connected(address):  # a connection of the parent, in use meanwhile
        assert alone(die).status == -signal.SIGKILL
        insert(address, 1)  # the lock is gone
    assert rows(address) == [1]


def test_a_server_that_puts_every_name_into_quotation_marks_is_told_how_not_to(postgres: Server) -> None:
    """Its driver finds no type then, and numbers would arrive as bytes."""
    postgres.run("CREATE ROLE punctilious LOGIN", "ALTER ROLE punctilious SET quote_all_identifiers = on")
    where = postgres.address(user="punctilious")
    for _ in range(2):  # nothing of it is kept for the next
        with (
            pytest.raises(DatabaseUnavailable, match=r"quote_all_identifiers = on.*ALTER ROLE … SET") as caught,
            connected(Address.of(where)),
        ):
            pass
    option = str(caught.value).rpartition("?")[2]
    with connected(Address.of(f"{where}&{option}")) as connection:
        assert execute(connection, "SELECT 1, CAST(? AS text)", ["a"]) == [(1, "a")]
