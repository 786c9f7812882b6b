"""Parse SQL into a Question, by an allow-list.

One select over the vault's table is understood, perhaps with inner selects that `derived_tables` inlines:
aggregates and group keys, where, group by, and on the answer having, order by, limit, offset. It is read into
records of our own. Anything that is not on the list is refused, with the reason and the nearest SQL that works.
Refusals depend on the text and the public metadata alone. The text and its depth are bounded, so that no question
exhausts the parser. The semantics are DuckDB's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.engines.nodes import Expression
from discreet.errors import QuestionRefused
from discreet.query import ir
from discreet.query.parse import canonical, derived_tables, group_by, shorthands, statement, unsupported
from discreet.query.parse.aggregates import aggregate, is_aggregate, over_bound
from discreet.query.parse.expressions import bare, condition, only, term
from discreet.query.parse.having_order_limit import Outputs, position
from discreet.query.parse.scope import Scope
from discreet.query.question import Aggregate, Key, Question, Term

if TYPE_CHECKING:
    from discreet.schema.metadata import TableMetadata

DEEPEST_TREE = 150
"""The most levels of an expression for an engine: writing SQL takes two or three nested calls for each."""

MOST_ITEMS = 100
"""The most items of a select list."""


def parse(text: str, metadata: TableMetadata) -> Question:
    """Return the question that a text asks of a table, or refuse it.

    >>> from discreet.schema.metadata import TableMetadata
    >>> from discreet.schema import Category, Integer
    >>> columns = {"age": Integer(0, 110), "city": Category(["Bergen", "Oslo"])}
    >>> people = TableMetadata("people", columns, person="user_id")
    >>> question = parse("SELECT City, count(*) AS n FROM people WHERE age>=64.5 GROUP BY 1", people)
    >>> question.text
    'select city, count(*) from people where age >= 64.5 group by city'
    >>> question.columns, question.where.sql()
    (('city', 'n'), 'c0 >= 65')
    """
    if "\0" in text or not _writable(text):
        raise QuestionRefused(
            "The question contains a NUL, or half of a UTF-16 surrogate pair.", fix="Leave this character out."
        )
    try:
        select = derived_tables.inlined(statement.statement(text, metadata), metadata)
        scope = statement.scope(select, metadata)
        return _question(shorthands.written_out(select, scope), scope)
    except RecursionError:
        raise statement.too_deep() from None


@dataclass(frozen=True)
class _Item:
    """One item of the select list: its node, what it means, its canonical text, and its alias."""

    node: exp.Expression
    read: Term | Aggregate
    text: str
    alias: str | None

    @property
    def name(self) -> str:
        plain = isinstance(self.node, exp.Column)
        return self.alias or (_unquoted(self.text) if plain else self.text)


def _question(select: exp.Expression, scope: Scope) -> Question:
    items = [_item(node, scope) for node in select.expressions]
    where = _where(select, scope)
    groups = _groups(select, items, scope)
    names = _names(items)
    keys = {
        group.text: group_by.key(group.read, where, scope, _key_name(group, items))
        for group in groups
        if isinstance(group.read, Term)
    }
    group_by.check(list(keys.values()))
    for item in items:
        if isinstance(item.read, Term) and item.text not in keys:
            raise _stray(item, bool(groups), scope.metadata.name)
    aggregates = _aggregates(items, where, scope)
    if not aggregates:
        raise QuestionRefused(
            "A question needs something to count or to sum.", fix="Add count(*) to the select list."
        )
    outputs = Outputs(names, {item.text: item.name for item in items}, _kinds(items), _counted(items))
    where_text = None if where is None else canonical.expression_text(select.args["where"].this, scope)
    text = canonical.question(
        scope.metadata.name,
        list(keys),
        [item.text for item in items if isinstance(item.read, Aggregate)],
        where_text,
        list(keys),
    )
    _check_trees(where, keys.values(), aggregates)
    after = outputs.after(select, scope)
    return Question(scope.metadata.name, where, tuple(keys.values()), tuple(aggregates), after, text, tuple(names))


def _check_trees(where: Expression | None, keys: Iterable[Key], aggregates: Iterable[Aggregate]) -> None:
    """Refuse, before anything is charged, an expression that is too deep to be written for an engine."""
    codes = [*(key.code for key in keys), *(term.code for part in aggregates for term in part.terms)]
    if any(tree.depth > DEEPEST_TREE for tree in [*codes, *([where] if where is not None else [])]):
        raise statement.too_deep()


def _where(select: exp.Expression, scope: Scope) -> Expression | None:
    clause = select.args.get("where")
    if clause is None:
        return None
    read = condition(clause.this, scope)
    return None if read == ir.always(True) else read


def _item(node: exp.Expression, scope: Scope) -> _Item:
    if isinstance(node, exp.Alias):
        only(node, "this", "alias")
        return _item_of(node.this, scope, str(node.alias))
    return _item_of(node, scope, None)


def _item_of(node: exp.Expression, scope: Scope, alias: str | None) -> _Item:
    inner = bare(node)
    starred = isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)
    if starred or isinstance(inner, exp.Star | exp.Columns):
        raise unsupported.not_understood(exp.Star())
    if not is_aggregate(inner):
        _refuse_mixed(inner)
    # Reading comes first: it refuses what is not understood, and only the rest has a canonical text.
    read = aggregate(inner, scope, "") if is_aggregate(inner) else term(inner, scope)
    return _Item(inner, read, canonical.expression_text(inner, scope), alias)


def _refuse_mixed(node: exp.Expression) -> None:
    inside: Any = node.find(exp.AggFunc)
    if inside is not None:
        raise unsupported.not_understood(inside)


def _groups(select: exp.Expression, items: Sequence[_Item], scope: Scope) -> list[_Item]:
    clause = select.args.get("group")
    if clause is None:
        return []
    if clause.args.get("all"):
        only(clause, "all")
        return list({item.text: item for item in items if isinstance(item.read, Term)}.values())
    for name, argument in clause.args.items():
        if argument and name != "expressions":
            raise _several()
    groups = [_group(node, items, scope) for node in clause.expressions]
    return list({group.text: group for group in groups}.values())


def _group(node: exp.Expression, items: Sequence[_Item], scope: Scope) -> _Item:
    """Return a key that is given by position, by column, by alias, or as an expression."""
    inner = bare(node)
    if isinstance(inner, exp.Rollup | exp.Cube | exp.GroupingSets | exp.Tuple):
        raise _several()
    if isinstance(inner, exp.Literal) and not inner.is_string:
        found = items[position(inner, len(items), "group by")]
    else:
        found = _by_alias(inner, items, scope) or _item_of(inner, scope, None)
    if isinstance(found.read, Aggregate):
        raise QuestionRefused(f"{found.text} is an aggregate, and groups are made of columns.", fix="Use having.")
    return found


def _several() -> QuestionRefused:
    return QuestionRefused("ROLLUP, CUBE and GROUPING SETS are several questions.", fix="Ask each on its own.")


def _by_alias(node: exp.Expression, items: Sequence[_Item], scope: Scope) -> _Item | None:
    if not isinstance(node, exp.Column) or node.table:
        return None
    names = {name.casefold() for name in scope.metadata.columns}
    if node.name.casefold() in names:
        return None
    fitting = [item for item in items if item.alias and item.alias.casefold() == node.name.casefold()]
    return fitting[0] if len(fitting) == 1 else None


def _key_name(group: _Item, items: Sequence[_Item]) -> str:
    shown = [item.name for item in items if item.text == group.text]
    return shown[0] if shown else group.name


def _names(items: Sequence[_Item]) -> list[str]:
    if len(items) > MOST_ITEMS:
        raise QuestionRefused(
            f"A select list has at most {MOST_ITEMS} items.", found=len(items), fix="Ask two questions."
        )
    names = [item.name for item in items]
    for name in names:
        if names.count(name) > 1:
            raise QuestionRefused(
                f"Two columns of the answer are called {name}.", fix=f"Give one an alias: {name} as other."
            )
    texts = [item.text for item in items]
    for text in texts:
        if texts.count(text) > 1:
            raise QuestionRefused(f"{text} is selected twice.", fix="Select it once.")
    return names


def _aggregates(items: Sequence[_Item], where: Expression | None, scope: Scope) -> list[Aggregate]:
    read = [replace(item.read, name=item.name) for item in items if isinstance(item.read, Aggregate)]
    if where is None or scope.metadata.person is None or where != scope.over_bound():
        return read
    return [over_bound(part, scope) if part.kind == "persons" else part for part in read]


def _stray(item: _Item, grouped: bool, table: str) -> QuestionRefused:
    if grouped:
        return QuestionRefused(f"{item.text} is neither a group key nor an aggregate.", fix="Add it to group by.")
    return QuestionRefused(
        f"{item.text} would show single rows.",
        fix="Count or average it, or group by it: "
        f"select {item.text}, count(*) from {table} group by {item.text}.",
    )


def _kinds(items: Sequence[_Item]) -> dict[str, str]:
    """Return the kind of every column of the answer."""
    return {item.name: _kind(item.read) for item in items}


def _kind(read: Term | Aggregate) -> str:
    if isinstance(read, Aggregate):
        return read.term.kind if read.kind == "quantile" and read.term is not None else "number"
    if read.kind != "category":
        return read.kind
    first = (read.labels or ("",))[0]
    return "text" if isinstance(first, str) else "number" if isinstance(first, int) else "date"


def _counted(items: Sequence[_Item]) -> frozenset[str]:
    """Return the columns whose dates and times are released as days and microseconds."""
    return frozenset(item.name for item in items if isinstance(item.read, Aggregate))


def _writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unquoted(text: str) -> str:
    return text[1:-1].replace('""', '"') if text.startswith('"') else text
