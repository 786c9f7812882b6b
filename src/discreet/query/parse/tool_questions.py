"""Write the questions of BI tools as an analyst would: one select over the vault's table that means the same.

    HAVING COUNT(1) > 0              left out, unless the count is selected: SQL has no group without rows
    SUM(1)                           COUNT(*)
    TO_DATE('2024-01-31', 'YYYY-…')  DATE '2024-01-31'; TO_TIMESTAMP likewise
    "db"."public"."trips"            "public"."trips"
    select a, n from (               the inner select with the outer's columns, and WHERE as HAVING: what a tool
      select … group by …) where …   puts around an aggregate only picks, renames, filters and orders its rows

Everything that is left out is told in a sentence. Schemas, aliases, COUNT(1), LIMIT and inner selects that only
filter or rename rows need no change: the vault's parser reads them.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from discreet.errors import QuestionRefused

KEPT_GROUPS = (
    "HAVING COUNT(…) > 0 was left out: it hides groups without rows, and which groups have none is private."
    " Every declared group is shown."
)


def plain(query: exp.Query, table: str, catalogue: str) -> tuple[str, list[str]]:
    """Return a question in DuckDB's words, and sentences about what was left out.

    Args:
        query: The query. It is changed.
        table: The name of the vault's table.
        catalogue: The name of the database, which tools may write before the schema.
    """
    notes: list[str] = []
    if not isinstance(query, exp.Select):
        raise QuestionRefused("A question is one select.", fix="Ask each select of a union on its own.")
    for node in query.find_all(exp.Table, exp.Column):
        written = node.args.get("catalog")
        if written is not None and written.name.casefold() in (catalogue.casefold(), table.casefold()):
            node.set("catalog", None)
    if [*query.selects] and any(_star(one) for one in query.selects) and not _inner_aggregate(query):
        raise QuestionRefused(
            "Rows are about people, and are never shown.",
            fix=[
                f"Count or average them: select count(*) from {table}.",
                f"For the columns and their types, select * from {table} limit 0 is free.",
            ],
        )
    flat = _flattened(query)
    for total in [*flat.find_all(exp.Sum)]:
        if isinstance(total.this, exp.Literal) and str(total.this.this) == "1":
            total.replace(exp.Count(this=exp.Star()))
    for moment in [*flat.find_all(exp.StrToTime, exp.StrToDate, exp.TsOrDsToDate)]:
        _write_moment(moment)
    _drop_presence(flat, notes)
    return flat.sql("duckdb", comments=False), notes


def values_of(query: exp.Query, table: str) -> str | None:
    """Return the column whose values alone a query lists, as tools do to offer a filter; None for other queries.

    Such a query selects one column of the table, distinct or grouped by it, and no aggregate.
    """
    if not isinstance(query, exp.Select) or query.find(exp.AggFunc, exp.Subquery, exp.CTE, exp.Join) is not None:
        return None
    source, names = query.args.get("from_"), {column.name.casefold() for column in query.find_all(exp.Column)}
    listed = [one.unalias() for one in query.selects]
    once = query.args.get("group") is not None or query.args.get("distinct") is not None
    plain = (
        source is not None
        and isinstance(source.this, exp.Table)
        and source.this.name.casefold() == table.casefold()
    )
    if not (once and plain and len(listed) == 1 and isinstance(listed[0], exp.Column)):
        return None
    aliases = {one.alias.casefold() for one in query.selects if isinstance(one, exp.Alias)}
    name = listed[0].name.casefold()
    return (
        str(listed[0].name) if names - aliases <= {name} and isinstance(listed[0].this, exp.Identifier) else None
    )


def _write_moment(node: exp.Expr) -> None:
    """Replace a date or a time that is read from a text in ISO form by a literal."""
    written, form = node.this, node.args.get("format")
    known = form is None or str(form.name).startswith("%Y-%m-%d")
    if isinstance(written, exp.Literal) and written.is_string and known:
        kind = "timestamp" if isinstance(node, exp.StrToTime) and len(str(written.this)) > 10 else "date"
        node.replace(exp.cast(written.copy(), kind))


# -- selects around aggregates ----------------------------------------------------------------------------------


def _star(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def _inner_aggregate(select: exp.Select) -> exp.Select | None:
    """Return the aggregate that a select reads, if it reads one and does not aggregate itself."""
    source = select.args.get("from_")
    inner = source.this if source is not None else None
    if not isinstance(inner, exp.Subquery) or not isinstance(inner.this, exp.Select):
        return None
    found = inner.this
    aggregated = found.args.get("group") is not None or any(one.find(exp.AggFunc) for one in found.selects)
    again = select.args.get("group") is not None or any(one.find(exp.AggFunc) for one in select.selects)
    if again or any(select.args.get(clause) for clause in ("joins", "having", "distinct", "with_", "qualify")):
        return None
    return found if aggregated or _inner_aggregate(found) is not None else None


def _flattened(select: exp.Select) -> exp.Select:
    """Return a select without the levels that only pick, rename, filter or order the rows of an aggregate."""
    inner = _inner_aggregate(select)
    if inner is None:
        return select
    inner = _flattened(inner)
    if any(inner.args.get(clause) for clause in ("limit", "offset")):
        if any(select.args.get(clause) for clause in ("where", "order", "limit", "offset")):
            raise QuestionRefused(
                "A limit inside of a filter or an order is not understood.",
                fix="Put the limit on the outer select.",
            )
        kept = {clause: inner.args.get(clause) for clause in ("limit", "offset", "order")}
    else:
        kept = {clause: select.args.get(clause) for clause in ("limit", "offset")}
    _write_out_positions(inner)
    defined = {_name(one).casefold(): one.unalias() for one in inner.selects}
    items = [item for node in select.selects for item in _items(node, inner, defined)]
    where = select.args.get("where")
    condition = None if where is None else _over(where.this, defined)
    having = inner.args.get("having")
    if having is not None:
        condition = having.this if condition is None else exp.and_(having.this, condition)
    order = select.args.get("order")
    if order is not None:
        inner.set("order", _over(order, {**defined, **{_name(one).casefold(): one.unalias() for one in items}}))
    inner.set("expressions", items)
    inner.set("having", None if condition is None else exp.Having(this=condition))
    for clause, part in kept.items():
        inner.set(clause, part)
    return inner


def _write_out_positions(select: exp.Select) -> None:
    """Replace GROUP BY 1 by what it stands for: the outer select may list the columns in another order."""
    group, listed = select.args.get("group"), [*select.selects]
    for node in [] if group is None else [*group.expressions]:
        written = node.this if isinstance(node, exp.Paren) else node
        if isinstance(written, exp.Literal) and not written.is_string:
            place = int(str(written.this)) if str(written.this).isdecimal() else 0
            if not 1 <= place <= len(listed):
                raise QuestionRefused("GROUP BY has a number that is no place of the select list.")
            node.replace(listed[place - 1].unalias().copy())
        elif isinstance(written, exp.Column) and not written.table:
            alias = [
                one
                for one in listed
                if isinstance(one, exp.Alias) and one.alias.casefold() == written.name.casefold()
            ]
            if alias and not _is_column_named(alias[0].this, written.name):
                node.replace(alias[0].this.copy())


def _is_column_named(node: exp.Expr, name: str) -> bool:
    return isinstance(node, exp.Column) and node.name.casefold() == name.casefold()


def _name(node: exp.Expr) -> str:
    return str(node.alias_or_name or node.sql("postgres").lower())


def _items(node: exp.Expr, inner: exp.Select, defined: dict[str, Any]) -> list[exp.Expr]:
    if _star(node):
        return [one.copy() for one in inner.selects]
    made = _over(node.unalias(), defined)
    return [exp.alias_(made, node.alias or _name(node), quoted=True)]


def _over(node: exp.Expr, defined: dict[str, Any]) -> Any:
    """Return an expression over the inner select's columns, with their definitions."""

    def written(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Column) and not isinstance(part.this, exp.Star):
            found = defined.get(part.name.casefold())
            if found is None:
                raise QuestionRefused(f"The inner select has no column {part.name}.")
            copied: exp.Expr = found.copy()
            return copied
        return part

    return node.copy().transform(written)


# -- HAVING COUNT(1) > 0 ----------------------------------------------------------------------------------------


def _drop_presence(select: exp.Select, notes: list[str]) -> None:
    having = select.args.get("having")
    counted = any(_counts_rows(part) for one in select.selects for part in one.find_all(exp.Count))
    if having is None or counted:
        return
    conditions = [*(having.this.flatten() if isinstance(having.this, exp.And) else [having.this])]
    kept = [one for one in conditions if not _presence(one)]
    if len(kept) == len(conditions):
        return
    notes.append(KEPT_GROUPS)
    select.set("having", exp.Having(this=exp.and_(*kept)) if kept else None)


def _presence(node: exp.Expr) -> bool:
    """Return whether a condition says that a group has rows: COUNT(1) > 0, COUNT(*) >= 1, 0 < COUNT(*)."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.LT):
        node = exp.GT(this=node.expression, expression=node.this)
    if not isinstance(node, exp.GT | exp.GTE | exp.NEQ) or not _counts_rows(node.this):
        return False
    number, least = node.expression, "1" if isinstance(node, exp.GTE) else "0"
    return isinstance(number, exp.Literal) and not number.is_string and str(number.this) == least


def _counts_rows(node: exp.Expr) -> bool:
    """Return whether a node is COUNT(*) or COUNT(1)."""
    counted = node.this if isinstance(node, exp.Count) else None
    return isinstance(counted, exp.Star) or (isinstance(counted, exp.Literal) and not counted.is_string)
