"""Learn the best of a list of rules from statistical queries.

Ask for the error P[h ≠ y] of every rule within τ and take the least answer. The rule chosen has an error at most
2τ above the least of all rules: its own answer is at most τ below its error, and that of the best rule at most τ
above. So |H| queries of tolerance α/2 suffice for an excess error of α, whatever the labels are. Decision stumps
are rules on single columns (`literals`). A finite class of the same kind costs much less when one mechanism
chooses the rule (`discreet.learn.finite`): there the noise does not grow with |H|, only its logarithm counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.learn.statistical_queries.oracle import StatisticalOracle
from discreet.learn.statistical_queries.query import Condition, StatisticalQuery, condition
from discreet.learn.statistical_queries.query import literals as all_literals
from discreet.learn.statistical_queries.rules import Needs, Rule, errors
from discreet.rational import Rational, positive, whole


def stump_needs(rules: int, alpha: Rational) -> Needs:
    """Return what is needed to find a rule whose error is at most alpha above the least.

    >>> stump_needs(20, "0.1")
    Needs(queries=20, tolerance=0.05)
    """
    return Needs(whole(rules, "rules"), float(positive(alpha, "alpha") / 2))


def learn_stump(oracle: StatisticalOracle, *, label: Condition, rules: Sequence[str] | None = None) -> Rule:
    """Learn the best rule of a list: one query for each, of tolerance α/2 for an excess error of α.

    Args:
        oracle: Any statistical-query oracle.
        label: The condition that the positive label stands for.
        rules: The conditions to choose from; by default all literals of the schema.

    >>> from discreet.learn.statistical_queries import Sample, SampleOracle, SQOracle, literals
    >>> from discreet.schema import Boolean, Integer
    >>> columns = {"age": Integer(0, 99), "ill": Boolean()}
    >>> ages = list(range(100)) * 100
    >>> rows = Sample.of({"age": ages, "ill": [age >= 60 for age in ages]}, columns)
    >>> stumps = literals(columns, ["age"], cuts=9)
    >>> learn_stump(SampleOracle(rows), label="ill", rules=stumps).condition
    '"age" >= 60'
    >>> learn_stump(SQOracle(rows, queries=18, epsilon=1), label="ill", rules=stumps).condition
    '"age" >= 60'
    """
    metadata = oracle.metadata
    wanted = condition(metadata, label)
    best: tuple[float, str] | None = None
    for text in all_literals(metadata) if rules is None else rules:
        wrong = StatisticalQuery(f"errors of {text}", errors(condition(metadata, text), wanted))
        answer = oracle.ask(wrong).value
        if answer is not None and (best is None or answer < best[0]):
            best = (answer, text)
    return Rule("false" if best is None else best[1])
