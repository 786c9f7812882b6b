"""One select, parsed: of bounded size, with no clause but those understood, over the one table there is."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from discreet.errors import QuestionRefused
from discreet.query.parse import unsupported
from discreet.query.parse.scope import Scope

if TYPE_CHECKING:
    from discreet.schema.metadata import TableMetadata

LONGEST = 100_000
"""Characters of a question."""

DEEPEST = 60
"""Levels of nesting."""


def statement(text: str) -> exp.Expression:
    """Return the one select that a text is, of bounded size."""
    if not text.strip():
        raise QuestionRefused("a question is SQL text, such as select count(*) from people.")
    if len(text) > LONGEST:
        raise QuestionRefused(
            f"the question has {len(text)} characters, and {LONGEST} is the most. Ask it in parts."
        )
    try:
        statements: list[Any] = [part for part in sqlglot.parse(text, read="duckdb") if part is not None]
    except SqlglotError as wrong:
        raise QuestionRefused(f"this is no SQL: {_where_wrong(wrong)}{_hint(text)}") from None
    except (ValueError, TypeError, AttributeError, KeyError, IndexError) as wrong:  # of the parser, on odd texts
        raise QuestionRefused(f"this is no SQL that can be read ({type(wrong).__name__}).") from None
    statements = [part for part in statements if not isinstance(part, exp.Semicolon)]
    if len(statements) != 1:
        raise QuestionRefused(f"one question at a time: there are {len(statements)} statements here.")
    select: exp.Expression = statements[0]
    if not isinstance(select, exp.Select):
        if isinstance(select, exp.Query):
            raise unsupported.not_understood(select)
        raise QuestionRefused("a vault answers select and nothing else: select count(*) from people.")
    _check_depth(select)
    for name, argument in select.args.items():
        if argument and name not in _CLAUSES:
            raise QuestionRefused(
                _REFUSED_CLAUSES.get(name, f"a select with {name.strip('_')} is not understood.")
            )
    return select


_CLAUSES = {"expressions", "from_", "where", "group", "having", "order", "limit", "offset"}
_ONE_TABLE = "a question reads the vault's own table and no other. Join before sealing."
_REFUSED_CLAUSES = {
    "distinct": "distinct rows are single rows, which are never shown. Use group by.",
    "joins": _ONE_TABLE,
    "laterals": _ONE_TABLE,
    "with_": "a question is one select, without with. Ask each part on its own.",
    "qualify": "window functions look at other people's rows. Use group by and having.",
    "windows": "window functions look at other people's rows. Use group by and having.",
    "into": "a vault answers questions and stores nothing. Leave into out.",
    "sample": "all rows take part: noise protects people, not sampling. Leave sample out.",
}
TOO_DEEP = (
    f"the question is nested more than {DEEPEST} levels deep. Write in (…) for long lists, and ask it in parts."
)


def _where_wrong(wrong: SqlglotError) -> str:
    found = getattr(wrong, "errors", None)
    if not found:
        return str(wrong).split("\n")[0][:200]
    first = found[0]
    near = str(first.get("highlight") or "")[:40]
    place = f"line {first.get('line')}, column {first.get('col')}"
    what = re.sub(r"<class '[\w.]*?(\w+)'>", r"\1", str(first.get("description")))
    return f"{what[:160]} At {place}{f', near {near}' if near else ''}."


def _hint(text: str) -> str:
    """What people often mean by what is no SQL."""
    first = re.match(r"\s*(\w+)", text)
    if first and first[1].lower() != "select" and get_close_matches(first[1].lower(), ["select"], cutoff=0.7):
        return f" Did you mean select, not {first[1]}?"
    if name := re.search(r"`([^`]+)`", text):
        return f' Names stand in double quotes here, not in backquotes: "{name[1][:40]}".'
    return ""


def _check_depth(select: exp.Expression) -> None:
    """Refuse deep nesting before anything recurses; a chain of AND or OR is one level."""
    stack: list[tuple[Any, int]] = [(select, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > DEEPEST:
            raise QuestionRefused(TOO_DEEP)
        for child in node.iter_expressions():
            chained = isinstance(child, exp.Connector) and type(child) is type(node)
            stack.append((child, depth if chained else depth + 1))


def scope(select: exp.Expression, metadata: TableMetadata) -> Scope:
    """Return the names that a select may use: it reads the described table and no other."""
    source = select.args.get("from_")
    if source is None:
        raise QuestionRefused(f"the question names no table. Write from {metadata.name}.")
    table = source.this
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        raise QuestionRefused(_ONE_TABLE)
    for name, argument in table.args.items():
        if argument and name not in ("this", "alias"):
            raise QuestionRefused(_REFUSED_CLAUSES.get(name, f"from takes the table alone: from {metadata.name}."))
    if table.name.casefold() != metadata.name.casefold():
        raise QuestionRefused(f"there is no table {table.name} here. Write from {metadata.name}.")
    if table.args.get("alias") and table.args["alias"].args.get("columns"):
        raise QuestionRefused("columns keep their names in from. Rename them in the select list: age as years.")
    return Scope(metadata, table.alias or None)
