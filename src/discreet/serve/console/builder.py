"""Write SQL from the choices of a form: what is counted, of which column, by group, and for whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.errors import ParameterError
from discreet.schema.identifiers import quote

WHAT = {
    "count": "count(*)",
    "sum": "sum({})",
    "avg": "avg({})",
    "median": "median({})",
    "min": "min({})",
    "max": "max({})",
}
SIGNS = ("=", "<>", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Chosen:
    """The choices of the form; empty where nothing was chosen."""

    what: str = ""
    of: str = ""
    group: str = ""
    where: str = ""
    sign: str = "="
    limit: str = ""


def written(described: Mapping[str, Any], chosen: Chosen) -> str:
    """Return the question as SQL. Names are those of the vault, and a value is quoted.

    >>> columns = [{"name": "city", "type": "category"}, {"name": "age", "type": "integer"}]
    >>> table = {"table": "trips", "columns": columns}
    >>> print(written(table, Chosen("avg", "age", "city", "city", "=", "it's")))
    select city, avg(age) from trips
    where city = 'it''s'
    group by city
    """
    kinds = {column["name"]: column["type"] for column in described["columns"]}
    if chosen.what not in WHAT or chosen.sign not in SIGNS:
        raise ParameterError("The form has no such choice.", found=(chosen.what or chosen.sign)[:20])
    for name in filter(None, (chosen.of, chosen.group, chosen.where)):
        if name not in kinds:
            raise ParameterError("The vault has no such column.", found=name[:64])
    if chosen.what != "count" and not chosen.of:
        raise ParameterError("Choose the column of which this is computed.")
    what = WHAT[chosen.what].format(_name(chosen.of))
    keys = f"{_name(chosen.group)}, " if chosen.group else ""
    lines = [f"select {keys}{what} from {_name(described['table'])}"]
    if chosen.where and chosen.limit:
        lines.append(f"where {_name(chosen.where)} {chosen.sign} {_value(chosen.limit, kinds[chosen.where])}")
    if chosen.group:
        lines.append(f"group by {_name(chosen.group)}")
    return "\n".join(lines)


def _name(name: str) -> str:
    return name if name.isidentifier() and name.islower() else quote(name)


def _value(text: str, kind: str) -> str:
    """Return a value as SQL: numbers as they are, all else as a quoted text."""
    plain = text.strip()
    if kind in ("integer", "real"):
        try:
            float(plain)
        except ValueError:
            raise ParameterError(
                "The value must be a number, because the column is one.", found=plain[:64]
            ) from None
        return plain
    if kind == "boolean" and plain.lower() in ("true", "false"):
        return plain.lower()
    escaped = plain.replace("'", "''")
    return f"date '{escaped}'" if kind == "date" else f"'{escaped}'"
