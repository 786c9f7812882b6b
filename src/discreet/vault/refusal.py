"""Say how accurate an answer would be for what is left of the budget.

Everything here is planned from public facts, and is free. Whatever is offered fits the accounts as they are now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import ROUND_CEILING
from fractions import Fraction
from typing import Any

from discreet.errors import BudgetExceeded, DiscreetError, Fix
from discreet.query.plan.plan import Plan
from discreet.render import numbers

_SLACK = (Fraction(1), Fraction(21, 20), Fraction(11, 10), Fraction(5, 4))
_FEW = 3  # numbers whose margins are named in the note


def with_margins(
    error: BudgetExceeded, planned: Callable[..., Plan], affordable: Callable[[Plan], bool]
) -> BudgetExceeded:
    """Return a refusal whose offers are known to fit, with the margins of the answer where these are known.

    Args:
        error: The refusal, with a share of the budget as its fix.
        planned: Plans the question for `spend=` or `within=`.
        affordable: Returns whether the accounts can pay for a plan.
    """
    share = next((fix.value for fix in error.fixes if isinstance(fix, Fix) and fix.parameter == "spend"), None)
    if share is None:
        return error
    made = _fitting(planned, affordable, spend=share)
    if made is None:
        return BudgetExceeded(error.problem, fix="What is left is not enough for any answer to this question.")
    margins = {one.name: one.margin for one in made.expected}
    known = {name: margin for name, margin in margins.items() if margin}
    if len(known) < len(margins):
        return BudgetExceeded(error.problem, fix=Fix("spend", share))
    fixes = [Fix("spend", share, note=_note(known))]
    for within in _candidates(known):
        if _fitting(planned, affordable, within=within) is not None:
            fixes.append(Fix("within", within))
            break
    return BudgetExceeded(error.problem, fix=fixes)


def _fitting(planned: Callable[..., Plan], affordable: Callable[[Plan], bool], **given: Any) -> Plan | None:
    try:
        made = planned(**given)
    except DiscreetError:  # noise that is too large to draw, or a margin that cannot be promised
        return None
    return made if affordable(made) else None


def _note(margins: dict[str, float]) -> str:
    if len(margins) == 1:
        return f"± {numbers.number(next(iter(margins.values())), 3)}"
    if len(margins) > _FEW:
        return ""
    return ", ".join(f"± {numbers.number(margin, 3)} for {name}" for name, margin in margins.items())


def _candidates(margins: dict[str, float]) -> Iterator[Any]:
    """Yield margins of two digits, a little above those that the share gives."""
    for slack in _SLACK:
        rounded = {name: _rounded(slack * Fraction(margin)) for name, margin in margins.items()}
        yield rounded if len(rounded) > 1 else next(iter(rounded.values()))


def _rounded(margin: Fraction) -> int | str:
    """Return a margin of two digits, rounded up.

    >>> _rounded(Fraction(1234)), _rounded(Fraction(1, 3))
    (1300, '0.34')
    """
    exact = Fraction(numbers.decimal(margin, ROUND_CEILING, 2))
    return int(exact) if exact.denominator == 1 else f"{numbers.decimal(exact):f}"
