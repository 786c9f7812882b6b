"""Count the rows of each person, and give the person a number and a weight.

Claim. A person with n rows weighs UNIT if n ≤ rows_per_person, and ⌊UNIT·rows_per_person/n⌋ if n is more. No two
persons have the same number. Rows without a person are one person together.

A number is no more than a name of the person inside the sealed rows. Where identifiers are integers that lie close
together, the number is the distance to the least of them, and most rows need no join to learn it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.engines.dialects import DIALECTS
from discreet.schema.metadata import UNIT, TableMetadata
from discreet.sealing.backends import Backend, Embedded
from discreet.sealing.backends.tally import fits
from discreet.sealing.repeats import Repeats

if TYPE_CHECKING:
    from discreet.sealing.backends.duckdb import Progress

_STAGE = "weighing persons"
_NARROW = 2**31
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")


@dataclass(frozen=True)
class Persons:
    """The persons as a stored table with the columns `key`, `person`, `w`, `n` and those of `Repeats`.

    Args:
        table: Its name after FROM; empty if every row is a person.
        number: SQL for the number of a person, from a `key` that is not NULL; empty if only the table tells.
    """

    table: str = ""
    number: str = ""


def weighed(
    backend: Backend,
    metadata: TableMetadata,
    rows: str,
    progress: Progress | None,
    repeats: Repeats | None = None,
) -> Persons:
    """Store every person of stored rows with a number and a weight.

    Args:
        backend: The engine that holds the rows.
        metadata: Their metadata.
        rows: Their name after FROM.
        progress: Called with the stage and the part of it that is done; None for no reports.
        repeats: What rows note of their texts; None if they do not.
    """
    if metadata.person is None:
        return Persons()
    repeats = repeats or Repeats()
    numbers = _Numbers.of(backend, rows)
    if (
        numbers is not None
        and isinstance(backend, Embedded)
        and fits(numbers.size, numbers.rows, len(repeats.words))
    ):
        query = f"SELECT {', '.join([numbers.all, *repeats.words])} FROM {rows}"
        with backend.tally(query, numbers.size, repeats.words, _STAGE, progress) as counted:
            table = _stored(backend, metadata, counted, numbers.key, "person", repeats, progress)
    else:
        gathered = ", ".join(["key", "count(*) AS n", *repeats.gathered])
        counted = f"(SELECT {gathered} FROM {rows} GROUP BY key) AS counted"
        number = _row_number(backend, rows) if numbers is None else numbers.all
        table = _stored(backend, metadata, counted, "key", number, repeats, progress)
    return Persons(table, "" if numbers is None else numbers.number)


def _stored(
    backend: Backend,
    metadata: TableMetadata,
    counted: str,
    key: str,
    number: str,
    repeats: Repeats,
    progress: Progress | None,
) -> str:
    allowed, dialect = metadata.rows_per_person, DIALECTS[backend.dialect]
    weight = f"CASE WHEN n <= {allowed} THEN {UNIT} ELSE {dialect.division.format(UNIT * allowed, 'n')} END"
    columns = [f"{key} AS key", f"{number} AS person", f"CAST({weight} AS SMALLINT) AS w", "n", *repeats.words]
    return backend.store("persons", f"SELECT {', '.join(columns)} FROM {counted}", _STAGE, progress)


def joined(rows: str, persons: str, codes: Sequence[str]) -> str:
    """Return the rows joined with their persons: `person`, `w`, `key` and codes.

    A join by equality is three times as fast as one in which NULL equals NULL, so the rows without a person are
    added by a second query.

    Args:
        rows: The rows after FROM.
        persons: The persons after FROM, all or some.
        codes: The columns of the rows.
    """
    chosen = ", ".join(["p.person", "p.w", "r.key", *(f"r.{code}" for code in codes)])
    nameless = f"(SELECT person, w FROM {persons} WHERE key IS NULL)"
    return (
        f"(SELECT {chosen} FROM {rows} AS r JOIN {persons} AS p ON r.key = p.key UNION ALL "
        f"SELECT {chosen} FROM {rows} AS r CROSS JOIN {nameless} AS p WHERE r.key IS NULL) AS weighed"
    )


@dataclass(frozen=True)
class _Numbers:
    """Numbers for persons whose identifiers are integers that lie close together.

    Args:
        least: The least identifier.
        size: The number of numbers; the last one is for rows without a person.
        kind: The type of the identifiers.
        rows: The number of rows.
    """

    least: int
    size: int
    kind: str
    rows: int

    @classmethod
    def of(cls, backend: Backend, rows: str) -> _Numbers | None:
        """Return numbers of 32 bits; None if there are none, or if the engine gains nothing by them."""
        if not DIALECTS[backend.dialect].columnar:
            return None
        kind = backend.answer(f"SELECT typeof(key) FROM {rows} LIMIT 1")
        if not kind or kind[0][0] not in _INTEGERS:
            return None
        ((least, most, count),) = backend.answer(f"SELECT MIN(key), MAX(key), COUNT(*) FROM {rows}")
        if least is None or most >= 2**63 or most - least + 2 >= _NARROW:
            return None
        return cls(least, most - least + 2, kind[0][0], count)

    @property
    def number(self) -> str:
        """The number of a key that is not NULL."""
        return f"CAST(CAST(key AS BIGINT) - ({self.least}) AS INTEGER)"

    @property
    def all(self) -> str:
        """The number of any key."""
        return f"COALESCE({self.number}, {self.size - 1})"

    @property
    def key(self) -> str:
        """The key of a number."""
        return f"CASE WHEN person < {self.size - 1} THEN CAST(person + ({self.least}) AS {self.kind}) END"


def _row_number(backend: Backend, rows: str) -> str:
    """Return SQL that numbers rows, in 32 bits if these suffice and the engine gathers by them in less time."""
    dialect = DIALECTS[backend.dialect]
    if not dialect.columnar or backend.answer(f"SELECT COUNT(*) FROM {rows}")[0][0] >= _NARROW:
        return dialect.row_number
    return f"CAST({dialect.row_number} AS INTEGER)"
