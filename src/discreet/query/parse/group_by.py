"""List the declared groups of a question: a dense list of codes, and the value of each.

Every group comes from the schema and the question, and appears in the answer even if it has no rows. Groups that
no row can fall into are left out (discreet.query.bounds.reachable_values). The filter is as public as the rest of
the question, so `where day between … and …` keeps only the days between of a million declared ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from discreet.engines.nodes import Expression
from discreet.errors import QuestionRefused
from discreet.query import ir
from discreet.query.bounds import calendar, reachable_values
from discreet.query.parse.scope import Scope
from discreet.query.question import Key, Term

MOST_GROUPS = 10**6
"""The most groups of one answer."""

_WIDER = "Use wider bins, such as floor(age / 10) or date_trunc('month', day)."

_RUNS = 64  # the most ranges of codes that are renumbered together; each adds comparisons per row


def key(term: Term, where: Expression | None, scope: Scope, name: str) -> Key:
    """Return the groups by a term, of rows that `where` keeps."""
    if term.kind == "text":
        return Key(name, term.code, None, missing=True)
    read = ir.columns_of(term.code)
    bounds = {name: reachable_values.narrowed(name, scope.bounds(name), where) for name in read}
    found = reachable_values.attained(term.code, where, bounds)
    if found is None:
        return _whole(term, name)
    codes, missing = found
    if not codes and not missing:
        raise QuestionRefused(
            f"No row can have a value of {name} that the where clause allows.",
            fix="Change the condition in where.",
        )
    return _dense(term, codes, missing, name)


def check(keys: Sequence[Key]) -> None:
    """Refuse more groups than an answer may have."""
    product = 1
    for part in keys:
        product *= part.groups or 1
    if product > MOST_GROUPS:
        widest = max(keys, key=lambda part: part.groups or 0)
        raise QuestionRefused(
            f"There are {product} groups, and an answer has {MOST_GROUPS} at most; {widest.name} alone makes "
            f"{widest.groups}.",
            fix=_WIDER,
        )


def _whole(term: Term, name: str) -> Key:
    size = term.high - term.low + 1
    if size > MOST_GROUPS:
        raise QuestionRefused(
            f"{name} has {size} values, and an answer has {MOST_GROUPS} groups at most.", fix=_WIDER
        )
    return Key(name, ir.plus(term.code, -term.low), _values(term, range(term.low, term.high + 1)), term.nullable)


def _dense(term: Term, codes: list[int], missing: bool, name: str) -> Key:
    """Number the codes from 0 without gaps."""
    if len(codes) < 2:
        shift = ir.plus(term.code, -codes[0]) if codes else term.code
        return Key(name, shift, _values(term, codes), missing)
    step, last = codes[1] - codes[0], codes[-1]
    if last - codes[0] == len(codes) - 1:
        return Key(name, ir.plus(term.code, -codes[0]), _values(term, codes), missing)
    starts = [place for place, code in enumerate(codes) if place == 0 or code != codes[place - 1] + 1]
    if len(starts) <= _RUNS:
        moved = ir.stepped(term.code, [codes[i] for i in starts], starts, [1] * len(starts))
        return Key(name, moved, _values(term, codes), missing)
    even = last - codes[0] == step * (len(codes) - 1) and codes == list(range(codes[0], last + 1, step))
    if even and not ir.has_difference(term.code):
        whole = ir.plus(ir.divided(term.code, step), -(codes[0] // step))
        return Key(name, whole, _values(term, codes), missing)
    return _whole(term, name)


def _values(term: Term, codes: Sequence[int]) -> tuple[Any, ...]:
    if term.labels is not None:
        return tuple(term.labels[code] for code in codes)
    if term.column is not None:
        return tuple(term.column.values(list(codes)))
    if term.kind == "boolean":
        return tuple(bool(term.offset + code) for code in codes)
    if term.kind in ("date", "datetime"):
        return calendar.moments(term, codes)
    return _numbers(term, codes)


def _numbers(term: Term, codes: Sequence[int]) -> tuple[int, ...] | tuple[float, ...]:
    """Return the values of a number: all integers, or all floats, and no two equal."""
    parts = math.lcm(term.offset.denominator, term.scale.denominator)
    first, step = int(term.offset * parts), int(term.scale * parts)  # value = (first + step·code)/parts
    exact = [first + step * code for code in codes]
    if all(value % parts == 0 and abs(value) < 2**63 * parts for value in exact):
        return tuple(value // parts for value in exact)
    rounded = tuple(value / parts for value in exact)
    if len(set(rounded)) < len(exact):
        raise QuestionRefused(
            "Groups of numbers that agree in their first 15 digits could not be told apart in the answer.",
            fix="Use wider bins, such as floor(x), or subtract what they have in common first.",
        )
    return rounded
