"""Say what to write instead of functions that other databases have and questions do not.

Each entry names functions, as analysts write them and as the parser calls them, and gives the reason and the SQL
that is answered.
"""

from __future__ import annotations

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
