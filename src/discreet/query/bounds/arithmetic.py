"""Compute with terms, and bound the results.

Claim. If every operand's code lies in its bounds on every row, so does the result's, and offset + scale·code is
the exact rational that the operation means; NULL where SQL says NULL. Codes are integers from 0 up, steps are
exact fractions, so no row ever meets a rounding. The bounds are interval arithmetic: sound for any rows, not
always the tightest (x − x is taken to range from −width to width). Noise is scaled by these bounds, so
`sum(least(income, 100000))` has a smaller error because its bound is tighter.

The semantics are DuckDB's: `/` divides exactly, and least and greatest ignore NULL. `//` and `%` take only values
that are never negative, where all engines agree.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.engines.nodes import Add, Expression, Int, Mul, Sub
from discreet.errors import QuestionRefused
from discreet.query import ir
from discreet.query.question import Term


def term(code: Expression, low: int, high: int, scale: Fraction, offset: Fraction, **rest: Any) -> Term:
    """Return a term whose code is not negative, or refuse one whose code may exceed the exact integers.

    Args:
        code: The code; it may be negative, and is shifted then.
        low: The least code.
        high: The largest code.
        scale: The value of one step of the code.
        offset: The value of code 0.
        rest: The other fields of the term.

    >>> term(ir.sealed("c0"), -3, 9, Fraction(1), Fraction(0)).code.sql()
    'c0 + 3'
    """
    for bound in (low, high):
        if abs(bound) > ir.LARGEST:
            raise ir.too_large(bound)
    shift = max(-low, 0)
    return Term(ir.plus(code, shift), low + shift, high + shift, scale, offset - scale * shift, **rest)


def constant(value: Fraction) -> Term:
    """Return the term that is the same on every row."""
    return Term(ir.number(0), 0, 0, offset=value, nullable=False)


def is_constant(a: Term) -> bool:
    """Return whether the term is the same number on every row, NULL nowhere."""
    return a.high == 0 and not a.nullable


def add(a: Term, b: Term) -> Term:
    """Return a + b.

    >>> age = Term(ir.sealed("c0"), 0, 110)
    >>> add(age, add(age, constant(Fraction(1, 2)))).most
    Fraction(441, 2)
    """
    if is_constant(b):
        return plain(a, offset=a.offset + b.offset)
    if is_constant(a):
        return plain(b, offset=a.offset + b.offset)
    step = gcd(a.scale, b.scale)
    p, q = int(a.scale / step), int(b.scale / step)
    low, high = p * a.low + q * b.low, within(p * a.high) + within(q * b.high)
    code = ir.binary(Add, ir.times(a.code, p), ir.times(b.code, q))
    return term(code, low, high, step, a.offset + b.offset, nullable=a.nullable or b.nullable)


def negative(a: Term) -> Term:
    """Return −a, its code counted from the other end so that it stays non-negative.

    >>> age = Term(ir.sealed("c0"), 0, 110)
    >>> negative(age).code.sql(), negative(negative(age)).code.sql()
    ('110 - c0', 'c0')
    """
    if is_constant(a):
        return constant(-a.offset)
    ends = a.low + a.high
    code = _mirrored(a) or ir.binary(Sub, ir.number(ends), a.code)
    return plain(a, code=code, offset=-a.offset - a.scale * ends)


def subtract(a: Term, b: Term) -> Term:
    """Return a − b."""
    return add(a, negative(b))


def multiply(a: Term, b: Term) -> Term:
    """Return a · b.

    >>> age = Term(ir.sealed("c0"), 0, 110)
    >>> multiply(age, constant(Fraction(-1, 2))).least
    Fraction(-55, 1)
    """
    if is_constant(b):
        return scaled(a, b.offset)
    if is_constant(a):
        return scaled(b, a.offset)
    (one, low_a, high_a, step_a), (other, low_b, high_b, step_b) = _integer(a), _integer(b)
    corners = [within(x * y) for x in (low_a, high_a) for y in (low_b, high_b)]
    low, high = min(corners), max(corners)
    if one == other and low_a < 0 < high_a:
        low = 0  # a square
    code = ir.binary(Mul, one, other)
    return term(code, low, high, step_a * step_b, Fraction(0), nullable=a.nullable or b.nullable)


def scaled(a: Term, factor: Fraction) -> Term:
    """Return factor · a."""
    if factor < 0:
        return negative(scaled(a, -factor))
    if factor == 0:
        code = ir.binary(Mul, a.code, ir.number(0)) if a.nullable else ir.number(0)
        return Term(code, 0, 0, nullable=a.nullable)
    return plain(a, scale=a.scale * factor, offset=a.offset * factor)


def divide(a: Term, b: Term) -> Term:
    """Return a / b for a constant b."""
    if not is_constant(b):
        raise QuestionRefused(
            "Dividing by a column has no bound: one row with a small divisor could outweigh all others.",
            fix="Divide by a number, or ask for two sums and divide the answers: select sum(a), sum(b).",
        )
    if b.offset == 0:
        raise QuestionRefused("Dividing by 0 has no answer.", fix="Divide by another number.")
    return multiply(a, constant(1 / b.offset))


def floor(a: Term) -> Term:
    """Return ⌊a⌋.

    >>> age = Term(ir.sealed("c0"), 0, 110)
    >>> decade = floor(divide(age, constant(Fraction(10))))
    >>> decade.code.sql(), decade.high
    ('c0 // 10', 11)
    """
    if _mirrored(a) is not None:  # a code written as a difference cannot be divided
        return negative(ceiling(negative(a)))
    return _floor(a, a.offset)


def ceiling(a: Term) -> Term:
    """Return ⌈a⌉, which is ⌊a + (d − 1)/d⌋ for a with denominators that divide d."""
    if _mirrored(a) is not None:
        return negative(floor(negative(a)))
    d = math.lcm(a.offset.denominator, a.scale.denominator)
    return _floor(a, a.offset + Fraction(d - 1, d))


def _floor(a: Term, offset: Fraction) -> Term:
    """⌊offset + scale·code⌋."""
    whole = math.floor(offset)
    if is_constant(a):
        return constant(Fraction(whole))
    # ⌊(p + q·code)/d⌋ with 0 <= p < d, where a divisor g of q and d may be cancelled if p/g is rounded down.
    d = math.lcm(offset.denominator, a.scale.denominator)
    p, q = int((offset - whole) * d), int(a.scale * d)
    g = math.gcd(q, d)
    p, q, d = p // g, q // g, d // g
    low, high = (p + q * a.low) // d, within(p + q * a.high) // d
    if ir.has_difference(a.code) and d > 1:
        starts = [-((p - d * quotient) // q) for quotient in range(low + 1, high + 1)[: _STEPS + 1]]
        if len(starts) > _STEPS:
            raise QuestionRefused(
                f"Rounding a difference is answered for up to {_STEPS} outcomes.",
                fix="Round the operands first, or use wider bins: floor(a / 10) - floor(b / 10).",
            )
        code = ir.stepped(a.code, [a.low, *starts], list(range(low, high + 1)))
    else:
        code = ir.divided(ir.plus(ir.times(a.code, q), p), d)
    return term(code, low, high, Fraction(1), Fraction(whole), nullable=a.nullable)


def whole_quotient(a: Term, b: Term) -> Term:
    """Return a // b for a that is never negative and a positive constant b."""
    if a.least < 0 or not is_constant(b) or b.offset <= 0:
        raise QuestionRefused(
            "// takes a value that is never negative and a positive number: engines disagree about the rest.",
            fix="Write floor(a / 10).",
        )
    return floor(divide(a, b))


def remainder(a: Term, b: Term) -> Term:
    """Return a % b for a that is never negative and a positive constant b."""
    if a.least < 0 or not is_constant(b) or b.offset <= 0:
        raise QuestionRefused(
            "% takes a value that is never negative and a positive number: engines disagree about the rest.",
            fix="Write a - 10 * floor(a / 10).",
        )
    rest = subtract(a, multiply(b, whole_quotient(a, b)))
    low, high = math.ceil(-rest.offset / rest.scale), math.ceil((b.offset - rest.offset) / rest.scale) - 1
    return term(rest.code, max(low, 0), min(high, rest.high), rest.scale, rest.offset, nullable=a.nullable)


def ordered(operator: str, a: Term, b: Term) -> Expression:
    """Return the comparison of two values; NULL if either is.

    >>> age = Term(ir.sealed("c0"), 0, 110)
    >>> ordered("<", age, constant(Fraction("64.5"))).sql()
    'c0 <= 64'
    """
    if is_constant(b):
        return _against(operator, a, b.offset)
    if is_constant(a):
        return _against(_TURNED[operator], b, a.offset)
    step = gcd(gcd(a.scale, b.scale), a.offset - b.offset)
    p, q, shift = int(a.scale / step), int(b.scale / step), int((a.offset - b.offset) / step)
    within(p * a.high + abs(shift))
    within(q * b.high + abs(shift))
    left = ir.plus(ir.times(a.code, p), max(shift, 0))
    right = ir.plus(ir.times(b.code, q), max(-shift, 0))
    return ir.compared(operator, left, right)


def surely(a: Term, truth: bool) -> Expression:
    """Return a condition that is true (or false) where the term has a value, and NULL where it is missing."""
    return ir.compared("<=" if truth else ">", a.code, ir.number(a.high))


def gcd(a: Fraction, b: Fraction) -> Fraction:
    """Return the largest fraction that both are integer multiples of.

    >>> gcd(Fraction(1, 2), Fraction(1, 3))
    Fraction(1, 6)
    """
    return Fraction(
        math.gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator
    )


def plain(a: Term, **changes: Any) -> Term:
    """Return the term as a plain number, no longer tied to the column that it came from."""
    return replace(a, **{"kind": "number", "column": None, "labels": None, **changes})


def within(value: int) -> int:
    """Return an intermediate integer, or refuse one beyond the exact integers."""
    if abs(value) > ir.LARGEST:
        raise ir.too_large(value)
    return value


_STEPS = 256  # comparisons that may replace one division

_TURNED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _against(operator: str, a: Term, value: Fraction) -> Expression:
    """Compare with a constant on the code axis. Beyond the bounds the result is public; NULL stays NULL."""
    place = (value - a.offset) / a.scale
    if operator in ("=", "<>"):
        if place.denominator == 1 and a.low <= place <= a.high:
            return ir.compared(operator, a.code, ir.number(int(place)))
        return surely(a, operator == "<>")
    upwards = operator in (">", ">=")
    # The first code above (or not below) the place, because only <= and >= are written.
    edge = math.floor(place) + 1 if operator in (">", "<=") else math.ceil(place)
    if edge <= a.low or edge > a.high:
        return surely(a, (edge <= a.low) == upwards)
    return ir.compared(">=" if upwards else "<=", a.code, ir.number(edge if upwards else edge - 1))


def _integer(a: Term) -> tuple[Expression, int, int, Fraction]:
    """Return the value as an integer tree, its bounds, and the step that it counts."""
    step = gcd(a.offset, a.scale)
    p, q = int(a.offset / step), int(a.scale / step)
    low, high = within(p + q * a.low), within(p + q * a.high)
    within(p)
    return ir.plus(ir.times(a.code, q), p), low, high, step


def _mirrored(a: Term) -> Expression | None:
    """Return the tree t if the code is written as (low + high) − t."""
    if isinstance(a.code, Sub) and a.code.left == Int(a.low + a.high):
        return a.code.right
    return None
