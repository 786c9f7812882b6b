"""What BI tools write, each with its meaning: the same answer as the plain question, from the record.

Shapes as the tools write them: Metabase, Superset, Tableau, Power BI, Excel, Looker, DBeaver. The start-up
queries of JDBC are in `jdbc_queries.sql`, as the driver 42.5 sends them.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from discreet.errors import QuestionRefused
from discreet.query.parse.select import parse
from discreet.query.parse.tool_questions import KEPT_GROUPS
from discreet.query.parse.tool_statements import statements
from tests.serve.door.conftest import CITIES, Opened, trips_metadata

COUNTS = "select city, count(*) from trips group by city"
LONG_TRIPS = "select city, count(*) from trips where minutes > 10 group by city"
SHAPES = {
    "Metabase": (
        'SELECT "public"."trips"."city" AS "city", COUNT(*) AS "count" FROM "public"."trips"'
        ' GROUP BY "public"."trips"."city" ORDER BY "public"."trips"."city" ASC',
        COUNTS,
    ),
    "Metabase, nested": (
        'SELECT "source"."city" AS "city", COUNT(*) AS "count" FROM (SELECT "public"."trips"."city" AS "city" FROM'
        ' "public"."trips" WHERE "public"."trips"."minutes" > 10) AS "source" GROUP BY "source"."city"'
        ' ORDER BY "source"."city" ASC',
        LONG_TRIPS,
    ),
    "Metabase, by month": (
        """SELECT CAST(DATE_TRUNC('month', "public"."trips"."day") AS date) AS "day",
        AVG("public"."trips"."minutes") AS "avg" FROM "public"."trips"
        GROUP BY CAST(DATE_TRUNC('month', "public"."trips"."day") AS date)""",
        "select cast(date_trunc('month', day) as date), avg(minutes) from trips group by 1",
    ),
    "Superset": (
        "SELECT city AS city, COUNT(*) AS count FROM public.trips GROUP BY city ORDER BY count DESC LIMIT 10000",
        COUNTS,
    ),
    "Superset, a virtual dataset": (
        'SELECT city AS city, sum(minutes) AS "SUM(minutes)" FROM (select * from trips where stops > 1)'
        " AS virtual_table GROUP BY city",
        "select city, sum(minutes) from trips where stops > 1 group by city",
    ),
    "Superset, a range of time": (
        "SELECT COUNT(*) AS n FROM public.trips WHERE day >= TO_DATE('2024-01-01', 'YYYY-MM-DD') AND begun <"
        " TO_TIMESTAMP('2024-01-01 03:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')",
        "select count(*) from trips where day >= date '2024-01-01' and begun < timestamp"
        " '2024-01-01 03:00:00.000000'",
    ),
    "Tableau": (
        'SELECT "trips"."city" AS "city", SUM(1) AS "sum:Number of Records:ok" FROM "public"."trips" "trips"'
        " GROUP BY 1",
        COUNTS,
    ),
    "Tableau, having rows": (
        'SELECT AVG(CAST("trips"."minutes" AS DOUBLE PRECISION)) AS "avg:minutes:ok" FROM "public"."trips" "trips"'
        " HAVING (COUNT(1) > 0)",
        "select avg(cast(minutes as double)) from trips",
    ),
    "Tableau, persons": (
        'SELECT COUNT(DISTINCT "trips"."who") AS "ctd" FROM "public"."trips" "trips" HAVING (COUNT(1) > 0)',
        "select count(distinct who) from trips",
    ),
    "Tableau, custom SQL": (
        'SELECT "Custom SQL Query"."city" AS "city", COUNT(1) AS "cnt" FROM (select city from trips)'
        ' "Custom SQL Query" GROUP BY 1',
        COUNTS,
    ),
    "Power BI": (
        'select "rows"."city" as "city", sum("rows"."minutes") as "a0" from (select "$Table"."city" as "city",'
        ' "$Table"."minutes" as "minutes" from "public"."trips" "$Table") "rows" group by "city"',
        "select city, sum(minutes) from trips group by city",
    ),
    "Power BI, around an aggregate": (
        'select "_"."city" as "c0", "_"."a0" as "a0" from (select "rows"."city" as "city", count(1) as "a0" from'
        ' (select "_"."city" from "public"."trips" "_" where "_"."minutes" > 10) "rows" group by "city") "_" where'
        ' not "_"."a0" is null limit 1000001',
        LONG_TRIPS,
    ),
    "Excel": (
        'SELECT "trips"."city", Count(*) FROM "trips"."public"."trips" "trips" GROUP BY "trips"."city"',
        COUNTS,
    ),
    "Looker": (
        'SELECT city AS "trips.city", COUNT(*) AS "trips.count" FROM public.trips AS trips GROUP BY 1'
        " ORDER BY 2 DESC FETCH NEXT 500 ROWS ONLY",
        COUNTS,
    ),
    "DBeaver": (
        "SELECT count(*) FROM (select city from trips where minutes > 10) dbvrcnt",
        "select count(*) from trips where minutes > 10",
    ),
}
FREE = {
    'SELECT TRUE AS "_" FROM "public"."trips" WHERE 1 <> 1 LIMIT 0': [],
    'SELECT * FROM (select city, minutes from trips) "Custom SQL Query" LIMIT 0': [],
    'SELECT "trips".* FROM "public"."trips" "trips" WHERE 1=0': [],
    "SELECT city, COUNT(*) FROM trips GROUP BY city LIMIT 0": [],
    'SELECT "public"."trips"."city" AS "city" FROM "public"."trips" GROUP BY "public"."trips"."city" ORDER BY'
    ' "public"."trips"."city" ASC LIMIT 1001': [(city,) for city in CITIES],
    "SELECT DISTINCT city AS city FROM public.trips WHERE city ILIKE '%s%' LIMIT 1000": [("Oslo",), ("Tromsø",)],
    'SELECT 1 AS "COL" FROM (SELECT 1) AS "CHECKTEMP"': [(1,)],
}
REFUSED = [
    'SELECT "public"."trips"."city" AS "city", "public"."trips"."minutes" AS "m" FROM "public"."trips" LIMIT 2000',
    "SELECT * FROM public.trips LIMIT 100 OFFSET 0",
    'select "$Table"."city" as "city" from "public"."trips" "$Table" limit 1000',
    "SELECT DISTINCT minutes FROM trips",
    "SELECT DISTINCT city FROM trips WHERE minutes > 59",
    "SELECT * FROM pg_class, trips",
    "WITH pg_a AS (SELECT minutes FROM trips) SELECT * FROM pg_a",
    "SELECT (SELECT max(minutes) FROM trips) FROM pg_class",
    "SELECT count(*) FROM trips UNION ALL SELECT count(*) FROM trips",
    "SELECT a FROM (SELECT city AS a, count(*) AS n FROM trips GROUP BY city LIMIT 2) x WHERE n > 3",
]


def canonical(sql: str) -> str:
    """Return the text by which the ledger knows the question that a tool wrote."""
    (statement,) = statements(sql)
    written, _ = statement.question("trips", "trips")
    return parse(written, trips_metadata()).text


@pytest.mark.parametrize("tool", SHAPES)
def test_a_shape_of_a_tool_is_the_plain_question(tool: str) -> None:
    written, plain = SHAPES[tool]
    assert canonical(written) == canonical(plain)


def test_the_shapes_are_answered_over_the_wire(door: Opened) -> None:
    with door.connected() as connection:
        for tool in ("Metabase", "Metabase, nested", "Power BI, around an aggregate"):
            assert [row[0] for row in connection.execute(SHAPES[tool][0]).fetchall()] == [*CITIES, None]


def test_limit_cuts_rows_after_the_release(door: Opened) -> None:
    with door.connected() as connection:
        rows = connection.execute(f"{COUNTS} order by 2 desc").fetchall()
        before = door.spent()
        assert connection.execute(f"{COUNTS} order by 2 desc limit 2").fetchall() == rows[:2]
    assert door.spent() == before


def test_having_a_row_is_left_out_and_told_unless_the_count_is_selected() -> None:
    (hidden,) = statements(
        "select city, avg(minutes) from trips group by city having count(1) > 0 and avg(minutes) > 3"
    )
    written, notes = hidden.question("trips", "trips")
    assert notes == [KEPT_GROUPS]
    assert "AVG(minutes) > 3" in written
    assert "COUNT" not in written
    (shown,) = statements("select city, count(1) from trips group by city having count(1) > 0")
    assert shown.question("trips", "trips")[1] == []
    (real,) = statements("select city, avg(minutes) from trips group by city having count(1) > 10")
    assert "COUNT(1) > 10" in real.question("trips", "trips")[0]


def test_types_values_and_tests_of_tools_are_free(door: Opened) -> None:
    before = door.spent()
    with door.connected() as connection:
        for sql, rows in FREE.items():
            assert connection.execute(sql).fetchall() == rows, sql
    assert door.spent() == before


def test_rows_and_mixtures_with_the_catalogue_are_refused(door: Opened) -> None:
    before = door.spent()
    with door.connected() as connection:
        for sql in REFUSED:
            with pytest.raises(psycopg.errors.FeatureNotSupported):
                connection.execute(sql)
    assert door.spent() == before


def test_the_start_up_queries_of_jdbc_are_answered(door: Opened) -> None:
    text = (Path(__file__).parent / "jdbc_queries.sql").read_text()
    found: dict[str, list[tuple[object, ...]]] = {}
    unknown = door.unknown()
    with door.connected() as connection:
        for part in text.split("-- name: ")[1:]:
            name, _, sql = part.partition("\n")
            found[name.strip()] = connection.execute(sql.encode()).fetchall()
    assert door.unknown() - unknown == 2  # keys and indexes: there are none, and no function of arrays for them
    assert [row[1:4] for row in found["getTables"]] == [("public", "trips", "TABLE")]
    assert [row[2] for row in found["getColumns"]] == ["city", "minutes", "stops", "member", "day", "begun", "who"]
    assert [row[0] for row in found["getSchemas"]] == ["information_schema", "pg_catalog", "public"]
    assert {"int8", "float8", "text", "date", "timestamp", "bool"} <= {row[0] for row in found["getTypeInfo"]}
    assert found["maxIndexKeys"] == [("32",)]
    assert found["getIndexInfo"] == found["getPrimaryKeys"] == found["getImportedKeys"] == []


@pytest.mark.parametrize(
    "sql",
    [
        "select * from read_text('/etc/passwd')",
        "select read_text('/etc/passwd')",
        "select * from pg_read_file('/etc/passwd')",
        "select current_setting('temp_directory')",
        "select * from duckdb_settings()",
        "select getenv('HOME')",
        "select count(*) from range(1000000000000)",
    ],
)
def test_the_catalogue_reads_nothing_of_the_machine(door: Opened, sql: str) -> None:
    with door.connected() as connection:
        try:
            shown = str(connection.execute(sql).fetchall())
        except psycopg.Error as error:
            shown = str(error)
    assert not any(word in shown for word in ("root:", "memory", "tmp", "home"))


def test_odd_texts_are_refused_in_words() -> None:
    for text in (
        "select '",
        "select (" + "(" * 500,
        "select $0",
        "select $99999",
        ";" * 10 + "select",
        "\0",
        "/*",
    ):
        with suppress(QuestionRefused):
            statements(text)  # and no other exception
