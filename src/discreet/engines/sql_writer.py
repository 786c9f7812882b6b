"""Trees to SQL text, for every dialect (`discreet.engines.dialects`) in one place.

An expression over sealed columns is an integer, a truth value or a text, made of the few nodes below; any other
node is refused, so that nothing an engine runs has a meaning we did not give it. Names are quoted, operands stand
in parentheses.

Claim. No sealed row makes the text overflow. Columns hold codes from 0 to a limit known from their type; interval
arithmetic bounds every intermediate value of a sum or product; and the whole of it is carried out in the narrowest
integer type that holds them all (where engines differ in how they widen, they do not differ in what they are told
to). An expression that might not fit 126 bits is refused before it is run.

Reading a source into codes needs a few more words (casts that give NULL instead of failing, a dictionary, days and
microseconds); they are functions of ours, `function("DICTIONARY", …)`, with a spelling for each dialect.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.expressions import Expression

from discreet.engines import case_folding
from discreet.engines.dialects import DIALECTS, Dialect
from discreet.errors import ParameterError, QuestionRefused

WIDEST = 2**126
_UNKNOWN = 2**62  # a column of which nothing is said: BIGINT, and codes stay below 2**62


_COMPARISONS = {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
_ARITHMETIC = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}
_CONNECTORS = {exp.And: "AND", exp.Or: "OR"}


def function(name: str, *arguments: Expression) -> Expression:
    """Return a call of one of our own functions, which every dialect spells in its way.

    >>> sql(function("DAYS_SINCE", exp.column("day"), typed("DATE", "2024-01-01")), "spark", limits=None)
    "DATEDIFF(`day`, DATE '2024-01-01')"
    """
    return exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments])


def text(value: str) -> Expression:
    """Return a string literal.

    >>> sql(text("l'été"), "duckdb"), sql(text("l'été"), "spark")
    ("'l''été'", "'l\\\\'été'")
    """
    return exp.Literal.string(value)


def typed(kind: str, text: str) -> Expression:
    """Return the literal of a date or a timestamp: DATE '2024-01-01'."""
    return function("LITERAL", exp.Literal.string(kind), exp.Literal.string(text))


def cast(tree: Expression, kind: str, *, gently: bool = False, of: str = "") -> Expression:
    """Return the tree as a type, one of our names; `gently` gives NULL where the value has no such form.

    `of` is the family of the tree's own type, for dialects that have a word of their own for each.
    """
    named = exp.Literal.string(kind)
    return function("TRY", tree, named, exp.Literal.string(of)) if gently else function("CAST", tree, named)


def sql(tree: Expression, dialect: str = "duckdb", *, limits: Mapping[str, int] | None = {}) -> str:
    """Return the text of an expression.

    `limits` says of sealed columns how large their codes can be; with None the columns are those of a source, of
    any type, and arithmetic is left as it stands.

    >>> tree = exp.Mul(this=exp.column("w"), expression=exp.column("c0"))
    >>> sql(tree, limits={"w": 4096, "c0": 110})
    '(CAST("w" AS INTEGER) * CAST("c0" AS INTEGER))'
    >>> sql(tree, "spark")
    '(CAST(`w` AS DECIMAL(38, 0)) * CAST(`c0` AS DECIMAL(38, 0)))'
    """
    return _Text(DIALECTS[dialect], limits).of(tree)


def total(tree: Expression, dialect: str = "duckdb", *, limits: Mapping[str, int] = {}) -> str:
    """Return the text of the exact sum of an expression over rows, 0 if there are none.

    >>> total(exp.column("w"), limits={"w": 4096})
    'COALESCE(SUM("w"), 0)'
    """
    furthest, words = max(map(abs, reach(tree, limits))), DIALECTS[dialect]
    if furthest > WIDEST >> 40:  # so that 2**40 rows still add up
        raise QuestionRefused(
            "a sum of this expression may leave 126 bits. Coarsen its columns before it is asked."
        )
    template = next((text for limit, text in words.narrow_totals if furthest < limit), words.total)
    return f"COALESCE({template.format(sql(tree, dialect, limits=limits))}, 0)"


def identifier(name: str, dialect: str = "duckdb") -> str:
    """Return a quoted name.

    >>> identifier('the "best" one')
    '"the ""best"" one"'
    """
    quote = DIALECTS[dialect].quote
    return quote + name.replace(quote, quote * 2) + quote


def reach(tree: Expression, limits: Mapping[str, int]) -> tuple[int, int]:
    """Return bounds of an integer expression over sealed columns, whatever the rows hold.

    >>> reach(exp.Sub(this=exp.column("c0"), expression=exp.Literal.number(50)), {"c0": 110})
    (-50, 60)
    """
    low, high, _ = _span(tree, limits)
    return low, high


def _span(tree: Expression, limits: Mapping[str, int]) -> tuple[int, int, int]:
    """The bounds, and the largest absolute value on the way: of branches, operands and the result."""
    match tree:
        case exp.Paren():
            return _span(tree.this, limits)
        case exp.Column():
            high = limits.get(tree.name, _UNKNOWN)
            return 0, high, high
        case exp.Literal() if not tree.is_string:
            value = int(tree.this)
            return value, value, abs(value)
        case exp.Null():
            return 0, 0, 0
        case exp.Neg():
            low, high, peak = _span(tree.this, limits)
            return -high, -low, peak
        case exp.Case():
            spans = [_span(branch, limits) for branch in _branches(tree)]
            lows, highs, peaks = zip(*spans, strict=True)
            return min(lows), max(highs), max(peaks)
        case exp.Add() | exp.Sub() | exp.Mul() | exp.IntDiv():
            left, right = _span(tree.this, limits), _span(tree.expression, limits)
            low, high = _combined(tree, left[:2], right[:2])
            return low, high, max(abs(low), abs(high), left[2], right[2])
        case _:
            raise _refused(tree, "a number")


def _combined(tree: Expression, left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    match tree:
        case exp.Add():
            return left[0] + right[0], left[1] + right[1]
        case exp.Sub():
            return left[0] - right[1], left[1] - right[0]
        case exp.Mul():
            corners = [a * b for a in left for b in right]
            return min(corners), max(corners)
        case _:
            if right[0] != right[1] or right[0] <= 0:
                raise ParameterError("an engine divides by positive constants only.")
            # Rounded down or towards zero: engines differ, and these bounds hold for both.
            return left[0] // right[0], -(-left[1] // right[0]) if left[1] < 0 else left[1] // right[0]


def _branches(tree: Expression) -> list[Expression]:
    default = tree.args.get("default")
    return [*(branch.args["true"] for branch in tree.args["ifs"]), *([default] if default is not None else [])]


def _made_of_literals(tree: Expression) -> bool:
    """Whether no column gives the value its type, whatever columns decide which one it is."""
    match tree:
        case exp.Paren() | exp.Neg():
            return _made_of_literals(tree.this)
        case exp.Case():
            return all(map(_made_of_literals, _branches(tree)))
        case exp.Add() | exp.Sub() | exp.Mul() | exp.IntDiv():
            return _made_of_literals(tree.this) and _made_of_literals(tree.expression)
    return isinstance(tree, exp.Literal | exp.Null)


def _check_text(text: str) -> None:
    """Refuse what an engine might cut off, or not take for text at all."""
    if "\0" in text or any("\ud800" <= sign <= "\udfff" for sign in text):
        raise ParameterError(
            f"{text!r} is no text that every engine can be told: it holds a NUL, or half a sign. Leave that out."
        )


def _refused(tree: Expression, wanted: str) -> ParameterError:
    return ParameterError(f"no engine is asked for {type(tree).__name__} where {wanted} is wanted.")


@dataclass(frozen=True)
class _Text:
    """One rendering: a dialect, and what is known of the columns."""

    dialect: Dialect
    limits: Mapping[str, int] | None

    def of(self, tree: Expression) -> str:
        for nodes, write in _WRITERS:
            if isinstance(tree, nodes):
                return write(self, tree)
        raise _refused(tree, "an expression")

    def number(self, tree: Expression, kind: str | None) -> str:
        """An operand of arithmetic, carried out in the type `kind`; None leaves types to the engine."""
        if isinstance(tree, exp.Paren):
            return self.number(tree.this, kind)
        if isinstance(tree, exp.Neg):
            return f"(-{self.number(tree.this, kind)})"
        if isinstance(tree, exp.Add | exp.Sub | exp.Mul | exp.IntDiv):
            return self.operation(tree, kind)
        if kind is None or isinstance(tree, exp.Literal | exp.Null):
            return self.of(tree)
        if isinstance(tree, exp.Case):
            return self.case(tree, lambda branch: self.number(branch, kind))
        return f"CAST({self.of(tree)} AS {self.dialect.types[kind]})"

    def operation(self, tree: Expression, kind: str | None) -> str:
        left, right = self.number(tree.this, kind), self.number(tree.expression, kind)
        if self.limits is not None and tree.find(exp.Column, exp.Null, exp.Case) is None:
            return f"({reach(tree, self.limits)[0]})"
        if kind is not None and _made_of_literals(tree):  # to which engines give types of their own
            left, right = (f"CAST({side} AS {self.dialect.types[kind]})" for side in (left, right))
        if isinstance(tree, exp.IntDiv):
            template = self.dialect.wide_division if kind == "WIDE" else self.dialect.division
            return template.format(left, right)
        return f"({left} {_ARITHMETIC[type(tree)]} {right})"  # type: ignore[index]

    def kind(self, tree: Expression) -> str | None:
        if self.limits is None:
            return None
        *_, size = _span(tree, self.limits)
        if size >= WIDEST:
            raise QuestionRefused(
                "an expression may leave 126 bits. Coarsen its columns, or multiply fewer of them."
            )
        return "INTEGER" if size < 2**31 else "BIGINT" if size < 2**63 else "WIDE"

    def arithmetic(self, tree: Expression) -> str:
        return self.number(tree, self.kind(tree))

    def case(self, tree: Expression, write: Callable[[Expression], str]) -> str:
        whens = "".join(f" WHEN {self.of(b.this)} THEN {write(b.args['true'])}" for b in tree.args["ifs"])
        subject = f" {self.of(tree.this)}" if tree.this is not None else ""
        default = tree.args.get("default")
        return f"CASE{subject}{whens} ELSE {write(default) if default is not None else 'NULL'} END"

    def literal(self, tree: Expression) -> str:
        if not tree.is_string:
            return str(tree.this)
        _check_text(str(tree.this))
        text = str(tree.this).replace("\\", "\\\\") if self.dialect.backslashes else str(tree.this)
        return "'" + (text.replace("'", "\\'") if self.dialect.backslashes else text.replace("'", "''")) + "'"

    def like(self, tree: Expression) -> str:
        text, pattern = self.of(tree.this), str(tree.expression.this)
        if isinstance(tree, exp.ILike):  # what has a case, and which, is not for engines to say
            pattern = case_folding.folded(pattern)
            if capitals := case_folding.capitals(pattern.replace("%", "").replace("_", "")):
                signs = (self.literal(exp.Literal.string("".join(s))) for s in (capitals, capitals.values()))
                text = f"TRANSLATE({text}, {', '.join(signs)})"
        if self.dialect.like_escapes:  # a backslash of ours is a backslash
            pattern = pattern.replace("\\", "\\\\")
        return f"({text} LIKE {self.literal(exp.Literal.string(pattern))})"

    def call(self, tree: Expression) -> str:
        name, arguments = str(tree.this), tree.expressions
        if name == "LITERAL":
            return f"{self.dialect.types[arguments[0].this]} {self.of(arguments[1])}"
        if name == "CAST":
            return f"CAST({self.of(arguments[0])} AS {self.dialect.types[arguments[1].this]})"
        words, written = self.dialect.functions, [self.of(argument) for argument in arguments]
        if name == "TRY":
            kind, of = arguments[1].this, arguments[2].this
            name = f"TRY {of} {kind}" if f"TRY {of} {kind}" in words else name
            written[1] = self.dialect.types[kind]
        if name not in words:
            raise ParameterError(f"{self.dialect.name} has no word for {name}.")
        numbered = json.dumps({str(label.this): i for i, label in enumerate(arguments[1:])}, ensure_ascii=False)
        table = self.literal(exp.Literal.string(numbered))
        return words[name].format(*written[:2], rest=", ".join(written[1:]), numbered=table)


def _plain_case(text: _Text, tree: Expression) -> str:
    if text.limits is not None and any(isinstance(b.unnest(), _NUMERIC) for b in _branches(tree)):
        return text.arithmetic(tree)  # one type for every branch
    return text.case(tree, text.of)


_NUMERIC = (exp.Add, exp.Sub, exp.Mul, exp.IntDiv, exp.Neg)

_WRITERS: list[tuple[Any, Callable[[_Text, Any], str]]] = [
    (exp.Paren, lambda text, tree: text.of(tree.this)),
    (exp.Column, lambda text, tree: identifier(tree.name, text.dialect.name)),
    (exp.Literal, _Text.literal),
    (exp.Null, lambda text, tree: "NULL"),
    (exp.Boolean, lambda text, tree: "TRUE" if tree.this else "FALSE"),
    (_NUMERIC, _Text.arithmetic),
    (
        tuple(_COMPARISONS),
        lambda text, tree: f"({text.of(tree.this)} {_COMPARISONS[type(tree)]} {text.of(tree.expression)})",
    ),
    (
        tuple(_CONNECTORS),
        lambda text, tree: f"({text.of(tree.this)} {_CONNECTORS[type(tree)]} {text.of(tree.expression)})",
    ),
    (exp.Not, lambda text, tree: f"(NOT {text.of(tree.this)})"),
    (exp.Is, lambda text, tree: f"({text.of(tree.this)} IS {text.of(tree.expression)})"),
    (exp.In, lambda text, tree: f"({text.of(tree.this)} IN ({', '.join(map(text.of, tree.expressions))}))"),
    ((exp.Like, exp.ILike), _Text.like),
    (exp.Case, _plain_case),
    (exp.Coalesce, lambda text, tree: f"COALESCE({', '.join(map(text.of, [tree.this, *tree.expressions]))})"),
    (exp.Floor, lambda text, tree: text.dialect.functions.get("FLOOR", "FLOOR({0})").format(text.of(tree.this))),
    (exp.Div, lambda text, tree: _quotient(text, tree)),
    (exp.Abs, lambda text, tree: f"ABS({text.of(tree.this)})"),
    (exp.Anonymous, _Text.call),
]


def _quotient(text: _Text, tree: Expression) -> str:
    if text.limits is not None:
        raise _refused(tree, "a number over sealed columns")
    return f"({text.of(tree.this)} / {text.of(tree.expression)})"
