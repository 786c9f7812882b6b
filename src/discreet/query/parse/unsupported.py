"""Why a piece of SQL is not answered, and the nearest thing that is."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from discreet.errors import QuestionRefused
from discreet.query.parse.scope import did_you_mean

FUNCTIONS = (
    *("count", "sum", "avg", "median", "quantile", "stddev", "variance", "min", "max"),
    *("abs", "ceil", "coalesce", "date_trunc", "extract", "floor", "greatest", "least", "round", "width_bucket"),
    *("year", "quarter", "month", "day", "dayofweek", "isodow", "dayofyear", "hour", "minute", "second"),
    "over_bound",
)
"""What may be called, for the hints."""

_ONE_SELECT = "a question is one select over one table, without subqueries or unions. Ask each part on its own."

_WHENEVER = "a question means the same whenever it is asked. Write the date out: date '2024-01-31'."

_REASONS: tuple[tuple[tuple[type, ...], str], ...] = (
    (
        (exp.Star, exp.Columns),
        "single rows are never shown, so there is no select *. Ask for counts, sums or means: select count(*) …",
    ),
    (
        (exp.Subquery, exp.Select, exp.Exists, exp.SetOperation, exp.Any, exp.All),
        _ONE_SELECT,
    ),
    (
        (exp.Window, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls),
        "window functions look at other people's rows. Use group by.",
    ),
    (
        (exp.Distinct,),
        "distinct looks at single values. Persons can be counted: count(distinct …) of the person column.",
    ),
    (
        (exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentTime),
        _WHENEVER,
    ),
    ((exp.Rand,), "noise is added to the answer, not to the question. Leave random() out."),
    ((exp.Limit, exp.Offset, exp.Fetch), "limit and offset take whole numbers: limit 10 offset 20."),
    ((exp.Interval,), "intervals are not added. Add days: day + 30, or write the date out."),
    (
        (exp.Lower, exp.Upper, exp.Substring, exp.DPipe, exp.Concat, exp.Trim, exp.Length, exp.RegexpLike),
        "texts are compared as they are. Use =, in, like or ilike.",
    ),
    (
        (exp.Sqrt, exp.Ln, exp.Exp, exp.Pow, exp.Log),
        "sums are exact, so what is summed has to be a fraction: + - * / by a number, floor, round, least, case. "
        "Seal a column with the transformed value.",
    ),
)


def not_understood(node: exp.Expression) -> QuestionRefused:
    """Return the refusal of a node: the reason where there is a particular one, or a hint at the name."""
    for kinds, reason in _REASONS:
        if isinstance(node, kinds):
            return QuestionRefused(reason)
    if node.find(exp.Select) is not None:
        return QuestionRefused(_ONE_SELECT)
    if isinstance(node, exp.AggFunc) and type(node) in _ONE_LEVEL:
        return QuestionRefused(
            "an aggregate stands alone in the select list, not inside an expression, where, or another aggregate. "
            "Select the parts and compute with the answers; having may compare them."
        )
    if isinstance(node, exp.Func):
        called: Any = node
        name = str(called.this) if called.key == "anonymous" else called.sql_name()
        if name.lower() in ("now", "today", "getdate"):
            return QuestionRefused(_WHENEVER)
        return QuestionRefused(f"{name.lower()} is not a function here. {did_you_mean(name, FUNCTIONS)}")
    shown = node.sql("duckdb")
    return QuestionRefused(
        f"{shown[:80]}{'…' if len(shown) > 80 else ''} is not understood. Conditions are made of columns and "
        "constants with = <> < <= > >= between, in, like, is null, and, or, not."
    )


_ONE_LEVEL = {
    *(exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Median, exp.Quantile, exp.ApproxQuantile, exp.CountIf),
    *(exp.PercentileCont, exp.PercentileDisc, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance),
    exp.VariancePop,
}
