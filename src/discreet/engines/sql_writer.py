"""Write expressions as SQL, for every dialect (`discreet.engines.dialects`).

An expression over sealed columns is an integer, a truth value or a string, made of the nodes in `_WRITERS`; any
other node is refused, so nothing that an engine runs has a meaning that we did not give it. Names are quoted,
operands stand in parentheses.

Claim. No sealed row makes the SQL overflow. Columns hold codes from 0 to a limit known from their type; interval
arithmetic bounds every intermediate value of a sum or product; and the whole expression is computed in the
narrowest integer type that holds them all. Engines widen types differently, so the casts are written out. An
expression that might not fit 126 bits is refused before it is run.

Reading a source into codes needs a few more functions (casts that give NULL instead of failing, a dictionary, days
and microseconds). They are functions of our own, `function("DICTIONARY", …)`; each dialect writes them in its way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.engines import case_folding, nodes
from discreet.engines.dialects import DIALECTS, Dialect
from discreet.engines.nodes import Column, Expression, Int, Text
from discreet.errors import ParameterError, QuestionRefused

WIDEST = 2**126
_UNKNOWN = 2**62  # the limit of a column that has none given: a BIGINT, and codes stay below 2**62


def function(name: str, *arguments: Expression) -> Expression:
    """Return a call of one of our own functions, which every dialect writes in its way.

    >>> sql(function("DAYS_SINCE", Column("day"), typed("DATE", "2024-01-01")), "spark", limits=None)
    "DATEDIFF(`day`, DATE '2024-01-01')"
    """
    return nodes.Call(name, arguments)


def text(value: str) -> Expression:
    """Return a string literal.

    >>> sql(text("l'été"), "duckdb"), sql(text("l'été"), "spark")
    ("'l''été'", "'l\\\\'été'")
    """
    return Text(value)


def typed(kind: str, text: str) -> Expression:
    """Return the literal of a date or a timestamp: DATE '2024-01-01'."""
    return function("LITERAL", Text(kind), Text(text))


def cast(tree: Expression, kind: str, *, gently: bool = False, of: str = "") -> Expression:
    """Return the tree, cast to a type.

    Args:
        tree: The value to cast.
        kind: Our name of the type, a key of `Dialect.types`.
        gently: Whether a value that has no such form becomes NULL; by default the cast may fail.
        of: The family of the tree's own type, for dialects that write the cast of each family differently.
    """
    named = Text(kind)
    return function("TRY", tree, named, Text(of)) if gently else function("CAST", tree, named)


def sql(tree: Expression, dialect: str = "duckdb", *, limits: Mapping[str, int] | None = {}) -> str:
    """Return the SQL of an expression.

    `limits` gives the largest code of each sealed column. With None the columns are those of a source, of any
    type, and arithmetic is written without casts.

    >>> tree = nodes.Mul(Column("w"), Column("c0"))
    >>> sql(tree, limits={"w": 4096, "c0": 110})
    '(CAST("w" AS INTEGER) * CAST("c0" AS INTEGER))'
    >>> sql(tree, "spark")
    '(CAST(`w` AS DECIMAL(38, 0)) * CAST(`c0` AS DECIMAL(38, 0)))'
    """
    return _Writer(DIALECTS[dialect], limits).of(tree)


def total(tree: Expression, dialect: str = "duckdb", *, limits: Mapping[str, int] = {}) -> str:
    """Return the SQL of the exact sum of an expression over rows, 0 if there are none.

    >>> total(Column("w"), limits={"w": 4096})
    'COALESCE(SUM("w"), 0)'
    """
    furthest, words = max(map(abs, value_bounds(tree, limits))), DIALECTS[dialect]
    if furthest > WIDEST >> 40:  # so that 2**40 rows still add up
        raise QuestionRefused(
            "A sum of this expression may exceed 126 bits.", fix="Round its columns, or multiply fewer of them."
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


def value_bounds(tree: Expression, limits: Mapping[str, int]) -> tuple[int, int]:
    """Return bounds of an integer expression over sealed columns, which hold for any rows.

    >>> value_bounds(nodes.Sub(Column("c0"), Int(50)), {"c0": 110})
    (-50, 60)
    """
    low, high, _ = _span(tree, limits)
    return low, high


def _span(tree: Expression, limits: Mapping[str, int]) -> tuple[int, int, int]:
    """Return the bounds, and the largest absolute value of all branches, operands and the result."""
    match tree:
        case Column(name):
            high = limits.get(name, _UNKNOWN)
            return 0, high, high
        case Int(value):
            return value, value, abs(value)
        case nodes.Null():
            return 0, 0, 0
        case nodes.Neg(operand):
            low, high, peak = _span(operand, limits)
            return -high, -low, peak
        case nodes.Case():
            spans = [_span(outcome, limits) for outcome in tree.outcomes]
            lows, highs, peaks = zip(*spans, strict=True)
            return min(lows), max(highs), max(peaks)
        case nodes.Arithmetic():
            left, right = _span(tree.left, limits), _span(tree.right, limits)
            low, high = _combined(tree, left[:2], right[:2])
            return low, high, max(abs(low), abs(high), left[2], right[2])
        case _:
            raise _refused(tree, "a number")


def _combined(tree: nodes.Arithmetic, left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    match tree:
        case nodes.Add():
            return left[0] + right[0], left[1] + right[1]
        case nodes.Sub():
            return left[0] - right[1], left[1] - right[0]
        case nodes.Mul():
            corners = [a * b for a in left for b in right]
            return min(corners), max(corners)
        case _:
            if right[0] != right[1] or right[0] <= 0:
                raise ParameterError("An engine divides by positive constants only.")
            # Engines round down or towards zero, and these bounds hold for both.
            return left[0] // right[0], -(-left[1] // right[0]) if left[1] < 0 else left[1] // right[0]


def _made_of_literals(tree: Expression) -> bool:
    """Return whether no column gives the value its type; conditions inside may still read columns."""
    match tree:
        case nodes.Neg(operand):
            return _made_of_literals(operand)
        case nodes.Case():
            return all(map(_made_of_literals, tree.outcomes))
        case nodes.Arithmetic():
            return _made_of_literals(tree.left) and _made_of_literals(tree.right)
    return isinstance(tree, _LITERALS)


def _constant(tree: Expression) -> bool:
    """Return whether the value is known without a row."""
    return not any(isinstance(node, Column | nodes.Null | nodes.Case) for node in tree.walk())


def _check_text(text: str) -> None:
    """Refuse a string that an engine might cut off or reject."""
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ParameterError(
            "A string contains a NUL, or half of a UTF-16 surrogate pair, which not every engine accepts.",
            found=repr(text),
            fix="Leave this character out.",
        )


def _refused(tree: Expression, wanted: str) -> ParameterError:
    return ParameterError(f"No engine evaluates {type(tree).__name__} where {wanted} is wanted.")


@dataclass(frozen=True)
class _Writer:
    """Writes expressions in one dialect, with the limits of the columns."""

    dialect: Dialect
    limits: Mapping[str, int] | None

    def of(self, tree: Expression) -> str:
        write = _WRITERS.get(type(tree))
        if write is None:
            raise _refused(tree, "an expression")
        return write(self, tree)

    def listed(self, trees: Iterable[Expression]) -> str:
        return ", ".join(map(self.of, trees))

    def number(self, tree: Expression, kind: str | None) -> str:
        """Write an operand of arithmetic, computed in the type `kind`; None leaves types to the engine."""
        if isinstance(tree, nodes.Neg):
            return f"(-{self.number(tree.operand, kind)})"
        if isinstance(tree, nodes.Arithmetic):
            return self.operation(tree, kind)
        if kind is None or isinstance(tree, _LITERALS):
            return self.of(tree)
        if isinstance(tree, nodes.Case):
            return self.case(tree, lambda outcome: self.number(outcome, kind))
        return f"CAST({self.of(tree)} AS {self.dialect.types[kind]})"

    def operation(self, tree: nodes.Arithmetic, kind: str | None) -> str:
        left, right = self.number(tree.left, kind), self.number(tree.right, kind)
        if self.limits is not None and _constant(tree):
            return f"({value_bounds(tree, self.limits)[0]})"
        if kind is not None and _made_of_literals(tree):  # engines give literals types of their own
            left, right = (f"CAST({side} AS {self.dialect.types[kind]})" for side in (left, right))
        if isinstance(tree, nodes.FloorDiv):
            template = self.dialect.wide_division if kind == "WIDE" else self.dialect.division
            return template.format(left, right)
        return f"({left} {tree.symbol} {right})"

    def kind(self, tree: Expression) -> str | None:
        if self.limits is None:
            return None
        *_, size = _span(tree, self.limits)
        if size >= WIDEST:
            raise QuestionRefused(
                "An expression may exceed 126 bits.", fix="Round its columns, or multiply fewer of them."
            )
        return "INTEGER" if size < 2**31 else "BIGINT" if size < 2**63 else "WIDE"

    def arithmetic(self, tree: Expression) -> str:
        return self.number(tree, self.kind(tree))

    def binary(self, tree: nodes.Binary) -> str:
        return f"({self.of(tree.left)} {tree.symbol} {self.of(tree.right)})"

    def comparison(self, tree: nodes.Compare) -> str:
        if tree.operator not in nodes.COMPARISONS:
            raise _refused(tree, "a comparison")
        return f"({self.of(tree.left)} {tree.operator} {self.of(tree.right)})"

    def quotient(self, tree: nodes.Divide) -> str:
        if self.limits is not None:
            raise _refused(tree, "a number over sealed columns")
        return self.binary(tree)

    def plain_case(self, tree: nodes.Case) -> str:
        if self.limits is not None and any(isinstance(outcome, _NUMERIC) for outcome in tree.outcomes):
            return self.arithmetic(tree)  # one type for every branch
        return self.case(tree, self.of)

    def case(self, tree: nodes.Case, write: Callable[[Expression], str]) -> str:
        whens = "".join([f" WHEN {self.of(condition)} THEN {write(value)}" for condition, value in tree.branches])
        return f"CASE{whens} ELSE {'NULL' if tree.default is None else write(tree.default)} END"

    def literal(self, value: str) -> str:
        _check_text(value)
        if self.dialect.backslashes:
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        return "'" + value.replace("'", "''") + "'"

    def like(self, tree: nodes.Like) -> str:
        text, pattern = self.of(tree.operand), tree.pattern
        if tree.caseless:  # engines disagree about upper and lower case, so it is folded here
            pattern = case_folding.folded(pattern)
            if capitals := case_folding.capitals(pattern.replace("%", "").replace("_", "")):
                sides = (self.literal("".join(side)) for side in (capitals, capitals.values()))
                text = f"TRANSLATE({text}, {', '.join(sides)})"
        if self.dialect.like_escapes:  # a backslash in our patterns is an ordinary character
            pattern = pattern.replace("\\", "\\\\")
        return f"({text} LIKE {self.literal(pattern)})"

    def call(self, tree: nodes.Call) -> str:
        name, arguments = tree.name, tree.arguments
        texts = [argument.value if isinstance(argument, Text) else "" for argument in arguments]
        if name == "LITERAL":
            return f"{self.dialect.types[texts[0]]} {self.of(arguments[1])}"
        if name == "CAST":
            return f"CAST({self.of(arguments[0])} AS {self.dialect.types[texts[1]]})"
        words, written = self.dialect.functions, [self.of(argument) for argument in arguments]
        if name == "TRY":
            kind, of = texts[1:]
            name = f"TRY {of} {kind}" if f"TRY {of} {kind}" in words else name
            written[1] = self.dialect.types[kind]
        if name not in words:
            raise ParameterError(f"The dialect {self.dialect.name} does not have the function {name}.")
        numbered = json.dumps({text: i for i, text in enumerate(texts[1:])}, ensure_ascii=False)
        return words[name].format(*written, rest=", ".join(written[1:]), numbered=self.literal(numbered))


_LITERALS = (Int, nodes.Float, Text, nodes.Null)
_NUMERIC = (nodes.Arithmetic, nodes.Neg)

_WRITERS: dict[type, Callable[[_Writer, Any], str]] = {
    Column: lambda writer, tree: identifier(tree.name, writer.dialect.name),
    Int: lambda writer, tree: tree.sql(),
    nodes.Float: lambda writer, tree: tree.sql(),
    Text: lambda writer, tree: writer.literal(tree.value),
    nodes.Null: lambda writer, tree: tree.sql(),
    nodes.Boolean: lambda writer, tree: tree.sql(),
    **dict.fromkeys((nodes.Add, nodes.Sub, nodes.Mul, nodes.FloorDiv, nodes.Neg), _Writer.arithmetic),
    nodes.And: _Writer.binary,
    nodes.Or: _Writer.binary,
    nodes.Compare: _Writer.comparison,
    nodes.Not: lambda writer, tree: f"(NOT {writer.of(tree.operand)})",
    nodes.IsNull: lambda writer, tree: f"({writer.of(tree.operand)} IS NULL)",
    nodes.In: lambda writer, tree: f"({writer.of(tree.operand)} IN ({writer.listed(tree.values)}))",
    nodes.Like: _Writer.like,
    nodes.Case: _Writer.plain_case,
    nodes.Coalesce: lambda writer, tree: f"COALESCE({writer.listed(tree.operands)})",
    nodes.Floor: lambda writer, tree: writer.dialect.functions.get("FLOOR", "FLOOR({0})").format(
        writer.of(tree.operand)
    ),
    nodes.Divide: _Writer.quotient,
    nodes.Abs: lambda writer, tree: f"ABS({writer.of(tree.operand)})",
    nodes.Call: _Writer.call,
}
