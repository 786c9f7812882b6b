"""Read the statements that database tools send over a wire: commands of a session, catalogue queries, questions.

What a statement is follows from its syntax tree, not from its text. Statements are split by the tokenizer, so that
quotes, comments and dollar quotes do not mislead it. Three kinds result:

* a command of the session, such as SET or BEGIN: its words;
* a query that reads the catalogue alone (pg_catalog, information_schema, or no table);
* any other query, which is a question to the vault. The vault refuses what it cannot price.

A query that can return no row (LIMIT 0, WHERE FALSE) asks for types only. Parameters are replaced in the tree by
literals, never in the text. Nothing here reads data; all refusals follow from the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, TypeVar

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import SqlglotError

from discreet.errors import QuestionRefused
from discreet.query.parse import tool_catalogue, tool_questions
from discreet.query.parse.statement import LONGEST, Steps, check_depth, parsed, too_deep

Made = TypeVar("Made")
SYSTEM_SCHEMAS = frozenset({"pg_catalog", "information_schema"})
MOST_STATEMENTS = 50
"""The most statements of one text."""

MOST_PARTS, MOST_TOKENS, MOST_BRACKETS, DEEPEST_BRACKETS = 6000, 1500, 30, 4
"""The most words and signs of one text, tokens, opening brackets, and brackets within each other.

With these, reading a text takes less than 50 ms of CPU.

The tokenizer takes about 2 µs for a sign and the parser 5 to 15 µs for a token, and 35 µs around brackets. Words
and signs are counted before the tokenizer runs: a token has at least one, whatever quotes and comments do.
"""

MOST_PARAMETERS = 1000
"""The most parameters of a statement."""

_PART = re.compile(r"\w+|[^\w\s]")
_BEGIN_QUERY = {"select", "with", "values", "table", "("}


@dataclass(frozen=True)
class Statement:
    """One statement: the words of a command, or a query.

    Args:
        words: The words of a command. A cursor has those before FOR; a text in quotes stands as it is.
        query: The query; none of a command without one.
    """

    words: tuple[str, ...] = ()
    query: exp.Query | None = field(default=None, repr=False)

    @property
    def command(self) -> str:
        """The first word of a command in small letters; empty for a query."""
        return self.words[0].lower() if self.words else ""

    @cached_property
    def reads_catalogue(self) -> bool:
        """Whether the query reads tables of the catalogue alone, or none at all."""
        return self.query is not None and all(_of_catalogue(table) for table in _tables(self.query))

    @cached_property
    def types_only(self) -> bool:
        """Whether the query can return no row, whatever the table holds: it asks for the types of its columns."""
        query = self.query
        if not isinstance(query, exp.Select):
            return False
        limit, where = query.args.get("limit"), query.args.get("where")
        empty = isinstance(limit, exp.Limit) and _number(limit.expression) == "0"
        return empty or (where is not None and not query.args.get("group") and _never(where.this))

    @cached_property
    def aggregates(self) -> bool:
        """Whether the query groups or aggregates, so that the vault can answer it."""
        if not isinstance(self.query, exp.Select):
            return False
        return bool(self.query.args.get("group") or self.query.find(exp.AggFunc))

    @cached_property
    def parameters(self) -> int:
        """How many parameters the query has."""
        return 0 if self.query is None else max((_place(one) for one in _parameters(self.query)), default=0)

    def parameter_kinds(self, columns: Mapping[str, str]) -> list[str]:
        """Return the kinds of the parameters, by the cast around them or by what they are compared with.

        Args:
            columns: The kinds of the columns of the table by name.
        """
        folded = {name.casefold(): kind for name, kind in columns.items()}
        found = ["text"] * self.parameters
        if self.query is not None:
            for node in _parameters(self.query):
                found[_place(node) - 1] = _kind_around(node, folded)
        return found

    def bound(self, values: Sequence[tuple[str | None, str]]) -> Statement:
        """Return the statement with its parameters replaced by literals.

        Args:
            values: The value of each parameter as text, or None for NULL, and its kind.
        """
        if self.query is None or not self.parameters:
            return self
        if len(values) < self.parameters:
            raise QuestionRefused(
                "The statement has more parameters than values.", found=f"{len(values)} of {self.parameters}"
            )

        def written(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Cast) and isinstance(node.this, exp.Parameter):
                value, _ = values[_place(node.this) - 1]
                kind = _KINDS_OF_CASTS.get(_cast_name(node))
                return node if value is None or kind is None else literal(value, kind)
            if isinstance(node, exp.Parameter):
                value, kind = values[_place(node) - 1]
                return exp.null() if value is None else literal(value, kind)
            return node

        query: Any = self.query.transform(written)
        return replace(self, query=query)

    def without_values(self) -> Statement:
        """Return a query with the same columns and no parameter: what they stand in is left out."""
        if self.query is None or not self.parameters:
            return self
        query: Any = self.query.copy()
        for clause in ("where", "having", "order", "limit", "offset"):
            part = query.args.get(clause)
            if part is not None and part.find(exp.Parameter):
                query.set(clause, None)
        return replace(self, query=query.transform(lambda node: _one() if _is_parameter(node) else node))

    def question(self, table: str, catalogue: str) -> tuple[str, list[str]]:
        """Return the question as the vault reads it, and what was changed, in sentences.

        Args:
            table: The name of the vault's table.
            catalogue: The name of the database, which tools may write before the schema.
        """
        return self._guarded(lambda query: tool_questions.plain(query, table, catalogue))

    def values_of(self, table: str) -> str | None:
        """Return the column whose values alone the query lists, to offer a filter; None for other queries."""
        return None if self.query is None else tool_questions.values_of(self.query, table)

    def values_query(self, column: str, facts: Mapping[str, str]) -> str | None:
        """Return the query over the declared values of a column, in DuckDB's words."""
        return self._guarded(lambda query: tool_catalogue.over_values(query, column, facts))

    def catalogue_query(self, facts: Mapping[str, str]) -> str | None:
        """Return the query for the catalogue, in DuckDB's words; None if it uses what the catalogue does not have.

        Args:
            facts: What functions of the session return: database, user, version, schema.
        """
        return self._guarded(lambda query: tool_catalogue.translated(query, facts))

    @property
    def names(self) -> list[str]:
        """The names of the columns of a query, as far as its text tells them."""
        if self.query is None:
            return []
        return [one.alias_or_name or "?column?" for one in self.query.selects] or ["?column?"]

    def _guarded(self, read: Callable[[Any], Made]) -> Made:
        if self.query is None:
            raise QuestionRefused("This is not a query.")
        try:
            return read(self.query.copy())
        except RecursionError:
            raise too_deep() from None


def statements(text: str) -> list[Statement]:
    """Return the statements of a text, or refuse it.

    >>> [one.command for one in statements("begin; set discreet.epsilon = '0.1'; select ';' from trips")]
    ['begin', 'set', '']
    >>> statements("SET discreet.epsilon TO '0.1'")[0].words
    ('SET', 'discreet', '.', 'epsilon', 'TO', '0.1')
    """
    if len(text) > LONGEST or "\0" in text:
        raise QuestionRefused(f"A text has at most {LONGEST} characters, and no NUL.", found=len(text))
    if sum(1 for _ in _PART.finditer(text)) > MOST_PARTS:
        raise _too_long()
    try:
        tokens = [*Postgres().tokenize(text)]
        _expect_short(tokens)
        found, part, steps = [], list[Any](), Steps(len(tokens))
        for token in [*tokens, None]:
            if token is not None and token.token_type.name != "SEMICOLON":
                part.append(token)
            elif part:
                found.append(_statement(text, part, steps))
                part = []
    except RecursionError:
        raise too_deep() from None
    except SqlglotError:
        raise _invalid() from None
    except (ValueError, TypeError, AttributeError, KeyError, IndexError) as wrong:  # of the parser, on odd texts
        if isinstance(wrong, QuestionRefused):
            raise
        raise QuestionRefused("The parser cannot read this SQL.", found=type(wrong).__name__) from None
    if len(found) > MOST_STATEMENTS:
        raise QuestionRefused(f"A text has at most {MOST_STATEMENTS} statements.", found=len(found))
    return found


def literal(value: str, kind: str) -> exp.Expr:
    """Return a literal of a kind. A text that is not of this kind raises ValueError.

    >>> literal("30", "integer").sql(), literal("it's", "text").sql(), literal("t", "boolean").sql()
    ('30', "'it''s'", 'TRUE')
    """
    if kind == "integer":
        whole = int(value)
        return exp.Literal.number(whole) if whole >= 0 else exp.Neg(this=exp.Literal.number(-whole))
    if kind == "real":
        return _real(value)
    if kind == "boolean":
        truths, falsehoods = ("t", "true", "1", "on"), ("f", "false", "0", "off")
        known = {**dict.fromkeys(truths, True), **dict.fromkeys(falsehoods, False)}
        if value.lower() not in known:
            raise ValueError(value)
        return exp.Boolean(this=known[value.lower()])
    return exp.Literal.string(value)


def _real(value: str) -> exp.Expr:
    from decimal import Decimal, InvalidOperation

    try:
        number = Decimal(value)
    except InvalidOperation:
        raise ValueError(value) from None
    if not number.is_finite() or abs(number.adjusted()) > 400:
        raise ValueError(value)
    shown = exp.Literal.number(format(abs(number), "f"))
    return exp.Neg(this=shown) if number < 0 else shown


def _statement(text: str, tokens: Sequence[Any], steps: Steps) -> Statement:
    first = tokens[0].text.lower()
    if first in _BEGIN_QUERY:
        return Statement(query=_query(text[tokens[0].start : tokens[-1].end + 1], steps))
    words = tuple(token.text for token in tokens)
    rest = tokens[-1].text
    if tokens[0].token_type.name in ("COMMAND", "SHOW", "FETCH", "EXECUTE", "DESCRIBE") and len(tokens) == 2:
        # The tokenizer hands over what follows such a word as one text.
        again = [*Postgres().tokenize(rest)]
        words = (tokens[0].text, *(token.text for token in again))
        tokens, text = [tokens[0], *again], rest
    lowered = [word.lower() for word in words]
    if first == "declare" and "for" in lowered:
        at = lowered.index("for") + 1
        return Statement(words[:at], _query(text[tokens[at].start : tokens[-1].end + 1], steps))
    if first == "explain":
        at = next((i for i, word in enumerate(lowered) if word in _BEGIN_QUERY - {"("}), 0)
        if at:
            return Statement(words[:1], _query(text[tokens[at].start : tokens[-1].end + 1], steps))
    return Statement(words)


def _query(text: str, steps: Steps) -> exp.Query:
    dialect = Postgres()
    found = parsed(dialect, dialect.tokenize(text), text, steps)
    if len(found) != 1 or not isinstance(found[0], exp.Query):
        raise _invalid()
    tree: Any = found[0]
    check_depth(tree)
    query: exp.Query = tree
    if len([*_parameters(query)]) > MOST_PARAMETERS or any(
        _place(one) > MOST_PARAMETERS for one in _parameters(query)
    ):
        raise QuestionRefused(f"A statement has at most {MOST_PARAMETERS} parameters.")
    return query


def _expect_short(tokens: Sequence[Any]) -> None:
    """Refuse a text of too many tokens, or of brackets that the parser reads again and again."""
    brackets = [1 if token.text == "[" else -1 for token in tokens if token.text in ("[", "]")]
    deepest = max(accumulate(brackets), default=0)
    if len(tokens) > MOST_TOKENS or brackets.count(1) > MOST_BRACKETS or deepest > DEEPEST_BRACKETS:
        raise _too_long()


def _too_long() -> QuestionRefused:
    return QuestionRefused(
        f"A text has at most {MOST_TOKENS} words, values and signs, and {MOST_BRACKETS} brackets.",
        fix="Ask in parts, or compare with a range instead of a list of values.",
    )


def _invalid() -> QuestionRefused:
    return QuestionRefused("This is not valid SQL.", fix="Check quotes, commas and parentheses.")


# -- tables and conditions --------------------------------------------------------------------------------------


def _tables(query: exp.Expr) -> Iterable[exp.Table]:
    """Return the tables that a query reads, without the names of its common table expressions."""
    named = {table.alias.casefold() for table in query.find_all(exp.CTE)}
    for table in query.find_all(exp.Table):
        if table.args.get("db") or table.name.casefold() not in named:
            yield table


def _of_catalogue(table: exp.Table) -> bool:
    schema, name = table.db.casefold(), table.name.casefold()
    return schema in SYSTEM_SCHEMAS or (not schema and (name.startswith("pg_") or not name))


def _never(node: exp.Expr) -> bool:
    """Return whether a condition is false on every row: FALSE, 1 = 0, or a conjunction with one of them."""
    if isinstance(node, exp.Paren):
        return _never(node.this)
    if isinstance(node, exp.And):
        return _never(node.this) or _never(node.expression)
    if isinstance(node, exp.Boolean):
        return not node.this
    if isinstance(node, exp.EQ | exp.NEQ):
        left, right = _number(node.this), _number(node.expression)
        return left is not None and right is not None and (left == right) == isinstance(node, exp.NEQ)
    return False


def _number(node: exp.Expr | None) -> str | None:
    return str(node.this) if isinstance(node, exp.Literal) and not node.is_string else None


# -- parameters -------------------------------------------------------------------------------------------------

_KINDS_OF_CASTS = {
    **dict.fromkeys(("INT", "BIGINT", "SMALLINT", "TINYINT", "OID"), "integer"),
    **dict.fromkeys(("DOUBLE", "FLOAT", "DECIMAL", "REAL"), "real"),
    **dict.fromkeys(("TEXT", "VARCHAR", "CHAR", "NAME", "BPCHAR", "NCHAR", "NVARCHAR"), "text"),
    "BOOLEAN": "boolean",
}
_MOMENTS = {"DATE": "date", "TIMESTAMP": "datetime", "TIMESTAMPTZ": "datetime", "TIMESTAMPNTZ": "datetime"}


def _is_parameter(node: exp.Expr) -> bool:
    return isinstance(node, exp.Parameter)


def _parameters(query: exp.Expr) -> Iterable[exp.Parameter]:
    for node in query.find_all(exp.Parameter):
        if not str(node.name).isdecimal() or int(str(node.name)[:9]) < 1:
            raise _invalid()
        yield node


def _place(node: exp.Expr) -> int:
    return int(str(node.name)[:9])


def _one() -> exp.Expr:
    return exp.Literal.number(1)


def _cast_name(node: exp.Cast) -> str:
    return str(getattr(node.to.this, "value", node.to.this)).upper()


def _kind_around(node: exp.Expr, columns: Mapping[str, str]) -> str:
    parent = node.parent
    if isinstance(parent, exp.Cast):
        return _KINDS_OF_CASTS.get(_cast_name(parent)) or _MOMENTS.get(_cast_name(parent)) or "text"
    if isinstance(parent, exp.Limit | exp.Offset):
        return "integer"
    while isinstance(parent, exp.Paren | exp.Neg | exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Tuple):
        parent = parent.parent
    if not isinstance(parent, exp.Binary | exp.Between | exp.In):
        return "text"
    for beside in parent.find_all(exp.Column):
        if beside.name.casefold() in columns:
            return columns[beside.name.casefold()]
    counted = parent.find(exp.AggFunc) is not None
    numeric = any(
        not one.is_string for one in parent.find_all(exp.Literal) if one.find_ancestor(exp.Parameter) is None
    )
    return "real" if counted or numeric else "text"
