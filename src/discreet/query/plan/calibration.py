"""From a budget, or from a width that is wanted, to a budget for each thing that is measured.

**A budget.** An ε is divided by `split` over all measures and quantiles of the question; under a ledger with δ a
question of ε spends ρ = ε²/2, which is divided likewise. Finding texts takes a third of ρ first.

**A width.** Counts, persons and sums have a half-width that depends on their noise alone, so the least budget that
reaches it is known before any data is seen: for each number by itself, to three digits, rounded up. A measure that
several numbers need gets the largest of theirs. The half-width of an average or a quantile depends on how many
rows there are, which is private, so such a question is refused: ask with epsilon=…, or for a relative width, which
is found by `discreet.query.plan.relative_accuracy.doubling`, and paid for step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import LawTooWide, ParameterError, QuestionRefused
from discreet.mechanisms import Gaussian, Laplace
from discreet.query.plan import allocation
from discreet.query.plan.error_bounds import Noise, radius
from discreet.query.plan.estimators import Formula, Linear, Rank, importance, rank_importance
from discreet.query.plan.linear_queries import LinearQuery
from discreet.query.plan.quantiles import cells, coarsening
from discreet.rational import Rational, positive

FOR_TEXTS = Fraction(1, 3)
"""The share of ρ that finding texts takes."""

Widths = Rational | Mapping[str, Rational]
"""One half-width for all numbers, or one for each by name."""


@dataclass(frozen=True)
class Setting:
    """What is public about a question before it is planned.

    `groups` is how many there are at most, which sensitivities rest on. `foreseen` is how many are reckoned with
    where only time depends on it.
    """

    rows_per_person: int
    groups: int
    foreseen: int
    pure: bool
    alpha: Fraction


@dataclass(frozen=True)
class Budgets:
    """An ε, or a ρ, for every measure and every quantile."""

    measures: dict[LinearQuery, Fraction]
    ranks: tuple[Fraction, ...]

    @property
    def total(self) -> Fraction:
        """All of them together."""
        return sum([*self.measures.values(), *self.ranks], Fraction(0))


def divided(formulas: Sequence[Formula], total: Fraction, setting: Setting) -> Budgets:
    """Return the division of a budget that makes the sum of the squared relative errors least."""
    squares = importance(formulas, setting.rows_per_person, setting.groups, pure=setting.pure)
    ranks = [
        rank_importance(formula.probability, cells(formula.term, coarsening(formula.term, setting.foreseen)))
        for formula in formulas
        if isinstance(formula, Rank)
    ]
    shares = allocation.shares([*squares.values(), *ranks], pure=setting.pure)
    parts = [total * share for share in shares]
    return Budgets(dict(zip(squares, parts, strict=False)), tuple(parts[len(squares) :]))


def noise(measure: LinearQuery, budget: Fraction, setting: Setting) -> Noise:
    """Return the mechanism that spends a budget on a measure: Laplace where ε adds up, Gaussian where ρ does."""
    moves = measure.sensitivity(setting.rows_per_person, setting.groups)
    return Laplace.for_epsilon(budget, moves.l1 or 0) if setting.pure else Gaussian.for_rho(budget, moves)


def needed(formulas: Sequence[Formula], within: Widths, setting: Setting) -> Budgets:
    """Return the least budgets with which every number is within its width."""
    found: dict[LinearQuery, Fraction] = {}
    names = [formula.aggregate.name for formula in formulas]
    if isinstance(within, Mapping) and set(within) != set(names):
        raise ParameterError(f"within={{…}} names every number of the answer: {', '.join(names)}.")
    for formula, name in zip(formulas, names, strict=True):
        width = positive(within[name] if isinstance(within, Mapping) else within, "within", floats="exact")
        for measure, budget in _needed(formula, width, setting).items():
            found[measure] = max(budget, found.get(measure, Fraction(0)))
    return Budgets(found, ())


def _needed(formula: Formula, width: Fraction, setting: Setting) -> dict[LinearQuery, Fraction]:
    if not isinstance(formula, Linear):
        raise QuestionRefused(
            f"How wide the interval of {formula.aggregate.name} is depends on how many rows there are, which is "
            'private, so no epsilon can be named for it in advance. Ask with epsilon="0.1", or with a relative '
            'width, which is found step by step, each twice as dear as the one before: within="5%", and beside it '
            'epsilon="0.5", the most that all steps may cost.'
        )

    def parts(epsilon: Fraction) -> dict[LinearQuery, Fraction]:
        return divided([formula], epsilon if setting.pure else epsilon**2 / 2, setting).measures

    def wide_enough(epsilon: Fraction) -> bool:
        try:
            noises = {measure: noise(measure, budget, setting) for measure, budget in parts(epsilon).items()}
        except LawTooWide:
            return False
        return radius([(c, noises[measure]) for c, measure in formula.parts], setting.alpha) <= width

    return parts(least(wide_enough, formula.aggregate.name))


def least(holds: Callable[[Fraction], bool], name: str) -> Fraction:
    """Return the least number of three digits for which a claim holds that holds for all larger ones.

    >>> least(lambda epsilon: epsilon**2 >= 2, "count")
    Fraction(71, 50)
    """
    unit = Fraction(1, 10**8)
    while not holds(999 * unit):
        unit *= 10
        if unit > 10:
            raise QuestionRefused(
                f"No epsilon below 10,000 brings {name} within so little. Ask for a larger width."
            )
    low, high = 99, 999  # 99 units are 990 of the unit below, and those did not do
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle * unit) else (middle, high)
    return high * unit
