"""Measure noisy marginals, chosen by noisy scores, in two rounds: the private algorithm.

    one-way marginals ─▶ scores of all pairs ─▶ the pairs worth it ─▶ scores of what is left ─▶ pairs and triples
          10 %             3 to 10 %                   60 %                     3 %                    24 %

A score is ‖M − E‖₁, the distance of the exact marginal from the prediction of the model so far, in integers.
Everything that touches data is here: `measure` and `score` go through a Gaussian mechanism, and `pick`, which
takes the place of scores where these would be noise, through the exponential mechanism. Budgets are fixed in
advance, and what picking leaves goes to marginals. The choice of the marginals, and the division of a round's
budget among them, follow from earlier releases. Nothing else reads the data: the estimates between the rounds are
post-processing.
Theory: docs/theory/synthesis.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import comb, log, pi, sqrt
from typing import TypeAlias, cast

import numpy as np

from discreet import noise
from discreet.kernel.gaussian_budget import Unit, parts
from discreet.mechanisms import Exact
from discreet.mechanisms.exact import LIMIT, Integers
from discreet.synth.marginals.domain import Columns, Domain, Floats
from discreet.synth.marginals.estimate import Masks, estimate
from discreet.synth.marginals.measurements import Measurement
from discreet.synth.marginals.model import Model
from discreet.synth.released import Released, Score
from discreet.synth.selection import candidates
from discreet.synth.selection.select import Candidate, chosen, filled, spoiled
from discreet.synth.selection.workload import (
    MOST_TRIPLES,
    Matter,
    listable,
    matter_of,
    most_tied,
    promising,
    triples_of,
)

Source: TypeAlias = Callable[[Columns], Integers]
"""Returns the exact sums of weights over the cells of a marginal, as a flat array: private."""

Progress: TypeAlias = Callable[[str, float], None]
"""Called with the present step and the share of the work that is done, from 0 to 1."""

ONES = 0.1
"""The share of ρ for one-way marginals."""

SCORES, MOST_SCORES = 0.03, 0.1
"""The share of the rest for either kind of scores; scores of pairs get up to the second if noise is large."""

TOTAL = 0.5
"""How much the number of rows counts beside single columns, where columns alone would say little about it."""

GUMBEL = pi / sqrt(6)
"""The deviation of the noise by which a choice is one of the largest noisy score, for noise of scale 1."""

FIRST = 0.7
"""The share of the first round, of what is left for marginals."""

PICKS = 0.25
"""The share of the rest for picking pairs, where scores would be noise."""

MOST_PICKS = 60
"""The most pairs that are picked."""

# Scores of m pairs with a deviation above m^¼ times this share of the rows would be noise: pairs are picked. Of
# more pairs more noise is bearable, because the mean of all scores is known √m times as well as each.
_BLIND = 0.08
# A pair is picked if it beats what noise alone would pick, by so many scales of the noise: of pairs that are all
# worth nothing, one is picked with probability 1/(1 + e^2.5), 8 %.
_MARGIN = 2.5
_VAGUE = 0.5  # the precision of the total beside that of a cell, below which the total is measured by itself
_SHARP = 0.08  # scores of pairs get more than their share if their deviation would be above this share of the rows
_BLURRED = 0.08  # scores of triples with a deviation above this share of the rows carry no information


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


def pick(
    released: Released, source: Source, pairs: Sequence[Columns], model: Model, budget: Mapping[str, Fraction]
) -> Fraction:
    """Choose pairs that are far from independence, one after the other, and return what is left of the budget.

    Each choice is among the pairs that would connect two columns which are not connected yet, and "no more". A
    pair has its distance from independence minus the error that it would have if it were measured, and "no more"
    has what the best of so many worthless pairs would reach by noise. This is less noise than for scores of all
    pairs, and says nothing about those that were not chosen.

    Args:
        released: Where the choices are added.
        source: The exact marginals.
        pairs: The pairs to choose from.
        model: The model of independent columns.
        budget: ρ for all choices together ("picks"), and for the measurements after them ("first").
    """
    most = min(len(released.domain) - 1, MOST_PICKS)
    each = budget["picks"] / most
    mechanism = released.unit.choice(each)
    scale = float(mechanism.scale) / released.scale
    deviation = sqrt(most / _precision(budget["first"], released))
    costs = np.array([candidates.expected_error(model, pair, deviation) for pair in pairs])
    distances = [_distance(source(pair), model.marginal(pair) * released.scale) for pair in pairs]
    gains = np.array(distances, np.int64) - _whole(costs * released.scale)
    ends, group = np.array(pairs).T, np.arange(len(released.domain))
    picked: list[Score] = []
    while len(picked) < most:
        (listed,) = np.nonzero(group[ends[0]] != group[ends[1]])
        beaten = scale * (log(max(len(listed), 1)) + _MARGIN)
        # No distance is above twice the number of rows: what would have to be, only noise could choose.
        if not len(listed) or beaten > 2 * model.total:
            break
        offered = np.append(gains[listed], _whole(np.array([beaten * released.scale])))
        choice = mechanism.release(Exact(offered, released.unit.score_sensitivity(len(offered))))
        released.choices.append(mechanism)
        if choice == len(listed):
            break
        found = int(listed[choice])
        group[group == group[ends[1, found]]] = group[ends[0, found]]
        picked.append(Score(pairs[found], beaten + float(costs[found]), scale * GUMBEL))
    if picked:  # what was chosen earlier had to beat all that was chosen later
        values = np.maximum.accumulate([score.value for score in picked][::-1])[::-1].tolist()
        released.scores["picked"] = [
            replace(score, value=value) for score, value in zip(picked, values, strict=True)
        ]
        released.stages["picked"] = len(released.measurements)
    return each * (most - len(released.choices))


def _whole(public: Floats) -> Integers:
    """Return public numbers as integers, clamped so that no difference overflows."""
    return np.clip(np.rint(public), -(LIMIT // 4), LIMIT // 4).astype(np.int64)


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
    if _blurred(rho, len(pairs), released, MOST_SCORES) > _BLIND * len(pairs) ** 0.25 * model.total:
        # This depends on the noisy total only, so it is post-processing.
        say("picking pairs", 0.1)
        budget = parts(rho, {"picks": PICKS, "first": 1 - PICKS})
        left = budget["first"] + pick(released, source, pairs, model, budget)
        measure(released, source, _affordable(released, parts(left, _after_picks(released, model, matter, left))))
        return estimated()
    count = MOST_TRIPLES if triples is None else min(max(len(triples), 1), MOST_TRIPLES)
    if _blurred(rho, count, released) > _BLURRED * model.total:
        triples = []  # this depends on the noisy total only, so it is post-processing
    budget = divided(rho, triples=triples != [], scores=share)
    say("scores of pairs", 0.1)
    score(released, source, pairs, model.marginal, budget["scores"], "pairs")
    precision = _precision(budget["first"], released)
    ties, also = candidates.worth(released, model, matter, precision, blurred=triples == [])
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
        fresh = candidates.triples(released, matter)
        second = budget["second"]
    shares = filled([*candidates.measured(released, matter), *fresh], _precision(second, released))
    say(f"{sum(len(c) == 3 for c in shares)} of {len(triples)} triples", 0.7)
    measure(released, source, _affordable(released, parts(second, shares)))
    say("estimates", 0.9)
    return estimated()


def _after_picks(released: Released, model: Model, matter: Matter, rho: Fraction) -> dict[Columns, float]:
    """Return the shares of what is measured after picking: the pairs with single columns, or these alone."""
    pairs = [score.columns for score in released.scores.get("picked", [])]
    if not pairs:
        return one_way(released.domain)
    precision = _precision(rho, released)
    variance, weight = len(released.domain) / precision, matter(pairs)
    also = [Candidate(pair, spoiled(model.marginal(pair), variance), weight[pair], 0.0) for pair in pairs]
    return chosen([], precision, [*candidates.singles(released, matter), *also])


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
