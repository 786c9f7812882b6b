"""Calibrate the noise of a question: from a budget, or from a margin of error, to a budget for each linear query.

**From a budget.** `allocation` divides an ε over all linear queries and quantiles of the question. Under a ledger
with δ a question of ε spends the ρ that converts to (ε, δ), which is divided in the same way. Partition selection
takes a third of ρ first. Noises of nearly one size get exactly one.

**From a margin.** The margin of a count, of persons or of a sum depends on its noise alone, so the least budget
that meets it is known before any data is seen: for each number by itself, to three digits, rounded up. A linear
query that several numbers need gets the largest of their budgets. The margin of an average or a quantile depends
on the number of rows, which is private, so such a question is refused. The analyst gives epsilon instead, or a
relative margin, which `discreet.query.plan.relative_accuracy.doubling` meets in steps that are charged one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from discreet.errors import Fix, LawTooWide, ParameterError, QuestionRefused
from discreet.mechanisms import Gaussian, Laplace
from discreet.query.plan import allocation
from discreet.query.plan.error_bounds import Noise, margin_of_sum
from discreet.query.plan.estimators import Formula, Linear, importance, rank_importance, ranked_terms
from discreet.query.plan.linear_queries import LinearQuery
from discreet.query.plan.quantiles import cells, coarsening
from discreet.rational import Rational, positive

SELECTION_SHARE = Fraction(1, 3)
"""The share of ρ that partition selection takes."""

Margins = Rational | Mapping[str, Rational]
"""One margin of error for all numbers, or one for each number by its name."""

_LARGEST = Fraction(9990)  # the largest epsilon that `least` tries


@dataclass(frozen=True)
class Setting:
    """The public facts about a question before it is planned.

    Args:
        rows_per_person: The number of rows of one person that count in full.
        groups: The largest number of groups. Sensitivities depend on it.
        expected_groups: The number of groups that is expected. Only running time depends on it.
        pure: Whether the ledger adds up ε, not ρ.
        alpha: 1 − confidence of each interval.
    """

    rows_per_person: int
    groups: int
    expected_groups: int
    pure: bool
    alpha: Fraction


@dataclass(frozen=True)
class Budgets:
    """An ε, or a ρ, for every linear query and for the quantiles of every term."""

    queries: dict[LinearQuery, Fraction]
    ranks: tuple[Fraction, ...]

    @property
    def total(self) -> Fraction:
        """The sum of all budgets."""
        return sum([*self.queries.values(), *self.ranks], Fraction(0))


def divide(formulas: Sequence[Formula], total: Fraction, setting: Setting) -> Budgets:
    """Divide a budget so that the sum of the squared relative errors is least."""
    squares = importance(formulas, setting.rows_per_person, setting.groups, pure=setting.pure)
    ranks = [
        rank_importance(probabilities, cells(term, coarsening(term, setting.expected_groups)))
        for term, probabilities in ranked_terms(formulas)
    ]
    shares = allocation.shares([*squares.values(), *ranks], pure=setting.pure)
    parts = [total * share for share in shares]
    own, others = parts[: len(squares)], parts[len(squares) :]
    moves = [_moves(query, setting) for query in squares]
    return Budgets(
        dict(zip(squares, allocation.evened(own, moves, pure=setting.pure), strict=True)), tuple(others)
    )


def _moves(query: LinearQuery, setting: Setting) -> int:
    sensitivity = query.sensitivity(setting.rows_per_person, setting.groups)
    return cast(int, sensitivity.l1 if setting.pure else sensitivity.l2_squared)


def noise(query: LinearQuery, budget: Fraction, setting: Setting) -> Noise:
    """Return the mechanism that spends a budget on a linear query: Laplace under ε, Gaussian under ρ."""
    sensitivity = query.sensitivity(setting.rows_per_person, setting.groups)
    if setting.pure:
        return Laplace.for_epsilon(budget, sensitivity.l1 or 0)
    return Gaussian.for_rho(budget, sensitivity)


def least_budgets(formulas: Sequence[Formula], within: Margins, setting: Setting) -> Budgets:
    """Return the least budgets with which every number meets its margin."""
    budgets: dict[LinearQuery, Fraction] = {}
    names = [formula.aggregate.name for formula in formulas]
    if isinstance(within, Mapping) and set(within) != set(names):
        raise ParameterError(
            f"Margins by name must name every number of the answer: {', '.join(names)}.",
            found=", ".join(map(str, within)) or "none",
            fix=Fix("within", {name: within.get(name, 200) for name in names}),
        )
    for formula, name in zip(formulas, names, strict=True):
        wanted = positive(within[name] if isinstance(within, Mapping) else within, "within")
        for query, budget in _least_budgets(formula, wanted, setting).items():
            budgets[query] = max(budget, budgets.get(query, Fraction(0)))
    return Budgets(budgets, ())


def _least_budgets(formula: Formula, within: Fraction, setting: Setting) -> dict[LinearQuery, Fraction]:
    name = formula.aggregate.name
    if not isinstance(formula, Linear):
        steps = "epsilon doubles until the margin is met; a given epsilon caps the total"
        relative = Fix("within", "5%", note=steps)
        raise QuestionRefused(
            f"The margin of {name} depends on the number of rows, which is private, so its cost is not known in "
            "advance.",
            fix=[Fix("epsilon", "0.1", note="instead of within"), *([relative] if setting.groups == 1 else [])],
        )

    def divided(epsilon: Fraction) -> dict[LinearQuery, Fraction]:
        return divide([formula], epsilon if setting.pure else epsilon**2 / 2, setting).queries

    def margin(epsilon: Fraction) -> float:
        try:
            noises = {query: noise(query, budget, setting) for query, budget in divided(epsilon).items()}
        except LawTooWide:
            return math.inf
        return margin_of_sum([(c, noises[query]) for c, query in formula.parts], setting.alpha)

    epsilon = least(lambda epsilon: margin(epsilon) <= within)
    if epsilon is None:
        raise QuestionRefused(
            f"No epsilon below 10,000 gives {name} so small a margin.",
            found=within,
            fix=Fix("within", math.ceil(margin(_LARGEST)), note=f"for {name}"),
        )
    return divided(epsilon)


def least(holds: Callable[[Fraction], bool]) -> Fraction | None:
    """Return the least number of three digits for which a claim holds that holds for all larger ones.

    It is None if the claim does not hold for 9,990.

    >>> least(lambda epsilon: epsilon**2 >= 2)
    Fraction(71, 50)
    """
    unit = Fraction(1, 10**8)
    while not holds(999 * unit):
        unit *= 10
        if 999 * unit > _LARGEST:
            return None
    low, high = 99, 999  # 999 of the unit before are 99.9 units, and the claim failed for them
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle * unit) else (middle, high)
    return high * unit
