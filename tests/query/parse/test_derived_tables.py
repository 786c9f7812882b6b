"""Inner selects that filter, rename or compute are inlined; all others are refused with what to write instead."""

from __future__ import annotations

import itertools
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import QuestionRefused
from discreet.query.parse.select import parse
from tests.query.parse.test_select import PEOPLE, shape
from tests.vault.every_row import WORLD, connection, on_sealed

SAME = [
    (
        "with t as (select * from people where age > 3) select city, count(*) from t group by city",
        "select city, count(*) from people where age > 3 group by city",
    ),
    (
        "select avg(m) from (select income / 12 as m, city from people) s where s.city = 'Oslo'",
        "select avg(income / 12) from people where city = 'Oslo'",
    ),
    (
        "with a as (select age as x from people where insured), "
        "b as (select x + 1 as x, x as y from a where x > 2) "
        "select sum(x * y) from b where y < 9",
        "select sum((age + 1) * age) from people where insured and age > 2 and age < 9",
    ),
    (
        "with people as (select * from people where age > 3), p as (select * from people) select count(*) from p",
        "select count(*) from people where age > 3",
    ),
    (
        "with people as (select age from people where age > 3) select count(*) from public.people",
        "select count(*) from people",
    ),
    (
        "with a as (select age from people) select count(*) from (with a as (select * from people where insured) "
        "select * from a) as b",
        "select count(*) from people where insured",
    ),
    (
        "with a(x, y) as (select age, income from people) select sum(x + y) from a",
        "select sum(age + income) from people",
    ),
    ("select sum(x) from (select age, income from people) as t(x)", "select sum(age) from people"),
    ("select sum(income) from (select age, income from people) as t(x)", "select sum(income) from people"),
    ("select count(*) from (((select * from people)))", "select count(*) from people"),
    ("select count(*) from (people) as p where p.age > 1", "select count(*) from people where age > 1"),
    (
        "select count(distinct uid) from (select user_id as uid from people) t",
        "select count(distinct user_id) from people",
    ),
    (
        "select t.age, count(*) from (select p.* from people p) t group by t.age",
        "select age, count(*) from people group by age",
    ),
    ("select count(*) from (select age from people order by age)", "select count(*) from people"),
    (
        "with a as materialized (select age from people) select median(age) from a",
        "select median(age) from people",
    ),
    ("with unused as (select age from people) select count(*) from people", "select count(*) from people"),
    (
        'select count(*) from "public"."people" where "public"."people"."age" > 3',
        "select count(*) from people where age > 3",
    ),
    (
        "select d, avg(d) from (select floor(age / 10) as d from people) group by d having avg(d) > 1 "
        "order by d desc",
        "select floor(age / 10), avg(floor(age / 10)) from people group by 1",
    ),
    (
        "select avg(x) filter (where y) from (select age as x, insured as y from people)",
        "select avg(age) filter (where insured) from people",
    ),
]


@pytest.mark.parametrize(("nested", "flat"), SAME)
def test_a_question_with_inner_selects_is_the_flat_question(nested: str, flat: str) -> None:
    assert shape(parse(nested, PEOPLE)) == shape(parse(flat, PEOPLE))


def test_columns_of_the_answer_are_named_as_the_analyst_wrote_them() -> None:
    question = parse(
        "select decade, avg(m), count(*) n from (select floor(age / 10) as Decade, income / 12 as m from people) "
        "group by decade order by decade limit 3",
        PEOPLE,
    )
    assert question.columns == ("Decade", "avg(m)", "n")
    assert [key.name for key in question.keys] == ["Decade"]


# Names: what an inner select defines is not captured outside, and what it leaves out is not visible


def test_a_column_that_the_inner_select_leaves_out_is_unknown() -> None:
    for text in (
        "select count(*) from (select age from people) where city = 'Oslo'",
        "select city, count(*) from (select age from people) group by city",
        "select sum(income) from (select age as x from people)",
        "select count(*) from (select age from people) having income > 3",
    ):
        with pytest.raises(QuestionRefused, match="The inner select has no column"):
            parse(text, PEOPLE)


def test_an_alias_does_not_become_the_column_of_the_table_with_its_name() -> None:
    question = parse("select age * 2 as city, count(*) from (select age from people) group by city", PEOPLE)
    assert question.text == "select age * 2, count(*) from people group by age * 2"


def test_swapped_names_are_swapped() -> None:
    nested = "select sum(age - income) from (select age as income, income as age from people) where age > 3"
    assert parse(nested, PEOPLE).text == "select sum(income - age) from people where income > 3"


def test_a_definition_keeps_together_when_it_is_written_out() -> None:
    nested = "select sum(2 * x) from (select age + 1 as x from people) where not y is null".replace("y", "x")
    assert parse(nested, PEOPLE).text == "select sum(2 * (age + 1)) from people where NOT ((age + 1) IS NULL)"
    nested = "select count(*) from (select insured or age > 3 as x from people) where x and age > 5"
    with pytest.raises(QuestionRefused, match="no column age"):
        parse(nested, PEOPLE)


# Against DuckDB, which runs the nested text on the values themselves

INNER = st.sampled_from(
    [
        "select a, b, x, flag, city from {}",
        "select * from {}",
        "select b as a, a as b, x, flag, city from {} where a is not null",
        "select a + b as a, b, x * 2 as x, not flag as flag, city from {}",
        "select nullif(a, 0) as a, coalesce(b, 0) as b, x, flag, city from {} where x is distinct from 1",
        "select case when flag then a else b end as a, b, x, a > b as flag, city from {} where flag or a < 2",
        "select a, b, least(x, a) as x, flag, upper(city) as city from {} where not (b > 4)",
    ]
)
OUTER = st.sampled_from(
    ["a > 1", "flag", "not flag", "a = b", "x is null or a is null", "a + x > b", "length(city) > 2", "true"]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(INNER, min_size=1, max_size=3), OUTER, st.booleans())
def test_the_same_rows_take_part_as_in_duckdb(layers: list[str], condition: str, common: bool) -> None:
    if common:
        names = ["world", *(f"t{i}" for i in range(len(layers)))]
        tables = ", ".join(f"t{i} as ({layer.format(names[i])})" for i, layer in enumerate(layers))
        text = f"with {tables} select {{}} from {names[-1]} where {condition}"
    else:
        source = "world"
        for layer in layers:
            source = f"({layer.format(source)}) as s"
        text = f"select {{}} from {source} where {condition}"
    question = parse(text.format("count(*), sum(a), sum(x)"), WORLD)
    everything = question.where is None
    kept = [True] if question.where is None else [truth for (truth,) in on_sealed(question.where)]
    found: list[Any] = []
    for aggregate in question.aggregates[1:]:
        term = aggregate.term
        assert term is not None
        rows = on_sealed(term.code)
        codes = [
            code for (code,), keep in zip(rows, kept * len(rows) if everything else kept, strict=True) if keep
        ]
        known = [code for code in codes if code is not None]
        assert all(term.low <= code <= term.high for code in known)
        found = [len(codes), *found[1:], term.offset * len(known) + term.scale * sum(known) if known else None]
    wanted = connection().execute(text.format("count(*), sum(a), sum(x)")).fetchone()
    assert found == list(wanted or ())


# What is refused

REFUSED = [
    (
        "select avg(n) from (select user_id, count(*) n from people group by user_id)",
        "a question of its own",
        "seal one row for each person",
    ),
    (
        "select * from (select city, count(*) n from people group by city) order by n desc limit 3",
        "a question of its own",
        "Ask it without the select around it",
    ),
    (
        "select city, n from (select city, count(*) n from people group by city) where n > 5",
        "a question of its own",
        "having",
    ),
    (
        "with m as (select avg(age) as a from people) select a from m",
        "a question of its own",
        "without the select around it",
    ),
    ("select count(*) from (select distinct city from people)", "merges rows", "count(distinct user_id)"),
    (
        "select count(*) from (select * from people limit 10)",
        "An inner limit picks single rows",
        "after the outer select",
    ),
    (
        "select count(*) from (select * from people offset 10)",
        "An inner offset picks single rows",
        "after the outer select",
    ),
    (
        "select count(*) from (select * from people using sample 10%)",
        "An inner sample picks single rows",
        "all rows take part",
    ),
    (
        "select count(*) from (select * from people union all select * from people)",
        "A union",
        "or city = 'Bergen'",
    ),
    (
        "select count(*) from (select * from people p join people q on true)",
        "no other",
        "Join the tables before sealing",
    ),
    (
        "select count(*) from (select * from people) a, (select * from people) b",
        "no other",
        "Join the tables before sealing",
    ),
    (
        "select count(*) from (select *, row_number() over (partition by user_id) r from people) where r = 1",
        "Window functions",
        "count(distinct",
    ),
    ("select count(*) from (select * from people qualify row_number() over () = 1)", "Window functions", "where"),
    ("with recursive r as (select age from people) select count(*) from r", "recursive", "Leave recursive out"),
    (
        "with a as (select age from people), a as (select age from people) select count(*) from a",
        "called a",
        "another name",
    ),
    (
        "with a as (select * from b), b as (select * from people) select count(*) from a",
        "no table b",
        "from people",
    ),
    ("with a as (select * from a) select count(*) from a", "no table a", "from people"),
    (
        "select count(*) from (select age, age + 1 as age from people) where age > 3",
        "names two columns",
        "age as other",
    ),
    ("select count(*) from (select *, 1 as age from people) where age > 3", "names two columns", "age as other"),
    ("select count(*) from (select foo as x from people)", "There is no column foo", "There are age"),
    (
        "select count(*) from (select age + user_id as x from people)",
        "names the person of a row",
        "count(distinct",
    ),
    (
        "select uid, count(*) from (select user_id uid from people) group by 1",
        "names the person of a row",
        "count(distinct",
    ),
    (
        "select count(*) from (select * exclude (age) from people)",
        "A star stands for all columns",
        "List the columns",
    ),
    ("select * from (select age from people)", "no select *", "count(*)"),
    ("select count(*) from (select age from people) as t(x, y)", "lists 2 names for 1", "Name each column once"),
    (
        "select s.age, count(*) from (select age from people) t group by 1",
        "s is not the table of this select",
        "t.age",
    ),
    ("select count(*) from (values (1)) t(a)", "no other", "Join the tables before sealing"),
    ("select count(*) from other.people", "no schema other", "from people"),
    ("select count(*) from (select 1 as x)", "names no table", "from people"),
    ("select count(*) from (delete from people)", "", ""),
    ("select count(*) from (select sqrt(age) as x from people)", "Sums are exact", "Seal a column"),
    (
        "select avg(x) from (select age from people where age > (select avg(age) from people)) where age > 1",
        "",
        "",
    ),
]


@pytest.mark.parametrize(("text", "reason", "fix"), REFUSED)
def test_other_inner_selects_are_refused_with_what_to_write(text: str, reason: str, fix: str) -> None:
    with pytest.raises(QuestionRefused) as refused:
        parse(text, PEOPLE)
    assert reason in refused.value.problem
    assert fix in " ".join(map(str, refused.value.fixes))


# Size


@pytest.mark.parametrize("layer", ["{0} + {0}", "case when true then 1 else {0} + {0} end", "greatest({0}, {0})"])
def test_levels_that_would_multiply_are_refused_before_they_do(layer: str) -> None:
    names = [f"t{i}" for i in range(40)]
    tables = ", ".join(
        f"{new} as (select {layer.format('x')} as x from {old})" for old, new in itertools.pairwise(names)
    )
    text = f"with t0 as (select age as x from people), {tables} select sum(x) from t39"
    start = time.process_time()
    with pytest.raises(QuestionRefused, match=r"parts when|levels deep|2\^62"):
        parse(text, PEOPLE)
    assert time.process_time() - start < 20


def test_a_thousand_tables_that_pass_columns_on_are_read() -> None:
    tables = ", ".join(f"t{i + 1} as (select * from t{i})" for i in range(1000))
    text = f"with t0 as (select * from people where age > 3), {tables} select sum(income) from t1000"
    assert parse(text, PEOPLE).text == "select sum(income) from people where age > 3"


def test_selects_within_selects_have_a_limit() -> None:
    text = "select count(*) from " + "(select * from " * 100 + "people" + ")" * 100
    with pytest.raises(QuestionRefused, match="levels deep"):
        parse(text, PEOPLE)
