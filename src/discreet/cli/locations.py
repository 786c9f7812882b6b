"""Read the locations of vaults and sources from the command line: paths, and addresses of databases.

    people.vault                          a directory
    postgresql://host/database#people     a vault in a schema of a PostgreSQL database
    postgresql://host/shop#visits         as a source: its table, the same as --table visits
    spark:shop.visits                     a table of the Spark catalogue

An address stays text, because a path would merge its two slashes. It may hold a password, which is never printed:
not in the output, not in an error, not in a traceback, and not in a command that is offered to be copied. It is
better to leave it out and to use PGPASSWORD or ~/.pgpass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

import typer

from discreet.errors import DiscreetError, Fix

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from discreet.sealing.sources import Source
    from discreet.vault.vault import Vault

Location = Annotated[
    str,
    typer.Argument(
        metavar="VAULT",
        help="The directory of a vault, such as people.vault, or postgresql://host/database#people.",
    ),
]

_ADDRESS = re.compile(r"postgres(?:ql)?://.*", re.IGNORECASE | re.DOTALL)
# The longest text that could be one; in libpq's other form it may stand in quotation marks.
_PASSWORD = re.compile(r"://[^/?#\s]*?:(.*)@|pass\w*\s*=\s*('[^']*'|[^&#\s]*)", re.DOTALL | re.IGNORECASE)
_SPARK = "spark:"


def opened(where: str, **who: str | None) -> Vault:
    """Open a vault, with a Spark session if its rows are in Spark."""
    from discreet.vault.storage import storage_at
    from discreet.vault.vault import Vault

    spark = session() if storage_at(where).metadata().engine == "spark" else None
    return Vault(where, spark=spark, **who)


def display_name(where: str) -> str:
    """Return a location without its password.

    >>> display_name("people.vault"), display_name("postgresql://ana:tiger@db/health#people")
    ('people.vault', 'postgresql://ana@db/health#people')
    """
    from discreet.postgres import Address, check_path, is_address

    check_path(where)
    return Address.of(where).words if is_address(where) else where


def source(written: str, table: str | None = None, separator: str | None = None) -> Source:
    """Return the table of a location: a file, a table of a database, or a table of a catalogue.

    >>> source("postgresql://db/shop#visits").table, source("people.csv").table
    ('visits', None)
    """
    from discreet.postgres import Address, is_address
    from discreet.sealing.sources import Source

    parted = None if separator is None else separator.replace("\\t", "\t")
    if written.startswith(_SPARK):
        return Source(session(), table=written.removeprefix(_SPARK), separator=parted)
    if is_address(written):
        named = Address.of(written).fragment
        if table is not None and named is not None:
            raise DiscreetError(
                "The table is given twice, after # and with --table.",
                found=f"#{named} and {table}",
                fix=Fix("table", None),
            )
        if table is None and named is None:
            raise DiscreetError(
                "Name a table of the database.",
                fix=[Fix("table", "visits"), "Or write it after the address: postgresql://host/shop#visits"],
            )
        return Source(written.partition("#")[0], table=table or named, separator=parted)
    return Source(written, table=table, separator=parted)


def is_file(written: str) -> bool:
    """Return whether a source is a file, or a pattern of files.

    >>> is_file("part-*.parquet"), is_file("postgresql://db/shop"), is_file("spark:shop.visits")
    (True, False, False)
    """
    from discreet.postgres import is_address

    return not (is_address(written) or written.startswith(_SPARK))


def stem(written: str, table: str | None) -> str:
    """Return a name for the vault of a source.

    >>> stem("data/people.csv", None), stem("postgresql://db/shop", "public.visits"), stem("spark:a.trips", None)
    ('people', 'visits', 'trips')
    """
    from discreet.postgres import Address

    if is_file(written):
        return Path(written).stem
    spark = written.startswith(_SPARK)
    name = written.removeprefix(_SPARK) if spark else table or Address.of(written).fragment or "people"
    return name.rpartition(".")[2]


def session() -> SparkSession:
    """Return the Spark session of this process. It is started if there is none."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise DiscreetError(
            "Tables in Spark need pyspark, which is not installed.",
            fix='Install it with: pip install "discreet[spark]"',
        ) from None
    return SparkSession.builder.appName("discreet").getOrCreate()


def hidden(text: str, typed: Iterable[Any]) -> str:
    """Return a text without the passwords of the addresses that were typed.

    >>> hidden("no such host: tiger@db", ["postgresql://ana:tiger@db/health"])
    'no such host: …@db'
    """
    for secret in sorted(_secrets(typed), key=len, reverse=True):
        text = text.replace(secret, "…")
    return text


def _secrets(typed: Iterable[Any]) -> set[str]:
    from discreet.errors import ParameterError
    from discreet.postgres import Address, is_nearly_address

    found: set[str] = set()
    for value in typed:
        if isinstance(value, list | tuple):
            found |= _secrets(value)
        for address in _ADDRESS.findall(value) if isinstance(value, str) else ():
            try:
                found |= Address.of(address).secrets
            except ParameterError:
                found |= _guessed(address)
        if is_nearly_address(value):
            found |= _guessed(str(value))
    return found


def _guessed(address: str) -> set[str]:
    """Return what could be a password in an address that cannot be read."""
    parts = (part.strip("'") for pair in _PASSWORD.findall(address) for part in pair)
    return {written for part in parts for written in (part, unquote(part)) if written}
