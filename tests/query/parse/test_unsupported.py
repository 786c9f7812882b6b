"""A question is refused by its text alone, with the reason and the nearest SQL that works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines import sql_writer
from discreet.errors import QuestionRefused
from discreet.query.parse.select import parse
from discreet.query.parse.unsupported import FUNCTIONS
from discreet.schema import Integer
from discreet.schema.metadata import TableMetadata
from tests.query.parse.test_select import EVERYTHING, PEOPLE

REFUSED = [
    # single rows
    ("select * from people", "no select *", "count(*)"),
    ("select people.* from people", "no select *", "count(*)"),
    ("select * exclude (age) from people", "no select *", "count(*)"),
    ("select columns(*) from people", "no select *", "count(*)"),
    ("select age from people", "age would show single rows", "group by age"),
    ("select city, age, count(*) from people group by city", "age is neither", "group by"),
    ("select city, count(*) from people", "city would show single rows", "group by city"),
    ("select distinct city from people", "Distinct rows", "group by"),
    ("select city from people group by city", "something to count", "count(*)"),
    ("select any_value(age) from people", "any_value shows single values", "median"),
    ("select first(age) from people", "first shows single values", "median"),
    ("select list(age) from people", "shows single values", "Count by group"),
    ("select string_agg(note, ',') from people", "shows single values", "Count by group"),
    ("select arg_max(age, income) from people", "shows single values", "max"),
    # more than one table, more than one question
    ("select count(*) from people, people", "no other", "Join the tables before sealing"),
    ("select count(*) from people join people p on true", "no other", "Join the tables before sealing"),
    ("select count(*) from (select * from people), people", "no other", "Join the tables before sealing"),
    ("select count(*) from read_csv('/etc/passwd')", "no other", "Join the tables before sealing"),
    ("select count(*) from 'rows.duckdb'", "no table", "from people"),
    ("select count(*) from other.people", "no schema other", "from people"),
    ("select count(*) from db.main.people", "FROM takes the table alone", "from people"),
    ("select count(*) from peoples", "no table peoples", "from people"),
    ("select count(*)", "names no table", "from people"),
    ("with t as (select 1) select count(*) from people", "names no table", "from people"),
    ("select count(*) from people union all select count(*) from people", "one select", "on its own"),
    ("select count(*) from people; select count(*) from people", "2 statements", "one question at a time"),
    ("select count(*) from people; drop table people", "2 statements", "one question at a time"),
    ("select count(*) from people where age in (select age from people)", "one select", "on its own"),
    ("select count(*) from people where exists (select 1)", "one select", "on its own"),
    ("select count(*) from people where age = (select max(age) from people)", "one select", "on its own"),
    ("select count(*) from people where age > all (select 1)", "one select", "on its own"),
    ("select count(*) from people group by rollup(city)", "several questions", "on its own"),
    ("select count(*) from people group by grouping sets ((city), ())", "several questions", "on its own"),
    ("drop table people", "nothing else", "select count(*)"),
    ("update people set age = 3", "nothing else", "select count(*)"),
    ("copy people to 'x'", "nothing else", "select count(*)"),
    ("select count(*) into x from people", "stores nothing", "Leave into out"),
    ("select count(*) from people tablesample 10%", "All rows take part", "Leave sample out"),
    # other people's rows
    ("select count(*) over () from people", "Window functions", "group by"),
    ("select sum(age) over (partition by city) from people", "Window functions", "group by"),
    ("select count(*) from people qualify row_number() over () = 1", "Window functions", "group by"),
    # aggregates
    ("select count(distinct city) from people", "Only persons", "count(distinct user_id)"),
    ("select sum(distinct age) from people", "single values", "Leave distinct out"),
    ("select sum(city) from people", "needs a number", "Count rows"),
    ("select avg(note) from people", "needs a number", "Count rows"),
    ("select sum(day) from people", "needs a number", "median"),
    ("select max(city) from people", "no quantiles", "by group"),
    ("select sum(sum(age)) from people", "An aggregate stands alone", "compute with the answers"),
    ("select sum(age) / count(*) from people", "An aggregate stands alone", "compute with the answers"),
    ("select count(*) from people where sum(age) > 3", "An aggregate stands alone", "having"),
    ("select count(*) from people group by count(*)", "is an aggregate", "having"),
    ("select avgg(age) from people", "avgg is not a function", "Did you mean avg?"),
    ("select quantile(age, [0.1, 1.9]) from people", "one number from 0 to 1", "for each"),
    ("select quantile(age, 1.5) from people", "one number from 0 to 1", "for each"),
    ("select quantile(age) from people", "needs its probability", "quantile(income, 0.9)"),
    ("select count(distinct user_id) filter (where insured) from people", "not with filter", "where"),
    ("select max(age, 3) from people", "", ""),
    ("select sum(age order by age) from people", "", ""),
    ("select count(null) from people", "NULL has no value here", "Leave it out"),
    # arithmetic
    ("select sum(age / income) from people", "Dividing by a column has no bound", "divide the answers"),
    ("select sum(age / 0) from people", "Dividing by 0", "another number"),
    ("select sum(age + city) from people", "A category takes no part in arithmetic", "group by"),
    ("select sum(age + note) from people", "A text takes no part in arithmetic", "group by"),
    ("select sum(sqrt(age)) from people", "Sums are exact", "Seal a column"),
    (
        "select sum(income * income * income * income * income * income) from people",
        "2^62",
        "floor(income / 1000)",
    ),
    ("select sum(-age // 10) from people", "never negative", "floor(a / 10)"),
    ("select sum(cast(age as varchar)) from people", "engines disagree", "floor"),
    ("select sum(day + interval 3 day) from people", "Intervals", "day + 30"),
    ("select count(*) from people where random() < 0.5", "Noise is added to the answer", "Leave random() out"),
    ("select sum(case when insured then 1 else 'a' end) from people", "case are all numbers", "one kind"),
    # conditions
    ("select count(*) from people where agee > 3", "no column agee", "Did you mean age?"),
    ("select count(*) from people where other.age > 3", "other is not the table", "people.age"),
    ("select count(*) from people where user_id = 7", "names the person of a row", "count(distinct user_id)"),
    ("select user_id, count(*) from people group by 1", "names the person of a row", "count(distinct user_id)"),
    ("select count(*) from people where city = 'Olso'", "'Olso' is not in the declared list", "'Oslo'?"),
    ("select count(*) from people where city in ('Oslo', 'Bregen')", "'Bregen' is not in the", "'Bergen'?"),
    ("select count(*) from people where city = 3", "not in the declared list", "'Oslo'"),
    ("select count(*) from people where age = null", "never true", "is null"),
    ("select count(*) from people where age in (1, null)", "never true", "is null"),
    ("select count(*) from people where age > '65'", "compared with a number", "without quotes: 65"),
    ("select count(*) from people where age", "A condition is wanted", "age >= 65"),
    ("select count(*) from people where age = city", "A number is compared with a category", "one kind"),
    ("select count(*) from people where day > 'soon'", "'soon' is not a date", "'2024-01-31'"),
    ("select count(*) from people where day > current_date", "whenever it is asked", "date '2024-01-31'"),
    ("select count(*) from people where at > now()", "whenever it is asked", "date '2024-01-31'"),
    ("select count(*) from people where note < 'a'", "order strings differently", "like"),
    ("select count(*) from people where lower(note) = 'a'", "text column are not public", "ilike"),
    ("select count(*) from people where note ~ 'a'", "compared as they are", "ilike"),
    ("select count(*) from people where age like '6%'", "for categories and text columns", "between"),
    ("select count(*) from people where age between symmetric 3 and 1", "not understood", "between"),
    ("select count(*) from people where (age, city) = (1, 'Oslo')", "not understood", "constants"),
    ("select count(*) from people where age = ?", "not understood", "constants"),
    ("select count(*) from people where age = 1e999999999", "more digits", ""),
    (
        "select count(*) from people where coalesce(day, '2024-01-31 12:00') > '2024-01-01'",
        "a time of day",
        "31')",
    ),
    ("select count(*) from people where hour(day) = 3", "A date has no hour", "Datetime"),
    ("select count(*) from people where year(age) = 3", "of Date and Datetime columns", ""),
    ("select age, count(*) from people where age > 200 group by age", "No row can have", "where"),
    # groups and answers
    ("select income, at, count(*) from people group by 1, 2", "an answer has 1000000 at most", "wider bins"),
    ("select count(*) from people group by 7", "GROUP BY 7 does not name a column", "from 1 to 1"),
    ("select count(*) from people having avg(age) > 3", "is not selected", "Add it to the select list"),
    ("select count(*) from people order by age", "age is not a column of the answer", "where"),
    ("select count(*) from people limit 3 percent", "whole numbers", "limit 10"),
    ("select count(*) from people limit age", "takes a whole number", ""),
    ("select count(*) as n, sum(age) as n from people", "Two columns of the answer", "alias"),
    ("select count(*), count(*) as n from people", "selected twice", "Select it once"),
    # not SQL
    ("", "is empty", "SQL text, such as select count(*)"),
    ("how many people are there?", "", ""),
    ("select count(*) from people where", "not valid SQL", ""),
    ("select 'open", "not valid SQL", ""),
    ("select avg(alter) from people", "not valid SQL", 'also a word of SQL: "alter"'),
    ("select avg(`pay €`) from people", "not valid SQL", 'in double quotes, not in backquotes: "pay €"'),
    ("selct count(*) from people", "not valid SQL", "Did you mean select, not selct?"),
]


@pytest.mark.parametrize(("text", "reason", "fix"), REFUSED)
def test_the_refusal_says_why_and_what_to_write(text: str, reason: str, fix: str) -> None:
    with pytest.raises(QuestionRefused) as refused:
        parse(text, PEOPLE)
    assert reason in refused.value.problem
    assert fix in "\n".join(map(str, refused.value.fixes))
    assert "sqlglot" not in str(refused.value)


@pytest.mark.parametrize("text", [text for text, _, _ in REFUSED])
def test_a_refusal_is_one_short_sentence_and_a_fix(text: str) -> None:
    with pytest.raises(QuestionRefused) as refused:
        parse(text, PEOPLE)
    problem, fixes = refused.value.problem, refused.value.fixes
    assert problem.endswith(".")
    quoted = problem.split()[0].strip("(")  # a problem may begin with what the analyst wrote
    assert (
        not problem[0].islower()
        or quoted in text.lower()
        or "is not a function" in problem
        or "single values" in problem
    )
    assert len(problem.split()) <= 25 or "not valid SQL" in problem
    assert fixes or "not valid SQL" in problem
    assert all(str(fix).endswith((".", "?")) for fix in fixes)


HOSPITAL = TableMetadata(
    "my table",
    {name: Integer(0, 110) for name in ("Alter", "select", "Kosten €", "Größe")},
    person="Patient-Nr",
)
TO_BE_QUOTED = [
    ('select select, count(*) from "my table" group by select', '"select"'),
    ('select avg(Alter) from "my table"', '"Alter"'),
    ('select avg(kosten €) from "my table"', '"Kosten €"'),
    ('select avg(Kosten €) as "Kosten €" from "my table"', '"Kosten €"'),
    ("select count(*) from my table", 'from "my table"'),
    ("select count(*) from people", 'from "my table"'),
    ("select count(*)", 'from "my table"'),
    ('select Patient-Nr from "my table"', '"Patient-Nr"'),
    ('select "Patient-Nr" from "my table"', 'count(distinct "Patient-Nr")'),
    ('select count(distinct "Größe") from "my table"', 'count(distinct "Patient-Nr")'),
    ("drop table people", 'select count(*) from "my table"'),
    ("", 'select count(*) from "my table"'),
]


@pytest.mark.parametrize(("text", "copied"), TO_BE_QUOTED)
def test_a_refusal_writes_names_so_that_they_can_be_copied(text: str, copied: str) -> None:
    with pytest.raises(QuestionRefused) as refused:
        parse(text, HOSPITAL)
    assert copied in " ".join(map(str, refused.value.fixes))


@pytest.mark.parametrize("text", ["select count(*) from people where", "select avg( from people", "select ) from"])
def test_wrong_sql_is_described_without_words_of_the_parser(text: str) -> None:
    with pytest.raises(QuestionRefused) as refused:
        parse(text, PEOPLE)
    assert not re.search(r"keyword|token|class|Invalid expression|'this'", refused.value.problem)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_on_the_page_of_sql_that_is_answered(name: str) -> None:
    page = Path(__file__).parents[3] / "docs" / "sql.md"
    assert re.search(rf"`{name}\b|\b{name}\(", page.read_text(encoding="utf-8"))


def test_without_a_person_column_there_are_no_distinct_persons() -> None:
    rows = TableMetadata("readings", {"level": Integer(0, 9)}, person=None)
    with pytest.raises(QuestionRefused, match=r"Every row is a person here.*count\(\*\)"):
        parse("select count(distinct level) from readings", rows)


def test_comments_are_no_part_of_a_question() -> None:
    trick = "select count(*) /* ; drop table people; -- */ from people -- where age > 3\n; -- select *"
    assert parse(trick, PEOPLE).text == "select count(*) from people"


@pytest.mark.parametrize(
    "condition",
    [
        "(" * 2000 + "age > 1" + ")" * 2000,
        "not " * 5000 + "insured",
        "- " * 5000 + "age > 1",
        "age" + " + age" * 2000 + " > 1",
        "case when insured then " * 500 + "1" + " end" * 500 + " = 1",
        "abs(" * 1000 + "age" + ")" * 1000 + " > 1",
        "(insured or " * 500 + "insured" + ")" * 500,
    ],
    ids=["parentheses", "nots", "minuses", "sum", "cases", "calls", "brackets of or"],
)
def test_deep_nests_are_refused_in_words(condition: str) -> None:
    with pytest.raises(QuestionRefused, match="nested more than 60 levels deep"):
        parse(f"select count(*) from people where {condition}", PEOPLE)


@pytest.mark.parametrize("depth", range(5, 60, 3))
@pytest.mark.parametrize(
    "layer", ["floor({} / 2 + 1)", "least({}, 3)", "case when {} > 1 then 2 else 1 end", "-({}) * 2"]
)
def test_what_is_not_refused_can_be_written_for_an_engine(layer: str, depth: int) -> None:
    text = "age"
    for _ in range(depth):
        text = layer.format(text)
    try:
        question = parse(f"select sum({text}) from people where {text} > 1", PEOPLE)
    except QuestionRefused:
        if depth == 5:
            raise
        return
    term, where = question.aggregates[0].term, question.where
    assert term is not None
    assert where is not None
    assert sql_writer.sql(term.code).count("(") == sql_writer.sql(term.code).count(")")
    assert sql_writer.sql(where)


def test_long_chains_and_lists_are_read() -> None:
    chain = " or ".join(f"age = {i}" for i in range(100))
    listed = ", ".join(str(i) for i in range(5000))
    text = f"select count(*) from people where ({chain}) and income in ({listed})"
    assert parse(text, PEOPLE).where is not None


def test_a_text_beyond_all_measure_is_refused_before_it_is_read() -> None:
    with pytest.raises(QuestionRefused, match="characters"):
        parse("select count(*) from people where age in (" + "1, " * 50_000 + "1)", PEOPLE)


pieces = st.sampled_from(
    [
        *" ".join(EVERYTHING).split()[:120],
        "(",
        ")",
        "'",
        '"',
        ";",
        "--",
        "/*",
        "*/",
        "::",
        "[1]",
        "$1",
        "{",
        "select",
        "from",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.lists(pieces, max_size=20).map(" ".join), st.text(max_size=40)))
def test_whatever_is_typed_is_answered_or_refused(text: str) -> None:
    for asked in (text, f"select count(*) from people where {text}", f"select {text} from people group by all"):
        try:
            parse(asked, PEOPLE)
        except QuestionRefused:
            continue
