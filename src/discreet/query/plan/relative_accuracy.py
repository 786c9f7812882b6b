"""Meet a relative margin of error: double epsilon until the answer is accurate enough.

The size of ±5 % depends on the answer, so no budget can be computed in advance. The steps are fixed in advance
instead: the budgets ε, 2ε, 4ε, … of whole questions, each charged before it is executed. The decision to continue
depends only on released numbers, so it is post-processing, and an adaptive filter such as the ledger's charges
only the steps that were asked. All steps together cost less than twice the last ε under a pure ledger, and less
than 4/3 of the last ρ under one with δ.

The decision to stop must not make an answer look better than it is. Step i (from 0) has alpha β/2^{i+1}: with
probability 1 − β the intervals of *all* steps hold the truth, also that of the last step, at any stopping point.
`reached` judges by the worst number of the interval: if the margin is at most 5 % of every number in the interval,
then the value is within 5 % of the truth.

    for plan in doubling(question, metadata, within="5%", budget=budget):
        …charge plan.losses…
        answer = execute(plan, engine, rows)
        if reached(answer, "5%"):
            break

If the budget is used up first, or the cap on the cost of all steps (`most`), the last answer is returned with a
note on the margin that it has (`short`). The receipt is that of all steps (`with_receipt`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate

import numpy as np

from discreet.errors import Fix, ParameterError, QuestionRefused
from discreet.ledger.budget import Budget
from discreet.mechanisms import tails
from discreet.query.answer.estimates import Estimate, Estimates
from discreet.query.plan.calibration import Margins
from discreet.query.plan.plan import LEAST_ALPHA, Plan, PlannedTable, plan
from discreet.query.question import Aggregate, Question
from discreet.rational import Rational, positive, rational
from discreet.release.receipt import together
from discreet.release.release import Release
from discreet.render.numbers import number

_STEPS = 24  # so the last ε is eight million times the first


def doubling(
    question: Question,
    metadata: PlannedTable,
    *,
    within: str,
    confidence: Rational = "0.95",
    budget: Budget,
    start: Rational = "0.001",
    most: Fraction | None = None,
) -> Iterator[Plan]:
    """Return plans, each with twice the ε of the one before, to be charged and executed until `reached`.

    Args:
        question: The parsed question, without groups.
        metadata: The metadata of the sealed table.
        within: The relative margin, such as "5%".
        confidence: The confidence that the intervals of all steps hold, 0.95 by default.
        budget: The budget of the ledger.
        start: The ε of the first step, 0.001 by default.
        most: The cap of all steps together, in the unit that the ledger adds up. Unlimited by default.
    """
    share(within)
    if question.keys:
        raise QuestionRefused(
            "A relative margin is for a question without groups: a group with few rows would never reach it.",
            found=within,
            fix=[Fix("epsilon", "0.1"), Fix("within", 200, note="for counts and sums")],
        )
    alpha, first = tails.alpha(confidence), positive(start, "start")
    if alpha / 2**_STEPS < LEAST_ALPHA:  # refused now, not after half of the steps were charged
        raise ParameterError(
            "A relative margin divides 1 − confidence among its steps, so confidence must be at most 1 − 1e-12.",
            found=confidence,
            fix=Fix("confidence", "0.95"),
        )
    # Twice the ε under a pure ledger; under one with δ four times the ρ, which is twice the accuracy.
    amounts = [first * 2**i if budget.pure else (first * 2**i) ** 2 / 2 for i in range(_STEPS)]
    steps = _STEPS if most is None else _affordable(most, amounts)
    return (
        plan(question, metadata, amount=amounts[i], confidence=1 - alpha / 2 ** (i + 1), budget=budget)
        for i in range(steps)
    )


def _affordable(most: Fraction, amounts: Sequence[Fraction]) -> int:
    """Return the number of steps within the cap."""
    if most < amounts[0]:
        raise ParameterError(
            "epsilon is too small: it does not reach the first step of a relative margin.",
            fix="Give a larger epsilon, or none.",
        )
    return sum(total <= most for total in accumulate(amounts))


def reached(answer: Estimates, within: str) -> bool:
    """Return whether every number of an answer meets a relative margin, judged by its interval.

    >>> from discreet.query.answer.estimates import Estimate
    >>> count = Estimate(None, np.array([100.0]), np.array([96.0]), np.array([104.0]))
    >>> answer = Estimates([()], (count,), Fraction(19, 20))
    >>> reached(answer, "5%"), reached(answer, "4%")
    (True, False)
    """
    most = float(share(within))
    return all(margin <= most for margin in _relative_margins(answer))


def estimates_of(release: Release) -> Estimates:
    """Return the estimates of a release, which `reached` compares with a margin."""
    found = tuple(
        Estimate(
            Aggregate(a.kind, None, None, a.name), *(np.array(ends, float) for ends in (a.values, a.low, a.high))
        )
        for a in release.aggregates
    )
    return Estimates([()] * release.groups, found, release.confidence)


def short(release: Release, answer: Estimates, within: str, why: str) -> Release:
    """Return a release that has not met its margin, with notes on the margin that it has.

    Args:
        release: The release of the last step.
        answer: Its estimates.
        within: The relative margin that was asked for.
        why: Why there is no further step.
    """
    notes = [_note(margin, within, why) for margin in _relative_margins(answer)]
    noted = tuple(
        replace(column, note=" ".join(filter(None, (column.note, note))))
        for column, note in zip(release.aggregates, notes, strict=True)
    )
    lines = [f"{column.name}: {note}" for column, note in zip(release.aggregates, notes, strict=True) if note]
    return replace(
        release,
        aggregates=noted,
        label=replace(release.label, notes=(*release.label.notes, *lines)),
        plan="\n".join([release.plan, *lines]),
    )


def with_receipt(release: Release, steps: Sequence[Release]) -> Release:
    """Return a release with the receipt of the steps charged now, or of all steps if all were recorded."""
    paid = [step.cost for step in steps if not step.free]
    receipt = together(paid or [step.cost for step in steps])
    return replace(release, free=not paid, label=replace(release.label, receipt=receipt))


def written(within: Margins | None, names: Sequence[str]) -> str:
    """Return margins as the cache key of the ledger writes them: exact, and without the names of the numbers.

    >>> written("10.0", ["n"]), written({"n": 10, "m": "1/2"}, ["n", "m"]), written("5.0 %", ["n"])
    ('10', '["10", "1/2"]', '5%')
    """
    if isinstance(within, Mapping):
        each = [_exact(within.get(name)) for name in names]
        return each[0] if len(set(each)) == 1 else json.dumps(each)
    if isinstance(within, str) and within.strip().endswith("%"):
        return f"{100 * share(within)}%"
    return _exact(within)


def _exact(margin: Rational | None) -> str:
    return "" if margin is None else str(positive(margin, "within"))


def _relative_margins(answer: Estimates) -> list[float]:
    """Return the margin of each number, divided by the least absolute value in its interval; ∞ if that is 0."""
    found = []
    for column in answer.columns:
        least = np.where(column.low > 0, column.low, np.where(column.high < 0, -column.high, 0.0))
        off = np.maximum(column.high - column.value, column.value - column.low)
        with np.errstate(all="ignore"):
            margins = np.where(least > 0, off / least, np.inf)
        found.append(float(np.max(np.nan_to_num(margins, nan=np.inf, posinf=np.inf), initial=0.0)))
    return found


def _note(margin: float, within: str, why: str) -> str:
    if margin <= float(share(within)):
        return ""
    reached = "its interval still holds 0" if margin == np.inf else f"± {number(100 * margin, 3)} % reached"
    return f"{reached}, not ± {str(within).strip().removesuffix('%').strip()} %: {why}."


def share(within: str) -> Fraction:
    """Return a percentage as a fraction.

    >>> share("5%"), share("0.5 %")
    (Fraction(1, 20), Fraction(1, 200))
    """
    text = str(within).strip()
    if not text.endswith("%"):
        raise ParameterError("A relative margin must be a percentage.", found=within, fix=Fix("within", "5%"))
    found = rational(text[:-1].strip(), "within") / 100
    if not 0 < found < 1:
        raise ParameterError(
            "A relative margin must lie between 0 % and 100 %.", found=within, fix=Fix("within", "5%")
        )
    return found
