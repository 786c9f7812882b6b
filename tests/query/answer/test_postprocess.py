"""Test having, order by and limit on released values, against SQL."""

from __future__ import annotations

import math
from datetime import date
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import QuestionRefused
from discreet.query.answer.postprocess import (
    After,
    Node,
    Ordering,
    Output,
    Step,
    Value,
    apply,
    evaluate,
)
from discreet.query.parse.select import parse
from discreet.schema import Boolean, Category, Date, Datetime, Integer
from discreet.schema.metadata import TableMetadata

SHOPS = TableMetadata(
    "shops",
    {
        "city": Category(["Bergen", "Oslo", "Ås"]),
        "age": Integer(0, 9),
        "day": Date("2024-01-01", "2024-01-03"),
        "at": Datetime("2024-01-01", "2024-01-03", step="1h"),
        "open": Boolean(),
        "ward": Category([1, 2]),
    },
    person=None,
)
ANSWER: dict[str, list[Any]] = {
    "city": ["Bergen", "Oslo", "Ås", None],
    "n": [12, 40, -3, 7],
    "avg(age)": [4.5, None, 2.0, math.nan],
}


def shown(clauses: str) -> list[int]:
    question = parse(f"select city, count(*) as n, avg(age) from shops group by city {clauses}", SHOPS)
    return apply(question.after, ANSWER)


@pytest.mark.parametrize(
    ("clauses", "rows"),
    [
        ("", [0, 1, 2, 3]),
        ("order by n", [2, 3, 0, 1]),
        ("order by n desc limit 2", [1, 0]),
        ("order by 2 desc limit 2 offset 1", [0, 3]),
        ("order by count(*) desc limit 1", [1]),
        ("order by city desc", [2, 1, 0, 3]),
        ("order by city nulls first", [3, 0, 1, 2]),
        ("order by avg(age)", [2, 0, 1, 3]),
        ("order by -1 * n", [1, 0, 3, 2]),
        ("order by city is null desc, n", [3, 2, 0, 1]),
        ("having n > 10", [0, 1]),
        ("having count(*) > 10 and avg(age) > 1", [0]),
        ("having avg(age) > 3 or n < 10", [0, 2, 3]),
        ("having not avg(age) > 3", [2]),
        ("having avg(age) is null", [1, 3]),
        ("having avg(age) is not null", [0, 2]),
        ("having city in ('Oslo', 'Ås')", [1, 2]),
        ("having city not in ('Oslo', 'Ås')", [0]),
        ("having n between -3 and 12", [0, 2, 3]),
        ("having n / 2 >= 6.5", [1]),
        ("having n / (n - 12) > 0", [1, 2]),
        ("limit 0", []),
    ],
)
def test_the_rows_that_are_shown(clauses: str, rows: list[int]) -> None:
    assert shown(clauses) == rows


@pytest.mark.parametrize(
    ("clauses", "rows"),
    [
        ("having day > '2024-01-01' order by day desc", [2, 1]),
        ("having day >= timestamp '2024-01-01 12:00:00'", [1, 2]),  # a day is its beginning
        ("having day <> date '2024-01-02'", [0, 2]),
        ("having day in ('2024-01-01', date '2024-01-03')", [0, 2]),
        ("having day between '2024-01-02' and timestamp '2024-01-02 00:00:00.000001'", [1]),
        ("having middle > '2024-01-01'", [1]),  # released as days since 1970
        ("having middle = day", [0]),
        ("having moment >= timestamp '2024-01-02 06:00:00'", [1]),  # released as microseconds
        ("having moment > day order by middle desc", [1, 0]),
        ("order by moment desc nulls first", [2, 3, 1, 0]),
    ],
)
def test_dates_and_times_are_compared_wherever_they_come_from(clauses: str, rows: list[int]) -> None:
    question = parse(f"select day, median(day) middle, median(at) moment from shops group by day {clauses}", SHOPS)
    days = 19723  # 2024-01-01, since 1970
    answer: dict[str, list[Any]] = {
        "day": [date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 3), None],
        "middle": [float(days), float(days + 2), math.nan, None],
        "moment": [days * 86_400e6 + 1, (days + 1.25) * 86_400e6, None, None],
    }
    assert apply(question.after, answer) == rows


REFUSED = [
    ("having city > 3", "values of one kind, and here it meets a number beside a text", "city = 'Oslo'"),
    ("having n = 'many'", "a number beside a text", "count(*) >= 10"),
    ("having n > '10'", "a number beside a text", "count(*) >= 10"),
    ("having n between 1 and 'x'", "a number beside a text", "count(*) >= 10"),
    ("having n in (1, 'x')", "IN compares values of one kind", "count(*) >= 10"),
    ("having day > 3", "a date beside a number", "day >= date '2024-01-31'"),
    ("having n > date '2024-01-01'", "a date beside a number", "count(*) >= 10"),
    ("having day = true", "true or false beside a date", "day >= date"),
    ("having day > 'soon'", "'soon' is not a date", "'2024-01-31'"),
    ("having middle > 5", "a date beside a number", "day >= date"),
    ("having middle > n", "a date beside a number", "day >= date"),
    ("having open = 'yes'", "true or false beside a text", "insured, or not insured"),
    ("having open > false", "> compares values of one kind", "insured, or not insured"),
    ("having n = null", "never true", "is null"),
    ("having n in (1, null)", "never true", "is null"),
    ("having n", "HAVING takes a condition, and n is a number", "count(*) >= 10"),
    ("having city", "city is a text", "city = 'Oslo'"),
    ("having day or n > 3", "OR takes a condition, and day is a date", "day >= date"),
    ("having not n", "NOT takes a condition, and n is a number", "count(*) >= 10"),
    ("having n is true", "IS takes a condition, and n is a number", "count(*) >= 10"),
    ("having n + city > 3", "+ is for numbers, and here it meets a text", "sum(income) / count(*)"),
    ("having n > -city", "- is for numbers, and here it meets a text", "sum(income) / count(*)"),
    ("having day + 1 > '2024-01-01'", "+ is for numbers, and here it meets a date", "sum(income)"),
    ("order by city * 3", "* is for numbers, and here it meets a text", "sum(income) / count(*)"),
    ("order by n / open", "/ is for numbers, and here it meets true or false", "sum(income) / count(*)"),
    ("order by middle - day", "- is for numbers, and here it meets a date", "sum(income) / count(*)"),
    ("order by n > 'a'", "a number beside a text", "count(*) >= 10"),
]


@pytest.mark.parametrize(("clauses", "reason", "fix"), REFUSED)
def test_what_cannot_be_compared_is_refused_before_it_is_charged(clauses: str, reason: str, fix: str) -> None:
    """A wrong kind must not fail on the released numbers, after the charge."""
    asked = f"select city, day, open, count(*) n, median(day) middle from shops group by 1, 2, 3 {clauses}"
    with pytest.raises(QuestionRefused) as refused:
        parse(asked, SHOPS)
    assert reason in str(refused.value)
    assert fix in str(refused.value)


@pytest.mark.parametrize(
    ("clauses", "rows"),
    [
        ("having open", [1]),
        ("having not open", [0]),
        ("having open = 0", [0]),
        ("having open is not true", [0, 2]),
        ("having open is false or open is null", [0, 2]),
        ("having (n > 5) = open", [0, 1]),
        ("having ward > 1", [1]),
        ("order by -n", [1, 2, 0]),
        ("order by open desc", [1, 0, 2]),
        ("having n * 1e100 * 1e100 * 1e100 * 1e100 > 0", []),  # the result is not a finite float, so it is NULL
        ("having n - 1e99 * 1e99 * 1e99 * 1e99 < 0", []),
        ("having ward < 1e99 * 1e99 * 1e99 * 1e99", [0, 1]),
        ("having n / 0 is null", [0, 1, 2]),
    ],
)
def test_truth_values_and_numbers_of_every_size(clauses: str, rows: list[int]) -> None:
    question = parse(f"select open, ward, count(*) n from shops group by 1, 2 {clauses}", SHOPS)
    answer: dict[str, list[Any]] = {"open": [False, True, None], "ward": [1, 2, None], "n": [3.0, 12.5, 4.0]}
    assert apply(question.after, answer) == rows


def test_sorting_keeps_the_order_of_ties() -> None:
    tied = {"n": [1, 0, 1, 0]}
    assert apply(After(order=(Ordering(Output("n")),)), tied) == [1, 3, 0, 2]


names = st.sampled_from(["p", "q"])
nodes: st.SearchStrategy[Node] = st.recursive(
    st.one_of(
        st.builds(
            lambda name, left, right: Step(name, (Output(left), right)),
            st.sampled_from(["=", "<>", "<", "<=", ">", ">="]),
            names,
            st.one_of(names.map(Output), st.integers(0, 2).map(Value)),
        ),
        st.builds(lambda name: Step("is null", (Output(name),)), names),
        st.builds(
            lambda name, items: Step("in", (Output(name), *map(Value, items))),
            names,
            st.sets(st.integers(0, 2), min_size=1),
        ),
    ),
    lambda inner: st.one_of(
        st.builds(lambda a, b: Step("and", (a, b)), inner, inner),
        st.builds(lambda a, b: Step("or", (a, b)), inner, inner),
        st.builds(lambda a: Step("not", (a,)), inner),
    ),
    max_leaves=6,
)


def as_sql(node: Node) -> str:
    if isinstance(node, Output):
        return node.name
    if isinstance(node, Value):
        return str(node.value)
    parts = [as_sql(part) for part in node.operands]
    if node.name == "in":
        return f"({parts[0]} in ({', '.join(parts[1:])}))"
    if node.name == "is null":
        return f"({parts[0]} is null)"
    return f"(not {parts[0]})" if node.name == "not" else f"({parts[0]} {node.name} {parts[1]})"


@settings(max_examples=60, deadline=None)
@given(nodes)
def test_three_valued_logic_is_sqls(node: Node) -> None:
    pairs = [(p, q) for p in (None, 0, 1, 2) for q in (None, 0, 1, 2)]
    columns = {"p": [p for p, _ in pairs], "q": [q for _, q in pairs]}
    listed = ", ".join(
        f"({i}, {p if p is not None else 'null'}, {q if q is not None else 'null'})"
        for i, (p, q) in enumerate(pairs)
    )
    query = f"select {as_sql(node)} from (values {listed}) t(i, p, q) order by i"
    wanted = [truth for (truth,) in duckdb.execute(query).fetchall()]
    assert [evaluate(node, columns, row) for row in range(len(pairs))] == wanted
