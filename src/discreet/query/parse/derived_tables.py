"""Inline derived tables and common table expressions, so that one flat select over the sealed table remains.

    with adults as (select *, income / 12 as monthly from people where age >= 18)
    select city, avg(monthly) from adults group by city

is `select city, avg(income / 12) from people where age >= 18 group by city`, and has its canonical text, cost and
answer. An inner select may filter rows, rename columns and compute new ones, row by row. Then a row of the result
is a row of the table, and nothing that is proven about questions changes. An inner select that aggregates, joins,
limits or removes duplicates is refused: its rows are not rows of the table.

**Names.** Every column of an inner select is resolved where it is defined: its definition is an expression over
columns of the sealed table, and names nothing else. So no name of an outer select can capture one of an inner
select. A name that an inner select does not list is unknown outside of it, also if the sealed table has it. A
common table expression sees those before it and not itself; it may have the name of the sealed table, which it
then hides. A name that stands for two columns is refused. GROUP BY looks for a column first and for an alias
second, HAVING and ORDER BY the other way round, as in a question without inner selects.

**NULL.** A row takes part if the conditions of all levels are true, which is the conjunction in three-valued
logic.

**Size.** A definition that is used twice is written twice, so n levels could multiply to 2ⁿ. The nodes that all
substitutions make are counted before they are made, and a question with more than `MOST_NODES` is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.errors import QuestionRefused
from discreet.query.parse import inner_selects, statement, unsupported
from discreet.query.parse.expressions import bare, only, term
from discreet.query.parse.scope import Scope, did_you_mean, named

if TYPE_CHECKING:
    from discreet.schema.metadata import TableMetadata

MOST_NODES = 50_000
"""The most nodes that all substitutions of a question may make."""

Definition = exp.Expression | None
"""An expression over the sealed table; None for a name that stands for two columns."""


@dataclass
class _Inliner:
    """The sealed table, and the number of nodes that may still be made."""

    metadata: TableMetadata
    left: int = MOST_NODES

    def made(self, nodes: int) -> None:
        self.left -= nodes
        if self.left < 0:
            raise QuestionRefused(
                f"The question has more than {MOST_NODES} parts when its inner selects are written out.",
                fix="Use each computed column fewer times, or ask two questions.",
            )


@dataclass(frozen=True)
class _Source:
    """What a FROM gives: names to qualify columns with, the definition of every column, and conditions on rows."""

    name: str | None
    columns: Mapping[str, tuple[str, Definition]]  # by folded name: the name as written, and its definition
    where: tuple[exp.Expression, ...] = ()
    base: bool = False
    order: tuple[str, ...] = field(default=())  # the folded names in order; empty texts for nameless columns


def inlined(select: exp.Expression, metadata: TableMetadata) -> exp.Expression:
    """Return a select over the sealed table alone that asks the same.

    >>> import sqlglot
    >>> from discreet.schema import Integer
    >>> from discreet.schema.metadata import TableMetadata
    >>> people = TableMetadata("people", {"age": Integer(0, 110)}, person="id")
    >>> text = "with old as (select age as a from people where age > 64) select count(*) from old where a < 90"
    >>> inlined(sqlglot.parse_one(text, read="duckdb"), people).sql("duckdb")
    'SELECT COUNT(*) AS "count(*)" FROM "people" WHERE (("age") > 64) AND (("age") < 90)'
    """
    inliner = _Inliner(metadata)
    source = _from(inliner, select, _tables(inliner, select, {}), outer=select)
    if source.base:
        alias = None if source.name == metadata.name else exp.TableAlias(this=_quoted(str(source.name)))
        select.set("with_", None)
        select.set("from_", exp.From(this=exp.Table(this=_quoted(metadata.name), alias=alias)))
        return select
    flat: exp.Expression = exp.Select(**{**select.args, "with_": None})
    items = [_item(inliner, node, source) for node in select.expressions]
    outputs = [str(item.alias) for item in items]
    flat.set("expressions", items)
    flat.set("from_", exp.From(this=exp.Table(this=_quoted(metadata.name))))
    flat.set("where", _where(inliner, select, source))
    _substitute_groups(inliner, flat, source, outputs)
    for clause in ("having", "order"):
        if flat.args.get(clause) is not None:
            flat.set(clause, _substituted(inliner, flat.args[clause], source, outputs))
    statement.check_depth(flat)
    return flat


# -- tables -----------------------------------------------------------------------------------------------------


def _tables(
    inliner: _Inliner, select: exp.Expression, known: Mapping[str, _Source], outer: exp.Expression | None = None
) -> Mapping[str, _Source]:
    """Return the common table expressions that a select sees: its own, each of which sees those before it."""
    clause = select.args.get("with_")
    if clause is None:
        return known
    if clause.args.get("recursive"):
        raise QuestionRefused(
            "A recursive with is not answered: its rows are not rows of the table.", fix="Leave recursive out."
        )
    only(clause, "expressions")
    found, own = dict(known), set()
    for table in clause.expressions:
        only(table, "this", "alias", "materialized")
        name = table.alias.casefold()
        if name in own:
            raise QuestionRefused(f"Two tables of with are called {table.alias}.", fix="Give one another name.")
        own.add(name)
        found[name] = _renamed(_select(inliner, table.this, found, outer or select), table.args["alias"])
    return found


def _from(
    inliner: _Inliner, select: exp.Expression, known: Mapping[str, _Source], outer: exp.Expression
) -> _Source:
    """Return what a select reads."""
    if any(select.args.get(clause) for clause in ("joins", "laterals")):
        raise statement.one_table()
    clause = select.args.get("from_")
    if clause is None:
        raise QuestionRefused("The question names no table.", fix=f"Write from {named(inliner.metadata.name)}.")
    return _table(inliner, clause.this, known, outer)


def _table(
    inliner: _Inliner, table: exp.Expression, known: Mapping[str, _Source], outer: exp.Expression
) -> _Source:
    if isinstance(table, exp.Subquery):
        only(table, "this", "alias")
        inner = table.this
        if isinstance(inner, exp.Table | exp.Subquery):
            return _renamed(_table(inliner, inner, known, outer), table.args.get("alias"))
        return _renamed(_select(inliner, inner, known, outer), table.args.get("alias"))
    named = isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier)
    if named and not table.args.get("db") and table.name.casefold() in known:
        statement.check_table(table, inliner.metadata)
        return _renamed(known[table.name.casefold()], table.args.get("alias"))
    scope = statement.table_scope(table, inliner.metadata)
    names = [*inliner.metadata.columns]
    if inliner.metadata.person is not None:
        names.append(inliner.metadata.person)
    columns = {name.casefold(): (name, exp.Column(this=_quoted(name))) for name in names}
    return _Source(scope.alias or inliner.metadata.name, columns, base=True, order=tuple(columns))


def _renamed(source: _Source, alias: exp.Expression | None) -> _Source:
    """Return a source under an alias, which may list new names for its columns: t, or t(x, y)."""
    if alias is None:
        return source
    only(alias, "this", "columns")
    columns, order, listed = source.columns, source.order, alias.args.get("columns") or []
    if len(listed) > len(order):
        raise QuestionRefused(
            f"{alias.name} lists {len(listed)} names for {len(order)} columns.", fix="Name each column once."
        )
    if listed:
        old = [*order]
        definitions = [columns[name][1] if name else None for name in old]
        names = [part.name for part in listed] + [columns[name][0] if name else "" for name in old[len(listed) :]]
        columns, order = _named(list(zip(names, definitions, strict=True)))
    base = source.base and not listed
    return replace(source, name=alias.name or source.name, columns=columns, order=order, base=base)


def _select(
    inliner: _Inliner, select: exp.Expression, known: Mapping[str, _Source], outer: exp.Expression
) -> _Source:
    """Return an inner select as a source, or refuse one whose rows are not rows of the table."""
    if not isinstance(select, exp.Select):
        raise inner_selects.refused_query(select)
    for clause, argument in select.args.items():
        if argument and clause not in ("expressions", "from_", "where", "with_", "order"):
            raise inner_selects.refused_clause(clause, outer)
    source = _from(inliner, select, _tables(inliner, select, known, outer), outer)
    listed: list[tuple[str, Definition]] = []
    for node in select.expressions:
        listed += _columns(inliner, node, source, outer)
    columns, order = _named(listed)
    where = source.where
    if select.args.get("where") is not None:
        inner_selects.refuse_other_rows(select.args["where"].this, outer)
        where = (*where, _substituted(inliner, select.args["where"].this, source))
    return _Source(None, columns, where, order=order)


def _named(listed: Sequence[tuple[str, Definition]]) -> tuple[dict[str, tuple[str, Definition]], tuple[str, ...]]:
    """Return columns by folded name. A name that occurs twice stands for none of its columns."""
    columns: dict[str, tuple[str, Definition]] = {}
    for name, definition in listed:
        if name:
            columns[name.casefold()] = name, None if name.casefold() in columns else definition
    return columns, tuple(name.casefold() for name, _ in listed)


def _columns(
    inliner: _Inliner, node: exp.Expression, source: _Source, outer: exp.Expression
) -> list[tuple[str, Definition]]:
    """Return the columns that an item of an inner select list gives: one, or all of its source for a star."""
    star = node.this if isinstance(node, exp.Column) else node
    if isinstance(star, exp.Star):
        if isinstance(node, exp.Column):
            _check_qualifier(node, source)
        if any(star.args.values()):
            raise QuestionRefused("A star stands for all columns here.", fix="List the columns that you need.")
        return [source.columns[name] if name else ("", None) for name in source.order]
    name = ""
    if isinstance(node, exp.Alias):
        only(node, "this", "alias")
        name, node = str(node.alias), node.this
    inner = bare(node)
    if isinstance(inner, exp.Column):  # shared, not copied: a column that is passed on makes no nodes
        written, definition = _column(inner, source)
        return [(name or written, definition)]
    inner_selects.refuse_other_rows(inner, outer)
    made = _substituted(inliner, inner, source)
    term(made, Scope(inliner.metadata))  # refused where it is written, used or not
    return [(name, made)]


# -- expressions ------------------------------------------------------------------------------------------------


def _item(inliner: _Inliner, node: exp.Expression, source: _Source) -> exp.Expression:
    """Return an item of the outer select list, named as the analyst wrote it."""
    if isinstance(node, exp.Alias):
        only(node, "this", "alias")
        return exp.Alias(this=_substituted(inliner, node.this, source), alias=_quoted(str(node.alias)))
    inner = bare(node)
    if isinstance(inner, exp.Star) or (isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)):
        raise unsupported.not_understood(exp.Star())
    name = _column(inner, source)[0] if isinstance(inner, exp.Column) else _written(inner)
    return exp.Alias(this=_substituted(inliner, inner, source), alias=_quoted(name))


def _written(node: exp.Expression) -> str:
    return node.sql("duckdb", normalize_functions="lower", comments=False)


def _where(inliner: _Inliner, select: exp.Expression, source: _Source) -> exp.Expression | None:
    conditions = [*source.where]
    if select.args.get("where") is not None:
        conditions.append(_substituted(inliner, select.args["where"].this, source))
    if not conditions:
        return None
    joined: exp.Expression = exp.Paren(this=conditions[0])
    for condition in conditions[1:]:
        joined = exp.And(this=joined, expression=exp.Paren(this=condition))
    return exp.Where(this=joined)


def _substitute_groups(inliner: _Inliner, select: exp.Expression, source: _Source, outputs: Sequence[str]) -> None:
    """Substitute in GROUP BY. An alias becomes its place in the list, because a name could mean a column again."""
    clause = select.args.get("group")
    if clause is None:
        return
    keys: list[exp.Expression] = []
    for node in clause.expressions:
        inner = bare(node)
        fitting = [i for i, name in enumerate(outputs) if isinstance(inner, exp.Column) and _same(inner, name)]
        known = isinstance(inner, exp.Column) and inner.name.casefold() in source.columns
        if fitting and not known:
            keys.append(exp.Literal.number(fitting[0] + 1))
        else:
            keys.append(_substituted(inliner, node, source))
    select.set("group", exp.Group(**{**clause.args, "expressions": keys}))


def _same(node: exp.Expression, name: str) -> bool:
    return not node.args.get("table") and node.name.casefold() == name.casefold()


def _substituted(
    inliner: _Inliner, node: exp.Expression, source: _Source, outputs: Sequence[str] = ()
) -> exp.Expression:
    """Return an expression over the sealed table. Names of `outputs` stay, except inside of aggregates."""
    inner_selects.refuse_queries(node)
    definitions: dict[int, exp.Expression] = {}
    for column in node.find_all(exp.Column):
        shown = any(_same(column, name) for name in outputs) and column.find_ancestor(exp.AggFunc) is None
        if isinstance(column.this, exp.Star) or shown:
            continue
        _, definition = _column(column, source)
        if definition is not None:
            definitions[id(column)] = definition
            inliner.made(_size(definition))
    inliner.made(_size(node))
    return _rebuilt(node, definitions)


def _rebuilt(node: exp.Expression, definitions: Mapping[int, exp.Expression]) -> exp.Expression:
    """Return a copy with the columns replaced; the parentheses keep a definition together."""
    if id(node) in definitions:
        return exp.Paren(this=definitions[id(node)].copy())

    def part(argument: Any) -> Any:
        if isinstance(argument, list):
            return [part(item) for item in argument]
        return _rebuilt(argument, definitions) if isinstance(argument, exp.Expression) else argument

    return type(node)(**{name: part(argument) for name, argument in node.args.items()})


def _column(node: exp.Expression, source: _Source) -> tuple[str, exp.Expression | None]:
    """Return the name and the definition of the column that a node names."""
    _check_qualifier(node, source)
    found = source.columns.get(node.name.casefold())
    if found is None:
        hint = did_you_mean(node.name, [name for name, _ in source.columns.values()])
        if source.base:
            raise QuestionRefused(f"There is no column {node.name}.", fix=hint)
        raise QuestionRefused(
            f"The inner select has no column {node.name}.", fix=[hint, "Or add it to the inner select list."]
        )
    if found[1] is None:
        raise QuestionRefused(
            f"{node.name} names two columns of the inner select.", fix=f"Give one an alias: {node.name} as other."
        )
    return found


def _check_qualifier(node: exp.Expression, source: _Source) -> None:
    only(node, "this", "table", *(("db",) if source.base else ()))
    qualifier = node.args.get("table")
    if qualifier is not None and qualifier.name.casefold() != (source.name or "").casefold():
        written = f"{source.name}.{node.name}" if source.name else node.name
        raise QuestionRefused(f"{qualifier.name} is not the table of this select.", fix=f"Write {written}.")


def _size(node: exp.Expression) -> int:
    return sum(1 for _ in node.walk())


def _quoted(name: str) -> exp.Identifier:
    return exp.Identifier(this=name, quoted=True)
