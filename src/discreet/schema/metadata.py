"""Store the metadata of a sealed table: its columns and its privacy unit, and nothing computed from the rows.

The curator declared everything in it: names, kinds, bounds, the privacy unit, how much one person contributes. It
holds no count, no minimum, no list of keys. It is the file `description.json` of a vault. A new version of the
rows under the same ledger has new metadata with a higher version, which one rename puts in place.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from discreet.errors import Code, Fix, ParameterError
from discreet.rational import whole
from discreet.render.html import framed
from discreet.schema import Column, from_json, render

UNIT = 4096
"""The weight of one whole row."""

MOST_ROWS = 2**24
"""The largest rows_per_person: one person's weights then add up to at most 2³⁶, and such noise is exact."""

MOST_COLUMNS = 1000
"""The largest number of columns. The time to plan a query grows with its square: 5,000 would take minutes."""

FILE = "description.json"
ROWS = "rows"
"""The name of the sealed table inside its file."""

_FORMAT = 1
_COLUMNS = Fix("columns", Code('{"age": dp.Integer(0, 110)}'))


@dataclass(frozen=True)
class TableMetadata:
    """All that is public about a sealed table.

    Args:
        name: The name of the table, which analysts write after FROM.
        columns: The columns by name.
        person: The column that identifies a person; None if every row is a person.
        rows_per_person: The number of rows of one person that count in full; 1 by default.
        version: The version of the sealed rows; 1 by default.
        engine: The engine that holds the rows; "duckdb" by default.
        table: The name of the first version of the rows in a Spark catalogue; empty elsewhere.
        sealed_at: The time of sealing, in ISO form.
        sources: The sources that were sealed, as text.
        joins: The joins that were made, as text.
        ledger: The hash of the first entry of the ledger that the table was sealed with.

    >>> from discreet.schema import Integer
    >>> people = TableMetadata("people", {"age": Integer(0, 110)}, person="user_id", rows_per_person=8)
    >>> TableMetadata.from_json(people.as_json()) == people
    True
    >>> people.sealed_name("age"), people.rows_file
    ('c0', 'rows.duckdb')
    """

    name: str
    columns: Mapping[str, Column]
    person: str | None
    rows_per_person: int = 1
    version: int = 1
    engine: str = "duckdb"
    table: str = ""
    sealed_at: str = ""
    sources: tuple[str, ...] = ()
    joins: tuple[str, ...] = field(default=())
    ledger: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping):
            raise ParameterError("The columns must be declared by name.", found=repr(self.columns), fix=_COLUMNS)
        object.__setattr__(self, "columns", dict(self.columns))
        object.__setattr__(self, "rows_per_person", whole(self.rows_per_person, "rows_per_person"))
        object.__setattr__(self, "version", whole(self.version, "version"))
        _check_name(self.name)
        _check_columns(self.columns)
        if self.rows_per_person > MOST_ROWS:
            raise ParameterError(
                f"rows_per_person must be at most {MOST_ROWS}.",
                found=self.rows_per_person,
                fix=Fix("rows_per_person", 8),
            )
        if self.person is None and self.rows_per_person != 1:
            raise ParameterError(
                "Without a person column every row is a person of its own, and rows_per_person must be 1.",
                found=self.rows_per_person,
                fix=[Fix("person", "user_id"), Fix("rows_per_person", 1)],
            )
        if self.person is not None and self.person.casefold() in {name.casefold() for name in self.columns}:
            raise ParameterError(
                "The person column identifies people, and may not be asked about.",
                found=repr(self.person),
                fix="Leave it out of the columns.",
            )

    @property
    def has_text(self) -> bool:
        """Whether a column has an open domain; the sealed rows then have the column `spot`."""
        return any(column.kind == "text" for column in self.columns.values())

    @property
    def rows_file(self) -> str:
        """The name of the file that holds the rows of this version."""
        return "rows.duckdb" if self.version == 1 else f"rows-{self.version}.duckdb"

    @property
    def limits(self) -> dict[str, int]:
        """The largest codes of the sealed columns, and the largest weight: engines choose their types by them."""
        levels = {f"c{i}": column.levels for i, column in enumerate(self.columns.values())}
        return {"w": UNIT, **{name: most - 1 for name, most in levels.items() if most is not None}}

    @property
    def fingerprint(self) -> str:
        """A digest of the bounds of the sealed rows, the time of sealing and the ledger, stored with the rows.

        The rows fit no other metadata, and not even metadata with the same bounds from another sealing.
        """
        bounds = [self.version, self.sealed_at, self.person, self.rows_per_person]
        columns = [[name, column.as_json()] for name, column in self.columns.items()]
        bound = [self.ledger] if self.ledger else []
        written = json.dumps([*bounds, columns, *bound], ensure_ascii=False)
        return hashlib.sha256(written.encode()).hexdigest()

    def sealed_name(self, column: str) -> str:
        """Return the name of a column among the sealed rows: c0, c1 …"""
        return f"c{list(self.columns).index(column)}"

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        columns = {name: column.as_json() for name, column in self.columns.items()}
        return {
            "format": _FORMAT,
            "name": self.name,
            "version": self.version,
            "engine": self.engine,
            **({"table": self.table} if self.table else {}),
            "sealed_at": self.sealed_at,
            "person": self.person,
            "rows_per_person": self.rows_per_person,
            "sources": list(self.sources),
            "joins": list(self.joins),
            **({"ledger": self.ledger} if self.ledger else {}),
            "columns": columns,
        }

    def __str__(self) -> str:
        return render.text(self)

    def _repr_html_(self) -> str:
        return framed(render.page(self))

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> TableMetadata:
        """Return the metadata that `as_json` wrote."""
        if record.get("format") != _FORMAT:
            raise ParameterError(
                f"This version of discreet reads metadata of format {_FORMAT}.", found=repr(record.get("format"))
            )
        rest = {name: value for name, value in record.items() if name != "format"}
        rest["columns"] = {name: from_json(column) for name, column in record["columns"].items()}
        rest["sources"], rest["joins"] = tuple(record["sources"]), tuple(record["joins"])
        return cls(**rest)


def read(vault: str | Path) -> TableMetadata:
    """Return the metadata of the vault in a directory."""
    path = Path(vault) / FILE
    try:
        with open(path, "rb") as file:
            found = copy(_parsed(file.read()))
    except FileNotFoundError:
        raise _absent(Path(vault)) from None
    except NotADirectoryError:
        raise ParameterError(
            f"{vault} is a file, and a vault is a directory.",
            fix=[f"Give the directory that holds {FILE}.", Fix("to", "people.vault", call="Vault.seal")],
        ) from None
    except PermissionError:
        raise ParameterError(
            f"This process may not read {path}.",
            fix="Run it as the owner of the vault, or ask the owner for access to the directory.",
        ) from None
    except OSError as wrong:
        raise ParameterError(f"{path} cannot be read.", found=wrong.strerror) from None
    except ParameterError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as wrong:
        raise ParameterError(
            f"{path} is damaged.", found=type(wrong).__name__, fix="Restore it from a backup."
        ) from None
    object.__setattr__(found, "columns", dict(found.columns))  # so that a reader may change its dictionary
    return found


def _absent(vault: Path) -> ParameterError:
    """Return the error for a directory without metadata: it is not a vault, or a vault that has lost it."""
    left = sorted(path.name for pattern in ("rows*.duckdb", "ledger.sqlite") for path in vault.glob(pattern))
    if left:
        return ParameterError(
            f"{FILE} is missing in {vault}.",
            found=", ".join(left),
            fix="Restore it from a backup: only this file says what the columns mean.",
        )
    return ParameterError(f"There is no vault at {vault}.", fix=Fix("to", str(vault), call="Vault.seal"))


@lru_cache(maxsize=16)  # the key is the whole file, which is read every time: no change can be missed
def _parsed(written: bytes) -> TableMetadata:
    return TableMetadata.from_json(json.loads(written.decode("utf-8")))


def write(metadata: TableMetadata, vault: Path) -> None:
    """Put metadata in place: a reader sees the old one or the new one, never a part."""
    draft = vault / f".{FILE}.{os.getpid()}"
    with open(draft, "w", encoding="utf-8") as file:
        json.dump(metadata.as_json(), file, ensure_ascii=False, indent=1)
        file.write("\n")
        file.flush()
        os.fchmod(file.fileno(), 0o644)
        os.fsync(file.fileno())
    os.replace(draft, vault / FILE)
    persist(vault)


def persist(directory: Path) -> None:
    """Write the names in a directory to the disk, so that they survive a power cut."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _check_name(name: str) -> None:
    if not name or "\0" in name:
        raise ParameterError(
            "A table needs a name, without a zero byte.", found=repr(name), fix=Fix("name", "people")
        )


def _check_columns(columns: Mapping[str, Column]) -> None:
    if not columns:
        raise ParameterError("A sealed table needs at least one column.", fix=_COLUMNS)
    if len(columns) > MOST_COLUMNS:
        raise ParameterError(
            f"A sealed table has at most {MOST_COLUMNS:,} columns.",
            found=f"{len(columns):,}",
            fix="Leave out the columns that no analyst will ask about, or seal several vaults.",
        )
    seen: dict[str, str] = {}
    for name, column in columns.items():
        if not name or "\0" in name:
            raise ParameterError("A column needs a name, without a zero byte.", found=repr(name), fix=_COLUMNS)
        if not isinstance(column, Column):
            raise ParameterError(
                f"The column {name!r} is not declared as a column.",
                found=repr(column),
                fix="Declare it as Integer, Real, Category, Boolean, Date, Datetime or Text.",
            )
        if name.casefold() in seen:  # because SQL ignores the case of names
            raise ParameterError(
                "The names of two columns differ in capitals only.",
                found=f"{seen[name.casefold()]!r} and {name!r}",
                fix="Rename one of them.",
            )
        seen[name.casefold()] = name
