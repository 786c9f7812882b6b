"""One table out of several: rows, what is known of their persons, and public tables.

Rows are those of the first source, all of them. A further table of the same persons adds columns: of its rows
about a person the least is taken, in the order of their codes, which depends on that person's rows alone; persons
whom only a further table knows have no rows. A lookup is a public table that adds columns by the value of one; a
value that it does not list leaves them missing. So adding a person still changes nobody else's rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.schema import Column
from discreet.schema import casts as reading
from discreet.schema.casts import Family, Step
from discreet.schema.metadata import TableMetadata
from discreet.sealing.sources import Reading, Source

if TYPE_CHECKING:
    from discreet.sealing.backends import Workshop

Way = tuple[str, tuple[Step, ...]]
"""A column of a source, and the steps from its values to what is stored."""


@dataclass
class Part:
    """One source among several: what is taken from it, by the name it gets."""

    source: Source
    reading: Reading
    key: str | None = None  # the lookup's own key
    ways: dict[str, Way] = field(default_factory=dict)
    stored: str = ""  # what FROM calls it, once it is stored

    def take(self, name: str, column: str, steps: tuple[Step, ...]) -> None:
        """Take a column under a name."""
        self.ways[name] = (column, steps)


def coded(
    workshop: Workshop,
    metadata: TableMetadata,
    source: Any,
    tables: Sequence[Any] = (),
    lookups: Mapping[str, Any] | None = None,
) -> str:
    """Return the query that reads every row once, as codes: `key`, if there is a person column, and c0, c1 …"""
    wanted = {*metadata.columns, *(lookups or {}), *([metadata.person] if metadata.person else [])}
    sources = [Source.of(source), *map(Source.of, tables)]
    people = [Part(s, workshop.opened(s, wanted, f"source{i}")) for i, s in enumerate(sources)]
    public = [
        Part(Source.of(s), workshop.opened(Source.of(s), wanted, f"lookup{i}"), key)
        for i, (key, s) in enumerate((lookups or {}).items())
    ]
    _take_persons(people, metadata.person)
    _take_lookups(people, public)
    owners = {
        name: _take(f"c{i}", name, column, [*people, *public], metadata)
        for i, (name, column) in enumerate(metadata.columns.items())
    }
    _settle(workshop, public)
    return _joined(workshop, people, public, metadata, owners)


def words(tables: Sequence[Any], lookups: Mapping[str, Any] | None, person: str | None) -> tuple[str, ...]:
    """Return what was joined, in words for the description."""
    return (
        *(f"{Source.of(table).words}, by {person}: one row of each person" for table in tables),
        *(f"{Source.of(table).words}, a public table, by {key}" for key, table in (lookups or {}).items()),
    )


def _take_persons(people: list[Part], person: str | None) -> None:
    if person is None:
        if len(people) > 1:
            raise ParameterError('tables are joined by person. Name the column that they share: person="user_id".')
        return
    for part in people:
        part.reading.check(person, part.source)
        part.take("key", person, (_person(part.reading.family(person), several=len(people) > 1),))
    _check_alike(people, person)


def _check_alike(people: list[Part], person: str) -> None:
    """See that all tables agree on who is one person: one row of several would tell of several otherwise."""
    first, *others = people
    for part in others:
        ours, theirs = (one.reading.collations.get(person, "") for one in (first, part))
        if ours != theirs:
            words = [f"by {found}" if found else "by its characters" for found in (ours, theirs)]
            raise ParameterError(
                f"{person!r} is compared {words[0]} in {first.source.words}, and {words[1]} in "
                f"{part.source.words}, so that they may not agree on who is one person. Read one of them through "
                "a view or a frame that gives the column the type and the collation of the other."
            )


def _person(family: Family, *, several: bool) -> Step:
    """Who a row is about: NaN is nobody, as NULL is. Several tables may have different types for one person."""
    if several or family in ("float", "other"):
        return lambda value: reading.as_text(value, family, binary=False)  # a collation may merge, never divide
    return lambda value: value


def _take_lookups(people: list[Part], public: list[Part]) -> None:
    for i, part in enumerate(public):
        key = str(part.key)
        part.reading.check(key, part.source)
        part.take("k", key, (_as_text(part.reading.family(key)),))
        holder = next((one for one in people if key in one.reading.types), None)
        if holder is None:
            raise ParameterError(f"no table of persons has the column {key!r} that the lookup goes by.")
        holder.take(f"l{i}", key, (_as_text(holder.reading.family(key)),))


def _as_text(family: Family) -> Step:
    return lambda value: reading.as_text(value, family)


def _take(place: str, name: str, column: Column, parts: list[Part], metadata: TableMetadata) -> Part:
    having = [part for part in parts if name in part.reading.types and name not in (part.key, metadata.person)]
    if not having:
        first = parts[0]
        first.reading.check(name, first.source)
    if len(having) > 1:
        raise ParameterError(
            f"column {name!r} is in {having[0].source.words} and in {having[1].source.words}. "
            f"Rename one: Source(…, rename={{{name!r}: {'other_' + name!r}}})."
        )
    (part,) = having
    family = part.reading.family(name)
    if column.kind in ("date", "datetime") and family in ("integer", "float", "decimal", "boolean"):
        raise ParameterError(
            f"column {name!r} is declared as {type(column).__name__}, its source says {part.reading.types[name]}. "
            "Turn its numbers into dates first, or declare it as Integer."
        )
    part.take(place, name, (*column.steps(family), _stored(column)))
    return part


def _stored(column: Column) -> Step:
    """Codes are kept in the narrowest type that holds them: what is scanned later is that much smaller."""
    from discreet.engines import sql_writer

    if column.levels is None:
        return lambda value: value
    fitting = (
        kind for kind, bits in (("TINYINT", 7), ("SMALLINT", 15), ("INTEGER", 31)) if column.levels <= 2**bits
    )
    kind = next(fitting, "BIGINT")
    return lambda value: sql_writer.cast(value, kind)


def _settle(workshop: Workshop, public: list[Part]) -> None:
    """Store each lookup, and refuse one that gives two answers. It is public: its keys may be named."""
    for i, part in enumerate(public):
        part.stored = workshop.store(f"lookup_{i}", _stepwise(part, workshop.dialect), "reading lookups", None)
        twice = workshop.answer(
            f"SELECT k FROM {part.stored} WHERE k IS NOT NULL GROUP BY k HAVING count(*) > 1 ORDER BY k LIMIT 1"
        )
        if twice:
            raise ParameterError(
                f"the lookup {part.source.words} lists {part.key} {twice[0][0]!r} more than once, and a row takes "
                "one answer only. Remove the others."
            )


def _stepwise(part: Part, dialect: str) -> str:
    """Take the steps of all columns one query inside the other, so that none is taken twice."""
    from discreet.engines import nodes, sql_writer
    from discreet.engines.dialects import DIALECTS

    names = {name: part.reading.written(column, dialect) for name, (column, _) in part.ways.items()}
    query = f"SELECT {', '.join(f'{text} AS {name}' for name, text in names.items())} FROM {part.reading.rows}"
    for depth in range(max(len(steps) for _, steps in part.ways.values())):
        texts = []
        for name, (_, steps) in part.ways.items():
            tree = nodes.Column(name)
            text = sql_writer.sql(steps[depth](tree), dialect, limits=None) if depth < len(steps) else name
            texts.append(f"{text} AS {name}")
        query = f"SELECT {', '.join(texts)} FROM ({query}{DIALECTS[dialect].fence}) AS step{depth}"
    return query


def _joined(
    workshop: Workshop,
    people: list[Part],
    public: list[Part],
    metadata: TableMetadata,
    owners: Mapping[str, Part],
) -> str:
    first, *others = people
    rows, aliases = [f"({_stepwise(first, workshop.dialect)}) AS p0"], {id(first): "p0"}
    for i, part in enumerate(others, start=1):
        # Nobody is one person, too. PostgreSQL would compare every row with every other if it were told so in one
        # phrase (IS NOT DISTINCT FROM); two equalities it can hash.
        same = f"COALESCE(p0.key, '') = COALESCE(p{i}.key, '') AND (p0.key IS NULL) = (p{i}.key IS NULL)"
        rows.append(f"LEFT JOIN ({_least(part, workshop.dialect)}) AS p{i} ON {same}")
        aliases[id(part)] = f"p{i}"
    for i, part in enumerate(public):
        holder = next(aliases[id(one)] for one in people if f"l{i}" in one.ways)
        rows.append(f"LEFT JOIN {part.stored} AS q{i} ON {holder}.l{i} = q{i}.k")
        aliases[id(part)] = f"q{i}"
    texts = ["p0.key"] if metadata.person is not None else []
    for place, (name, column) in enumerate(metadata.columns.items()):
        text = f"{aliases[id(owners[name])]}.c{place}"
        filling = column.filling
        joined = owners[name] is not first and filling is not None
        texts.append(f"COALESCE({text}, {filling}) AS c{place}" if joined else f"{text} AS c{place}")
    return f"SELECT {', '.join(texts)} FROM {' '.join(rows)}"


def _least(part: Part, dialect: str) -> str:
    """Of a person's rows in a further table the least, in the order of their codes."""
    known = [name for name in part.ways if name != "key"]
    if not known:
        raise ParameterError(
            f"nothing is taken from {part.source.words}. Declare a column of it, or leave it out."
        )
    order = ", ".join(f"{name} NULLS LAST" for name in known)
    placed = (
        f"SELECT {', '.join(['key', *known])}, row_number() OVER (PARTITION BY key ORDER BY {order}) AS place "
        f"FROM ({_stepwise(part, dialect)}) AS coded"
    )
    return f"SELECT {', '.join(['key', *known])} FROM ({placed}) AS placed WHERE place = 1"
