"""Trees know their size and depth, are equal by structure, and are limited in size."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from discreet.engines.nodes import (
    Add,
    And,
    Boolean,
    Column,
    Compare,
    Expression,
    Float,
    Int,
    Like,
    Mul,
    Null,
    Text,
)
from discreet.errors import QuestionRefused
from discreet.query import ir
from discreet.query.bounds.reachable_values import attained
from discreet.query.question import Term

COLUMNS = {"c0": Term(ir.sealed("c0"), 0, 6), "c1": Term(ir.sealed("c1"), 0, 3, nullable=False)}

leaves = st.sampled_from(["c0", "c1"]).map(ir.sealed) | st.integers(0, 9).map(ir.number)


def grown(parts: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    conditions = st.builds(ir.compared, st.sampled_from(["<", "="]), parts, parts)
    return st.one_of(
        st.builds(ir.binary, st.sampled_from([Add, Mul]), parts, parts),
        st.builds(lambda tree: ir.binary(Mul, tree, tree), parts),  # twice in one
        st.builds(lambda met, tree: ir.case([(met, tree)], tree), conditions, parts),
        st.builds(lambda met, tree: ir.case([(ir.opposite(met), tree)]), conditions, parts),
        st.builds(lambda tree: ir.case([(ir.is_null(tree), tree)], ir.number(1)), parts),
        st.builds(lambda tree: ir.case([(ir.among(tree, [ir.number(3)]), tree)]), parts),
    )


TREES = st.recursive(leaves, grown, max_leaves=12)


def levels(node: exp.Expression) -> int:
    return 1 + max((levels(child) for child in node.iter_expressions()), default=0)


@given(tree=TREES)
@settings(max_examples=60, deadline=None)
def test_size_and_depth_are_those_of_the_text_as_another_parser_reads_it(tree: Expression) -> None:
    """They bound what an engine has to parse, so names, parentheses and WHENs count."""
    parsed: Any = parse_one(tree.sql(), read="duckdb")
    assert tree.size == sum(1 for _ in parsed.walk())
    assert tree.depth == levels(parsed)


@given(one=TREES, other=TREES)
@settings(max_examples=60, deadline=None)
def test_trees_are_equal_exactly_if_they_are_written_alike(one: Expression, other: Expression) -> None:
    again = pickle.loads(pickle.dumps(one))
    assert again == one
    assert hash(again) == hash(one)
    assert (again.sql(), again.size, again.depth) == (one.sql(), one.size, one.depth)
    assert (one == other) is (one.sql() == other.sql())
    assert len({one, again, other}) == len({one.sql(), other.sql()})


def test_nodes_of_different_types_or_operators_are_not_equal() -> None:
    trees: list[Expression] = [node(Column("c0"), Int(1)) for node in (Add, Mul, And)]
    trees += [Compare(name, Column("c0"), Int(1)) for name in ("=", "<", "<=")]
    trees += [Int(1), Float(1.0), Boolean(True), Text("1"), Text("c0"), Column("c0"), Null()]
    trees += [Like(Column("c0"), "a"), Like(Column("c0"), "a", caseless=True)]
    assert len(set(trees)) == len(trees)
    assert Int(1) != 1


@pytest.mark.parametrize("field", ["name", "size", "parts", "anything"])
def test_a_node_cannot_be_changed(field: str) -> None:
    with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
        setattr(Column("c0"), field, 3)
    with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
        setattr(Add(Column("c0"), Int(1)), field, 3)


def test_a_tree_grows_to_forty_thousand_nodes_and_no_further() -> None:
    """A column has 2 nodes, and each further one comes with an addition and, but for the first, parentheses."""
    tree = ir.sealed("c0")
    for _ in range(9_999):
        tree = ir.binary(Add, tree, ir.sealed("c0"))
    assert tree.size == 39_997
    with pytest.raises(QuestionRefused, match="more than 40000 parts"):
        ir.binary(Add, tree, ir.sealed("c0"))


@pytest.mark.parametrize("name", ["c0", "c1"])
@pytest.mark.parametrize("beside", [None, ir.compared("<", ir.sealed("c2"), ir.number(3))])
def test_a_column_by_itself_takes_all_of_its_codes(name: str, beside: Expression | None) -> None:
    """The shortcut for a plain column finds what trying all codes finds: adding 0 avoids the shortcut."""
    code = ir.sealed(name)
    found = attained(code, beside, COLUMNS)
    assert found == attained(Add(code, ir.number(0)), beside, COLUMNS)
    assert found == (list(range(COLUMNS[name].high + 1)), COLUMNS[name].nullable)


def test_a_column_that_is_filtered_takes_what_is_left_of_its_codes() -> None:
    few = ir.compared("<", ir.sealed("c0"), ir.number(2))
    assert attained(ir.sealed("c0"), few, COLUMNS) == ([0, 1], False)
