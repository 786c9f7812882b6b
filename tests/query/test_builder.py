"""Questions built in Python are the questions of SQL."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError, QuestionRefused
from discreet.query.builder import Ask, avg, count, median, quantile, select, total, where
from discreet.query.parse.select import parse
from discreet.schema import Category, Integer, Text
from discreet.schema.metadata import TableMetadata
from tests.query.parse.test_select import PEOPLE


@pytest.mark.parametrize(
    ("ask", "sql"),
    [
        (
            select("count(*)", avg("income")).where("age >= 65").group_by("city"),
            "select city, count(*), avg(income) from people where age >= 65 group by city",
        ),
        (
            where(age=(30, 40), city="Oslo"),
            "select count(*) from people where age between 30 and 40 and city = 'Oslo'",
        ),
        (where(age=(None, 40)), "select count(*) from people where age <= 40"),
        (where(age=(30, None)), "select count(*) from people where age >= 30"),
        (where(city=["Oslo", "Bergen"]), "select count(*) from people where city in ('Oslo', 'Bergen')"),
        (where(city={"Oslo", "Bergen"}), "select count(*) from people where city in ('Bergen', 'Oslo')"),
        (where(city=None, insured=True), "select count(*) from people where city is null and insured = true"),
        (where(day=date(2024, 1, 31)), "select count(*) from people where day = date '2024-01-31'"),
        (
            where(at=(datetime(2024, 1, 1, 6), None)),
            "select count(*) from people where at >= timestamp '2024-01-01 06:00:00'",
        ),
        (
            where("age > 3 or insured", "city = 'Oslo'"),
            "select count(*) from people where (age > 3 or insured) and city = 'Oslo'",
        ),
        (
            where("age > 3 -- really", insured=False),
            "select count(*) from people where age > 3 and insured = false",
        ),
        (where(select=-3), 'select count(*) from people where "select" = -3'),
        (where(income=Decimal("1000.50")), "select count(*) from people where income = 1000.50"),
        (where(age=np.int64(3)), "select count(*) from people where age = 3"),
        (where(age=Fraction(7, 2)), "select count(*) from people where age = (7 / 2)"),
        (
            select(count("note"), total("age"), median("income"), quantile("age", "0.9")),
            "select count(note), sum(age), median(income), quantile(age, (9 / 10)) from people",
        ),
        (select(avg("least(income, 100000)")), "select avg(least(income, 100000)) from people"),
    ],
)
def test_it_asks_what_sql_would(ask: Ask, sql: str) -> None:
    assert ask.question(PEOPLE).text == parse(sql, PEOPLE).text


def test_names_order_and_limit() -> None:
    ask = select(n="count(*)").group_by("floor(age / 10)").having("n > 3").order_by("n desc").limit(5)
    question = ask.question(PEOPLE)
    assert question == parse(
        "select floor(age / 10), count(*) as n from people group by 1 having n > 3 order by n desc limit 5", PEOPLE
    )


def test_each_step_leaves_the_one_before_as_it_was() -> None:
    all_rows = select("count(*)")
    assert all_rows.where(age=3) != all_rows
    assert all_rows == select("count(*)")


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=12))
def test_any_name_and_any_value_may_be_written(text: str) -> None:
    strange = TableMetadata(text, {text: Integer(0, 9), "c" + text: Category([text, "other"])}, person=None)
    question = where(**{text: 3, "c" + text: text}).question(strange)
    assert question.where is not None
    assert question.where.sql() == "(c0 = 3) AND (c1 = 0)"
    open_text = TableMetadata("t", {"x": Text()}, person=None)
    assert where(x=text).question(open_text).where is not None


@pytest.mark.parametrize("wrong", [(1, 2, 3), (None, None), [], {}, object(), float("nan")])
def test_what_is_no_condition_is_refused(wrong: Any) -> None:
    with pytest.raises(ParameterError):
        where(age=wrong)


def test_asking_for_nothing_is_refused() -> None:
    with pytest.raises(ParameterError, match="at least one aggregate"):
        select()


def test_a_value_that_only_looks_like_a_declared_one_is_told_apart() -> None:
    cities = TableMetadata("t", {"city": Category(["Genf", "Zürich", "Tromsø"])}, person=None)
    with pytest.raises(
        QuestionRefused, match=r"Did you mean 'Zürich'\? It looks the same and has other code points"
    ):
        where(city="Zu\u0308rich").question(cities)
    with pytest.raises(QuestionRefused, match=r"Did you mean 'Tromsø'\? Only blanks differ"):
        where(city="Tromsø ").question(cities)


def test_what_sql_refuses_is_refused_here_too() -> None:
    with pytest.raises(QuestionRefused, match="Did you mean 'Oslo'"):
        where(city="Olso").question(PEOPLE)
