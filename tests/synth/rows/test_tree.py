"""First rows follow a tree, and stay out of impossible cells."""

from __future__ import annotations

import numpy as np

from discreet.synth.marginals import Domain, Evidence, Measurement, estimate
from discreet.synth.rows.stream import Stream
from discreet.synth.rows.tree import broken, planted, possible, tree
from tests.synth.tables import tied


def test_the_tree_takes_the_strongest_pairs_and_rows_have_their_marginals() -> None:
    domain, codes = tied(4000)
    model = estimate(
        Evidence(domain, tuple(Measurement(p, domain.count(codes, p).astype(float), 1.0) for p in domain.sets(2)))
    )
    edges = {tuple(sorted(edge)) for edge in tree(model)}
    assert {(0, 1), (1, 2)} < edges
    rows = planted(model, 4000, Stream(0))
    assert np.abs(domain.count(rows, (0, 1)) - model.marginal((0, 1))).sum() / 4000 < 0.02


def test_rows_in_an_impossible_cell_are_drawn_again() -> None:
    """A chain of conditions, of which a tree of three columns can hold two at most: all must hold."""
    domain = Domain(("a", "b", "c"), (4, 4, 4))
    ones = tuple(Measurement((c,), np.full(4, 250.0), 1.0) for c in range(3))
    same = np.eye(4, dtype=bool)
    model = estimate(Evidence(domain, ones), impossible={(0, 1): same, (0, 2): same, (1, 2): same})
    rows = planted(model, 1000, Stream(0))
    assert not broken(rows, model.impossible).any()
    wrong = np.zeros((1000, 3), np.int32)
    assert broken(wrong, model.impossible).all()
    assert not broken(possible(wrong, model, Stream(0)), model.impossible).any()


def test_conditions_that_contradict_each_other_end() -> None:
    domain = Domain(("a", "b"), (2, 2))
    ones = tuple(Measurement((c,), np.full(2, 50.0), 1.0) for c in range(2))
    model = estimate(Evidence(domain, ones), impossible={(0, 1): np.ones((2, 2), bool)})
    assert planted(model, 10, Stream(0)).shape == (10, 2)
