"""A relative width: spend a little, look, and spend twice as much until the answer is good enough.

How wide ±5 % is depends on the answer, so no budget can be named beforehand. The steps are fixed in advance
instead: the budgets ε, 2ε, 4ε, … of whole questions, each charged before it is executed. Whether to go on depends
only on what was released, so it is post-processing, and an adaptive filter such as the ledger's pays for what was
asked and no more. All steps together cost less than twice the last ε under a pure ledger, and less than 4/3 of the
last ρ under one with δ.

Stopping where the answer looks good must not make it look better than it is. Step i (from 0) has the doubt
β/2^{i+1}: with probability 1 − β the intervals of *all* steps hold the truth, that of the last one too, wherever
one stops. `reached` takes the worst of the interval: if half of it is at most 5 % of every number in it, then the
value is within 5 % of the truth.

    for plan in doubling(question, description, within="5%", budget=budget):
        …charge plan.losses…
        answer = execute(plan, engine, rows)
        if reached(answer, "5%"):
            break

Where the budget ends first, or what all steps may cost (`most`), the last answer is worth what it is, and says how
far it came (`short`). The bill is that of all steps (`billed`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate

import numpy as np

from discreet.errors import ParameterError, QuestionRefused
from discreet.ledger.budget import Budget
from discreet.mechanisms import tails
from discreet.query.answer.estimates import Estimate, Estimates
from discreet.query.plan.calibration import Widths
from discreet.query.plan.plan import LEAST_DOUBT, Described, Plan, plan
from discreet.query.question import Aggregate, Question
from discreet.rational import Rational, positive, rational
from discreet.release.receipt import together
from discreet.release.release import Release
from discreet.render.numbers import number

_STEPS = 24  # the last ε is eight million times the first


def doubling(
    question: Question,
    metadata: Described,
    *,
    within: str,
    confidence: Rational = "0.95",
    budget: Budget,
    start: Rational = "0.001",
    most: Rational | None = None,
) -> Iterator[Plan]:
    """Return plans of twice the ε each, to be charged and executed one by one until `reached`.

    All together cost no more than one question with the ε `most`, if that is given.
    """
    share(within)
    if question.keys:
        raise QuestionRefused(
            f'within="{within}" is for a question without groups: one group with few rows would never reach it. '
            'Ask with epsilon="0.1", or with within=200 for counts and sums.'
        )
    alpha, first = tails.alpha(confidence), positive(start, "start")
    if alpha / 2**_STEPS < LEAST_DOUBT:  # said now, not when half of the steps are paid for
        raise ParameterError(
            f'within="{within}" divides its doubt among steps, and confidence leaves 1e-12 of it at least: '
            f'"0.95", not {confidence!r}.'
        )
    steps = _STEPS if most is None else _within(positive(most, "epsilon"), first, 1 if budget.pure else 2)
    return (
        plan(question, metadata, epsilon=first * 2**i, confidence=1 - alpha / 2 ** (i + 1), budget=budget)
        for i in range(steps)
    )


def _within(most: Fraction, first: Fraction, power: int) -> int:
    """Return how many steps there are room for: ε adds up under a pure ledger, and ε² under one with δ."""
    if most < first:
        raise ParameterError(f"a relative width takes epsilon={first} at least, its first step, not {most}.")
    spent = list(accumulate((first * 2**i) ** power for i in range(_STEPS)))
    return sum(total <= most**power for total in spent)


def reached(answer: Estimates, within: str) -> bool:
    """Return whether every number of an answer is within a share of the truth, as far as its interval knows.

    >>> from discreet.query.answer.estimates import Estimate
    >>> count = Estimate(None, np.array([100.0]), np.array([96.0]), np.array([104.0]))
    >>> answer = Estimates([()], (count,), Fraction(19, 20))
    >>> reached(answer, "5%"), reached(answer, "4%")
    (True, False)
    """
    most = float(share(within))
    return all(width <= most for width in _shares(answer))


def judged(release: Release) -> Estimates:
    """Return a release as what its width is judged by."""
    found = tuple(
        Estimate(
            Aggregate(a.kind, None, None, a.name), *(np.array(ends, float) for ends in (a.values, a.low, a.high))
        )
        for a in release.aggregates
    )
    return Estimates([()] * release.groups, found, release.confidence)


def short(release: Release, answer: Estimates, within: str, why: str) -> Release:
    """Return a release that has not reached its width, with a note on how far it came, and why no further."""
    said = [_said(width, within, why) for width in _shares(answer)]
    noted = tuple(
        replace(column, note=" ".join(filter(None, (column.note, words))))
        for column, words in zip(release.aggregates, said, strict=True)
    )
    lines = [f"{column.name}: {words}" for column, words in zip(release.aggregates, said, strict=True) if words]
    return replace(
        release,
        aggregates=noted,
        label=replace(release.label, notes=(*release.label.notes, *lines)),
        plan="\n".join([release.plan, *lines]),
    )


def billed(release: Release, steps: Sequence[Release]) -> Release:
    """Return a release with the bill of all its steps: of those paid for now, or of all if all were recorded."""
    paid = [step.cost for step in steps if not step.free]
    bill = together(paid or [step.cost for step in steps])
    return replace(release, free=not paid, label=replace(release.label, receipt=bill))


def written(within: Widths | None, names: Sequence[str]) -> str:
    """Return widths as a ledger knows them: exact, and without the names of the numbers, which may change.

    >>> written("10.0", ["n"]), written({"n": 10, "m": "1/2"}, ["n", "m"]), written("5.0 %", ["n"])
    ('10', '["10", "1/2"]', '5%')
    """
    if isinstance(within, Mapping):
        each = [_exact(within.get(name)) for name in names]
        return each[0] if len(set(each)) == 1 else json.dumps(each)
    if isinstance(within, str) and within.strip().endswith("%"):
        return f"{100 * share(within)}%"
    return _exact(within)


def _exact(width: Rational | None) -> str:
    return "" if width is None else str(positive(width, "within", floats="exact"))


def _shares(answer: Estimates) -> list[float]:
    """How far off each number may be, as a share of the least that it may be; ∞ where that is 0."""
    found = []
    for column in answer.columns:
        least = np.where(column.low > 0, column.low, np.where(column.high < 0, -column.high, 0.0))
        off = np.maximum(column.high - column.value, column.value - column.low)
        with np.errstate(all="ignore"):
            widths = np.where(least > 0, off / least, np.inf)
        found.append(float(np.max(np.nan_to_num(widths, nan=np.inf, posinf=np.inf), initial=0.0)))
    return found


def _said(width: float, within: str, why: str) -> str:
    if width <= float(share(within)):
        return ""
    came = "its interval still holds 0" if width == np.inf else f"± {number(100 * width, 3)} % reached"
    return f"{came}, not ± {str(within).strip().removesuffix('%').strip()} %: {why}."


def share(within: str) -> Fraction:
    """Return a percentage as a fraction.

    >>> share("5%"), share("0.5 %")
    (Fraction(1, 20), Fraction(1, 200))
    """
    text = str(within).strip()
    if not text.endswith("%"):
        raise ParameterError(f'A relative width is written in percent, such as within="5%", not {within!r}.')
    found = rational(text[:-1].strip(), "within") / 100
    if not 0 < found < 1:
        raise ParameterError(f'within="{within}" is not between 0 % and 100 %.')
    return found
