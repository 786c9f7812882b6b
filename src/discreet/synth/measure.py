"""Measure noisy marginals, chosen by noisy scores, in two rounds: the private algorithm.

    one-way marginals ─▶ scores of all pairs ─▶ the pairs worth it ─▶ scores of what is left ─▶ pairs and triples
          10 %             3 to 10 %                   60 %                     3 %                    24 %

A score is ‖M − E‖₁, the distance of the exact marginal from the prediction of the model so far, in integers.
Everything that touches data is here and goes through three calls of a Gaussian mechanism, whose budgets are
fixed in advance. The choice of the marginals, and the division of a round's budget among them, follow from earlier
releases. Nothing else reads the data: the estimates between the rounds are post-processing.
Theory: docs/theory/synthesis.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from math import comb, sqrt
from typing import TypeAlias, cast

import numpy as np

from discreet import noise
from discreet.kernel.gaussian_budget import Unit, parts
from discreet.mechanisms import Exact, Gaussian
from discreet.mechanisms.exact import LIMIT, Integers
from discreet.synth.marginals.domain import Columns, Domain, Floats
from discreet.synth.marginals.estimate import Masks, estimate
from discreet.synth.marginals.measurements import Evidence, Measurement
from discreet.synth.marginals.model import Model
from discreet.synth.select import (
    C,
    Candidate,
    chosen,
    filled,
    forest,
    removable,
    shrunk,
    single_errors,
    spoiled,
)
from discreet.synth.workload import MOST_TRIPLES, Matter, listable, matter_of, most_tied, promising, triples_of

Source: TypeAlias = Callable[[Columns], Integers]
"""Returns the exact sums of weights over the cells of a marginal, as a flat array: private."""

Progress: TypeAlias = Callable[[str, float], None]
"""Called with the present step and the share of the work that is done, from 0 to 1."""

ONES = 0.1
"""The share of ρ for one-way marginals."""

SCORES, MOST_SCORES = 0.03, 0.1
"""The share of the rest for either kind of scores; scores of pairs get up to the second if noise is large."""

SINGLES = 2.0
"""How much more a single column counts than its workload says: shrinkage removes less noise of its few cells."""

TOTAL = 0.5
"""How much the number of rows counts beside single columns, where columns alone would say little about it."""

FIRST = 0.7
"""The share of the first round, of what is left for marginals."""

# Scores of m pairs with a deviation above m^¼ times this share of the rows: only single columns are worth it. Of
# more pairs more noise is bearable, because the mean of all scores is known √m times as well as each.
_HOPELESS = 0.11
_VAGUE = 0.5  # the precision of the total beside that of a cell, below which the total is measured by itself
_TAKEN = 0.3  # the share of all pairs that is measured, about, where noise is too large for triples
_SHARP = 0.08  # scores of pairs get more than their share if their deviation would be above this share of the rows
_BLURRED = 0.08  # scores of triples with a deviation above this share of the rows carry no information
_SURE = 1.5  # a score is lowered by so many deviations, so that a chosen marginal is off almost surely
_STRONG = 0.3  # a pair of the tree that is off by this share of the rows beyond doubt is measured in any case
_DOUBT = 3.0  # a pair whose score is so many deviations above what noise explains is tied


@dataclass(frozen=True)
class Score:
    """The noisy distance of a marginal from its prediction when it was scored, in rows."""

    columns: Columns
    value: float
    deviation: float


@dataclass
class Released:
    """Everything released so far, in rows, with its noise.

    `stages` has the number of measurements when scores were taken: scores are distances from the model of those.
    """

    domain: Domain
    unit: Unit
    scale: float
    measurements: list[Measurement] = field(default_factory=list)
    scores: dict[str, list[Score]] = field(default_factory=dict)
    stages: dict[str, int] = field(default_factory=dict)
    noises: list[Gaussian] = field(default_factory=list)
    test_bits: bool = False

    @property
    def evidence(self) -> Evidence:
        """The measurements."""
        return Evidence(self.domain, tuple(self.measurements))

    @property
    def ties(self) -> dict[Columns, float]:
        """The distances of pairs from independence when they were scored."""
        return {score.columns: max(score.value, 0.0) for score in self.scores.get("pairs", [])}


def drawable(rho: Fraction, unit: Unit, columns: int) -> bool:
    """Return whether noise can be drawn for every step whose ρ is fixed in advance: one-way marginals and scores.

    It is public before the charge. Only a third or half of their shares is assumed, because rounding, the
    number of rows and the numbers of rows per person take some of them.
    """
    scored = max(comb(columns, 2), MOST_TRIPLES)
    return unit.affords(rho * Fraction(ONES) / 3 / columns) and unit.affords(rho * Fraction(SCORES) / 2, scored)


def one_way(domain: Domain) -> dict[Columns, float]:
    """Return the shares of one-way marginals, and last, if columns have many levels, of the number of rows.

    A column of n levels, each with noise of variance v, says how many rows there are with variance n·v: if it has
    300 levels, with 17 times the deviation of a cell. The error of the total is in the share of every cell, and of
    a frequent value it was the largest. So the total is measured by itself where it would be that vague. It is a
    marginal over no column, of the same sensitivity.

    >>> one_way(Domain(("a", "b"), (2, 90))), one_way(Domain(("a", "b"), (70, 90)))
    ({(0,): 1.0, (1,): 1.0}, {(0,): 1.0, (1,): 1.0, (): 0.5})
    """
    shares: dict[Columns, float] = {(column,): 1.0 for column in range(len(domain))}
    vague = len(domain) > 1 and sum(1 / size for size in domain.sizes) < _VAGUE
    return {**shares, (): TOTAL} if vague else shares


def measure(released: Released, source: Source, budgets: Mapping[Columns, Fraction]) -> None:
    """Measure marginals, each with its part of ρ."""
    for columns, rho in budgets.items():
        mechanism = released.unit.marginal(rho)
        noisy = cast(Integers, mechanism.release(Exact(source(columns), released.unit.sensitivity)))
        released.test_bits |= noise.is_test_noise(noisy)
        values = np.asarray(noisy, float).reshape(released.domain.shape(columns)) / released.scale
        variance = float(mechanism.variance) / released.scale**2
        released.measurements.append(Measurement(columns, values, variance))
        released.noises.append(mechanism)


def score(
    released: Released,
    source: Source,
    sets: Sequence[Columns],
    predicted: Callable[[Columns], Floats],
    rho: Fraction,
    name: str,
) -> None:
    """Measure the distances of marginals from their predictions, all together with ρ.

    Args:
        released: Where the scores are added.
        source: The exact marginals.
        sets: The sets of columns to score.
        predicted: Returns the predicted marginal of a set.
        rho: The budget of all scores together.
        name: "pairs" or "triples": the key of the scores in `released`.
    """
    mechanism = released.unit.scores(rho, len(sets))
    distances = [_distance(source(columns), predicted(columns) * released.scale) for columns in sets]
    exact = Exact(np.array(distances, np.int64), released.unit.score_sensitivity(len(sets)))
    noisy = cast(Integers, mechanism.release(exact))
    released.test_bits |= noise.is_test_noise(noisy)
    deviation = sqrt(mechanism.variance) / released.scale
    values = np.asarray(noisy, float) / released.scale
    released.scores[name] = [Score(c, float(v), deviation) for c, v in zip(sets, values, strict=True)]
    released.stages[name] = len(released.measurements)
    released.noises.append(mechanism)


def _distance(exact: Integers, predicted: Floats) -> int:
    """Return ‖M − E‖₁ in integers. Both are clamped so that sums cannot overflow, which raises no distance."""
    most = LIMIT // (4 * exact.size)
    public = np.clip(np.rint(predicted.ravel()), 0, most).astype(np.int64)
    return int(np.abs(np.minimum(exact, most) - public).sum())


def fit(
    source: Source,
    domain: Domain,
    *,
    rho: Fraction,
    contribution: int,
    scale: float,
    workload: Mapping[Columns, float] | None = None,
    prior: Mapping[Columns, Floats] | None = None,
    impossible: Masks | None = None,
    progress: Progress | None = None,
) -> tuple[Model, Released]:
    """Return a model of the table behind a source, and everything that was released to make it.

    Args:
        source: The exact marginals.
        domain: The columns and their sizes.
        rho: The budget.
        contribution: The most that the rows of one person weigh: the l1 sensitivity of a marginal.
        scale: The weight of a row.
        workload: The sets of columns that matter, with weights; all sets of three by default.
        prior: Public two-way marginals to start from.
        impossible: Cells of pairs that stay empty.
        progress: Called with the present step and the share that is done.

    >>> codes = np.tile([[0, 0], [1, 1]], (500, 1))
    >>> two = Domain(("a", "b"), (2, 2))
    >>> model, _ = fit(lambda c: two.count(codes, c).ravel(), two, rho=Fraction(1), contribution=1, scale=1)
    >>> bool(abs(model.marginal((0, 1)) - [[500, 0], [0, 500]]).max() < 40)
    True
    """
    released = Released(domain, Unit(contribution), scale)
    share = ONES if len(domain) > 1 else 1.0
    first = parts(rho, {"ones": share, "rest": 1 - share})
    measure(released, source, parts(first["ones"], one_way(domain)))
    if "rest" not in first:
        return estimate(released.evidence, {}), released
    model = rounds(
        released,
        source,
        rho=first["rest"],
        workload=workload,
        prior=prior,
        impossible=impossible,
        progress=progress,
    )
    return model, released


def rounds(
    released: Released,
    source: Source,
    *,
    rho: Fraction,
    workload: Mapping[Columns, float] | None = None,
    prior: Mapping[Columns, Floats] | None = None,
    impossible: Masks | None = None,
    progress: Progress | None = None,
) -> Model:
    """Spend ρ on pairs and triples, after the one-way marginals were measured, and return the model.

    The parameters are those of `fit`; `released` holds the one-way marginals, and takes all that follows.
    """
    say = progress or (lambda _what, _done: None)
    domain = released.domain
    matter = matter_of(workload, domain)
    pairs = [pair for pair, weight in matter(domain.sets(2)).items() if weight > 0]
    triples = triples_of(workload, domain, range(len(domain))) if listable(workload, domain) else None

    def estimated() -> Model:
        return estimate(released.evidence, released.ties, prior=prior, impossible=impossible)

    if not pairs:  # the workload has single columns only
        measure(released, source, parts(rho, one_way(domain)))
        return estimated()
    model = estimated()
    share = _score_share(rho, len(pairs), released, model.total)
    if _blurred(rho, len(pairs), released, share) > _HOPELESS * len(pairs) ** 0.25 * model.total:
        # This depends on the noisy total only, so it is post-processing: the pairs would be chosen by noise, and
        # be noise. All columns are taken for independent, and each is known better.
        measure(released, source, parts(rho, one_way(domain)))
        return estimated()
    count = MOST_TRIPLES if triples is None else min(max(len(triples), 1), MOST_TRIPLES)
    if _blurred(rho, count, released) > _BLURRED * model.total:
        triples = []  # this depends on the noisy total only, so it is post-processing
    budget = divided(rho, triples=triples != [], scores=share)
    say("scores of pairs", 0.1)
    score(released, source, pairs, model.marginal, budget["scores"], "pairs")
    precision = _precision(budget["first"], released)
    ties, also = _worth(released, model, matter, precision, blurred=triples == [])
    shares = chosen(ties, precision, also)
    say(f"{sum(len(c) == 2 for c in shares)} of {len(pairs)} pairs", 0.3)
    measure(released, source, _affordable(released, parts(budget["first"], shares)))
    model = estimated()
    if triples == []:
        return model
    if triples is None:
        triples = triples_of(workload, domain, most_tied(released.ties))
    second, fresh = budget["second"] + budget["again"], list[Candidate]()
    if triples:
        say("scores of triples", 0.5)
        listed = promising(triples, released.ties, matter)
        score(released, source, listed, model.marginal, budget["again"], "triples")
        fresh = _excess(_candidates(released, "triples", matter, sure=_SURE), released)
        second = budget["second"]
    shares = filled([*_measured(released, matter), *fresh], _precision(second, released))
    say(f"{sum(len(c) == 3 for c in shares)} of {len(triples)} triples", 0.7)
    measure(released, source, _affordable(released, parts(second, shares)))
    say("estimates", 0.9)
    return estimated()


def divided(rho: Fraction, *, triples: bool, scores: float = SCORES) -> dict[str, Fraction]:
    """Return the budgets of the rounds that follow the one-way marginals.

    >>> sum(divided(Fraction(1), triples=True).values()) <= 1
    True
    """
    if not triples:
        return parts(rho, {"scores": scores, "first": 1 - scores})
    rest = 1 - scores - SCORES
    return parts(rho, {"scores": scores, "first": FIRST * rest, "again": SCORES, "second": (1 - FIRST) * rest})


def _affordable(released: Released, budgets: dict[Columns, Fraction]) -> dict[Columns, Fraction]:
    """Return the budgets whose noise can be drawn. The others are too small to measure anything, and not spent."""
    return {columns: rho for columns, rho in budgets.items() if released.unit.affords(rho)}


def _blurred(rho: Fraction, count: int, released: Released, share: float = SCORES) -> float:
    """Return the deviation, in rows, that the scores of so many sets would have."""
    return sqrt(count / (share * _precision(rho, released)))


def _score_share(rho: Fraction, pairs: int, released: Released, total: float) -> float:
    """Return the share of ρ for scores of pairs: more where they would be blurred, as the noisy total says."""
    needed = SCORES * (_blurred(rho, pairs, released) / (_SHARP * total)) ** 2
    return min(max(needed, SCORES), MOST_SCORES)


def _precision(rho: Fraction, released: Released) -> float:
    """Return the precision that a budget buys: 1/variance, in rows."""
    return 2 * float(rho) * (released.scale / released.unit.contribution) ** 2


def _candidates(released: Released, name: str, matter: Matter, *, sure: float) -> list[Candidate]:
    scores = released.scores[name]
    weight = matter([score.columns for score in scores])
    likely = shrunk([score.value for score in scores], scores[0].deviation) if not sure else None
    values = likely or [score.value - sure * score.deviation for score in scores]
    return [
        Candidate(score.columns, released.domain.cells(score.columns), weight[score.columns], max(value, 0.0))
        for score, value in zip(scores, values, strict=True)
    ]


def _worth(
    released: Released, model: Model, matter: Matter, precision: float, *, blurred: bool
) -> tuple[list[Candidate], list[Candidate]]:
    """Return pairs with what measuring them could remove, and the sets to measure in any case.

    The tree of the strongest ties carries what other pairs owe to each other, so its pairs are not left out for
    cells that are empty: they count by the cells that noise spoils (`spoiled`). If scores are blurred, what chance
    and the error of single columns explain does not count; single columns are measured in any case, and so are
    pairs of the tree that are tied beyond doubt: that of the largest score, and those that are off by much. Of
    columns of many levels the expected error of all their cells would outweigh even those, and their few large
    cells would be off by more than anything else.
    """
    scores, errors = released.scores["pairs"], single_errors(model)
    variance = _TAKEN * len(scores) / precision

    def beyond(score: float, pair: Columns) -> float:
        return removable(score, model.marginal(pair), [errors[column] for column in pair], variance)

    least = {score.columns: score.value - _DOUBT * score.deviation for score in scores}
    tree = {pair for pair in forest(least) if beyond(least[pair], pair) > 0}
    ties = [
        replace(c, cells=spoiled(model.marginal(c.columns), variance)) if c.columns in tree else c
        for c in _candidates(released, "pairs", matter, sure=0.0)
    ]
    if not blurred:
        return ties, []
    ties = [replace(c, score=beyond(c.score, c.columns)) for c in ties]
    sets: list[Columns] = [(column,) for column in range(len(released.domain))]
    weight = matter(sets)
    singles = [Candidate(c, released.domain.cells(c), SINGLES * weight[c], 0.0) for c in sets if weight[c] > 0]
    top = max(least, key=lambda pair: least[pair])
    strong = {pair for pair in tree if pair == top or beyond(least[pair], pair) > _STRONG * model.total}
    sure = [c for c in ties if c.columns in strong]
    return [c for c in ties if c not in sure], [*singles, *sure]


def _measured(released: Released, matter: Matter) -> list[Candidate]:
    """Return the marginals of the first round, with their precision."""
    precisions = {c: p for c, p in released.evidence.precisions().items() if len(c) > 1}
    weight = matter(list(precisions))
    return [Candidate(c, released.domain.cells(c), weight[c], 0.0, p) for c, p in precisions.items()]


def _excess(candidates: Sequence[Candidate], released: Released) -> list[Candidate]:
    """Return triples with their scores minus the expected error of their pairs."""
    precisions = released.evidence.precisions()
    errors = {c: C * released.domain.cells(c) / sqrt(p) for c, p in precisions.items() if len(c) == 2}
    return [
        Candidate(
            c.columns, c.cells, c.weight, c.score - sum(errors.get(p, 0.0) for p in combinations(c.columns, 2))
        )
        for c in candidates
    ]
