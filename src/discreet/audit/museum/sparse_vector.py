"""The sparse vector technique, five times wrong.

The idea: draw noise for a threshold once, compare each query with it, with noise of its own, and pay for the
queries above only. All that is subtle is in the numbers: which noise has which scale, when to stop, what to show.
Lyu, Su and Li (2017) lined up six published versions, of which four are wrong; a library added the fifth fault.
Thresholds are 0 here, one person moves every query by at most 1, and all claim ε = 4: noise that narrow can be
walked through to the end.
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

# Neighbours: what one person does to the queries.
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
    """Compare the queries with a noisy line: what all versions have in common.

    `line` and `each` are the scales of the noise on the threshold and on each query, None for none. The run ends
    after so many `positives`, None for never. `numbers` shows the noisy values that were above.
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
    """Algorithm 1, with the scales of our own mechanism: those that waste least."""
    ours = Sparse(EPSILON, threshold=0, positives=positives)
    return answers(queries, line=ours.threshold_scale, each=ours.query_scale, positives=positives)


# -- 3: the number that was compared ----------------------------------------------------------------------------


def roth(queries: Queries) -> list[Any]:
    """Half of ε for the line, half for the queries, and show the noisy value found above."""
    half = Fraction(EPSILON, 2)
    return answers(queries, line=1 / half, each=1 / half, positives=1, numbers=True)


SPARSE_VECTOR_3 = Exhibit(
    name="sparse-vector-3",
    title="The noisy number that was compared is released",
    story=(
        "Sparse vector says of each query whether it is above a secret noisy line, and answers below cost nothing "
        "because a little shift of the line explains them all at once. Early lecture notes went on to release the "
        "noisy value of the query found above, the very number that was compared. But this number is an upper "
        "bound of the line. Once the line is pinned down it can shift no more, and every “below” before it is "
        "evidence that has not been paid for: the more of them, the larger the loss, without end."
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
    """A quarter of ε for the line, the rest for the queries, as if there were one positive; then give two."""
    quarter = Fraction(EPSILON, 4)
    return answers(queries, line=1 / quarter, each=1 / (3 * quarter), positives=2)


SPARSE_VECTOR_4 = Exhibit(
    name="sparse-vector-4",
    title="The noise does not grow with the number of positive answers",
    story=(
        "Negative answers are free, positive ones are not: each of the c that a run may give costs as much as the "
        "others, so the noise on the queries must be c times as wide, and twice that because the line may have "
        "moved the other way. A paper on frequent itemsets used noise for a single one. With c positives the loss "
        "is not ε but up to (1 + 6c)/4 times that."
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
    """Noise on the line only, and no end."""
    return answers(queries, line=Fraction(2, EPSILON), each=None, positives=None)


SPARSE_VECTOR_5 = Exhibit(
    name="sparse-vector-5",
    title="Only the threshold has noise",
    story=(
        "If the noise of the line can explain every answer at once, why add any to the queries? Because it can "
        "explain them only if they all move the same way. Take two queries, 0 and 1, which one person turns into "
        "1 and 0. “The first is below and the second above” happens for every line between them; after the change "
        "it never happens, wherever the line is. What was sold as ε has no bound at all."
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
    """Half of ε for the line, half for each query, and no end."""
    half = Fraction(EPSILON, 2)
    return answers(queries, line=1 / half, each=1 / half, positives=None)


SPARSE_VECTOR_6 = Exhibit(
    name="sparse-vector-6",
    title="The run never ends",
    story=(
        "Below is free, and above is free as well if one looks at it from the other side: so a paper reasoned "
        "that never stopped after a positive answer. Each direction alone is free, because the line can shift "
        "towards it. It cannot shift both ways at once. Queries of which half go up and half go down by one "
        "person's doing are as good as that many separate releases, and the loss grows with each pair."
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
    """The places of the weights above a noisy line, at two thirds of ε."""
    third = Fraction(EPSILON, 3)
    line = noise.discrete_laplace(1 / third)
    return [i for i, weight in enumerate(weights) if weight + noise.discrete_laplace(1 / third) >= line]


def overwritten(weights: Queries) -> list[Any]:
    """Set what was below to 0, add noise to one of those above, and overlook the others."""
    above = found_above(weights)
    given: list[Any] = [weight if i in above else 0 for i, weight in enumerate(weights)]
    if above:
        given[above[noise.uniform_below(len(above))]] += noise.discrete_laplace(Fraction(3, EPSILON))
    return given


def numeric(weights: Queries) -> list[Any]:
    """The first weight above the line, with noise of its own and scales of our own, and nothing of the others."""
    ours = NumericSparse(EPSILON, threshold=0)
    given = answers(weights, line=ours.threshold_scale, each=ours.query_scale, positives=1)
    if given[-1]:
        given[-1] = weights[len(given) - 1] + noise.discrete_laplace(ours.number_scale)
    return given


PASSED_WITHOUT_NOISE = Exhibit(
    name="passed-without-noise",
    title="What was accepted but not chosen goes out as it is",
    story=(
        "A filter for federated learning let sparse vector find the large weights of an update, took a random few "
        "of them, added noise to these, and set all that had been rejected to zero, in place. The weights that "
        "were accepted and then not taken belonged to neither list. They stayed in the array and left the client "
        "as they were. A release should be built up from what may be shown, never from the secret by overwriting "
        "it."
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
