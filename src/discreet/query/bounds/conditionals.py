"""Compute terms that depend on a condition: case, coalesce, nullif, least, greatest, absolute values, rounding.

Claim. The outcomes are brought to one step and one offset, and the bounds are the hull of the outcomes' own, each
cut to what its condition leaves of it: in least(a, b) the a that is taken is at most b's bound. This holds for any
rows. NULL is SQL's: least and greatest ignore it, as DuckDB and PostgreSQL do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.engines.nodes import Expression
from discreet.errors import QuestionRefused
from discreet.query import ir
from discreet.query.bounds.arithmetic import (
    add,
    ceiling,
    constant,
    floor,
    gcd,
    is_constant,
    negative,
    ordered,
    plain,
    scaled,
    term,
    within,
)
from discreet.query.question import Term

Branch = tuple[Expression, Term]
"""A condition, and the term that is taken under it."""


def choose(branches: Sequence[Branch], default: Term | None) -> Term:
    """Return CASE WHEN … THEN … ELSE … END over terms of one kind; without a default, NULL.

    >>> old = ir.compared(">=", ir.sealed("c0"), ir.number(65))
    >>> share = choose([(old, constant(Fraction(1)))], constant(Fraction(0)))
    >>> share.code.sql(), share.high
    ('CASE WHEN c0 >= 65 THEN 1 ELSE 0 END', 1)
    """
    outcomes = [outcome for _, outcome in branches] + ([default] if default is not None else [])
    if {outcome.kind for outcome in outcomes} == {"category"}:
        return _labelled(branches, default)
    return _merged(
        [(condition, _part(t)) for condition, t in branches], None if default is None else _part(default)
    )


def where(condition: Expression, a: Term) -> Term:
    """Return a on the rows where the condition is true, NULL on the others."""
    return replace(a, code=ir.case([(condition, a.code)]), column=None, nullable=True)


def coalesce(a: Term, b: Term) -> Term:
    """Return a, or b where a is missing."""
    if not a.nullable:
        return a
    return replace(choose([(ir.is_null(a.code), b)], a), nullable=b.nullable)


def unless_equal(a: Term, equal: Expression, b: Term) -> Term:
    """Return nullif(a, b): a, or NULL where `equal`, the comparison a = b, is true. NULL in b equals nothing.

    If b is the same on every row and is an end of a's bounds, that end is never taken, and the bounds lose it.

    >>> age = Term(ir.sealed("c0"), 0, 110)
    >>> kept = unless_equal(age, ordered("=", age, constant(Fraction(0))), constant(Fraction(0)))
    >>> kept.code.sql(), kept.low
    ('CASE WHEN NOT (c0 = 0) THEN c0 END', 1)
    """
    differs = ir.opposite(equal)
    if b.nullable:
        differs = ir.either(ir.is_null(b.code), differs)
    low, high = a.low, a.high
    if is_constant(b) and a.labels is None and a.kind != "text" and low < high:
        low, high = low + (a.least == b.offset), high - (a.most == b.offset)
    return replace(where(differs, a), low=low, high=high)


def sign(a: Term) -> Term:
    """Return −1, 0 or 1 where a is negative, zero or positive.

    >>> sign(Term(ir.sealed("c0"), 0, 9)).code.sql()
    'CASE WHEN c0 >= 1 THEN 1 WHEN c0 = 0 THEN 0 END'
    """
    zero = constant(Fraction(0))
    signs = [(symbol, value) for symbol, value in ((">", 1), ("=", 0), ("<", -1)) if _possible(a, value)]
    if len(signs) == 1 and not a.nullable:
        return constant(Fraction(signs[0][1]))
    branches = [(ordered(symbol, a, zero), _part(constant(Fraction(value)))) for symbol, value in signs]
    return replace(_merged(branches, None), nullable=a.nullable)


def _possible(a: Term, value: int) -> bool:
    return a.most > 0 if value > 0 else a.least < 0 if value < 0 else a.least <= 0 <= a.most


def least(a: Term, b: Term) -> Term:
    """Return the smaller of two, or the one that is not NULL.

    >>> income = Term(ir.sealed("c1"), 0, 5000, Fraction(100), nullable=False)
    >>> least(income, constant(Fraction(1000))).high
    10
    """
    if a.most <= b.least or b.most <= a.least:
        return _whichever(a, b) if a.most <= b.least else _whichever(b, a)
    smaller = ordered("<=", a, b), _part(a, most=b.most)
    return replace(
        _merged([*_unless_null(a, b), smaller], _part(b, most=a.most)), nullable=a.nullable and b.nullable
    )


def greatest(a: Term, b: Term) -> Term:
    """Return the larger of two, or the one that is not NULL."""
    if a.least >= b.most or b.least >= a.most:
        return _whichever(a, b) if a.least >= b.most else _whichever(b, a)
    larger = ordered(">=", a, b), _part(a, least=b.least)
    return replace(
        _merged([*_unless_null(a, b), larger], _part(b, least=a.least)), nullable=a.nullable and b.nullable
    )


def absolute(a: Term) -> Term:
    """Return |a|."""
    if a.least >= 0 or a.most <= 0:
        return plain(a) if a.least >= 0 else negative(a)
    zero = Fraction(0)
    return _merged([(ordered(">=", a, constant(zero)), _part(a, least=zero))], _part(negative(a), least=zero))


def rounded(a: Term, digits: int = 0) -> Term:
    """Return a rounded to so many decimal digits, halves away from zero.

    >>> rounded(constant(Fraction(-5, 2))).offset, rounded(constant(Fraction(149)), -2).offset
    (Fraction(-3, 1), Fraction(100, 1))
    """
    unit, half = Fraction(10) ** -digits, constant(Fraction(1, 2))
    counted = scaled(a, 1 / unit)
    up = floor(add(counted, half))
    down = negative(floor(add(negative(counted), half)))
    if a.least >= 0 or a.most <= 0:
        return scaled(up if a.least >= 0 else down, unit)
    not_negative = ordered(">=", a, constant(Fraction(0)))
    return scaled(_merged([(not_negative, _part(up, least=Fraction(0)))], _part(down, most=Fraction(0))), unit)


def towards_zero(a: Term, digits: int = 0) -> Term:
    """Return a cut off after so many decimal digits: rounded towards zero.

    >>> towards_zero(constant(Fraction(-5, 2))).offset, towards_zero(constant(Fraction(199)), -2).offset
    (Fraction(-2, 1), Fraction(100, 1))
    """
    unit = Fraction(10) ** -digits
    counted = scaled(a, 1 / unit)
    if a.least >= 0 or a.most <= 0:
        return scaled(floor(counted) if a.least >= 0 else ceiling(counted), unit)
    zero = Fraction(0)
    branches = [(ordered(">=", a, constant(zero)), _part(floor(counted), least=zero))]
    return scaled(_merged(branches, _part(ceiling(counted), most=zero)), unit)


def relabelled(a: Term, labels: Sequence[Any]) -> Expression:
    """Return the code of a category in another list of labels; labels that it lacks get one code past its last."""
    places = {label: place for place, label in enumerate(labels)}
    table = [places.get(label, len(labels)) for label in a.labels or ()]
    return ir.number(table[0]) if is_constant(a) else lookup(a.code, table)


def expect_alike(*outcomes: Term) -> None:
    """Refuse categories of different kinds in one expression: strings, numbers, dates.

    >>> city = Term(ir.sealed("c0"), 0, 1, kind="category", labels=("Bergen", "Oslo"))
    >>> ward = Term(ir.sealed("c1"), 0, 1, kind="category", labels=(1, 2))
    >>> expect_alike(city, ward)
    Traceback (most recent call last):
    discreet.errors.QuestionRefused: A category of strings stands beside one of numbers. Use one kind at a time.
    """
    kinds = {type(outcome.labels[0]) for outcome in outcomes if outcome.labels}
    if len(kinds) > 1:
        nouns = " stands beside one of ".join(sorted(_LISTS.get(kind, "dates") for kind in kinds)[::-1])
        raise QuestionRefused(f"A category of {nouns}.", fix="Use one kind at a time.")


_LISTS = {str: "strings", int: "numbers"}


def lookup(code: Expression, table: Sequence[int]) -> Expression:
    """Return table[code] by binary search over the table's runs, in log₂(runs) comparisons for a row.

    A run is constant or rises by one at each step. NULL stays NULL.

    >>> lookup(ir.sealed("c0"), [0, 1, 2, 3]).sql()
    'c0'
    >>> lookup(ir.sealed("c0"), [5, 5, 2, 3]).sql()
    'CASE WHEN NOT (c0 IS NULL) THEN CASE WHEN c0 < 2 THEN 5 ELSE c0 END END'
    """
    runs = _runs(table)
    if runs == [(0, table[0], 1)]:
        return ir.plus(code, table[0])
    starts, values, slopes = zip(*runs, strict=True)
    return ir.stepped(code, starts, values, slopes)


_Part = tuple[Term, int, int]  # a term, and the bounds of its code under its condition


def _part(a: Term, *, least: Fraction | None = None, most: Fraction | None = None) -> _Part:
    low = a.low if least is None else max(a.low, math.ceil((least - a.offset) / a.scale))
    high = a.high if most is None else min(a.high, math.floor((most - a.offset) / a.scale))
    return a, low, high


def _merged(branches: Sequence[tuple[Expression, _Part]], default: _Part | None) -> Term:
    """Convert all outcomes to one step and one offset, and take the hull of their bounds."""
    parts = [part for _, part in branches] + ([default] if default is not None else [])
    base, step = min(a.offset for a, _, _ in parts), Fraction(0)
    for a, _, _ in parts:
        step = gcd(gcd(step, a.offset - base), a.scale if a.high else Fraction(0))
    step = step or Fraction(1)

    def code(a: Term) -> Expression:
        shift, factor = int((a.offset - base) / step), int(a.scale / step) if a.high else 1
        within(a.high * factor + shift)
        return ir.number(shift) if is_constant(a) else ir.plus(ir.times(a.code, factor), shift)

    ends = [int((a.offset + a.scale * end - base) / step) for a, low, high in parts for end in (low, high)]
    otherwise = None if default is None else code(default[0])
    tree = ir.case([(condition, code(a)) for condition, (a, _, _) in branches], otherwise)
    nullable = default is None or any(a.nullable for a, _, _ in parts)
    return term(tree, min(ends), max(ends), step, base, kind=parts[0][0].kind, nullable=nullable)


def _labelled(branches: Sequence[Branch], default: Term | None) -> Term:
    """Convert categories to one list of labels, in the order in which they appear."""
    outcomes = [outcome for _, outcome in branches] + ([default] if default is not None else [])
    expect_alike(*outcomes)
    labels = tuple(dict.fromkeys(label for outcome in outcomes for label in outcome.labels or ()))
    otherwise = None if default is None else relabelled(default, labels)
    tree = ir.case([(condition, relabelled(a, labels)) for condition, a in branches], otherwise)
    nullable = default is None or any(a.nullable for a in outcomes)
    return Term(tree, 0, len(labels) - 1, kind="category", labels=labels, nullable=nullable)


def _runs(table: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return where each run starts, its first value, and its slope."""
    runs: list[tuple[int, int, int]] = []
    for place, value in enumerate(table):
        if runs:
            start, first, slope = runs[-1]
            if place == start + 1 and value - first in (0, 1):
                runs[-1] = start, first, value - first
                continue
            if value == first + slope * (place - start):
                continue
        runs.append((place, value, 0))
    return runs


def _whichever(first: Term, second: Term) -> Term:
    """Return the first term, or the second where it is missing."""
    return plain(coalesce(plain(first), plain(second)))


def _unless_null(a: Term, b: Term) -> Iterable[tuple[Expression, _Part]]:
    if a.nullable:
        yield ir.is_null(a.code), _part(b)
    if b.nullable:
        yield ir.is_null(b.code), _part(a)
