"""Real clients over TLS on loopback: psycopg, asyncpg, SQLAlchemy and psql, and what they are refused."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import threading
from datetime import date, datetime
from typing import Any, cast

import asyncpg  # type: ignore[import-untyped]
import psycopg
import pytest
import sqlalchemy as sa

from discreet.serve.accounts import Role
from discreet.serve.limits import Rate
from tests.serve.door.conftest import CITIES, PERSONS, Opened

BY_CITY = "select city, count(*) as n from trips group by city"


def psql(door: Opened, *commands: str) -> subprocess.CompletedProcess[str]:
    given = [word for command in commands for word in ("-c", command)]
    return subprocess.run(["psql", "-X", door.dsn(), *given], capture_output=True, text=True, timeout=60)


def engine(door: Opened, **arguments: str) -> sa.Engine:
    url = f"postgresql+psycopg://ana:{door.running.tokens['ana']}@{door.host}:{door.port}/trips?sslmode=require"
    return sa.create_engine(url, connect_args={"options": "-c discreet.epsilon=1", **arguments})


def test_an_answer_has_selected_columns_first_then_intervals_and_its_cost_as_a_notice(door: Opened) -> None:
    notices: list[str] = []
    with door.connected() as connection:
        connection.add_notice_handler(lambda one: notices.append(one.message_primary or ""))
        cursor = connection.execute("select count(*) as n, city from trips where stops < 3 group by city")
        rows = cursor.fetchall()
        assert [column.name for column in cursor.description or ()] == ["n", "city", "n_low", "n_high"]
        assert [row[1] for row in rows] == [*CITIES, None]
        assert all(row[2] < row[0] < row[3] for row in rows)
        assert notices[0].startswith("This used 1 % of the budget; ")
        before = door.spent()
        again = connection.execute(
            "SELECT COUNT(1) AS m, city FROM public.trips t WHERE stops<3 GROUP BY 2"
        ).fetchall()
        assert [row[0] for row in again] == [row[0] for row in rows]
        assert notices[1].startswith("This was answered before, so it is free; ")
        assert connection.execute("show discreet.notices").fetchone() == (notices[1],)
        assert door.spent() == before
        connection.execute("set discreet.intervals = off")
        assert len(connection.execute(BY_CITY).fetchall()[0]) == 2


def test_describe_and_explain_are_free_and_tell_the_types_of_the_answer(door: Opened) -> None:
    before = door.spent()
    sql = "select city, day, begun, member, stops, avg(minutes) m from trips where day = '2024-01-01' group by all"
    with door.connected() as connection:
        plan = connection.execute(f"explain {sql}").fetchall()
        assert any("budget" in row[0] for row in plan)

    async def described() -> list[tuple[str, str]]:
        connection = await _asyncpg(door)
        try:
            return [(one.name, one.type.name) for one in (await connection.prepare(sql)).get_attributes()]
        finally:
            await connection.close()

    assert asyncio.run(described()) == [
        ("city", "text"),
        ("day", "date"),
        ("begun", "timestamp"),
        ("member", "bool"),
        ("stops", "int8"),
        ("m", "float8"),
        ("m_low", "float8"),
        ("m_high", "float8"),
    ]
    assert door.spent() == before


def test_types_of_rows_are_free_and_rows_are_refused(door: Opened) -> None:
    before = door.spent()
    with door.connected() as connection:
        described = connection.execute("select * from trips limit 0").description or ()
        assert [(one.name, one.type_display) for one in described] == [
            ("city", "text"),
            ("minutes", "float8"),
            ("stops", "int8"),
            ("member", "bool"),
            ("day", "date"),
            ("begun", "timestamp"),
            ("who", "text"),
        ]
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="never shown") as refused:
            connection.execute("select * from trips")
        assert "limit 0 is free" in (refused.value.diag.message_hint or "")
    assert door.spent() == before


async def _asyncpg(door: Opened, who: str = "ana") -> Any:
    return await asyncpg.connect(
        host=door.host,
        port=door.port,
        user=who,
        password=door.running.tokens[who],
        database="trips",
        ssl="require",
        server_settings={"discreet.epsilon": "1"},
    )


def test_binary_results_parameters_and_portals_in_parts(door: Opened) -> None:
    async def asked() -> tuple[Any, Any, list[Any]]:
        connection = await _asyncpg(door)
        try:
            typed = await connection.fetchrow(
                "select member, day, begun, count(*) n from trips where stops < $1 and city = $2 and day = $3"
                " and begun < $4 group by all limit 1",
                *(3, "Oslo", date(2024, 1, 2), datetime(2024, 1, 2)),
            )
            count = await connection.fetchval("select count(*) from trips where minutes < $1", 30.5)
            async with connection.transaction():
                parts = [row async for row in connection.cursor(BY_CITY, prefetch=2)]
            return typed, count, parts
        finally:
            await connection.close()

    typed, count, parts = asyncio.run(asked())
    assert (typed["member"], str(typed["day"]), str(typed["begun"])) == (
        False,
        "2024-01-02",
        "2024-01-01 00:00:00",
    )
    assert abs(count - PERSONS * 31 / 60) < 40
    assert [row["city"] for row in parts] == [*CITIES, None]
    by_text = door.rows("select count(*) as n from trips where minutes < %s", ("30.5",))
    assert by_text[0][0] == count  # the same question, in the text format: the recorded answer


def test_sqlalchemy_reflects_the_table_and_asks_with_it(door: Opened) -> None:
    unknown, before = door.unknown(), door.spent()
    made = engine(door)
    inspector = sa.inspect(made)
    assert inspector.get_schema_names() == ["information_schema", "public"]
    assert inspector.get_table_names() == ["trips"]
    assert inspector.has_table("trips")
    assert not inspector.has_table("people")
    table = sa.Table("trips", sa.MetaData(), autoload_with=made, schema="public")
    assert [(column.name, str(column.type)) for column in table.columns] == [
        ("city", "TEXT"),
        ("minutes", "DOUBLE PRECISION"),
        ("stops", "BIGINT"),
        ("member", "BOOLEAN"),
        ("day", "DATE"),
        ("begun", "TIMESTAMP"),
        ("who", "TEXT"),
    ]
    assert table.columns["stops"].comment == "whole numbers from 0 to 4"
    assert door.unknown() == unknown
    assert door.spent() == before
    query = sa.select(table.c.city, sa.func.count().label("n")).where(table.c.minutes < 30, table.c.city != "Oslo")
    with made.connect() as connection:
        rows = connection.execute(query.group_by(table.c.city).order_by(sa.desc("n")).limit(2)).fetchall()
    assert {row.city for row in rows} <= {"Bergen", "Tromsø", None}
    made.dispose()


@pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")
def test_psql_describes_and_asks(door: Opened) -> None:
    unknown, before = door.unknown(), door.spent()
    found = psql(door, r"\d", r"\dt", r"\dn", r"\d trips", r"\l", r"\conninfo", "show discreet.epsilon")
    assert found.returncode == 0, found.stderr
    assert found.stdout.count("public | trips | table | discreet") == 2
    assert 'Table "public.trips"' in found.stdout
    assert "begun   | timestamp without time zone" in found.stdout
    assert "TLSv1.3" in found.stdout
    assert door.unknown() == unknown
    assert door.spent() == before
    asked = psql(door, "select city, count(*) from trips group by 1 order by 2 desc limit 2; select 1")
    assert "(2 rows)" in asked.stdout
    assert "NOTICE" in asked.stderr


def test_commands_of_a_session_are_taken(door: Opened) -> None:
    with door.connected(autocommit=False) as connection, connection.transaction():
        with connection.transaction():
            assert connection.execute("select 1").fetchone() == (1,)
        cursor = connection.cursor()
        cursor.execute(
            'declare "SQL_CUR1" cursor with hold for select city, count(*) as n from trips group by city'
        )
        assert [len(cursor.execute('fetch 3 in "SQL_CUR1"').fetchall()) for _ in range(3)] == [3, 1, 0]
        cursor.execute('close "SQL_CUR1"')
        cursor.execute("set search_path to public; reset all; discard all; set time zone 'UTC'")
        assert cursor.execute("show transaction isolation level").fetchone() == ("read committed",)
    with door.connected() as connection:
        for statement in ("insert into trips values (1)", "drop table trips", "copy trips to stdout"):
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                connection.execute(statement)


def test_the_price_of_a_question_is_set_by_the_connection(door: Opened) -> None:
    before = door.spent()
    with door.connected(options="") as connection:
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="may cost") as refused:
            connection.execute("select count(*) from trips where stops = 1")
        assert "SET discreet.epsilon" in (refused.value.diag.message_hint or "")
        connection.execute("set discreet.spend = '0.5%'")
        connection.execute("set discreet.epsilon to 0.25")  # replaces the share
        connection.execute("select count(*) from trips where stops = 1")
        assert door.spent() - before == 1 / 4
        connection.execute("set discreet.within = '20%'")
        ((value, low, high),) = connection.execute("select count(*) from trips").fetchall()
        assert high - low <= 0.4 * value
        with pytest.raises(psycopg.errors.UndefinedObject, match=r"discreet\.epsilom"):
            connection.execute("set discreet.epsilom = 1")


def test_over_budget_is_refused_with_an_affordable_fix_and_charges_nothing(door: Opened) -> None:
    before = door.spent()
    with (
        door.connected(options="-c discreet.epsilon=1000") as connection,
        pytest.raises(psycopg.errors.ConfigurationLimitExceeded) as refused,
    ):
        connection.execute("select count(*) from trips where stops = 2")
    assert "SET discreet." in (refused.value.diag.message_hint or "")
    assert door.spent() == before


def test_fresh_questions_have_a_rate_and_recorded_ones_have_none(door: Opened) -> None:
    reception = door.running.server.reception
    door.rows(BY_CITY)
    kept, reception.fresh = reception.fresh, Rate(1)
    try:
        with door.connected("bo") as connection:
            connection.execute("select count(*) from trips where stops = 4")
            with pytest.raises(psycopg.errors.TooManyConnections, match="new questions") as refused:
                connection.execute("select count(*) from trips where stops >= 3")
            assert "asked before are free" in (refused.value.diag.message_hint or "")
            for _ in range(3):
                assert connection.execute(BY_CITY).fetchall()
    finally:
        reception.fresh = kept


def test_who_may_not_come_in_is_refused(door: Opened) -> None:
    running = door.running
    running.account("dee", Role.ANALYST)
    tokens = dict(running.tokens)
    refusals = []
    for who, given in (
        ("ana", {"password": "wrong"}),
        ("ana", {"password": tokens["bo"]}),
        ("ana", {"dbname": "hidden"}),
        ("dee", {}),
        ("ana", {"sslmode": "disable"}),
    ):
        with pytest.raises(psycopg.OperationalError) as refused:
            door.rows("select 1", who=who, **given)
        refusals.append(str(refused.value))
    assert refusals[0] == refusals[1]
    assert "no such vault" in refusals[2]
    assert "no such vault" in refusals[3]
    assert "TLS only" in refusals[4]


def test_a_token_that_is_revoked_ends_the_connection_and_nothing_is_charged(door: Opened) -> None:
    running, accounts = door.running, door.running.service.accounts
    running.tokens["gone"] = accounts.new_token("cy", label="gone")
    (made,) = (token for token in accounts.tokens("cy") if token.label == "gone")
    before = door.spent()
    with psycopg.connect(door.dsn("gone", user="cy"), autocommit=True) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
        accounts.revoke_token("cy", made.id)
        with pytest.raises(psycopg.Error, match="revoked"):
            connection.execute("select count(*) from trips where stops = 0")
        with pytest.raises(psycopg.OperationalError):
            connection.execute("select 1")
    with pytest.raises(psycopg.OperationalError, match="revoked"):
        psycopg.connect(door.dsn("gone", user="cy"))
    assert door.spent() == before


def test_a_cancel_request_ends_the_wait_and_not_the_connection(door: Opened) -> None:
    running, ended = door.running.service.questions._running, list[str]()
    with door.connected("cy") as connection:

        def wait() -> None:
            try:
                connection.execute("select 1")
            except psycopg.errors.QueryCanceled as cancelled:
                ended.append(cancelled.diag.message_hint or "")

        running["cy"] = cast(Any, object())  # a question at another door, for whose end the statement waits
        thread = threading.Thread(target=wait)
        try:
            thread.start()
            for _ in range(100):  # a cancel request that comes before the statement is without effect
                connection.cancel_safe()
                thread.join(0.1)
                if not thread.is_alive():
                    break
        finally:
            del running["cy"]
        thread.join(30)
        assert ended == ["Send it again: once it is recorded, it is free."]
        assert connection.execute("select 1").fetchone() == (1,)
