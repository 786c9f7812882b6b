"""Explain why a piece of SQL is not answered, and suggest the nearest SQL that is."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from discreet.errors import QuestionRefused
from discreet.query.parse.advice import ADVICE
from discreet.query.parse.scope import did_you_mean

FUNCTIONS = (
    *("count", "sum", "avg", "median", "quantile", "stddev", "variance", "min", "max"),
    *("corr", "covar_pop", "covar_samp", "histogram"),
    *("abs", "ceil", "coalesce", "date_diff", "date_trunc", "extract", "floor", "greatest", "least", "nullif"),
    *("round", "sign", "trunc", "width_bucket", "if"),
    *("lower", "upper", "substr", "left", "right", "trim", "length"),
    *("year", "quarter", "month", "day", "dayofweek", "isodow", "dayofyear", "hour", "minute", "second"),
    "over_bound",
)
"""The functions that a question may call, for the hints."""

_ONE_SELECT = (
    "A question is one select over one table, without unions or subqueries in expressions.",
    "Ask the inner select on its own, and write its answer here: age > 42, or city in ('Oslo', 'Bergen').",
)

_TOTALS = (
    "Window functions look at other people's rows.",
    "Use group by; for shares of a total, ask for select count(*) as well and divide the answers.",
)

_NO_CLOCK = ("A question must mean the same whenever it is asked.", "Write the date out: date '2024-01-31'.")

_REASONS: tuple[tuple[tuple[type, ...], tuple[str, str]], ...] = (
    (
        (exp.Star, exp.Columns),
        (
            "Single rows are never shown, so there is no select *.",
            "Ask for counts, sums or means: select count(*), avg(age) from people.",
        ),
    ),
    (
        (exp.Subquery, exp.Select, exp.Exists, exp.SetOperation, exp.Any, exp.All),
        _ONE_SELECT,
    ),
    (
        (exp.Window, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls),
        (
            "Window functions look at other people's rows.",
            "Use group by; count(distinct user_id) counts each person once, with the name of the person column.",
        ),
    ),
    (
        (exp.Distinct,),
        (
            "DISTINCT looks at single values.",
            "Only persons can be counted so: count(distinct user_id), with the name of the person column.",
        ),
    ),
    (
        (exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentTime),
        _NO_CLOCK,
    ),
    ((exp.Rand,), ("Noise is added to the answer, not to the question.", "Leave random() out.")),
    ((exp.Fetch,), ("FETCH FIRST is not understood.", "Write limit 10 instead of fetch first 10 rows only.")),
    ((exp.Limit, exp.Offset), ("LIMIT and OFFSET take whole numbers.", "Write limit 10 offset 20.")),
    ((exp.Interval,), ("Intervals are not added.", "Add days: day + 30, or write the date out.")),
    (
        (exp.Sqrt, exp.Ln, exp.Exp, exp.Log),
        (
            "Sums are exact, so an expression has only + - *, / by a number, floor, round, least and case.",
            "Seal a column with the transformed value, or count by bins: histogram(income, 20).",
        ),
    ),
)


def not_understood(node: exp.Expression) -> QuestionRefused:
    """Return the refusal of a node, with its particular reason if there is one."""
    if isinstance(node, exp.DPipe):
        return _refused(ADVICE["dpipe"])
    if (
        isinstance(node, exp.Window)
        and node.find(exp.RowNumber, exp.Rank, exp.DenseRank, exp.Lag, exp.Lead) is None
    ):
        return _refused(_TOTALS)
    for kinds, reason in _REASONS:
        if isinstance(node, kinds):
            return _refused(reason)
    if node.find(exp.Select) is not None:
        return _refused(_ONE_SELECT)
    if isinstance(node, exp.AggFunc) and type(node) in _ONE_LEVEL:
        return QuestionRefused(
            "An aggregate stands alone in the select list, not inside an expression, where, or another aggregate.",
            fix=[
                "Select the parts and compute with the answers; having may compare them.",
                "A share is avg(insured), or avg(if(age >= 65, 1, 0)). Answers need no round.",
            ],
        )
    if isinstance(node, exp.Func):
        called: Any = node
        name = str(called.this) if called.key == "anonymous" else called.sql_name()
        if name.lower() in ADVICE:
            problem, fix = ADVICE[name.lower()]
            return QuestionRefused(problem.format(name=name.lower()), fix=fix)
        return QuestionRefused(f"{name.lower()} is not a function here.", fix=did_you_mean(name, FUNCTIONS))
    shown = node.sql("duckdb")
    return QuestionRefused(
        f"{shown[:80]}{'…' if len(shown) > 80 else ''} is not understood.",
        fix="Write conditions of columns and constants with = <> < <= > >= between, in, like, is null, "
        "and, or, not.",
    )


def _refused(reason: tuple[str, str]) -> QuestionRefused:
    problem, fix = reason
    return QuestionRefused(problem, fix=fix)


_ONE_LEVEL = {
    *(exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Median, exp.Quantile, exp.ApproxQuantile, exp.CountIf),
    *(exp.PercentileCont, exp.PercentileDisc, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance),
    exp.VariancePop,
}
