"""The public face of a sealed table: what its columns are and whom it protects, and nothing read off the rows.

A description is the first thing an analyst sees, and everything in it was declared by the curator: names, kinds,
bounds, the privacy unit, how much one person contributes. It holds no count, no minimum, no list of keys. It is
the file `description.json` of a vault. A new version of the rows under the same ledger is a new description with a
higher version, put in place by one rename.
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

from discreet.errors import ParameterError
from discreet.rational import whole
from discreet.schema import Column, from_json

UNIT = 4096
"""The weight of one whole row."""

MOST_ROWS = 2**24
"""The largest rows_per_person: one person's weights then sum to 2³⁶ at most, and noise of that scale is exact."""

FILE = "description.json"
ROWS = "rows"
"""The name of the sealed table inside its file."""

_FORMAT = 1


@dataclass(frozen=True)
class TableMetadata:
    """What a sealed table is, in public.

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
    table: str = ""  # of a Spark catalogue: what the rows of the first version are called there
    sealed_at: str = ""
    sources: tuple[str, ...] = ()
    joins: tuple[str, ...] = field(default=())
    ledger: str = ""  # the hash of the first entry of the ledger that it was sealed with, and is asked with

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping):
            raise ParameterError(
                f'columns says of each column what it holds: columns={{"age": dp.Integer(0, 110)}}, '
                f"not {self.columns!r}."
            )
        object.__setattr__(self, "columns", dict(self.columns))
        object.__setattr__(self, "rows_per_person", whole(self.rows_per_person, "rows_per_person"))
        object.__setattr__(self, "version", whole(self.version, "version"))
        _check_name(self.name)
        _check_columns(self.columns)
        if self.rows_per_person > MOST_ROWS:
            raise ParameterError(f"rows_per_person is {MOST_ROWS} at most, not {self.rows_per_person}.")
        if self.person is None and self.rows_per_person != 1:
            raise ParameterError(
                "without a person column every row is a person, and rows_per_person is 1. "
                f'Name the column: person="user_id", rows_per_person={self.rows_per_person}.'
            )
        if self.person is not None and self.person.casefold() in {name.casefold() for name in self.columns}:
            raise ParameterError(
                f"{self.person!r} says who a row is about, and nothing may be asked about it. "
                "Leave it out of the columns."
            )

    @property
    def has_text(self) -> bool:
        """Whether a column has an open domain; the sealed rows then mark spots."""
        return any(column.kind == "text" for column in self.columns.values())

    @property
    def rows_file(self) -> str:
        """The name of the file that holds the rows of this version."""
        return "rows.duckdb" if self.version == 1 else f"rows-{self.version}.duckdb"

    @property
    def limits(self) -> dict[str, int]:
        """How large the codes of sealed columns and the weight can be: engines choose their types by it."""
        levels = {f"c{i}": column.levels for i, column in enumerate(self.columns.values())}
        return {"w": UNIT, **{name: most - 1 for name, most in levels.items() if most is not None}}

    @property
    def fingerprint(self) -> str:
        """A digest of what bounds the sealed rows, of when they were sealed and of their ledger, kept beside them.

        They go with no other description, and not with one of the same bounds from another sealing either.
        """
        bounds = [self.version, self.sealed_at, self.person, self.rows_per_person]
        columns = [[name, column.as_json()] for name, column in self.columns.items()]
        bound = [self.ledger] if self.ledger else []
        written = json.dumps([*bounds, columns, *bound], ensure_ascii=False)
        return hashlib.sha256(written.encode()).hexdigest()

    def sealed_name(self, column: str) -> str:
        """Return what a column is called among the sealed rows: c0, c1 …"""
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
        from discreet.schema import render

        return render.text(self)

    def _repr_html_(self) -> str:
        from discreet.render.html import framed
        from discreet.schema import render

        return framed(render.page(self))

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> TableMetadata:
        """Return the description that `as_json` wrote."""
        if record.get("format") != _FORMAT:
            raise ParameterError(
                f"the description has format {record.get('format')!r}, and this discreet reads format {_FORMAT}."
            )
        rest = {name: value for name, value in record.items() if name != "format"}
        rest["columns"] = {name: from_json(column) for name, column in record["columns"].items()}
        rest["sources"], rest["joins"] = tuple(record["sources"]), tuple(record["joins"])
        return cls(**rest)


def read(vault: str | Path) -> TableMetadata:
    """Return the description of the vault in a directory."""
    path = Path(vault) / FILE
    try:
        with open(path, "rb") as file:
            found = copy(_parsed(file.read()))
    except FileNotFoundError:
        raise _absent(Path(vault)) from None
    except NotADirectoryError:
        raise ParameterError(
            f"{vault} is a file, and a vault is a directory. Give the one that holds {FILE}, or make one with "
            f'Vault.seal(…, to="people.vault").'
        ) from None
    except PermissionError:
        raise ParameterError(
            f"{path} may not be read by whoever runs this. Ask for it as the owner of the vault, or let them give "
            "you access to its directory."
        ) from None
    except OSError as wrong:
        raise ParameterError(f"{path} cannot be read: {wrong.strerror}.") from None
    except ParameterError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as wrong:
        raise ParameterError(f"{path} is damaged ({type(wrong).__name__}). Restore it from a copy.") from None
    object.__setattr__(found, "columns", dict(found.columns))  # a dictionary of the reader's own
    return found


def _absent(vault: Path) -> ParameterError:
    """What to say of a directory without a description: it is no vault, or one that has lost it."""
    left = sorted(path.name for pattern in ("rows*.duckdb", "ledger.sqlite") for path in vault.glob(pattern))
    if left:
        return ParameterError(
            f"{FILE} is missing in {vault}, which has {', '.join(left)}. Restore it from a backup: nothing else "
            "knows what the columns mean."
        )
    return ParameterError(f"there is no vault at {vault}. Make one with Vault.seal(…, to={str(vault)!r}).")


@lru_cache(maxsize=16)  # by all of its bytes, which are read every time: no change can be missed
def _parsed(written: bytes) -> TableMetadata:
    return TableMetadata.from_json(json.loads(written.decode("utf-8")))


def write(metadata: TableMetadata, vault: Path) -> None:
    """Put a description in place: whoever reads sees the old one or the new one, whole."""
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
    """Make the names in a directory survive a power cut."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _check_name(name: str) -> None:
    if not name or "\0" in name:
        raise ParameterError(f"a table needs a name, not {name!r}. Analysts write it after FROM.")


def _check_columns(columns: Mapping[str, Column]) -> None:
    if not columns:
        raise ParameterError('a sealed table needs at least one column: columns={"age": dp.Integer(0, 110)}.')
    seen: dict[str, str] = {}
    for name, column in columns.items():
        if not name or "\0" in name:
            raise ParameterError(f"a column needs a name, not {name!r}.")
        if not isinstance(column, Column):
            raise ParameterError(
                f"column {name!r} is declared as {column!r}. "
                "Declare it as Integer, Real, Category, Boolean, Date, Datetime or Text."
            )
        if name.casefold() in seen:  # SQL takes them for one
            raise ParameterError(f"the columns {seen[name.casefold()]!r} and {name!r} differ in capitals only.")
        seen[name.casefold()] = name
