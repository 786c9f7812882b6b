"""Five broken versions of sparse vector are caught, by no more than they lose; the right one is not caught."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from discreet import noise
from discreet.audit.attacks import exact
from discreet.audit.museum import sparse_vector
from discreet.audit.museum.sparse_vector import EPSILON, Queries
from discreet.mechanisms import Exact, Sparse
from tests.mechanisms.output_laws import at_least, every_noise


def chance(answers: Sequence[bool], queries: Queries, line: Fraction, each: Fraction) -> float:
    """Return the probability of these answers, summed over the noise of the threshold."""
    rho, p = every_noise(line, 5)
    for query, above in zip(queries, answers, strict=True):
        p = p * at_least(each, rho - query if above else query - rho + 1)
    return float(np.sum(p))


def test_a_number_that_was_compared_makes_every_answer_below_cost_extra() -> None:
    """At ε = 4 a query costs 2: two answers below, which were not charged, and the number make at most 6."""
    found = sparse_vector.SPARSE_VECTOR_3.broken().found
    assert found is not None
    assert 5 < found < 6


def test_noise_for_one_positive_loses_more_than_is_claimed_already_with_two_queries() -> None:
    found = sparse_vector.SPARSE_VECTOR_4.broken().found
    P, Q = (chance((False, True), queries, Fraction(1), Fraction(1, 3)) for queries in ((0, 1), (1, 0)))
    assert found is not None
    assert math.log(P / Q) - 0.15 < found < math.log(P / Q)


def test_without_noise_on_the_queries_one_answer_is_impossible_for_the_neighbour() -> None:
    P, Q = (exact.law(partial(sparse_vector.stoddard, queries)) for queries in ((0, 1), (1, 0)))
    assert P.chance((False, True))[0] > 0.1
    assert (False, True) not in Q.chances
    found = sparse_vector.SPARSE_VECTOR_5.broken().found
    assert found is not None
    assert found > EPSILON + 3  # as far as the draws were enumerated


def test_a_run_without_end_loses_more_with_every_query() -> None:
    half = Fraction(1, 2)
    lost = [
        math.log(
            chance((False, True) * pairs, (0, 1) * pairs, half, half)
            / chance((False, True) * pairs, (1, 0) * pairs, half, half)
        )
        for pairs in (1, 2, 4, 8)
    ]
    assert lost[0] < EPSILON < lost[1]
    assert all(later > 1.5 * earlier for earlier, later in pairwise(lost))


def test_what_passes_without_noise_is_the_weight_itself() -> None:
    with noise.deterministic(1):
        releases = [sparse_vector.overwritten((1000, 1001)) for _ in range(50)]
    assert all(int(a) == 1000 or int(b) == 1001 for a, b in releases)
    assert any(int(a) != 1000 for a, _ in releases)


@pytest.mark.parametrize("positives", [1, 2])
def test_the_mended_one_has_the_law_of_the_mechanism_that_is_shipped(positives: int) -> None:
    shipped = Sparse(EPSILON, threshold=0, positives=positives)
    ours = exact.law(lambda: shipped.release(Exact([0, 1], sensitivity=1)), unexplored="1e-3")
    museum = exact.law(lambda: sparse_vector.as_it_should_be((0, 1), positives=positives), unexplored="1e-3")
    for answers in museum.chances:
        assert museum.chance(answers)[0] == pytest.approx(ours.chance(answers)[0], abs=1e-3)
