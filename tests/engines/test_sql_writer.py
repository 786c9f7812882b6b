"""Expressions as SQL: the exact text for each dialect, and types that no row can overflow."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.engines import nodes, sql_writer
from discreet.engines.nodes import Column, Expression, Int
from discreet.errors import ParameterError, QuestionRefused
from tests.engines.parsed_trees import tree

LIMITS = {"w": 4096, "c0": 127, "c1": 32767, "c2": 2**31 - 1, "c3": 2**62}


@pytest.mark.parametrize(
    ("text", "in_duckdb", "in_postgres", "in_spark"),
    [
        (
            "w * (c0 - 50)",
            '(CAST("w" AS INTEGER) * (CAST("c0" AS INTEGER) - 50))',
            '(CAST("w" AS INTEGER) * (CAST("c0" AS INTEGER) - 50))',
            "(CAST(`w` AS INTEGER) * (CAST(`c0` AS INTEGER) - 50))",
        ),
        (
            "w * c2",
            '(CAST("w" AS BIGINT) * CAST("c2" AS BIGINT))',
            '(CAST("w" AS BIGINT) * CAST("c2" AS BIGINT))',
            "(CAST(`w` AS BIGINT) * CAST(`c2` AS BIGINT))",
        ),
        (
            "w * c3",
            '(CAST("w" AS HUGEINT) * CAST("c3" AS HUGEINT))',
            '(CAST("w" AS NUMERIC) * CAST("c3" AS NUMERIC))',
            "(CAST(`w` AS DECIMAL(38, 0)) * CAST(`c3` AS DECIMAL(38, 0)))",
        ),
        (
            "w * (c1 // 16)",
            '(CAST("w" AS INTEGER) * (CAST("c1" AS INTEGER) // 16))',
            '(CAST("w" AS INTEGER) * (CAST("c1" AS INTEGER) / 16))',
            "(CAST(`w` AS INTEGER) * (CAST(`c1` AS INTEGER) DIV 16))",
        ),
        (
            "CASE WHEN c0 IS NULL OR NOT c1 >= 7 THEN 0 ELSE w * -1 END",
            'CASE WHEN (("c0" IS NULL) OR (NOT ("c1" >= 7))) THEN 0 ELSE (CAST("w" AS INTEGER) * (-1)) END',
            'CASE WHEN (("c0" IS NULL) OR (NOT ("c1" >= 7))) THEN 0 ELSE (CAST("w" AS INTEGER) * (-1)) END',
            "CASE WHEN ((`c0` IS NULL) OR (NOT (`c1` >= 7))) THEN 0 ELSE (CAST(`w` AS INTEGER) * (-1)) END",
        ),
        (
            "c0 IN (1, 2) AND c1 <> 3",
            '(("c0" IN (1, 2)) AND ("c1" <> 3))',
            '(("c0" IN (1, 2)) AND ("c1" <> 3))',
            None,
        ),
        ("2147483647 + 2147483647", "(4294967294)", "(4294967294)", "(4294967294)"),
        ("c9 = 'l''été\\%'", "(\"c9\" = 'l''été\\%')", "(\"c9\" = 'l''été\\%')", "(`c9` = 'l\\'été\\\\%')"),
        ("c9 LIKE 'a\\_%'", "(\"c9\" LIKE 'a\\_%')", "(\"c9\" LIKE 'a\\\\_%')", "(`c9` LIKE 'a\\\\\\\\_%')"),
        (
            "c9 ILIKE 'A%'",
            "(TRANSLATE(\"c9\", 'A', 'a') LIKE 'a%')",
            "(TRANSLATE(\"c9\", 'A', 'a') LIKE 'a%')",
            "(TRANSLATE(`c9`, 'A', 'a') LIKE 'a%')",
        ),
        ("c9 ILIKE '7%'", "(\"c9\" LIKE '7%')", "(\"c9\" LIKE '7%')", "(`c9` LIKE '7%')"),
    ],
)
def test_each_dialect_is_told_the_same_in_its_own_words(
    text: str, in_duckdb: str, in_postgres: str, in_spark: str | None
) -> None:
    assert sql_writer.sql(tree(text), "duckdb", limits=LIMITS) == in_duckdb
    assert sql_writer.sql(tree(text), "postgres", limits=LIMITS) == in_postgres
    if in_spark is not None:
        assert sql_writer.sql(tree(text), "spark", limits=LIMITS) == in_spark


def test_totals_do_not_wrap_in_any_dialect() -> None:
    assert sql_writer.total(tree("w"), "duckdb", limits=LIMITS) == 'COALESCE(SUM("w"), 0)'
    assert sql_writer.total(tree("w"), "postgres", limits=LIMITS) == 'COALESCE(SUM("w"), 0)'
    assert sql_writer.total(tree("c2"), "postgres", limits=LIMITS) == "COALESCE(SUM(\"c2\" + BIGINT '0'), 0)"
    assert sql_writer.total(tree("w"), "spark", limits=LIMITS) == "COALESCE(SUM(CAST(`w` AS BIGINT)), 0)"
    assert sql_writer.total(tree("w"), "spark", limits={"w": 2**23}) == (
        "COALESCE((CAST(SUM(CAST(`w` AS BIGINT) DIV 1048576) AS DECIMAL(38, 0)) * 1048576 + "
        "SUM(CAST(`w` AS BIGINT) % 1048576)), 0)"
    )
    assert (
        sql_writer.total(tree("w"), "spark", limits={"w": 2**43})
        == "COALESCE(SUM(CAST(`w` AS DECIMAL(28, 0))), 0)"
    )


def test_our_own_functions_have_a_spelling_in_each_dialect() -> None:
    lookup = sql_writer.function("DICTIONARY", Column("city"), sql_writer.text("Oslo"), sql_writer.text("it's"))
    assert sql_writer.sql(lookup, limits=None) == "ENUM_CODE(TRY_CAST(\"city\" AS ENUM ('Oslo', 'it''s')))"
    assert sql_writer.sql(lookup, "postgres", limits=None) == (
        'CAST(CAST(\'{"Oslo": 0, "it\'\'s": 1}\' AS JSONB) ->> "city" AS INTEGER)'
    )
    assert sql_writer.sql(lookup, "spark", limits=None) == (
        "(NULLIF(ARRAY_POSITION(ARRAY('Oslo', 'it\\'s'), `city`), 0) - 1)"
    )
    days = sql_writer.function("DAYS_SINCE", Column("day"), sql_writer.typed("DATE", "2020-01-01"))
    assert sql_writer.sql(days, limits=None) == "(\"day\" - DATE '2020-01-01')"
    assert sql_writer.sql(days, "spark", limits=None) == "DATEDIFF(`day`, DATE '2020-01-01')"
    gently = sql_writer.cast(Column("v"), "WIDE", gently=True)
    assert sql_writer.sql(gently, limits=None) == 'TRY_CAST("v" AS HUGEINT)'
    with pytest.raises(ParameterError, match="postgres does not have the function TRY"):
        sql_writer.sql(gently, "postgres", limits=None)
    known = sql_writer.cast(Column("v"), "WIDE", gently=True, of="decimal")
    assert sql_writer.sql(known, limits=None) == 'TRY_CAST("v" AS HUGEINT)'
    assert sql_writer.sql(known, "postgres", limits=None) == 'ROUND("v")'


@pytest.mark.parametrize("value", ["a\0b", "half \ud83d"])
def test_texts_that_an_engine_could_misread_are_refused_before_they_are_sent(value: str) -> None:
    for dialect in ("duckdb", "postgres", "spark"):
        with pytest.raises(ParameterError, match="which not every engine accepts"):
            sql_writer.sql(nodes.Compare("=", Column("c9"), sql_writer.text(value)), dialect)


def test_names_cannot_break_out_of_their_quotes() -> None:
    assert sql_writer.sql(Column('a"; drop table rows --')) == '"a""; drop table rows --"'
    assert sql_writer.sql(Column("a`b"), "spark") == "`a``b`"


@pytest.mark.parametrize(
    "text",
    [
        "random()",
        "c0 / 2",
        "c0 % 2",
        "sum(c0)",
        "(select 1)",
        "c0 || 'a'",
        "now()",
        "c0::text",
        "abs(c0 - 1) + c0",
    ],
)
def test_what_is_not_on_the_list_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match=r"No engine evaluates|does not have the function"):
        sql_writer.sql(tree(text), limits=LIMITS)


def test_an_operator_that_is_not_on_the_list_is_refused() -> None:
    with pytest.raises(ParameterError, match="No engine evaluates"):
        sql_writer.sql(nodes.Compare("= 1 OR", Column("c0"), Int(1)))


def test_what_may_leave_126_bits_is_refused_before_it_runs() -> None:
    with pytest.raises(QuestionRefused, match="126 bits"):
        sql_writer.sql(tree("c3 * c3 * 4"), limits=LIMITS)
    with pytest.raises(QuestionRefused, match="126 bits"):
        sql_writer.total(tree("c3 * c3"), limits=LIMITS)
    with pytest.raises(ParameterError, match="positive constants"):
        sql_writer.sql(tree("c0 // c1"), limits=LIMITS)


# Interval arithmetic, against rows at the corners

COLUMNS = {"a": ("TINYINT", 127), "b": ("SMALLINT", 32767), "d": ("INTEGER", 2**31 - 1), "e": ("BIGINT", 2**62)}
LEAVES = st.sampled_from([*COLUMNS, "NULL"]).map(lambda name: nodes.Null() if name == "NULL" else Column(name)) | (
    st.integers(0, 2**40).map(Int)
)


def grown(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    pairs = st.tuples(st.sampled_from([nodes.Add, nodes.Sub, nodes.Mul]), inner, inner)
    operations = pairs.map(lambda p: p[0](p[1], p[2]))
    divisions = st.tuples(inner, st.integers(1, 1000)).map(lambda p: nodes.FloorDiv(p[0], Int(p[1])))
    cases = st.tuples(inner, inner, inner).map(
        lambda p: nodes.Case(((nodes.Compare(">", p[0], Column("b")), p[1]),), p[2])
    )
    negatives = inner.map(nodes.Neg)
    return st.one_of(operations, divisions, cases, negatives)


TREES = st.recursive(LEAVES, grown, max_leaves=8)


@settings(deadline=None, max_examples=150)
@given(TREES)
@example(nodes.Mul(nodes.Neg(Column("a")), Column("b")))  # its least value is at a corner of unlike ends
def test_no_row_overflows_and_every_value_is_within_the_derived_bounds(written: Expression) -> None:
    limits = {name: limit for name, (_, limit) in COLUMNS.items()}
    low, high = sql_writer.value_bounds(written, limits)
    try:
        text = sql_writer.sql(written, limits=limits)
    except QuestionRefused:  # more than 126 bits on the way
        return
    corners = " CROSS JOIN ".join(
        f"(VALUES (0::{kind}), ({limit}::{kind}), (NULL)) AS _{name}({name})"
        for name, (kind, limit) in COLUMNS.items()
    )
    found = duckdb.execute(f"SELECT min({text}), max({text}) FROM {corners}").fetchall()[0]
    assert all(value is None or low <= value <= high for value in found)


def test_a_case_without_columns_is_not_taken_for_its_least_branch() -> None:
    chosen = nodes.Case(((nodes.Compare("=", Int(1), Int(0)), Int(0)),), Int(1))
    written = sql_writer.sql(nodes.Mul(chosen, Int(9)), limits={})
    assert duckdb.connect().execute(f"SELECT {written}").fetchall() == [(9,)]
