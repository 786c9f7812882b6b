"""The counts that rows should have are the model's answers; of many columns only some sets are listed."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from discreet.synth.marginals import Domain, Evidence, Measurement, estimate
from discreet.synth.marginals.domain import Columns
from discreet.synth.rows.targets import MOST_PAIRS, counts_of, pairs_of, tables_of, triples_of
from tests.synth.tables import tied


def test_tables_are_those_of_the_model() -> None:
    domain, codes = tied(3000)
    measured = [*domain.sets(2), (0, 3, 4)]
    model = estimate(
        Evidence(domain, tuple(Measurement(s, domain.count(codes, s).astype(float), 4.0) for s in measured))
    )
    for columns, table in tables_of(model, [*domain.sets(1), *domain.sets(2), *domain.sets(3)]).items():
        assert np.abs(table - model.marginal(columns)).sum() < 3e-4 * model.total  # each within rake's tolerance


def test_counts_are_exact_in_32_bits() -> None:
    """They are multiples of 1/256, so that counts minus these, and sums of these, have no round-off."""
    wanted = counts_of({(0,): np.array([1.0, 2.0, 4.0])}, 60_000)[0,]
    assert (wanted * 256 == np.rint(wanted * 256)).all()
    assert ((wanted - np.float32(3)).astype(float) == wanted.astype(float) - 3).all()


def test_of_many_columns_the_tied_ones_are_listed() -> None:
    width = 120
    domain = Domain(tuple(f"c{i}" for i in range(width)), (2,) * width)
    ones = tuple(Measurement((c,), np.array([60.0, 40.0]), 1.0) for c in range(width))
    pair = Measurement((7, 90), np.array([[60.0, 0.0], [0.0, 40.0]]), 1.0)
    ties: dict[Columns, float] = {(7, 90): 96.0, (7, 11): 5.0}
    model = estimate(Evidence(domain, (*ones, pair)), ties)
    triples = triples_of(model, 50)
    assert len(triples) == 50
    assert (7, 11, 90) in triples
    assert {(7, 90), (7, 11)} <= {pair for t in triples for pair in combinations(t, 2)}
    assert (
        sum({7, 90} <= set(t) for t in triples) > 10
    )  # of 18 columns that are looked at, 16 make a triple with these
    pairs = pairs_of(model)
    assert (7, 90) in pairs
    assert MOST_PAIRS <= len(pairs) < MOST_PAIRS + width
