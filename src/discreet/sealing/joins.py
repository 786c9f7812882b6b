"""Join several sources into one table of codes: the rows, further tables of the same persons, public lookups.

The rows are those of the first source, all of them. A further table of the same persons adds columns. It may have
several rows about a person: the least of them is taken, in the order of their codes, which depends on that
person's rows alone. A person who is only in a further table has no rows. A lookup is a public table that adds
columns by the value of one column; a value that it does not list leaves the added columns missing. So adding a
person changes no other person's rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.engines import nodes, sql_writer
from discreet.engines.dialects import DIALECTS
from discreet.errors import Fix, ParameterError
from discreet.schema import Column, Learned, casts
from discreet.schema.casts import Family, Step
from discreet.schema.metadata import TableMetadata
from discreet.sealing import readability
from discreet.sealing.readability import Declared
from discreet.sealing.sources import Reading, Source

if TYPE_CHECKING:
    from discreet.sealing.backends import Backend

WATCHED = ["states"]
"""How the cells of a row were read (`discreet.sealing.readability`)."""

_BITS = {"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31}

Way = tuple[str, tuple[Step, ...]]
"""A column of a source, and the steps from its values to what is stored."""


@dataclass
class Part:
    """One of the joined sources, with the columns that are taken from it, by their new names."""

    source: Source
    reading: Reading
    key: str | None = None  # the column that a lookup is joined by
    ways: dict[str, Way] = field(default_factory=dict)
    stored: str = ""  # its name after FROM, once it is stored
    watched: dict[str, tuple[str, str, Declared]] = field(default_factory=dict)  # name: code, column, declaration

    def take(self, name: str, column: str, steps: tuple[Step, ...]) -> None:
        """Take a column under a name."""
        self.ways[name] = (column, steps)


def coded(
    backend: Backend,
    metadata: TableMetadata,
    source: Any,
    tables: Sequence[Any] = (),
    lookups: Mapping[str, Any] | None = None,
    *,
    learned: Mapping[str, Learned] | None = None,
    watch: bool = False,
) -> tuple[str, list[Part]]:
    """Return the query that reads every row once, as codes: `key`, if there is a person column, and c0, c1 …

    The tables of persons are returned as well, with the columns that are watched in each.

    Args:
        backend: The backend that runs the query.
        metadata: The columns to take, and the person column.
        source: The rows.
        tables: Further tables of the same persons; none by default.
        lookups: Public tables by the column that they are joined by; none by default.
        learned: Columns whose bounds are not known yet: their numbers are read instead of codes.
        watch: Whether each row also says how its cells were read (`discreet.sealing.readability`).
    """
    wanted = {*metadata.columns, *(lookups or {}), *([metadata.person] if metadata.person else [])}
    sources = [Source.of(source), *map(Source.of, tables)]
    people = [Part(s, backend.opened(s, wanted, f"source{i}")) for i, s in enumerate(sources)]
    public = [
        Part(Source.of(s), backend.opened(Source.of(s), wanted, f"lookup{i}"), key)
        for i, (key, s) in enumerate((lookups or {}).items())
    ]
    _take_persons(people, metadata.person)
    _take_lookups(people, public)
    declared: Mapping[str, Declared] = {**metadata.columns, **(learned or {})}
    owners = {
        name: _take(f"c{i}", name, column, [*people, *public], metadata, backend.dialect)
        for i, (name, column) in enumerate(declared.items())
    }
    for i, (name, column) in enumerate(declared.items()) if watch else ():
        if owners[name].key is None:
            owners[name].watched[name] = (f"c{i}", name, column)
    _settle(backend, public)
    return _joined(backend, people, public, metadata, owners), people


def describe(tables: Sequence[Any], lookups: Mapping[str, Any] | None, person: str | None) -> tuple[str, ...]:
    """Describe what was joined, for the metadata."""
    return (
        *(f"{Source.of(table).display_name}, by {person}: one row of each person" for table in tables),
        *(f"{Source.of(table).display_name}, a public table, by {key}" for key, table in (lookups or {}).items()),
    )


def _take_persons(people: list[Part], person: str | None) -> None:
    if person is None:
        if len(people) > 1:
            raise ParameterError(
                "Tables are joined by person, and no person column is given.",
                fix=Fix("person", "user_id", note="the column that all tables share"),
            )
        return
    for part in people:
        part.reading.check(person, part.source)
        part.take("key", person, (_person(part.reading.family(person), several=len(people) > 1),))
    _check_same_comparison(people, person)


def _check_same_comparison(people: list[Part], person: str) -> None:
    """Check that all tables agree on who is one person: otherwise one row could tell about several persons."""
    first, *others = people
    for part in others:
        ours, theirs = (one.reading.collations.get(person, "") for one in (first, part))
        if ours != theirs:
            how = [f"by {found}" if found else "by its characters" for found in (ours, theirs)]
            raise ParameterError(
                f"The sources compare {person!r} in different ways and may not agree on who is one person.",
                found=f"{how[0]} in {first.source.display_name}, {how[1]} in {part.source.display_name}",
                fix="Read one of them through a view or a frame that gives the column the type and the collation "
                "of the other.",
            )


def _person(family: Family, *, several: bool) -> Step:
    """Return the step that reads the person of a row: NaN is no person, as NULL is.

    Several tables may have different types for the same person, so they are compared as text.
    """
    if several or family in ("float", "other"):
        # A collation may merge persons, but never divide one.
        return lambda value: casts.as_text(value, family, binary=False)
    return lambda value: value


def _take_lookups(people: list[Part], public: list[Part]) -> None:
    for i, part in enumerate(public):
        key = str(part.key)
        part.reading.check(key, part.source)
        part.take("k", key, (_as_text(part.reading.family(key)),))
        holder = next((one for one in people if key in one.reading.types), None)
        if holder is None:
            raise ParameterError(
                f"No table of persons has the column {key!r} that the lookup is joined by.",
                fix="Name a column that the rows or a further table of persons have.",
            )
        holder.take(f"l{i}", key, (_as_text(holder.reading.family(key)),))


def _as_text(family: Family) -> Step:
    return lambda value: casts.as_text(value, family)


def _take(
    code: str, name: str, column: Declared, parts: list[Part], metadata: TableMetadata, dialect: str
) -> Part:
    having = [part for part in parts if name in part.reading.types and name not in (part.key, metadata.person)]
    if not having:
        first = parts[0]
        first.reading.check(name, first.source)
    if len(having) > 1:
        raise ParameterError(
            f"Column {name!r} is in {having[0].source.display_name} and in {having[1].source.display_name}.",
            fix=Fix("rename", {name: f"other_{name}"}, call="Source", note="in one of them"),
        )
    (part,) = having
    family = part.reading.family(name)
    formatted = family == "integer" and getattr(column, "format", None) is not None  # 20251226, as %Y%m%d
    if (
        column.kind in ("date", "datetime")
        and family in ("integer", "float", "decimal", "boolean")
        and not formatted
    ):
        raise ParameterError(
            f"Column {name!r} is declared as {type(column).__name__}, but its source declares numbers.",
            found=part.reading.types[name],
            fix="Turn its numbers into dates before sealing, or declare the column as an integer.",
        )
    kept = column.steps(family)
    part.take(code, name, kept if isinstance(column, Learned) else (*kept, stored(column, dialect)))
    return part


def stored(column: Column, dialect: str) -> Step:
    """Return the step that stores codes in the type that holds them and that an engine adds up fastest."""
    if column.levels is None:
        return lambda value: value
    fitting = (kind for kind in DIALECTS[dialect].code_types if column.levels <= 2 ** _BITS[kind])
    kind = next(fitting, "BIGINT")
    return lambda value: sql_writer.cast(value, kind)


def _settle(backend: Backend, public: list[Part]) -> None:
    """Store each lookup, and refuse one that lists a key twice. A lookup is public: its keys may be named."""
    for i, part in enumerate(public):
        part.stored = backend.store(f"lookup_{i}", _stepwise(part, backend.dialect), "reading lookups", None)
        twice = backend.answer(
            f"SELECT k FROM {part.stored} WHERE k IS NOT NULL GROUP BY k HAVING count(*) > 1 ORDER BY k LIMIT 1"
        )
        if twice:
            raise ParameterError(
                f"The lookup {part.source.display_name} lists {part.key} {twice[0][0]!r} more than once.",
                fix="Keep one row for each key of the lookup.",
            )


def _stepwise(part: Part, dialect: str) -> str:
    """Nest one query for each step of the columns, so that no step is computed twice."""
    names = {name: part.reading.written(column, dialect) for name, (column, _) in part.ways.items()}
    if part.watched:
        number = part.reading.number or "NULL"
        names |= {
            "states": _states(part, dialect),
            "number": f"CAST({number} AS {DIALECTS[dialect].types['BIGINT']})",
        }
    query = f"SELECT {', '.join(f'{text} AS {name}' for name, text in names.items())} FROM {part.reading.rows}"
    for depth in range(max(len(steps) for _, steps in part.ways.values())):
        texts = _carried(part, dialect, depth)
        for name, (_, steps) in part.ways.items():
            tree = nodes.Column(name)
            text = sql_writer.sql(steps[depth](tree), dialect, limits=None) if depth < len(steps) else name
            texts.append(f"{text} AS {name}")
        query = f"SELECT {', '.join(texts)} FROM ({query}{DIALECTS[dialect].fence}) AS step{depth}"
    return query


def _states(part: Part, dialect: str) -> str:
    """Return SQL for the states of the cells of a row, from the values of the source."""
    own = part.reading.names
    watched = part.watched.values()
    families = [(own.get(name, name), column, part.reading.family(name)) for _, name, column in watched]
    return readability.states(families, dialect)


def _carried(part: Part, dialect: str, depth: int) -> list[str]:
    """Return what is carried through the steps of a watched table: how its cells were read."""
    if not part.watched:
        return []
    cells = {i: (code, part.reading.family(name)) for i, (code, name, _) in enumerate(part.watched.values())}
    return [f"{readability.noted(cells, dialect)} AS states" if depth == 0 else "states"]


def _joined(
    backend: Backend,
    people: list[Part],
    public: list[Part],
    metadata: TableMetadata,
    owners: Mapping[str, Part],
) -> str:
    first, *others = people
    rows, aliases = [f"({_stepwise(first, backend.dialect)}) AS p0"], {id(first): "p0"}
    for i, part in enumerate(others, start=1):
        # Rows without a person are one person together. PostgreSQL cannot hash IS NOT DISTINCT FROM and would
        # compare every row with every other; it can hash two equalities.
        same = f"COALESCE(p0.key, '') = COALESCE(p{i}.key, '') AND (p0.key IS NULL) = (p{i}.key IS NULL)"
        rows.append(f"LEFT JOIN ({_least(part, backend.dialect)}) AS p{i} ON {same}")
        aliases[id(part)] = f"p{i}"
    for i, part in enumerate(public):
        holder = next(aliases[id(one)] for one in people if f"l{i}" in one.ways)
        rows.append(f"LEFT JOIN {part.stored} AS q{i} ON {holder}.l{i} = q{i}.k")
        aliases[id(part)] = f"q{i}"
    texts = ["p0.key"] if metadata.person is not None else []
    for i, (name, column) in enumerate(metadata.columns.items()):
        text = f"{aliases[id(owners[name])]}.c{i}"
        filling = column.filling
        joined = owners[name] is not first and filling is not None
        texts.append(f"COALESCE({text}, {filling}) AS c{i}" if joined else f"{text} AS c{i}")
    for k, part in enumerate(people):
        texts += [f"p{k}.{name} AS {name}{k}" for name in WATCHED] if part.watched else []
    return f"SELECT {', '.join(texts)} FROM {' '.join(rows)}"


def _least(part: Part, dialect: str) -> str:
    """Return the query for the least row of each person in a further table, in the order of their codes."""
    known = [name for name in part.ways if name != "key"]
    if not known:
        raise ParameterError(
            f"No column is taken from {part.source.display_name}.",
            fix="Declare one of its columns, or leave the table out.",
        )
    order = ", ".join(f"{name} NULLS LAST" for name in known)
    known += WATCHED if part.watched else []
    placed = (
        f"SELECT {', '.join(['key', *known])}, row_number() OVER (PARTITION BY key ORDER BY {order}) AS place "
        f"FROM ({_stepwise(part, dialect)}) AS coded"
    )
    return f"SELECT {', '.join(['key', *known])} FROM ({placed}) AS placed WHERE place = 1"
