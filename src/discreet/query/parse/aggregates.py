"""Read the aggregates of a question, and note where the answer differs from what was written.

Some aggregates are answered by another number, and a note says so: min and max belong to one person, so they are
answered as the 0.001 and 0.999 quantiles; variances are divided by n and not by n − 1; rows without an id are
counted as one person. `filter (where …)` is answered by taking the value as missing on all other rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from discreet.engines.nodes import Expression
from discreet.errors import QuestionRefused
from discreet.query import ir
from discreet.query.bounds import arithmetic, conditionals
from discreet.query.bounds.comparisons import Constant
from discreet.query.parse import functions
from discreet.query.parse.expressions import bare, condition, only, term, value
from discreet.query.parse.scope import Scope, named
from discreet.query.parse.unsupported import not_understood
from discreet.query.question import Aggregate, Term
from discreet.schema.metadata import UNIT

EXTREME = Fraction(1, 1000)
"""min is the quantile of this probability, max the one at 1 minus it."""


def is_aggregate(node: exp.Expression) -> bool:
    """Return whether a node of the select list is an aggregate."""
    inner = bare(node)
    if isinstance(inner, exp.Filter):
        inner = bare(inner.this)
    named = isinstance(inner, exp.Anonymous) and str(inner.this).lower() == "mean"
    return type(inner) in _READERS or named or isinstance(inner, exp.AggFunc | exp.WithinGroup | exp.Window)


def aggregate(node: exp.Expression, scope: Scope, name: str) -> Aggregate:
    """Return the aggregate that a node of the select list asks for."""
    inner, kept = bare(node), None
    if isinstance(inner, exp.Filter):
        only(inner, "this", "expression")
        kept = condition(inner.expression.this, scope)
        inner = bare(inner.this)
    if isinstance(inner, exp.Anonymous) and str(inner.this).lower() == "mean" and len(inner.expressions) == 1:
        inner = exp.Avg(this=inner.expressions[0])
    if type(inner) not in _READERS:
        raise not_understood(inner)
    read = _READERS[type(inner)](inner, scope, name)
    return read if kept is None else _filtered(read, kept)


def _filtered(read: Aggregate, kept: Expression) -> Aggregate:
    if read.kind == "persons":
        raise QuestionRefused(
            "Persons are counted with where, not with filter.", fix="Move the condition of filter to where."
        )
    kind = "count_of" if read.kind == "count" else read.kind
    counted = arithmetic.constant(Fraction(1)) if read.term is None else read.term
    other = None if read.other is None else conditionals.where(kept, read.other)
    return replace(read, kind=kind, term=conditionals.where(kept, counted), other=other)


def _count(node: exp.Expression, scope: Scope, name: str) -> Aggregate:
    only(node, "this")
    if node.this is None or isinstance(node.this, exp.Star):
        if node.this is not None:
            only(node.this)
        return Aggregate("count", None, None, name)
    if isinstance(node.this, exp.Distinct):
        return _persons(node.this, scope, name)
    counted = value(node.this, scope)
    if isinstance(counted, Constant) and counted.value is not None:
        return Aggregate("count", None, None, name)
    return Aggregate("count_of", functions.as_term(counted), None, name)


def _persons(node: exp.Expression, scope: Scope, name: str) -> Aggregate:
    only(node, "expressions")
    person = scope.metadata.person
    if len(node.expressions) == 1 and scope.is_person(bare(node.expressions[0])):
        return Aggregate("persons", None, None, name, _counted_once(scope))
    if person is None:
        raise QuestionRefused(
            "Every row is a person here, and only persons are counted as distinct.", fix="Use count(*)."
        )
    raise QuestionRefused(
        "Only persons are counted as distinct.",
        fix=f"Write count(distinct {named(person)}), or group by the column and count the groups that have rows.",
    )


def _counted_once(scope: Scope) -> str:
    rows = scope.metadata.rows_per_person
    return f"{_without_person(scope)}; a person with more than {rows:,} rows may count for less than one."


def over_bound(read: Aggregate, scope: Scope) -> Aggregate:
    """Return the count of persons who are over the bound, with a note on what it leaves out.

    Let n > K be the rows of such a person, and w = ⌊U·K/n⌋. What they weigh together, n·w, is above U·K/2 if n ≤
    U·K: so they count as min(1, n·w/U) = 1 if K ≥ 2. If K = 1 it is U − (U mod n), which counts as a little less
    than one while n is small, and as more than a half in any case. If n > U·K, w is 0.
    """
    rows = scope.metadata.rows_per_person
    part = f"; a person with n rows counts as 1 − ({UNIT} mod n)/{UNIT}" if rows == 1 else ""
    nothing = f"a person with more than {UNIT * rows:,} rows weighs nothing, and is not counted"
    return replace(read, note=f"{_without_person(scope)}; {nothing}{part}.")


def _without_person(scope: Scope) -> str:
    return f"rows without a {scope.metadata.person} count as one person"


def _count_if(node: exp.Expression, scope: Scope, name: str) -> Aggregate:
    only(node, "this")
    return Aggregate(
        "count_of", conditionals.where(condition(node.this, scope), arithmetic.constant(Fraction(1))), None, name
    )


def _moment(kind: str, note: str = "") -> Callable[[exp.Expression, Scope, str], Aggregate]:
    def read(node: exp.Expression, scope: Scope, name: str) -> Aggregate:
        only(node, "this")
        return Aggregate(kind, _summed(node, scope), None, name, note)

    return read


def _summed(node: exp.Expression, scope: Scope) -> Term:
    """Return the argument of a sum or a mean: a number, or a truth value as 0 and 1."""
    if isinstance(node.this, exp.Distinct):
        raise QuestionRefused(f"{node.sql('duckdb')} looks at single values.", fix="Leave distinct out.")
    return _number(node, node.this, scope)


def _number(node: exp.Expression, argument: exp.Expression, scope: Scope) -> Term:
    summed = term(argument, scope)
    if summed.kind == "boolean":
        return arithmetic.plain(summed)
    if summed.kind != "number":
        raise QuestionRefused(
            f"{node.sql('duckdb')} needs a number, and this is a {summed.kind}.",
            fix="Count rows, or take the median of a date.",
        )
    return summed


def _pair(kind: str, note: str = "") -> Callable[[exp.Expression, Scope, str], Aggregate]:
    def read(node: exp.Expression, scope: Scope, name: str) -> Aggregate:
        only(node, "this", "expression")
        if node.args.get("expression") is None:
            raise QuestionRefused("A covariance takes two numbers.", fix="Write corr(age, income).")
        first, second = _number(node, node.this, scope), _number(node, node.expression, scope)
        for part in (first, second):
            if kind == "correlation" and part.low == part.high:
                raise QuestionRefused(
                    "A value that is always the same has no correlation.", fix="Name a column that varies."
                )
        return Aggregate(kind, _beside(first, second), None, name, note, _beside(second, first))

    return read


def _beside(term: Term, other: Term) -> Term:
    """Return a term that is NULL where another one is NULL."""
    return conditionals.where(ir.opposite(ir.is_null(other.code)), term) if other.nullable else term


def _quantile(*names: str) -> Callable[[exp.Expression, Scope, str], Aggregate]:
    def read(node: exp.Expression, scope: Scope, name: str) -> Aggregate:
        only(node, *names)
        asked = node.args.get(names[1]) if len(names) > 1 else exp.Literal.number("0.5")
        if asked is None:
            raise QuestionRefused("A quantile needs its probability.", fix="Write quantile(income, 0.9).")
        return _ranked(node.this, asked, scope, name)

    return read


def _within_group(node: exp.Expression, scope: Scope, name: str) -> Aggregate:
    """Read percentile_cont(0.9) within group (order by x)."""
    only(node, "this", "expression")
    inner, order = node.this, node.expression
    if not isinstance(inner, exp.PercentileCont | exp.PercentileDisc) or len(order.expressions) != 1:
        raise QuestionRefused(
            "WITHIN GROUP is for percentile_cont and percentile_disc, and takes one column.",
            fix="Write percentile_cont(0.9) within group (order by income).",
        )
    only(inner, "this")
    only(order, "expressions")
    ordered = order.expressions[0]
    only(ordered, "this", "desc", "nulls_first")
    read = _ranked(ordered.this, inner.this, scope, name)
    if not ordered.args.get("desc") or read.probability is None:
        return read
    return Aggregate("quantile", read.term, 1 - read.probability, name, read.note)


def _extreme(word: str, probability: Fraction) -> Callable[[exp.Expression, Scope, str], Aggregate]:
    def read(node: exp.Expression, scope: Scope, name: str) -> Aggregate:
        only(node, "this")
        shown = f"{float(probability):g}"
        note = f"{word} is answered as the {shown} quantile: the extreme value itself belongs to one person."
        return Aggregate("quantile", _rankable(node.this, scope), probability, name, note)

    return read


def _ranked(node: exp.Expression, asked: exp.Expression, scope: Scope, name: str) -> Aggregate:
    probability = value(asked, scope) if not isinstance(asked, exp.Array | exp.Tuple) else None
    exact = probability.value if isinstance(probability, Constant) else None
    if not isinstance(exact, Fraction) or not 0 <= exact <= 1:
        raise QuestionRefused(
            "The probability of a quantile is one number from 0 to 1.",
            found=asked.sql("duckdb"),
            fix="Write one quantile for each.",
        )
    if exact in (0, 1):
        return _extreme(*(("the least", EXTREME) if exact == 0 else ("the largest", 1 - EXTREME)))(
            exp.Min(this=node.copy()), scope, name
        )
    return Aggregate("quantile", _rankable(node, scope), exact, name)


def _rankable(node: exp.Expression, scope: Scope) -> Term:
    ranked = term(node, scope)
    if ranked.kind not in ("number", "date", "datetime"):
        raise QuestionRefused(
            f"{node.sql('duckdb')} is a {ranked.kind}, which has no quantiles.", fix="Count it by group instead."
        )
    return ranked


_SAMPLE = "the variance of these rows, divided by n, not n − 1."
_SAMPLE_PAIR = "the covariance of these rows, divided by n, not n − 1."
_SAMPLE_ROOT = "the standard deviation of these rows, its square divided by n, not n − 1."

_READERS: dict[type, Callable[[exp.Expression, Scope, str], Aggregate]] = {
    exp.Count: _count,
    exp.CountIf: _count_if,
    exp.Sum: _moment("sum"),
    exp.Avg: _moment("avg"),
    exp.Variance: _moment("variance", _SAMPLE),
    exp.VariancePop: _moment("variance"),
    exp.Stddev: _moment("stddev", _SAMPLE_ROOT),
    exp.StddevSamp: _moment("stddev", _SAMPLE_ROOT),
    exp.StddevPop: _moment("stddev"),
    exp.CovarPop: _pair("covariance"),
    exp.CovarSamp: _pair("covariance", _SAMPLE_PAIR),
    exp.Corr: _pair("correlation"),
    exp.Median: _quantile("this"),
    exp.Quantile: _quantile("this", "quantile"),
    exp.ApproxQuantile: _quantile("this", "quantile"),
    exp.PercentileCont: _quantile("this", "expression"),
    exp.PercentileDisc: _quantile("this", "expression"),
    exp.WithinGroup: _within_group,
    exp.Min: _extreme("min", EXTREME),
    exp.Max: _extreme("max", 1 - EXTREME),
}
