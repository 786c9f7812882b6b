"""A vault that lives in a PostgreSQL database: rows that never leave, and all of it or nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.postgres import Postgres
from discreet.errors import DiscreetError, LedgerMissing, LedgerTampered, ParameterError, SealingFailed
from discreet.ledger import Ledger
from discreet.postgres import Address, connected, execute, identifier, run
from discreet.query import ir
from discreet.schema.metadata import TableMetadata
from discreet.sealing import joins
from discreet.sealing import seal as sealing
from discreet.sealing.backends import postgres as database
from discreet.sealing.draft import propose
from discreet.sealing.sources import Source
from discreet.sealing.sources import postgres as relations
from discreet.vault.storage import postgres as in_postgres
from discreet.vault.storage import storage_at
from tests.servers.postgres import Server
from tests.vault.postgres_vaults import loaded, numbers, rows_of
from tests.vault.sealed_tables import by_person, sealed

pytestmark = pytest.mark.xdist_group("postgres")

VISITS = pa.table(
    {
        "who": pa.array([i % 40 for i in range(120)]),
        "age": pa.array([20 + i % 40 for i in range(120)]),
        "city": pa.array([["Oslo", "Bergen", None][i % 3] for i in range(120)]),
        "note": pa.array([f"note {i % 2}" for i in range(120)]),
    }
)
KINDS = ["bigint", "integer", "text", "text"]
COLUMNS: dict[str, Any] = {"age": dp.Integer(0, 110), "city": dp.Category(["Oslo", "Bergen"]), "note": dp.Text()}
DECLARED: dict[str, Any] = {"person": "who", "columns": COLUMNS, "rows_per_person": 3}
BUDGET = dp.Budget(200, "1e-6")


@pytest.fixture(scope="module")
def visits(postgres: Server) -> Source:
    return loaded(postgres, VISITS, KINDS)


def vault_at(address: str, source: Any) -> dp.Vault:
    return dp.Vault.seal(source, to=address, budget=BUDGET, name="visits", **DECLARED)


def asked(address: str, text: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """What the superuser sees."""
    with connected(Address.of(address)) as connection:
        return execute(connection, text, parameters)


def tables_in(address: str) -> set[str]:
    text = "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = to_regnamespace(?)"
    return {name for (name,) in asked(address, text, identifier(Address.of(address).schema))}


# A whole vault


def test_a_vault_in_the_database_is_sealed_asked_and_charged(visits: Source, postgres_address: str) -> None:
    with vault_at(postgres_address, visits) as vault:
        answer = vault.ask("select city, count(*), avg(age) from visits group by city", epsilon=40)
        assert [abs(n - 40) < 10 for n in answer.to_arrow().column("count").to_pylist()] == [True] * 3
        assert vault.ledger.balance().spent.rho > 0
    with dp.Vault(postgres_address, analyst="ana") as again:
        free = again.ask("select city, count(*), avg(age) from visits group by city", epsilon=40)
        assert free.to_arrow() == answer.to_arrow()
        assert [entry.kind for entry in again.ledger.entries()] == ["opening", "charge", "release"]
        texts = again.ask("select note, count(*) from visits group by note", epsilon=40, keys_delta="1e-7")
        assert set(texts.to_arrow().column("note").to_pylist()) <= {"note 0", "note 1"}
    assert tables_in(postgres_address) == {"rows", "description", "entries"}
    assert again.metadata.engine == "postgres"


def test_the_rows_are_those_of_a_directory(visits: Source, postgres_address: str, tmp_path: Path) -> None:
    there = in_postgres.seal(visits, to=postgres_address, budget=BUDGET, **DECLARED)
    sealing.seal(visits, to=tmp_path / "streamed", **DECLARED)
    sealing.seal(VISITS, to=tmp_path / "arrow", **DECLARED)
    assert by_person(rows_of(postgres_address, there)) == by_person(sealed(tmp_path / "arrow"))
    assert by_person(sealed(tmp_path / "streamed")) == by_person(sealed(tmp_path / "arrow"))


def test_further_tables_and_lookups_are_joined_where_they_are(
    postgres: Server, visits: Source, postgres_address: str, tmp_path: Path
) -> None:
    persons = pa.table({"who": [1, 1, 2, None, 99], "height": [180, 150, None, 170, 160], "town": list("abbcd")})
    towns = pa.table({"city": ["Oslo", "Bergen"], "north": [False, True]})
    columns = {**COLUMNS, "height": dp.Integer(100, 250, missing=200), "north": dp.Boolean(), "town": dp.Text()}
    declared = {**DECLARED, "columns": columns}
    there = in_postgres.seal(
        visits,
        to=postgres_address,
        budget=BUDGET,
        tables=[loaded(postgres, persons, ["bigint", "integer", "text"])],
        lookups={"city": loaded(postgres, towns, ["text", "boolean"])},
        **declared,
    )
    sealing.seal(VISITS, to=tmp_path / "arrow", tables=[persons], lookups={"city": towns}, **declared)
    assert by_person(rows_of(postgres_address, there)) == by_person(sealed(tmp_path / "arrow"))
    assert "a public table, by city" in there.joins[1]


def test_a_further_table_is_not_compared_row_by_row(postgres: Server, postgres_address: str) -> None:
    """Of two tables of a million persons that would be a million millions."""
    ages, heights = (f"{name}_{next(numbers)}" for name in ("ages", "heights"))
    postgres.run(
        f"CREATE TABLE {ages} AS SELECT NULLIF(i, 5) AS who, i % 90 AS age FROM generate_series(1, 5000) AS i",
        f"CREATE TABLE {heights} AS SELECT NULLIF(i, 7) AS who, 170 AS height FROM generate_series(1, 5000) AS i",
        f"ANALYZE {ages}, {heights}",
    )
    described = TableMetadata("v", {"age": dp.Integer(0, 110), "height": dp.Integer(0, 250)}, person="who")
    where = Address.of(postgres_address)
    with connected(where, relations.SETTINGS) as connection:
        workshop = database.Database(connection, where, "rows")
        sources = (Source(postgres.address(), table=name) for name in (ages, heights))
        query, _ = joins.coded(workshop, described, next(sources), list(sources))
        plan = "\n".join(line for (line,) in execute(connection, f"EXPLAIN {query}"))
        # Rows without a person are one person; the fifth has no age of their own, and the seventh no height.
        text = f"SELECT count(*), count(c1), count(key) FROM ({query}) AS coded"
        assert execute(connection, text) == [(5000, 4999, 4999)]
    assert "Nested Loop" not in plan
    assert "Hash" in plan or "Merge" in plan


CITEXT = [  # as the extension makes it, which the tests' server does not have
    "DROP TYPE IF EXISTS public.citext CASCADE",
    "CREATE TYPE public.citext",
    "CREATE FUNCTION public.citextin(cstring) RETURNS public.citext LANGUAGE internal STRICT AS 'textin'",
    "CREATE FUNCTION public.citextout(public.citext) RETURNS cstring LANGUAGE internal STRICT AS 'textout'",
    "CREATE TYPE public.citext (INPUT = citextin, OUTPUT = citextout, LIKE = text, COLLATABLE = true)",
    "CREATE CAST (public.citext AS text) WITHOUT FUNCTION AS IMPLICIT",
]


@pytest.mark.parametrize("first", ["text", "citext"])
def test_tables_that_do_not_agree_on_who_is_one_person_are_refused(
    first: str, postgres: Server, postgres_address: str, tmp_path: Path
) -> None:
    """Of Ana and ana the one would have the height of the other."""
    postgres.run(*CITEXT)
    second = {"text": "citext", "citext": "text"}[first]
    names = [f"alike_{next(numbers)}" for _ in range(2)]
    for name, kind, column in zip(names, (first, second), ("age", "height"), strict=True):
        postgres.run(
            f"CREATE TABLE {name} (who {kind}, {column} integer)",
            f"INSERT INTO {name} VALUES ('Ana', 30), ('ana', 40)",
        )
    source, further = (Source(postgres.address(), table=name) for name in names)
    columns: dict[str, Any] = {"age": dp.Integer(0, 110), "height": dp.Integer(0, 250)}
    declared: dict[str, Any] = {"person": "who", "columns": columns, "tables": [further]}
    words = r"compare 'who' .*may not agree on who is one person.*citext.*through a view"
    with pytest.raises(ParameterError, match=words):
        in_postgres.seal(source, to=postgres_address, budget=BUDGET, **declared)
    with pytest.raises(ParameterError, match=words):
        sealing.seal(source, to=tmp_path / "v", **declared)


def test_tables_of_different_orders_agree_on_who_is_one_person(postgres: Server, postgres_address: str) -> None:
    ages, heights = (f"orders_{next(numbers)}" for _ in range(2))
    postgres.run(
        f'CREATE TABLE {ages} (who text COLLATE "C", age integer)',
        f"INSERT INTO {ages} VALUES ('Ana', 30), ('ana', 40)",
        f'CREATE TABLE {heights} (who text COLLATE "POSIX", height integer)',
        f"INSERT INTO {heights} VALUES ('Ana', 170), ('ana', 180)",
    )
    there = in_postgres.seal(
        Source(postgres.address(), table=ages),
        to=postgres_address,
        budget=BUDGET,
        tables=[Source(postgres.address(), table=heights)],
        person="who",
        columns={"age": dp.Integer(0, 110), "height": dp.Integer(0, 250)},
    )
    assert sorted((row["c0"], row["c1"]) for row in rows_of(postgres_address, there)) == [(30, 170), (40, 180)]


def test_a_lookup_with_two_answers_is_refused_and_leaves_nothing(
    postgres: Server, visits: Source, postgres_address: str
) -> None:
    twice = loaded(postgres, pa.table({"city": ["Oslo", "Oslo"], "north": [False, True]}), ["text", "boolean"])
    with pytest.raises(ParameterError, match="lists city 'Oslo' more than once"):
        in_postgres.seal(
            visits,
            to=postgres_address,
            budget=BUDGET,
            lookups={"city": twice},
            **{**DECLARED, "columns": {**COLUMNS, "north": dp.Boolean()}},
        )
    assert tables_in(postgres_address) == set()


def test_every_row_is_a_person_if_nobody_is_named(visits: Source, postgres_address: str) -> None:
    there = in_postgres.seal(visits, to=postgres_address, budget=BUDGET, person=None, columns=COLUMNS)
    rows = rows_of(postgres_address, there)
    assert len({row["person"] for row in rows}) == len(rows) == 120
    assert {row["w"] for row in rows} == {4096}
    assert {row["spot"] for row in rows} == {True}


def test_progress_tells_the_stages(visits: Source, postgres_address: str) -> None:
    told: list[tuple[str, float]] = []
    stages = in_postgres.seal(
        visits, to=postgres_address, budget=BUDGET, progress=lambda *stage: told.append(stage), **DECLARED
    )
    assert stages.version == 1
    assert list(dict.fromkeys(stage for stage, _ in told)) == [
        "reading rows",
        "weighing persons",
        "weighing rows",
        "writing rows",
    ]
    assert {done for _, done in told} == {0.0, 1.0}


# New versions


def test_new_rows_are_a_new_version_under_the_same_ledger(
    postgres: Server, visits: Source, postgres_address: str
) -> None:
    with vault_at(postgres_address, visits) as vault:
        old = vault.ask("select count(*) from visits", epsilon=40)
        spent = vault.ledger.balance().spent.rho
        vault.reseal(loaded(postgres, VISITS.slice(0, 60), KINDS), rows_per_person=2)
        new = vault.ask("select count(*) from visits", epsilon=40)
        assert vault.metadata.version == 2
        assert vault.metadata.rows_per_person == 2
        assert vault.ledger.balance().spent.rho > spent
    assert old.value is not None
    assert new.value is not None
    assert abs(old.value - 120) < 15 and abs(new.value - 60) < 15  # noqa: PT018
    assert tables_in(postgres_address) == {"rows", "rows_2", "description", "entries"}


def test_a_vault_is_never_overwritten(visits: Source, postgres_address: str) -> None:
    vault_at(postgres_address, visits).close()
    with pytest.raises(ParameterError, match=r"never overwritten.*vault\.reseal"):
        vault_at(postgres_address, visits)
    with dp.Vault(postgres_address) as vault:
        assert vault.metadata.version == 1


def test_a_table_of_someone_else_is_left_alone(visits: Source, postgres_address: str) -> None:
    schema = identifier(Address.of(postgres_address).schema)
    asked(postgres_address, f"CREATE SCHEMA {schema}")
    asked(postgres_address, f"CREATE TABLE {schema}.rows (mine integer)")
    with pytest.raises(ParameterError, match="has a table rows already"):
        vault_at(postgres_address, visits)
    assert tables_in(postgres_address) == {"rows"}


@contextmanager
def held(address: str, statement: str) -> Iterator[None]:
    """Hold another session's transaction open."""
    with connected(Address.of(address)) as connection:
        run(connection, statement)
        yield


def test_two_versions_are_not_made_at_once(visits: Source, postgres_address: str) -> None:
    with vault_at(postgres_address, visits) as vault:
        table = identifier(Address.of(postgres_address).schema, "description")
        with (
            held(postgres_address, f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE"),
            pytest.raises(ParameterError, match="being sealed by another process"),
        ):
            vault.reseal(visits)
        vault.reseal(visits)
        assert vault.metadata.version == 2


def test_two_vaults_are_not_made_in_one_schema_at_once(visits: Source, postgres_address: str) -> None:
    lock = f"discreet vault {Address.of(postgres_address).schema}"
    with (
        held(postgres_address, f"SELECT pg_advisory_xact_lock(hashtextextended('{lock}', 0))"),
        pytest.raises(ParameterError, match="being sealed by another process"),
    ):
        vault_at(postgres_address, visits)
    vault_at(postgres_address, visits).close()


# Whole or not at all


def test_a_row_that_stops_the_source_leaves_nothing_and_is_not_quoted(
    postgres: Server, visits: Source, postgres_address: str, tmp_path: Path
) -> None:
    name = f"cursed_{next(numbers)}"
    postgres.run(
        f"CREATE VIEW public.{name} AS SELECT who, age, city, "
        f"CAST(CAST(note || ' s3cret' AS integer) AS text) AS note FROM {visits.table}"
    )
    source = Source(postgres.address(), table=name)
    for to in (postgres_address, str(tmp_path / "people.vault")):
        with pytest.raises(SealingFailed) as caught:
            vault_at(to, source)
        said = f"{caught.value} {caught.value.__cause__} {caught.value.__context__}"
        assert "s3cret" not in said
        assert "note 0" not in said
    assert tables_in(postgres_address) == set()
    assert list(tmp_path.iterdir()) == []
    vault_at(postgres_address, visits).close()


SEALING = """
import sys
import discreet as dp
from discreet.sealing.sources import Source
try:
    dp.Vault.seal(
        Source(sys.argv[1], table=sys.argv[2]), to=sys.argv[3], budget=dp.Budget(1), person="who",
        columns={"age": dp.Integer(0, 110)},
    )
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.fixture
def slow(postgres: Server, visits: Source) -> Source:
    name = f"slow_{next(numbers)}"
    postgres.run(f"CREATE VIEW public.{name} AS SELECT who, age FROM {visits.table}, LATERAL pg_sleep(600) AS z")
    return Source(postgres.address(), table=f"public.{name}")


def sleepers(address: str, wanted: int, working: Callable[[], bool] = lambda: True, seconds: float = 600) -> None:
    """Wait until so many sessions sleep while they seal. Fail if the sealing has ended, or after some time."""
    text = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE 'CREATE TEMP%'"
    end = time.monotonic() + seconds
    while (found := asked(address, text)[0][0]) != wanted:
        assert working(), f"the sealing ended early: {found} sessions sleep, not {wanted}"
        assert time.monotonic() < end, f"{found} sessions sleep after {seconds} seconds, not {wanted}"
        asked(address, "SELECT 1 FROM pg_sleep(0.02)")


@pytest.mark.parametrize(("number", "code", "said"), [(signal.SIGINT, 0, "stopped"), (signal.SIGKILL, -9, "")])
def test_an_interrupted_or_killed_sealing_leaves_nothing_and_can_be_repeated(
    postgres: Server, visits: Source, slow: Source, postgres_address: str, number: int, code: int, said: str
) -> None:
    command = [sys.executable, "-c", SEALING, postgres.address(), str(slow.table), postgres_address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            sleepers(postgres_address, 1, lambda: process.poll() is None)
            process.send_signal(number)
            assert process.communicate(timeout=600)[0].strip() == said
        finally:
            process.kill()
    assert process.returncode == code
    if number == signal.SIGINT:  # stopped in the server, too
        sleepers(postgres_address, 0)
    else:  # which notices when it looks; an administrator need not wait for that
        asked(
            postgres_address, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        )
        sleepers(postgres_address, 0)
    assert tables_in(postgres_address) == set()
    vault_at(postgres_address, visits).close()


def test_a_server_that_dies_while_sealing_leaves_nothing(
    postgres: Server, visits: Source, slow: Source, postgres_address: str
) -> None:
    failures: list[BaseException] = []

    def seal() -> None:
        try:
            in_postgres.seal(
                slow, to=postgres_address, budget=BUDGET, person="who", columns={"age": dp.Integer(0, 110)}
            )
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=seal)
    thread.start()
    sleepers(postgres_address, 1, thread.is_alive)
    postgres.killed()
    thread.join(600)
    postgres.back()
    (failure,) = failures
    assert isinstance(failure, SealingFailed)
    assert tables_in(postgres_address) == set()
    vault_at(postgres_address, visits).close()


# What is not to be trusted


def test_sealed_rows_are_never_added_to(visits: Source, postgres_address: str) -> None:
    table = identifier(Address.of(postgres_address).schema, "rows")
    with vault_at(postgres_address, visits) as vault:
        with pytest.raises(Exception, match="sealed rows are never changed"):
            asked(postgres_address, f"INSERT INTO {table} SELECT * FROM {table}")
        vault.reseal(visits)
        with pytest.raises(Exception, match="sealed rows are never changed"):
            asked(postgres_address, f'TRUNCATE {table[:-1]}_2"')
        # As in a vault that was sealed before there was a guard:
        asked(postgres_address, f'DROP TRIGGER never_changed ON {table[:-1]}_2"')
        asked(postgres_address, f'INSERT INTO {table[:-1]}_2" SELECT * FROM {table}')
        before = vault.ledger.balance().spent.rho
        with pytest.raises(ParameterError, match=r"not guarded against changes.*vault\.reseal"):
            vault.ask("select count(*) from visits", epsilon=1)
        assert vault.ledger.balance().spent.rho == before
        vault.reseal(visits)
        assert vault.ask("select count(*) from visits", epsilon=40).value == pytest.approx(120, abs=15)


def test_no_column_of_sealed_rows_is_written_anew(visits: Source, postgres_address: str) -> None:
    """ALTER COLUMN … TYPE … USING fires no trigger: every row of a person could be given full weight."""
    schema = Address.of(postgres_address).schema
    with vault_at(postgres_address, visits) as vault:
        columns = ["person", "w", *(f"c{i}" for i in range(len(vault.metadata.columns)))]
        columns += ["spot"] * vault.metadata.has_text
        for column in columns:
            anew = f"ALTER COLUMN {column} TYPE text USING 'the same for all'"
            with pytest.raises(Exception, match="cannot alter type of a column used in a trigger definition"):
                asked(postgres_address, f"ALTER TABLE {identifier(schema, 'rows')} {anew}")
        assert vault.ask("select count(*) from visits", epsilon=40).value == pytest.approx(120, abs=15)


def test_a_vault_that_took_the_place_of_another_is_not_asked_in_its_name(
    visits: Source, postgres_address: str
) -> None:
    vault_at(postgres_address, visits).close()
    place = storage_at(postgres_address)
    engine = place.engine(place.metadata())
    count = engine.rows.sums(where=None, keys=[], sums=[ir.sealed("w")])
    assert engine.run(count).sums.tolist() == [[120 * 4096]]
    asked(postgres_address, f"DROP SCHEMA {identifier(Address.of(postgres_address).schema)} CASCADE")
    vault_at(postgres_address, visits).close()  # of the same bounds, at another moment
    for asking in (lambda: engine.rows, lambda: engine.run(count)):
        with pytest.raises(ParameterError, match="sealed again after the question was planned"):
            asking()


def test_a_vault_is_not_asked_with_a_new_ledger_in_place_of_a_lost_one(
    visits: Source, postgres_address: str
) -> None:
    with vault_at(postgres_address, visits) as vault:
        vault.ask("select count(*) from visits", epsilon=1)
        entries = identifier(Address.of(postgres_address).schema, "entries")
        asked(postgres_address, f"DROP TABLE {entries} CASCADE")
        functions = ["never_changed", "never_shortened", "only_continued", "only_by_right"]
        functions += ["may_release", "may_amend"]
        for name in functions:
            schema = Address.of(postgres_address).schema
            asked(postgres_address, f"DROP FUNCTION {identifier(schema, f'entries_{name}')}")
        with pytest.raises(LedgerMissing, match=r"is gone\. Restore it from a backup"):
            dp.Vault(postgres_address)
        new = Ledger.create(postgres_address, BUDGET)
        with pytest.raises(LedgerTampered, match="is not its own"):
            dp.Vault(postgres_address)
        with pytest.raises(LedgerTampered, match="is not the one that was opened"):
            vault.ask("select count(*) from visits where age > 30", epsilon=1)
        assert new.balance().charges == 0


def test_a_dump_can_be_restored_and_is_guarded_as_before(
    postgres: Server, visits: Source, postgres_address: str, tmp_path: Path
) -> None:
    vault_at(postgres_address, visits).close()
    schema, copy = Address.of(postgres_address).schema, f"restored_{next(numbers)}"
    dump = postgres.tool("pg_dump", "-U", "postgres", "-n", identifier(schema), "postgres")
    postgres.run(f"CREATE DATABASE {copy}")
    (postgres.folder / "dump.sql").write_text(dump)
    postgres.tool(
        "psql", "-U", "postgres", "-d", copy, "-v", "ON_ERROR_STOP=1", "-f", f"{postgres.folder}/dump.sql"
    )
    with dp.Vault(postgres.address(schema, database=copy)) as vault:
        assert vault.ask("select count(*) from visits", epsilon=40).value == pytest.approx(120, abs=15)
        assert vault.ledger.verify().number == 3
    with pytest.raises(Exception, match="sealed rows are never changed"):
        postgres.run(f"TRUNCATE {identifier(schema, 'rows')}", database=copy)
    with pytest.raises(Exception, match="used in a trigger definition"):
        postgres.run(f"ALTER TABLE {identifier(schema, 'rows')} ALTER w TYPE integer USING 1", database=copy)


def test_rows_with_another_description_are_not_asked(visits: Source, postgres_address: str) -> None:
    vault_at(postgres_address, visits).close()
    table = identifier(Address.of(postgres_address).schema, "description")
    asked(
        postgres_address,
        f"UPDATE {table} SET body = replace(body, '\"rows_per_person\": 3', '\"rows_per_person\": 1')",
    )
    with dp.Vault(postgres_address) as vault:
        assert vault.metadata.rows_per_person == 1
        with pytest.raises(ParameterError, match="not those that its rows"):
            vault.ask("select count(*) from visits", epsilon=1)
        assert vault.ledger.balance().spent.rho == 0


@pytest.mark.parametrize("body", ["{}", "no json", '{"format": 99}', '{"format": 1, "columns": []}'])
def test_a_damaged_description_is_told_in_words(visits: Source, postgres_address: str, body: str) -> None:
    vault_at(postgres_address, visits).close()
    table = identifier(Address.of(postgres_address).schema, "description")
    asked(postgres_address, f"UPDATE {table} SET body = ?", body)
    with pytest.raises(ParameterError, match=r"damaged|format"):
        dp.Vault(postgres_address)


def test_functions_and_operators_of_others_are_never_called(
    postgres: Server, visits: Source, postgres_address: str
) -> None:
    """A role whose search_path begins with an attacker's schema would add up what the attacker likes."""
    postgres.run(
        "CREATE SCHEMA evil",
        "CREATE FUNCTION evil.md5(text) RETURNS text LANGUAGE sql AS $$ SELECT 'evil' || (1 / 0) $$",
        "CREATE FUNCTION evil.lower(text) RETURNS text LANGUAGE sql AS $$ SELECT 'evil' || (1 / 0) $$",
        "CREATE FUNCTION evil.plus(smallint, bigint) RETURNS bigint LANGUAGE sql AS $$ SELECT 666::bigint $$",
        "CREATE OPERATOR evil.+ (LEFTARG = smallint, RIGHTARG = bigint, FUNCTION = evil.plus)",
        "CREATE FUNCTION evil.same(smallint, integer) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$",
        "CREATE OPERATOR evil.= (LEFTARG = smallint, RIGHTARG = integer, FUNCTION = evil.same)",
        "CREATE ROLE victim SUPERUSER LOGIN",
        "ALTER ROLE victim SET search_path = evil, pg_catalog, public",
    )
    address = postgres.address(Address.of(postgres_address).schema, user="victim")
    with vault_at(address, Source(postgres.address(user="victim"), table=visits.table)) as vault:
        engine = Postgres(Address.of(address), limits=vault.metadata.limits)
        oslo = ir.compared("=", ir.sealed("c1"), ir.number(0))
        found = engine.run(engine.rows.sums(where=oslo, keys=[], sums=[ir.sealed("w")]))
        assert found.sums.tolist() == [[40 * 4096]]


@pytest.mark.parametrize("table", ["rows", "description", "entries"])
def test_private_tables_are_the_owners_alone_whatever_the_defaults(
    postgres: Server, visits: Source, postgres_address: str, table: str
) -> None:
    curious = f"curious_{next(numbers)}"
    postgres.run(
        f"CREATE ROLE {curious} LOGIN",
        f"ALTER DEFAULT PRIVILEGES FOR ROLE postgres GRANT ALL ON TABLES TO PUBLIC, {curious}",
    )
    try:
        vault_at(postgres_address, visits).close()
    finally:
        postgres.run(f"ALTER DEFAULT PRIVILEGES FOR ROLE postgres REVOKE ALL ON TABLES FROM PUBLIC, {curious}")
    name = identifier(Address.of(postgres_address).schema, table)
    may = f"has_table_privilege('{curious}', '{name}', 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE')"
    assert asked(postgres_address, f"SELECT {may}") == [(False,)]


def test_who_may_read_one_version_may_read_the_next(
    postgres: Server, visits: Source, postgres_address: str
) -> None:
    service, where = f'"the service {next(numbers)}"', Address.of(postgres_address)
    with vault_at(postgres_address, visits) as vault:
        postgres.run(
            f"CREATE ROLE {service} LOGIN",
            f"GRANT USAGE ON SCHEMA {identifier(where.schema)} TO {service}",
            f"GRANT SELECT ON {identifier(where.schema, 'description')} TO {service}",
            f"GRANT SELECT ON {identifier(where.schema, 'rows')} TO {service}",
            f"GRANT SELECT, INSERT, UPDATE ON {identifier(where.schema, 'entries')} TO {service}",
            f"GRANT EXECUTE ON FUNCTION {identifier(where.schema, 'entries_may_release')}() TO {service}",
        )
        vault.reseal(visits)
    address = postgres.address(where.schema, user=service.strip('"').replace(" ", "%20"))
    with dp.Vault(address) as served:
        assert served.ask("select count(*) from visits", epsilon=40).value is not None
        assert served.metadata.version == 2


def test_a_role_without_rights_is_told_which_it_needs(
    postgres: Server, visits: Source, postgres_address: str
) -> None:
    vault_at(postgres_address, visits).close()
    stranger = f"stranger_{next(numbers)}"
    postgres.run(f"CREATE ROLE {stranger} LOGIN")
    with pytest.raises(ParameterError, match=r"does not have the right to use.*GRANT USAGE ON SCHEMA"):
        dp.Vault(postgres.address(Address.of(postgres_address).schema, user=stranger))
    with pytest.raises(ParameterError, match=r"does not have the right to read.*GRANT SELECT ON"):
        propose(Source(postgres.address(user=stranger), table=visits.table))


def test_there_is_no_vault_where_nobody_made_one(postgres: Server, postgres_address: str) -> None:
    with pytest.raises(ParameterError, match=r"There is no vault at .*postgresql://.*Vault\.seal"):
        dp.Vault(postgres_address)
    with pytest.raises(ParameterError, match="does not name a schema"):
        dp.Vault(postgres.address())


def test_no_password_is_ever_shown(postgres: Server, visits: Source, postgres_address: str) -> None:
    """The tests' server accepts every login, so any password will do."""
    secret = postgres_address.replace("postgres@", "postgres:tiger@")
    source = Source(postgres.address().replace("postgres@", "postgres:tiger@"), table=visits.table)
    with vault_at(secret, source) as vault:
        shown = [repr(vault), str(vault), str(vault.metadata), repr(source), vault.metadata.sources[0]]
        shown.append(
            str(asked(secret, f"SELECT body FROM {identifier(Address.of(secret).schema, 'description')}"))
        )
        answer = vault.ask("select count(*) from visits", epsilon=1)
        shown += [str(answer), str(answer.as_json()), repr(vault._engines)]
    for refused in (secret, secret + "?password=tiger"):
        with pytest.raises(DiscreetError) as caught:
            vault_at(refused, source)
        shown.append(f"{caught.value} {caught.value.__cause__}")
    assert not any("tiger" in text for text in shown)


# Sources


def test_tables_views_and_partitions_are_found_by_their_names(postgres: Server, tmp_path: Path) -> None:
    schema = f'"Odd. ""Schema"" {next(numbers)}"'
    postgres.run(
        f"CREATE SCHEMA {schema}",
        f'CREATE TABLE {schema}."The Table" (who bigint, "Age" integer, dropped text)',
        f'ALTER TABLE {schema}."The Table" DROP COLUMN dropped',
        f'INSERT INTO {schema}."The Table" VALUES (1, 30), (2, 40)',
        f'CREATE VIEW {schema}.seen AS SELECT * FROM {schema}."The Table"',
        f'CREATE MATERIALIZED VIEW {schema}.kept AS SELECT * FROM {schema}."The Table"',
        f'CREATE TABLE {schema}.parted (who bigint, "Age" integer) PARTITION BY LIST (who)',
        f"CREATE TABLE {schema}.part_1 PARTITION OF {schema}.parted FOR VALUES IN (1)",
        f"CREATE TABLE {schema}.part_2 PARTITION OF {schema}.parted FOR VALUES IN (2)",
        f'INSERT INTO {schema}.parted SELECT * FROM {schema}."The Table"',
    )
    for name in (
        f'{schema}."The Table"',
        f"{schema}.seen",
        f"{schema}.kept",
        f"{schema}.parted",
        f"{schema}.PARTED",
    ):
        address = postgres.address(f"sealed {next(numbers)}")
        declared: dict[str, Any] = {"person": "who", "columns": {"age": dp.Integer(0, 110)}}
        source = Source(postgres.address(), table=name, rename={"Age": "age"})
        there = in_postgres.seal(source, to=address, budget=BUDGET, **declared)
        assert sorted(row["c0"] for row in rows_of(address, there)) == [30, 40]
        folder = tmp_path / str(next(numbers))
        sealing.seal(source, to=folder, **declared)
        assert sorted(row["c0"] for row in sealed(folder)) == [30, 40]


def test_a_name_without_a_schema_is_looked_for_where_the_role_looks(postgres: Server) -> None:
    role, name = f"seeker_{next(numbers)}", f"findings_{next(numbers)}"
    postgres.run(
        f"CREATE ROLE {role} LOGIN SUPERUSER",
        f"CREATE SCHEMA {role}",
        f"CREATE TABLE {role}.{name} (a integer)",
        f"CREATE TABLE public.{name} (b integer)",
    )
    assert "[columns.a]" in propose(Source(postgres.address(user=role), table=name))
    assert "[columns.b]" in propose(Source(postgres.address(), table=name))
    assert "[columns.a]" in propose(Source(postgres.address(role), table=name))
    assert "[columns.b]" in propose(Source(postgres.address(user=role), table=f"public.{name.upper()}"))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (None, "Name a table of the database"),
        ("nowhere", "There is no table or view nowhere in"),
        ("nowhere.visits", 'There is no table or view nowhere.visits in "nowhere". It has none.'),
        ("a.b.c", "is not the name of a table"),
        ('"open', "is not the name of a table"),
        ("", "is not the name of a table"),
        ("pg_catalog.pg_class; drop", "is not the name of a table|There is no table"),
    ],
)
def test_a_table_that_is_not_there_is_refused_in_words(
    postgres: Server, postgres_address: str, table: str | None, words: str
) -> None:
    source = Source(postgres.address(), table=table)
    with pytest.raises(ParameterError, match=words):
        propose(source)
    with pytest.raises(ParameterError, match=words):
        vault_at(postgres_address, source)
    assert tables_in(postgres_address) == set()


def test_those_that_are_there_are_named(postgres: Server) -> None:
    schema = f"shelf_{next(numbers)}"
    postgres.run(
        f"CREATE SCHEMA {schema}", f'CREATE TABLE {schema}."Old" ()', f"CREATE VIEW {schema}.new AS SELECT 1"
    )
    with pytest.raises(ParameterError, match=r'It has "Old", new\.'):
        propose(Source(postgres.address(), table=f"{schema}.lost"))


def test_columns_that_are_not_there_are_refused_and_named(
    postgres: Server, visits: Source, postgres_address: str
) -> None:
    declared: dict[str, Any] = {"person": "who", "columns": {"height": dp.Integer(0, 250)}}
    with pytest.raises(ParameterError, match=r"has no column 'height'. It has 'who', 'age', 'city', 'note'"):
        in_postgres.seal(visits, to=postgres_address, budget=BUDGET, **declared)


def test_what_is_elsewhere_is_refused_with_the_fix(
    postgres: Server, visits: Source, postgres_address: str
) -> None:
    postgres.run("CREATE DATABASE elsewhere")
    for source in (VISITS, Source(postgres.address(database="elsewhere"), table="visits")):
        with pytest.raises(ParameterError, match=r"is not in the database of.*seals into a directory"):
            vault_at(postgres_address, source)
    same = Source(postgres.address() + "&application_name=another", table=visits.table)
    vault_at(postgres_address, same).close()


def test_a_database_without_all_signs_is_refused(postgres: Server, visits: Source) -> None:
    name = f"narrow_{next(numbers)}"
    postgres.run(f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(ParameterError, match=r"must store texts in UTF8.*found: LATIN1"):
        vault_at(postgres.address("people", database=name), visits)


def test_rows_that_a_policy_hides_are_not_quietly_left_out(
    postgres: Server, postgres_address: str, tmp_path: Path
) -> None:
    role, name = f"guest_{next(numbers)}", f"guarded_{next(numbers)}"
    postgres.run(
        f"CREATE ROLE {role} LOGIN",
        f"GRANT CREATE ON DATABASE postgres TO {role}",
        f"CREATE TABLE public.{name} (who bigint, age integer)",
        f"INSERT INTO public.{name} VALUES (1, 30), (2, 40)",
        f"GRANT SELECT ON public.{name} TO {role}",
        f"ALTER TABLE public.{name} ENABLE ROW LEVEL SECURITY",
        f"CREATE POLICY hiding ON public.{name} USING (who = 1)",
    )
    source = Source(postgres.address(user=role), table=name)
    declared: dict[str, Any] = {"person": "who", "columns": {"age": dp.Integer(0, 110)}}
    address = postgres.address(Address.of(postgres_address).schema, user=role)
    with pytest.raises(SealingFailed, match="row-level security would hide"):
        in_postgres.seal(source, to=address, budget=BUDGET, **declared)
    with pytest.raises(SealingFailed):
        sealing.seal(source, to=tmp_path / "people.vault", **declared)


def test_an_old_server_is_refused_where_it_matters() -> None:
    with pytest.raises(ParameterError, match=r"needs PostgreSQL 16 or later \(found: PostgreSQL 15\)"):
        database.check_readable("SELECT PG_INPUT_IS_VALID(v, 'float8')", 150_004)
    database.check_readable("SELECT v", 150_004)
    database.check_readable("SELECT PG_INPUT_IS_VALID(v, 'float8')", 160_000)


def test_a_draft_of_the_schema_comes_from_the_catalogue(postgres: Server) -> None:
    name = f"drafted_{next(numbers)}"
    postgres.run(
        f"CREATE TABLE public.{name} (a smallint, b numeric(8, 2), c numeric, d timestamptz, e jsonb, f char(3))"
    )
    draft = propose(Source(postgres.address(), table=name))
    assert "table drafted_" in draft
    assert '[columns.b]  # DECIMAL(8,2)\ntype = "real"\nlo = "TODO"\nhi = "TODO"\nstep = "0.01"' in draft
    assert '[columns.c]  # NUMERIC\ntype = "real"\nlo = "TODO"\nhi = "TODO"\nstep = "TODO"' in draft
    assert '[columns.e]  # jsonb\ntype = "TODO"  # such values are read as text' in draft
    assert postgres.address() not in draft


def test_texts_that_a_collation_takes_for_one_are_not_streamed() -> None:
    """ANA and ana would be one person inside and two outside."""
    columns = {"who": relations.Declared("VARCHAR", '"who"', "any_case")}
    with pytest.raises(ParameterError, match="a collation under which different texts are equal"):
        relations.check_streamable(columns, Source("postgresql://host/shop", table="visits"))


def test_one_number_is_one_person_however_many_zeros_it_has(
    postgres: Server, postgres_address: str, tmp_path: Path
) -> None:
    name = f"zeros_{next(numbers)}"
    postgres.run(
        f"CREATE TABLE public.{name} (who numeric, age integer)",
        f"INSERT INTO public.{name} VALUES (7, 30), (7.0, 30), (7.00, 30), ('NaN', 30), (NULL, 30)",
    )
    source = Source(postgres.address(), table=name)
    declared: dict[str, Any] = {"person": "who", "columns": {"age": dp.Integer(0, 110)}}
    there = in_postgres.seal(source, to=postgres_address, budget=BUDGET, **declared)
    sealing.seal(source, to=tmp_path / "streamed", **declared)
    for rows in (rows_of(postgres_address, there), sealed(tmp_path / "streamed")):
        assert sorted(row["w"] for row in rows) == [1365, 1365, 1365, 2048, 2048]


def test_a_view_of_constants_is_read_like_any_other(postgres: Server, postgres_address: str) -> None:
    """PostgreSQL works out constants while it plans, CASE or not, and a cast of one would fail there."""
    name = f"constant_{next(numbers)}"
    postgres.run(f"CREATE VIEW public.{name} AS SELECT 'seven'::text AS age, 'soon'::text AS day")
    columns: dict[str, Any] = {"age": dp.Integer(0, 110), "day": dp.Date("2024-01-01", "2024-12-31")}
    there = in_postgres.seal(
        Source(postgres.address(), table=name), to=postgres_address, budget=BUDGET, person=None, columns=columns
    )
    assert rows_of(postgres_address, there) == [{"person": 0, "w": 4096, "c0": None, "c1": None}]


ODD_PREFERENCES = {
    "TimeZone": "Asia/Tokyo",
    "DateStyle": "German",
    "IntervalStyle": "sql_standard",
    "extra_float_digits": "-10",
    "bytea_output": "escape",
    "standard_conforming_strings": "off",
    "statement_timeout": "200",
    "default_transaction_isolation": "serializable",
    "row_security": "on",
}


def test_no_preference_of_a_role_changes_what_is_sealed(
    postgres: Server, postgres_address: str, tmp_path: Path
) -> None:
    role, name = f"peculiar_{next(numbers)}", f"sensitive_{next(numbers)}"
    settings = ["TimeZone", "transaction_isolation", "search_path", "row_security"]
    levels = ("repeatable read", "serializable")
    shown = " || ' ' || ".join(f"current_setting('{setting}')" for setting in settings)
    postgres.run(
        f"CREATE ROLE {role} LOGIN SUPERUSER",
        *(f"ALTER ROLE {role} SET {key} = '{value}'" for key, value in ODD_PREFERENCES.items()),
        f"CREATE VIEW public.{name} AS SELECT 1 AS who, timestamptz '2024-02-29 23:30:00+00' AS t, "
        f"1e0::float8 / 3 AS f, interval '1 day 02:00' AS i, '\\x5c00'::bytea AS b, {shown} AS settings, "
        "(SELECT count(*) FROM pg_sleep(0.4)) AS slept",
    )
    columns: dict[str, Any] = {
        "t": dp.Date("2024-02-28", "2024-03-01"),
        "f": dp.Category(["0.3333333333333333"]),
        "i": dp.Category(["1 day 02:00:00"]),
        "b": dp.Category(["\\x5c00", "it's"]),
        "settings": dp.Category([f"UTC {level} pg_catalog, pg_temp off" for level in levels]),
        "slept": dp.Integer(0, 1),
    }
    source = Source(postgres.address(user=role), table=name)
    address = postgres.address(Address.of(postgres_address).schema, user=role)
    there = in_postgres.seal(source, to=address, budget=BUDGET, person="who", columns=columns)
    codes = {"c0": 1, "c1": 0, "c2": 0, "c3": 0, "c4": 0, "c5": 1}
    assert rows_of(postgres_address, there) == [{"person": 0, "w": 4096, **codes}]
    sealing.seal(source, to=tmp_path / "streamed", person="who", columns=columns)
    assert sealed(tmp_path / "streamed") == [{"person": 0, "w": 4096, **codes, "c4": 1}]


# What only looks like an address

NEARLY = [
    "postgresql+psycopg://ana:tiger@host/shop#people",
    " postgresql://ana:tiger@host/shop#people",
    "jdbc:postgresql://host/shop?user=ana&password=tiger",
    "host=h password=tiger dbname=d",
    "dbname=d user=tiger host=/var/run",
    Path("postgresql://ana:tiger@host/shop#people"),
    "mysql://ana:tiger@host/shop",
]


@pytest.mark.parametrize("where", NEARLY, ids=str)
def test_what_only_looks_like_an_address_is_no_path_and_is_not_quoted(
    where: str | Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    attempts: dict[str, Callable[[], object]] = {
        "open": lambda: dp.Vault(where),
        "seal": lambda: dp.Vault.seal(VISITS, to=where, budget=BUDGET, **DECLARED),
        "seal from": lambda: dp.Vault.seal(Source(where, table="t"), to="v", budget=BUDGET, **DECLARED),
        "join": lambda: dp.Vault.seal(VISITS, to="v", budget=BUDGET, tables=[where], **DECLARED),
        "propose": lambda: propose(str(where)),
        "make a ledger": lambda: Ledger.create(where, BUDGET),
        "open a ledger": lambda: Ledger.open(where),
    }
    for name, attempt in attempts.items():
        with pytest.raises(ParameterError) as caught:
            attempt()
        said = f"{caught.value} {caught.value.__cause__} {caught.value.__context__}"
        assert "This looks like the address of a database, but is not written as one. Write it as" in said, name
        assert "tiger" not in said, name
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["people.vault", "data/user=7/host=b/v", "../postgres/v", "a:b/v", "who@here"])
def test_a_path_is_a_path(path: str) -> None:
    assert storage_at(path).display_name == path
