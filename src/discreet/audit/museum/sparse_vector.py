"""Show five wrong versions of the sparse vector technique.

The idea: draw noise for a threshold once, add noise to each query, compare the two, and charge only for the
queries above. The details decide: the scale of each noise, when to stop, what to show. Lyu, Su and Li (2017)
compared six published versions, of which four are wrong; a library added the fifth fault. Here thresholds are 0,
every query has sensitivity 1, and all versions claim ε = 4: so little noise can be enumerated to the end.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from discreet import noise, privacy
from discreet.audit.attacks import exact
from discreet.audit.inputs.subject import Subject
from discreet.audit.museum.exhibit import Exhibit
from discreet.audit.report.verdict import Verdict
from discreet.mechanisms import NumericSparse, Sparse

EPSILON = 4

Queries = tuple[int, ...]

# Neighbours: how one person changes the queries.
_CROSSING = ((0, 1), (1, 0))
_MANY_CROSSINGS = ((0, 1, 1), (1, 0, 0))
_SMALL_THEN_LARGE = ((0, 0, 1), (1, 1, 0))
_UPDATES = ((3, 3), (2, 2))


def _attacked(
    name: str, release: Callable[[Queries], Any], pair: tuple[Queries, Queries], *, unexplored: str = "2e-4"
) -> Verdict:
    subject = Subject(name=name, release=release, loss=privacy.Pure(EPSILON), pairs=[pair])
    return exact.attack(subject, unexplored=unexplored)


def answers(
    queries: Queries, *, line: Fraction, each: Fraction | None, positives: int | None, numbers: bool = False
) -> list[Any]:
    """Compare the queries with a noisy threshold: the code that all versions share.

    Args:
        queries: The exact values of the queries.
        line: The scale of the noise on the threshold.
        each: The scale of the noise on each query, None for no noise.
        positives: The run ends after this many positive answers, None for never.
        numbers: Whether to release the noisy values that were above.
    """
    threshold = noise.discrete_laplace(line)
    given: list[Any] = []
    left = positives
    for query in queries:
        noisy = query if each is None else query + noise.discrete_laplace(each)
        above = bool(noisy >= threshold)
        given.append(noisy if above and numbers else above)
        left = left if left is None else left - above
        if left == 0:
            break
    return given


def as_it_should_be(queries: Queries, *, positives: int = 1) -> list[Any]:
    """Run algorithm 1, with the scales of our own mechanism."""
    ours = Sparse(EPSILON, threshold=0, positives=positives)
    return answers(queries, line=ours.threshold_scale, each=ours.query_scale, positives=positives)


# -- 3: the number that was compared ----------------------------------------------------------------------------


def roth(queries: Queries) -> list[Any]:
    """Use half of ε for the threshold, half for the queries, and release the noisy value found above."""
    half = Fraction(EPSILON, 2)
    return answers(queries, line=1 / half, each=1 / half, positives=1, numbers=True)


SPARSE_VECTOR_3 = Exhibit(
    name="sparse-vector-3",
    title="The noisy number that was compared is released",
    story=(
        "Sparse vector tells of each query whether it is above a secret noisy threshold. Answers below are free, "
        "because a small shift of the threshold explains them all at once. Early lecture notes also released the "
        "noisy value of the query found above, the very number that was compared. But this number is an upper "
        "bound of the threshold. Once the threshold is known, it can no longer shift, and every “below” before it "
        "is evidence that was not charged: the loss grows with their number, without a limit."
    ),
    sources=("Lyu, Su and Li 2017, algorithm 3", "Roth 2011, lecture notes on the sparse vector technique"),
    broken=lambda: _attacked("sparse vector, algorithm 3", roth, _SMALL_THEN_LARGE),
    mended=lambda: _attacked("sparse vector, algorithm 1", as_it_should_be, _SMALL_THEN_LARGE),
    ours=(
        "NumericSparse draws fresh noise for the number, at a cost of its own "
        "(test_numbers_near_the_threshold_are_not_the_noisy_values_that_were_compared in "
        "tests/mechanisms/test_sparse_vector_exact.py)."
    ),
)


# -- 4: noise that forgets how many positives there may be ------------------------------------------------------


def lee_clifton(queries: Queries) -> list[Any]:
    """Use a quarter of ε for the threshold and the rest for the queries, as for one positive; then give two."""
    quarter = Fraction(EPSILON, 4)
    return answers(queries, line=1 / quarter, each=1 / (3 * quarter), positives=2)


SPARSE_VECTOR_4 = Exhibit(
    name="sparse-vector-4",
    title="The noise does not grow with the number of positive answers",
    story=(
        "Negative answers are free, positive ones are not: each of the c positive answers of a run costs the "
        "same. So the noise on the queries must be c times as wide, and twice that because the threshold may have "
        "shifted the other way. A paper on frequent itemsets used noise for a single positive. With c positives "
        "the loss is not ε but up to (1 + 6c)/4 times that."
    ),
    sources=("Lyu, Su and Li 2017, algorithm 4", "Lee and Clifton 2014, Top-k frequent itemsets"),
    broken=lambda: _attacked("sparse vector, algorithm 4", lee_clifton, _CROSSING),
    mended=lambda: _attacked(
        "sparse vector, algorithm 1, two positives", partial(as_it_should_be, positives=2), _CROSSING
    ),
    ours=(
        "Sparse.query_scale is 2·positives·Δ/ε₂ "
        "(test_a_long_row_of_small_queries_before_the_large_ones_comes_close_to_epsilon in "
        "tests/mechanisms/test_sparse_vector_exact.py)."
    ),
)


# -- 5: no noise on the queries ---------------------------------------------------------------------------------


def stoddard(queries: Queries) -> list[Any]:
    """Add noise to the threshold only, and never stop."""
    return answers(queries, line=Fraction(2, EPSILON), each=None, positives=None)


SPARSE_VECTOR_5 = Exhibit(
    name="sparse-vector-5",
    title="Only the threshold has noise",
    story=(
        "If the noise of the threshold can explain every answer at once, why add noise to the queries? Because it "
        "can explain them only if they all change in the same direction. Take two queries, 0 and 1, which one "
        "person turns into 1 and 0. “The first is below and the second above” happens for every threshold between "
        "them; after the change it never happens, for any threshold. The claimed ε has no bound at all."
    ),
    sources=("Lyu, Su and Li 2017, algorithm 5", "Stoddard, Chen and Machanavajjhala 2014"),
    broken=lambda: _attacked("sparse vector, algorithm 5", stoddard, _CROSSING),
    mended=lambda: _attacked("sparse vector, algorithm 1", as_it_should_be, _CROSSING),
    ours=(
        "Every query gets noise of its own, and a run ends with its last positive "
        "(test_no_answers_to_three_queries_give_away_more_than_epsilon in "
        "tests/mechanisms/test_sparse_vector_exact.py)."
    ),
)


# -- 6: no end --------------------------------------------------------------------------------------------------


def chen(queries: Queries) -> list[Any]:
    """Use half of ε for the threshold, half for each query, and never stop."""
    half = Fraction(EPSILON, 2)
    return answers(queries, line=1 / half, each=1 / half, positives=None)


SPARSE_VECTOR_6 = Exhibit(
    name="sparse-vector-6",
    title="The run never ends",
    story=(
        "Answers below are free, and answers above are free as well if one looks from the other side: so argued a "
        "paper that never stopped after a positive answer. Each direction alone is free, because the threshold "
        "can shift towards it. It cannot shift both ways at once. If one person makes half of the queries rise "
        "and the other half fall, they are as good as that many separate releases, and the loss grows with each "
        "pair."
    ),
    sources=("Lyu, Su and Li 2017, algorithm 6", "Chen, Xiao, Zhang and Xu 2015"),
    broken=lambda: _attacked("sparse vector, algorithm 6", chen, _MANY_CROSSINGS),
    mended=lambda: _attacked("sparse vector, algorithm 1", as_it_should_be, _MANY_CROSSINGS),
    ours=(
        "A run refuses to go on after its last positive (test_a_run_halts_after_its_last_positive in "
        "tests/mechanisms/test_sparse_vector.py)."
    ),
)


# -- and one in a library ---------------------------------------------------------------------------------------


def found_above(weights: Queries) -> list[int]:
    """Return the positions of the weights above a noisy threshold, at two thirds of ε."""
    third = Fraction(EPSILON, 3)
    line = noise.discrete_laplace(1 / third)
    return [i for i, weight in enumerate(weights) if weight + noise.discrete_laplace(1 / third) >= line]


def overwritten(weights: Queries) -> list[Any]:
    """Set the weights below to 0, add noise to one of those above, and forget the others."""
    above = found_above(weights)
    given: list[Any] = [weight if i in above else 0 for i, weight in enumerate(weights)]
    if above:
        given[above[noise.uniform_below(len(above))]] += noise.discrete_laplace(Fraction(3, EPSILON))
    return given


def numeric(weights: Queries) -> list[Any]:
    """Release the first weight above the threshold with fresh noise, at our own scales, and no other weight."""
    ours = NumericSparse(EPSILON, threshold=0)
    given = answers(weights, line=ours.threshold_scale, each=ours.query_scale, positives=1)
    if given[-1]:
        given[-1] = weights[len(given) - 1] + noise.discrete_laplace(ours.number_scale)
    return given


PASSED_WITHOUT_NOISE = Exhibit(
    name="passed-without-noise",
    title="A weight that was accepted but not chosen is released without noise",
    story=(
        "A filter for federated learning let sparse vector find the large weights of an update, chose a few of "
        "them at random, added noise to these, and set all rejected weights to zero, in place. The weights that "
        "were accepted but not chosen belonged to neither list. They stayed in the array and left the client "
        "without noise. A release should be built up from what may be shown, never by overwriting parts of the "
        "secret."
    ),
    sources=("NVIDIA/NVFlare#343",),
    broken=lambda: _attacked("weights filtered in place", overwritten, _UPDATES, unexplored="4e-3"),
    mended=lambda: _attacked("numeric sparse vector", numeric, _UPDATES, unexplored="4e-3"),
    ours=(
        "Only a mechanism opens an exact value, and what it returns is built from noisy numbers "
        "(test_every_way_to_look_inside_is_refused_and_says_nothing in tests/mechanisms/test_exact.py, "
        "test_numbers_lose_no_more_than_their_half in tests/mechanisms/test_sparse_vector_exact.py)."
    ),
)

EXHIBITS = (SPARSE_VECTOR_3, SPARSE_VECTOR_4, SPARSE_VECTOR_5, SPARSE_VECTOR_6, PASSED_WITHOUT_NOISE)
