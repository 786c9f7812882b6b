"""Build expressions over the sealed columns.

An expression is made of sealed columns, non-negative integers, + − ·, floor division by a positive constant,
comparisons, AND, OR, NOT, IS NULL, IN, CASE, and on text columns comparison with a string, LIKE and ILIKE. These
constructors build nothing else. A dividend contains no difference, so it cannot be negative, and no engine needs
our bounds to know that. Their size is limited, so that no question exhausts an engine's parser.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from discreet.engines.nodes import (
    COMPARISONS,
    Add,
    And,
    Binary,
    Case,
    Column,
    Compare,
    Expression,
    FloorDiv,
    In,
    Int,
    IsNull,
    Like,
    Mul,
    Not,
    Or,
    Sub,
    Text,
)
from discreet.errors import QuestionRefused

LARGEST = 2**62
"""The largest integer inside an expression: the sum of two of them still fits in int64."""

_NODES = 40_000  # the limit of one expression: a larger one is a mistake or an attack


def sealed(name: str) -> Expression:
    """Return a column of the sealed table.

    >>> sealed("c0").sql()
    'c0'
    """
    return Column(name)


def number(value: int) -> Expression:
    """Return a non-negative integer."""
    if not 0 <= value <= LARGEST:
        raise too_large(value)
    return Int(value)


def too_large(value: int) -> QuestionRefused:
    """Return the refusal of a question that leaves the integers that every engine adds exactly."""
    return QuestionRefused(
        f"The question leads to an integer near 2^{abs(value).bit_length()}; exact sums hold integers up to 2^62.",
        fix="Multiply fewer columns, or round first: floor(income / 1000) * floor(income / 1000).",
    )


def string(value: str) -> Expression:
    """Return a string that a text column is compared with."""
    return Text(value)


def plus(tree: Expression, value: int) -> Expression:
    """Return tree + value; for a negative value, the difference tree − |value|.

    >>> plus(sealed("c0"), -3).sql()
    'c0 - 3'
    """
    if value == 0:
        return tree
    return binary(Add, tree, number(value)) if value > 0 else binary(Sub, tree, number(-value))


def times(tree: Expression, factor: int) -> Expression:
    """Return tree · factor for a non-negative factor."""
    return tree if factor == 1 else binary(Mul, tree, number(factor))


def divided(tree: Expression, divisor: int) -> Expression:
    """Return ⌊tree / divisor⌋ for a positive divisor and a tree without a difference, which is never negative.

    >>> divided(plus(sealed("c0"), 5), 10).sql()
    '(c0 + 5) // 10'
    """
    if divisor == 1:
        return tree
    if has_difference(tree):
        raise QuestionRefused(
            "An engine does not divide a difference.", fix="Divide the operands first, and subtract then."
        )
    return binary(FloorDiv, tree, number(divisor))


def compared(operator: str, left: Expression, right: Expression) -> Expression:
    """Return a comparison: = <> < <= > or >=."""
    if operator not in COMPARISONS:
        raise KeyError(operator)
    return bounded(Compare(operator, left, right))


def always(truth: bool) -> Expression:
    """Return a condition that is true, or false, on every row."""
    return compared("=", number(1), number(1 if truth else 0))


def both(*conditions: Expression) -> Expression:
    """Return the conjunction of all conditions, as a balanced tree.

    >>> both(always(True), is_null(sealed("c0")), always(False)).sql()
    '(1 = 1) AND ((c0 IS NULL) AND (1 = 0))'
    """
    return _balanced(And, conditions)


def either(*conditions: Expression) -> Expression:
    """Return the disjunction of all conditions, as a balanced tree."""
    return _balanced(Or, conditions)


def opposite(condition: Expression) -> Expression:
    """Return NOT condition, which is NULL where the condition is."""
    return Not(condition)


def is_null(tree: Expression) -> Expression:
    """Return whether the value is missing: true or false, never NULL."""
    return IsNull(tree)


def among(tree: Expression, values: Iterable[Expression]) -> Expression:
    """Return tree IN (values)."""
    return In(tree, tuple(values))


def like(tree: Expression, pattern: str, *, caseless: bool = False) -> Expression:
    """Return whether a text column matches a pattern of LIKE, or of ILIKE if it is caseless."""
    return Like(tree, pattern, caseless)


def case(branches: Sequence[tuple[Expression, Expression]], default: Expression | None = None) -> Expression:
    """Return CASE WHEN … THEN … ELSE … END; without a default, NULL.

    >>> case([(is_null(sealed("c0")), number(7))], sealed("c0")).sql()
    'CASE WHEN c0 IS NULL THEN 7 ELSE c0 END'
    """
    return bounded(Case(tuple(branches), default))


def stepped(
    tree: Expression, starts: Sequence[int], values: Sequence[int], slopes: Sequence[int] | None = None
) -> Expression:
    """Return the step function that takes value i from start i on.

    A binary search over the starts needs log₂(steps) comparisons for a row. NULL stays NULL.

    Args:
        tree: The argument of the function.
        starts: The least argument of each step, ascending.
        values: The value at the start of each step.
        slopes: 1 for a step that rises along with the tree, 0 for a constant one; by default, all constant.

    >>> stepped(sealed("c0"), [0, 31, 59], [0, 1, 2]).sql()
    'CASE WHEN NOT (c0 IS NULL) THEN CASE WHEN c0 < 31 THEN 0 ELSE CASE WHEN c0 < 59 THEN 1 ELSE 2 END END END'
    """

    def halved(low: int, high: int) -> Expression:
        if high - low == 1:
            rises = slopes is not None and slopes[low]
            return plus(tree, values[low] - starts[low]) if rises else number(values[low])
        middle = (low + high) // 2
        before = compared("<", tree, number(starts[middle]))
        return case([(before, halved(low, middle))], halved(middle, high))

    return case([(opposite(is_null(tree)), halved(0, len(starts)))])


def binary(node: type[Binary], left: Expression, right: Expression) -> Expression:
    """Return left ∘ right for a binary operator."""
    return bounded(node(left, right))


def bounded(tree: Expression) -> Expression:
    """Return the tree, or refuse it if it has too many nodes."""
    if tree.size > _NODES:
        raise QuestionRefused(
            f"The question has more than {_NODES} parts when its expressions are written out.",
            fix="Nest fewer least, greatest and case expressions, or ask two questions.",
        )
    return tree


def has_difference(tree: Expression) -> bool:
    """Return whether the tree contains a difference. Without one its value is never negative, as no column is."""
    return any(isinstance(node, Sub) for node in tree.walk())


def columns_of(tree: Expression) -> frozenset[str]:
    """Return the names of the sealed columns that a tree reads.

    >>> sorted(columns_of(plus(sealed("c1"), 2)))
    ['c1']
    """
    return frozenset(node.name for node in tree.walk() if isinstance(node, Column))


def conjuncts(condition: Expression) -> list[Expression]:
    """Return the conditions of a conjunction, all of which have to hold."""
    if isinstance(condition, And):
        return [*conjuncts(condition.left), *conjuncts(condition.right)]
    return [condition]


def _balanced(node: type[And] | type[Or], conditions: Sequence[Expression]) -> Expression:
    if len(conditions) == 1:
        return conditions[0]
    middle = len(conditions) // 2
    return binary(node, _balanced(node, conditions[:middle]), _balanced(node, conditions[middle:]))
