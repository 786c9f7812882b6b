"""The private algorithm: noisy marginals chosen by noisy scores, in two rounds.

    one-way marginals ─▶ scores of all pairs ─▶ the pairs worth it ─▶ scores of what is left ─▶ pairs and triples
          10 %                  3 %                    60 %                     3 %                    24 %

A score is ‖M − E‖₁, the distance of the exact marginal from what the model believes so far, in integers.
Everything that touches data is here and goes through three calls of a Gaussian mechanism, whose budgets are
fixed in advance; which marginals they are about, and how a round divides its budget among them, follows from
what was released before. Nothing else of the data is seen: the estimates between the rounds are post-processing.
Theory: docs/theory/synthesis.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import comb, sqrt
from typing import TypeAlias, cast

import numpy as np

from discreet import noise
from discreet.mechanisms import Exact, Gaussian
from discreet.mechanisms.exact import LIMIT, Integers
from discreet.synth.budget import Unit, parts
from discreet.synth.marginals.domain import Columns, Domain, Floats
from discreet.synth.marginals.estimate import Masks, estimate
from discreet.synth.marginals.measurements import Evidence, Measurement
from discreet.synth.marginals.model import Model
from discreet.synth.select import C, Candidate, chosen, filled
from discreet.synth.workload import MOST_TRIPLES, Matter, listable, matter_of, most_tied, promising, triples_of

Source: TypeAlias = Callable[[Columns], Integers]
"""The exact sums of weights over the cells of a marginal, flat: private."""

Progress: TypeAlias = Callable[[str, float], None]
"""Told what is being done, and how much of all of it is, from 0 to 1."""

ONES = 0.1
"""The share of one-way marginals."""

ONES_AGAIN = 0.15
"""What they get on top, of what is left then, where noise is too large to look at triples."""

SCORES = 0.03
"""Of what is left then, the share of either kind of scores."""

FIRST = 0.7
"""Of what is left for marginals, the share of the first round."""

_BLURRED = 0.08  # of the rows: scores with more noise than that say nothing about triples
_SURE = 1.5  # deviations that a score is lowered by: what is measured next should be off for certain


@dataclass(frozen=True)
class Score:
    """How far a marginal is from what was believed of it when it was scored, in rows, with noise."""

    columns: Columns
    value: float
    deviation: float


@dataclass
class Released:
    """What was released so far, in rows, and by which noise.

    `stages` says how many measurements there were when scores were taken: they are distances from the model of
    those.
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
        """How far pairs were from independent when they were scored."""
        return {score.columns: max(score.value, 0.0) for score in self.scores.get("pairs", [])}


def drawable(rho: Fraction, unit: Unit, columns: int) -> bool:
    """Return whether noise can be drawn for every step whose ρ is fixed in advance: one-way marginals and scores.

    It is public before the charge. Half of their shares covers what rounding, and sizes of persons, take of them.
    """
    scored = max(comb(columns, 2), MOST_TRIPLES)
    return unit.affords(rho * Fraction(ONES) / 2 / columns) and unit.affords(rho * Fraction(SCORES) / 2, scored)


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
    believed: Callable[[Columns], Floats],
    rho: Fraction,
    name: str,
) -> None:
    """Measure how far marginals are from what is believed of them, all together with ρ."""
    mechanism = released.unit.scores(rho, len(sets))
    distances = [_distance(source(columns), believed(columns) * released.scale) for columns in sets]
    exact = Exact(np.array(distances, np.int64), released.unit.score_sensitivity(len(sets)))
    noisy = cast(Integers, mechanism.release(exact))
    released.test_bits |= noise.is_test_noise(noisy)
    deviation = sqrt(mechanism.variance) / released.scale
    values = np.asarray(noisy, float) / released.scale
    released.scores[name] = [Score(c, float(v), deviation) for c, v in zip(sets, values, strict=True)]
    released.stages[name] = len(released.measurements)
    released.noises.append(mechanism)


def _distance(exact: Integers, believed: Floats) -> int:
    """‖M − E‖₁ in integers. Both are clamped to what cannot overflow, which moves no two marginals apart."""
    most = LIMIT // (4 * exact.size)
    public = np.clip(np.rint(believed.ravel()), 0, most).astype(np.int64)
    return int(np.abs(np.minimum(exact, most) - public).sum())


def fit(
    source: Source,
    domain: Domain,
    *,
    rho: Fraction,
    moves: int,
    scale: float,
    workload: Mapping[Columns, float] | None = None,
    prior: Mapping[Columns, Floats] | None = None,
    impossible: Masks | None = None,
    progress: Progress | None = None,
) -> tuple[Model, Released]:
    """Return a model of the table behind a source, and everything that was released to make it.

    One person moves a marginal by at most `moves` in l1, and `scale` is the weight of a row.

    >>> codes = np.tile([[0, 0], [1, 1]], (500, 1))
    >>> two = Domain(("a", "b"), (2, 2))
    >>> model, _ = fit(lambda c: two.count(codes, c).ravel(), two, rho=Fraction(1), moves=1, scale=1)
    >>> bool(abs(model.marginal((0, 1)) - [[500, 0], [0, 500]]).max() < 40)
    True
    """
    released = Released(domain, Unit(moves), scale)
    share = ONES if len(domain) > 1 else 1.0
    first = parts(rho, {"ones": share, "rest": 1 - share})
    measure(released, source, parts(first["ones"], {(c,): 1.0 for c in range(len(domain))}))
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
    """Spend ρ on pairs and triples, once the one-way marginals are there, and return the model."""
    say = progress or (lambda _what, _done: None)
    domain = released.domain
    matter = matter_of(workload, domain)
    pairs = [pair for pair, weight in matter(domain.sets(2)).items() if weight > 0]
    triples = triples_of(workload, domain, range(len(domain))) if listable(workload, domain) else None

    def believed() -> Model:
        return estimate(released.evidence, released.ties, prior=prior, impossible=impossible)

    if not pairs:  # single columns are all that is wanted
        measure(released, source, parts(rho, {(c,): 1.0 for c in range(len(domain))}))
        return believed()
    model = believed()
    count = MOST_TRIPLES if triples is None else min(max(len(triples), 1), MOST_TRIPLES)
    if _blurred(rho, count, released) > _BLURRED * model.total:
        triples = []  # decided by the noisy total
    budget = divided(rho, triples=triples != [])
    if "ones" in budget:
        measure(released, source, parts(budget["ones"], {(c,): 1.0 for c in range(len(domain))}))
        model = believed()
    say("scores of pairs", 0.1)
    score(released, source, pairs, model.marginal, budget["scores"], "pairs")
    shares = chosen(_candidates(released, "pairs", matter, sure=0.0), _precision(budget["first"], released))
    say(f"{len(shares)} of {len(pairs)} pairs", 0.3)
    measure(released, source, _affordable(released, parts(budget["first"], shares)))
    model = believed()
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
    return believed()


def divided(rho: Fraction, *, triples: bool) -> dict[str, Fraction]:
    """Return the budgets of the rounds that follow the one-way marginals.

    >>> sum(divided(Fraction(1), triples=True).values()) <= 1
    True
    """
    if not triples:
        return parts(rho, {"ones": ONES_AGAIN, "scores": SCORES, "first": 1 - ONES_AGAIN - SCORES})
    rest = 1 - 2 * SCORES
    return parts(rho, {"scores": SCORES, "first": FIRST * rest, "again": SCORES, "second": (1 - FIRST) * rest})


def _affordable(released: Released, budgets: dict[Columns, Fraction]) -> dict[Columns, Fraction]:
    """Those whose noise can be drawn: so little as the others have says nothing, and is not spent."""
    return {columns: rho for columns, rho in budgets.items() if released.unit.affords(rho)}


def _blurred(rho: Fraction, count: int, released: Released) -> float:
    """The deviation, in rows, that the scores of so many triples would have."""
    return sqrt(count / (SCORES * _precision(rho, released)))


def _precision(rho: Fraction, released: Released) -> float:
    """What a budget buys: 1/variance, in rows."""
    return 2 * float(rho) * (released.scale / released.unit.moves) ** 2


def _candidates(released: Released, name: str, matter: Matter, *, sure: float) -> list[Candidate]:
    scores = released.scores[name]
    weight = matter([score.columns for score in scores])
    return [
        Candidate(
            score.columns,
            released.domain.cells(score.columns),
            weight[score.columns],
            max(score.value - sure * score.deviation, 0.0),
        )
        for score in scores
    ]


def _measured(released: Released, matter: Matter) -> list[Candidate]:
    """What was measured in the first round, with the precision that it has."""
    precisions = {c: p for c, p in released.evidence.precisions().items() if len(c) > 1}
    weight = matter(list(precisions))
    return [Candidate(c, released.domain.cells(c), weight[c], 0.0, p) for c, p in precisions.items()]


def _excess(candidates: Sequence[Candidate], released: Released) -> list[Candidate]:
    """Triples with what of their score is not just the error of their pairs."""
    precisions = released.evidence.precisions()
    errors = {c: C * released.domain.cells(c) / sqrt(p) for c, p in precisions.items() if len(c) == 2}
    return [
        Candidate(
            c.columns, c.cells, c.weight, c.score - sum(errors.get(p, 0.0) for p in combinations(c.columns, 2))
        )
        for c in candidates
    ]
