"""ADBC's own driver over TLS on loopback: answers, prices, the catalogue, and what it is refused."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any, cast

import adbc_driver_manager
import pandas
import polars
import pyarrow
import pytest
from adbc_driver_flightsql import dbapi
from pyarrow import flight

from discreet.serve.accounts import Role
from discreet.serve.door.flight.protobuf import encode, pack
from discreet.serve.limits import Rate
from tests.serve.door.conftest import CITIES
from tests.serve.door.flight.conftest import HEADER, ROOTS, Flown

DOCS = Path(__file__).parents[4] / "docs"
Error = adbc_driver_manager.Error
BY_CITY = "select city, count(*) as n from trips group by city"
SESSION = "adbc.flight.sql.session.option."


def test_an_answer_is_a_table_with_intervals_and_its_cost_can_be_shown(flown: Flown) -> None:
    before = flown.door.spent()
    with flown.connected() as connection, connection.cursor() as cursor:
        cursor.execute("select count(*) as n, city from trips where stops < 2 group by city")
        table = cursor.fetch_arrow_table()
        assert table.column_names == ["n", "city", "n_low", "n_high"]
        assert table["city"].to_pylist() == [*CITIES, None]
        assert all(row["n_low"] < row["n"] < row["n_high"] for row in table.to_pylist())
        assert flown.door.spent() == before + 1
        cursor.execute("show discreet.notices")
        assert cursor.fetchall()[0][0].startswith("This used 1 % of the budget; ")
        cursor.execute("SELECT COUNT(1) AS m, city FROM public.trips t WHERE stops<2 GROUP BY 2")
        assert cursor.fetch_arrow_table()["m"] == table["n"]
        cursor.execute("show discreet.notices")
        assert cursor.fetchall()[0][0].startswith("This was answered before, so it is free; ")
    assert flown.door.spent() == before + 1


def test_schemas_prepared_statements_and_tickets_are_free_and_rows_are_charged_once(flown: Flown) -> None:
    before = flown.door.spent()
    sql = "select city, day, begun, member, stops, avg(minutes) m from trips where day = '2024-01-01' group by all"
    with flown.connected() as connection, connection.cursor() as cursor:
        types = {field.name: str(field.type) for field in cursor.adbc_execute_schema(sql)}
        assert types == {
            "city": "string", "day": "date32[day]", "begun": "timestamp[us]", "member": "bool", "stops": "int64",
            "m": "double", "m_low": "double", "m_high": "double",
        }  # fmt: skip
        assert cursor.adbc_prepare(BY_CITY + " having count(*) > 0") is None  # it has no parameters
        assert cursor.adbc_execute_schema("select * from trips limit 0").names[-1] == "who"
        cursor.execute("explain " + sql)
        assert any("budget" in row[0] for row in cursor.fetchall())
    command = pack("CommandStatementQuery", {1: b"select avg(stops) as s from trips"})
    with flown.client() as (client, options):
        info = client.get_flight_info(flight.FlightDescriptor.for_command(command), options)
        assert info.schema.names == ["s", "s_low", "s_high"]
        assert flown.door.spent() == before
        # The same ticket again is the same request: the same reply, and no second charge.
        reader = client.do_get(info.endpoints[0].ticket, options)
        first = [(chunk.data, chunk.app_metadata) for chunk in reader]
        assert flown.door.spent() == before + 1
        assert b'"label"' in reader.schema.metadata[b"discreet"]
        again = client.do_get(info.endpoints[0].ticket, options)
        assert [(chunk.data, chunk.app_metadata) for chunk in again] == first
        assert flown.door.spent() == before + 1


def test_a_ticket_that_is_fetched_again_is_the_same_request(flown: Flown) -> None:
    """Without the key of the ticket the second reply would be another one, from the record."""
    command = pack("CommandStatementQuery", {1: b"select avg(stops) as again from trips where member"})
    with flown.client() as (client, options), flown.caller() as call:
        info = client.get_flight_info(flight.FlightDescriptor.for_command(command), options)
        ticket = encode({1: info.endpoints[0].ticket.ticket})
        replies = [call("DoGet", ticket)[2] for _ in range(2)]
        assert b"This used 1 % of the budget" in replies[0]
        assert replies[0] == replies[1]
        other = client.get_flight_info(flight.FlightDescriptor.for_command(command), options)
        assert b"so it is free" in call("DoGet", encode({1: other.endpoints[0].ticket.ticket}))[2]


def test_a_price_comes_from_a_header_a_session_option_or_set_and_none_is_refused(flown: Flown) -> None:
    before = flown.door.spent()
    with pytest.raises(Error, match=r"Say first what a question may cost.*call_header\.discreet\.epsilon"):
        flown.rows("select count(*) from trips where stops = 1", epsilon="")
    assert flown.door.spent() == before
    with flown.connected(epsilon="") as connection, connection.cursor() as cursor:
        connection.adbc_connection.set_options(**{f"{SESSION}epsilon": "2"})
        cursor.execute("show discreet.epsilon")
        assert cursor.fetchall() == [("2",)]
        cursor.execute("set discreet.spend = '3%'")  # which replaces it, although the result is not read
        cursor.execute("select count(*) from trips where stops = 1")
        cursor.fetchall()
        assert flown.door.spent() == before + 3
        cursor.adbc_statement.set_options(
            **{f"{HEADER}discreet.epsilon": "4", f"{HEADER}discreet.intervals": "off"}
        )
        cursor.execute("select count(*) from trips where stops = 1")
        assert len(cursor.fetchall()[0]) == 1
        assert flown.door.spent() == before + 7
        with pytest.raises(Error, match=r"There is no setting discreet\.colour"):
            connection.adbc_connection.set_options(**{f"{SESSION}colour": "red"})


def test_a_question_above_the_budget_is_refused_with_a_fix_that_works_and_costs_nothing(flown: Flown) -> None:
    before = flown.door.spent()
    sql = "select count(*) from trips where stops = 2"
    with pytest.raises(Error, match=r"Too expensive: it needs .* what is left") as refused:
        flown.rows(sql, epsilon="1000")
    assert flown.door.spent() == before
    assert refused.value.vendor_code == 9
    # ADBC's driver takes a text for a format: a sign of percent would come out as %!x(MISSING).
    fix = re.search(r"Run (SET discreet\.spend = '\d+ percent')", str(refused.value))
    assert fix is not None
    with flown.connected(epsilon="") as connection, connection.cursor() as cursor:
        cursor.execute(fix[1])
        cursor.execute("explain " + sql)
        assert any("percent" in row[0] or "%" in row[0] for row in cursor.fetchall())


def test_who_may_not_come_in_is_refused(flown: Flown) -> None:
    running = flown.door.running
    if "fay" not in running.tokens:
        running.account("fay", Role.ANALYST)
    for given in ({"password": "wrong"}, {"password": running.tokens["bo"]}, {"username": "nobody"}):
        with pytest.raises(Error, match=r"Unauthenticated|UNAUTHENTICATED"):
            flown.rows("select 1", given=given)
    with pytest.raises(Error, match="no such vault"):
        flown.rows("select 1", given={f"{HEADER}discreet.vault": "hidden"})
    with pytest.raises(Error, match="Say which vault"):
        flown.rows("select 1", who="fay")
    bearer = {"adbc.flight.sql.authorization_header": f"Bearer {running.tokens['bo']}", ROOTS: flown.certificate}
    with dbapi.connect(flown.uri, db_kwargs=bearer, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("select current_user")
        assert cursor.fetchall() == [("bo",)]


@pytest.mark.parametrize(("uri", "roots"), [("grpc://", True), ("grpc+tls://", False)])
def test_without_tls_or_with_a_certificate_that_is_not_known_there_is_no_connection(
    flown: Flown, uri: str, roots: bool
) -> None:
    given = {} if roots else {ROOTS: ""}
    failed = "error reading server preface|connection|EOF|certificate"
    with pytest.raises(Error, match=failed) as refused:
        flown.rows("select 1", given={**given, "adbc.flight.sql.rpc.timeout_seconds.query": "5"},
                   uri=f"{uri}{flown.host}:{flown.port}")  # fmt: skip
    assert flown.door.running.tokens["ana"] not in str(refused.value)


def test_a_token_that_is_revoked_ends_at_once_and_nothing_is_charged(flown: Flown) -> None:
    running, accounts = flown.door.running, flown.door.running.service.accounts
    running.tokens["left"] = accounts.new_token("cy", label="left")
    (made,) = (token for token in accounts.tokens("cy") if token.label == "left")
    before = flown.door.spent()
    given = {"username": "cy"}
    command = pack("CommandStatementQuery", {1: b"select count(*) from trips where stops = 3"})
    with flown.connected("left", given=given) as connection, flown.client("left") as (client, options):
        assert connection.adbc_get_table_types() == ["TABLE"]
        info = client.get_flight_info(flight.FlightDescriptor.for_command(command), options)
        accounts.revoke_token("cy", made.id)
        with pytest.raises(Error, match="revoked"):
            connection.adbc_get_table_types()
        with pytest.raises(flight.FlightUnauthorizedError, match="revoked"):
            client.do_get(info.endpoints[0].ticket, options).read_all()
    with pytest.raises(Error, match="revoked"), flown.connected("left", given=given):
        pass
    assert flown.door.spent() == before


def test_a_grant_that_is_withdrawn_ends_at_once_for_the_catalogue_as_well(flown: Flown) -> None:
    running = flown.door.running
    running.account("gus", Role.ANALYST, "trips")
    with flown.connected("gus", given={f"{HEADER}discreet.vault": "trips"}) as connection:
        assert connection.adbc_get_table_schema("trips").names[0] == "city"
        running.service.accounts.withdraw("gus", "trips")
        with pytest.raises(Error, match="no such vault"):
            connection.adbc_get_table_schema("trips")


def test_fresh_questions_have_one_rate_at_all_doors(flown: Flown) -> None:
    reception = flown.door.running.server.reception
    flown.rows(BY_CITY)
    kept, reception.fresh = reception.fresh, Rate(1)
    try:
        flown.door.rows("select count(*) from trips where stops = 4 and member", who="bo")
        with pytest.raises(Error, match=r"Too many new questions.*asked before are free"):
            flown.rows("select count(*) from trips where stops >= 3 and member", who="bo")
        assert flown.rows(BY_CITY, who="bo")
    finally:
        reception.fresh = kept


@pytest.mark.parametrize("name", ["Handshake", "DoGet", "GetFlightInfo", "DoPut", "DoAction", "Nothing"])
def test_every_call_of_an_account_waits_while_its_question_runs(flown: Flown, name: str) -> None:
    """A call that is answered beside a question of the same analyst would measure the server."""
    running = flown.door.running.service.questions._running
    with flown.caller("cy") as call:
        running["cy"] = cast(Any, object())  # a question at another door
        thread = threading.Thread(target=call, args=[name, b"\xff"])
        try:
            thread.start()
            thread.join(0.15)
            assert thread.is_alive()
        finally:
            del running["cy"]
        thread.join(30)
        assert not thread.is_alive()


def test_the_catalogue_is_the_public_schema(flown: Flown) -> None:
    before = flown.door.spent()
    with flown.connected() as connection:
        info = connection.adbc_get_info()
        assert info["vendor_name"] == "Discreet"
        assert connection.adbc_get_table_types() == ["TABLE"]
        schema = connection.adbc_get_table_schema("trips")
        assert [*zip(schema.names, map(str, schema.types), strict=True)] == [
            ("city", "string"), ("minutes", "double"), ("stops", "int64"), ("member", "bool"),
            ("day", "date32[day]"), ("begun", "timestamp[us]"), ("who", "string"),
        ]  # fmt: skip
        (catalog,) = connection.adbc_get_objects().read_all().to_pylist()
        (public,) = catalog["catalog_db_schemas"]
        (table,) = public["db_schema_tables"]
        names = catalog["catalog_name"], public["db_schema_name"], table["table_name"], table["table_type"]
        assert names == ("trips", "public", "trips", "TABLE")
        assert [column["column_name"] for column in table["table_columns"]] == schema.names
        filters: list[dict[str, Any]] = [
            {"catalog_filter": "other"},
            {"db_schema_filter": "main"},
            {"table_name_filter": "q%"},
        ]
        for none in filters:
            found = connection.adbc_get_objects(**none).read_all().to_pylist()
            assert "trips" not in str([one["catalog_db_schemas"] for one in found])
        with connection.cursor() as cursor:
            cursor.execute("select column_name from information_schema.columns where table_name = 'trips'")
            assert {row[0] for row in cursor.fetchall()} == {*schema.names}
    with flown.client() as (client, options):

        def listed(name: str, fields: dict[int, Any]) -> pyarrow.Table:
            command = flight.FlightDescriptor.for_command(pack(name, fields))
            found = client.get_flight_info(command, options)
            table = client.do_get(found.endpoints[0].ticket, options).read_all()
            assert table.schema == found.schema == client.get_schema(command, options).schema
            table.validate(full=True)
            return table

        types = listed("CommandGetXdbcTypeInfo", {})
        assert types["type_name"].to_pylist()[:3] == ["boolean", "bigint", "double precision"]
        assert listed("CommandGetXdbcTypeInfo", {1: -5})["type_name"].to_pylist() == ["bigint"]
        facts = listed("CommandGetSqlInfo", {1: [8, 3]}).to_pylist()
        assert {fact["info_name"]: fact["value"] for fact in facts} == {3: True, 8: 0}
        assert listed("CommandGetDbSchemas", {2: b"pub%"}).to_pylist() == [
            {"catalog_name": "trips", "db_schema_name": "public"}
        ]
        assert listed("CommandGetTables", {4: b"VIEW"}).num_rows == 0
    assert flown.door.spent() == before


def test_pandas_and_polars_read_through_adbc(flown: Flown) -> None:
    with flown.connected() as connection:
        frame = pandas.read_sql(BY_CITY, connection)
        assert [*frame.columns] == ["city", "n", "n_low", "n_high"]
        read = polars.read_database(BY_CITY, connection)
        assert read["n"].to_list() == frame["n"].to_list()


def test_updates_rows_transactions_and_parameters_are_refused_plainly(flown: Flown) -> None:
    before = flown.door.spent()
    with flown.connected() as connection, connection.cursor() as cursor:
        for sql in ("insert into trips values (1)", "drop table trips", "copy trips to 'file'"):
            with pytest.raises(Error, match="no rows and no updates"):
                cursor.execute(sql)
        with pytest.raises(Error, match="no transactions"):
            cursor.execute("begin")
        with pytest.raises(Error, match="Parameters are not taken"):
            cursor.execute("select count(*) from trips where stops = $1", [3])
        with pytest.raises(Error, match="one statement"):
            cursor.execute("select 1; select 2")
        with pytest.raises(Error):
            cursor.adbc_ingest("more", pyarrow.table({"a": [1]}))
        with pytest.raises(Error):
            connection.adbc_connection.set_autocommit(False)
        with pytest.raises(Error, match="never shown"):
            cursor.execute("select * from trips")
    assert flown.door.spent() == before


def test_a_table_larger_than_a_window_arrives_whole(flown: Flown) -> None:
    sql = "select a.typname, b.typname, a.oid, b.oid from pg_catalog.pg_type a, pg_catalog.pg_type b, pg_type c"
    with flown.connected() as connection, connection.cursor() as cursor:
        cursor.execute(sql)
        table = cursor.fetch_arrow_table()
    assert table.num_rows == 27**3
    assert table.nbytes > 5 * 65_535


def test_the_example_of_the_documentation_runs(flown: Flown) -> None:
    (example,) = (
        block
        for block in re.findall(r"```python\n(.*?)```", (DOCS / "service.md").read_text(), re.DOTALL)
        if "flightsql" in block
    )
    certificate = flown.door.running.settings.folder / "door.crt"
    for written, here in (("grpc+tls://127.0.0.1:5434", flown.uri), ("door.crt", str(certificate))):
        assert written in example
        example = example.replace(written, here)
    facts: dict[str, Any] = {"token": flown.door.running.tokens["ana"]}
    exec(example, facts)
    assert facts["frame"].columns == ["city", "n", "n_low", "n_high"]
    assert "of the budget" in facts["notice"] or "is free" in facts["notice"]
