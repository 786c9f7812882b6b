"""Learn a decision list from statistical queries.

A decision list is a row of rules "if ℓ then b", the first of which whose literal holds decides, and a default.

Theorem. Let the labels be those of a decision list over N literals. In every round ask, for each literal ℓ that is
not used yet, for P[R, ℓ, y = 1] and P[R, ℓ, y = 0] within τ = α/(2(N + 1)), where R are the rows that no rule so
far decides, and for P[R, y = 1] and P[R, y = 0]. If one of the latter is at most τ, stop: the default is the other
label. Else append a rule "if ℓ then b" whose mistakes P[R, ℓ, y ≠ b] were answered by at most τ. The list errs
with probability at most α.

Proof. There is always such a rule: consider the first rule of the target whose literal is not used. Rows in R meet
no used literal, hence no earlier rule of the target, so on R and ℓ the target says b always, and the answer for
its mistakes is at most τ. (If all literals of the target are used, its default decides R, and the stop applies.)
Every rule, and the default, errs on at most 2τ, and there are at most N + 1 of them. ∎

A round with k literals left takes 2k + 2 queries: at most (N + 1)(N + 2) in all. Among the rules allowed the
learner takes the one that decides the most rows. If labels are not those of a list and no rule is allowed, it
stops with the more frequent label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.engines.nodes import Expression
from discreet.learn.statistical_queries.oracle import StatisticalOracle
from discreet.learn.statistical_queries.query import Condition, condition
from discreet.learn.statistical_queries.query import literals as all_literals
from discreet.learn.statistical_queries.rules import Booleans, Needs, holds, share, true, untrue
from discreet.learn.statistical_queries.sample import Sample
from discreet.query import ir
from discreet.rational import Rational, positive, whole
from discreet.schema.metadata import TableMetadata


@dataclass(frozen=True)
class DecisionList:
    """Rules, the first of which that holds decides, and a default.

    >>> print(DecisionList(rules=(('"ill"', False), ('"age" < 30', True)), default=False))
    if "ill" then 0, else if "age" < 30 then 1, else 0
    """

    rules: tuple[tuple[str, bool], ...]
    default: bool

    def tree(self, metadata: TableMetadata) -> Expression:
        """Return the list as a condition that is never NULL."""
        if not self.rules:
            return ir.always(self.default)
        branches = [(condition(metadata, text), ir.number(int(label))) for text, label in self.rules]
        return ir.compared("=", ir.case(branches, ir.number(int(self.default))), ir.number(1))

    def predict(self, rows: Sample) -> Booleans:
        """Return the prediction for each of some public rows."""
        return holds(self.tree(rows.metadata), rows)

    def __str__(self) -> str:
        parts = [f"if {text} then {int(label)}" for text, label in self.rules]
        return ", else ".join([*parts, str(int(self.default))])


def decision_list_needs(literals: int, alpha: Rational) -> Needs:
    """Return what is needed to learn a decision list over these literals within an error of alpha.

    >>> decision_list_needs(9, "0.1")
    Needs(queries=110, tolerance=0.005)
    """
    count = whole(literals, "literals")
    return Needs((count + 1) * (count + 2), float(positive(alpha, "alpha") / (2 * (count + 1))))


def learn_decision_list(
    oracle: StatisticalOracle,
    *,
    label: Condition,
    literals: Sequence[str] | None = None,
    threshold: float | None = None,
    rules: int | None = None,
) -> DecisionList:
    """Learn a decision list: at most (N + 1)(N + 2) queries for N literals, of tolerance α/(2(N + 1)).

    Args:
        oracle: Any statistical-query oracle.
        label: The condition that the positive label stands for.
        literals: The literals to choose from; by default all of the schema.
        threshold: A rule is allowed if it errs on at most this share of the rows; by default the tolerance.
        rules: The most rules; by default as many as literals. A round needs 2 queries per literal left, and 2.

    >>> from discreet.learn.statistical_queries import Sample, SampleOracle, SQOracle
    >>> from discreet.schema import Boolean
    >>> bits = [(i & 1, i >> 1 & 1, i >> 2 & 1) for i in range(8)] * 5000
    >>> columns = {"a": Boolean(), "b": Boolean(), "c": Boolean(), "y": Boolean()}
    >>> rows = Sample.of(
    ...     {**{n: [bool(bit[i]) for bit in bits] for i, n in enumerate("abc")},
    ...      "y": [bool(not bit[0] and (bit[1] or bit[2])) for bit in bits]}, columns)
    >>> print(learn_decision_list(SampleOracle(rows), label="y", literals=['"a"', '"b"', '"c"']))
    if "a" then 0, else if "b" then 1, else if "c" then 1, else 0
    >>> private = SQOracle(rows, queries=20, epsilon=1, rows=40_000, confidence="0.99999999")
    >>> found = learn_decision_list(private, label="y", literals=['"a"', '"b"', '"c"'])
    >>> found.rules[0], found.default
    (('"a"', False), False)
    """
    metadata = oracle.metadata
    wanted = condition(metadata, label)
    sides = (untrue(wanted), true(wanted))
    unused = list(all_literals(metadata) if literals is None else literals)
    limit = oracle.tolerance if threshold is None else threshold
    most = len(unused) if rules is None else rules
    found: list[tuple[str, bool]] = []
    undecided: list[Expression] = [ir.always(True)]
    while True:
        rest = _masses(oracle, "the rest", undecided, sides)
        if min(rest) <= limit or len(found) >= most or not unused:
            return DecisionList(tuple(found), rest[1] > rest[0])
        masses = {text: _masses(oracle, text, [*undecided, condition(metadata, text)], sides) for text in unused}
        allowed = [text for text in unused if min(masses[text]) <= limit]
        if not allowed:
            return DecisionList(tuple(found), rest[1] > rest[0])
        best = max(allowed, key=lambda text: sum(masses[text]))
        found.append((best, masses[best][1] > masses[best][0]))
        unused.remove(best)
        undecided.append(untrue(condition(metadata, best)))


def _masses(
    oracle: StatisticalOracle, name: str, where: Sequence[Expression], sides: tuple[Expression, Expression]
) -> tuple[float, float]:
    """Return the shares of negative and of positive rows among those that meet all conditions."""
    negative, positive_ = (
        oracle.ask(share(f"{name}, label {bit}", *where, side)).value or 0.0 for bit, side in enumerate(sides)
    )
    return negative, positive_
