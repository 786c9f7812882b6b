"""Learn a conjunction of literals from statistical queries.

Theorem (Kearns 1998). Let the labels be those of a conjunction of some of d literals. Ask, for each literal ℓ, for
p_ℓ = P[ℓ does not hold and y = 1] within τ = α/(2d), and keep ℓ if the answer is at most τ. Then the conjunction
of all literals that are kept errs with probability at most α.

Proof. A literal of the target has p_ℓ = 0, so its answer is at most τ and it is kept; hence the hypothesis is true
only where the target is. It errs only where y = 1 and a kept literal fails. A kept literal has p_ℓ ≤ 2τ = α/d, and
there are at most d of them. ∎ It needs d queries of tolerance α/(2d).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.learn.statistical_queries.oracle import StatisticalOracle
from discreet.learn.statistical_queries.query import Condition, condition
from discreet.learn.statistical_queries.query import literals as all_literals
from discreet.learn.statistical_queries.rules import Needs, Rule, conjoined, share, true, untrue
from discreet.rational import Rational, positive, whole


@dataclass(frozen=True)
class Conjunction(Rule):
    """A conjunction of literals; without literals it is always true.

    >>> Conjunction.of(['"ill"', '"age" < 30']).condition
    '("ill") and ("age" < 30)'
    """

    literals: tuple[str, ...] = ()

    @classmethod
    def of(cls, literals: Sequence[str]) -> Conjunction:
        """Return the conjunction of some literals."""
        return cls(conjoined(literals), tuple(literals))


def conjunction_needs(literals: int, alpha: Rational) -> Needs:
    """Return what is needed to learn a conjunction of some of these literals within an error of alpha.

    >>> conjunction_needs(10, "0.1")
    Needs(queries=10, tolerance=0.005)
    """
    count = whole(literals, "literals")
    return Needs(count, float(positive(alpha, "alpha") / (2 * count)))


def learn_conjunction(
    oracle: StatisticalOracle,
    *,
    label: Condition,
    literals: Sequence[str] | None = None,
    threshold: float | None = None,
) -> Conjunction:
    """Learn a conjunction: d queries for d literals, of tolerance α/(2d) for an error of α.

    Args:
        oracle: Any statistical-query oracle.
        label: The condition that the positive label stands for.
        literals: The literals to choose from; by default all of the schema. Those of the label's own column too,
            so name others if the label is a column.
        threshold: A literal is kept if it fails on at most this share of the positive rows' mass; by default the
            oracle's tolerance, as in the theorem.

    >>> from discreet.learn.statistical_queries import Sample, SampleOracle, SQOracle
    >>> from discreet.schema import Boolean
    >>> bits = [(i & 1, i >> 1 & 1, i >> 2 & 1) for i in range(8)] * 2000
    >>> columns = {"a": Boolean(), "b": Boolean(), "c": Boolean(), "y": Boolean()}
    >>> rows = Sample.of(
    ...     {**{n: [bool(bit[i]) for bit in bits] for i, n in enumerate("abc")},
    ...      "y": [bool(bit[0] and not bit[2]) for bit in bits]}, columns)
    >>> choices = ['"a"', 'not "a"', '"b"', 'not "b"', '"c"', 'not "c"']
    >>> learn_conjunction(SampleOracle(rows), label="y", literals=choices).condition
    '("a") and (not "c")'
    >>> private = SQOracle(rows, queries=6, epsilon=1, rows=16_000, confidence="0.99999999")
    >>> learn_conjunction(private, label="y", literals=choices).condition
    '("a") and (not "c")'
    """
    metadata = oracle.metadata
    positive_ = true(condition(metadata, label))
    kept = []
    limit = oracle.tolerance if threshold is None else threshold
    for text in all_literals(metadata) if literals is None else literals:
        fails = share(f"not ({text}), positive", untrue(condition(metadata, text)), positive_)
        answer = oracle.ask(fails).value
        if answer is not None and answer <= limit:
            kept.append(text)
    return Conjunction.of(kept)
