"""List the operators and functions that a question may use, with their arguments and meanings.

The tables `VALUES` and `CONDITIONS` are the allow-list. `"expressions*"` stands for any number of arguments,
`"decimals?"` for one that may be absent. A node with an argument that is not listed is refused. The meanings are
functions of operands that have been read already (terms and constants of our own), so none of them sees the
analyst's tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from sqlglot import exp

from discreet.engines.nodes import Expression
from discreet.errors import QuestionRefused
from discreet.query import ir
from discreet.query.bounds import arithmetic, calendar, comparisons, conditionals, strings
from discreet.query.bounds.comparisons import Constant, Operand
from discreet.query.question import Term


def as_term(operand: Operand) -> Term:
    """Return an operand as a term: a constant is the same on every row.

    >>> as_term(Constant("young")).labels
    ('young',)
    """
    if isinstance(operand, Term):
        return operand
    fixed = operand.value
    if isinstance(fixed, bool):
        return replace(arithmetic.constant(Fraction(int(fixed))), kind="boolean")
    if isinstance(fixed, Fraction):
        return arithmetic.constant(fixed)
    if isinstance(fixed, str):
        return Term(ir.number(0), 0, 0, kind="category", labels=(fixed,), nullable=False)
    if isinstance(fixed, date):
        kind = "datetime" if isinstance(fixed, datetime) else "date"
        return replace(arithmetic.constant(calendar.constant(fixed)), kind=kind)
    raise QuestionRefused("NULL has no value here.", fix="Leave it out: case without else gives null.")


def number(operand: Operand) -> Term:
    """Return an operand that is a number."""
    term = as_term(operand)
    if term.kind != "number":
        raise QuestionRefused(
            f"{_article(term.kind)} takes no part in arithmetic.",
            fix="Count rows instead, or group by it: select city, count(*) from people group by city.",
        )
    return term


def moment(operand: Operand) -> Term:
    """Return an operand that is a date or a time, and not a constant."""
    if isinstance(operand, Term) and operand.kind in ("date", "datetime"):
        return operand
    raise QuestionRefused(
        "The parts of dates are taken of Date and Datetime columns, and this is another kind.",
        fix="Name a Date or Datetime column: year(day).",
    )


def folded(term: Term) -> Operand:
    """Return a term as a constant if it is the same number on every row."""
    return Constant(term.offset) if arithmetic.is_constant(term) and term.kind == "number" else term


def whole(operand: Operand, what: str, least: int, most: int) -> int:
    """Return a constant that has to be a whole number."""
    fixed = operand.value if isinstance(operand, Constant) else None
    if isinstance(fixed, Fraction) and fixed.denominator == 1 and least <= fixed <= most:
        return int(fixed)
    raise QuestionRefused(f"{what} must be a whole number from {least} to {most}.", fix=f"Write {max(least, 1)}.")


def _arithmetic(operation: Callable[[Term, Term], Term]) -> Callable[[Operand, Operand], Operand]:
    def apply(left: Operand, right: Operand) -> Operand:
        a, b = as_term(left), as_term(right)
        if "date" in (a.kind, b.kind) and operation in (arithmetic.add, arithmetic.subtract):
            return _days(operation, a, b)
        return folded(operation(number(a), number(b)))

    return apply


def _days(operation: Callable[[Term, Term], Term], a: Term, b: Term) -> Operand:
    """Add days to a date, or subtract two dates."""
    if {a.kind, b.kind} <= {"date", "number"}:
        result, kinds = operation(arithmetic.plain(a), arithmetic.plain(b)), (a.kind, b.kind)
        if kinds == ("date", "date") and operation is arithmetic.subtract:
            return folded(result)
        exact = result.scale.denominator == 1 and result.offset.denominator == 1
        if exact and (
            kinds == ("date", "number") or (kinds == ("number", "date") and operation is arithmetic.add)
        ):
            return replace(result, kind="date")
    raise QuestionRefused(
        "Only whole days can be added to a date, and only a date or whole days subtracted from it.",
        fix="Write day + 7, or date_diff('hour', started, ended) for the time between two columns.",
    )


def _unary(operation: Callable[[Term], Term]) -> Callable[[Operand], Operand]:
    return lambda operand: folded(operation(number(operand)))


def _rounded(operand: Operand, digits: Operand | None) -> Operand:
    places = 0 if digits is None else whole(digits, "The number of digits of round", -18, 18)
    return folded(conditionals.rounded(number(operand), places))


def _cut(operand: Operand, digits: Operand | None) -> Operand:
    places = 0 if digits is None else whole(digits, "The number of digits of trunc", -18, 18)
    return folded(conditionals.towards_zero(number(operand), places))


def _extreme(operation: Callable[[Term, Term], Term]) -> Callable[[Operand, list[Operand]], Operand]:
    def apply(first: Operand, others: list[Operand]) -> Operand:
        result = number(first)
        for other in others:
            result = operation(result, number(other))
        return folded(result)

    return apply


def _coalesce(first: Operand, others: list[Operand]) -> Operand:
    result = as_term(first)
    for other in others:
        following = _fitting(other, result)
        if following.kind != result.kind or following.kind == "text":
            raise QuestionRefused(
                "coalesce replaces a missing value by one of its own kind.", fix="Write coalesce(age, 0)."
            )
        result = conditionals.coalesce(result, following)
    return result


def _nullif(first: Operand, second: Operand) -> Operand:
    """Return the first value, or NULL where it equals the second."""
    if isinstance(second, Constant) and second.value is None:
        return first
    if isinstance(first, Constant):
        if first.value is None or isinstance(second, Constant):
            same = first.value is not None and comparisons.same(first, second) == ir.always(True)
            return Constant(None) if same else first
        return conditionals.unless_equal(as_term(first), comparisons.compare("=", first, second), second)
    equal = comparisons.compare("=", first, second)
    return conditionals.unless_equal(first, equal, _axis(second, first))


def _axis(operand: Operand, model: Term) -> Term:
    """Return an operand as a term on the axis of another one, whose bounds it may cut."""
    if isinstance(operand, Constant) and model.labels is None and model.kind != "text":
        return arithmetic.constant(comparisons.axis(model, operand.value))
    return as_term(operand)


def difference(unit: str, start: Operand, end: Operand) -> Operand:
    """Return date_diff(unit, start, end) of dates, times, or strings that are dates."""
    return folded(calendar.difference(unit, *(_moment(operand) for operand in (start, end))))


def _moment(operand: Operand) -> Term:
    if isinstance(operand, Constant) and isinstance(operand.value, str):
        operand = Constant(comparisons.moment(operand.value))
    term = as_term(operand)
    if term.kind in ("date", "datetime"):
        return term
    raise QuestionRefused(
        f"date_diff is for dates and times, and here it meets {_article(term.kind).lower()}.",
        fix="Write date_diff('day', started, ended) with Date or Datetime columns.",
    )


def _string(name: str, function: Callable[[str], str]) -> Callable[[Operand], Operand]:
    return lambda operand: strings.mapped(name, operand, function)


def _substring(operand: Operand, start: Operand | None, size: Operand | None) -> Operand:
    if start is None:
        raise QuestionRefused("substr needs the position to start at.", fix="Write substr(city, 1, 3).")
    first = whole(start, "The start of substr", -_LONGEST_STRING, _LONGEST_STRING)
    count = None if size is None else whole(size, "The length of substr", 0, _LONGEST_STRING)
    return strings.mapped("substr", operand, lambda text: strings.part(text, first, count))


def _end(name: str, cut: Callable[[str, int], str]) -> Callable[[Operand, Operand], Operand]:
    def apply(operand: Operand, size: Operand) -> Operand:
        count = whole(size, f"The length of {name}", 0, _LONGEST_STRING)
        return strings.mapped(name, operand, lambda text: cut(text, count))

    return apply


_LONGEST_STRING = 10**6


def _fitting(operand: Operand, model: Term) -> Term:
    """Return an operand as a term; a string beside a date is a date."""
    if isinstance(operand, Constant) and isinstance(operand.value, str) and model.kind in ("date", "datetime"):
        exact = comparisons.axis(model, operand.value)
        if exact.denominator > 1:
            raise QuestionRefused(
                f"'{operand.value}' has a time of day, and a date has none.",
                fix="Write coalesce(day, '2024-01-31').",
            )
        return replace(arithmetic.constant(exact), kind=model.kind)
    return as_term(operand)


def _bucket(operand: Operand, low: Operand, high: Operand, count: Operand) -> Operand:
    """Return the bucket: 0 is below the range, 1 … n are equally wide, n + 1 is above."""
    a, b, term = number(low), number(high), number(operand)
    buckets = whole(count, "The number of buckets", 1, 10**6)
    if not (arithmetic.is_constant(a) and arithmetic.is_constant(b)) or a.offset >= b.offset:
        raise QuestionRefused(
            "width_bucket takes two numbers, the smaller first.", fix="Write width_bucket(age, 0, 100, 10)."
        )
    width = arithmetic.constant((b.offset - a.offset) / buckets)
    place = arithmetic.add(
        arithmetic.floor(arithmetic.divide(arithmetic.subtract(term, a), width)), arithmetic.constant(Fraction(1))
    )
    above = conditionals.greatest(place, arithmetic.constant(Fraction(0)))
    clipped = conditionals.least(above, arithmetic.constant(Fraction(buckets + 1)))
    return conditionals.where(ir.opposite(ir.is_null(place.code)), clipped) if place.nullable else clipped


def _part(name: str) -> Callable[[Operand], Operand]:
    return lambda operand: calendar.extracted(name, moment(operand))


def _compared(name: str) -> Callable[[Operand, Operand], Expression]:
    return lambda left, right: comparisons.compare(name, left, right)


def _between(operand: Operand, low: Operand, high: Operand) -> Expression:
    return ir.both(comparisons.compare(">=", operand, low), comparisons.compare("<=", operand, high))


def _like(operand: Operand, pattern: Operand, *, caseless: bool = False) -> Expression:
    if not isinstance(pattern, Constant) or not isinstance(pattern.value, str):
        raise QuestionRefused("LIKE takes a pattern in quotes.", fix="Write city like 'O%'.")
    return comparisons.like(operand, pattern.value, caseless=caseless)


def _article(kind: str) -> str:
    return {"boolean": "A truth value"}.get(kind, f"A {kind}")


_TWO = ("this", "expression")

VALUES: dict[type, tuple[tuple[str, ...], Callable[..., Operand]]] = {
    exp.Neg: (("this",), _unary(arithmetic.negative)),
    exp.Add: (_TWO, _arithmetic(arithmetic.add)),
    exp.Sub: (_TWO, _arithmetic(arithmetic.subtract)),
    exp.Mul: (_TWO, _arithmetic(arithmetic.multiply)),
    exp.Div: (_TWO, _arithmetic(arithmetic.divide)),
    exp.IntDiv: (_TWO, _arithmetic(arithmetic.whole_quotient)),
    exp.Mod: (_TWO, _arithmetic(arithmetic.remainder)),
    exp.Floor: (("this",), _unary(arithmetic.floor)),
    exp.Ceil: (("this",), _unary(arithmetic.ceiling)),
    exp.Abs: (("this",), _unary(conditionals.absolute)),
    exp.Round: (("this", "decimals?"), _rounded),
    exp.Least: (("this", "expressions*"), _extreme(conditionals.least)),
    exp.Greatest: (("this", "expressions*"), _extreme(conditionals.greatest)),
    exp.Coalesce: (("this", "expressions*"), _coalesce),
    exp.Nullif: (_TWO, _nullif),
    exp.Sign: (("this",), _unary(conditionals.sign)),
    exp.Trunc: (("this", "decimals?"), _cut),
    exp.Lower: (("this",), _string("lower", strings.lower)),
    exp.Upper: (("this",), _string("upper", strings.upper)),
    exp.Trim: (("this",), _string("trim", lambda text: text.strip(" "))),
    exp.Substring: (("this", "start?", "length?"), _substring),
    exp.Left: (_TWO, _end("left", lambda text, count: text[:count])),
    exp.Right: (_TWO, _end("right", lambda text, count: text[len(text) - min(count, len(text)) :])),
    exp.Length: (("this",), strings.length),
    exp.WidthBucket: (("this", "min_value", "max_value", "num_buckets"), _bucket),
    exp.Year: (("this",), _part("year")),
    exp.Quarter: (("this",), _part("quarter")),
    exp.Month: (("this",), _part("month")),
    exp.Day: (("this",), _part("day")),
    exp.DayOfMonth: (("this",), _part("day")),
    exp.DayOfWeek: (("this",), _part("dow")),
    exp.DayOfWeekIso: (("this",), _part("isodow")),
    exp.DayOfYear: (("this",), _part("doy")),
    exp.Hour: (("this",), _part("hour")),
    exp.Minute: (("this",), _part("minute")),
    exp.Second: (("this",), _part("second")),
}
"""Nodes that have a value on each row."""

CONDITIONS: dict[type, tuple[tuple[str, ...], Callable[..., Any]]] = {
    exp.EQ: (_TWO, _compared("=")),
    exp.NEQ: (_TWO, _compared("<>")),
    exp.LT: (_TWO, _compared("<")),
    exp.LTE: (_TWO, _compared("<=")),
    exp.GT: (_TWO, _compared(">")),
    exp.GTE: (_TWO, _compared(">=")),
    exp.NullSafeEQ: (_TWO, comparisons.same),
    exp.NullSafeNEQ: (_TWO, lambda left, right: ir.opposite(comparisons.same(left, right))),
    exp.Between: (("this", "low", "high"), _between),
    exp.In: (("this", "expressions*"), comparisons.among),
    exp.Like: (_TWO, _like),
    exp.ILike: (_TWO, lambda operand, pattern: _like(operand, pattern, caseless=True)),
}
"""Nodes that are true, false or NULL on each row."""
