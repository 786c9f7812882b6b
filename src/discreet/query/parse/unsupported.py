"""Explain why a piece of SQL is not answered, and suggest the nearest SQL that is."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from discreet.errors import QuestionRefused
from discreet.query.parse.scope import did_you_mean

Advice = tuple[str, str]
"""The problem, and what to write instead. {name} stands for the function."""

_ENTRIES: tuple[tuple[str, Advice], ...] = (
    (
        "any_value first last arbitrary arg_max arg_min max_by min_by first_value last_value",
        ("{name} shows single values, which are never shown.", "Use min, max, median or a count by group."),
    ),
    (
        "string_agg group_concat listagg array_agg list json_agg json_group_array",
        (
            "{name} shows single values, which are never shown.",
            "Count by group: select city, count(*) from people group by city.",
        ),
    ),
    (
        "mode approx_top_k",
        (
            "{name} is not a function here.",
            "Group by the column: order by count(*) desc limit 1, with count(*) selected.",
        ),
    ),
    (
        "approx_count_distinct approx_distinct",
        ("{name} is not a function here.", "Write count(distinct user_id), with the name of the person column."),
    ),
    (
        "now today getdate sysdate current_date get_current_timestamp",
        ("A question must mean the same whenever it is asked.", "Write the date out: date '2024-01-31'."),
    ),
    (
        "dateadd date_add date_sub add_months adddate ts_or_ds_add",
        ("Dates move by whole days only.", "Add days: day + 30, or write the date out."),
    ),
    (
        "datesub timestampdiff timestamp_diff age months_between",
        ("{name} is not a function here.", "Write date_diff('day', started, ended), with the unit that you want."),
    ),
    (
        "strftime time_to_str to_char date_format format_date format_datetime",
        (
            "{name} writes values as text, which engines do differently.",
            "Group by date_trunc('month', day), or by year(day), month(day).",
        ),
    ),
    (
        "dayname monthname week weekofyear weekday yearweek last_day",
        (
            "{name} is not a function here.",
            "Use date_trunc('week', day), month(day), dayofweek(day) or isodow(day).",
        ),
    ),
    (
        "iff decode choose",
        ("{name} is not a function here.", "Write if(age >= 65, 1, 0), or case when age >= 65 then 1 else 0 end."),
    ),
    (
        "isnull notnull",
        ("{name} is not a function here.", "Write age is null, or age is not null."),
    ),
    (
        "nvl2 zeroifnull",
        ("{name} is not a function here.", "Write coalesce(age, 0)."),
    ),
    (
        "regexp_like regexp_i_like regexp_matches regexp_full_match rlike similar_to",
        ("Strings are compared as they are, and not by {name}.", "Use like or ilike: note ilike '%tea%'."),
    ),
    (
        "contains strpos instr position str_position",
        ("Strings are compared as they are, and not by {name}.", "Write note like '%tea%'."),
    ),
    (
        "starts_with startswith prefix",
        ("Strings are compared as they are, and not by {name}.", "Write city like 'O%'."),
    ),
    (
        "ends_with endswith suffix",
        ("Strings are compared as they are, and not by {name}.", "Write city like '%o'."),
    ),
    (
        "concat concat_ws d_pipe dpipe",
        (
            "Strings are not joined.",
            "Group by both columns: select city, insured, count(*) from people group by 1, 2.",
        ),
    ),
    (
        "replace regexp_replace split_part split initcap lpad rpad reverse pad",
        (
            "{name} is not a function here.",
            "Use lower, upper, substr, left, right, trim, or case when city = 'Oslo' then ….",
        ),
    ),
    (
        "try_cast",
        ("{name} is not needed: columns are sealed with their types.", "Name the column alone."),
    ),
    (
        "regr_slope regr_intercept regr_r2 regr_sxy regr_sxx regr_avgx",
        (
            "{name} is not answered, but its parts are.",
            "Ask for covar_pop(income, age) and variance(age), and divide the answers.",
        ),
    ),
    (
        "covariance covar cov",
        ("{name} is not a function here.", "Write covar_pop(age, income) or corr(age, income)."),
    ),
    (
        "correlation pearson",
        ("{name} is not a function here.", "Write corr(age, income)."),
    ),
    (
        "skewness kurtosis mad",
        (
            "{name} depends on few extreme rows.",
            "Ask for quantiles: quantile(age, [0.05, 0.25, 0.5, 0.75, 0.95]).",
        ),
    ),
    (
        "entropy",
        ("{name} is not a function here.", "Count by group, and compute it from the answer."),
    ),
    (
        "bool_or bool_and logical_or logical_and every some",
        ("{name} depends on one row.", "Ask for the share: avg(insured)."),
    ),
    (
        "pow power square",
        ("{name} is not a function here.", "Multiply: age * age."),
    ),
    (
        "ntile rank dense_rank row_number percent_rank cume_dist",
        ("{name} numbers single rows.", "Use quantile(income, 0.9), or order by and limit for groups."),
    ),
    (
        "date_bin time_bucket",
        ("{name} is not a function here.", "Use date_trunc('hour', seen), or a case over hour(seen)."),
    ),
    (
        "grouping grouping_id",
        ("{name} belongs to several questions at once.", "Ask each on its own."),
    ),
)

ADVICE: dict[str, Advice] = {name: advice for names, advice in _ENTRIES for name in names.split()}
"""What to write instead of a function, by its name in lower case."""

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
