"""The plan of a question: everything about its answer that is known before any data is seen.

    plan(question, description, epsilon="0.1", budget=budget)     what a budget buys
    plan(question, description, within=200, budget=budget)        what a width costs

A plan fixes what is measured, with which noise, what that costs and how wide the answers will be; then the caller
charges `plan.losses`, and `execute` draws. Nothing in a plan depends on the rows.

What is charged is what the mechanisms themselves declare, once each:

* a measure is one vector over all groups, and a person moves it as a whole by what its sensitivity says, whether
  their rows are in one group or in a thousand (discreet.query.plan.linear_queries), so all of its groups cost as
  one;
* a quantile is three choices, and each costs once for all groups (discreet.query.plan.quantiles);
* texts cost one Gaussian and one δ for all of them (discreet.query.plan.partition_selection), before anything else
  is measured. That the later measures depend on which texts were named is what an adaptive filter allows.

Measures beside each other compose: under a pure ledger their ε add up to that of the question exactly, under one
with δ their ρ to ε²/2 at most. Theory: docs/theory/queries.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from discreet.errors import ParameterError, QuestionRefused
from discreet.ledger.budget import Budget
from discreet.mechanisms import tails
from discreet.privacy.losses import Loss
from discreet.query.plan import calibration, explain, partition_selection
from discreet.query.plan import group_index as cells
from discreet.query.plan.calibration import Setting, Widths
from discreet.query.plan.error_bounds import Noise
from discreet.query.plan.estimators import Formula, Rank, formulas
from discreet.query.plan.explain import Expected
from discreet.query.plan.linear_queries import LinearQuery
from discreet.query.plan.quantiles import Ranking, ranking
from discreet.query.question import Question
from discreet.rational import Rational, positive, rational

LEAST_DOUBT = Fraction(1, 10**20)
"""The least that an interval may be wrong with."""

_NAMES_FORESEEN = (
    1000  # texts that a plan with quantiles reckons with; more of them take longer, and cost the same
)


class Described(Protocol):
    """What a plan has to know of a sealed table."""

    @property
    def rows_per_person(self) -> int:
        """How many rows of a person count in full."""


@dataclass(frozen=True)
class Plan:
    """What is measured for a question, with which noise. Nothing in it was read off the data."""

    question: Question
    setting: Setting
    cells: cells.Cells
    formulas: tuple[Formula, ...]
    noises: Mapping[LinearQuery, Noise]
    rankings: tuple[Ranking, ...]
    selection: partition_selection.Selection | None

    @property
    def confidence(self) -> Fraction:
        """How sure each interval is, by itself."""
        return 1 - self.setting.alpha

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What is to be charged before it is executed."""
        texts = self.selection.losses if self.selection else ()
        ranks = (loss for ranking in self.rankings for loss in ranking.losses)
        return (*texts, *(noise.loss for noise in self.noises.values()), *ranks)

    @property
    def expected(self) -> tuple[Expected, ...]:
        """How wide each number of the answer will be."""
        ranks = iter(self.rankings)
        return tuple(
            explain.expected_rank(formula.aggregate, next(ranks), self.confidence)
            if isinstance(formula, Rank)
            else explain.expected(formula, self.noises, self.confidence)
            for formula in self.formulas
        )

    @property
    def words(self) -> str:
        """The plan in words."""
        return "\n".join(
            [
                *explain.texts(self.selection, self.cells),
                *(
                    explain.measured(measure, noise, self._needing(measure))
                    for measure, noise in self.noises.items()
                ),
                *(explain.ranked(ranking) for ranking in self.rankings),
                *(expected.words for expected in self.expected),
            ]
        )

    def _needing(self, measure: LinearQuery) -> list[str]:
        return [formula.aggregate.name for formula in self.formulas if measure in formula.measures]


def plan(
    question: Question,
    metadata: Described,
    *,
    epsilon: Rational | None = None,
    amount: Fraction | None = None,
    within: Widths | None = None,
    confidence: Rational = "0.95",
    budget: Budget,
    keys_delta: Rational | None = None,
) -> Plan:
    """Return how a question is answered with a budget of ε, or with the least that gives its numbers a width.

    `budget` is that of the ledger: without δ noise is Laplace and ε adds up; with δ it is Gaussian, and the
    question spends ρ = ε²/2. `delta` is what finding texts may cost, a hundredth of what the ledger has for it if
    not said.
    """
    if epsilon is not None and amount is None:
        given = positive(epsilon, "epsilon")
        amount = given if budget.pure else budget.rho_of(given)
    if (amount is None) == (within is None):
        raise ParameterError(
            'Say either epsilon="0.1" or within=200: what to spend, or how wide the answer may be.'
        )
    if isinstance(within, str) and within.strip().endswith("%"):
        raise QuestionRefused(
            f'within="{within}" is relative to an answer that nobody has seen yet. It is found step by step, by '
            f'vault.ask(…, within="{within}"), and cannot be previewed. Preview with epsilon="0.1" instead.'
        )
    grid = cells.Cells(question.keys)
    setting = Setting(
        rows_per_person=metadata.rows_per_person,
        groups=cells.MOST if grid.open else grid.declared,
        foreseen=grid.declared * (_NAMES_FORESEEN if grid.open else 1),
        pure=budget.pure,
        alpha=_doubt(confidence),
    )
    made = formulas(
        question.aggregates,
        setting.rows_per_person,
        setting.groups,
        pure=budget.pure,
        alone=within is not None,
    )
    texts = calibration.FOR_TEXTS if grid.open else Fraction(0)
    if within is not None:
        each = calibration.needed(made, within, setting)
        total = each.total / (1 - texts)
    else:
        total = amount or Fraction(0)
        each = calibration.divided(made, total * (1 - texts), setting)
    return Plan(
        question=question,
        setting=setting,
        cells=grid,
        formulas=made,
        noises={measure: calibration.noise(measure, part, setting) for measure, part in each.measures.items()},
        rankings=_rankings(made, each.ranks, setting),
        selection=_selection(grid, total * texts, keys_delta, budget, setting.rows_per_person),
    )


def _doubt(confidence: Rational) -> Fraction:
    alpha = tails.alpha(confidence)
    if alpha < LEAST_DOUBT:  # it is divided among noises, and each part must still be one that tails can tell
        raise ParameterError(f'confidence leaves a doubt of 1e-20 at least: "0.95", not {confidence!r}.')
    return alpha


def _rankings(made: tuple[Formula, ...], parts: tuple[Fraction, ...], setting: Setting) -> tuple[Ranking, ...]:
    ranks = [formula for formula in made if isinstance(formula, Rank)]
    return tuple(
        ranking(
            rank.term,
            rank.probability,
            part,
            pure=setting.pure,
            rows_per_person=setting.rows_per_person,
            groups=setting.foreseen,
            alpha=setting.alpha,
        )
        for rank, part in zip(ranks, parts, strict=True)
    )


def _selection(
    grid: cells.Cells, rho: Fraction, keys_delta: Rational | None, budget: Budget, rows_per_person: int
) -> partition_selection.Selection | None:
    if not grid.open:
        return None
    if budget.pure:
        names = ", ".join(key.name for key in grid.open)
        raise QuestionRefused(
            f"Which values of {names} occur can be told only with a δ, and this budget has none: no pure noise "
            "hides that one person alone has written something. Declare the values, dp.Category([…]), or give the "
            f'vault a budget with a δ: dp.Budget({float(budget.epsilon):g}, delta="1e-9").'
        )
    each = budget.key_delta / 100 if keys_delta is None else rational(keys_delta, "keys_delta")
    return partition_selection.selection(rho, each, rows_per_person)
