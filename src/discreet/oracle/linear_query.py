"""Turn a question into linear queries: the cells that it adds up, and their weights.

A linear query gives every row a weight in [0, 1] and adds them up: 1 on the rows that a condition selects for a
count, and (value − least)/(most − least) for the sum of a column. The condition is a tree over codes
(discreet.query.ir), so it is evaluated on all combinations of the levels of the columns it reads, in the
three-valued logic of SQL. Conditions joined by AND that share no column are evaluated separately, and multiplied.
For the hypothesis a bin has the mean weight of its levels. For the data nothing is averaged: the engine filters by
the tree itself, and a column's weights are the integers nearest to GRAIN·weight.

Everything here follows from the text and the metadata: no row is read.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.engines import nodes
from discreet.errors import QuestionRefused
from discreet.query import ir
from discreet.query.bins import Axis

if TYPE_CHECKING:
    from discreet.engines.nodes import Case, Expression
    from discreet.query.question import Question, Term

GRAIN = 4096
"""The integer weight of a row that counts in full."""

MOST_LEVELS = 2**22
"""The most combinations of levels on which one condition is evaluated."""

MOST_CELLS = 2**20
"""The most combinations of bins of a query that a hypothesis predicts: it needs the weight of each of them."""


Factor = tuple[list[int], NDArray[np.float64]]
"""Some columns, and the weights of the combinations of their bins."""


@dataclass(frozen=True, eq=False)
class Query:
    """A linear query with weights in [0, 1]: over bins for the hypothesis, and as a filter for the engine.

    `columns` are the places of the axes it touches, ascending, and `sizes` the numbers of their bins. `target` is
    the sealed column that is added up; None for a count. The code `top` of the target weighs GRAIN, and a smaller
    code its share of that, as an integer. `slack` is the largest change of one row's weight by rounding to these
    integers.

    `conditions` are the factors of the condition: for columns that it compares with each other, or alone, the
    weights of their bins. `values` are the place of the target and the values of its bins, from 0 to 1. `whole`
    says that the query is a linear function of bins: it divides no bin, and the bins of its target are levels.
    `names` are those of the columns, for messages.
    """

    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    where: Expression | None
    text: str
    target: str | None = None
    top: int = 0
    slack: Fraction = Fraction(0)
    conditions: tuple[Factor, ...] = ()
    values: tuple[int, NDArray[np.float64]] | None = None
    whole: bool = False
    names: tuple[str, ...] = ()

    def grain(self, code: int) -> int:
        """Return the weight of a row with this code of the target, from 0 to GRAIN.

        >>> Query((), (), None, "sum", "c0", top=2).grain(1)
        2048
        """
        return (2 * GRAIN * code + self.top) // (2 * self.top)

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """The weight of every combination of bins: made where a hypothesis is asked, which a payment does not."""
        self.expect_table()
        factors = [*self.conditions, *([] if self.values is None else [([self.values[0]], self.values[1])])]
        found = np.ones(self.sizes)
        for touched, factor in factors:
            shape = [size if i in touched else 1 for i, size in zip(self.columns, self.sizes, strict=True)]
            found = found * factor.reshape(shape)  # both have their columns in ascending order
        return found

    @property
    def tabular(self) -> bool:
        """Whether its combinations of bins are few enough to be listed."""
        return prod(self.sizes) <= MOST_CELLS

    def expect_table(self) -> None:
        """Refuse a query with too many combinations of bins to be listed. Spans and payments do not list them."""
        if not self.tabular:
            named = " × ".join(f"{size:,} {name}" for size, name in zip(self.sizes, self.names, strict=True))
            raise QuestionRefused(
                f"The question touches too many cells for a prediction; the limit is {MOST_CELLS:,}.",
                found=f"{prod(self.sizes):,}: {named}",
                fix="Use fewer columns here, or fewer bins.",
            )

    @property
    def crisp(self) -> bool:
        """Whether it selects whole bins: every weight is 0 or 1."""
        return self.target is None and bool(np.all((self.weights == 0) | (self.weights == 1)))


@dataclass(frozen=True)
class Decomposition:
    """A question as linear queries: one for a count, two for the sum or the average of a column."""

    kind: str
    count: Query
    total: Query | None
    term: Term | None


def decompose(question: Question, axes: Sequence[Axis], product: str = "An oracle") -> Decomposition:
    """Return the linear queries of a question, or refuse it by its text.

    Args:
        question: The parsed question.
        axes: The columns that may be asked about, with their bins.
        product: What answers the question, as the subject of a message.
    """
    if question.keys:
        raise QuestionRefused(
            f"{product} answers one number at a time, without groups.",
            fix="Ask for each group with a condition, or ask the vault for all groups.",
        )
    if len(question.aggregates) != 1:
        raise QuestionRefused(
            f"{product} answers one number at a time.",
            found=f"{len(question.aggregates)} numbers",
            fix="Ask for each in its own question.",
        )
    aggregate = question.aggregates[0]
    if aggregate.kind not in ("count", "count_of", "sum", "avg"):
        raise QuestionRefused(
            f"{product} answers count(*), count(column), sum(column) and avg(column).",
            found=aggregate.name,
            fix="Ask the vault instead.",
        )
    where, term = question.where, aggregate.term
    if term is None:
        return Decomposition("count", _query(where, None, axes, question.text, product), None, None)
    axis = _axis_of(term, axes, product)
    valued = _and(where, _present(term)) if term.nullable else where
    count = _query(valued, None, axes, f"count: {question.text}", product)
    if aggregate.kind == "count_of":
        return Decomposition("count", count, None, None)
    if term.kind != "number":
        raise QuestionRefused(f"Column {axis.name} has no numbers to add up.", fix="Count its rows instead.")
    total = _query(valued, axis, axes, f"sum: {question.text}", product)
    return Decomposition(aggregate.kind, count, total, term)


def _axis_of(term: Term, axes: Sequence[Axis], product: str) -> Axis:
    for axis in axes:
        if isinstance(term.code, nodes.Column) and term.code.name == axis.sealed:
            return axis
    raise QuestionRefused(
        f"{product} adds up one of its own columns.",
        fix=f"Its columns are {_names(axes)}. Ask the vault for other columns and expressions.",
    )


def _names(axes: Sequence[Axis]) -> str:
    return ", ".join(axis.name for axis in axes)


def _present(term: Term) -> Expression:
    return ir.opposite(ir.is_null(term.code))


def _and(where: Expression | None, more: Expression) -> Expression:
    return more if where is None else ir.both(where, more)


def _query(where: Expression | None, target: Axis | None, axes: Sequence[Axis], text: str, product: str) -> Query:
    places = {axis.sealed: i for i, axis in enumerate(axes)}
    conditions = [] if where is None else ir.conjuncts(where)
    for name in sorted({name for tree in conditions for name in ir.columns_of(tree)}):
        if name not in places:
            raise QuestionRefused(
                f"{product} answers questions about its own columns, and this one reads another.",
                fix=f"Its columns are {_names(axes)}.",
            )
    groups = _grouped([(tree, {places[name] for name in ir.columns_of(tree)}) for tree in conditions])
    factors = [_weights(trees_, sorted(columns), axes) for trees_, columns in groups]
    tested = tuple(factors)
    whole = all(bool(np.all((factor == 0) | (factor == 1))) for _, factor in factors)
    if target is None:
        columns, sizes = _touched(factors, axes)
        names = tuple(axes[i].name for i in columns)
        return Query(columns, sizes, where, text, conditions=tested, whole=whole, names=names)
    top = max(1, target.levels - 1)
    starts = np.array([*target.starts, target.levels], np.float64)
    middles = (starts[:-1] + starts[1:] - 1) / (2 * top)
    values = np.append(middles, np.zeros(int(target.nullable)))
    columns, sizes = _touched([*factors, ([places[target.sealed]], values)], axes)
    slack = Fraction(0) if GRAIN % top == 0 else Fraction(1, 2 * GRAIN)
    return Query(
        columns,
        sizes,
        where,
        text,
        target.sealed,
        top,
        slack,
        tested,
        (places[target.sealed], values),
        whole and len(target.starts) == target.levels,
        tuple(axes[i].name for i in columns),
    )


def _grouped(conditions: Sequence[tuple[Expression, set[int]]]) -> list[tuple[list[Expression], set[int]]]:
    """Group conditions that share a column."""
    groups: list[tuple[list[Expression], set[int]]] = []
    for tree, columns in conditions:
        apart = [group for group in groups if not group[1] & columns]
        joined = [group for group in groups if group[1] & columns]
        trees = [tree, *(one for group in joined for one in group[0])]
        groups = [*apart, (trees, columns.union(*(group[1] for group in joined)))]
    return groups


def _weights(conditions: Sequence[Expression], columns: list[int], axes: Sequence[Axis]) -> Factor:
    """Evaluate conditions on all levels of the columns that they read, and average over bins."""
    levels = prod(axes[i].places for i in columns)
    if levels > MOST_LEVELS and len(columns) == 1:
        raise QuestionRefused(
            f"Column {axes[columns[0]].name} has too many levels for a condition; the limit is {MOST_LEVELS:,}.",
            found=f"{levels:,}",
            fix="Seal it with a coarser step, or ask the vault instead.",
        )
    if levels > MOST_LEVELS:
        sizes = " × ".join(f"{axes[i].places:,} {axes[i].name}" for i in columns)
        raise QuestionRefused(
            f"One condition compares too many combinations of levels; the limit is {MOST_LEVELS:,}.",
            found=sizes,
            fix="Compare each column with constants, or seal coarser columns.",
        )
    codes = {}
    for place, i in enumerate(columns):
        shape = [1] * len(columns)
        shape[place] = -1
        code = np.arange(axes[i].places).reshape(shape)
        codes[axes[i].sealed] = Value(np.minimum(code, axes[i].levels - 1), code >= axes[i].levels)
    truth: NDArray[Any] = np.ones([axes[i].places for i in columns], bool)
    for tree in conditions:
        found = evaluate(tree, codes)
        truth = truth & (found.value.astype(bool) & ~found.null)
    for place, i in enumerate(columns):
        truth = axes[i].averaged(truth, place)
    return columns, truth


def _touched(factors: Sequence[Factor], axes: Sequence[Axis]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the columns of all factors, and the numbers of their bins."""
    columns = tuple(sorted({i for touched, _ in factors for i in touched}))
    return columns, tuple(axes[i].size for i in columns)


# -- evaluating a tree ------------------------------------------------------------------------------------------


class Value(NamedTuple):
    """The value of a tree on every combination of codes, and where it is NULL."""

    value: NDArray[Any]
    null: NDArray[Any]


def evaluate(tree: Expression, codes: Mapping[str, Value]) -> Value:
    """Return the value of a tree over sealed columns.

    >>> from discreet.query import ir
    >>> age = Value(np.array([0, 1, 2]), np.array([False, False, True]))
    >>> found = evaluate(ir.compared(">=", ir.sealed("c0"), ir.number(1)), {"c0": age})
    >>> found.value.tolist(), found.null.tolist()
    ([False, True, True], [False, False, True])
    """
    if isinstance(tree, nodes.Column):
        return codes[tree.name]
    if isinstance(tree, nodes.Null):
        return Value(np.zeros((), np.int64), np.ones((), bool))
    if isinstance(tree, nodes.Int):
        return Value(np.array(tree.value), np.zeros((), bool))
    if isinstance(tree, nodes.IsNull):
        return Value(evaluate(tree.operand, codes).null, np.zeros((), bool))
    if isinstance(tree, nodes.Not):
        inner = evaluate(tree.operand, codes)
        return Value(~inner.value.astype(bool), inner.null)
    if isinstance(tree, nodes.In):
        inner = evaluate(tree.operand, codes)
        listed = np.array([item.value for item in tree.values if isinstance(item, nodes.Int)], np.int64)
        return Value(np.isin(inner.value, listed), inner.null)
    if isinstance(tree, nodes.Case):
        return _case(tree, codes)
    if not isinstance(tree, nodes.Binary | nodes.Compare):
        raise QuestionRefused("an oracle does not understand this condition. Ask the vault: vault.ask(…).")
    left, right = evaluate(tree.left, codes), evaluate(tree.right, codes)
    if isinstance(tree, nodes.And | nodes.Or):
        return _joined(isinstance(tree, nodes.And), left, right)
    symbol = tree.operator if isinstance(tree, nodes.Compare) else tree.symbol
    return Value(_operation(symbol, left.value, right.value), left.null | right.null)


def _joined(conjunction: bool, left: Value, right: Value) -> Value:
    """Join by AND or OR: AND is false if one side is, OR is true if one side is; else NULL if one side is."""
    deciding = not conjunction
    first, second = (part.value.astype(bool) == deciding for part in (left, right))
    decided = (first & ~left.null) | (second & ~right.null)
    return Value(np.where(decided, deciding, conjunction), ~decided & (left.null | right.null))


def _case(tree: Case, codes: Mapping[str, Value]) -> Value:
    default = tree.default
    nothing = Value(np.zeros((), np.int64), np.ones((), bool))
    found = nothing if default is None else evaluate(default, codes)
    for branch in reversed(tree.branches):
        condition, value = (evaluate(part, codes) for part in branch)
        met = condition.value.astype(bool) & ~condition.null
        found = Value(np.where(met, value.value, found.value), np.where(met, value.null, found.null))
    return found


def _operation(symbol: str, left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    arithmetic: dict[str, Callable[[Any, Any], Any]] = {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "//": operator.floordiv,
    }
    if symbol in arithmetic:
        largest = [float(np.abs(side.astype(np.float64)).max(initial=0)) for side in (left, right)]
        if (largest[0] * largest[1] if symbol == "*" else sum(largest)) >= 2.0**62:
            raise QuestionRefused("The question leads to an integer above 2^62.", fix="Multiply fewer columns.")
        return np.asarray(arithmetic[symbol](left, right))
    comparisons: dict[str, Callable[[Any, Any], Any]] = {
        "=": operator.eq,
        "<>": operator.ne,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
    }
    if symbol not in comparisons:
        raise QuestionRefused("This condition is not supported here.", fix="Ask the vault instead.")
    return np.asarray(comparisons[symbol](left, right))
