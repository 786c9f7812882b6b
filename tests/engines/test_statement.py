"""Statements are written, or refused, before an engine runs."""

from __future__ import annotations

import pytest

from discreet.engines.nodes import Column, Compare, Expression, Int, Mul
from discreet.engines.statement import Rows
from discreet.errors import QuestionRefused

ROWS = Rows("people", limits={"w": 4096, "c0": 110, "c1": 2**62})


def product(*columns: str) -> Expression:
    tree: Expression = Column(columns[0])
    for name in columns[1:]:
        tree = Mul(tree, Column(name))
    return tree


def test_declared_limits_decide_the_type_of_arithmetic() -> None:
    narrow = ROWS.sums(where=None, keys=[], sums=[product("w", "c0")])
    wide = ROWS.sums(where=None, keys=[], sums=[product("w", "c1")])
    assert "INTEGER" in narrow.select()
    assert "HUGEINT" in wide.select()


def test_what_may_leave_126_bits_is_refused_when_it_is_written() -> None:
    with pytest.raises(QuestionRefused, match="126 bits"):
        ROWS.sums(where=None, keys=[], sums=[product("w", "c1", "c1")])


def test_every_dialect_has_its_own_words_for_one_question() -> None:
    texts = {
        dialect: Rows("people", dialect, ROWS.limits).persons(where=None, keys=[Column("c0")], cap=4096).select()
        for dialect in ("duckdb", "postgres", "spark")
    }
    assert '"c0" AS k0' in texts["duckdb"]
    assert "`c0` AS k0" in texts["spark"]
    assert all("GROUP BY person, k0" in text for text in texts.values())


def test_spot_rows_are_one_more_condition() -> None:
    where = Compare("=", Column("c0"), Int(3))
    asked = ROWS.sums(where=where, keys=[], sums=[Column("w")], spot=True)
    assert asked.source == 'people WHERE ("c0" = 3) AND spot'
