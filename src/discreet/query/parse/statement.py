"""Parse the text into one select of bounded size, over the one table, with known clauses only.

The parser tries alternatives one after the other, so that `array[array[array[…` doubles its work with each level:
thirty levels take hours. So its steps are counted: a text of n tokens that a person or a tool writes takes at most
2 n (measured on the shapes of tools), and one that takes more than `STEPS` n + `FIRST_STEPS` is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError

from discreet.errors import QuestionRefused
from discreet.query.parse import unsupported
from discreet.query.parse.scope import SCHEMAS, Scope, named

if TYPE_CHECKING:
    from discreet.schema.metadata import TableMetadata

LONGEST = 100_000
"""The most characters of a question."""

DEEPEST = 60
"""The most levels of nesting."""

STEPS, FIRST_STEPS = 4, 300
"""The most steps of the parser: for each token, and at first."""


class Steps:
    """The steps that the parser may still take, for a text of so many tokens."""

    def __init__(self, tokens: int):
        """Take the number of tokens."""
        self.left = STEPS * tokens + FIRST_STEPS


def parsed(dialect: Dialect, tokens: Sequence[Any], text: str, steps: Steps | None = None) -> list[Any]:
    """Return the trees of a text, or refuse one that takes the parser too many steps.

    Args:
        dialect: The dialect of SQL.
        tokens: The tokens of the text.
        text: The text.
        steps: The steps that are left, if the text is one of several; those of this text alone by default.
    """
    parser = _counting(type(dialect))(dialect=dialect)
    parser.steps = steps or Steps(len(tokens))
    found: list[Any] = parser.parse(list(tokens), text)
    return found


@cache
def _counting(dialect: type[Dialect]) -> Any:
    """Return the parser of a dialect that counts its steps. Each token that it reads, or reads again, is one."""
    base: Any = dialect().parser_class

    class Counting(base):  # type: ignore[misc]
        """The parser, with a limit."""

        steps = Steps(0)

        def _advance(self, times: int = 1) -> None:
            self.steps.left -= 1
            if self.steps.left < 0:
                raise QuestionRefused(
                    "The parser needs too many steps for this SQL.", fix="Write it with less nesting."
                )
            super()._advance(times)

    return Counting


def statement(text: str, metadata: TableMetadata) -> exp.Expression:
    """Return the one select that a text consists of, or refuse it. The names of the table are for the hints."""
    table = named(metadata.name)
    if not text.strip():
        raise QuestionRefused(
            "The question is empty.", fix=f"Write SQL text, such as select count(*) from {table}."
        )
    if len(text) > LONGEST:
        raise QuestionRefused(
            f"A question has at most {LONGEST} characters.", found=len(text), fix="Ask it in parts."
        )
    try:
        dialect = DuckDB()
        statements: list[Any] = [
            part for part in parsed(dialect, dialect.tokenize(text), text) if part is not None
        ]
    except SqlglotError as wrong:
        hints = [hint for hint in (_hint(text), _name_to_quote(text, wrong, metadata)) if hint]
        raise QuestionRefused(f"This is not valid SQL: {_where_wrong(wrong)}", fix=hints) from None
    except (ValueError, TypeError, AttributeError, KeyError, IndexError) as wrong:  # of the parser, on odd texts
        if isinstance(wrong, QuestionRefused):
            raise
        raise QuestionRefused("The parser cannot read this SQL.", found=type(wrong).__name__) from None
    statements = [part for part in statements if not isinstance(part, exp.Semicolon)]
    if len(statements) != 1:
        raise QuestionRefused(
            f"A question is one statement, and there are {len(statements)} statements here.",
            fix="Ask one question at a time.",
        )
    select: exp.Expression = statements[0]
    if not isinstance(select, exp.Select):
        if isinstance(select, exp.Query):
            raise unsupported.not_understood(select)
        raise QuestionRefused(
            "A vault answers select and nothing else.",
            fix=f"Write select count(*) from {table}; a preview shows its cost, and the vault itself its columns.",
        )
    check_depth(select)
    for name, argument in select.args.items():
        if argument and name not in _CLAUSES:
            raise _refused_clause(name, f"A select with {name.strip('_')} is not understood.")
    return select


_CLAUSES = {"with_", "expressions", "from_", "where", "group", "having", "order", "limit", "offset"}
_ONE_TABLE = ("A question reads the vault's own table and no other.", "Join the tables before sealing.")
_WINDOWS = ("Window functions look at other people's rows.", "Use group by and having.")
_REFUSED_CLAUSES = {
    "distinct": (
        "Distinct rows are single rows, which are never shown.",
        "Use group by: select city, count(*) from people group by city.",
    ),
    "joins": _ONE_TABLE,
    "laterals": _ONE_TABLE,
    "qualify": _WINDOWS,
    "windows": _WINDOWS,
    "into": ("A vault answers questions and stores nothing.", "Leave into out."),
    "sample": ("All rows take part: noise protects people, not sampling.", "Leave sample out."),
}


def _refused_clause(name: str, problem: str, fix: str = "Leave it out.") -> QuestionRefused:
    """Return the refusal of a clause: its particular reason, or the one given."""
    problem, fix = _REFUSED_CLAUSES.get(name, (problem, fix))
    return QuestionRefused(problem, fix=fix)


def too_deep() -> QuestionRefused:
    """Return the refusal of a question with too many levels."""
    return QuestionRefused(
        f"The question is nested more than {DEEPEST} levels deep.",
        fix="Write in (…) for long lists, and ask it in parts.",
    )


def _where_wrong(wrong: SqlglotError) -> str:
    found = getattr(wrong, "errors", None)
    if not found:
        return f"{str(wrong).split(chr(10))[0][:200].rstrip('.')}."
    first = found[0]
    near = str(first.get("highlight") or "")[:40]
    place = f"line {first.get('line')}, column {first.get('col')}"
    return f"{_plainly(str(first.get('description')))}, at {place}{f', near {near}' if near else ''}."


def _plainly(description: str) -> str:
    """Return what the parser found wrong, in words that need no knowledge of the parser.

    >>> _plainly("Required keyword: 'this' missing for <class 'sqlglot.expressions.Where'>")
    'something is missing in where'
    >>> _plainly("Invalid expression / Unexpected token.")
    'this text is not expected'
    """
    if missing := re.match(r"Required keyword: '\w+' missing for <class '[\w.]*?(\w+)'>", description):
        return f"something is missing in {missing[1].lower()}"
    if description.startswith("Invalid expression / Unexpected token"):
        return "this text is not expected"
    return re.sub(r"<class '[\w.]*?(\w+)'>", r"\1", description)[:160].rstrip(".")


_CLAUSE_WORDS = {
    "select",
    "from",
    "where",
    "group",
    "order",
    "by",
    "having",
    "limit",
    "and",
    "or",
    "not",
    "on",
    "as",
    "in",
}


def _name_to_quote(text: str, wrong: SqlglotError, metadata: TableMetadata) -> str:
    """Return a hint if the parser may have stopped at a name that stands in double quotes, such as alter."""
    first: dict[str, Any] = next(iter(getattr(wrong, "errors", None) or ()), {})
    near = str(first.get("highlight") or "")
    names = {name.casefold(): name for name in (*metadata.columns, metadata.person, metadata.name) if name}
    if near.casefold() in names:
        return (
            f"Write the name in double quotes, because it is also a word of SQL: {named(names[near.casefold()])}."
        )
    for folded, name in names.items():
        if re.search(r"\W", name) and re.search(f'(?<!"){re.escape(folded)}(?!")', text.casefold()):
            return f"Write the name in double quotes: {named(name)}."
    words = DuckDB.tokenizer_class.KEYWORDS
    if not near.isidentifier() or near.upper() not in words or near.casefold() in _CLAUSE_WORDS:
        return ""
    return f'If {near} is a column, write it in double quotes, because it is also a word of SQL: "{near}".'


def _hint(text: str) -> str:
    """Return a hint for common mistakes; empty if there is none."""
    first = re.match(r"\s*(\w+)", text)
    if first and first[1].lower() != "select" and get_close_matches(first[1].lower(), ["select"], cutoff=0.7):
        return f"Did you mean select, not {first[1]}?"
    if re.search(r"\bdate_?diff\s*\([^,()]*,[^,()]*\)", text, re.IGNORECASE):
        return "Write date_diff('day', started, ended), with the unit first."
    if re.match(r"\s*select\s+top\b", text, re.IGNORECASE):
        return "Write limit 10 at the end, instead of top 10."
    if re.search(r"\b(corr|covar_pop|covar_samp)\s*\([^,()]*\)", text, re.IGNORECASE):
        return "Write corr(age, income), with two columns."
    if name := re.search(r"`([^`]+)`", text):
        return f'Write names in double quotes, not in backquotes: "{name[1][:40]}".'
    return ""


def check_depth(select: exp.Expression) -> None:
    """Refuse deep nesting before any function recurses; a chain of AND or OR is one level."""
    stack: list[tuple[Any, int]] = [(select, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > DEEPEST:
            raise too_deep()
        for child in node.iter_expressions():
            chained = isinstance(child, exp.Connector) and type(child) is type(node)
            stack.append((child, depth if chained else depth + 1))


def one_table() -> QuestionRefused:
    """Return the refusal of a second table."""
    problem, fix = _ONE_TABLE
    return QuestionRefused(problem, fix=fix)


def table_scope(table: exp.Expression, metadata: TableMetadata) -> Scope:
    """Return the names that a select from this table may use: it is the sealed table."""
    check_table(table, metadata)
    schema = table.args.get("db")
    if schema is not None and schema.name.casefold() not in SCHEMAS:
        raise QuestionRefused(f"There is no schema {schema.name} here.", fix=f"Write from {named(metadata.name)}.")
    if table.name.casefold() != metadata.name.casefold():
        raise QuestionRefused(f"There is no table {table.name} here.", fix=f"Write from {named(metadata.name)}.")
    if table.args.get("alias") and table.args["alias"].args.get("columns"):
        raise QuestionRefused(
            "Columns keep their names in from.", fix="Rename them in the select list: age as years."
        )
    return Scope(metadata, table.alias or None)


def check_table(table: exp.Expression, metadata: TableMetadata) -> None:
    """Refuse whatever is not the name of a table, perhaps with an alias."""
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        raise one_table()
    for name, argument in table.args.items():
        if argument and name not in ("this", "alias", "db"):
            raise _refused_clause(name, "FROM takes the table alone.", f"Write from {named(metadata.name)}.")


def scope(select: exp.Expression, metadata: TableMetadata) -> Scope:
    """Return the names that a flat select may use."""
    return table_scope(select.args["from_"].this, metadata)
