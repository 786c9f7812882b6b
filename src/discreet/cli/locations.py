"""Where vaults and sources are, as one writes it on the command line: a path, or the address of a database.

    people.vault                          a directory
    postgresql://host/database#people     a vault in a schema of a PostgreSQL database
    postgresql://host/shop#visits         as a source: its table, the same as --table visits
    spark:shop.visits                     a table of the Spark catalogue

An address stays text, for a path would take its slashes for one. It may hold a password, which is never printed:
not in what is said, not in an error, not in a traceback, and not in a command that is offered to be copied. It is
better left out, for PGPASSWORD or ~/.pgpass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

import typer

from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from discreet.sealing.sources import Source
    from discreet.vault.vault import Vault

Place = Annotated[
    str,
    typer.Argument(
        metavar="VAULT",
        help="The directory of a vault, such as people.vault, or postgresql://host/database#people.",
    ),
]

_ADDRESS = re.compile(r"postgres(?:ql)?://.*", re.IGNORECASE | re.DOTALL)
# As much as it could be; in libpq's other form it may stand in quotation marks.
_PASSWORD = re.compile(r"://[^/?#\s]*?:(.*)@|pass\w*\s*=\s*('[^']*'|[^&#\s]*)", re.DOTALL | re.IGNORECASE)
_SPARK = "spark:"


def opened(where: str, **who: str | None) -> Vault:
    """Open a vault, with a Spark session if its rows are in Spark."""
    from discreet.vault.storage import storage_at
    from discreet.vault.vault import Vault

    spark = session() if storage_at(where).metadata().engine == "spark" else None
    return Vault(where, spark=spark, **who)


def words(where: str) -> str:
    """Return a place as it may be shown.

    >>> words("people.vault"), words("postgresql://ana:tiger@db/health#people")
    ('people.vault', 'postgresql://ana@db/health#people')
    """
    from discreet.postgres import Address, check_path, is_address

    check_path(where)
    return Address.of(where).words if is_address(where) else where


def source(written: str, table: str | None = None, separator: str | None = None) -> Source:
    """Return the table that is meant: a file, one in a database, or one of a catalogue.

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
            raise DiscreetError(f"The table is named twice: #{named} and --table {table}. Write one of them.")
        if table is None and named is None:
            raise DiscreetError(
                "Which table of the database? Write --table visits, or postgresql://host/shop#visits"
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
    """Return what to call the vault of a source.

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
    """Return the Spark session of this process, started if there is none."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise DiscreetError(
            'Tables in Spark need pyspark. Install it with: pip install "discreet[spark]"'
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
    """What could be a password in an address that cannot be read."""
    parts = (part.strip("'") for pair in _PASSWORD.findall(address) for part in pair)
    return {written for part in parts for written in (part, unquote(part)) if written}
