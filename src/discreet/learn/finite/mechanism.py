"""Choose the mechanism for a finite class: the exponential mechanism, or permute-and-flip.

Claim. Neighbours add or remove one person, whose rows weigh Δ = K·UNIT or less. The score of a hypothesis is minus
its weighted errors: when a person joins, every score falls by 0 to Δ, so the scores are monotonic, and choosing h
with probability ∝ exp(−ε·errors(h)/Δ) is ε-differentially private (without the 2 of the general case: see
docs/theory/exponential.md). Permute-and-flip with the same scale is ε-DP too, and never further from the best.
With probability 1 − β the choice has at most `error` more errors than the best hypothesis, for every table.

Under an ε the better bound is that of permute-and-flip. Under a ρ the exponential mechanism is ε²/8-zCDP and
affords ε = √(8ρ), while permute-and-flip is ε²/2-zCDP and affords ε = √(2ρ). `best` compares the bounds, which are
public.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, TypeAlias, get_args

from discreet.errors import Fix, ParameterError
from discreet.ledger.balance import largest_pure_epsilon
from discreet.mechanisms import Exponential, PermuteAndFlip
from discreet.rational import Rational, root_below

Choosing: TypeAlias = Literal["best", "exponential", "permute and flip"]
"""The mechanism by name; "best" takes the one with the smaller bound."""

Mechanism: TypeAlias = Exponential | PermuteAndFlip


def mechanism_for(
    amount: Fraction,
    pure: bool,
    *,
    weight: int,
    candidates: int,
    choosing: Choosing = "best",
    confidence: Rational = "0.95",
) -> Mechanism:
    """Return the mechanism that an amount buys.

    Args:
        amount: An ε (pure) or a ρ.
        pure: Whether the amount is an ε.
        weight: The most that the rows of one person weigh.
        candidates: The number of hypotheses.
        choosing: The mechanism; by default the one with the smaller bound.
        confidence: The confidence at which bounds are compared.

    >>> mechanism_for(Fraction(1), True, weight=4096, candidates=100)
    PermuteAndFlip(epsilon=Fraction(1, 1), sensitivity=4096, monotonic=True)
    >>> type(mechanism_for(Fraction(1, 8), False, weight=4096, candidates=100)).__name__
    'Exponential'
    """
    if choosing not in get_args(Choosing):
        raise ParameterError("There is no such mechanism.", found=repr(choosing), fix=Fix("mechanism", "best"))
    affordable: dict[str, Mechanism] = {
        "exponential": Exponential(amount if pure else root_below(8 * amount), weight, monotonic=True),
        "permute and flip": PermuteAndFlip(
            amount if pure else largest_pure_epsilon(amount), weight, monotonic=True
        ),
    }
    if choosing != "best":
        return affordable[choosing]
    return min(affordable.values(), key=lambda one: one.error(confidence, candidates=candidates))
