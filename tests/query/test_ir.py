"""Trees know their size, share nothing that they should not, and stop growing in time."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp
from sqlglot.expressions import Expression

from discreet.errors import QuestionRefused
from discreet.query import ir
from discreet.query.bounds.reachable_values import attained
from discreet.query.question import Term

COLUMNS = {"c0": Term(ir.sealed("c0"), 0, 6), "c1": Term(ir.sealed("c1"), 0, 3, nullable=False)}

leaves = st.sampled_from(["c0", "c1"]).map(ir.sealed) | st.integers(0, 9).map(ir.number)


def grown(parts: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    conditions = st.builds(ir.compared, st.sampled_from(["<", "="]), parts, parts)
    return st.one_of(
        st.builds(ir.binary, st.sampled_from([exp.Add, exp.Mul]), parts, parts),
        st.builds(lambda tree: ir.binary(exp.Mul, tree, tree), parts),  # twice in one
        st.builds(lambda met, tree: ir.case([(met, tree)], tree), conditions, parts),
        st.builds(lambda met, tree: ir.case([(ir.opposite(met), tree)]), conditions, parts),
        st.builds(lambda tree: ir.case([(ir.is_null(tree), tree)], ir.number(1)), parts),
        st.builds(lambda tree: ir.case([(ir.among(tree, [ir.number(3)]), tree)]), parts),
    )


@given(tree=st.recursive(leaves, grown, max_leaves=12))
@settings(max_examples=60, deadline=None)
def test_a_tree_knows_how_many_nodes_it_has(tree: Expression) -> None:
    assert ir.nodes(tree) == sum(1 for _ in tree.walk())
    assert ir.nodes(tree.copy()) == ir.nodes(tree)


@given(tree=st.recursive(leaves, grown, max_leaves=12))
@settings(max_examples=30, deadline=None)
def test_every_node_has_the_parent_it_is_found_under(tree: Expression) -> None:
    for node in tree.walk():
        for child in node.iter_expressions():
            assert child.parent is node


def test_a_tree_grows_to_forty_thousand_nodes_and_no_further() -> None:
    """A column has 2 nodes, and each further one comes with an addition and, but for the first, parentheses."""
    tree = ir.sealed("c0")
    for _ in range(9_999):
        tree = ir.binary(exp.Add, tree, ir.sealed("c0"))
    assert ir.nodes(tree) == 39_997
    with pytest.raises(QuestionRefused, match="more than 40000 parts"):
        ir.binary(exp.Add, tree, ir.sealed("c0"))


@pytest.mark.parametrize("name", ["c0", "c1"])
@pytest.mark.parametrize("beside", [None, ir.compared("<", ir.sealed("c2"), ir.number(3))])
def test_a_column_by_itself_takes_all_of_its_codes(name: str, beside: Expression | None) -> None:
    """What is known without trying is what trying finds: parentheses hide that it is a column."""
    code = ir.sealed(name)
    found = attained(code, beside, COLUMNS)
    assert found == attained(exp.Paren(this=code.copy()), beside, COLUMNS)
    assert found == (list(range(COLUMNS[name].high + 1)), COLUMNS[name].nullable)


def test_a_column_that_is_filtered_takes_what_is_left_of_its_codes() -> None:
    few = ir.compared("<", ir.sealed("c0"), ir.number(2))
    assert attained(ir.sealed("c0"), few, COLUMNS) == ([0, 1], False)
