"""Vaults and sources that are no files: addresses of databases, tables of a catalogue, no password in sight."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.csv
import pytest
import typer
from typer.testing import CliRunner

from discreet.cli import exit_codes, locations
from discreet.cli.exit_codes import reporting_errors
from tests.cli import desk
from tests.cli.desk import run
from tests.servers.postgres import Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNT = "select count(*) from people"
SECRET = "hunter2"
NOWHERE = [
    f"postgresql://ana:{SECRET}@127.0.0.1:1/health#people",
    f"postgres://ana:{SECRET}%21@127.0.0.1:1/health#people",
    f"postgresql://127.0.0.1:1/health?user=ana&password={SECRET}#people",
    f"POSTGRESQL://ana:{SECRET}@127.0.0.1:1/health?sslmode=disable&sslpassword={SECRET}#people",
    f"postgresql://ana:x@{SECRET}@127.0.0.1:1/health#people",  # in which an @ should have been %40
    f"postgresql://ana:{SECRET} and more@127.0.0.1:1/health#people",
    # What only looks like an address, and would be taken for a path:
    f"postgresql+psycopg://ana:{SECRET}@127.0.0.1:1/health#people",
    f" postgresql://ana:{SECRET}@127.0.0.1:1/health#people",
    f"jdbc:postgresql://127.0.0.1:1/health?user=ana&password={SECRET}",
    f"host=127.0.0.1 port=1 user=ana password={SECRET} dbname=health",
    f"host=127.0.0.1 port=1 user=ana password = '{SECRET}'",
]
COMMANDS: dict[str, Callable[[str], list[str]]] = {
    "ask": lambda a: ["ask", a, COUNT, "--epsilon", "1"],
    "preview": lambda a: ["preview", a, COUNT, "--epsilon", "1"],
    "describe": lambda a: ["describe", a],
    "ledger": lambda a: ["ledger", a],
    "verify": lambda a: ["ledger", a, "verify"],
    "budget": lambda a: ["budget", a, "--amend", "--epsilon", "3"],
    "propose": lambda a: ["propose", a],
    "seal from": lambda a: ["seal", a, *desk.OPTIONS, "--to", "other.vault"],
    "seal to": lambda a: ["seal", "people.csv", *desk.OPTIONS, "--to", a],
    "reseal": lambda a: ["seal", "people.csv", "--reseal", "--to", a],
    "also": lambda a: ["seal", "people.csv", *desk.OPTIONS, "--to", "other.vault", "--also", a],
    "lookup": lambda a: ["seal", "people.csv", *desk.OPTIONS, "--to", "other.vault", "--lookup", f"city={a}"],
    "too many words": lambda a: ["describe", "people.vault", a],
    "a number": lambda a: ["ledger", "people.vault", "entries", "--after", a],
    "no command": lambda a: [a],
}


@pytest.mark.parametrize(
    ("command", "address"),
    [
        *((command, NOWHERE[0]) for command in COMMANDS),
        *((command, address) for command in ("describe", "seal to", "no command") for address in NOWHERE[1:]),
        *((command, address) for command in ("propose", "seal from", "ledger") for address in NOWHERE[6:]),
    ],
)
def test_a_password_is_never_printed(here: Path, command: str, address: str) -> None:
    result = run(*COMMANDS[command](address))
    assert result.exit_code not in (0, exit_codes.CRASHED), result.output
    assert SECRET not in result.output + result.stderr
    assert not Path("postgresql:").exists()  # as a path would have it
    assert not Path("other.vault").exists()
    assert not [path for path in here.iterdir() if SECRET in path.name or "postgres" in path.name]
    if address in NOWHERE[6:] and command not in ("no command",):
        assert "This looks like the address of a database, but" in " ".join(result.stderr.split())


def test_not_even_when_a_command_crashes() -> None:
    app = typer.Typer(pretty_exceptions_enable=False)

    @app.command()
    @reporting_errors
    def crash(vault: str) -> None:
        raise RuntimeError(f"could not connect to {vault}")

    for address in NOWHERE:
        result = CliRunner().invoke(app, [address])
        assert result.exit_code == exit_codes.CRASHED
        assert "could not connect" in result.stderr
        assert SECRET not in result.stderr


def test_the_table_of_a_database_is_named_once(here: Path) -> None:
    assert "--table visits" in run("propose", "postgresql://db/shop").stderr
    assert "given twice" in run("propose", "postgresql://db/shop#a", "--table", "b").stderr
    several = run("seal", "people.csv", "postgresql://db/shop#a", *desk.OPTIONS, "--to", "other.vault")
    assert "--also" in several.stderr


@pytest.mark.parametrize("command", ["ask", "preview", "describe", "ledger", "budget", "seal", "propose"])
def test_help_shows_an_example(command: str) -> None:
    shown = run(command, "--help", COLUMNS="200")
    assert shown.exit_code == 0
    assert f"discreet {command} " in shown.stdout
    assert "postgresql://host/" in shown.stdout


# -- a real database --------------------------------------------------------------------------------------------


@pytest.fixture
def shop(postgres: Server) -> str:
    """The address of a database with the table of people, and a password in it that must not be shown."""
    kinds = {"user_id": "bigint", "age": "integer", "city": "text", "paid": "double precision", "day": "date"}
    columns = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    rows = pyarrow.csv.read_csv(pyarrow.py_buffer(desk.table().encode())).to_pylist()
    values = ", ".join(
        f"({row['user_id']}, {row['age']}, '{row['city']}', {row['paid']}, '{row['day']}')" for row in rows
    )
    postgres.run("DROP TABLE IF EXISTS people", f"CREATE TABLE people ({columns})")
    postgres.run(f"INSERT INTO people VALUES {values}")
    return postgres.address(user=f"postgres:{SECRET}")


def shown(*arguments: str | Path) -> str:
    result = run(*arguments, COLUMNS="200")
    assert result.exit_code == 0, result.output + result.stderr
    assert SECRET not in result.output + result.stderr
    return result.output


@pytest.mark.xdist_group("postgres")
def test_from_a_table_of_a_database_to_an_answer_in_it(here: Path, shop: str, postgres: Server) -> None:
    drafted = shown("propose", shop, "--table", "people", "--out", "drafted.toml")
    assert "discreet seal postgresql://postgres@" in drafted.replace("'", "")
    assert "--table people" in drafted
    assert "--to people.vault" in drafted
    assert "[columns.city]  # TEXT" in Path("drafted.toml").read_text().replace("VARCHAR", "TEXT")

    vault = f"{shop}#typed_{id(here)}"
    sealed = shown("seal", shop, "--table", "people", *desk.OPTIONS, "--to", vault, "--name", "people")
    assert "A user who can read this schema can read the rows" in sealed
    offered = next(line for line in sealed.splitlines() if "discreet ask" in line)
    answer = shown(*shlex.split(offered)[1:])  # without the password, which a trusting server does not ask for
    assert "±" in answer

    again = json.loads(shown("ask", vault, COUNT, "--epsilon", "0.1", "--json"))
    assert again["free"]
    assert json.loads(shown("preview", vault, COUNT, "--epsilon", "0.1", "--json"))["free"]
    assert json.loads(shown("describe", vault, "--json"))["engine"] == "postgres"
    assert "ε = 2" in shown("describe", vault)
    assert "the whole vault" in shown("ledger", vault)
    assert "ana" in shown("budget", vault, "--allot", "--analyst", "ana", "--epsilon", "0.5")
    kept = next(line for line in shown("ledger", vault, "verify").splitlines() if "--since" in line)
    assert "is the one that was kept" in shown(*shlex.split(kept)[1:])

    told = shown("seal", f"{shop}#people", "--reseal", "--to", vault)
    assert "Version 2, under the same ledger" in told
    refused = run("seal", f"{shop}#people", "--reseal", "--to", vault, "--memory", "1GB")
    assert (refused.exit_code, "--memory is for vaults in a directory" in refused.stderr) == (2, True)


@pytest.mark.xdist_group("postgres")
def test_from_a_table_of_a_database_to_a_directory(here: Path, shop: str) -> None:
    told = shown("seal", f"{shop}#people", *desk.OPTIONS, "--to", "copied.vault", "--name", "people")
    assert "Sealed table people of a PostgreSQL database into copied.vault" in told
    assert "A user who can read these files can read the rows" in told
    assert "±" in shown("ask", "copied.vault", COUNT, "--epsilon", "1")


# -- a catalogue ------------------------------------------------------------------------------------------------


@pytest.mark.slow  # a Spark of its own
@pytest.mark.xdist_group("spark")
def test_rows_that_stay_in_spark(here: Path, spark: SparkSession) -> None:
    rows: list[dict[str, Any]] = pyarrow.csv.read_csv("people.csv").to_pylist()
    spark.createDataFrame(rows).createOrReplaceTempView("typed_people")
    spark.sql("DROP TABLE IF EXISTS typed_sealed")
    assert "[columns.city]" in shown("propose", "spark:typed_people")
    options = (*desk.OPTIONS, "--rows", "typed_sealed", "--to", "kept.vault", "--name", "people")
    told = shown("seal", "spark:typed_people", *options)
    assert "A user who can read that table of the catalogue can read the rows" in told
    assert "±" in shown("ask", "kept.vault", COUNT, "--epsilon", "1")
    assert json.loads(shown("describe", "kept.vault", "--json"))["engine"] == "spark"
    spark.sql("DROP TABLE IF EXISTS typed_sealed")


def test_a_file_is_a_file() -> None:
    assert locations.source("people.csv").data == "people.csv"
    assert locations.source("people.csv", None, "\\t").separator == "\t"
    assert locations.display_name("people.vault") == "people.vault"
