"""Define the records of a question: Question, Term, Key, Aggregate.

SQL text, or the builder, becomes such a record. It is made of integer expressions over the sealed columns and of
public numbers. Every `Term` states a theorem: for any rows, its code is NULL or an integer from `low` to `high`,
and it stands for the value offset + scale·code. Noise is scaled by these bounds, so they are derived
(discreet.query.bounds.arithmetic), never read off the data. Expressions are trees of our own nodes
(`discreet.engines.nodes`), built by `discreet.query.ir`; no node of the analyst's parsed SQL is among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.query.answer.postprocess import After

if TYPE_CHECKING:
    from discreet.engines.nodes import Expression
    from discreet.schema import Column


@dataclass(frozen=True)
class Term:
    """A value per row: offset + scale·code, where the code is an integer in [low, high], or NULL if missing.

    `kind` is that of a column. For a date the value counts days, for a datetime microseconds, both since
    1970-01-01 00:00. A category's code stands for `labels[code]` instead. A text has the column itself as its
    code, and its bounds have no meaning.
    """

    code: Expression
    low: int
    high: int
    scale: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)
    kind: str = "number"
    column: Column | None = None
    labels: tuple[Any, ...] | None = None
    nullable: bool = True

    @property
    def least(self) -> Fraction:
        """The smallest value that this term can take."""
        return self.offset + self.scale * self.low

    @property
    def most(self) -> Fraction:
        """The largest value that this term can take."""
        return self.offset + self.scale * self.high


@dataclass(frozen=True)
class Key:
    """A declared list of groups: code i stands for `values[i]`.

    `values` is None for a text, whose groups are found by partition selection. `missing` tells whether NULL can
    occur: then it is one more group.
    """

    name: str
    code: Expression
    values: tuple[Any, ...] | None
    missing: bool

    @property
    def groups(self) -> int | None:
        """The number of declared groups, the missing one included; None if they are not declared."""
        return None if self.values is None else len(self.values) + self.missing


@dataclass(frozen=True)
class Aggregate:
    """One number per group: count, count_of, persons, sum, avg, variance, stddev, covariance, correlation or
    quantile.

    A covariance and a correlation have an `other` term. Both terms are NULL on the same rows. `note` tells the
    analyst where the answer differs from what was written.
    """

    kind: str
    term: Term | None
    probability: Fraction | None
    name: str
    note: str = ""
    other: Term | None = None

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms that it reads: none, one or two."""
        return tuple(term for term in (self.term, self.other) if term is not None)


@dataclass(frozen=True)
class Question:
    """One select over the sealed table.

    `where` is true, false or NULL on each row, and only rows on which it is true take part. `after` is the
    post-processing: it sees the released numbers only. Questions with equal `text` are equal up to names and
    post-processing, so a recorded answer serves both.
    """

    table: str
    where: Expression | None
    keys: tuple[Key, ...]
    aggregates: tuple[Aggregate, ...]
    after: After
    text: str
    columns: tuple[str, ...]

    @property
    def groups(self) -> int | None:
        """The number of groups of the answer, 1 without keys; None if a text is among the keys."""
        product = 1
        for key in self.keys:
            if key.groups is None:
                return None
            product *= key.groups
        return product
