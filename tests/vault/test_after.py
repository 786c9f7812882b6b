"""Having, order by and limit work on released values, as SQL would."""

from __future__ import annotations

import math
from datetime import date
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import QuestionRefused
from discreet.vault.after import After, Node, Ordering, Output, Step, Value, apply, evaluate
from discreet.vault.description import Description
from discreet.vault.schema import Category, Date, Integer
from discreet.vault.sql import parse

SHOPS = Description(
    "shops",
    {"city": Category(["Bergen", "Oslo", "Ås"]), "age": Integer(0, 9), "day": Date("2024-01-01", "2024-01-03")},
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


def test_dates_are_compared_as_dates() -> None:
    question = parse(
        "select day, count(*) from shops group by day having day > '2024-01-01' order by day desc", SHOPS
    )
    answer: dict[str, list[Any]] = {
        "day": [date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 3), None],
        "count(*)": [1, 2, 3, 4],
    }
    assert apply(question.after, answer) == [2, 1]


def test_what_cannot_be_compared_is_refused_in_words() -> None:
    with pytest.raises(QuestionRefused, match="> does not take str and int"):
        shown("having city > 3")


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
