"""List the mechanisms of `oracle`, and those of questions, as subjects of an attack.

They take a histogram and queries: they run on tiny domains, and what is seen of a whole run is compared. The
histograms and queries are aimed at the thresholds (`inputs.transcripts`), so that the loss comes near the claim:

    PrivateMultiplicativeWeights   a person who joins moves one query away from the hypothesis and another one to
                                   it; one update is made, so the claim is 2ε₀, and all of it is lost
    HardtRothblum                  a query at the threshold is asked again and again: a lazy round tells a little
    BLR                            one query, and databases of one row: a person moves the two scores apart
    Watch                          the threshold test of the practical oracle, which has one-sided noise
    Quantiles                      the value of a median, of which a person moves all scores
    Intervals                      the tree of noisy sums around quantiles: a person moves a sum of each level
    Residuals                      what an oracle measures first, of one column
    Certificate                    the largest error of a table over all boxes: a person moves it by a row
    Span with a test               a whole oracle as it is planned (`oracle_conversation`)
    Selection                      partition selection of questions with string keys: towns near the threshold
    Alone                          its δ: a person is alone in two towns
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np

from discreet import oracle
from discreet.audit.attacks import pieces
from discreet.audit.blackbox import blackbox
from discreet.audit.inputs.subject import Subject
from discreet.audit.inputs.transcripts import followed
from discreet.audit.replay import transcript
from discreet.audit.report.verdict import Verdict
from discreet.audit.shipped.oracle_conversation import span_with_test
from discreet.errors import BudgetExceeded
from discreet.kernel import threshold_test
from discreet.mechanisms import Exact, Gaussian, Sensitivity
from discreet.mechanisms.exact import ExactByKey
from discreet.oracle.span.box_search import largest_error
from discreet.oracle.span.residuals import residual, sensitivity
from discreet.oracle.span.strategy import strategy
from discreet.privacy.losses import Approximate
from discreet.query.plan import quantiles
from discreet.query.plan.partition_selection import Selection, selection
from discreet.query.question import Term
from discreet.schema.metadata import UNIT

Counts = Sequence[int]

_TIMES = 4  # queries that are "below" although they are above
_AIMS = (False,) * _TIMES + (True,)
_GAP = 9  # codes of each gap in the data
_ROUNDS = 12  # lazy rounds of Hardt and Rothblum's algorithm

WATCH = threshold_test.Watch(1, threshold=4, monotonic=True)


def public_oracles() -> list[str]:
    """Return the names of all public mechanisms of `oracle`, which answer queries about a histogram.

    >>> "MWEM" in public_oracles()
    True
    """
    public = {name: getattr(oracle, name) for name in oracle.__all__}
    return [name for name, thing in public.items() if hasattr(thing, "release") and hasattr(thing, "loss")]


@cache
def oracles() -> dict[str, Subject]:
    """Return one subject for each of them. The number of rows is declared, and need not be that of the table.

    >>> oracles()["BLR"].name
    'BLR(epsilon=1, cells=2, size=1)'
    """
    return {
        "PrivateMultiplicativeWeights": _weights(),
        "HardtRothblum": _lazy(),
        "MWEM": _mwem(),
        "BLR": _blr(),
        "Watch": _watch(),
        "Quantiles": _quantiles(),
        "Intervals": _intervals(pure=True),
        "Intervals, Gaussian": _intervals(pure=False),
        "Selection": _partitions(),
        "Alone": _alone(),
        "Residuals": _residuals(),
        "Certificate": _certificate(),
        "Span with a test": span_with_test(),
    }


def _weights() -> Subject:
    """Return a run that makes one update: "below" for [1, 1], then "above" for [1, 0], with a low number."""
    mechanism = oracle.PrivateMultiplicativeWeights(alpha="2.4", each=1, cells=2, rows=2, queries=8, failure="0.5")
    high = mechanism.line.threshold + 11
    queries = [*[[1, 1]] * _TIMES, [1, 0]]

    def release(counts: Counts) -> list[Any]:
        run = mechanism.start(Exact(list(counts), 1))

        def ask(query: list[int]) -> Any:
            answer = run.ask(query)
            return -int(answer.value) if answer.paid else None

        return followed(ask, queries, _AIMS, middle=0)

    name = "PrivateMultiplicativeWeights(epsilon=2, cells=2, updates=1)"
    return _transcripts(name, release, mechanism.loss, [((0, high + 2), (1, high + 2))])


def _lazy() -> Subject:
    """Return lazy rounds up to the first answer that is shown, at which the run is over."""
    mechanism = oracle.HardtRothblum(epsilon=1, delta="0.5", cells=2, rows=1, queries=1, failure="0.05")
    at = mechanism.threshold

    def release(counts: Counts) -> int:
        run = mechanism.start(Exact(list(counts), 1))
        for lazy in range(_ROUNDS):
            try:
                if run.ask([1, 0]).paid:
                    return lazy
            except BudgetExceeded:
                return lazy
        return _ROUNDS

    name = "HardtRothblum(epsilon=1, delta=0.5, cells=2, rows=1)"
    return _transcripts(name, release, mechanism.loss, [((at, 0), (at + 1, 0))], pivots=())


def _mwem() -> Subject:
    workload = oracle.Queries([[1, 0], [1, 1]])
    mechanism = oracle.MWEM.for_epsilon(6, queries=workload, rows=16, rounds=1)
    return Subject(
        name="MWEM(epsilon=6, cells=2, rounds=1)",
        release=lambda counts: mechanism.release(Exact(counts, 1)).measured,
        loss=mechanism.loss,
        pairs=[([15, 0], [16, 0]), ([0, 5], [0, 4])],
    )


def _blr() -> Subject:
    mechanism = oracle.BLR(epsilon=1, queries=oracle.Queries([[1, 0]]), rows=12, size=1)
    return Subject(
        name="BLR(epsilon=1, cells=2, size=1)",
        release=lambda counts: mechanism.release(Exact(counts, 1)).tolist(),
        loss=mechanism.loss,
        pairs=[([0, 5], [1, 5]), ([5, 5], [6, 5])],
    )


def _watch() -> Subject:
    """Return a query at the threshold that is "below", and then one that is not. A person raises the first.

    The noise is geometric, which forgets: a query at the threshold tells as much as one that is far above.
    """
    sealed: Callable[[int], Exact] = cache(
        lambda count: Exact(count, Sensitivity(entries=1, each=1, monotonic="up"))
    )

    def release(counts: Counts) -> list[Any]:
        run = threshold_test.start(WATCH, "up", 0)
        return followed(lambda count: run.gap(sealed(count)), counts, (False, True), middle=0)

    at = WATCH.threshold
    return _transcripts("Watch(epsilon=1, threshold=4)", release, WATCH.loss, [((at, at), (at + 1, at))])


def _quantiles() -> Subject:
    """Return the value of a median, as whether it is in the last gap of the data.

    The data has two gaps, and the target is in the first. A person who joins at the last code raises the scores
    of all codes of the second gap, and lowers those of the others. Its interval is a subject of its own.
    """
    ranking = _median(2 * _GAP + 2, pure=False)
    (value,), (half,) = ranking.values, ranking.probabilities
    counts = [0] * ranking.cells
    counts[0] = counts[_GAP + 1] = 3

    def release(histogram: Counts) -> bool:
        scores = quantiles.scores(np.array(histogram, np.int64) * UNIT, half)
        return int(value.release(Exact(scores, Sensitivity(each=value.sensitivity)))) > _GAP + 1

    pairs = [(tuple(counts), (*counts[:-1], 1))]
    return Subject(name=f"median({ranking.cells} codes)", release=release, loss=value.loss, pairs=pairs)


def _intervals(*, pure: bool) -> Subject:
    """Return running totals around a median that is given: all rows of a person are in one leaf of the tree.

    With Gaussian noise there are so many leaves that several levels are released, each of which a person moves.
    """
    ranking = _median(7 if pure else 31, pure=pure, rows_per_person=2)

    def release(rows: list[dict[str, int]]) -> list[float]:
        leaves = np.zeros((1, ranking.tree.leaves), np.int64)
        for row in rows:
            leaves[0, row["code"]] += UNIT
        return [float(total) for total in quantiles.running(ranking, leaves)[0]]

    others = [{"code": code} for code in (1, 4, 6)]
    law = "Laplace" if pure else "Gaussian"
    return Subject(
        name=f"interval of a median, {law}",
        release=release,
        loss=ranking.noise.loss,
        pairs=[(others, [*others, {"code": 3}, {"code": 3}]), ([], [{"code": 0}, {"code": 0}])],
        attacks={"transcript": transcript.attack},
    )


def _median(last: int, *, pure: bool, rows_per_person: int = 1) -> quantiles.Ranking:
    """Return the mechanisms of a median of the codes from 0 to `last`."""
    return quantiles.ranking(
        Term(None, 0, last),  # type: ignore[arg-type]
        [Fraction(1, 2)],
        Fraction(3, 2),
        pure=pure,
        rows_per_person=rows_per_person,
        groups=1,
        alpha=Fraction(1, 20),
    )


def _residuals() -> Subject:
    """Return the residual of a column of three levels: one person more is in one of them, with one row."""
    strategies = [strategy(3, 0)]
    mechanism = Gaussian(3, sensitivity(1, strategies))

    def release(counts: Counts) -> list[int]:
        moved = residual(np.array(counts), strategies)
        found: Any = mechanism.release(Exact(moved, sensitivity(1, strategies)))
        return [int(number) for number in found]

    near = [([2, 1, 0], [2, 1, 1]), ([0, 0, 0], [1, 0, 0])]
    return Subject(name="residual of 3 levels", release=release, loss=mechanism.loss, pairs=near)


def _certificate() -> Subject:
    """Return the noisy largest error of a frozen table of two columns: one person more is in one of its cells."""
    table, one = np.array([[3, 0], [1, 2]]), Sensitivity(entries=1, each=1)
    mechanism = Gaussian(3, one)

    def release(counts: Counts) -> int:
        error = largest_error(np.array(counts).reshape(2, 2) - table, [True, False])
        return int(mechanism.release(Exact(error, one)))

    near = [([3, 1, 1, 2], [3, 2, 1, 2]), ([0, 0, 1, 2], [1, 0, 1, 2])]
    return Subject(name="certificate of 2 × 2 cells", release=release, loss=mechanism.loss, pairs=near)


def _partitions() -> Subject:
    """Return partition selection among towns: one person more is in two, alone, or with others near the threshold.

    That two towns are kept although both are below the threshold, or that neither is although both are above,
    loses nearly what Gaussian noise on both may. The δ is so small that the noise is nearly all of the claim.
    """
    chosen = selection(rho=1, delta="1e-9", rows_per_person=2, unit=1)
    few, many = chosen.threshold - 2, chosen.threshold + 2
    near: list[tuple[Any, Any]] = [({}, {"Foula": 1, "Unst": 1})]
    near += [({"Bath": count, "Rye": count}, {"Bath": count + 1, "Rye": count + 1}) for count in (few, many)]
    return Subject(
        name="Selection(rho=1, delta=1e-09, rows_per_person=2)",
        release=partial(_kept, chosen),
        loss=chosen.losses,
        pairs=near,
    )


def _alone() -> Subject:
    """Return partition selection of a person who is alone in two towns. On the empty table the δ is all there is.

    The noise is wide, so that the threshold is not rounded up by much.
    """
    chosen = selection(rho="1/400", delta="1e-2", rows_per_person=2, unit=1)
    return Subject(
        name="Selection(delta=0.01, a person alone)",
        release=partial(_kept, chosen),
        loss=Approximate(0, chosen.delta),
        pairs=[({}, {"Foula": 1, "Unst": 1})],
        attacks={"piecewise": partial(pieces.attack, pivots=())},
    )


def _kept(chosen: Selection, towns: dict[str, int]) -> list[str | None]:
    presence = ExactByKey({(town,): count for town, count in towns.items()}, chosen.mechanism.sensitivity)
    return [partition[0] for partition in chosen.release(presence, most=10)]


def _transcripts(name: str, release: Any, loss: Any, pairs: Any, *, pivots: tuple[int, ...] = (0,)) -> Subject:
    attacks: dict[str, Callable[[Subject], Verdict]] = {
        "piecewise": partial(pieces.attack, pivots=pivots),
        "black box": blackbox.attack,
    }
    return Subject(name=name, release=release, loss=loss, pairs=pairs, attacks=attacks)
