"""Plan a question: fix everything about its answer that is known before any data is read.

    plan(question, metadata, epsilon="0.1", budget=budget)     from what to spend
    plan(question, metadata, within=200, budget=budget)        from a margin of error

A plan fixes the linear queries, their noise, their cost and the margins of the answers. Then the caller charges
`plan.losses`, and `execute` draws the noise. Nothing in a plan depends on the rows.

The charge is what the mechanisms themselves declare, once each:

* a linear query is one vector over all groups. Its sensitivity bounds the change of the whole vector by one
  person, whether their rows are in one group or in a thousand (discreet.query.plan.linear_queries), so all of its
  groups cost as one;
* the quantiles of a term are one selection each and one tree of sums, and each costs once for all groups
  (discreet.query.plan.quantiles). The bins of the tree depend on the selected values, which an adaptive filter
  allows: its loss does not;
* partition selection costs one Gaussian and one δ for all partitions (discreet.query.plan.partition_selection),
  before anything else is measured. The later queries depend on the kept partitions, which an adaptive filter
  allows.

The losses compose: under a pure ledger their ε add up to that of the question exactly, under one with δ their ρ to
the ρ of the question's ε at most. Theory: docs/theory/queries.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

from discreet.errors import Code, Fix, ParameterError, QuestionRefused
from discreet.ledger.budget import Budget
from discreet.mechanisms import tails
from discreet.privacy.losses import Loss
from discreet.query.plan import calibration, explain, group_index, partition_selection
from discreet.query.plan.calibration import Margins, Setting
from discreet.query.plan.error_bounds import Noise
from discreet.query.plan.estimators import Formula, Rank, formulas, rank_place, ranked_terms
from discreet.query.plan.explain import Expected
from discreet.query.plan.linear_queries import LinearQuery
from discreet.query.plan.quantiles import Ranking, ranking
from discreet.query.question import Question
from discreet.rational import Rational, positive, rational

LEAST_ALPHA = Fraction(1, 10**20)
"""The least 1 − confidence of an interval."""


_EXPECTED_PARTITIONS = 1000  # assumed for quantiles; if there are more, they take longer and cost the same


class PlannedTable(Protocol):
    """The metadata of a sealed table that a plan needs."""

    @property
    def rows_per_person(self) -> int:
        """The number of rows of one person that count in full."""


@dataclass(frozen=True)
class Plan:
    """The linear queries and quantiles of a question, with their noise. Nothing in it depends on the data."""

    question: Question
    setting: Setting
    cells: group_index.Cells
    formulas: tuple[Formula, ...]
    noises: Mapping[LinearQuery, Noise]
    rankings: tuple[Ranking, ...]
    selection: partition_selection.Selection | None

    @property
    def confidence(self) -> Fraction:
        """The confidence of each interval by itself."""
        return 1 - self.setting.alpha

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """The losses to charge before the plan is executed."""
        selected = self.selection.losses if self.selection else ()
        ranks = (loss for ranking in self.rankings for loss in ranking.losses)
        return (*selected, *(noise.loss for noise in self.noises.values()), *ranks)

    @property
    def expected(self) -> tuple[Expected, ...]:
        """The margin of each number of the answer, as far as it is known."""
        return tuple(
            explain.expected_rank(formula, self.ranking_of(formula), self.confidence)
            if isinstance(formula, Rank)
            else explain.expected(formula, self.noises, self.confidence)
            for formula in self.formulas
        )

    @property
    def explanation(self) -> str:
        """The plan as text, one line for each step and each number."""
        return "\n".join(
            [
                *explain.selection(self.selection, self.cells),
                *(explain.query(query, noise, self._needing(query)) for query, noise in self.noises.items()),
                *(explain.quantile(ranking) for ranking in self.rankings),
                *(expected.words for expected in self.expected),
            ]
        )

    def ranking_of(self, formula: Rank) -> Ranking:
        """Return the mechanisms that a quantile shares with all quantiles of its term."""
        return self.rankings[rank_place(self.formulas, formula)]

    def _needing(self, query: LinearQuery) -> list[str]:
        return [formula.aggregate.name for formula in self.formulas if query in formula.queries]


def plan(
    question: Question,
    metadata: PlannedTable,
    *,
    epsilon: Rational | None = None,
    amount: Fraction | None = None,
    within: Margins | None = None,
    confidence: Rational = "0.95",
    budget: Budget,
    keys_delta: Rational | None = None,
) -> Plan:
    """Plan a question for an ε, or for the least budget that meets a margin of error.

    Args:
        question: The parsed question.
        metadata: The metadata of the sealed table.
        epsilon: The guarantee of this release alone, at the budget's δ. Give this, `amount` or `within`.
        amount: What to spend, in the unit that the ledger adds up: an ε without δ, a ρ with it.
        within: The margin of error: one for all numbers, or a mapping from the name of each number to its margin.
        confidence: The confidence of each interval, 0.95 by default.
        budget: The budget of the ledger. Without δ noise is Laplace and ε adds up; with δ noise is Gaussian, and
            ρ adds up.
        keys_delta: The δ of partition selection, by default a hundredth of what the budget has for it.
    """
    if epsilon is not None and amount is None:
        given = positive(epsilon, "epsilon")
        amount = given if budget.pure else budget.rho_of(given)
    if (amount is None) == (within is None):
        raise ParameterError(
            "Give either what to spend (epsilon) or the margin of error (within).",
            found="neither" if amount is None else "both",
            fix=[Fix("epsilon", "0.1"), Fix("within", 200)],
        )
    if isinstance(within, str) and within.strip().endswith("%"):
        raise QuestionRefused(
            "A relative margin cannot be previewed, because its cost depends on the answer.",
            found=within,
            fix=[
                Fix("within", within, call="vault.ask", note="epsilon doubles until the margin is met"),
                Fix("epsilon", "0.1", note="for a preview"),
            ],
        )
    grid = group_index.Cells(question.keys)
    setting = Setting(
        rows_per_person=metadata.rows_per_person,
        groups=group_index.MOST if grid.open else grid.declared,
        expected_groups=grid.declared * (_EXPECTED_PARTITIONS if grid.open else 1),
        pure=budget.pure,
        alpha=_alpha(confidence),
    )
    made = formulas(
        question.aggregates,
        setting.rows_per_person,
        setting.groups,
        pure=budget.pure,
        alone=within is not None,
    )
    selecting = calibration.SELECTION_SHARE if grid.open else Fraction(0)
    if within is not None:
        each = calibration.least_budgets(made, within, setting)
        total = each.total / (1 - selecting)
    else:
        total = amount or Fraction(0)
        each = calibration.divide(made, total * (1 - selecting), setting)
    return Plan(
        question=question,
        setting=setting,
        cells=grid,
        formulas=made,
        noises={query: calibration.noise(query, part, setting) for query, part in each.queries.items()},
        rankings=_rankings(made, each.ranks, setting),
        selection=_selection(grid, total * selecting, keys_delta, budget, setting.rows_per_person),
    )


def _alpha(confidence: Rational) -> Fraction:
    alpha = tails.alpha(confidence)
    if alpha < LEAST_ALPHA:  # alpha is divided among noises, and `tails` must still resolve each part
        raise ParameterError(
            "The confidence must be at most 1 − 1e-20.", found=confidence, fix=Fix("confidence", "0.95")
        )
    return alpha


def _rankings(made: tuple[Formula, ...], parts: tuple[Fraction, ...], setting: Setting) -> tuple[Ranking, ...]:
    return tuple(
        ranking(
            term,
            probabilities,
            part,
            pure=setting.pure,
            rows_per_person=setting.rows_per_person,
            groups=setting.expected_groups,
            alpha=setting.alpha,
        )
        for (term, probabilities), part in zip(ranked_terms(made), parts, strict=True)
    )


def _selection(
    grid: group_index.Cells, rho: Fraction, keys_delta: Rational | None, budget: Budget, rows_per_person: int
) -> partition_selection.Selection | None:
    if not grid.open:
        return None
    if budget.pure:
        names = ", ".join(key.name for key in grid.open)
        raise QuestionRefused(
            f"Grouping by {names} needs a budget with a delta: pure noise cannot hide a value that only one "
            "person has.",
            fix=[
                Fix("budget", Code(f'Budget({float(budget.epsilon):g}, delta="1e-9")'), call="ledger.amend"),
                f"Or declare the values of {names} as a category when the table is sealed.",
            ],
        )
    each = budget.key_delta / 100 if keys_delta is None else rational(keys_delta, "keys_delta")
    return partition_selection.selection(rho, each, rows_per_person)
