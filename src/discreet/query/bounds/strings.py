"""Compute with the strings of declared categories: lower, upper, substr, left, right, trim, length.

The list of a category is public, so a function of its strings is computed on the list, here and once, and an
engine only looks up a code: no engine's own upper or lower case, collation or substring takes part, and all
engines agree. Labels that become equal are one label. The semantics are DuckDB's: positions count characters (code
points) from 1, or from the end if they are negative, and one character becomes one character (Unicode's simple
case mapping).

Claim. On every row the code of the result stands for f(label), and is NULL where the category is NULL. The bounds
of a length are the least and the largest length in the list.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from discreet.errors import QuestionRefused
from discreet.query.bounds import arithmetic
from discreet.query.bounds.comparisons import Constant, Operand
from discreet.query.bounds.conditionals import lookup
from discreet.query.question import Term


def mapped(name: str, operand: Operand, function: Callable[[str], str]) -> Operand:
    """Return a function of a string: a category of its results, or a constant.

    >>> from discreet.query import ir
    >>> city = Term(ir.sealed("c0"), 0, 2, kind="category", labels=("Oslo", "OSLO", "Bergen"))
    >>> lowered = mapped("lower", city, lower)
    >>> lowered.labels, lowered.code.sql()
    (('oslo', 'bergen'), 'CASE WHEN NOT (c0 IS NULL) THEN CASE WHEN c0 < 2 THEN 0 ELSE 1 END END')
    """
    if isinstance(operand, Constant) and isinstance(operand.value, str):
        return Constant(function(operand.value))
    results = [function(label) for label in _strings(name, operand)]
    labels = tuple(dict.fromkeys(results))
    term = _term(name, operand)
    code = lookup(term.code, [labels.index(result) for result in results])
    return Term(code, 0, len(labels) - 1, kind="category", labels=labels, nullable=term.nullable)


def length(operand: Operand) -> Operand:
    """Return the number of characters of a string.

    >>> length(Constant("Ås"))
    Constant(value=Fraction(2, 1))
    """
    if isinstance(operand, Constant) and isinstance(operand.value, str):
        return Constant(Fraction(len(operand.value)))
    sizes, term = [len(label) for label in _strings("length", operand)], _term("length", operand)
    code = lookup(term.code, sizes)
    return arithmetic.term(code, min(sizes), max(sizes), Fraction(1), Fraction(0), nullable=term.nullable)


def lower(text: str) -> str:
    """Return a string in lower case, character by character.

    >>> lower("ÅS İ")
    'ås i'
    """
    return "".join(_single(character.lower(), character[0], {"İ": "i"}) for character in text)


def upper(text: str) -> str:
    """Return a string in upper case, character by character.

    >>> upper("straße ﬁ")
    'STRAẞE ﬁ'
    """
    return "".join(
        _single(character.upper(), _single(character.title(), character, {}), {"ß": "ẞ"}, character)
        for character in text
    )


def part(text: str, start: int, size: int | None) -> str:
    """Return the characters from a position on, counted from 1, or from the end if it is negative.

    >>> part("Bergen", 2, 3), part("Bergen", -2, None), part("Bergen", 0, 2)
    ('erg', 'en', 'B')
    """
    first = start if start >= 0 else len(text) + start + 1
    last = len(text) + 1 if size is None else first + size
    return text[max(first, 1) - 1 : max(last, 1) - 1]


def _single(mapped_to: str, otherwise: str, special: dict[str, str], character: str = "") -> str:
    """Return what a character is mapped to, if that is one character."""
    if (character or otherwise) in special:
        return special[character or otherwise]
    return mapped_to if len(mapped_to) == 1 else otherwise


def _term(name: str, operand: Operand) -> Term:
    if isinstance(operand, Term) and operand.kind == "category":
        return operand
    if isinstance(operand, Term) and operand.kind == "text":
        raise QuestionRefused(
            f"{name} is for declared categories: the values of a text column are not public.",
            fix="Use ilike or like: name ilike 'a%'.",
        )
    raise QuestionRefused(f"{name} is for categories of strings.", fix=f"Name a Category column: {name}(city).")


def _strings(name: str, operand: Operand) -> tuple[str, ...]:
    labels = _term(name, operand).labels or ()
    if not all(isinstance(label, str) for label in labels):
        raise QuestionRefused(
            f"{name} is for categories of strings, and this category has none.", fix="Use = or in."
        )
    return labels
