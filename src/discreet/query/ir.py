"""The nodes an engine has to know, and their constructors.

An expression is made of sealed columns, non-negative integers, + − ·, floor division by a positive constant,
comparisons, AND, OR, NOT, IS NULL, IN, CASE, and on text columns comparison with a string, LIKE and ILIKE. What is
divided holds no difference, so an engine need not know our bounds to see that it is not negative. Operands stand
in parentheses, so that a tree reads the same in every dialect. Nothing else is ever built.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from sqlglot import exp
from sqlglot.expressions import Expression

from discreet.errors import QuestionRefused

LARGEST = 2**62
"""No integer on the way to an answer is larger: sums of two still fit in int64."""

_NODES = 40_000  # of one expression: more is a slip of the pen, or mischief
_SIZE = "nodes"  # under what a tree keeps how many it has
_LEAVES: dict[type, int] = {exp.Column: 2, exp.Literal: 1, exp.Null: 1}  # a column holds its name

_COMPARISONS: dict[str, type[exp.Binary]] = {
    "=": exp.EQ,
    "<>": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}


def sealed(name: str) -> Expression:
    """Return a column of the sealed table.

    >>> sealed("c0").sql()
    'c0'
    """
    return exp.Column(this=exp.Identifier(this=name, quoted=False))


def number(value: int) -> Expression:
    """Return a non-negative integer."""
    if not 0 <= value <= LARGEST:
        raise QuestionRefused(too_large(value))
    return exp.Literal(this=str(value), is_string=False)


def too_large(value: int) -> str:
    """Say that a question leaves the integers that every engine adds exactly."""
    return (
        f"the question leads to an integer near 2^{abs(value).bit_length()}, and exact sums hold numbers up to "
        "2^62 only. Multiply fewer columns, or round first: floor(income / 1000) * floor(income / 1000)."
    )


def string(value: str) -> Expression:
    """Return a string, to compare a text column with."""
    return exp.Literal.string(value)


def plus(tree: Expression, value: int) -> Expression:
    """Return tree + value, written as a difference if the value is negative.

    >>> plus(sealed("c0"), -3).sql()
    'c0 - 3'
    """
    if value == 0:
        return tree
    return binary(exp.Add, tree, number(value)) if value > 0 else binary(exp.Sub, tree, number(-value))


def times(tree: Expression, factor: int) -> Expression:
    """Return tree · factor for a factor that is not negative."""
    return tree if factor == 1 else binary(exp.Mul, tree, number(factor))


def divided(tree: Expression, divisor: int) -> Expression:
    """Return ⌊tree / divisor⌋ for a tree without a difference, so plainly never negative, and a divisor above 0.

    >>> divided(plus(sealed("c0"), 5), 10).sql("duckdb")
    '(c0 + 5) // 10'
    """
    if divisor == 1:
        return tree
    if has_difference(tree):
        raise QuestionRefused("a difference is not divided by an engine. Divide what is subtracted first.")
    return binary(exp.IntDiv, tree, number(divisor))


def compared(operator: str, left: Expression, right: Expression) -> Expression:
    """Return a comparison: = <> < <= > or >=."""
    return binary(_COMPARISONS[operator], left, right)


def always(truth: bool) -> Expression:
    """Return what is true, or false, on every row."""
    return compared("=", number(1), number(1 if truth else 0))


def both(*conditions: Expression) -> Expression:
    """Return the conjunction, as a balanced tree however many there are.

    >>> both(always(True), is_null(sealed("c0")), always(False)).sql()
    '(1 = 1) AND ((c0 IS NULL) AND (1 = 0))'
    """
    return _balanced(exp.And, conditions)


def either(*conditions: Expression) -> Expression:
    """Return the disjunction, as a balanced tree."""
    return _balanced(exp.Or, conditions)


def opposite(condition: Expression) -> Expression:
    """Return NOT condition, which is NULL where the condition is."""
    return _counted(exp.Not(this=_wrapped(condition)))


def is_null(tree: Expression) -> Expression:
    """Return whether the value is missing: true or false, never NULL."""
    return _counted(exp.Is(this=_wrapped(tree), expression=exp.Null()))


def among(tree: Expression, values: Iterable[Expression]) -> Expression:
    """Return tree IN (values)."""
    return _counted(exp.In(this=_wrapped(tree), expressions=list(values)))


def like(tree: Expression, pattern: str, *, caseless: bool = False) -> Expression:
    """Return whether a text column matches a pattern."""
    node = exp.ILike if caseless else exp.Like
    return _counted(node(this=_wrapped(tree), expression=string(pattern)))


def case(branches: Sequence[tuple[Expression, Expression]], default: Expression | None = None) -> Expression:
    """Return CASE WHEN … THEN … ELSE … END; without a default, NULL.

    >>> case([(is_null(sealed("c0")), number(7))], sealed("c0")).sql()
    'CASE WHEN c0 IS NULL THEN 7 ELSE c0 END'
    """
    ifs = [exp.If(this=_own(condition), true=_own(value)) for condition, value in branches]
    return bounded(exp.Case(ifs=ifs, default=None if default is None else _own(default)))


def stepped(
    tree: Expression, starts: Sequence[int], values: Sequence[int], slopes: Sequence[int] | None = None
) -> Expression:
    """Return the step function that takes value i from start i on, by halving: log₂(steps) comparisons for a row.

    With slope 1 a step rises along with the tree. NULL stays NULL.

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


def binary(node: type[exp.Binary] | type[exp.Connector], left: Expression, right: Expression) -> Expression:
    """Return left ∘ right with its operands in parentheses."""
    return bounded(cast(Expression, node(this=_wrapped(left), expression=_wrapped(right))))


def bounded(tree: Expression) -> Expression:
    """Return the tree, or refuse one that has grown out of hand."""
    if nodes(_counted(tree)) > _NODES:
        raise QuestionRefused(
            f"written out, the question has more than {_NODES} parts. "
            "Nest fewer least, greatest and case expressions, or ask it in two questions."
        )
    return tree


def nodes(tree: Expression) -> int:
    """Return how many nodes a tree has.

    Each of ours knows it from when it was built, or building a long one would count the same nodes over and over.

    >>> nodes(sealed("c0")), nodes(plus(sealed("c0"), 1)), nodes(opposite(is_null(sealed("c0"))))
    (2, 4, 6)
    """
    known: int | None = _LEAVES.get(type(tree)) or tree.meta.get(_SIZE)
    return 1 + sum(map(nodes, tree.iter_expressions())) if known is None else known


def depth(tree: Expression) -> int:
    """Return how many levels a tree has, without recursion.

    >>> depth(sealed("c0")), depth(plus(sealed("c0"), 1))
    (2, 3)
    """
    levels, nodes = 0, [tree]
    while nodes:
        levels, nodes = levels + 1, [child for node in nodes for child in node.iter_expressions()]
    return levels


def has_difference(tree: Expression) -> bool:
    """Return whether a difference is among the parts. Without one, no value is below zero, since no column is."""
    return tree.find(exp.Sub) is not None


def columns_of(tree: Expression) -> frozenset[str]:
    """Return the names of the sealed columns that a tree reads.

    >>> sorted(columns_of(plus(sealed("c1"), 2)))
    ['c1']
    """
    return frozenset(node.name for node in tree.find_all(exp.Column))


def conjuncts(condition: Expression) -> list[Expression]:
    """Return the conditions that all have to hold."""
    bare: Expression = condition
    while isinstance(bare, exp.Paren):
        bare = bare.this
    if isinstance(bare, exp.And):
        return [*conjuncts(bare.this), *conjuncts(bare.expression)]
    return [bare]


def _balanced(node: type[exp.Connector], conditions: Sequence[Expression]) -> Expression:
    if len(conditions) == 1:
        return conditions[0]
    middle = len(conditions) // 2
    return binary(node, _balanced(node, conditions[:middle]), _balanced(node, conditions[middle:]))


def _counted(tree: Expression) -> Expression:
    tree.meta[_SIZE] = 1 + sum(map(nodes, tree.iter_expressions()))
    return tree


def _own(tree: Expression) -> Expression:
    """The tree itself, or a copy if it is part of another already: a node of sqlglot has one parent."""
    if tree.parent is None:
        return tree
    return sealed(tree.name) if isinstance(tree, exp.Column) else tree.copy()


def _wrapped(tree: Expression) -> Expression:
    operand = _own(tree)
    return exp.Paren(this=operand) if isinstance(operand, exp.Binary | exp.Unary | exp.In) else operand
