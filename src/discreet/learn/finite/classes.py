"""Make finite classes of hypotheses: stumps, conjunctions, thresholds, or any list of conditions.

A hypothesis is a condition on a row; it predicts the positive label where it is true. A class is made from the
public schema, so that its size and its order say nothing about the rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import comb
from typing import Any

from discreet.engines.nodes import Expression
from discreet.errors import Fix, ParameterError
from discreet.learn.statistical_queries.query import Condition, condition, literals, schema, written
from discreet.learn.statistical_queries.rules import conjoined
from discreet.query import ir
from discreet.rational import whole
from discreet.schema.metadata import TableMetadata

MOST = 200_000
"""The most hypotheses of a class: the mechanism looks at each of them."""


@dataclass(frozen=True, eq=False)
class HypothesisClass:
    """Hypotheses over one schema, in a fixed order: their texts, and the same as expressions.

    >>> from discreet.schema import Integer
    >>> ages = thresholds({"age": Integer(0, 99)}, "age", cuts=4)
    >>> ages.texts
    ('true', 'false', '"age" >= 20', '"age" >= 40', '"age" >= 60', '"age" >= 80')
    """

    kind: str
    metadata: TableMetadata
    texts: tuple[str, ...]
    trees: tuple[Expression, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.texts) <= MOST:
            raise ParameterError(
                f"A class has from 1 to {MOST:,} hypotheses.", found=f"{len(self.texts):,}", fix=Fix("cuts", 4)
            )

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def digest(self) -> str:
        """A digest of the hypotheses and their order."""
        return hashlib.sha256("\n".join(self.texts).encode()).hexdigest()[:16]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that some hypothesis reads."""
        read = frozenset[str]().union(*(ir.columns_of(tree) for tree in self.trees))
        return tuple(name for name in self.metadata.columns if self.metadata.sealed_name(name) in read)

    def __repr__(self) -> str:
        return f"<{len(self):,} {self.kind}>"


def predicates(columns: Any, conditions: Iterable[Condition], kind: str = "conditions") -> HypothesisClass:
    """Return the class of some conditions.

    Args:
        columns: The schema: declared columns, a sample or a sealed table.
        conditions: SQL texts, or conditions made with `dp.where`. Those with the same text are one.
        kind: The name of the class.

    >>> from discreet.schema import Integer
    >>> predicates({"age": Integer(0, 99)}, ["age >= 18", "age >= 65"])
    <2 conditions>
    """
    metadata = schema(columns)
    found = {written(given): condition(metadata, given) for given in conditions}
    return HypothesisClass(kind, metadata, tuple(found), tuple(found.values()))


def stumps(columns: Any, names: Sequence[str] | None = None, *, cuts: int = 16) -> HypothesisClass:
    """Return decision stumps: all literals of some columns, and the two constants.

    Args:
        columns: The schema.
        names: The columns; by default all that are not strings. Leave out that of the label.
        cuts: The number of cuts of a number or a time.

    >>> from discreet.schema import Boolean, Integer
    >>> stumps({"age": Integer(0, 99), "ill": Boolean()}, ["age"], cuts=9)
    <20 stumps>
    """
    return predicates(columns, ["true", "false", *literals(columns, names, cuts=cuts)], "stumps")


def thresholds(columns: Any, name: str, *, cuts: int = 64) -> HypothesisClass:
    """Return the thresholds of one column, such as age >= 40, and the two constants.

    Args:
        columns: The schema.
        name: The column, a number or a time.
        cuts: The number of thresholds, of equal distance.
    """
    metadata = schema(columns)
    if name in metadata.columns and metadata.columns[name].kind in ("category", "boolean", "text"):
        raise ParameterError(f"The column {name} has no order.", fix="Take stumps instead.")
    return predicates(metadata, ["true", "false", *literals(metadata, [name], cuts=cuts)[::2]], "thresholds")


def conjunctions(
    columns: Any, names: Sequence[str] | None = None, *, most: int = 2, cuts: int = 4
) -> HypothesisClass:
    """Return all conjunctions of at most so many literals of different columns; that of none is always true.

    Args:
        columns: The schema.
        names: The columns; by default all that are not strings. Leave out that of the label.
        most: The most literals in a conjunction.
        cuts: The number of cuts of a number or a time.

    >>> from discreet.schema import Boolean
    >>> len(conjunctions({name: Boolean() for name in "abcd"}, list("abc"), most=2))
    19
    """
    metadata = schema(columns)
    listed = list(names or (name for name, column in metadata.columns.items() if column.levels is not None))
    groups = [literals(metadata, [name], cuts=cuts) for name in listed]
    longest = min(whole(most, "most", least=0), len(groups))
    widest = max((len(group) for group in groups), default=1)
    if sum(comb(len(groups), size) * widest**size for size in range(longest + 1)) > 20 * MOST:
        raise ParameterError("There are too many conjunctions.", fix=[Fix("most", 2), Fix("cuts", 2)])
    trees = {text: condition(metadata, text) for group in groups for text in group}
    chosen = [
        parts for size in range(longest + 1) for some in combinations(groups, size) for parts in product(*some)
    ]
    joined = [ir.both(*(trees[part] for part in parts)) if parts else ir.always(True) for parts in chosen]
    return HypothesisClass("conjunctions", metadata, tuple(map(conjoined, chosen)), tuple(joined))
