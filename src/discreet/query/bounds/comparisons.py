"""Turn comparisons into conditions over codes, in three-valued logic.

Claim. On every row the condition is true, false or NULL exactly as SQL's comparison of the declared values is.
The constant of a comparison is converted to the axis of codes beforehand, as an exact fraction: `age >= 64.5` is
`c0 >= 65`. Beyond a column's bounds a comparison is always true, or always false, which is a public fact; on a
missing value it is NULL all the same. Lists of categories are public too, so `<` and LIKE on them are looked up in
the list, and a value that is not in the list is an error.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from difflib import get_close_matches
from fractions import Fraction
from typing import Any
from unicodedata import normalize

from discreet.engines import case_folding
from discreet.engines.nodes import Expression
from discreet.errors import QuestionRefused
from discreet.query import ir
from discreet.query.bounds import arithmetic, calendar, conditionals
from discreet.query.question import Term


@dataclass(frozen=True)
class Constant:
    """A constant of the question: a fraction, a string, a truth value, a date, a datetime, or None for NULL."""

    value: Fraction | str | bool | date | datetime | None


Operand = Term | Constant

_PYTHON: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TURNED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NOUNS = {"number": "a number", "category": "a category", "boolean": "true or false", "text": "a text"}


def compare(name: str, left: Operand, right: Operand) -> Expression:
    """Return the comparison =, <>, <, <=, > or >= of two operands.

    >>> age = Term(ir.sealed("c0"), 0, 110)
    >>> compare(">=", age, Constant(Fraction("64.5"))).sql()
    'c0 >= 65'
    >>> compare("<", age, Constant(Fraction(1000))).sql()
    'c0 <= 110'
    """
    if isinstance(left, Constant):
        if isinstance(right, Constant):
            return ir.always(_of_constants(name, left.value, right.value))
        return compare(_TURNED[name], right, left)
    if isinstance(right, Constant):
        return _with_constant(name, left, right.value)
    return _of_terms(name, left, right)


def same(left: Operand, right: Operand) -> Expression:
    """Return left IS NOT DISTINCT FROM right: true or false, never NULL, because two missing values are the same.

    >>> same(Term(ir.sealed("c0"), 0, 110), Constant(Fraction(7))).sql()
    '(NOT (c0 IS NULL)) AND (c0 = 7)'
    """
    if isinstance(left, Constant) and isinstance(right, Constant):
        nulls = left.value is None, right.value is None
        return ir.always(all(nulls)) if any(nulls) else compare("=", left, right)
    if isinstance(left, Constant):
        left, right = right, left
    if isinstance(right, Constant) and right.value is None:
        return ir.is_null(_code(left))
    codes = [term.code for term in (left, right) if isinstance(term, Term)]
    present = ir.both(*(ir.opposite(ir.is_null(code)) for code in codes), compare("=", left, right))
    return present if len(codes) == 1 else ir.either(ir.both(*map(ir.is_null, codes)), present)


def _code(operand: Operand) -> Expression:
    if isinstance(operand, Constant):
        raise TypeError("a constant has no code")
    return operand.code


def among(term: Operand, listed: Sequence[Operand]) -> Expression:
    """Return term IN (constants)."""
    if isinstance(term, Constant) or not all(isinstance(item, Constant) for item in listed):
        raise QuestionRefused("IN takes a column and a list of constants.", fix="Write comparisons joined by or.")
    values = [item.value for item in listed if isinstance(item, Constant)]
    if term.kind == "text":
        return ir.among(term.code, [ir.string(text) for text in sorted({_text(value) for value in values})])
    if term.labels is not None:
        return codes(term, {_place(term, value) for value in values})
    places = ((axis(term, value) - term.offset) / term.scale for value in values)
    return codes(term, {int(p) for p in places if p.denominator == 1 and term.low <= p <= term.high})


def like(term: Operand, pattern: str, *, caseless: bool = False) -> Expression:
    """Return whether a category or a string matches a pattern: % is any characters, _ is one character.

    >>> city = Term(ir.sealed("c0"), 0, 2, kind="category", labels=("Bergen", "Oslo", "Odda"))
    >>> like(city, "o%", caseless=True).sql()
    'c0 >= 1'
    """
    if isinstance(term, Constant) or term.kind not in ("category", "text"):
        raise QuestionRefused(
            "LIKE is for categories and text columns.", fix="Compare numbers and dates with = < > or between."
        )
    if term.labels is None:
        return ir.like(term.code, pattern, caseless=caseless)
    if not all(isinstance(label, str) for label in term.labels):
        raise QuestionRefused("LIKE is for categories of strings, and this category has none.", fix="Use = or in.")
    wanted = _fold(pattern, caseless)
    return codes(term, {code for code, label in enumerate(term.labels) if matches(wanted, _fold(label, caseless))})


def matches(pattern: str, text: str) -> bool:
    """Return whether a string matches a pattern of LIKE, in at most len(pattern)·len(text) steps.

    The parts between two % are searched from left to right, and the first match is the best one, because it leaves
    the most room for what follows. So nothing is tried twice, as a regular expression would do.

    >>> matches("_s%o", "Oslo"), matches("%a" * 2000, "a" * 1999)
    (True, False)
    """
    first, *rest = pattern.split("%")
    if not rest:
        return len(first) == len(text) and _fits(first, text, 0)
    last, place, end = rest.pop(), len(first), len(text)
    if end < place + len(last) or not (_fits(first, text, 0) and _fits(last, text, end - len(last))):
        return False
    for part in rest:
        places = (i for i in range(place, end - len(last) - len(part) + 1) if _fits(part, text, i))
        found = next(places, None)
        if found is None:
            return False
        place = found + len(part)
    return True


def _fits(part: str, text: str, place: int) -> bool:
    return all(sign in ("_", text[place + i]) for i, sign in enumerate(part))


def codes(term: Term, wanted: set[int]) -> Expression:
    """Return whether the code is one of those wanted; consecutive codes become a range."""
    if not wanted:
        return arithmetic.surely(term, False)
    low, high = min(wanted), max(wanted)
    if low == high:
        return ir.compared("=", term.code, ir.number(low))
    if high - low + 1 > len(wanted):
        return ir.among(term.code, [ir.number(code) for code in sorted(wanted)])
    ends = []
    if low > term.low:
        ends.append(ir.compared(">=", term.code, ir.number(low)))
    if high < term.high or not ends:
        ends.append(ir.compared("<=", term.code, ir.number(high)))
    return ir.both(*ends)


def truth(term: Operand) -> Expression:
    """Return a truth value as a condition."""
    if isinstance(term, Constant) and isinstance(term.value, bool):
        return ir.always(term.value)
    if isinstance(term, Term) and term.kind == "boolean":
        return ir.compared("=", term.code, ir.number(1))
    raise QuestionRefused(
        "A condition is wanted here, and this is a value.", fix="Compare it with something: age >= 65."
    )


def as_term(condition: Expression) -> Term:
    """Return a condition as a truth value: 1, 0, or NULL where it is NULL.

    >>> as_term(ir.is_null(ir.sealed("c0"))).code.sql()
    'CASE WHEN c0 IS NULL THEN 1 WHEN NOT (c0 IS NULL) THEN 0 END'
    """
    code = ir.case([(condition, ir.number(1)), (ir.opposite(condition), ir.number(0))])
    return Term(code, 0, 1, kind="boolean")


def _of_constants(name: str, left: Any, right: Any) -> bool:
    _refuse_null(left, right)
    if isinstance(left, str) is not isinstance(right, str) or isinstance(left, date) is not isinstance(
        right, date
    ):
        raise QuestionRefused(
            f"{_shown(left)} and {_shown(right)} are not comparable.", fix="Compare values of one kind."
        )
    if isinstance(left, date) and isinstance(right, date):  # Python does not compare a day with a time
        left, right = calendar.microseconds(left), calendar.microseconds(right)
    return _PYTHON[name](left, right)


def _with_constant(name: str, term: Term, value: Any) -> Expression:
    _refuse_null(value)
    if term.kind == "text":
        if name not in ("=", "<>"):
            raise QuestionRefused(
                f"Engines order strings differently, so {name} is not for text columns.", fix="Use =, in or like."
            )
        return ir.compared(name, term.code, ir.string(_text(value)))
    if term.labels is not None:
        return _with_label(name, term, value)
    if term.kind == "boolean" and name not in ("=", "<>"):
        raise QuestionRefused(
            f"{name} is not for true and false.", fix="Write the column alone, or not and the column."
        )
    return arithmetic.ordered(name, term, arithmetic.constant(axis(term, value)))


def _with_label(name: str, term: Term, value: Any) -> Expression:
    if name in ("=", "<>"):
        return ir.compared(name, term.code, ir.number(_place(term, value)))
    wanted = _like_label(term, value)
    holds, labels = _PYTHON[name], term.labels or ()
    try:
        return codes(term, {code for code, label in enumerate(labels) if holds(label, wanted)})
    except TypeError:
        raise QuestionRefused(
            f"{name} cannot compare {_shown(value)} with {_shown(labels[0])}.", fix="Compare values of one kind."
        ) from None


def _place(term: Term, value: Any) -> int:
    """Return the place of a value in the list of a category. The list is public, so a missing value is too."""
    _refuse_null(value)
    labels, wanted = term.labels or (), _like_label(term, value)
    if type(wanted) is type(labels[0]) or (isinstance(wanted, Fraction) and isinstance(labels[0], int)):
        if wanted in labels:
            return labels.index(wanted)
        if isinstance(wanted, date):
            raise QuestionRefused(
                f"{wanted} does not begin a period of this category.",
                fix=f"The first period begins on {labels[0]}, the last on {labels[-1]}.",
            )
    shown = [str(label) for label in labels]
    near = get_close_matches(str(value), shown, n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(map(_quoted, near))}?" if near else _listed(shown)
    raise QuestionRefused(f"{_shown(value)} is not in the declared list.", fix=_alike(str(value), shown) or hint)


def _alike(written: str, labels: Sequence[str]) -> str:
    """Return a hint for a value that looks like one of the list, but has other code points or blanks."""
    for label in labels:
        if normalize("NFC", label) == normalize("NFC", written):
            return (
                f"Did you mean {_quoted(label)}? It looks the same and has other code points: ü may be one "
                "character, or u and a combining diaeresis. Copy it from the list."
            )
        if label.split() == written.split():
            return f"Did you mean {_quoted(label)}? Only blanks differ."
    return ""


def _like_label(term: Term, value: Any) -> Any:
    first = (term.labels or ("",))[0]
    if isinstance(first, date) and not isinstance(first, datetime):
        when = moment(value)
        midnight = isinstance(when, datetime) and when == datetime(when.year, when.month, when.day)
        return when.date() if isinstance(when, datetime) and midnight else when
    return value


def axis(term: Term, value: Any) -> Fraction:
    """Return a constant on the axis of a term's values."""
    _refuse_null(value)
    if term.kind == "number" and isinstance(value, Fraction):
        return value
    if term.kind == "boolean" and (isinstance(value, bool) or value in (0, 1)):
        return Fraction(int(value))
    if term.kind in ("date", "datetime"):
        exact = Fraction(calendar.microseconds(moment(value)))
        return exact / calendar.DAY if term.kind == "date" else exact
    unquoted = isinstance(value, str) and term.kind == "number" and re.fullmatch(r"\s*-?[\d.]+\s*", value)
    raise QuestionRefused(
        f"{_shown(value)} is compared with {_NOUNS[term.kind]}.",
        fix=f"Write it without quotes: {str(value).strip()}." if unquoted else "Compare values of one kind.",
    )


def moment(value: Any) -> date | datetime:
    """Return the date or the time that a constant is.

    >>> moment("2024-01-31")
    datetime.date(2024, 1, 31)
    """
    if isinstance(value, date):
        return value
    if isinstance(value, str):
        for read in (date.fromisoformat, datetime.fromisoformat):
            try:
                when = read(value.strip())
            except ValueError:
                continue
            if not isinstance(when, datetime) or when.tzinfo is None:
                return when
    raise QuestionRefused(
        f"{_shown(value)} is not a date.", fix="Write '2024-01-31', or '2024-01-31 18:00:00' for a time."
    )


def _of_terms(name: str, a: Term, b: Term) -> Expression:
    if {a.kind, b.kind} == {"date", "datetime"}:
        a, b = (_in_microseconds(term) for term in (a, b))
    if a.kind != b.kind:
        raise QuestionRefused(
            f"{_capital(_noun(a.kind))} is compared with {_noun(b.kind)}.", fix="Compare columns of one kind."
        )
    if a.kind in ("category", "text", "boolean") and name not in ("=", "<>"):
        raise QuestionRefused(f"{name} is not for two columns of this kind.", fix="Use = or <>.")
    if a.kind == "text":
        return ir.compared(name, a.code, b.code)
    if a.labels is not None:
        conditionals.expect_alike(a, b)
        return ir.compared(name, a.code, conditionals.relabelled(b, a.labels))
    return arithmetic.ordered(name, a, b)


def _in_microseconds(term: Term) -> Term:
    return (
        replace(arithmetic.scaled(term, Fraction(calendar.DAY)), kind="datetime") if term.kind == "date" else term
    )


def _refuse_null(*values: Any) -> None:
    if None in values:
        raise QuestionRefused("A comparison with null is never true.", fix="Write is null, or is not null.")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise QuestionRefused(f"{_shown(value)} is compared with a text column.", fix="Write it in single quotes.")
    return value


def _fold(text: str, caseless: bool) -> str:
    return case_folding.folded(text) if caseless else text  # engines are told to fold in the same way


def _noun(kind: str) -> str:
    return _NOUNS.get(kind, f"a {kind}")


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _shown(value: Any) -> str:
    return _quoted(value) if isinstance(value, str) else str(value)


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _listed(labels: Sequence[str]) -> str:
    return f"The list is {', '.join(map(_quoted, labels[:8]))}{' …' if len(labels) > 8 else ''}."
