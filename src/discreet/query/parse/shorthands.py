"""Write out shorthands: histogram(x, bins), a count by bins of equal width, and quantile(x, [p, q]).

    select city, histogram(age, 10) from people group by city

is the same question, with the same cost and answer, as

    select city, case when age = 110 then 99 else 11 * floor(age / 11) end as age, count(*)
    from people group by 1, 2

for an age from 0 to 110. The bins divide the declared bounds, never the range of the rows. A bin is named by its
lower end and includes it; the last one includes the upper bound as well. Missing values are a group of their own,
as in every group by.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sqlglot import exp

from discreet.errors import QuestionRefused
from discreet.query.parse import functions
from discreet.query.parse.canonical import expression_text
from discreet.query.parse.expressions import bare, only, term, value
from discreet.query.parse.having_order_limit import position
from discreet.query.parse.scope import Scope

MOST_BINS = 1000
"""The most bins of a histogram."""


def written_out(select: exp.Expression, scope: Scope) -> exp.Expression:
    """Return a select without shorthands: a key and a count for a histogram, one quantile for each of a list."""
    items: list[exp.Expression] = []
    keys: list[exp.Expression] = []
    for item in select.expressions:
        called = bare(item.this if isinstance(item, exp.Alias) else item)
        if isinstance(item, exp.Alias) and (_is_histogram(called) or _is_list(called)):
            only(item, "this", "alias")
        if _is_histogram(called):
            key, name = _key(called, scope)
            keys.append(key)
            items += [_named(key.copy(), name), _named(exp.Count(this=exp.Star(), big_int=True), _alias(item))]
        elif _is_list(called):
            items += _quantiles(called, _alias(item, ""))
        else:
            items.append(item)
    if len(keys) > 1:
        raise QuestionRefused("A question has at most one histogram.", fix="Ask two questions.")
    if all(item in select.expressions for item in items):
        return select
    flat = exp.Select(**{**select.args, "expressions": items})
    _group(flat, select.expressions, keys)
    return flat


def _named(node: exp.Expression, name: str) -> exp.Expression:
    return exp.Alias(this=node, alias=exp.Identifier(this=name, quoted=True))


def _alias(item: exp.Expression, otherwise: str = "count") -> str:
    """Return the name that the analyst gave a shorthand; an inner select names it by its own text."""
    alias = str(item.alias) if isinstance(item, exp.Alias) else ""
    return otherwise if not alias or alias.lower().startswith(_CALLS) else alias


_CALLS = ("histogram(", "quantile", "percentile", "approx_quantile(")


def _group(select: exp.Expression, before: Sequence[exp.Expression], keys: Sequence[exp.Expression]) -> None:
    """Group by the bins as well. Places name the items of the select list as the analyst wrote it."""
    for ordered in select.args["order"].expressions if select.args.get("order") else []:
        if isinstance(bare(ordered.this), exp.Literal):
            raise QuestionRefused(
                "Beside a histogram or a list of quantiles, order by takes names and not places.",
                fix="Give the number an alias, and write order by and the alias.",
            )
    clause = select.args.get("group")
    if clause is None:
        select.set("group", exp.Group(expressions=[key.copy() for key in keys]) if keys else None)
    elif not clause.args.get("all"):
        groups = [_at(node, before) for node in clause.expressions]
        select.set("group", exp.Group(**{**clause.args, "expressions": [*groups, *(key.copy() for key in keys)]}))


def _at(node: exp.Expression, items: Sequence[exp.Expression]) -> exp.Expression:
    inner = bare(node)
    if not isinstance(inner, exp.Literal) or inner.is_string:
        return node
    item = items[position(inner, len(items), "group by")]
    meant = item.this if isinstance(item, exp.Alias) else item
    if _is_histogram(bare(meant)) or _is_list(bare(meant)):
        raise QuestionRefused(
            "A histogram groups by its own bins.", fix="Write select histogram(age, 10) from people, without it."
        )
    return exp.Paren(this=meant.copy())


def _is_list(node: exp.Expression) -> bool:
    return type(node) in _LISTS and isinstance(node.args.get(_LISTS[type(node)]), exp.Array | exp.Tuple)


_LISTS: dict[type, str] = {
    exp.Quantile: "quantile",
    exp.ApproxQuantile: "quantile",
    exp.PercentileCont: "expression",
    exp.PercentileDisc: "expression",
}


def _quantiles(call: exp.Expression, alias: str) -> list[exp.Expression]:
    """Return one quantile for each of a list, named alias_0.25 or quantile(x, 0.25)."""
    name = _LISTS[type(call)]
    listed = call.args[name].expressions
    if not listed:
        raise QuestionRefused("The list of quantiles is empty.", fix="Write quantile(age, [0.25, 0.5, 0.75]).")
    made: list[exp.Expression] = []
    for probability in listed:
        one = type(call)(**{**call.args, name: probability.copy()}).copy()
        made.append(_named(one, f"{alias}_{probability.sql('duckdb')}") if alias else one)
    return made


def _is_histogram(node: exp.Expression) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.this).lower() == "histogram"


def _key(call: exp.Expression, scope: Scope) -> tuple[exp.Expression, str]:
    """Return the expression of the bins, and the name of their column."""
    only(call, "this", "expressions")
    if len(call.expressions) != 2:
        raise QuestionRefused("histogram takes a number and how many bins.", fix="Write histogram(age, 10).")
    argument, wanted = call.expressions
    read = term(argument, scope)
    if read.kind != "number":
        raise QuestionRefused(
            f"histogram is for numbers, and this is a {read.kind}.",
            fix="Group by it and count: select date_trunc('month', day), count(*) from people group by 1.",
        )
    bins = functions.whole(value(wanted, scope), "The number of bins", 1, MOST_BINS)
    if read.low == read.high:
        raise QuestionRefused("This number has one value only, and so one bin.", fix="Use count(*).")
    start, width = read.least, (read.most - read.least) / bins
    place = exp.Floor(this=exp.Div(this=_less(argument.copy(), start), expression=_number(width)))
    inside: exp.Expression = exp.Mul(this=_number(width), expression=place)
    if start:
        inside = exp.Add(this=_number(start), expression=inside)
    # The upper bound belongs to the last bin. NULL is equal to nothing, and stays NULL in the other branch.
    top = exp.EQ(this=exp.Paren(this=argument.copy()), expression=_number(read.most))
    last = exp.If(this=top, true=_number(read.most - width))
    key = exp.Case(ifs=[last], default=inside)
    plain = bare(argument)
    return key, scope.name(plain) if isinstance(plain, exp.Column) else expression_text(argument, scope)


def _less(node: exp.Expression, start: Fraction) -> exp.Expression:
    inner = exp.Paren(this=node)
    return exp.Paren(this=exp.Sub(this=inner, expression=_number(start))) if start else inner


def _number(exact: Fraction) -> exp.Expression:
    """Return an exact number as SQL: a decimal where it ends, else a quotient."""
    sign, size = exact < 0, abs(exact)
    made: exp.Expression = exp.Literal.number(str(size.numerator))
    if size.denominator > 1:
        made = exp.Paren(this=exp.Div(this=made, expression=exp.Literal.number(str(size.denominator))))
    return exp.Paren(this=exp.Neg(this=made)) if sign else made
